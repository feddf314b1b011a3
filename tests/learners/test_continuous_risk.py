"""CR and CR-DC: the optimum, its certificate, the machine, and what must be refused."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1, make_moons
from sklearn.exceptions import ConvergenceWarning

from kernalign import (
    AnyOf,
    CustomFamily,
    Dirichlet,
    Fourier,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    centered_alignment,
)
from kernalign.criteria.risk import RegularisedRisk
from kernalign.gram import Target
from kernalign.gram.labels import infer_target
from kernalign.learners.continuous_risk import ContinuousRisk
from kernalign.solvers.hull_weights import best_risk_weights
from tests import reference

BOX = (0.1, 10)
#: Enough to reach what methods.md section 12 gives to six digits.
EXACT = {"corrective": True, "tol": 1e-7, "tol_fun": 0.0}


def fitted(X, y, *args, sample_weight=None, **options):
    """A fit that may stop above its tolerance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ContinuousRisk(*args, **options).fit(X, y, sample_weight)


def mixture(learner, X):
    """K = sum_t w_t G(sigma_t) with the convex weights, from public attributes."""
    kernels = learner.kernel_.kernels
    return sum(w * k(X) for w, k in zip(learner.weights_, kernels, strict=True))


def dual(K, Y, rho, weight=None):
    weight = np.ones(len(K)) if weight is None else weight
    c = np.linalg.solve(K + rho * np.diag(1 / weight), Y)
    return float(np.sum(Y * c)), c


def gap_on_grid(learner, X, Y, grams):
    """delta / (S + delta), all of it computed anew."""
    K = mixture(learner, X)
    S, c = dual(K, Y, learner.rho_)
    delta = max(np.sum(c * (G @ c)) for G in grams) - np.sum(c * (K @ c))
    return max(delta, 0) / (S + max(delta, 0)), S


def gaussians(X, sigmas):
    D = ((X[:, None] - X) ** 2).sum(-1)
    return (np.exp(-D / s**2) for s in sigmas)


# -- the optimum ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["gradient", "dc"])
@pytest.mark.parametrize(
    ("rho", "S", "atoms"),
    [
        (0.1, 33.815836, [(0.1, 0.391), (0.5255, 0.609)]),
        (0.3, 28.613400, [(0.1, 0.281), (0.5255, 0.719)]),
        (1, 18.602899, [(0.5445, 1)]),
        (3, 9.421563, [(0.6552, 1)]),
        (10, 3.527870, [(0.7364, 1)]),
        (30, 1.274550, [(0.7766, 1)]),
    ],
)
def test_reference_values(rho, S, atoms, solver):
    X, y = reference.section12()
    learner = fitted(X, y, Gaussian(bounds=BOX), C=1 / rho, solver=solver, **EXACT)
    assert learner.history_[-1]["objective"] == pytest.approx(S, rel=1e-6)
    assert learner.gap_ < 1e-6
    # Neighbouring kernels of the same peak stand for one of the table.
    sigmas = np.array([kernel.sigma[0] for kernel in learner.kernel_.kernels])
    left = np.ones(len(sigmas), dtype=bool)
    for sigma, weight in atoms:
        near = np.abs(sigmas / sigma - 1) < 0.02
        assert learner.weights_[near].sum() == pytest.approx(weight, abs=3e-3)
        mean = learner.weights_[near] @ sigmas[near] / learner.weights_[near].sum()
        assert mean == pytest.approx(sigma, rel=2e-3)
        left &= ~near
    assert learner.weights_[left].sum() < 2e-3
    assert learner.weights_.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("rho", [0.1, 1])
def test_plain_descent_reaches_its_own_promise(rho):
    X, y = reference.section12()
    best = {0.1: 33.815836, 1: 18.602899}[rho]
    for solver in ("gradient", "dc"):
        for start in ("best", "spread"):
            learner = fitted(X, y, Gaussian(bounds=BOX), C=1 / rho, solver=solver, start=start)
            S = learner.history_[-1]["objective"]
            assert best <= S * (1 + 1e-7)
            assert S * (1 - learner.gap_) <= best * (1 + 1e-7)
            assert learner.gap_ < 3e-3


