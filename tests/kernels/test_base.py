"""Members of families, their columns and their names; refusals that name the way out."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from kernalign.kernels import (
    CustomFamily,
    Dirichlet,
    Fourier,
    Gaussian,
    GramMatrix,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from tests.kernels.families import CASES, cauchy, named, problem

X = np.random.default_rng(0).normal(size=(12, 4))
Z = np.random.default_rng(1).normal(size=(7, 4))


# --- refusals ------------------------------------------------------------------------------------


def test_dirichlet_refuses_vectors_and_names_fourier():
    with pytest.raises(ValueError, match=r"one column.*Got 4 columns; use Fourier"):
        Dirichlet().resolve(X)
    with pytest.raises(ValueError, match="use Fourier"):
        Dirichlet(columns=[0, 1]).resolve(X)
    Dirichlet(columns=[1]).resolve(X)


def test_cosine_of_a_distance_on_vectors_is_indefinite():
    """The reason for the refusal, not an implementation detail."""
    points = np.random.default_rng(0).normal(size=(40, 2))
    distance = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    assert np.linalg.eigvalsh(1 + 2 * np.cos(3 * distance))[0] < -0.1


@pytest.mark.parametrize("nu", [0.7, 1, 3.5, np.inf, -0.5])
def test_matern_of_other_smoothness_is_refused(nu):
    with pytest.raises(ValueError, match=r"'nu' parameter of Matern must be one of \(0.5, 1.5"):
        Matern(nu).resolve(X)


@pytest.mark.parametrize("nu", [0.7, 3.5])
def test_member_of_matern_of_other_smoothness_is_refused(nu):
    """`at` needs no `resolve`, and must not answer with the formula of another nu."""
    with pytest.raises(ValueError, match="'nu' parameter of Matern"):
        Matern(nu).at(1.0)(X)


@pytest.mark.parametrize("degree", [0, -1, 1.5, "2", None])
def test_polynomial_degree_is_checked(degree):
    with pytest.raises(ValueError, match="'degree' parameter of Polynomial must be an int"):
        Polynomial(degree).resolve(X)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([], "selects no column"),
        (slice(9, 12), "selects no column"),
        ([0, 4], "positions below the number of features, 4. Got 4"),
        ([-5], "Got -5"),
        (["a", "z"], "names 'z', which is not a column of X. Columns are: a, b, c, d"),
    ],
)
@pytest.mark.parametrize("family", [Gaussian, Linear, Fourier])
def test_bad_columns(family, columns, message):
    with pytest.raises(ValueError, match=f"'columns' parameter of {family.__name__}.*{message}"):
        family(columns=columns).resolve(X, ["a", "b", "c", "d"])


def test_names_need_named_columns():
    with pytest.raises(ValueError, match="names 'a', but X has no column names: pass a DataFrame"):
        Gaussian(columns=["a"]).resolve(X)


def test_columns_may_be_an_array():
    assert list(Gaussian(columns=np.array([2, 0])).resolve(X).columns) == [2, 0]


# --- columns -------------------------------------------------------------------------------------


def test_resolve_leaves_the_family_as_it_was():
    family = Linear(columns=["b", "a"])
    resolved = family.resolve(X, ["a", "b", "c", "d"])
    assert family.columns == ["b", "a"]
    assert not hasattr(family, "_scale")
    assert resolved.columns == [1, 0]


@pytest.mark.parametrize("columns", [[0, 1], slice(0, 2), slice(-4, -2)])
def test_member_cuts_out_its_columns_without_resolve(columns):
    kernel = Gaussian(columns=columns).at(1.3)
    expected = Gaussian().at(1.3)(X[:, :2], Z[:, :2])
    np.testing.assert_array_equal(kernel(X, Z), expected)
    np.testing.assert_array_equal(kernel.diag(X), np.ones(12))


def test_weights_of_rows_count_as_repetitions():
    weight = np.random.default_rng(0).integers(1, 4, 12)
    repeated = np.repeat(X, weight, axis=0)
    for family, sigma in (
        (Linear(), np.full(4, 0.7)),
        (Polynomial(3), np.array([0.4])),
    ):
        by_weight = family.resolve(X, weight=weight.astype(float))
        np.testing.assert_allclose(
            by_weight.gram(sigma, X, Z),
            family.resolve(repeated).gram(sigma, X, Z),
            rtol=1e-12,
            atol=1e-14,
        )
    for family in (Gaussian(ard=True), Laplacian(ard=True), Fourier()):
        z = np.full(4, 0.8)
        by_weight = family.resolve(X, weight=weight.astype(float))
        np.testing.assert_allclose(
            by_weight.from_search(z), family.resolve(repeated).from_search(z), rtol=1e-12
        )


def test_linear_with_unit_weights_has_mean_centred_diagonal_one():
    family = Linear().resolve(X)
    K = family.gram(np.ones(4), X)
    C = np.eye(12) - 1 / 12
    assert np.trace(C @ K @ C) / 12 == pytest.approx(1, rel=1e-13)


def test_polynomial_diagonal_averages_one_at_degree_one():
    for c in (0.01, 1.0, 50.0):
        assert Polynomial(1).resolve(X).diag(np.array([c]), X).mean() == pytest.approx(1, rel=1e-13)


# --- members -------------------------------------------------------------------------------------


def test_at_joins_its_arguments():
    np.testing.assert_array_equal(Gaussian().at(2).sigma, [2.0])
    np.testing.assert_array_equal(Gaussian(ard=True).at([1, 2, 3]).sigma, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(RationalQuadratic(ard=True).at([1, 2], 0.5).sigma, [1, 2, 0.5])
    assert GramMatrix(np.eye(2)).at().sigma.size == 0


def test_grid_and_linspace():
    geometric = [k.sigma[0] for k in Gaussian().grid(0.1, 10, 3)]
    np.testing.assert_allclose(geometric, [0.1, 1, 10], rtol=1e-14)
    equidistant = [k.sigma[0] for k in Dirichlet().linspace(0, 9, 10)]
    np.testing.assert_allclose(equidistant, np.arange(10), rtol=1e-14)


@pytest.mark.parametrize(
    ("kernel", "shown"),
    [
        (Gaussian().at(1.42), "Gaussian(sigma=1.42)"),
        (Gaussian(ard=True).at(1, np.inf), "Gaussian(sigma=[1, inf])"),
        (Gaussian(columns=[2, 0]).at(1), "Gaussian(sigma=1, columns=[2, 0])"),
        (Gaussian(columns=slice(1, 3)).at(1), "Gaussian(sigma=1, columns=slice(1, 3, None))"),
        (Matern(2.5).at(0.123456), "Matern(nu=2.5, sigma=0.1235)"),
        (RationalQuadratic().at(2, 0.5), "RationalQuadratic(sigma=2, alpha=0.5)"),
        (Polynomial(3).at(1), "Polynomial(degree=3, offset=1)"),
        (Linear().at(1, 0), "Linear(weight=[1, 0])"),
        (Fourier().at(1, 2), "Fourier(omega=[1, 2])"),
        (Dirichlet().at(3.5), "Dirichlet(sigma=3.5)"),
        (Gaussian(ard=True).at(*range(1, 9)), "Gaussian(sigma=[1, 2, 3, 4, 5, 6, ...])"),
        (Linear(columns=list(range(8))).at(1), "columns=[0, 1, 2, 3, 4, 5, ...])"),
    ],
)
def test_repr_of_members(kernel, shown):
    assert repr(kernel).endswith(shown)


def test_parameters_by_name():
    assert Gaussian().at(1.5).parameters == {"sigma": 1.5}
    assert Gaussian(ard=True).at(1.5, 2).parameters == {"sigma": [1.5, 2.0]}
    assert RationalQuadratic().at(1.5, 2).parameters == {"sigma": 1.5, "alpha": 2.0}
    assert RationalQuadratic(ard=True).at(1, 2, 3).parameters == {"sigma": [1, 2], "alpha": 3}


def test_equality_and_hash():
    assert Gaussian().at(1.5) == Gaussian().at(1.5)
    assert hash(Gaussian().at(1.5)) == hash(Gaussian().at(1.5))
    different = [
        Gaussian().at(1.5),
        Gaussian().at(1.6),
        Laplacian().at(1.5),
        Gaussian(columns=[0]).at(1.5),
        Matern(0.5).at(1.5),
        Matern(2.5).at(1.5),
    ]
    assert len(set(different)) == len(different)
    assert Gaussian().at(1.5) != "Gaussian(sigma=1.5)"


@pytest.mark.parametrize("case", named("linear", "polynomial-2"), ids=lambda case: case.name)
def test_members_with_constants_of_other_data_are_other_kernels(case):
    p = problem(case)
    here, there = p.family, case.resolved(2 * p.full)
    assert here.at(p.sigma) == case.resolved(p.full).at(p.sigma)
    assert np.abs(here.at(p.sigma)(p.full) - there.at(p.sigma)(p.full)).max() > 0.1
    assert here.at(p.sigma) != there.at(p.sigma)


def test_members_of_large_different_gram_matrices_differ():
    """Equal printed corners do not make two matrices equal."""
    one, other = np.eye(100), np.eye(100)
    other[50, 50] = 2
    assert GramMatrix(one).at() == GramMatrix(one.copy()).at()
    assert GramMatrix(one).at() != GramMatrix(other).at()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_families_pickle_and_clone(case):
    p = problem(case)
    kernel = p.family.at(p.sigma)
    revived = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(revived(p.full, p.other_full), kernel(p.full, p.other_full))
    assert repr(clone(case.family)) == repr(case.family)
    again = clone(p.family).resolve(p.full)
    np.testing.assert_array_equal(
        again.at(p.sigma)(p.full, p.other_full), kernel(p.full, p.other_full)
    )


# --- kernels of a user ---------------------------------------------------------------------------


def test_custom_function_must_return_a_gram_matrix():
    with pytest.raises(ValueError, match=r"array of shape \(12, 7\).*Got \(12,\) instead"):
        CustomFamily(lambda X, Z, s: X[:, 0], (1, 2)).at(1.0)(X, Z)
    with pytest.raises(ValueError, match=r"NaN or infinity at parameters \[1.0\]"):
        CustomFamily(lambda X, Z, s: np.full((len(X), len(Z)), np.nan), (1, 2)).at(1.0)(X, Z)


def test_custom_diag_of_many_rows():
    many = np.random.default_rng(0).normal(size=(600, 2))

    def linear(X, Z, c):
        return X @ Z.T + c

    expected = (many**2).sum(axis=1) + 0.5
    np.testing.assert_allclose(CustomFamily(linear, (0.1, 1)).at(0.5).diag(many), expected)


def test_custom_differences_stay_within_the_bounds():
    """Outside its bounds a user's function need not be defined; searches do end on them."""
    seen = []

    def function(X, Z, c):
        seen.append(c)
        return np.exp(-np.sqrt(c) * np.abs(np.subtract.outer(X[:, 0], Z[:, 0])))

    family = CustomFamily(function, (0.5, 2.0), log=False).resolve(X)
    for c in (0.5, 2.0):
        sigma = np.array([c])
        K = family.gram(sigma, X)
        slope = family.gradient(sigma, X, None, np.ones_like(K), K)
        D = np.abs(np.subtract.outer(X[:, 0], X[:, 0]))
        assert slope[0] == pytest.approx(np.sum(-D * K) / (2 * np.sqrt(c)), rel=1e-4)
    assert min(seen) >= 0.5
    assert max(seen) <= 2.0


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_custom_differences_fit_parameters_of_any_size(unit):
    """log=False with a bandwidth in metres of data in nanometres."""
    family = CustomFamily(cauchy, (0.1 * unit, 10 * unit), log=False).resolve(X * unit)
    sigma = np.array([1.5 * unit])
    K = family.gram(sigma, X * unit)
    W = np.random.default_rng(0).normal(size=K.shape)
    slope = family.gradient(sigma, X * unit, None, W, K)
    expected = np.sum(W * 2 * K * (1 - K)) / sigma[0]
    assert slope[0] == pytest.approx(expected, rel=1e-5)
