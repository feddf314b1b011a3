"""A sample that grows until the kernel, and what is known of its alignment, stand still."""

import numpy as np
import pytest
from sklearn.base import clone

from kernalign import (
    ContinuousAlignment,
    ContinuousRisk,
    Gaussian,
    KernelClassifier,
    Sampled,
    SampleWarning,
    UniformWeights,
)
from kernalign.gram import Target
from kernalign.gram.centring import size_and_alignment
from kernalign.gram.sampling import stratified_order


def problem(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, (X[:, 0] * X[:, 1] > 0.8 * rng.standard_normal(n) ** 2).astype(int)


def test_sample_grows_until_interval_and_change_are_small():
    X, y = problem()
    learner = Sampled(tol=0.04, min_rows=100).fit(X, y)
    sizes = [record["rows"] for record in learner.samples_]
    assert sizes == [100 * 2**k for k in range(len(sizes))]
    assert 2 <= len(sizes) < 7
    *before, last = learner.samples_

    def enough(record):
        low, high = record["interval"]
        return (high - low) / 2 <= 0.04 and record["change"] <= 0.04

    assert enough(last)
    assert not any(enough(record) for record in before)
    assert len(learner.rows_) == len(set(learner.rows_)) == last["rows"]
    assert all(
        record["rows"] == last["rows"] and record["interval"] == last["interval"]
        for record in learner.history_
    )


def test_kernel_is_that_of_the_learner_on_the_sample():
    X, y = problem()
    learner = Sampled(tol=0.1, min_rows=200).fit(X, y)
    rows = learner.rows_
    target = Target(np.where(y == 1, 1.0, -1.0)[:, None], np.ones(len(y)))
    same = ContinuousAlignment().fit_target(X[rows], target.rows(rows))
    assert learner.kernel_ == same.kernel_
    assert learner.alignment_ == same.alignment_


def test_interval_covers_the_alignment_on_all_rows():
    """At 95 %, of ten samples nine at least (five missed would be a chance of 1e-4)."""
    X, y = problem(1500)
    target = Target(np.where(y == 1, 1.0, -1.0)[:, None], np.ones(len(y)))
    covered = 0
    for seed in range(10):
        learner = Sampled(
            UniformWeights(Gaussian().grid(1, 3, 2)), tol=1, min_rows=300, max_rows=300,
            random_state=seed,
        ).fit(X, y)  # fmt: skip
        whole = size_and_alignment(learner.kernel_(X), target)[1]
        low, high = learner.samples_[-1]["interval"]
        covered += low <= whole <= high
    assert covered >= 8


def test_interval_knows_that_the_kernel_was_learned_from_its_sample():
    """The alignment with labels without meaning is zero, whatever the sample shows."""
    covered = 0
    ard = ContinuousAlignment(Gaussian(ard=True), max_iter=1)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((160, 4)), rng.integers(0, 2, 160)
        learner = Sampled(ard, tol=1, min_rows=80, max_rows=80).fit(X, y)
        low, high = learner.samples_[-1]["interval"]
        covered += low <= 0 <= high
        assert learner.alignment_ > 0.05
    assert covered >= 8


def test_few_rows_outside_the_sample_tell_nothing():
    X, y = problem(110)
    learner = Sampled(tol=1, min_rows=100, max_rows=100).fit(X, y)
    assert learner.samples_[-1]["interval"] == (-1, 1)


def test_all_rows_are_no_sample():
    X, y = problem(300)
    learner = Sampled(tol=0, min_rows=100, max_rows=300).fit(X, y)
    assert [record["rows"] for record in learner.samples_] == [100, 200, 300]
    low, high = learner.samples_[-1]["interval"]
    assert low == high == learner.alignment_
    assert learner.kernel_ == ContinuousAlignment().fit(X, y).kernel_


def test_exact_evaluation_is_the_alignment_on_all_rows():
    X, y = problem(900)
    ard = ContinuousAlignment(Gaussian(ard=True), max_iter=2)
    learner = Sampled(ard, tol=0.3, min_rows=100, exact=True).fit(X, y)
    target = Target(np.where(y == 1, 1.0, -1.0)[:, None], np.ones(len(y)))
    whole = size_and_alignment(learner.kernel_(X), target)[1]
    assert learner.alignment_ == pytest.approx(whole, rel=1e-8)
    assert len(learner.rows_) < 900
    assert learner.samples_[-1]["rows"] == 900


def test_sample_that_does_not_suffice_is_a_warning():
    X, y = problem(2000)
    with pytest.warns(SampleWarning, match=r"max_rows=200 rows leaves the alignment uncertain by"):
        Sampled(tol=1e-3, min_rows=100, max_rows=200).fit(X, y)


@pytest.mark.parametrize("size", [10, 40, 200])
def test_every_beginning_holds_the_classes_in_proportion(size):
    y = np.repeat([0, 1, 2], [700, 250, 50])
    target = Target(np.eye(3)[y], np.ones(1000))
    order = stratified_order(target, np.random.default_rng(0))
    assert sorted(order) == list(range(1000))
    counts = np.bincount(y[order[:size]], minlength=3)
    np.testing.assert_allclose(counts, size * np.array([0.7, 0.25, 0.05]), atol=1)


def test_response_is_sampled_at_random():
    target = Target(np.arange(500.0)[:, None], np.ones(500))
    order = stratified_order(target, np.random.default_rng(0))
    assert sorted(order) == list(range(500))
    assert 150 < order[:100].mean() < 350


def test_folds_take_the_size_as_it_is():
    X, y = problem(2000)
    learner = Sampled(tol=0.1, min_rows=100).fit(X, y)
    copy = learner.for_folds().fit(X[::2], y[::2])
    assert [record["rows"] for record in copy.samples_] == [learner.samples_[-1]["rows"]]


def test_it_stands_where_learners_stand():
    X, y = problem(1200)
    model = KernelClassifier(Sampled(tol=0.1, min_rows=100), C=1.0, cv=2).fit(X[:200], y[:200])
    assert isinstance(model.learner_, Sampled)
    assert clone(model).learner.tol == 0.1


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"learner": ContinuousRisk()}, "'learner' parameter of Sampled"),
        ({"learner": 3}, "'learner' parameter of Sampled"),
        ({"min_rows": 1.5}, "'min_rows' parameter of Sampled"),
        ({"max_rows": 1}, "'max_rows' parameter of Sampled"),
        ({"tol": -1}, "'tol' parameter of Sampled"),
        ({"confidence": 1.0}, "'confidence' parameter of Sampled"),
    ],
)
def test_wrong_parameters_are_named(options, match):
    X, y = problem(100)
    with pytest.raises(ValueError, match=match):
        Sampled(**options).fit(X, y)
