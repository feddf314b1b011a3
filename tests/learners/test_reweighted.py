"""Weights from one learner on the kernels of another."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

from kernalign import (
    ContinuousAlignment,
    DiscreteAlignment,
    Gaussian,
    KernelClassifier,
    LpNormMKL,
    PolynomialMKL,
    Reweighted,
    RidgeMKL,
    UniformWeights,
)

FINITE = [
    UniformWeights(),
    DiscreteAlignment(),
    DiscreteAlignment(joint=False),
    LpNormMKL(p=1),
    LpNormMKL(p=2),
    RidgeMKL(),
    PolynomialMKL(),
]


def moons(n=60):
    return make_moons(n, noise=0.2, random_state=0)


@pytest.mark.parametrize("weights", FINITE, ids=lambda w: repr(w))
def test_equals_the_weights_learner_on_the_kernels_found(weights):
    X, y = moons()
    found = ContinuousAlignment().fit(X, y).kernel_.kernels
    learner = Reweighted(ContinuousAlignment(), weights).fit(X, y)
    by_hand = clone(weights).set_params(kernels=list(found)).fit(X, y)
    np.testing.assert_allclose(learner.kernel_(X), by_hand.kernel_(X), atol=1e-10)
    assert learner.alignment_ == pytest.approx(by_hand.alignment_)
    assert learner.one_stage == weights.one_stage
    assert list(learner.dictionary_.kernel_.kernels) == list(found)


def test_alignf_on_the_dictionary_is_aligned_at_least_as_well_as_what_found_it():
    X, y = moons()
    learned = ContinuousAlignment().fit(X, y)
    best = Reweighted(ContinuousAlignment(), DiscreteAlignment()).fit(X, y)
    uniform = Reweighted(ContinuousAlignment(), UniformWeights()).fit(X, y)
    assert best.alignment_ >= learned.alignment_ - 1e-10
    assert best.alignment_ >= uniform.alignment_ - 1e-10


def test_defaults_are_uniform_weights_on_continuous_alignment():
    X, y = moons()
    default = Reweighted().fit(X, y)
    spelled = Reweighted(ContinuousAlignment(), UniformWeights()).fit(X, y)
    assert default.kernel_ == spelled.kernel_
    assert not Reweighted().one_stage


def test_c_of_a_one_stage_learner_is_tuned_on_one_dictionary_per_fold():
    X, y = moons(80)
    classifier = KernelClassifier(Reweighted(weights=LpNormMKL(p=2)), C=[0.1, 1.0, 10.0], cv=3)
    classifier.fit(X, y)
    assert classifier.learner_.weights.C == classifier.C_
    assert classifier.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (Reweighted(dictionary="ca"), ["'dictionary'", "Reweighted", "'ca'"]),
        (Reweighted(weights=ContinuousAlignment()), ["'weights'", "Reweighted", "finite"]),
        (Reweighted(weights=Gaussian()), ["'weights'", "Reweighted", "Gaussian"]),
    ],
)
def test_wrong_parts_are_named(learner, words):
    X, y = moons()
    with pytest.raises(ValueError, match="Reweighted") as error:
        learner.fit(X, y)
    for word in words:
        assert word in str(error.value)


# --- folds and refits ----------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [UniformWeights(), LpNormMKL(p=2)], ids=["two", "one stage"])
def test_the_callback_of_the_dictionary_sees_one_fit(weights):
    X, y = moons()
    seen = []
    dictionary = ContinuousAlignment(callback=seen.append)
    model = KernelClassifier(Reweighted(dictionary, weights), C=[0.1, 1.0], cv=3).fit(X, y)
    assert len(seen) == model.learner_.dictionary_.n_iter_


def test_a_penalty_that_the_dictionary_chose_stays_in_the_folds(monkeypatch):
    X, y = moons()
    chosen = []
    real = ContinuousAlignment.learn

    def recorded(self, *args):
        chosen.append(self.penalty)
        return real(self, *args)

    monkeypatch.setattr(ContinuousAlignment, "learn", recorded)
    dictionary = ContinuousAlignment(Gaussian(ard=True), penalty=[1.0, 1e3], max_iter=2)
    model = KernelClassifier(Reweighted(dictionary), C=[0.1, 1.0], cv=3).fit(X, y)
    penalty = model.learner_.dictionary_.penalty_
    assert chosen == [[1.0, 1e3], penalty, penalty, penalty]


def test_an_unfitted_copy_for_folds_keeps_its_parameters():
    learner = Reweighted(ContinuousAlignment(tol=0.1, callback=print), LpNormMKL(p=2))
    copy = learner.for_folds()
    assert copy.dictionary.tol == 0.1
    assert copy.dictionary.callback is None
    assert learner.dictionary.callback is print
    assert copy.weights.p == 2


def test_a_refit_leaves_nothing_of_the_fit_before():
    X, y = moons()
    learner = Reweighted(ContinuousAlignment(), LpNormMKL(p=2)).fit(X, y)
    assert learner.gap_ < 1
    learner.set_params(weights=UniformWeights()).fit(X, y)
    fresh = Reweighted(ContinuousAlignment(), UniformWeights()).fit(X, y)
    assert set(vars(learner)) == set(vars(fresh))
    assert not hasattr(learner, "machine_")
