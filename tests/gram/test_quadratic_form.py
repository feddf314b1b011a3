"""Q_c(sigma) = c'G(sigma)c: every way of computing it against the Gram matrix itself."""

import numpy as np
import pytest

from kernalign.gram.quadratic_form import (
    DenseForms,
    FeatureForms,
    FormObjective,
    ScalarForms,
    quadratic_forms,
)
from kernalign.kernels import Gaussian, Laplacian, Matern, Polynomial
from kernalign.solvers.inner_search import maximise
from tests import reference
from tests.kernels.families import CASES, problem

every_family = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def space_of(family, X):
    return family.search_space(family.select(X), np.random.default_rng(0))


def forms_of(p):
    return quadratic_forms(p.family, p.full, space_of(p.family, p.full))


def some_c(n, outputs=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, outputs))


@every_family
def test_value_is_the_contracted_gram_matrix(case):
    p = problem(case)
    c = some_c(len(p.full))
    form = forms_of(p).of(c)
    K = case.reference(p.X, p.sigma, p.X, p.X)
    z = p.family.to_search(p.sigma)
    assert form.value(z) == pytest.approx(np.trace(c.T @ K @ c), rel=1e-9, abs=1e-10)
    products, norm = form.products(z)
    assert products.shape == (1,)
    assert products[0] == form.value(z)
    assert norm == 0


@every_family
def test_gram_is_that_of_the_family_whatever_was_asked_before(case):
    p = problem(case)
    forms = forms_of(p)
    z = p.family.to_search(p.sigma)
    for seed in (0, 1):
        forms.of(some_c(len(p.full), seed=seed)).value(z)
        K = case.reference(p.X, p.sigma, p.X, p.X)
        np.testing.assert_allclose(forms.gram(z), K, rtol=1e-9, atol=1e-12)


@every_family
def test_slope_against_central_differences(case):
    p = problem(case)
    form = forms_of(p).of(some_c(len(p.full)))
    z = p.family.to_search(p.sigma)
    slope = form.slope(z)
    numeric = np.empty_like(z)
    for k in range(z.size):
        h = 1e-5 * max(1, abs(z[k]))
        step = h * np.eye(z.size)[k]
        numeric[k] = (form.value(z + step) - form.value(z - step)) / (2 * h)
    np.testing.assert_allclose(slope, numeric, rtol=1e-6, atol=1e-6 * np.abs(slope).max())
    np.testing.assert_allclose(form.gradient(z, np.array([2.0]), 0.0), 2 * slope)


@every_family
def test_scan_agrees_with_single_values(case):
    """The family's own points come from a table, others between them do not."""
    p = problem(case)
    space = space_of(p.family, p.full)
    form = quadratic_forms(p.family, p.full, space).of(some_c(len(p.full)))
    Z = np.concatenate([space.scan[:4], p.family.to_search(p.sigma)[None], space.scan[4:6]])
    values, norms = form.scan(Z)
    np.testing.assert_allclose(values[:, 0], [form.value(z) for z in Z], rtol=1e-10, atol=1e-10)
    assert (norms == 0).all()


def test_each_kind_of_family_has_its_own_way():
    kinds = {case.name: type(forms_of(problem(case))) for case in CASES}
    assert kinds["dirichlet"] is kinds["linear"] is FeatureForms
    assert kinds["gaussian"] is kinds["polynomial-2"] is ScalarForms
    assert kinds["gaussian-ard"] is kinds["custom-two"] is DenseForms


@pytest.mark.parametrize("family", [Gaussian(), Laplacian(), Matern(0.5), Matern(2.5)])
def test_gathered_pairs(family):
    """With many rows pairs are gathered on nodes; the error is bounded as promised."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[1] = X[0]
    X[2] = X[0] + 1e-9
    family = family.resolve(X)
    space = space_of(family, X)
    c = some_c(300)
    gathered = quadratic_forms(family, X, space)
    exact = quadratic_forms(family, X, space, gathered=False)
    assert gathered.nodes.size < exact.nodes.size / 2
    size = np.abs(c @ c.T).sum()
    errors = [gathered.of(c).value(z) - exact.of(c).value(z) for z in space.scan]
    assert np.abs(errors).max() < 1e-7 * size
    if family.semigroup:
        # Hat functions lie above a convex function, by no more than the bound.
        bound = gathered.gathering_error()
        form = gathered.of(c)
        positive = size / 2 + np.trace(c @ c.T @ np.ones((300, 300))) / 2
        assert max(errors) <= bound * positive
        assert min(errors) >= -bound * form.negative
        assert exact.gathering_error() == 0
        slopes = [gathered.of(c).slope(z) - exact.of(c).slope(z) for z in space.scan[::9]]
        assert np.abs(slopes).max() < 1e-6 * size


@pytest.mark.parametrize("n", [60, 120])
def test_equal_rows(n):
    X = np.ones((n, 2))
    family = Gaussian().resolve(X)
    form = quadratic_forms(family, X, space_of(family, X)).of(np.ones((n, 1)))
    assert form.value(np.zeros(1)) == pytest.approx(n**2)
    assert form.slope(np.zeros(1)) == 0


def test_all_pairs_equally_far():
    X = np.sqrt(0.5) * np.eye(120)
    family = Gaussian().resolve(X)
    c = some_c(120)
    form = quadratic_forms(family, X, space_of(family, X)).of(c)
    K = np.exp(-1.0) + (1 - np.exp(-1.0)) * np.eye(120)
    assert form.value(np.zeros(1)) == pytest.approx(np.trace(c.T @ K @ c), rel=1e-10)


def test_signed_statistic_is_not_gathered():
    X = np.random.default_rng(0).normal(size=(120, 2))
    family = Polynomial(2).resolve(X)
    forms = quadratic_forms(family, X, space_of(family, X))
    assert forms.nodes.size == 120 * 121 // 2


def test_many_rows_in_blocks():
    """Dense forms walk over blocks of rows; more rows than one block has."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    family = Gaussian(ard=True).resolve(X)
    c = some_c(300)
    form = quadratic_forms(family, X, space_of(family, X)).of(c)
    sigma = np.array([0.7, 1.9])
    A = X / sigma
    K = np.exp(-((A[:, None] - A) ** 2).sum(-1))
    z = family.to_search(sigma)
    assert form.value(z) == pytest.approx(np.trace(c.T @ K @ c), rel=1e-10)
    D = (X[:, None] - X) ** 2 / X.std(axis=0) ** 2
    expected = -np.einsum("ij,ijk->k", (c @ c.T) * K, D)
    np.testing.assert_allclose(form.slope(z), expected, rtol=1e-8)
    np.testing.assert_allclose(form.slope(2 * z), form.slope(2 * z.copy()))


@pytest.mark.parametrize(
    ("sigma", "rho", "value", "where"),
    [(2, 1, 29.686417, 0.57025), (4, 0.3, 403.275462, 0.63672), (0.3, 0.1, 43.116733, 0.79448)],
)
def test_reference_values(sigma, rho, value, where):
    """The inner search of methods.md section 12."""
    X, y = reference.section12()
    c = np.linalg.solve(reference.gaussian(X, X, sigma) + rho * np.eye(40), y)[:, None]
    family = Gaussian(bounds=(0.1, 10)).resolve(X)
    space = space_of(family, X)
    found = maximise(FormObjective(), quadratic_forms(family, X, space).of(c), space)
    assert found.value == pytest.approx(value, abs=2e-6)
    assert np.exp(found.z[0]) == pytest.approx(where, abs=2e-5)
