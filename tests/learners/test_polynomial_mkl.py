"""Polynomial combinations of kernels by ridge regression."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from kernalign import AlignmentWarning
from kernalign.gram.labels import infer_target
from kernalign.gram.stack import GramStack
from kernalign.kernels import CustomFamily, Gaussian, Linear
from kernalign.learners.polynomial_mkl import PolynomialMKL, project, projected_gradient
from kernalign.learners.ridge_mkl import RidgeMKL
from kernalign.solvers.ridge_weights import RidgeProblem
from tests import reference

X, Y = reference.section12()
SIGMAS = (0.25, 0.5, 1.0, 2.0, 4.0)
GRAMS = np.stack([reference.gaussian(X, X, sigma) for sigma in SIGMAS])
ROWS = np.arange(len(X))[:, None]


def gaussians(sigmas=SIGMAS):
    return [Gaussian().at(sigma) for sigma in sigmas]


def evaluate(grams, y, mu, rho, degree):
    """F, its gradient, alpha and K_mu of section 10."""
    T = np.tensordot(mu, grams, 1)
    alpha = np.linalg.solve(T**degree + rho * np.eye(len(y)), y)
    slope = [-degree * np.sum(alpha * ((T ** (degree - 1) * K) @ alpha)) for K in grams]
    return np.sum(y * alpha), np.array(slope), alpha, T**degree


def stationarity(slope, mu, mu0, radius, p):
    dual = np.abs(slope).max() if p == 1 else np.linalg.norm(slope)
    return radius * dual + slope @ (mu - mu0)


# --- reference values, [T23] to [T27] -------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "F", "mu"),
    [
        (2, 8.115081, (0.51646, 0.50680, 0.45293, 0.37786, 0.35846)),
        (1, 34.017145, (0.08445, 0.52574, 0.38981, 0, 0)),
    ],
)
def test_reference_values(p, F, mu):
    learner = PolynomialMKL(gaussians(), p=p, C=10, tol=1e-8).fit(X, Y)
    assert learner.objective_ == pytest.approx(F, abs=1e-6)
    np.testing.assert_allclose(learner.weights_, mu, atol=1e-3)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("mu0", [0.0, 0.3])
def test_the_result_is_stationary_and_on_the_boundary(degree, p, C, mu0):
    learner = PolynomialMKL(gaussians(), degree=degree, p=p, C=C, mu0=mu0).fit(X, Y)
    mu = learner.weights_
    F, slope, alpha, K = evaluate(GRAMS, Y, mu, 1 / C, degree)
    measure = stationarity(slope, mu, mu0, 1.0, p)
    assert measure / F <= 1e-6
    assert learner.converged_
    assert learner.gap_ == pytest.approx(measure / F, rel=1e-3, abs=1e-12)
    assert learner.objective_ == pytest.approx(F, rel=1e-10)
    assert (slope <= 0).all()
    assert (mu >= mu0).all()
    assert np.linalg.norm(mu - mu0, p) == pytest.approx(1, rel=1e-10)
    # Euler's identity for a homogeneous function of degree d
    assert mu @ slope == pytest.approx(-degree * alpha @ K @ alpha, rel=1e-10)
    objectives = [record["objective"] for record in learner.history_]
    assert (np.diff(objectives) <= 1e-10 * objectives[0]).all()


@pytest.mark.parametrize("p", [1, 2])
def test_degree_one_is_the_convex_optimum(p):
    for C in (0.1, 10.0, 1e3):
        one = PolynomialMKL(gaussians(), degree=1, p=p, C=C).fit(X, Y)
        two = RidgeMKL(gaussians(), p=p, C=C).fit(X, Y)
        assert one.objective_ == pytest.approx(two.objective_, rel=1e-5)
        np.testing.assert_allclose(one.kernel_(X), two.kernel_(X), atol=5e-3)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("C", [1.0, 10.0])
def test_other_starts_find_nothing_better(p, C):
    stack = GramStack(gaussians(), X)
    problem = RidgeProblem(Y[:, None], np.full(40, 1 / C), np.zeros(5), 1.0, p)
    rng = np.random.default_rng(0)
    starts = [problem.start(), *np.eye(5), *rng.random((12, 5))]
    starts = [mu / np.linalg.norm(mu, p) for mu in starts]
    values = [projected_gradient(stack, problem, 2, mu, 1e-6, 1000).fit.value for mu in starts]
    assert values[0] <= min(values) * (1 + 1e-4)


def test_value_is_that_of_a_generic_solver():
    for p in (1, 2):
        learner = PolynomialMKL(gaussians(), p=p, C=10).fit(X, Y)
        found = minimize(
            lambda mu: evaluate(GRAMS, Y, mu, 0.1, 2)[0],
            np.full(5, 0.2),
            jac=lambda mu: evaluate(GRAMS, Y, mu, 0.1, 2)[1],
            bounds=[(0, None)] * 5,
            constraints={"type": "ineq", "fun": lambda mu, q=p: 1 - np.sum(mu**q)},
            method="SLSQP",
            options={"ftol": 1e-12},
        )
        assert learner.objective_ == pytest.approx(found.fun, rel=1e-6)


@pytest.mark.parametrize("p", [1, 2])
def test_projection_is_the_nearest_point(p):
    rng = np.random.default_rng(0)
    problem = RidgeProblem(Y[:, None], np.ones(40), np.zeros(6), 1.5, p)
    for x in [*rng.normal(size=(10, 6)), np.full(6, 0.1), np.zeros(6), -np.ones(6)]:
        near = project(x, problem)
        assert (near >= 0).all()
        assert np.linalg.norm(near, p) <= 1.5 * (1 + 1e-12)
        # (x - near)'(u - near) <= 0 for every u of the set: extreme points are enough for p = 1.
        far = np.maximum(x - near, 0)
        dual = far.max() if p == 1 else np.linalg.norm(far)
        assert 1.5 * dual - (x - near) @ near <= 1e-12


# --- the machine and the kernel -------------------------------------------------------------------


def test_the_machine_belongs_to_the_normalised_kernel():
    learner = PolynomialMKL(gaussians(), C=10).fit(X, Y)
    _, _, alpha, K_mu = evaluate(GRAMS, Y, learner.weights_, 0.1, 2)
    K = learner.kernel_(X)
    assert np.trace(reference.centre(K)) / 40 == pytest.approx(1)
    np.testing.assert_allclose(learner.machine_.predict(K), K_mu @ alpha, rtol=1e-8)
    np.testing.assert_allclose(learner.dual_coef_, alpha, rtol=1e-8)
    assert learner.alignment_ == pytest.approx(reference.alignment(K, np.outer(Y, Y)), rel=1e-9)
    copy = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(copy.kernel_(X), K)
    shown = "* Gaussian(sigma=0.25) + "
    assert shown in repr(learner.kernel_)
    assert repr(learner.kernel_).endswith(")^2")


def test_one_kernel_is_its_power():
    learner = PolynomialMKL([Gaussian().at(1.0)], degree=3, C=2.0).fit(X, Y)
    np.testing.assert_array_equal(learner.weights_, [1.0])
    # The third power of a Gaussian is a Gaussian.
    plain = RidgeMKL([Gaussian().at(1 / np.sqrt(3))], C=2.0).fit(X, Y)
    np.testing.assert_allclose(learner.kernel_(X), plain.kernel_(X), rtol=1e-10)
    assert learner.objective_ == pytest.approx(plain.objective_, rel=1e-10)


@pytest.mark.parametrize("normalize", ["trace", "variance"])
def test_kernels_of_any_scale_and_sign(normalize):
    linear = Linear().resolve(X).at([1.0, 1.0])(X)
    scaled = [1e8 * linear, 1e-5 * GRAMS[1], GRAMS[3]]
    one = PolynomialMKL(scaled, normalize=normalize).fit(ROWS, Y)
    two = PolynomialMKL([linear, GRAMS[1], GRAMS[3]], normalize=normalize).fit(ROWS, Y)
    np.testing.assert_allclose(one.weights_, two.weights_, rtol=1e-6)
    np.testing.assert_allclose(one.kernel_(ROWS), two.kernel_(ROWS), rtol=1e-6)


@pytest.mark.parametrize("p", [1, 2])
def test_weights_of_rows_count_as_repetitions(p):
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    repeated, labels = reference.repeat_rows(X, Y, weight)
    one = PolynomialMKL(gaussians(), p=p, tol=1e-9).fit(X, Y, sample_weight=weight)
    two = PolynomialMKL(gaussians(), p=p, tol=1e-9).fit(repeated, labels)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-7)
    assert one.alignment_ == pytest.approx(two.alignment_, rel=1e-4)


def test_several_classes_share_their_kernel():
    classes = np.digitize(X[:, 0], [-0.7, 0.7])
    learner = PolynomialMKL(gaussians(), C=10).fit(X, classes)
    F, slope, *_ = evaluate(GRAMS, 2 * np.eye(3)[classes] - 1, learner.weights_, 0.1, 2)
    assert stationarity(slope, learner.weights_, 0, 1, 2) <= 1e-6 * F
    assert learner.machine_.predict(learner.kernel_(X)).shape == (40, 3)


def test_single_precision_is_nearly_the_same():
    one = PolynomialMKL(gaussians(), C=10).fit(X, Y)
    two = PolynomialMKL(gaussians(), C=10, float32=True).fit(X, Y)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-5)


def test_order_of_the_kernels_does_not_matter():
    one = PolynomialMKL(gaussians(), C=10, tol=1e-10).fit(X, Y)
    two = PolynomialMKL(gaussians()[::-1], C=10, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(one.weights_[::-1], two.weights_, atol=1e-4)


@pytest.mark.parametrize("p", [1, 2])
def test_the_path_is_that_of_single_fits(p):
    values = 10.0 ** np.arange(-3, 4)
    target = infer_target(Y, np.ones(40))
    learner = PolynomialMKL(gaussians(), p=p)
    assert learner.one_stage
    for C, learned in zip(values, learner.learn_path(X, target, values), strict=True):
        F = learner.regularised(C).learn(X, target).objective
        assert learned.objective == pytest.approx(F, rel=1e-5)
        assert learned.gap <= 1e-6


# --- warnings and bad input -----------------------------------------------------------------------


def test_stopping_early_is_warned_about():
    learner = PolynomialMKL(gaussians(), p=1, C=10, max_iter=3)
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        learner.fit(X, Y)
    assert not learner.converged_
    assert learner.n_iter_ == 3


def test_constant_kernels_are_warned_about_and_defined():
    constant = CustomFamily(lambda A, B, s: np.full((len(A), len(B)), s), bounds=(1, 9))
    with pytest.warns(AlignmentWarning, match="constant"):
        learner = PolynomialMKL([constant.at(2.0), constant.at(3.0)]).fit(X, Y)
    outputs = learner.machine_.predict(learner.kernel_(X))
    np.testing.assert_allclose(outputs, outputs[0])
    assert learner.alignment_ == 0


def test_an_overflow_is_reported_with_its_cure():
    with pytest.raises(ValueError, match="normalize='trace'"):
        PolynomialMKL([1e200 * GRAMS[1]]).fit(ROWS, Y)
    learner = PolynomialMKL([1e200 * GRAMS[1]], normalize="trace").fit(ROWS, Y)
    assert learner.gap_ <= 1e-6


@pytest.mark.parametrize(
    ("name", "value"),
    [("degree", 0), ("degree", 1.5), ("p", 3), ("C", 0), ("mu0", -1), ("kernels", [])],
)
def test_bad_parameters(name, value):
    learner = PolynomialMKL(gaussians()).set_params(**{name: value})
    with pytest.raises(ValueError, match=f"'{name}' parameter of PolynomialMKL"):
        learner.fit(X, Y)
