"""Lp-norm multiple kernel learning: its optimum proved by a certificate, solver by solver."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from kernalign.gram import Target
from kernalign.kernels import Dirichlet, Gaussian, GramMatrix
from kernalign.learners.lp_norm_mkl import LpNormMKL
from kernalign.solvers.lp_norm_solvers import SOLVERS
from tests import reference

SIGMAS = (0.25, 0.5, 1, 2, 4)
KERNELS = [Gaussian().at(sigma) for sigma in SIGMAS]
X, Y = reference.section12()
GRAMS = np.stack([reference.gaussian(X, X, sigma) for sigma in SIGMAS])
#: methods.md, section 12.
OPTIMA = {
    1: {1: 17.769586, 4 / 3: 14.642314, 2: 11.266341, 4: 8.495440},
    100: {1: 18.513025, 4 / 3: 14.828085, 2: 11.326517, 4: 8.499032},
}
#: What each solver is asked for: the closed form crawls for p = 1.
TIGHT = {"tol": 1e-6, "weight_tol": 1e-5, "max_iter": 2000}


def problem(n, d, seed, flip=0.1):
    """Noisy labels that depend on two of the features."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    labels = np.where(np.sin(2 * rows[:, 0]) + rows[:, 1] > 0, 1.0, -1.0)
    return rows, labels * np.where(rng.random(n) < flip, -1, 1)


def dual_norm(q, p):
    """|q|_{p*}."""
    if p == 1:
        return q.max()
    return q.sum() if np.isinf(p) else np.sum(q ** (p / (p - 1))) ** ((p - 1) / p)


def certificate(grams, Y, theta, beta, bias, C, p, weight=1.0):
    """Relative gap, weight gap and P from weights, dual variables and bias; columns are machines.

    Also holds what makes it a certificate: feasible weights and feasible dual variables.
    """
    Y, beta, bias = Y.reshape(len(Y), -1), beta.reshape(len(beta), -1), np.atleast_1d(bias)
    weight = np.broadcast_to(weight, len(Y))
    assert theta.min() >= 0
    norm = theta.max() if np.isinf(p) else np.sum(theta**p) ** (1 / p)
    assert norm <= 1 + 1e-12
    alpha = beta * Y
    assert alpha.min() >= 0
    assert (alpha <= C * weight[:, None] * (1 + 1e-12)).all()
    assert np.abs(beta.sum(axis=0)).max() <= 1e-10 * alpha.sum()
    q = np.array([np.sum(beta * (K @ beta)) for K in grams])
    hinge = np.maximum(0, 1 - Y * (np.tensordot(theta, grams, 1) @ beta + bias))
    primal = 0.5 * theta @ q + C * np.sum(weight @ hinge)
    dual = alpha.sum() - 0.5 * dual_norm(q, p)
    # Weak duality.
    assert primal - dual >= -1e-8 * primal
    return (primal - dual) / primal, 1 - theta @ q / dual_norm(q, p), primal, q


def assert_certified(learner, grams, Y, weight=1.0):
    """The certificate from public attributes, and that the learner tells the same."""
    scaled = grams / learner.scales_[:, None, None]
    gap, weight_gap, primal, q = certificate(
        scaled,
        Y,
        learner.weights_,
        learner.dual_coef_,
        learner.intercept_,
        learner.C,
        learner.p,
        weight,
    )
    assert learner.converged_
    assert gap <= learner.tol
    assert weight_gap <= learner.weight_tol
    assert learner.gap_ == pytest.approx(gap, abs=1e-9)
    assert learner.weight_gap_ == pytest.approx(weight_gap, abs=1e-9)
    assert learner.objective_ == pytest.approx(primal, rel=1e-9)
    return q


def solvers(p):
    return list(SOLVERS) if p == 1 else ["newton", "alternating"]


CASES = [(p, solver) for p in (1, 1.1, 4 / 3, 2, 4, np.inf) for solver in solvers(p)]


