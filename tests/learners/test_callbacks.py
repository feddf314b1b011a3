"""Looking on: callbacks per iteration, early stops, and the log."""

import logging
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.base import clone

from kernalign import (
    AnyOf,
    ContinuousAlignment,
    ContinuousRisk,
    Gaussian,
    KernelClassifier,
    Laplacian,
    Reweighted,
)
from tests.learners.learners import WATCHED, name

LEARNERS = [
    # Early stopping may leave a single iteration.
    *(learner for learner in WATCHED if not getattr(learner, "early_stopping", False)),
    ContinuousAlignment(corrective=True, selection="step"),
    ContinuousAlignment(Gaussian(ard=True), penalty=[1.0, 100.0]),
    ContinuousAlignment(AnyOf(Gaussian(columns=[0]), Laplacian(columns=[1]))),
]
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=name)


def problem(n=50):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


class Records(list):
    """A callback with a lock inside, as progress bars have: it cannot be copied."""

    def __init__(self, stop_after=None):
        self.lock = threading.Lock()
        self.stop_after = stop_after

    def __call__(self, record):
        self.append(record)
        if len(self) == self.stop_after:
            raise StopIteration
        return True


@each_learner
def test_callback_sees_the_history(learner):
    X, y = problem()
    records = Records()
    watched = clone(learner).set_params(callback=records).fit(X, y)
    silent = clone(learner).fit(X, y)
    # What it returns is ignored, and looking on changes nothing.
    assert watched.kernel_ == silent.kernel_
    assert len(records) == len(watched.history_)
    for seen, kept in zip(records, watched.history_, strict=True):
        assert seen.keys() == kept.keys()
        assert seen["iteration"] == kept["iteration"]
        assert seen.get("kernel") == kept.get("kernel")
        assert seen["objective"] == pytest.approx(kept["objective"], abs=1e-5)


@each_learner
def test_stop_iteration_ends_the_path(learner):
    X, y = problem()
    whole = clone(learner).fit(X, y)
    assert len(whole.history_) > 1
    stopped = clone(learner).set_params(callback=Records(stop_after=1)).fit(X, y)
    assert len(stopped.history_) == 1
    assert stopped.history_[0].get("kernel") == whole.history_[0].get("kernel")
    assert np.isfinite(stopped.kernel_(X)).all()
    assert len(stopped.kernel_.kernels) >= 1


@pytest.mark.parametrize(
    "learner", [ContinuousAlignment(), ContinuousRisk(corrective=True)], ids=["two", "one"]
)
def test_the_folds_of_an_estimator_are_not_watched(learner):
    """Two stages and one: the user's own object is called, and for one fit only."""
    X, y = problem()
    records = Records()
    learner = clone(learner).set_params(callback=records)
    model = KernelClassifier(learner, C=[0.1, 1.0]).fit(X, y)
    assert [r["iteration"] for r in records] == [r["iteration"] for r in model.history_]


def test_clones_share_the_callback():
    records = Records()
    learner = ContinuousAlignment(callback=records)
    assert clone(learner).callback is records
    assert clone(KernelClassifier(learner)).learner.callback is records
    assert clone(learner.fit(*problem())).callback is records
    assert not hasattr(clone(learner), "kernel_")
    nested = clone(Reweighted(learner))
    assert nested.dictionary.callback is records


def module_level(record):
    """Functions of a module can be pickled, as anywhere."""


def test_pickling():
    learner = ContinuousAlignment(callback=module_level).fit(*problem())
    assert pickle.loads(pickle.dumps(learner)).callback is module_level


def test_errors_of_a_callback_come_through():
    def broken(record):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        ContinuousAlignment(callback=broken).fit(*problem())


@pytest.mark.parametrize("learner", [ContinuousAlignment, ContinuousRisk])
def test_what_is_no_function_is_refused(learner):
    with pytest.raises(ValueError, match=f"'callback' parameter of {learner.__name__} .* Got 5"):
        learner(callback=5).fit(*problem())


def test_log_at_info_and_debug(caplog):
    X, y = problem()
    with caplog.at_level(logging.INFO, logger="kernalign"):
        model = KernelClassifier(C=1.0).fit(X, y)
    said = [record.getMessage() for record in caplog.records]
    assert f"{len(model.kernel_.kernels)} kernels, alignment {model.alignment_:.4f}" in said[0]
    assert "KernelClassifier: C = 1 on 50 rows" in said
    assert {record.name for record in caplog.records} <= {
        "kernalign.learners",
        "kernalign.estimators",
    }
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="kernalign"):
        learner = ContinuousAlignment().fit(X, y)
    assert sum(r.levelno == logging.DEBUG for r in caplog.records) == len(learner.history_)


def test_silent_without_being_asked():
    code = (
        "from tests.learners.test_callbacks import problem\n"
        "from kernalign import KernelClassifier\n"
        "KernelClassifier(C=1.0).fit(*problem())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == done.stderr == b""
