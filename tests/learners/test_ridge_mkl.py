"""Kernel weights by ridge regression: certificates, an independent solver, reductions."""

import pickle

import cvxpy
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge

from kernalign import AlignmentWarning, ScaleWarning
from kernalign.gram.labels import infer_target, response_target
from kernalign.kernels import CustomFamily, Gaussian
from kernalign.learners.ridge_mkl import RidgeMKL
from kernalign.solvers.ridge_weights import simplex_least_squares
from tests import reference

X, Y = reference.section12()
SIGMAS = (0.25, 0.5, 1.0, 2.0, 4.0)
GRAMS = np.stack([reference.gaussian(X, X, sigma) for sigma in SIGMAS])
ROWS = np.arange(len(X))[:, None]


def gaussians(sigmas=SIGMAS):
    return [Gaussian().at(sigma) for sigma in sigmas]


def certificate(grams, y, mu, rho, mu0, radius, p):
    """F, v and the relative gap of section 9 at the weights mu."""
    alpha = np.linalg.solve(np.tensordot(mu, grams, 1) + rho * np.eye(len(y)), y)
    F = np.sum(y * alpha)
    v = np.array([np.sum(alpha * (K @ alpha)) for K in grams])
    dual = v.max() if p == 1 else np.linalg.norm(v)
    delta = np.sum(mu0 * v) + radius * dual - mu @ v
    return F, v, delta / (F + delta)


# --- reference values, [T20], [T21], [T22] --------------------------------------------------------


@pytest.mark.parametrize(
    ("mu0", "F", "mu"),
    [
        (0.0, 21.271586, (0.66652, 0.61183, 0.38681, 0.14598, 0.10238)),
        (0.25, 14.783791, (0.93966, 0.86539, 0.61061, 0.35517, 0.31756)),
    ],
)
def test_reference_values_of_the_l2_version(mu0, F, mu):
    learner = RidgeMKL(gaussians(), C=10, mu0=mu0, tol=1e-8).fit(X, Y)
    assert learner.objective_ == pytest.approx(F, abs=1e-6)
    np.testing.assert_allclose(learner.weights_, mu, atol=1e-3)


@pytest.mark.parametrize(
    ("C", "F", "mu"),
    [(10, 33.851614, (0.330, 0.670, 0, 0, 0)), (1, 18.656840, (0, 1, 0, 0, 0))],
)
def test_reference_values_of_the_l1_version(C, F, mu):
    learner = RidgeMKL(gaussians(), p=1, C=C, tol=1e-8).fit(X, Y)
    assert learner.objective_ == pytest.approx(F, abs=1e-6)
    np.testing.assert_allclose(learner.weights_, mu, atol=1e-3)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("C", [1e-5, 1e-2, 1.0, 1e2, 1e5])
@pytest.mark.parametrize(("mu0", "radius"), [(0.0, 1.0), (1.0, 0.5), (0.25, 10.0)])
def test_certificate_recomputed_from_the_weights(p, C, mu0, radius):
    sigmas = np.geomspace(0.05, 20, 12)
    grams = np.stack([reference.gaussian(X, X, sigma) for sigma in sigmas])
    learner = RidgeMKL(gaussians(sigmas), p=p, C=C, mu0=mu0, radius=radius).fit(X, Y)
    mu = learner.weights_
    F, v, gap = certificate(grams, Y, mu, 1 / C, mu0, radius, p)
    assert gap <= 1e-6
    assert learner.converged_
    assert learner.gap_ == pytest.approx(gap, rel=1e-3, abs=1e-12)
    assert learner.objective_ == pytest.approx(F, rel=1e-8)
    assert learner.history_[-1]["gap"] == learner.gap_
    assert (mu >= mu0).all()
    assert np.linalg.norm(mu - mu0, p) <= radius * (1 + 1e-12)
    if p == 2:
        response = mu0 + radius * v / np.linalg.norm(v)
        assert np.linalg.norm(mu - response) <= 1e-3 * radius


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("mu0", [0.0, 0.5])
def test_value_is_that_of_a_conic_solver(p, mu0):
    rows, y, rho = X[:15], Y[:15], 0.1
    grams = [reference.gaussian(rows, rows, sigma) for sigma in (0.5, 1.0, 2.0)]
    mu = cvxpy.Variable(3, nonneg=True)
    K = sum(mu[k] * grams[k] for k in range(3)) + rho * np.eye(15)
    objective = cvxpy.matrix_frac(y, K)
    problem = cvxpy.Problem(cvxpy.Minimize(objective), [cvxpy.norm(mu - mu0, p) <= 1])
    problem.solve(solver=cvxpy.CLARABEL)
    learner = RidgeMKL(gaussians((0.5, 1.0, 2.0)), p=p, C=10, mu0=mu0, tol=1e-8)
    assert learner.fit(rows, y).objective_ == pytest.approx(problem.value, rel=1e-6)