def test_dirichlet_reference_values():
    X, y = reference.section12()
    family = Dirichlet(columns=[0], bounds=(0, 10))
    learner = fitted(X, y, family, C=0.1, **EXACT)
    assert learner.history_[-1]["objective"] == pytest.approx(2.721857, abs=1e-6)
    sigmas = np.array([kernel.sigma[0] for kernel in learner.kernel_.kernels])
    for sigma, weight in [(2.664, 0.619), (9.384, 0.229), (6.850, 0.152)]:
        assert learner.weights_[np.abs(sigmas - sigma) < 0.02].sum() == pytest.approx(
            weight, abs=3e-3
        )


@pytest.mark.parametrize(
    ("rho", "S", "weights"),
    [(0.1, 33.851614, [0.330, 0.670, 0, 0, 0]), (1, 18.656840, [0, 1, 0, 0, 0])],
)
def test_weights_of_five_kernels(rho, S, weights):
    X, y = reference.section12()
    grams = [reference.gaussian(X, X, s) for s in (0.25, 0.5, 1, 2, 4)]
    risk = RegularisedRisk(y[:, None], rho, np.ones(40))
    found = best_risk_weights(risk, grams, np.full(5, 0.2), 1e-9)
    assert risk.value == pytest.approx(S, abs=1e-6)
    np.testing.assert_allclose(found, weights, atol=1e-3)
    assert dual(np.tensordot(found, grams, 1), y[:, None], rho)[0] == pytest.approx(risk.value)


def test_weights_of_duplicated_kernels():
    """The Newton system is singular; the mixture is not."""
    X, y = reference.section12()
    grams = [reference.gaussian(X, X, s) for s in (0.25, 0.5, 0.5, 0.25, 0.5)]
    risk = RegularisedRisk(y[:, None], 0.1, np.ones(40))
    found = best_risk_weights(risk, grams, np.full(5, 0.2), 1e-9)
    assert risk.value == pytest.approx(33.851614, abs=1e-5)
    assert found[0] + found[3] == pytest.approx(0.330, abs=1e-3)


@pytest.mark.parametrize("rho", [1e-3, 0.1, 10])
def test_against_a_conic_solver(rho):
    """[T16]: S = max (c'y)^2 over c'(G + rho I)c <= 1 for each of 150 kernels."""
    X, y = reference.section12()
    c = cp.Variable(40)
    constraints = []
    for G in gaussians(X, np.geomspace(*BOX, 150)):
        L = np.linalg.cholesky(G + rho * np.eye(40))
        constraints.append(cp.norm(L.T @ c) <= 1)
    problem = cp.Problem(cp.Maximize(y @ c), constraints)
    # Neighbouring kernels are nearly the same constraint: the last digits are out of reach.
    enough = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-6)
    conic = problem.solve(solver=cp.CLARABEL, **enough) ** 2
    learner = fitted(X, y, Gaussian(bounds=BOX), C=1 / rho, **EXACT)
    assert learner.history_[-1]["objective"] == pytest.approx(conic, rel=1e-4)


# -- the certificate ------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["gradient", "dc"])
@pytest.mark.parametrize("corrective", [True, False])
@pytest.mark.parametrize("C", [0.1, 3.0, 1e3])
def test_certificate_on_an_independent_grid(C, corrective, solver):
    """[T15]: recomputed from weights and parameters alone, on 4000 bandwidths."""
    X, y = make_moons(60, noise=0.25, random_state=1)
    signs = np.where(y == 1, 1.0, -1.0)[:, None]
    family = Gaussian(bounds=(0.05, 20))
    learner = fitted(X, y, family, C=C, corrective=corrective, solver=solver)
    gap, S = gap_on_grid(learner, X, signs, gaussians(X, np.geomspace(0.05, 20, 4000)))
    assert learner.rho_ == 1 / C
    assert learner.history_[-1]["objective"] == pytest.approx(S, rel=1e-6)
    assert gap == pytest.approx(learner.gap_, abs=2e-4)
    if learner.converged_:
        assert gap <= learner.tol + 1e-3
    if solver == "dc":
        assert gap <= learner.gap_ * (1 + 1e-9)
    assert learner.converged_ == (learner.gap_ <= learner.tol)
    assert corrective <= learner.converged_


