"""What every family promises: formula, diagonal, gradient and search coordinates."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import kernalign.kernels
from kernalign.kernels import (
    Additive,
    AnyOf,
    Family,
    FamilyMember,
    FeatureFamily,
    Fourier,
    Gaussian,
    GaussianMetric,
    GramMatrix,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from kernalign.kernels.structure import is_scalar
from tests.kernels.families import CASES, MEANS, SCALES, problem

#: Families on rows far beyond those that they were resolved on.
BEYOND = [
    Gaussian(),
    Gaussian(ard=True),
    Laplacian(),
    Laplacian(ard=True),
    Matern(2.5),
    RationalQuadratic(),
    Polynomial(3),
    Linear(),
    Additive(),
    Fourier(),
    GaussianMetric(rank=2),
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
every_seed = pytest.mark.parametrize("seed", range(3))
properties = settings(max_examples=20, deadline=None, derandomize=True)


def test_list_has_every_public_family():
    public = {
        value
        for name in kernalign.kernels.__all__
        if inspect.isclass(value := getattr(kernalign.kernels, name))
        and issubclass(value, Family)
        and not inspect.isabstract(value)
    }
    # A union and a finished Gram matrix have nothing to search: they have their own tests.
    listed = {type(case.family) for case in CASES}
    own = {family for family in listed if family.__module__.startswith("kernalign.")}
    assert own == public - {AnyOf, GramMatrix}


# --- formula -------------------------------------------------------------------------------------


@every_case
@every_seed
def test_gram_equals_naive_formula(case, seed):
    p = problem(case, seed)
    kernel = FamilyMember(p.family, p.sigma)
    square = case.reference(p.X, p.sigma, p.X, p.X)
    np.testing.assert_allclose(kernel(p.full), square, rtol=1e-12, atol=1e-13)
    rectangle = case.reference(p.X, p.sigma, p.X, p.Z)
    np.testing.assert_allclose(kernel(p.full, p.other_full), rectangle, rtol=1e-12, atol=1e-13)


@every_case
def test_both_forms_agree(case):
    p = problem(case)
    one, two = p.family.gram(p.sigma, p.X), p.family.gram(p.sigma, p.X, p.X.copy())
    np.testing.assert_allclose(two, one, rtol=1e-12, atol=1e-13)


@every_case
def test_select_cuts_out_own_columns(case):
    p = problem(case)
    np.testing.assert_array_equal(p.family.select(p.full), p.X)


@every_case
@every_seed
def test_diag_is_diagonal_of_gram(case, seed):
    p = problem(case, seed)
    kernel = FamilyMember(p.family, p.sigma)
    np.testing.assert_allclose(kernel.diag(p.full), np.diag(kernel(p.full)), rtol=1e-13)


@every_case
@every_seed
def test_gram_is_symmetric_and_positive_semidefinite(case, seed):
    p = problem(case, seed, n=40)
    K = p.family.gram(p.sigma, p.X)
    np.testing.assert_allclose(K, K.T, rtol=1e-12, atol=1e-14)
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-13 * values[-1]


@every_case
def test_formula_leaves_its_arguments_alone(case):
    p = problem(case)
    K = p.family.gram(p.sigma, p.X, p.Z)
    W = p.rng.normal(size=K.shape)
    given_arrays = [p.sigma, p.X, p.Z, W, K]
    copies = [a.copy() for a in given_arrays]
    p.family.gram(p.sigma, p.X)
    p.family.diag(p.sigma, p.X)
    p.family.gradient(p.sigma, p.X, p.Z, W, K)
    p.family.from_search(p.family.to_search(p.sigma))
    for array, copy in zip(given_arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


features = pytest.mark.parametrize(
    "case",
    [case for case in CASES if isinstance(case.family, FeatureFamily)],
    ids=lambda case: case.name,
)


@features
def test_features_give_the_gram_matrix(case):
    p = problem(case)
    phi, psi = p.family.features(p.sigma, p.X), p.family.features(p.sigma, p.Z)
    naive = case.reference(p.X, p.sigma, p.X, p.Z)
    np.testing.assert_allclose(phi @ psi.T, naive, rtol=1e-12, atol=1e-13)


@every_case
@properties
@given(data=st.data())
def test_properties_on_any_data(case, data):
    """Ties, zeros and duplicates included: symmetric, PSD, Cauchy-Schwarz, naive formula."""
    shape = (data.draw(st.integers(2, 7), label="n"), case.d)
    full = data.draw(arrays(float, shape, elements=st.floats(-10, 10, width=32)), label="X")
    seed = data.draw(st.integers(0, 99), label="seed")
    family, X = case.resolved(full), case.cut(full)
    rng = np.random.default_rng(seed)
    # Parameters of the size of standard data: of rows all equal there is no size to take.
    sigma = case.parameters(rng, 3 * rng.normal(size=X.shape))
    K = family.gram(sigma, X)
    naive = case.reference(X, sigma, X, X) if _has_spread(X) else K
    size = max(np.abs(K).max(), 1e-300)
    np.testing.assert_allclose(K, naive, rtol=1e-10, atol=1e-11 * size)
    np.testing.assert_allclose(K, K.T, rtol=1e-12, atol=1e-13 * size)
    assert np.linalg.eigvalsh(K)[0] >= -1e-11 * size
    diagonal = family.diag(sigma, X)
    assert (np.abs(K) <= np.sqrt(np.outer(diagonal, diagonal)) + 1e-12 * size).all()


def _has_spread(X):
    """The naive formulas do not know the convention for constant columns and zero data."""
    return (np.ptp(X, axis=0) > 1e-6 * np.abs(X).max(axis=0)).all()


# --- gradient ------------------------------------------------------------------------------------


def central(f, h):
    """f'(0) with an error of h^8."""
    weights = [4 / 5, -1 / 5, 4 / 105, -1 / 280]
    return sum(w * (f(k * h) - f(-k * h)) for k, w in enumerate(weights, 1)) / h