def test_simplex_least_squares_is_the_generic_solution():
    rng = np.random.default_rng(0)
    for _ in range(5):
        Z, r = rng.normal(size=(12, 6)), 3 * rng.normal(size=12)
        x = cvxpy.Variable(6, nonneg=True)
        cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(Z @ x - r)), [cvxpy.sum(x) == 2.5]).solve(
            solver=cvxpy.CLARABEL
        )
        found = simplex_least_squares(Z, r, 2.5)
        assert found.sum() == pytest.approx(2.5)
        np.testing.assert_allclose(found, x.value, atol=1e-6)


# --- the machine ----------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2])
def test_the_machine_belongs_to_the_normalised_kernel(p):
    learner = RidgeMKL(gaussians(), p=p, C=10).fit(X, Y)
    K_mu = np.tensordot(learner.weights_, GRAMS, 1)
    alpha = np.linalg.solve(K_mu + 0.1 * np.eye(40), Y)
    np.testing.assert_allclose(learner.dual_coef_, alpha, rtol=1e-6)
    K = learner.kernel_(X)
    assert np.trace(reference.centre(K)) / 40 == pytest.approx(1)
    np.testing.assert_allclose(learner.machine_.predict(K), K_mu @ alpha, rtol=1e-6, atol=1e-9)
    assert learner.alignment_ == pytest.approx(reference.alignment(K, np.outer(Y, Y)), rel=1e-9)
    copy = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(copy.kernel_(X), K)


def test_one_kernel_is_kernel_ridge_regression():
    for p in (1, 2):
        learner = RidgeMKL([Gaussian().at(1.0)], p=p, C=5, radius=2.0).fit(X, Y)
        plain = KernelRidge(alpha=0.2, kernel="precomputed").fit(2 * GRAMS[2], Y)
        found = learner.machine_.predict(learner.kernel_(X))
        np.testing.assert_allclose(found, plain.predict(2 * GRAMS[2]), rtol=1e-8)
        np.testing.assert_array_equal(learner.weights_, [2.0])
        assert learner.gap_ == 0


def test_a_response_is_centred():
    response = 100 + X[:, 0] ** 2 + X[:, 1]
    target = response_target(response, np.ones(40))
    learned = RidgeMKL(gaussians(), C=10).learn(X, target)
    values = target.values[:, 0]
    K_mu = np.tensordot(learned.weights, GRAMS, 1)
    plain = KernelRidge(alpha=0.1, kernel="precomputed").fit(K_mu, values)
    found = learned.machine.predict(learned.kernel(X))
    np.testing.assert_allclose(found, plain.predict(K_mu), atol=1e-8)
    # A part of the rows has a mean of its own, and the machine has it as its constant.
    part = np.arange(25)
    learned = RidgeMKL(gaussians(), C=10).learn(X[part], target.rows(part))
    assert learned.machine.intercept == pytest.approx(values[part].mean())
    _, _, gap = certificate(
        GRAMS[:, :25, :25],
        values[part] - values[part].mean(),
        learned.weights,
        0.1,
        0,
        1,
        2,
    )
    assert gap <= 1e-6


@pytest.mark.parametrize("p", [1, 2])
def test_several_classes_share_their_kernel(p):
    classes = np.digitize(X[:, 0], [-0.7, 0.7])
    learner = RidgeMKL(gaussians(), p=p, C=10).fit(X, classes)
    coded = 2 * np.eye(3)[classes] - 1
    _, _, gap = certificate(GRAMS, coded, learner.weights_, 0.1, 0, 1, p)
    assert gap <= 1e-6
    outputs = learner.machine_.predict(learner.kernel_(X))
    assert outputs.shape == (40, 3)
    assert np.mean(outputs.argmax(axis=1) == classes) > 0.9


@pytest.mark.parametrize("p", [1, 2])
def test_weights_of_rows_count_as_repetitions(p):
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    repeated, labels = reference.repeat_rows(X, Y, weight)
    one = RidgeMKL(gaussians(), p=p, C=3, tol=1e-9).fit(X, Y, sample_weight=weight)
    two = RidgeMKL(gaussians(), p=p, C=3, tol=1e-9).fit(repeated, labels)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-8)
    np.testing.assert_allclose(one.weights_, two.weights_, atol=1e-4)
    used = X[weight > 0]
    np.testing.assert_allclose(
        one.machine_.predict(one.kernel_(X, used)),
        two.machine_.predict(two.kernel_(X, repeated)),
        atol=1e-3,
    )


# --- path -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2])
def test_the_path_is_that_of_single_fits(p):
    values = 10.0 ** np.arange(-3, 4)
    target = infer_target(Y, np.ones(40))
    learner = RidgeMKL(gaussians(), p=p)
    path = list(learner.learn_path(X, target, values))
    assert learner.one_stage
    for C, learned in zip(values, path, strict=True):
        single = learner.regularised(C)
        assert single.get_params()["C"] == C
        single = single.learn(X, target)
        F = single.objective
        assert learned.objective == pytest.approx(F, rel=2e-6)
        assert learned.gap <= 1e-6
    warm = sum(len(learned.history) for learned in path)
    cold = sum(len(learner.regularised(C).learn(X, target).history) for C in values)
    assert warm <= cold