def test_gathered_pairs_give_the_same_certificate():
    """Enough rows that the inner search works on nodes instead of pairs."""
    X, y = make_moons(250, noise=0.25, random_state=1)
    signs = np.where(y == 1, 1.0, -1.0)[:, None]
    found = {}
    for solver in ("gradient", "dc"):
        family = Gaussian(bounds=(0.05, 20))
        learner = fitted(X, y, family, C=3.0, corrective=True, solver=solver)
        gap, S = gap_on_grid(learner, X, signs, gaussians(X, np.geomspace(0.05, 20, 600)))
        assert gap == pytest.approx(learner.gap_, abs=2e-4)
        found[solver] = S
    assert found["dc"] == pytest.approx(found["gradient"], rel=1e-3)


@pytest.mark.parametrize("corrective", [True, False])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_both_solvers_reach_the_same_risk(C, corrective):
    """[T19]."""
    X, y = reference.section12()
    S = [
        fitted(X, y, C=C, corrective=corrective, solver=solver).history_[-1]["objective"]
        for solver in ("gradient", "dc")
    ]
    assert S[0] == pytest.approx(S[1], rel=1e-3)


def test_both_solvers_with_one_bandwidth_per_feature():
    X, y = reference.section12()
    options = {"C": 1.0, "corrective": True}
    family = Gaussian(ard=True, bounds=(0.2, 10))
    found = [fitted(X, y, family, solver=s, **options) for s in ("gradient", "dc")]
    S = [learner.history_[-1]["objective"] for learner in found]
    assert S[0] == pytest.approx(S[1], rel=2e-3)
    assert found[1].converged_


def test_history_tells_the_descent():
    X, y = reference.section12()
    with pytest.warns(ConvergenceWarning, match=r"above tol=0\.001, because an iteration"):
        learner = ContinuousRisk(Gaussian(bounds=BOX), C=10.0).fit(X, y)
    history = learner.history_
    S = np.array([record["objective"] for record in history])
    assert (np.diff(S) <= 1e-12 * S[0]).all()
    assert [record["iteration"] for record in history] == list(range(1, len(history) + 1))
    assert [record["stop"] for record in history[:-1]] == [None] * (len(history) - 1)
    assert history[-1]["stop"] == "tol_fun"
    assert history[-1]["gap"] == learner.gap_ > learner.tol
    assert not learner.converged_
    assert S[-2] - S[-1] < 1e-5 * S[-2]
    for record in history[:-1]:
        assert 0 < record["lambda"] <= 1
        assert record["sigma"] == record["kernel"].sigma[0]
        assert record["jitter"] == 0
    assert history[0]["kernels"] == 1
    assert history[-1]["kernels"] <= len(learner.weights_)
    # Each S bounds the optimum from above, each certificate from below.
    bounds = [record["objective"] * (1 - record["gap"]) for record in history]
    assert max(bounds) <= 33.815836 * (1 + 1e-7)


def test_stops_at_the_most_kernels_and_warns():
    X, y = reference.section12()
    with pytest.warns(ConvergenceWarning, match="it reached max_iter=3"):
        learner = ContinuousRisk(C=10.0, max_iter=3).fit(X, y)
    assert len(learner.history_) == 3
    assert len(learner.weights_) <= 3
    assert learner.history_[-1]["stop"] == "max_iter"


def test_start_spread():
    X, y = reference.section12()
    learner = fitted(X, y, Gaussian(bounds=(1, 5)), C=0.1, start="spread", tol=1.0)
    assert [kernel.sigma[0] for kernel in learner.kernel_.kernels] == pytest.approx([1, 2, 3, 4, 5])
    np.testing.assert_allclose(learner.weights_, 0.2)
    several = fitted(X, y, Gaussian(ard=True), C=0.1, start="spread", tol=1.0)
    np.testing.assert_allclose(several.weights_, 0.2)


# -- the machine ----------------------------------------------------------------------------------


