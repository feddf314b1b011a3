"""Every way to sum over pairs gives the inner products of dense centred Gram matrices."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import kernalign.gram
from kernalign.gram import Element, Target, pair_sums
from kernalign.gram.base import FIRST_ATOM, IDENTITY, TARGET
from kernalign.kernels import Gaussian, GramMatrix, Laplacian, Matern, Polynomial
from tests import reference
from tests.gram.dense import Dense, assemble, relative_error, setup
from tests.gram.spaces import SPACES
from tests.kernels.families import CASES, named

pytestmark = pytest.mark.usefixtures("small_blocks")
every_space = pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
weighting = pytest.mark.parametrize("kind", ["uniform", "integer", "fractional"])
#: Of the norms, for interpolated and for exact sums.
INTERPOLATED, EXACT = 1e-5, 1e-10


# --- the oracle ----------------------------------------------------------------------------------


def test_oracle_is_the_plain_formula_without_weights():
    s = setup(named("gaussian"), n=15)
    K = s.families[0].gram(np.array([5.0]), s.X)
    np.testing.assert_allclose(s.dense.centred(K), reference.centre(K), atol=1e-14)
    Y = s.target.values
    np.testing.assert_allclose(s.dense.T, reference.centre(Y @ Y.T), atol=1e-14)


def test_oracle_counts_weights_as_repeated_rows():
    s = setup(named("gaussian"), "integer", n=15)
    repeat = s.target.weight.astype(int)
    Y = np.repeat(s.target.values, repeat, axis=0)
    z = s.draw(0)
    s.dense.atoms.append(s.centred(0, z))
    K = s.families[0].gram(s.families[0].from_search(z), np.repeat(s.X, repeat, axis=0))
    generators = [Y @ Y.T, np.eye(len(Y)), K]
    centred = [reference.centre(G) for G in generators]
    expected = [[reference.frobenius(A, B) for A in centred] for B in centred]
    np.testing.assert_allclose(s.dense.table(), expected, rtol=1e-10)


# --- which one -----------------------------------------------------------------------------------


def test_list_has_every_family():
    assert {space.name for space in SPACES} >= {case.name for case in CASES}


@every_space
def test_choice(space):
    assert type(setup(space.cases).sums).__name__ == space.backend


def test_dense_blocks_are_refused_where_they_do_not_fit(monkeypatch):
    monkeypatch.setattr(kernalign.gram, "DENSE_BYTES", 1000)
    with pytest.raises(ValueError, match=r"Learning Gaussian with several.* 40 rows .*subset"):
        setup(named("gaussian-ard"))
    # The others never form a Gram matrix.
    setup(named("gaussian"))
    setup(named("linear"))


# --- inner products ------------------------------------------------------------------------------


@every_space
@weighting
def test_table_of_inner_products(space, kind):
    s = setup(space.cases, kind)
    for family in (*range(len(s.families)), 0, 0):
        s.append(family, s.draw(family))
    expected = s.dense.table()
    assert relative_error(s.sums.table, expected) <= (INTERPOLATED if space.tabulated else EXACT)
    s.sums.refine()
    assert relative_error(s.sums.table, expected) <= EXACT
    mean = expected[IDENTITY, FIRST_ATOM:] / s.target.weight.sum()
    np.testing.assert_allclose(s.sums.mean_diagonal(), mean, rtol=1e-8)


@every_space
@weighting
def test_probes(space, kind):
    """<E, K> and |K_c|^2 for elements E of all sorts of generators."""
    s = setup(space.cases, kind)
    for family in (*range(len(s.families)), 0):
        s.append(family, s.draw(family))
    elements, coefficients = mixtures(s)
    sizes = np.array([e.norm() for e in elements])
    tolerance = INTERPOLATED if space.tabulated else EXACT
    for family in range(len(s.families)):
        probe = s.sums.probe(elements, family)
        points = np.array([s.draw(family) for _ in range(4)])
        for z in points:
            products, norm = probe.products(z)
            K_c = s.centred(family, z)
            square = np.sum(K_c * K_c)
            expected = coefficients @ s.dense.generator_products(K_c)
            assert products.shape == (len(elements),)
            assert (np.abs(products - expected) <= tolerance * sizes * np.sqrt(square)).all()
            assert norm == pytest.approx(square, rel=tolerance)
        scanned, norms = probe.scan(points)
        one_by_one = [probe.products(z) for z in points]
        np.testing.assert_allclose(scanned, [p for p, _ in one_by_one], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(norms, [n for _, n in one_by_one], rtol=1e-10)


def mixtures(s):
    """Single generators, and combinations of all of them with weights of both signs."""
    m = len(s.sums.table)
    coefficients = np.concatenate([np.eye(m), s.rng.normal(size=(2, m))])
    return [Element(s.sums, c) for c in coefficients], coefficients


@every_space
@weighting
def test_gradient_of_probes(space, kind):
    """d/dz of a combination of products and norm, against differences of dense sums."""
    s = setup(space.cases, kind)
    for family in (*range(len(s.families)), 0):
        s.append(family, s.draw(family))
    elements, coefficients = mixtures(s)
    sizes = np.array([e.norm() for e in elements])
    for family in range(len(s.families)):
        probe = s.sums.probe(elements, family)
        d_products, d_norm = s.rng.normal(size=len(elements)), s.rng.normal()
        z = s.draw(family)

        def along(v, dp, dn, z=z, family=family):
            """t -> the combination at z + t v, from dense matrices."""

            def value(t):
                K_c = s.centred(family, z + t * v)
                products = coefficients @ s.dense.generator_products(K_c)
                return dp @ products + dn * np.sum(K_c * K_c)

            return value

        K_c = s.centred(family, z)
        size = np.linalg.norm(K_c)
        scale = np.abs(d_products) @ sizes * size + abs(d_norm) * size**2
        probe.products(z)
        for dp, dn in ((d_products, d_norm), (d_products, 0.0), (0 * d_products, d_norm)):
            slope = probe.gradient(z, dp, dn)
            assert slope.shape == z.shape
            for k, v in enumerate(np.eye(z.size)):
                step = 1e-2 * min(1.0, z[k]) if s.cases[family].ard else 1e-2
                expected = derivative(along(v, dp, dn), step)
                # The slope of an interpolant loses a digit or two.
                tolerance = 1e-5 if space.tabulated else 1e-10
                assert abs(slope[k] - expected) <= tolerance * scale


def derivative(f, h):
    """f'(0) with an error of h^8."""
    weights = [4 / 5, -1 / 5, 4 / 105, -1 / 280]
    return sum(w * (f(k * h) - f(-k * h)) for k, w in enumerate(weights, 1)) / h


