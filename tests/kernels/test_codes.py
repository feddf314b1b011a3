"""Kernels on columns of codes: against indicator columns, and by central differences."""

import tracemalloc

import numpy as np
import pytest

from kernalign.criteria.kernel_sum import KernelSum, Term
from kernalign.criteria.sum_evidence import SumEvidence
from kernalign.gram import Target
from kernalign.gram.packed import PackedRows
from kernalign.kernels import (
    Additive,
    FamilyMember,
    Gaussian,
    GaussianMetric,
    Laplacian,
    LearnedKernel,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from kernalign.kernels.units import Units
from kernalign.tables import Feature, TableFeatures

CODES = np.array([0, 5, 0, 3, 2])
FAMILIES = [
    Linear(),
    Additive(),
    Gaussian(),
    Gaussian(ard=True),
    Matern(0.5, ard=True),
    Matern(1.5),
    Matern(2.5, ard=True),
    Laplacian(),
    Laplacian(ard=True),
    RationalQuadratic(),
    RationalQuadratic(ard=True),
]
names = [f"{type(f).__name__}{'-ard' if getattr(f, 'ard', False) else ''}" for f in FAMILIES]
every_family = pytest.mark.parametrize("family", FAMILIES, ids=names)


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(CODES))) * [1.0, 1.0, 30.0, 1.0, 1.0]
    for k in np.flatnonzero(CODES):
        X[:, k] = rng.integers(0, CODES[k], n)
    return X


def features():
    kinds = [("value", 0), ("category", 5), ("value", 0), ("category", 3), ("missing", 2)]
    return TableFeatures(
        [Feature(f"x{k}", f"x{k}", state, codes) for k, (state, codes) in enumerate(kinds)]
    )


def resolved(family, X):
    return family.resolve(X, features(), np.ones(len(X)))


def some_sigma(family, seed=1):
    rng = np.random.default_rng(seed)
    d = len(CODES)
    size = d if getattr(family, "ard", True) else 1
    sigma = rng.uniform(0.3, 0.9, size) * (3 if hasattr(family, "ard") else 1)
    return np.append(sigma, 1.3) if isinstance(family, RationalQuadratic) else sigma


def indicators(U):
    """Corners of a regular simplex, in the units that the module states."""
    parts = []
    for k, K in enumerate(CODES):
        if K < 3:
            parts.append((k, U[:, [k]]))
        else:
            corners = np.eye(K)[U[:, k].astype(int)] - 1 / K
            parts.append((k, np.sqrt(K / (K - 1)) * corners))
    return parts


@every_family
def test_gram_equals_that_of_simplex_corners(family):
    """The naive formula: one block of indicator columns for each column of codes."""
    X, Z = rows(30), rows(17, seed=5)
    own = resolved(family, X)
    sigma = some_sigma(family)
    K = own.gram(sigma, own.select(X), own.select(Z))
    A, B = indicators(own.select(X)), indicators(own.select(Z))
    scale = getattr(own, "_scale", np.ones(len(CODES)))
    power = own.power if hasattr(own, "power") else 2
    total = np.zeros(K.shape)
    for (k, a), (_, b) in zip(A, B, strict=True):
        square = ((a[:, None] - b[None]) ** 2).sum(axis=2)
        width = sigma[k] if getattr(family, "ard", True) else sigma[0]
        if isinstance(family, Linear):
            total += (width / scale[k]) ** 2 * (a @ b.T)
        elif isinstance(family, Additive):
            v = np.sqrt(3 * square) / scale[k]
            total += width * (1 + v) * np.exp(-v)
        elif power == 1:
            apart = square / 2 if CODES[k] > 2 else np.abs(a - b.T)
            total += apart / width
        else:
            total += square / width**2
    if isinstance(family, RationalQuadratic):
        total = (1 + total / sigma[-1]) ** -sigma[-1]
    elif hasattr(family, "ard"):
        total = own.profile(total)
    np.testing.assert_allclose(K, total, rtol=1e-10, atol=1e-12)
    same = own.gram(sigma, own.select(X))
    np.testing.assert_allclose(np.diagonal(same), own.diag(sigma, own.select(X)), rtol=1e-12)
    assert np.linalg.eigvalsh(same).min() > -1e-10


@every_family
def test_gradient_by_central_differences(family):
    X, Z = rows(12), rows(9, seed=5)
    own = resolved(family, X)
    U, V = own.select(X), own.select(Z)
    W = np.random.default_rng(2).normal(size=(12, 9))
    z = own.to_search(some_sigma(family))

    def value(point):
        return np.vdot(W, own.gram(own.from_search(point), U, V))

    sigma = own.from_search(z)
    found = own.gradient(sigma, U, V, W, own.gram(sigma, U, V))
    for k, unit in enumerate(np.eye(len(z)) * 1e-6):
        slope = (value(z + unit) - value(z - unit)) / 2e-6
        assert found[k] == pytest.approx(slope, rel=1e-5, abs=1e-7)


PACKED = [Linear(), Additive(), Gaussian(ard=True), Matern(1.5, ard=True), Laplacian(ard=True)]
every_packed = pytest.mark.parametrize("family", PACKED, ids=lambda f: type(f).__name__)


def packed(n=25):
    X = rows(n)
    units = Units.of(X, np.ones(n), codes=CODES)
    y = np.random.default_rng(3).normal(size=(n, 1))
    return X, units, PackedRows(units(X), Target(y, np.ones(n)), np.float64, units.codes)


