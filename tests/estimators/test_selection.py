"""The choice of kernel, machine and C: the simplest that is as good as the best, told honestly."""

import warnings

import numpy as np
import pytest

from kernalign import (
    AlignmentWarning,
    ContinuousAlignment,
    ContinuousEvidence,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    KernelSearch,
    LpNormMKL,
)
from kernalign.estimators.losses import CLASSES, Loss
from kernalign.estimators.problem import Problem
from kernalign.estimators.selection import select
from kernalign.estimators.stages import Candidate, HeldOut, Outputs, Stages
from kernalign.gram import Target
from kernalign.machines import RidgeClassifier, RidgeRegressor

VALUES = np.array([1.0, 2.0])
N, FOLDS = 40, 4
#: Outputs that are their own loss.
AS_TOLD = Loss(lambda y, outputs: outputs, lambda y, outputs, weight: outputs)


class Told(Stages):
    """Candidates whose loss on each row is given: (values, rows) by candidate."""

    def __init__(self, losses, candidates=None):
        self.candidates = candidates or [Candidate(k) for k in range(len(losses))]
        self.losses = losses

    def path(self, train, test, values, tried=None):
        rows = test.X[:, 0].astype(int)
        told = zip(self.candidates, self.losses, strict=True)
        return HeldOut([Outputs(c, losses[:, rows], 0.5) for c, losses in told])

    def train(self, problem, candidate, C, known=None): ...

    def learner(self, candidate): ...

    def machine_name(self, candidate): ...


def choose(*losses, weight=None, candidates=None):
    """Run the selection on losses of rows, folds of neighbours."""
    target = Target(np.zeros((N, 1)), np.ones(N) if weight is None else weight)
    X = np.arange(N, dtype=float)[:, None]
    problem = Problem(X, np.zeros(N), target, target.weight, None)
    parts = np.array_split(np.arange(N), FOLDS)
    folds = [(np.setdiff1d(np.arange(N), part), part) for part in parts]
    return select(Told(list(losses), candidates), problem, VALUES, folds, AS_TOLD)


def wrong(*rows):
    """Losses at two C: wrong in all rows at the first, in the given rows at the second."""
    losses = np.ones((2, N))
    losses[1] = np.isin(np.arange(N), rows)
    return losses


def test_the_simpler_candidate_is_kept_within_a_standard_error():
    # Better in one row of 40: a difference of 0.025 with a standard error of 0.025.
    assert choose(wrong(0, 1), wrong(0)).candidate == Candidate(0)


def test_the_complex_candidate_is_taken_where_it_is_clearly_better():
    found = choose(wrong(*range(10)), wrong(0))
    assert found.candidate == Candidate(1)
    assert found.C == 2.0
    assert found.errors[Candidate(1)][1] == pytest.approx(1 / N)


def test_of_two_machines_on_a_kernel_the_better_is_taken():
    """One row of 40 decides between machines: they are not simple or complex, as kernels are."""
    candidates = [Candidate(0, 0), Candidate(0, 1), Candidate(1, 0)]
    found = choose(wrong(0, 1), wrong(0), wrong(), candidates=candidates)
    assert found.candidate == Candidate(0, 1)


def test_ties_between_c_go_to_the_stronger_regularisation():
    assert choose(np.zeros((2, N))).C == 1.0


def test_weights_count_as_rows():
    heavy = np.ones(N)
    heavy[:4] = 1000
    light = choose(wrong(*range(8)), wrong(*range(3, 12)))
    found = choose(wrong(*range(8)), wrong(*range(3, 12)), weight=heavy)
    assert light.candidate == Candidate(0)
    assert found.candidate == Candidate(1)


def honest(found):
    return found.honest.estimate()