@pytest.mark.parametrize(
    "space", [space for space in SPACES if space.tabulated], ids=lambda space: space.name
)
def test_gradient_of_interpolated_probes_is_that_of_their_values(space):
    """What a search needs: slope and value belong to the same function."""
    s = setup(space.cases)
    s.append(0, s.draw(0))
    elements = [s.sums.T, s.sums.identity, s.sums.atom(0)]
    for family in range(len(s.families)):
        probe = s.sums.probe(elements, family)
        z = s.draw(family)
        a, b = s.rng.normal(size=3), s.rng.normal()

        def value(t, z=z, a=a, b=b, probe=probe):
            products, norm = probe.products(z + t)
            return a @ products + b * norm

        expected = derivative(value, 5e-3)
        slope = probe.gradient(z, a, b)
        assert slope[0] == pytest.approx(expected, rel=1e-8, abs=1e-8 * abs(value(0)))


# --- weights -------------------------------------------------------------------------------------


@every_space
def test_integer_weights_are_repeated_rows(space):
    s = setup(space.cases, "integer", n=25)
    repeat = s.target.weight.astype(int)
    rows = np.repeat(np.arange(25), repeat)
    target = Target(s.target.values[rows], np.ones(len(rows)))
    repeated = assemble(space.cases, s.X[rows], target, s.rng)
    for family in (*range(len(s.families)), 0):
        z = s.draw(family)
        s.append(family, z)
        repeated.append(family, z)
        elements = [s.sums.T, s.sums.identity]
        slope = probe_gradient(s.sums.probe(elements, family), z)
        elements = [repeated.sums.T, repeated.sums.identity]
        expected = probe_gradient(repeated.sums.probe(elements, family), z)
        np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())
    assert relative_error(s.sums.table, repeated.sums.table) <= EXACT
    s.sums.refine()
    repeated.sums.refine()
    assert relative_error(s.sums.table, repeated.sums.table) <= 1e-9


def probe_gradient(probe, z):
    probe.products(z)
    return probe.gradient(z, np.array([1.0, -0.3]), 0.1)


@every_space
def test_scaled_weights_scale_products(space):
    """Twice the weights are every row twice: four times every product between kernels."""
    s = setup(space.cases, "fractional", n=25)
    target = Target(s.target.values, 2 * s.target.weight)
    double = assemble(space.cases, s.X, target, s.rng)
    for family in range(len(s.families)):
        z = s.draw(family)
        s.append(family, z)
        double.append(family, z)
    s.sums.refine()
    double.sums.refine()
    kernels = [TARGET, *range(FIRST_ATOM, len(s.sums.table))]
    once, twice = (t.sums.table[np.ix_(kernels, kernels)] for t in (s, double))
    assert relative_error(twice, 4 * once) <= 1e-10