def forward(f, h):
    """f'(0) from values at and right of 0, with an error of h^6."""
    weights = [-49 / 20, 6, -15 / 2, 20 / 3, -15 / 4, 6 / 5, -1 / 6]
    return sum(w * f(k * h) for k, w in enumerate(weights)) / h


def weighted_sum(p, Z, W, z, direction):
    """t -> sum_ij W_ij kappa(x_i, z_j) at the search coordinate z + t direction."""
    return lambda t: np.sum(W * p.family.gram(p.family.from_search(z + t * direction), p.X, Z))


@every_case
@every_seed
@pytest.mark.parametrize("form", ["square", "rectangle"])
def test_gradient_is_derivative_in_search_coordinate(case, seed, form):
    p = problem(case, seed)
    Z = None if form == "square" else p.Z
    K = p.family.gram(p.sigma, p.X, Z)
    # W is neither symmetric nor of one sign.
    W = p.rng.normal(size=K.shape)
    z = p.family.to_search(p.sigma)
    slope = p.family.gradient(p.sigma, p.X, Z, W, K)
    assert slope.shape == z.shape
    # Relevances are positive, so their steps are relative.
    unit = np.ones(z.size)
    if case.ard:
        unit[: p.X.shape[1]] = z[: p.X.shape[1]]
    tolerance = case.gradient_accuracy * np.linalg.norm(W) * np.abs(K).max()
    for v in [*np.eye(z.size), p.rng.normal(size=z.size)]:
        expected = central(weighted_sum(p, Z, W, z, unit * v), h=5e-3)
        assert slope @ (unit * v) == pytest.approx(expected, rel=1e-9, abs=tolerance)


ard_cases = pytest.mark.parametrize(
    "case", [case for case in CASES if case.ard], ids=lambda case: case.name
)


@ard_cases
@every_seed
@pytest.mark.parametrize("form", ["square", "rectangle"])
def test_gradient_at_irrelevant_features(case, seed, form):
    """sigma_k = inf is z_k = 0, at the edge of the box: derivatives into it."""
    p = spaced_problem(case, seed)
    Z = None if form == "square" else p.Z
    d = p.X.shape[1]
    ignored = p.rng.permutation(d)[: 1 + seed % (d - 1)]
    sigma = p.sigma.copy()
    sigma[ignored] = np.inf
    z = p.family.to_search(sigma)
    assert (z[ignored] == 0).all()
    np.testing.assert_array_equal(p.family.from_search(z)[ignored], np.inf)
    K = p.family.gram(sigma, p.X, Z)
    naive = case.reference(p.X, sigma, p.X, p.X if Z is None else Z)
    np.testing.assert_allclose(K, naive, rtol=1e-12, atol=1e-13)
    W = p.rng.normal(size=K.shape)
    slope = p.family.gradient(sigma, p.X, Z, W, K)
    for k, v in enumerate(np.eye(z.size)):
        difference = forward if k in ignored else central
        expected = difference(weighted_sum(p, Z, W, z, v), h=1e-4)
        assert slope[k] == pytest.approx(expected, rel=1e-7, abs=1e-9 * np.linalg.norm(W))


def spaced_problem(case, seed):
    """No two rows are close in any feature, where a Matern kernel bends sharply in z at 0."""
    p = problem(case, seed, n=6, m=5)
    d = p.full.shape[1]
    levels = np.stack([p.rng.permutation(11) for _ in range(d)], axis=1) / 3
    rows = levels * SCALES[:d] + MEANS[:d]
    X, Z = case.cut(rows[:6]), case.cut(rows[6:])
    sigma = p.sigma.copy()
    sigma[: X.shape[1]] = X.std(axis=0) * p.rng.uniform(0.7, 1.4, X.shape[1])
    return replace(p, X=X, Z=Z, sigma=sigma)


