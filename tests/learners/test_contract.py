"""What every learner owes its users, whatever its method."""

import numpy as np
import pytest
from sklearn.base import clone

from kernalign import (
    AlignmentWarning,
    AnyOf,
    ContinuousAlignment,
    ContinuousRisk,
    Gaussian,
    Linear,
    LpNormMKL,
    Polynomial,
    RationalQuadratic,
    Sampled,
    UniformWeights,
    centered_alignment,
)
from kernalign.learners import FiniteLearner
from tests.learners.learners import LEARNERS, concrete, name

#: Linear and polynomial kernels take their scale from the rows, weights included.
KERNELS = [Linear().at([1.0, 1.0, 1.0]), Polynomial(3).at(1.0), Gaussian().at(1.0)]
FINITE = sorted(
    (learner for learner in concrete() if issubclass(learner, FiniteLearner)),
    key=lambda learner: learner.__name__,
)
#: Learners for which a weight is not a repeated row -> why.
NOT_REPEATED = {
    "ContinuousAlignment(early_stopping=True)": "the rows held out are drawn at random",
    "Sampled(min_rows=20, tol=0.5)": "the sample is drawn at random",
    "ContinuousEvidence(criterion='loo')": "leaving out one copy of a row leaves the others in",
}
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=name)


def problem(n=40):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)) * [1.0, 3.0, 0.3]
    return X, (X[:, 0] * X[:, 1] > 0).astype(int), rng.integers(1, 4, n)


def test_no_learner_is_missing_from_the_list():
    assert {type(learner) for learner in LEARNERS} >= concrete()
    assert len(concrete()) >= 11
    assert set(NOT_REPEATED) <= {name(learner) for learner in LEARNERS}


@each_learner
def test_attributes_have_the_same_names_on_every_learner(learner):
    X, y, _ = problem()
    fitted = clone(learner).fit(X, y)
    assert fitted.n_iter_ == len(fitted.history_) > 0
    assert [record["iteration"] for record in fitted.history_] == list(range(1, fitted.n_iter_ + 1))
    assert all(np.isfinite(record["objective"]) for record in fitted.history_)
    assert fitted.objective_ == pytest.approx(fitted.history_[-1]["objective"], rel=1e-5)
    assert fitted.converged_ in (True, False)
    assert (np.asarray(fitted.weights_) >= 0).all()
    assert len(fitted.objective_name) > 3
    assert hasattr(fitted, "machine_") == fitted.one_stage
    assert hasattr(fitted, "dual_coef_") == fitted.one_stage
    assert hasattr(fitted, "intercept_") == fitted.one_stage
    target = np.outer(2 * y - 1.0, 2 * y - 1.0)
    rows = getattr(fitted, "rows_", slice(None))
    K = fitted.kernel_(X[rows])
    assert fitted.alignment_ == pytest.approx(
        centered_alignment(K, target[rows][:, rows]), abs=1e-6
    )
    # Normalised: the centred Gram matrix has mean diagonal one.
    assert np.trace(K) / len(K) - K.mean() == pytest.approx(1, rel=1e-6)


@each_learner
def test_a_fit_leaves_nothing_of_the_one_before(learner):
    X, y, _ = problem()
    once, twice = clone(learner).fit(X, y), clone(learner).fit(X[:30, :2], 1 - y[:30])
    twice.left_over_ = 5
    twice.fit(X, y)
    assert set(vars(twice)) == set(vars(once))
    assert twice.kernel_ == once.kernel_


@each_learner
def test_a_copy_for_folds_is_unfitted_and_calls_nobody(learner):
    X, y, _ = problem()
    for before in (clone(learner), clone(learner).fit(X, y)):
        copy = before.for_folds()
        assert type(copy) is type(learner)
        assert not hasattr(copy, "kernel_")
        assert getattr(copy, "callback", None) is None
        copy.fit(X, y)


@pytest.mark.parametrize(
    "learner",
    [
        type(learner)(KERNELS) if hasattr(learner, "kernels") else learner
        for learner in LEARNERS
        if name(learner) not in NOT_REPEATED
    ],
    ids=name,
)
def test_integer_weights_are_repeated_rows(learner):
    X, y, weight = problem()
    weighted = learner.fit(X, y, sample_weight=weight).kernel_(X)
    repeated = learner.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).kernel_(X)
    # Optima are found within each learner's tolerance.
    np.testing.assert_allclose(weighted, repeated, atol=2e-3 * np.abs(repeated).max())