# --- elements ------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None, derandomize=True, phases=[Phase.generate])
@given(seed=st.integers(0, 999), name=st.sampled_from(["gaussian", "linear", "gaussian-ard"]))
def test_elements_behave_as_dense_matrices(seed, name):
    s = setup(named(name), n=14, seed=seed)
    for _ in range(2):
        s.append(0, s.draw(0))
    s.sums.refine()
    A = matrix_of(s, E := Element(s.sums, s.rng.normal(size=4)))
    B = matrix_of(s, G := Element(s.sums, s.rng.normal(size=4)))
    c = float(s.rng.normal())
    for element, matrix in (
        (E + G, A + B),
        (E - G, A - B),
        (E * c, A * c),
        (c * E, c * A),
        (E / c, A / c),
        (E * 0.0, 0 * A),
    ):
        np.testing.assert_allclose(matrix_of(s, element), matrix, rtol=1e-10, atol=1e-12)
        size = np.linalg.norm(matrix)
        assert element.norm() == pytest.approx(size, rel=1e-8, abs=1e-12)
        expected = np.sum(matrix * B)
        assert element.inner(G) == pytest.approx(expected, abs=1e-8 * size * np.linalg.norm(B))
        assert element.inner(G) == pytest.approx(G.inner(element), rel=1e-10, abs=1e-12)


def matrix_of(s, element):
    """A dense n x n matrix; weights are one here."""
    coefficients = element.padded()
    generators = [s.dense.T, s.dense.C, *s.dense.atoms]
    return sum(c * G for c, G in zip(coefficients, generators, strict=True))


def test_elements_outlive_later_atoms():
    s = setup(named("gaussian"))
    before = s.sums.T + 2 * s.sums.identity
    K = s.append(0, s.draw(0))
    np.testing.assert_array_equal(before.padded(), [1, 2, 0])
    np.testing.assert_array_equal((before + K).padded(), [1, 2, 1])
    np.testing.assert_array_equal((K - before).padded(), [-1, -2, 1])
    expected = s.sums.table[0, 2] + 2 * s.sums.table[1, 2]
    assert before.inner(K) == pytest.approx(expected, rel=1e-14)


@every_space
def test_many_atoms_keep_the_table_symmetric(space):
    s = setup(space.cases, n=20)
    for i in range(12):
        family = i % len(s.families)
        s.append(family, s.draw(family))
    table = s.sums.table
    assert table.shape == (14, 14)
    np.testing.assert_array_equal(table, table.T)
    s.sums.refine()
    assert relative_error(s.sums.table.T, s.sums.table) <= 1e-12
    assert relative_error(s.sums.table, s.dense.table()) <= EXACT
    values = np.linalg.eigvalsh(s.sums.table)
    assert values[0] >= -1e-8 * values[-1]


def test_atoms_know_their_kernels():
    s = setup(named("gaussian", "matern-0.5"))
    z = [s.draw(1), s.draw(0)]
    s.append(1, z[0])
    s.append(0, z[1])
    for i, (family, zi) in enumerate([(1, z[0]), (0, z[1])]):
        kernel = s.sums.kernel(i)
        assert kernel.family is s.families[family]
        np.testing.assert_array_equal(kernel.sigma, s.families[family].from_search(zi))
        np.testing.assert_array_equal(s.sums.atom(i).padded()[FIRST_ATOM:], np.eye(2)[i])


# --- a user's Gram matrices ----------------------------------------------------------------------


@weighting
def test_gram_matrices(kind):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    X = rng.permutation(30)[:21, None].astype(float)
    rows = X[:, 0].astype(int)
    s = setup(named("gaussian"), kind, n=21)
    families = [GramMatrix(A @ A.T).resolve(X), GramMatrix(B @ B.T).resolve(X)]
    sums = pair_sums(families, [None, None], X, s.target)
    dense = Dense(s.target)
    for i, M in enumerate((A @ A.T, B @ B.T)):
        dense.atoms.append(dense.centred(M[np.ix_(rows, rows)]))
        sums.append(i, np.zeros(0))
    assert relative_error(sums.table, dense.table()) <= 1e-12


# --- narrow ranges -------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [Gaussian, Laplacian, Matern, Polynomial])
@pytest.mark.parametrize("high", [1.0, 1.01, 1.2, 1.5])
def test_narrow_bounds(family, high):
    """Any 0 < low <= high is a range of bandwidths, one bandwidth included."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    member = family(bounds=(1.0, high)).resolve(X)
    space = member.search_space(X, rng)
    target = Target(rng.normal(size=(20, 1)), np.ones(20))
    sums = pair_sums([member], [space], X, target)
    dense = Dense(target)
    for z in (space.lower, space.upper):
        dense.atoms.append(dense.centred(member.gram(member.from_search(z), X)))
        sums.append(0, z)
    assert relative_error(sums.table, dense.table()) <= INTERPOLATED