# --- search coordinates --------------------------------------------------------------------------


@every_case
@every_seed
def test_search_coordinates_round_trip(case, seed):
    p = problem(case, seed)
    z = p.family.to_search(p.sigma)
    np.testing.assert_allclose(p.family.from_search(z), p.sigma, rtol=1e-13)
    np.testing.assert_allclose(
        p.family.to_search(p.family.from_search(z)), z, rtol=1e-13, atol=1e-14
    )


@every_case
@every_seed
def test_d_sigma_d_z(case, seed):
    p = problem(case, seed)
    z = p.family.to_search(p.sigma)
    slope = p.family.d_sigma_d_z(p.sigma)
    assert slope.shape == z.shape
    for k, direction in enumerate(np.eye(z.size)):
        h = 1e-3 * max(abs(z[k]), 1e-3)
        expected = central(lambda t, v=direction, k=k: p.family.from_search(z + t * v)[k], h)
        assert slope[k] == pytest.approx(expected, rel=1e-8)


@ard_cases
def test_tied_family_is_the_same_kernel_with_one_bandwidth(case):
    p = problem(case)
    tied = p.family.tied()
    if tied is None:
        assert case.name == "rational-quadratic-ard"
        return
    sigma = np.array([1.7 * np.linalg.norm(p.X.std(axis=0))])
    untied = p.family.untie(sigma, p.X.shape[1])
    np.testing.assert_allclose(
        p.family.gram(untied, p.X, p.Z), tied.gram(sigma, p.X, p.Z), rtol=1e-13
    )
    assert tied.search_space(p.X, p.rng).p == 1


# --- a function of one number --------------------------------------------------------------------


def _scalar(case):
    return is_scalar(case.family)


scalar_cases = pytest.mark.parametrize(
    "case", [case for case in CASES if _scalar(case)], ids=lambda case: case.name
)


def test_scalar_families_are_those_of_one_parameter():
    names = {case.name for case in CASES if _scalar(case)}
    expected = {"gaussian", "gaussian-positions", "laplacian", "matern-names", "polynomial-mixed"}
    expected |= {f"matern-{nu}" for nu in (0.5, 1.5, 2.5)}
    expected |= {f"polynomial-{degree}" for degree in (1, 2, 3)} | {"extend-scalar"}
    assert names == expected


@scalar_cases
def test_statistic_serves_every_parameter(case):
    p = problem(case)
    for Z in (None, p.Z):
        statistic = p.family.statistic(p.X, Z)
        kept = statistic.copy()
        for factor in (0.3, 1.0, 4.0):
            naive = case.reference(p.X, factor * p.sigma, p.X, p.X if Z is None else Z)
            K = p.family.from_statistic(statistic, factor * p.sigma)
            np.testing.assert_allclose(K, naive, rtol=1e-11, atol=1e-13)
        np.testing.assert_array_equal(statistic, kept)


@scalar_cases
def test_tiles_are_parts_of_the_whole(case):
    """On and off the diagonal, written to the array that is given."""
    p = problem(case)
    for Z in (None, p.Z):
        whole = p.family.statistic(p.X, Z)
        tiles = p.family.statistic_tiles(p.X, Z)
        for rows, columns in ((slice(0, 4), slice(0, 4)), (slice(0, 4), slice(4, 7))):
            part = whole[rows, columns]
            out = np.full(part.shape, np.nan)
            assert tiles(rows, columns, out) is out
            np.testing.assert_allclose(out, part, rtol=1e-12, atol=1e-13)
            K = np.full_like(part, np.nan)
            p.family.from_statistic_into(K, out, p.sigma)
            np.testing.assert_allclose(K, p.family.from_statistic(part, p.sigma), rtol=1e-11)
            np.testing.assert_allclose(out, part, rtol=1e-12, atol=1e-13)


def check_values_to(p, X, Z):
    values = p.family.values_to(p.sigma, Z)
    for rows in (slice(0, 3), slice(3, len(X))):
        out = np.full((len(X[rows]), len(Z)), np.nan, dtype=X.dtype)
        np.testing.assert_array_equal(values(X[rows], out), p.family.gram(p.sigma, X[rows], Z))


@pytest.mark.parametrize("precision", [np.float64, np.float32])
@every_case
def test_values_to_given_rows_are_those_of_the_gram_matrix(case, precision):
    p = problem(case)
    check_values_to(p, p.X.astype(precision), p.Z.astype(precision))