def test_scales_of_weighted_rows_are_exact():
    """The constants of kernels agree to rounding, so what differs above is tolerance only."""
    X, y, weight = problem()
    weighted = LpNormMKL(KERNELS).fit(X, y, sample_weight=weight)
    repeated = LpNormMKL(KERNELS).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    for one, two in zip(weighted.kernel_.kernels, repeated.kernel_.kernels, strict=True):
        np.testing.assert_allclose(one(X), two(X), rtol=1e-10)


@pytest.mark.parametrize("learner", FINITE)
@pytest.mark.parametrize("wrong", [Gaussian(), [Gaussian()], 5, ["a"], [], None, "grid"], ids=repr)
def test_what_is_no_dictionary_is_named(learner, wrong):
    X, y, _ = problem()
    with pytest.raises(ValueError, match=f"'kernels' parameter of {learner.__name__}"):
        learner(wrong).fit(X, y)


@pytest.mark.parametrize(
    ("family", "sigma"),
    [
        (Gaussian(), ()),
        (Gaussian(), (0.0,)),
        (Gaussian(), (-1.0,)),
        (Gaussian(), (float("nan"),)),
        (Gaussian(), (1.0, 2.0)),
        (RationalQuadratic(), (1.0,)),
    ],
)
def test_members_of_wrong_parameters_are_refused(family, sigma):
    with pytest.raises(ValueError, match=type(family).__name__):
        family.at(*sigma)


def test_two_rows_and_a_path_of_penalties():
    learner = ContinuousAlignment(Gaussian(ard=True), penalty="path")
    with pytest.warns(AlignmentWarning, match="too few"):
        learner.fit(np.array([[0.0, 1.0], [1.0, 0.0]]), [0, 1])
    assert learner.penalty_ == np.inf
    assert np.isfinite(learner.kernel_(np.eye(2))).all()


@pytest.mark.parametrize("fraction", [0.1, 0.25, 0.3, 0.5, 0.75])
def test_the_share_held_out_is_the_one_asked_for(fraction):
    from kernalign.gram import Target
    from kernalign.gram.sampling import split_in_proportion

    y = np.repeat([-1.0, 1.0], [120, 80])[:, None]
    train, held = split_in_proportion(Target(y, np.ones(200)), fraction, np.random.default_rng(0))
    assert len(held) == pytest.approx(200 * fraction, abs=1)
    assert (y[held] > 0).sum() == pytest.approx(80 * fraction, abs=1)
    assert sorted([*train, *held]) == list(range(200))


def test_wide_kernels_keep_their_alignment():
    X, y, _ = problem()
    risk = ContinuousRisk(Gaussian(bounds=(1e4, 1e4))).fit(X, y)
    target = np.outer(2 * y - 1, 2 * y - 1)
    # Of a kernel this wide eight digits of K_c are left.
    assert risk.alignment_ == pytest.approx(centered_alignment(risk.kernel_(X), target), rel=1e-5)


def test_a_refused_fit_leaves_the_learner_as_it_was():
    X, y, _ = problem()
    learner = ContinuousAlignment().fit(X, y)
    before = dict(vars(learner))
    with pytest.raises(ValueError, match="NaN"):
        learner.fit(np.full((5, 2), np.nan), [0, 1, 0, 1, 0])
    learner.family = "rbf"
    with pytest.raises(ValueError, match="family"):
        learner.fit(X[:, :2], y)
    assert {**vars(learner), "family": None} == before


@pytest.mark.parametrize(
    ("learner", "one_pass", "largest"),
    [
        (ContinuousAlignment(), True, 20_000),
        (ContinuousAlignment(Gaussian(ard=True)), False, 4000),
        (ContinuousAlignment(Gaussian(ard=True), penalty=np.inf), True, 20_000),
        (ContinuousAlignment(AnyOf(Gaussian(), Linear())), False, 4000),
        (ContinuousAlignment(Linear()), False, np.inf),
        (UniformWeights(), False, 4000),
        (Sampled(UniformWeights()), True, np.inf),
    ],
    ids=repr,
)
def test_a_learner_declares_how_many_rows_it_takes(learner, one_pass, largest):
    assert learner.one_pass is one_pass
    assert learner.largest_sample() == largest