def check_machine(learner, X, Y, X_new, weight=None, mean=0.0):
    """Predictions are those of (K + rho I)^-1 y on the convex mixture."""
    K = mixture(learner, X)
    _, c = dual(K, Y, learner.rho_, weight)
    kernels = learner.kernel_.kernels
    K_new = sum(w * k(X_new, X) for w, k in zip(learner.weights_, kernels, strict=True))
    expected = K_new @ c + mean
    got = learner.machine_.predict(learner.kernel_(X_new, X))
    assert got.shape == (len(X_new),) if Y.shape[1] == 1 else expected.shape
    np.testing.assert_allclose(got.reshape(expected.shape), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("corrective", [True, False])
def test_two_classes(corrective):
    X, y = make_moons(80, noise=0.2, random_state=0)
    learner = fitted(X[:60], y[:60], C=10.0, corrective=corrective)
    signs = np.where(y == 1, 1.0, -1.0)
    check_machine(learner, X[:60], signs[:60, None], X[60:])
    outputs = learner.machine_.predict(learner.kernel_(X[60:], X[:60]))
    assert np.mean(np.sign(outputs) == signs[60:]) > 0.8
    assert learner.machine_.intercept == 0
    # The kernel is normalised, its alignment is the one of its Gram matrix.
    K = learner.kernel_(X[:60])
    assert np.mean(np.diag(reference.centre(K))) == pytest.approx(1)
    target = np.outer(signs[:60], signs[:60])
    assert learner.alignment_ == pytest.approx(centered_alignment(K, target), rel=1e-8)


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    learner = fitted(X[::2], y[::2], C=10.0, corrective=True)
    Y = 2 * np.eye(3)[y] - 1
    check_machine(learner, X[::2], Y[::2], X[1::2])
    outputs = learner.machine_.predict(learner.kernel_(X[1::2], X[::2]))
    assert np.mean(outputs.argmax(axis=1) == y[1::2]) > 0.9
    gap, _ = gap_on_grid(learner, X[::2], Y[::2], gaussians(X[::2], np.geomspace(0.05, 30, 1000)))
    assert gap <= learner.tol + 1e-3
    assert learner.converged_
    one_hot = np.eye(3)[y[::2]]
    expected = centered_alignment(learner.kernel_(X[::2]), one_hot @ one_hot.T)
    assert learner.alignment_ == pytest.approx(expected, rel=1e-8)


def test_regression():
    X, y = make_friedman1(120, random_state=0)
    target = Target(y[:90, None], np.ones(90))
    learner = ContinuousRisk(C=10.0, corrective=True).fit_target(X[:90], target)
    mean = y[:90].mean()
    assert learner.machine_.intercept == pytest.approx(mean)
    check_machine(learner, X[:90], y[:90, None] - mean, X[90:], mean=mean)
    error = learner.machine_.predict(learner.kernel_(X[90:], X[:90])) - y[90:]
    assert np.mean(error**2) < 0.5 * np.var(y[90:])


def test_several_responses():
    X, y = make_friedman1(60, random_state=0)
    Y = np.column_stack([y, -2 * X[:, 0]])
    learner = ContinuousRisk(C=1.0, corrective=True).fit_target(X, Target(Y, np.ones(60)))
    np.testing.assert_allclose(learner.machine_.intercept, Y.mean(axis=0))
    check_machine(learner, X, Y - Y.mean(axis=0), X[:5], mean=Y.mean(axis=0))


def test_constant_response():
    """Nothing to learn: the mean is the answer, and nothing is NaN."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    learner = ContinuousRisk().fit_target(X, Target(np.full((12, 1), 3.0), np.ones(12)))
    np.testing.assert_allclose(learner.machine_.predict(learner.kernel_(X)), 3.0)
    assert learner.gap_ == 0
    assert learner.alignment_ == 0


def test_equal_rows():
    X, y = np.ones((10, 2)), np.arange(10) % 2
    learner = ContinuousRisk().fit(X, y)
    assert np.isfinite(learner.machine_.predict(learner.kernel_(X))).all()


@pytest.mark.parametrize("solver", ["gradient", "dc"])
def test_weights_are_repeated_rows(solver):
    rng = np.random.default_rng(0)
    X, y = reference.section12()
    weight = rng.integers(0, 4, 40)
    X_long, y_long = reference.repeat_rows(X, y, weight)
    options = {"C": 2.0, "corrective": True, "solver": solver}
    short = fitted(X, y, Gaussian(bounds=BOX), sample_weight=weight, **options)
    long = fitted(X_long, y_long, Gaussian(bounds=BOX), **options)
    used = weight > 0
    assert short.history_[-1]["objective"] == pytest.approx(
        long.history_[-1]["objective"], rel=1e-6
    )
    assert short.gap_ == pytest.approx(long.gap_, abs=1e-5)
    assert short.alignment_ == pytest.approx(long.alignment_, rel=1e-6)
    predictions = [
        learner.machine_.predict(learner.kernel_(X, rows))
        for learner, rows in ((short, X[used]), (long, X_long))
    ]
    np.testing.assert_allclose(*predictions, rtol=1e-4, atol=1e-5)
    check_machine(short, X[used], y[used, None], X, weight[used].astype(float))


# -- families, paths, options ---------------------------------------------------------------------


def cauchy(X, Z, sigma):
    return 1 / (1 + ((X[:, None] - Z) ** 2).sum(-1) / sigma**2)


@pytest.mark.parametrize(
    "family",
    [
        Gaussian(ard=True),
        Laplacian(),
        Laplacian(ard=True),
        Matern(),
        RationalQuadratic(),
        Polynomial(3),
        Linear(),
        Fourier(bounds=(-3, 3)),
        Dirichlet(columns=[0]),
        CustomFamily(cauchy, bounds=(0.05, 20)),
        AnyOf(Gaussian(columns=[0]), Laplacian(columns=[1]), Linear()),
    ],
    ids=lambda family: type(family).__name__,
)
def test_every_family(family):
    """S falls, the machine is the one of the mixture, the certificate that of the families."""
    X, y = make_moons(50, noise=0.2, random_state=0)
    signs = np.where(y == 1, 1.0, -1.0)[:, None]
    learner = fitted(X, y, family, C=3.0, corrective=True, max_iter=15)
    check_machine(learner, X, signs, X[:7])
    rng = np.random.default_rng(1)
    grams = []
    for member in family.resolve(X).members():
        space = member.search_space(member.select(X), rng)
        lower, upper = np.maximum(space.lower, -50), np.minimum(space.upper, 50)
        for z in [*space.scan, *rng.uniform(lower, upper, (100, space.p))]:
            grams.append(member.gram(member.from_search(z), member.select(X)))
    gap, S = gap_on_grid(learner, X, signs, grams)
    assert learner.history_[-1]["objective"] == pytest.approx(S, rel=1e-7)
    # A search from several starts is no proof: leave it some room.
    assert gap <= learner.gap_ + 0.02


def test_union_uses_what_helps():
    """One member sees the signal, the other noise."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-3, 3, 80), rng.normal(size=80)])
    family = AnyOf(Gaussian(columns=[1], bounds=(0.5, 5)), Gaussian(columns=[0], bounds=(0.5, 5)))
    learner = fitted(X, X[:, 0] > 0, family, C=1.0, corrective=True)
    first = [kernel.family.columns == [0] for kernel in learner.kernel_.kernels]
    assert learner.weights_[first].sum() > 0.9
    certified = fitted(X, X[:, 0] > 0, family, C=1.0, corrective=True, solver="dc")
    S = [one.history_[-1]["objective"] for one in (learner, certified)]
    assert S[0] == pytest.approx(S[1], rel=1e-3)


@pytest.mark.parametrize("corrective", [True, False])
def test_path_is_as_good_as_single_fits(corrective):
    X, y = make_moons(60, noise=0.25, random_state=1)
    target = infer_target(y, np.ones(60))
    signs = np.where(y == 1, 1.0, -1.0)[:, None]
    learner = ContinuousRisk(corrective=corrective)
    values = 10.0 ** np.arange(-5, 5.5, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = list(learner.learn_path(X, target, values))
        single = [learner.regularised(C).learn(X, target) for C in values]
    assert len(path) == len(values)
    for C, one, alone in zip(values, path, single, strict=True):
        assert one.extra["rho_"] == 1 / C
        S, S_alone = one.history[-1]["objective"], alone.history[-1]["objective"]
        # Each is above the other's lower bound.
        assert S * (1 - one.gap) <= S_alone * (1 + 1e-6)
        assert S_alone * (1 - alone.gap) <= S * (1 + 1e-6)
        K = one.kernel(X)
        size = np.mean(
            np.diag(sum(k(X) * w for k, w in zip(one.kernel.kernels, one.weights, strict=True)))
        ) / np.mean(np.diag(K))
        _, c = dual(size * K, signs, 1 / C)
        np.testing.assert_allclose(
            one.machine.predict(K), (size * K @ c)[:, 0], rtol=1e-6, atol=1e-6
        )
    iterations = [sum(len(one.history) for one in some) for some in (path, single)]
    assert iterations[0] < iterations[1]


def test_path_warns_once():
    X, y = reference.section12()
    with pytest.warns(ConvergenceWarning) as caught:
        list(ContinuousRisk(max_iter=2).learn_path(X, infer_target(y, np.ones(40)), [1.0, 10, 100]))
    assert len(caught) == 1
    assert "of 3 values of C" in str(caught[0].message)


def test_regularised_copies():
    learner = ContinuousRisk(Gaussian(bounds=BOX), solver="dc", C=2.0)
    copy = learner.regularised(5.0)
    assert (copy.C, copy.solver, learner.C) == (5.0, "dc", 2.0)
    assert ContinuousRisk.one_stage
    assert clone(copy).get_params()["C"] == 5.0


def test_same_seed_same_kernel():
    X, y = make_moons(60, noise=0.2, random_state=0)
    options = {"C": 3.0, "corrective": True, "random_state": 3}
    first, second = (fitted(X, y, Fourier(), max_iter=5, **options) for _ in range(2))
    assert first.kernel_ == second.kernel_


def test_singular_system_is_announced():
    """A constant kernel and an enormous C: the diagonal needs help, and the user hears of it."""
    X = np.repeat(np.linspace(0, 1, 10), 3)[:, None]
    y = np.arange(30) % 2
    with pytest.warns(ConvergenceWarning, match="numerically singular"):
        learner = ContinuousRisk(Gaussian(bounds=(50, 100)), C=1e20).fit(X, y)
    assert learner.history_[-1]["jitter"] > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, r"The 'C' parameter of ContinuousRisk must be a number in \(0, 1e\+100\)"),
        ({"C": "1"}, "The 'C' parameter"),
        ({"solver": "newton"}, "The 'solver' parameter of ContinuousRisk must be one of"),
        ({"start": "zero"}, "The 'start' parameter"),
        ({"corrective": 2}, "The 'corrective' parameter"),
        ({"tol": -1e-3}, "The 'tol' parameter"),
        ({"tol_fun": -1.0}, "The 'tol_fun' parameter"),
        ({"max_iter": 0}, "The 'max_iter' parameter"),
        ({"max_iter": 2.5}, r"must be an int in \[1, inf\). Got 2.5"),
        ({"n_starts": 0}, "The 'n_starts' parameter"),
        ({"family": "gaussian"}, "The 'family' parameter of ContinuousRisk must be a kernel"),
        ({"family": Gaussian(bounds=(2, 1))}, "The 'bounds' parameter of Gaussian"),
        ({"family": Matern(), "solver": "dc"}, 'use solver="gradient" instead'),
        ({"family": AnyOf(Gaussian(), Linear()), "solver": "dc"}, 'use solver="gradient"'),
    ],
)
def test_bad_parameters(options, message):
    X, y = reference.section12()
    with pytest.raises(ValueError, match=message):
        ContinuousRisk(**options).fit(X, y)


def test_bad_data():
    X, y = reference.section12()
    with pytest.raises(ValueError, match="NaN"):
        ContinuousRisk().fit(np.where(X > 1.9, np.nan, X), y)
    with pytest.raises(ValueError, match="At least two classes"):
        ContinuousRisk().fit(X, np.zeros(40, dtype=int))
    with pytest.raises(ValueError, match=r"[Ss]ample.weight"):
        ContinuousRisk().fit(X, y, np.zeros(40))