@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize("family", [Gaussian(), Matern(2.5), Laplacian(), RationalQuadratic()])
def test_values_to_given_rows_at_any_distance(family, precision):
    p = replace(problem(CASES[0]), family=family, sigma=np.ones(1 + len(family.untied_names)))
    with np.errstate(over="ignore"):
        X = (p.X * np.geomspace(1, 1e160, len(p.X))[:, None]).astype(precision)
    check_values_to(p, X, p.Z.astype(precision))


@scalar_cases
def test_the_statistic_to_given_rows_is_that_of_all(case):
    p = problem(case)
    out = np.full((len(p.X), len(p.Z)), np.nan)
    found = p.family.statistic_to(p.Z)(p.X, out)
    np.testing.assert_array_equal(found, p.family.statistic(p.X, p.Z))


@scalar_cases
def test_semigroup_products_are_members(case):
    """kappa_sigma kappa_tau = kappa_rho with rho^-a = sigma^-a + tau^-a."""
    p = problem(case)
    a = p.family.power
    sigma, tau = p.sigma, 1.7 * p.sigma
    rho = (sigma**-a + tau**-a) ** (-1 / a)
    product = p.family.gram(sigma, p.X) * p.family.gram(tau, p.X)
    member = p.family.gram(rho, p.X)
    assert np.allclose(product, member, rtol=1e-12, atol=0) == p.family.semigroup


# --- what a family declares ----------------------------------------------------------------------


@every_case
def test_frequencies_are_the_kernel_in_the_mean(case):
    """Where they are declared: within four standard errors of a mean of cosines."""
    p = problem(case)
    waves = 20_000
    if not p.family.has_frequencies:
        with pytest.raises(NotImplementedError, match="has no known spectrum"):
            p.family.frequencies(p.sigma, p.X.shape[1], waves, p.rng)
        return
    omega = p.family.frequencies(p.sigma, p.X.shape[1], waves, p.rng)
    found = np.array([np.cos((x - p.Z) @ omega).mean(axis=1) for x in p.X])
    np.testing.assert_allclose(found, p.family.gram(p.sigma, p.X, p.Z), atol=4 / np.sqrt(2 * waves))


@every_case
def test_words_say_when_rows_are_similar(case):
    p = problem(case)
    names = ["age", "income", "height", "weight"][: p.X.shape[1]]
    said = p.family.words(p.sigma, names)
    assert said.startswith("rows are similar when") or said == "a similarity that was given"
    if case.ard:
        assert names[int(p.sigma[: len(names)].argmin())] in said


def test_words_name_the_narrowest_features_and_count_the_ignored():
    family = kernalign.kernels.Gaussian(ard=True)
    said = family.words(np.array([2.0, np.inf, 0.5]), ["a", "b", "c"])
    assert said == (
        "rows are similar when c differs by less than about 0.5, a differs by less than about 2; "
        "1 feature is ignored"
    )


@pytest.mark.parametrize("family", BEYOND, ids=repr)
def test_rows_beyond_all_scales_of_the_fit_have_finite_kernels(family):
    """A warning would be an error: nothing overflows on the way."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3)) * 1e-150
    far = np.concatenate([X[:2], -1e200 * np.ones((1, 3)), [[1e300, 0.0, -1e-300]]])
    family = family.resolve(X)
    space = family.search_space(X, rng)
    for z in space.scan[:: max(1, len(space.scan) // 5)]:
        kernel = family.at(family.from_search(z))
        K = kernel(far, X)
        assert np.isfinite(K).all()
        np.testing.assert_allclose(K[:2], kernel(X)[:2], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(kernel.diag(far), np.diagonal(kernel(far)), rtol=1e-9)


def test_words_are_in_the_units_of_the_columns():
    """Not in units of their spread, which is what the kernel sees."""
    from kernalign import KernelRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)) * [1000.0, 1.0]
    model = KernelRegressor().fit(X, np.sin(X[:, 0] / 500))
    kernel = model.kernel_.kernels[0]
    said = kernel.family.words(kernel.sigma, ["salary", "noise"])
    width = kernel.sigma[0] / kernel.family.units.slope[0]
    assert 200 < width < 3000
    assert f"salary differs by less than about {width:.3g}" in said


def test_words_of_two_categories_are_those_of_categories():
    import pandas as pd

    from kernalign import KernelClassifier

    rng = np.random.default_rng(0)
    sex = rng.choice(["female", "male"], 120)
    X = pd.DataFrame({"Sex": sex, "Age": rng.normal(40, 10, 120)})
    y = (sex == "female") ^ (rng.random(120) < 0.1)
    model = KernelClassifier(kernalign.ContinuousAlignment(kernalign.Gaussian(ard=True))).fit(X, y)
    kernel = model.kernel_.kernels[0]
    said = kernel.family.words(kernel.sigma, model.columns_.feature_names)
    assert "Sex is the same" in said
    assert "Sex differs" not in said