# -- the optimum ----------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1, 100])
@pytest.mark.parametrize(("p", "solver"), [case for case in CASES if case[0] in OPTIMA[1]])
def test_reference_values(p, solver, C):
    learner = LpNormMKL(KERNELS, p, C=C, solver=solver, **TIGHT).fit(X, Y)
    assert_certified(learner, GRAMS, Y)
    assert learner.objective_ == pytest.approx(OPTIMA[C][p], rel=1.5e-6)


@pytest.mark.parametrize(
    ("p", "C", "weights"),
    [
        (1, 1, (0, 1, 0, 0, 0)),
        (1, 100, (0.3855, 0.6145, 0, 0, 0)),
        (2, 1, (0.6644, 0.6139, 0.3901, 0.1431, 0.0946)),
        (2, 100, (0.6753, 0.6110, 0.3778, 0.1392, 0.0928)),
    ],
)
def test_reference_weights(p, C, weights):
    learner = LpNormMKL(KERNELS, p, C=C, **TIGHT).fit(X, Y)
    np.testing.assert_allclose(learner.weights_, weights, atol=1e-3)
    if p == 1:
        np.testing.assert_array_equal(learner.weights_ == 0, np.array(weights) == 0)


@pytest.mark.parametrize("C", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize(("p", "solver"), CASES)
def test_default_tolerances_are_met(p, solver, C):
    rows, labels = problem(60, 4, seed=1)
    learner = LpNormMKL(Gaussian().grid(0.3, 10, 8), p, C=C, solver=solver, max_iter=500)
    learner.fit(rows, labels)
    grams = np.stack([reference.gaussian(rows, rows, s) for s in np.geomspace(0.3, 10, 8)])
    q = assert_certified(learner, grams, labels)
    if p == 1:
        # Every kernel in use has the largest quadratic form, as far as the weight gap lets it.
        used = learner.weights_ > 1e-2
        assert (learner.weights_ @ q) >= (1 - learner.weight_tol) * q.max()
        assert q[used].min() >= 0.8 * q.max()


def test_weights_on_the_simplex():
    for solver in solvers(1):
        weights = LpNormMKL(KERNELS, C=100, solver=solver, max_iter=500).fit(X, Y).weights_
        assert weights.min() >= 0
        assert abs(weights.sum() - 1) <= 1e-12


@pytest.mark.filterwarnings("ignore:.*pnorm with p=22.0 is being approximated")
@pytest.mark.parametrize("p", [1, 1.1, 4 / 3, 2, 4])
@pytest.mark.parametrize(("seed", "C"), [(0, 0.3), (1, 10.0)])
def test_agrees_with_a_conic_solver(p, seed, C):
    rows, labels = problem(40, 3, seed)
    sigmas = np.geomspace(0.3, 10, 6)
    beta = cp.Variable(40)
    alpha = cp.multiply(labels, beta)
    lengths = []
    for sigma in sigmas:
        values, vectors = np.linalg.eigh(reference.gaussian(rows, rows, sigma))
        root = vectors * np.sqrt(np.maximum(values, 0))
        lengths.append(cp.norm(root.T @ beta))
    # |q|_{p*} = |(|w_m|)|^2_{2 p*}
    norm = "inf" if p == 1 else round(2 * p / (p - 1), 9)
    length = cp.pnorm(cp.hstack(lengths), norm)
    objective = cp.Maximize(cp.sum(alpha) - 0.5 * cp.square(length))
    conic = cp.Problem(objective, [alpha >= 0, alpha <= C, cp.sum(beta) == 0])
    optimum = conic.solve(solver=cp.CLARABEL)
    learner = LpNormMKL(Gaussian().grid(0.3, 10, 6), p, C=C, tol=1e-5, weight_tol=1e-4)
    assert learner.fit(rows, labels).objective_ == pytest.approx(optimum, rel=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_solvers_agree(seed):
    """The closed form, slow where weights vanish, at its own looser tolerance."""
    rows, labels = problem(40, 4, seed)
    kernels = Gaussian().grid(0.3, 10, 6)
    found = {}
    for solver in solvers(1):
        tol = 1e-3 if solver == "alternating" else 1e-4
        learner = LpNormMKL(kernels, C=5, solver=solver, tol=tol, weight_tol=10 * tol, max_iter=500)
        found[solver] = learner.fit(rows, labels).objective_
        assert found[solver] == pytest.approx(found["newton"], rel=tol)


@pytest.mark.parametrize("C", [1, 100])
def test_optimum_falls_with_p(C):
    norms = (1, 1.05, 1.5, 2, 3, 10, np.inf)
    optima = [LpNormMKL(KERNELS, p, C=C, **TIGHT).fit(X, Y).objective_ for p in norms]
    assert (np.diff(optima) < 0).all()


@pytest.mark.parametrize("p", [1, 1.1, 2])
def test_closed_form_never_raises_the_objective(p):
    learner = LpNormMKL(KERNELS, p, C=10, solver="alternating", **TIGHT).fit(X, Y)
    primal = np.array([record["objective"] for record in learner.history_])
    assert (np.diff(primal) <= 1e-7 * primal[0]).all()


@pytest.mark.parametrize("p", [1.01, 1.05, 1.2])
def test_norms_near_one(p):
    """Where the best response to the machine alone would cycle."""
    learner = LpNormMKL(KERNELS, p, C=100, **TIGHT).fit(X, Y)
    assert_certified(learner, GRAMS, Y)
    assert learner.n_iter_ <= 20


def test_history():
    learner = LpNormMKL(KERNELS, 1.1, C=10).fit(X, Y)
    assert [record["iteration"] for record in learner.history_] == [*range(1, learner.n_iter_ + 1)]
    for record in learner.history_:
        assert record["dual"] <= record["objective"] * (1 + 1e-8)
        assert record["gap"] == pytest.approx(1 - record["dual"] / record["objective"], abs=1e-12)
        assert 0 <= record["weight_gap"] <= 1
        assert record["weights"].shape == (5,)


# -- special cases --------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "solver"), CASES)
def test_one_kernel_is_a_plain_machine(p, solver):
    learner = LpNormMKL([Gaussian().at(1.0)], p, C=3.0, solver=solver, tol=1e-6).fit(X, Y)
    plain = SVC(kernel="precomputed", C=3.0, tol=1e-8).fit(GRAMS[2], Y)
    outputs = learner.machine_.predict(learner.kernel_(X))
    np.testing.assert_allclose(outputs, plain.decision_function(GRAMS[2]), atol=1e-5)
    assert learner.n_iter_ == 1


def test_infinite_norm_is_uniform():
    learner = LpNormMKL(KERNELS, np.inf, C=3.0, tol=1e-6).fit(X, Y)
    np.testing.assert_array_equal(learner.weights_, np.ones(5))
    # Mean instead of sum: the factor M moves to C.
    plain = SVC(kernel="precomputed", C=5 * 3.0, tol=1e-8).fit(GRAMS.mean(axis=0), Y)
    outputs = learner.machine_.predict(learner.kernel_(X))
    np.testing.assert_allclose(outputs, plain.decision_function(GRAMS.mean(axis=0)), atol=1e-5)
    near = LpNormMKL(KERNELS, 1e4, C=3.0, **TIGHT).fit(X, Y)
    np.testing.assert_allclose(near.weights_, 1, atol=1e-3)
    assert near.objective_ == pytest.approx(learner.objective_, rel=1e-3)


def test_trace_normalisation_is_the_qcqp():
    """max_alpha 1'alpha - 1/2 max_m (c / tr K_m) q_m of Lanckriet et al., with c = n."""
    scaled = np.array([1.0, 5.0, 0.2, 30.0, 2.0])
    grams = scaled[:, None, None] * GRAMS
    rows = np.arange(40.0)[:, None]
    learner = LpNormMKL(list(grams), C=100, normalize="trace", **TIGHT).fit(rows, Y)
    np.testing.assert_allclose(learner.scales_, scaled)
    assert_certified(learner, grams, Y)
    assert learner.objective_ == pytest.approx(OPTIMA[100][1], rel=1e-6)


@pytest.mark.parametrize("normalize", ["none", "trace", "variance"])
@pytest.mark.parametrize("p", [1, 2])
def test_machine_is_the_one_of_the_normalised_kernel(normalize, p):
    learner = LpNormMKL(KERNELS, p, C=10, normalize=normalize).fit(X, Y)
    assert_certified(learner, GRAMS, Y)
    weights = learner.weights_ / learner.scales_
    new = np.random.default_rng(0).normal(size=(7, 2))
    K = sum(w * reference.gaussian(new, X, s) for w, s in zip(weights, SIGMAS, strict=True))
    outputs = learner.machine_.predict(learner.kernel_(new, X))
    np.testing.assert_allclose(outputs, K @ learner.dual_coef_ + learner.intercept_, atol=1e-9)
    gram = learner.kernel_(X)
    assert np.trace(reference.centre(gram)) / 40 == pytest.approx(1)
    naive = reference.alignment(gram, reference.target_binary(Y))
    assert learner.alignment_ == pytest.approx(naive, rel=1e-9)
    assert all(weight > 0 for weight in learner.kernel_.weights)


@pytest.mark.parametrize("p", [1, 2])
def test_classes_share_the_weights(p):
    rows, classes = load_iris(return_X_y=True)
    rows, classes = rows[::2], classes[::2]
    learner = LpNormMKL(Gaussian().grid(0.3, 10, 5), p, C=10, tol=1e-5).fit(rows, classes)
    grams = np.stack([reference.gaussian(rows, rows, s) for s in np.geomspace(0.3, 10, 5)])
    assert_certified(learner, grams, np.where(classes[:, None] == np.arange(3), 1.0, -1.0))
    assert learner.dual_coef_.shape == (75, 3)
    outputs = learner.machine_.predict(learner.kernel_(rows))
    assert outputs.shape == (75, 3)
    assert np.mean(outputs.argmax(axis=1) == classes) > 0.95


def test_integer_weights_are_repeated_rows():
    weight = np.arange(40) % 3 + 1.0
    long, labels = reference.repeat_rows(X, Y, weight)
    learner = LpNormMKL(KERNELS, 2, C=2.0, normalize="variance", **TIGHT)
    short = clone(learner).fit(X, Y, sample_weight=weight)
    repeated = clone(learner).fit(long, labels)
    assert_certified(short, GRAMS, Y, weight)
    assert short.objective_ == pytest.approx(repeated.objective_, rel=2e-6)
    np.testing.assert_allclose(short.weights_, repeated.weights_, atol=1e-3)
    assert short.alignment_ == pytest.approx(repeated.alignment_, rel=1e-3)


# -- invariance -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "solver"), [case for case in CASES if case[0] in (1, 2)])
def test_order_of_the_kernels_permutes_the_weights(p, solver):
    order = [3, 0, 4, 2, 1]
    options = {"C": 100, "solver": solver, "tol": 1e-5, "weight_tol": 1e-4, "max_iter": 2000}
    given = LpNormMKL(KERNELS, p, **options).fit(X, Y)
    moved = LpNormMKL([KERNELS[m] for m in order], p, **options).fit(X, Y)
    np.testing.assert_allclose(moved.weights_, given.weights_[order], atol=5e-3)


@pytest.mark.parametrize("p", [1, 1.5, 2])
@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_scaling_all_kernels_scales_c(p, factor):
    rows = np.arange(40.0)[:, None]
    scaled = LpNormMKL(list(factor * GRAMS), p, C=10 / factor, **TIGHT).fit(rows, Y)
    plain = LpNormMKL(list(GRAMS), p, C=10, **TIGHT).fit(rows, Y)
    assert factor * scaled.objective_ == pytest.approx(plain.objective_, rel=2e-6)
    np.testing.assert_allclose(scaled.weights_, plain.weights_, atol=2e-3)


@pytest.mark.parametrize("p", [1, 2])
def test_duplicated_kernels(p):
    """For p = 1 nothing is gained by a second copy: what counts is the sum of their weights."""
    once = LpNormMKL(KERNELS[:2], p, C=100, **TIGHT).fit(X, Y)
    twice = LpNormMKL([*KERNELS[:2], KERNELS[0]], p, C=100, **TIGHT).fit(X, Y)
    assert twice.converged_
    if p == 1:
        assert twice.objective_ == pytest.approx(once.objective_, rel=2e-6)
        assert twice.weights_[[0, 2]].sum() == pytest.approx(once.weights_[0], abs=2e-3)
    else:
        assert twice.weights_[0] == pytest.approx(twice.weights_[2], abs=1e-6)


# -- along C --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "solver"), [(1, "newton"), (2, "newton"), (1.5, "alternating")])
def test_path_is_certified_along_the_path(p, solver):
    values = 10.0 ** np.arange(-5, 5.01, 0.5)
    target = Target(Y[:, None], np.ones(40), classes=True)
    learner = LpNormMKL(KERNELS, p, solver=solver)
    path = list(learner.learn_path(X, target, values))
    assert len(path) == 21
    for C, learned in zip(values, path, strict=True):
        found = learned.attributes()
        gap, weight_gap, primal, _ = certificate(
            GRAMS, Y, found["weights_"], found["dual_coef_"], found["intercept_"], C, p
        )
        assert gap <= 1e-3
        assert weight_gap <= 1e-2
        alone = learner.regularised(C).fit(X, Y)
        assert primal == pytest.approx(alone.objective_, rel=1e-3)
        outputs = learned.machine.predict(learned.kernel(X))
        K = np.tensordot(found["weights_"], GRAMS, 1)
        np.testing.assert_allclose(
            outputs, K @ found["dual_coef_"] + found["intercept_"], atol=1e-6
        )
    # Once no dual variable is at its bound, nothing changes: not even the kernel object.
    assert path[-1].kernel is path[-2].kernel


def test_path_may_descend():
    target = Target(Y[:, None], np.ones(40), classes=True)
    for C, learned in zip(
        (100.0, 1.0), LpNormMKL(KERNELS).learn_path(X, target, np.array([100.0, 1.0])), strict=True
    ):
        assert learned.objective == pytest.approx(OPTIMA[C][1], rel=1e-3)


@pytest.mark.parametrize("p", [1, 2])
def test_path_on_gram_matrices_of_low_rank(p):
    """Cosine kernels that do not separate the classes: libsvm fails here from C = 100 on."""
    rows, labels = reference.sine_problem(150, 0)
    grams = np.stack([1 + 2 * np.cos(f * (rows - rows.T)) for f in range(10)])
    target = Target(labels[:, None], np.ones(150), classes=True)
    values = 10.0 ** np.arange(-5, 6)
    path = LpNormMKL(Dirichlet().linspace(0, 9, 10), p).learn_path(rows, target, values)
    for C, learned in zip(values, path, strict=True):
        found = learned.attributes()
        gap, weight_gap, _, _ = certificate(
            grams, labels, found["weights_"], found["dual_coef_"], found["intercept_"], C, p
        )
        assert gap <= 1e-3
        assert weight_gap <= 1e-2


def test_regularised_is_an_unfitted_copy():
    learner = LpNormMKL(KERNELS, 2).fit(X, Y)
    copy = learner.regularised(7.0)
    assert (copy.C, copy.p, learner.C) == (7.0, 2, 1.0)
    assert not hasattr(copy, "kernel_")
    assert learner.one_stage


# -- memory and precision -------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2])
def test_single_precision(p):
    double = LpNormMKL(KERNELS, p, C=10).fit(X, Y)
    single = LpNormMKL(KERNELS, p, C=10, float32=True).fit(X, Y)
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-5)
    np.testing.assert_allclose(single.weights_, double.weights_, atol=1e-4)


# -- what can go wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_stopping_early_warns_and_tells(solver):
    rows, labels = problem(40, 3, seed=0)
    learner = LpNormMKL(Gaussian().grid(0.2, 20, 10), C=5, solver=solver, max_iter=1)
    with pytest.warns(ConvergenceWarning, match=r"1 rounds at C=5 with relative gap .*'max_iter'"):
        learner.fit(rows, labels)
    assert not learner.converged_
    assert learner.gap_ > learner.tol


def test_constant_kernels_are_learned_without_harm():
    x = X[:, :1]
    learner = LpNormMKL([Dirichlet().at(0.0)], C=1.0).fit(x, Y)
    assert learner.converged_
    assert learner.alignment_ == 0
    assert np.isfinite(learner.machine_.predict(learner.kernel_(x))).all()


def test_regression_is_refused():
    with pytest.raises(ValueError, match=r"hinge loss, which needs classes.*RidgeMKL"):
        LpNormMKL(KERNELS).fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p": 0.5}, r"'p' parameter of LpNormMKL must be a number in \[1, inf\]. Got 0.5"),
        ({"p": np.nan}, "'p' parameter"),
        ({"p": "2"}, "'p' parameter"),
        ({"C": 0}, r"'C' parameter of LpNormMKL must be a number in \(0, 1e\+100\). Got 0"),
        ({"C": -1.0}, "'C' parameter"),
        ({"C": np.inf}, "'C' parameter"),
        ({"solver": "sgd"}, "'solver' parameter of LpNormMKL must be one of 'newton'"),
        ({"p": 2, "solver": "cutting-plane"}, "'newton', 'alternating' for p=2. Got 'cut"),
        ({"normalize": "unit"}, "'normalize' parameter of LpNormMKL must be one of 'none'"),
        ({"tol": 0}, "'tol' parameter"),
        ({"weight_tol": -1}, "'weight_tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"max_iter": 1.5}, "'max_iter' parameter of LpNormMKL must be an int"),
        ({"float32": "yes"}, "'float32' parameter"),
        ({"kernels": []}, "'kernels' parameter of LpNormMKL must be a non-empty list"),
        ({"kernels": None}, "'kernels' parameter of LpNormMKL must be a non-empty list"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        LpNormMKL(**{"kernels": KERNELS, **options}).fit(X, Y)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda K: K[:, :-1], "must be a square matrix"),
        (lambda K: K + np.triu(np.ones_like(K), 1), "must be symmetric"),
        (lambda K: K - 2 * np.eye(40), "must be positive semidefinite"),
        (lambda K: np.full_like(K, np.nan), "must hold finite numbers"),
        (lambda K: 0 * K, "is all zeros"),
        (lambda K: K[:30, :30], "row indices from 0 to 29"),
    ],
)
def test_bad_gram_matrices(spoil, message):
    rows = np.arange(40.0)[:, None]
    with pytest.raises(ValueError, match=message):
        LpNormMKL([GRAMS[0], spoil(GRAMS[1])]).fit(rows, Y)


def test_indefinite_gram_matrices_can_be_clipped():
    rows = np.arange(40.0)[:, None]
    indefinite = GramMatrix(GRAMS[1] - 0.5 * np.eye(40), clip=True).at()
    assert LpNormMKL([GRAMS[0], indefinite], 2).fit(rows, Y).converged_