@pytest.mark.parametrize("folds", [1, 2, 4])
def test_the_best_of_many_coins_is_a_coin_where_it_is_judged(folds):
    """And where the folds of a candidate share their luck, as machines that learn from each other's
    rows do: a candidate that is lucky in one fold is lucky in all."""
    target = Target(np.zeros((N, 1)), np.ones(N))
    X = np.arange(N, dtype=float)[:, None]
    problem = Problem(X, np.zeros(N), target, target.weight, None)
    parts = np.array_split(np.arange(N), folds)
    splits = [(np.setdiff1d(np.arange(N), part), part) for part in parts]
    rng = np.random.default_rng(0)
    lucky, estimates = [], []
    for _ in range(100):
        one = rng.random((10, 2, -(-N // folds))) < 0.5
        coins = np.tile(one, folds)[:, :, :N].astype(float)
        found = select(Told(list(coins)), problem, VALUES, splits, AS_TOLD)
        lucky.append(min(losses.min() for losses in found.errors.values()))
        estimates.append(honest(found).mean)
    assert np.mean(lucky) < 0.4
    # The rows of one fold are independent: so many judge, each with a deviation of a half.
    assert abs(np.mean(estimates) - 0.5) < 3 * 0.5 / np.sqrt(100 * N / folds)


def test_a_group_does_not_judge_the_choice_of_its_own_rows():
    """Two candidates, each right in one half of the rows, which is a group."""
    target = Target(np.zeros((N, 1)), np.ones(N))
    X = np.arange(N, dtype=float)[:, None]
    half = np.array_split(np.arange(N), 2)
    told, split = Told([wrong(*half[1]), wrong(*half[0])]), [(np.arange(0), np.arange(N))]
    groups = (np.arange(N) >= N // 2).astype(int)
    problem = Problem(X, np.zeros(N), target, target.weight, None, groups)
    found = honest(select(told, problem, VALUES, split, AS_TOLD))
    assert found.mean == pytest.approx(1.0)


def test_a_single_row_of_a_fold_cannot_judge():
    target = Target(np.zeros((N, 1)), np.ones(N))
    X = np.arange(N, dtype=float)[:, None]
    problem = Problem(X, np.zeros(N), target, target.weight, None)
    alone = [(np.arange(1, N), np.arange(1))]
    found = honest(select(Told([wrong(), wrong(0)]), problem, VALUES, alone, AS_TOLD))
    assert np.isnan(found.mean)
    assert "a single row" in found.unknown


def test_a_value_of_c_that_was_not_tried_is_not_chosen():
    untried = np.zeros((2, N))
    untried[0] = np.nan
    untried[1, 0] = 1.0
    found = choose(untried)
    assert found.C == 2.0
    np.testing.assert_array_equal(found.errors[Candidate(0)], [np.inf, 1 / N])
    assert honest(found).mean == pytest.approx(1 / N)


def test_a_machine_without_an_answer_is_not_chosen():
    """NaN at some rows, at every C: neither a warning nor a choice."""
    holes = np.zeros((2, N))
    holes[:, :3] = np.nan
    assert choose(holes, wrong(0)).candidate == Candidate(1)
    assert choose(holes, holes).candidate == Candidate(0)


def test_the_honest_error_of_a_single_candidate_is_its_error():
    found = choose(wrong(*range(0, N, 5)))
    assert honest(found).mean == pytest.approx(found.errors[Candidate(0)].min())
    # The standard error of a share, not that of four folds that happen to agree.
    assert honest(found).deviation == pytest.approx(np.sqrt(0.2 * 0.8 / (N - 1)))


def test_the_order_of_rows_does_not_decide():
    """Classes in turn, in many rows: every k-th row would be of one class."""
    rng = np.random.default_rng(0)
    codes = np.arange(4000) % 2
    outputs = (2 * codes - 1 + 2 * rng.normal(size=4000))[None]
    shuffled = rng.permutation(4000)
    losses = [
        CLASSES.deciding(codes[order], outputs[:, order], np.ones(4000)).mean()
        for order in (slice(None), shuffled)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)


def test_integer_weights_are_repeated_rows_in_the_choice():
    weight = np.random.default_rng(0).integers(1, 4, N)
    for number in range(2, 12):
        losses = wrong(*range(number)), wrong(*range(4, 6))
        weighted = choose(*losses, weight=weight.astype(float))
        d = np.repeat((losses[0] - losses[1])[1], weight)
        error = d.std(ddof=1) / np.sqrt(len(d))
        assert (weighted.candidate == Candidate(0)) == (d.mean() <= error * (1 + 1e-9))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_chosen_by_the_brier_score_at_the_slope_of_largest_likelihood(n_classes):
    rng = np.random.default_rng(0)
    codes, weight = rng.integers(n_classes, size=60), rng.uniform(0.5, 2, 60)
    truth = np.eye(n_classes)[codes]
    scores = truth + rng.normal(size=(60, n_classes))
    outputs = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores

    def probabilities(slope):
        z = np.exp(slope * (np.c_[-outputs / 2, outputs / 2] if n_classes == 2 else outputs))
        return z / z.sum(axis=1, keepdims=True)

    def more(slope):
        """A row that is wrong and one that is right by the usual margin."""
        right = (outputs * (2 * codes - 1)) if n_classes == 2 else (outputs * truth).sum(axis=1)
        best = outputs * 0 if n_classes == 2 else (outputs - 1e9 * truth).max(axis=1)
        usual = weight @ np.abs(right - best) / weight.sum()
        z = np.exp(slope * usual * np.array([1, *[-1] * (n_classes - 2)]))
        return -np.log(1 + z.sum()) - np.log(1 + (n_classes - 1) * np.exp(-slope * usual))

    slopes = np.geomspace(1e-2, 1e2, 2001)
    likelihood = [weight @ np.log((probabilities(s) * truth).sum(axis=1)) + more(s) for s in slopes]
    naive = ((probabilities(slopes[np.argmax(likelihood)]) - truth) ** 2).sum(axis=1) / 2
    found = CLASSES.deciding(codes, outputs[None], weight)[0]
    np.testing.assert_allclose(found @ weight, naive @ weight, rtol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ridge_classifier_solves_its_equations(n_classes):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(30, 2)), rng.uniform(0.5, 2, 30)
    codes = np.arange(30) % n_classes
    K = Gaussian().at(1.0)(X)
    Y = 2 * np.eye(n_classes)[codes] - 1 if n_classes > 2 else (2.0 * codes - 1)[:, None]
    mean = weight @ Y / weight.sum()
    for C in (0.1, 10.0):
        expected = K @ np.linalg.solve(K + np.diag(1 / (C * weight)), Y - mean) + mean
        machine = RidgeClassifier()
        found = machine.fit(K, codes, weight, C).predict(K)
        path = machine.path(K, codes, weight, K, np.array([C]))[0]
        for out in (found, path):
            assert out.shape == ((30,) if n_classes == 2 else (30, 3))
            np.testing.assert_allclose(out.reshape(30, -1), expected, atol=1e-10)


def test_ridge_regressor_takes_several_responses():
    rng = np.random.default_rng(0)
    K, Y = Gaussian().at(1.0)(rng.normal(size=(20, 2))), rng.normal(size=(20, 2))
    machine, weight = RidgeRegressor(), np.ones(20)
    both = machine.path(K, Y, weight, K, VALUES)
    for c in range(2):
        one = machine.path(K, Y[:, c], weight, K, VALUES)
        np.testing.assert_allclose(both[..., c], one, atol=1e-12)


def chosen_learner(model):
    """The number of the learner that was chosen."""
    learners = list(dict.fromkeys(id(record["learner"]) for record in model.path_))
    return learners.index(id(model.learner_))


def noisy_product(n=300, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 3] * X[:, 7] > 0).astype(int)


def test_default_takes_a_bandwidth_per_feature_where_features_differ():
    X, y = noisy_product()
    clf = KernelClassifier().fit(X, y)
    (member, *_) = clf.kernel_.kernels
    relevance = member.family.relevance(member.sigma, X.shape[1])
    assert set(np.argsort(relevance)[-2:]) == {3, 7}
    X_test, y_test = noisy_product(seed=1)
    plain = KernelClassifier(ContinuousAlignment()).fit(X, y)
    assert clf.score(X_test, y_test) > plain.score(X_test, y_test) + 0.15
    assert abs(clf.cv_error_ - (1 - clf.score(X_test, y_test))) < 0.06


def test_default_keeps_one_bandwidth_where_features_are_alike():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 10)) + (2 * y[:, None] - 1) * 0.6
    (member,) = KernelClassifier().fit(X, y).kernel_.kernels
    relevance = member.family.relevance(member.sigma, 10)
    np.testing.assert_allclose(relevance, relevance[0])


def test_default_of_one_feature():
    X = np.linspace(-3, 3, 60)[:, None]
    model = KernelRegressor().fit(X, np.sin(X[:, 0]))
    assert model.score(X, np.sin(X[:, 0])) > 0.999
    assert [type(record["learner"]) for record in model.path_] == [KernelSearch]


def test_path_tells_training_from_held_out_alignment():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 30)), rng.integers(2, size=80)
    overfitting = ContinuousAlignment(Gaussian(ard=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AlignmentWarning)
        clf = KernelClassifier([ContinuousAlignment(), overfitting]).fit(X, y)
    assert len(clf.path_) == 4
    assert sum(record["chosen"] for record in clf.path_) == 1
    bold = clf.path_[2]
    assert bold["alignment"] > bold["held_out_alignment"] + 0.1
    chosen = next(record for record in clf.path_ if record["chosen"])
    assert chosen["C"] == clf.C_
    assert chosen["error"] == clf.cv_results_["error"].min()


def test_a_number_for_c_still_leaves_the_kernel_to_choose():
    X, y = noisy_product(150)
    learners = [ContinuousAlignment(), ContinuousEvidence(prior=0.3)]
    assert chosen_learner(KernelClassifier(learners, C=1.0).fit(X, y)) == 1


def test_regressor_chooses_too():
    X, _ = noisy_product(200)
    y = np.sin(2 * X[:, 0]) + 0.1 * X[:, 5]
    model = KernelRegressor().fit(X, y)
    assert model.cv_error_ < 0.1 * y.var()


@pytest.mark.parametrize("estimator", [KernelClassifier, KernelRegressor])
@pytest.mark.parametrize(
    ("learner", "message"),
    [
        ([], "must name at least one learner. Got an empty list"),
        ([ContinuousAlignment(), "ca"], "or a list of them .* Got 'ca' instead"),
        (
            [ContinuousAlignment(), LpNormMKL([Gaussian().at(1.0)])],
            "LpNormMKL trains its own machine and cannot be one of several",
        ),
    ],
)
def test_bad_lists_of_learners(estimator, learner, message):
    X, y = noisy_product(30)
    with pytest.raises(ValueError, match=message):
        estimator(learner).fit(X, y)


def test_folds_do_not_repeat_the_warnings_of_the_fit():
    X, y = np.zeros((20, 2)), np.arange(20) % 2
    with pytest.warns(AlignmentWarning) as caught:
        KernelClassifier(ContinuousAlignment()).fit(X, y)
    assert len(caught) == 1


def test_a_kernel_that_fits_noise_is_called_so():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 60)), rng.integers(2, size=50)
    with pytest.warns(AlignmentWarning, match="the kernel overfits"):
        KernelClassifier(ContinuousAlignment(Gaussian(ard=True))).fit(X, y)