# --- invariances ----------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2])
def test_order_of_the_kernels_does_not_matter(p):
    order = [3, 1, 4, 0, 2]
    one = RidgeMKL(gaussians(), p=p, C=10, tol=1e-10).fit(X, Y)
    two = RidgeMKL([gaussians()[k] for k in order], p=p, C=10, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(one.weights_[order], two.weights_, atol=1e-4)


def test_a_common_scale_is_a_radius():
    one = RidgeMKL(list(7 * GRAMS), C=10).fit(ROWS, Y)
    two = RidgeMKL(list(GRAMS), C=10, radius=7.0).fit(ROWS, Y)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-6)
    np.testing.assert_allclose(one.kernel_(ROWS), two.kernel_(ROWS), rtol=1e-2)


@pytest.mark.parametrize("normalize", ["trace", "variance"])
def test_normalisations_take_the_scales_away(normalize):
    scaled = [f * K for f, K in zip((1e-6, 1.0, 1e5, 3.0, 1e-2), GRAMS, strict=True)]
    with pytest.warns(ScaleWarning, match="normalize='trace'"):
        RidgeMKL(scaled).fit(ROWS, Y)
    one = RidgeMKL(scaled, normalize=normalize).fit(ROWS, Y)
    two = RidgeMKL(gaussians(), normalize=normalize).fit(X, Y)
    np.testing.assert_allclose(one.weights_, two.weights_, rtol=1e-8)
    np.testing.assert_allclose(one.kernel_(ROWS), two.kernel_(X), rtol=1e-8)


@pytest.mark.parametrize("p", [1, 2])
def test_single_precision_is_nearly_the_same(p):
    one = RidgeMKL(gaussians(), p=p, C=10).fit(X, Y)
    two = RidgeMKL(gaussians(), p=p, C=10, float32=True).fit(X, Y)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-5)


def test_duplicates_are_one_kernel_under_norm_one():
    one = RidgeMKL(gaussians(), p=1, C=10).fit(X, Y)
    two = RidgeMKL(gaussians() + gaussians(), p=1, C=10).fit(X, Y)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-6)


# --- warnings and bad input -----------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2])
def test_stopping_early_is_warned_about(p):
    learner = RidgeMKL(gaussians(), p=p, C=10, max_iter=2, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        learner.fit(X, Y)
    assert not learner.converged_
    assert learner.n_iter_ == 2
    _, _, gap = certificate(GRAMS, Y, learner.weights_, 0.1, 0, 1, p)
    assert learner.gap_ == pytest.approx(gap, rel=1e-6)


def test_a_singular_matrix_is_helped_and_said_so():
    learner = RidgeMKL([Gaussian().at(50.0), Gaussian().at(60.0)], C=1e18)
    with pytest.warns(ConvergenceWarning, match="added to its diagonal"):
        learner.fit(X, Y)
    assert np.isfinite(learner.machine_.coefficients).all()


def test_constant_kernels_are_warned_about_and_defined():
    constant = CustomFamily(lambda A, B, s: np.full((len(A), len(B)), s), bounds=(1, 9))
    with pytest.warns(AlignmentWarning, match="constant"):
        learner = RidgeMKL([constant.at(2.0), constant.at(3.0)]).fit(X, Y)
    outputs = learner.machine_.predict(learner.kernel_(X))
    # The mean of the labels, shrunk.
    np.testing.assert_allclose(outputs, outputs[0])
    assert 1 < Y.mean() / outputs[0] < 1.1
    assert learner.alignment_ == 0


@pytest.mark.parametrize("p", [1, 2])
def test_a_constant_response_is_defined(p):
    learned = RidgeMKL(gaussians(), p=p).learn(X, response_target(np.full(40, 3.0), np.ones(40)))
    np.testing.assert_array_equal(learned.machine.coefficients, np.zeros(40))
    assert learned.gap == 0
    assert np.isfinite(learned.kernel(X)).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("p", 3),
        ("C", 0),
        ("C", -1.0),
        ("mu0", -0.5),
        ("mu0", [1.0, 2.0]),
        ("mu0", np.nan),
        ("radius", 0.0),
        ("tol", "small"),
        ("max_iter", 0),
        ("max_iter", 1.5),
        ("normalize", "unit"),
        ("float32", 1),
        ("kernels", []),
        ("kernels", None),
    ],
)
def test_bad_parameters(name, value):
    learner = RidgeMKL(gaussians()).set_params(**{name: value})
    with pytest.raises(ValueError, match=f"'{name}' parameter of RidgeMKL"):
        learner.fit(X, Y)


def test_bad_matrices():
    indefinite = GRAMS[0] - np.eye(40)
    with pytest.raises(ValueError, match=r"kernels\[1\].* positive semidefinite"):
        RidgeMKL([GRAMS[0], indefinite]).fit(ROWS, Y)
    with pytest.raises(ValueError, match=r"kernels\[0\].* finite"):
        RidgeMKL([np.full((40, 40), np.nan)]).fit(ROWS, Y)
