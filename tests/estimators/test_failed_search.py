"""A fold whose search fails is tried again from the kernel of all rows."""

import threading

import numpy as np
import pytest

from kernalign import Gaussian, KernelClassifier, KernelRegressor, KernelSearch
from kernalign.criteria.sum_evidence import SumEvidence
from kernalign.estimators import searched
from kernalign.estimators.failed_search import better_search
from kernalign.estimators.problem import Problem
from kernalign.gram import Target
from kernalign.gram.packed import PackedRows
from kernalign.kernels import LearnedKernel
from kernalign.learners.base import Learned
from kernalign.learners.near_search import kernel_sum, search_near

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 3))
Y = np.sin(3 * X[:, 0]) + 0.05 * RNG.normal(size=100)


def failing(monkeypatch):
    """Let the first search in a fold end where all is noise."""
    learn, lock, failed = KernelSearch.learn, threading.Lock(), []

    def once(self, rows, target, names=None):
        found = learn(self, rows, target, names)
        with lock:
            if self.effort == "full" or failed:
                return found
            failed.append(True)
        wide = LearnedKernel([Gaussian().at(100.0)], np.ones(1))
        return Learned(wide, 0.0, [], extra={**found.extra, "noise_": 100.0})

    monkeypatch.setattr(KernelSearch, "learn", once)
    return failed


@pytest.mark.parametrize("kind", [KernelRegressor, KernelClassifier])
def test_a_failed_fold_has_no_say_in_the_error(monkeypatch, kind):
    y = Y if kind is KernelRegressor else Y > 0
    whole = kind().fit(X, y)
    failed = failing(monkeypatch)
    model = kind().fit(X, y)
    assert failed
    assert model.cv_error_ == pytest.approx(whole.cv_error_, rel=0.3)
    assert model.stability_.alignment.min() > 0.5


def test_a_failed_fold_solves_its_machine_once(monkeypatch):
    """It is known to have failed before its machine is solved."""
    failed, solved, machine = failing(monkeypatch), [], searched._machine

    def counted(found, rows, C):
        solved.append(found)
        return machine(found, rows, C)

    monkeypatch.setattr(searched, "_machine", counted)
    model = KernelRegressor().fit(X, Y)
    assert failed
    assert len(solved) == len(model.stability_.alignment)


def problem(rows, values):
    return Problem(X[rows], values[rows], Target(values[rows, None], np.ones(len(rows))),
                   np.ones(len(rows)), None)  # fmt: skip


def test_a_search_that_has_not_failed_is_left_alone():
    t = Target(Y[:, None], np.ones(100))
    learner = KernelSearch().fit_target(X, t)
    rows = np.arange(80)
    found = learner.for_folds().learn(X[rows], t.rows(rows))
    assert better_search(found, learner, problem(rows, Y)) is None


def test_on_noise_the_kernel_of_all_rows_is_not_taken():
    noise = RNG.normal(size=100)
    t = Target(noise[:, None], np.ones(100))
    learner = KernelSearch().fit_target(X, t)
    for rows in (np.arange(80), np.arange(20, 100)):
        found = learner.for_folds().learn(X[rows], t.rows(rows))
        assert better_search(found, learner, problem(rows, noise)) is None


@pytest.mark.parametrize("y", [Y, X @ [1.0, 2.0, 0.0], np.abs(X[:, 0]) + np.sin(X[:, 1]) + X[:, 2]])
def test_a_sum_of_terms_is_the_kernel_that_it_comes_from(y):
    learner = KernelSearch().fit_target(X, Target(y[:, None], np.ones(100)))
    found = kernel_sum(learner)
    U = learner.units_(X)
    same = sum(term.weight * term.member(3)(U) for term in found.terms)
    np.testing.assert_allclose(same, learner.kernel_(X), rtol=1e-6)
    assert np.exp(found.log_noise) == pytest.approx(learner.noise_)


def test_a_search_near_a_kernel_fits_its_own_rows():
    learner = KernelSearch().fit_target(X, Target(Y[:, None], np.ones(100)))
    noisier = Target((Y + RNG.normal(size=100))[:60, None], np.ones(60))
    found = search_near(learner, X[:60], noisier)
    assert found.extra["noise_"] > 10 * learner.noise_
    start = kernel_sum(learner)
    rows = PackedRows(learner.units_(X[:60]), noisier)
    assert found.objective > -SumEvidence.like(rows, start, learner.prior).value(start) + 10