@every_packed
@pytest.mark.parametrize("tied", [True, False])
def test_packed_pairs_equal_the_kernel(family, tied):
    X, units, pairs = packed()
    u = np.log(np.random.default_rng(4).uniform(0.1, 1, 1 if tied else len(CODES)))
    k = KernelSum((Term(family, u),), 0.0)
    (part,) = SumEvidence.like(pairs, k, 0.0).parts(k)
    member = k.terms[0].member(len(CODES))
    kernel = FamilyMember(member.family.in_units(units), member.sigma)
    K = k.terms[0].weight * kernel(X)
    np.testing.assert_allclose(part[0], K[np.triu_indices(len(X), 1)], rtol=1e-10)
    np.testing.assert_allclose(part[1], np.diagonal(K), rtol=1e-10)


@every_packed
def test_evidence_slopes_by_central_differences(family):
    *_, pairs = packed()
    u = np.log(np.random.default_rng(4).uniform(0.1, 1, len(CODES)))
    problem = SumEvidence(pairs, [family], [False], 3.0)
    x = problem.join(KernelSum((Term(family, u),), -1.0))
    _, slope = problem(x)
    for k, unit in enumerate(np.eye(len(x)) * 1e-5):
        difference = (problem(x + unit)[0] - problem(x - unit)[0]) / 2e-5
        assert slope[k] == pytest.approx(difference, rel=1e-4, abs=1e-6)


@every_packed
def test_names_of_categories_mean_nothing(family):
    """Any other numbering of the categories gives the same kernel."""
    X = rows(20)
    renamed = X.copy()
    renamed[:, 1] = np.array([3, 0, 4, 2, 1])[X[:, 1].astype(int)]
    renamed[:, 3] = np.array([2, 0, 1])[X[:, 3].astype(int)]
    sigma = some_sigma(family)
    one, other = resolved(family, X), resolved(family, renamed)
    K = one.gram(sigma, one.select(X))
    np.testing.assert_array_equal(other.gram(sigma, other.select(renamed)), K)


@every_packed
def test_two_codes_are_two_numbers(family):
    """A column of two codes is the same whether it is called numbers or categories."""
    X = rows(20)
    as_numbers = Units.of(X, np.ones(20), codes=np.array([0, 5, 0, 3, 0]))
    as_codes = Units.of(X, np.ones(20), codes=CODES)
    sigma = some_sigma(family)
    grams = [FamilyMember(family.in_units(u), sigma)(X) for u in (as_numbers, as_codes)]
    np.testing.assert_array_equal(*grams)


def test_two_codes_are_as_far_apart_as_the_rule_for_many_says():
    """K = 2 in the table of codes.py is the column -1, 1."""
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    U = Units.of(X, np.ones(10), codes=np.array([2]))(X)
    assert sorted(set(U[:, 0])) == [-1.0, 1.0]


@every_packed
def test_unseen_category_differs_from_all(family):
    X, new = rows(40), rows(40)
    own = resolved(family, X)
    sigma = some_sigma(family)
    new[:, 1] = 7.0  # beyond the five codes of the fit
    K = FamilyMember(own, sigma)(new, X)
    for code in range(5):
        seen = rows(40)
        seen[:, 1] = code
        differs = X[:, 1] != code
        of_seen = FamilyMember(own, sigma)(seen, X)
        np.testing.assert_allclose(K[:, differs], of_seen[:, differs], rtol=1e-12)
        assert (K[:, ~differs] < of_seen[:, ~differs]).all()


def test_third_value_of_two_codes_lies_between():
    X = rows(30)
    units = Units.of(X, np.ones(30), codes=CODES)
    new = X[:3].copy()
    new[:, 4] = [0, 1, 3]
    low, high, between = units(new)[:, 4]
    assert between == pytest.approx((low + high) / 2)
    assert high - low == pytest.approx(2.0)


@pytest.mark.parametrize("family", [Polynomial(), GaussianMetric()])
def test_families_of_numbers_say_so(family):
    with pytest.raises(ValueError, match="'x1' is categorical: use Gaussian"):
        resolved(family, rows(20))
    family.set_params(columns=["x0", "x2"])
    resolved(family, rows(20))


def test_names_of_columns_select_all_their_features():
    table = TableFeatures(
        [
            Feature("age", "age", "value"),
            Feature("age is missing", "age", "missing", 2),
            Feature("city", "city", "category", 4),
        ]
    )
    X = np.array([[1.0, 0, 3], [2.0, 1, 0], [3.0, 0, 2]])
    assert Gaussian(columns=["age"]).resolve(X, table).columns == [0, 1]
    assert Gaussian(columns=["city"]).resolve(X, table).codes.counts.tolist() == [4]


@pytest.mark.parametrize("family", PACKED, ids=lambda f: type(f).__name__)
def test_thousands_of_categories_need_no_indicators(family):
    """10,000 categories in 20,000 rows: a block of the Gram matrix within 100 MB."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=20_000), rng.integers(0, 10_000, 20_000)])
    units = Units.of(X, np.ones(len(X)), codes=np.array([0, 10_000]))
    sigma = np.ones(2)
    kernel = LearnedKernel([FamilyMember(family.in_units(units), sigma)], np.ones(1))
    tracemalloc.start()
    kernel(X[:50], X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6
