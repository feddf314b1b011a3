"""Labels, weights and outputs of all rows stay on the cluster: its client gets sums and samples."""

import pickle

import dask
import dask.array as da
import pytest

from kernalign import ContinuousAlignment, KernelClassifier, KernelRegressor, KernelSearch, Sampled
from kernalign.estimators import base, landmark_solutions, landmarked, linear
from kernalign.features import landmarks
from kernalign.gram import sampling
from kernalign.learners import kernel_search

pytestmark = [
    pytest.mark.xdist_group("cluster"),
    pytest.mark.usefixtures("cluster", "many_rows"),
    pytest.mark.filterwarnings("default::ResourceWarning"),
    pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"),
]

SMALL = 2000


@pytest.fixture
def many_rows(monkeypatch):
    """A few thousand rows are many."""
    monkeypatch.setattr(base, "can_load", lambda *_: False)
    monkeypatch.setattr(base, "SOLVED_ROWS", 200)
    monkeypatch.setattr(landmarked, "TUNED_ROWS", 150)
    monkeypatch.setattr(landmarked, "MAX_HELD_OUT", 100)
    monkeypatch.setattr(kernel_search, "MANY_ROWS", 200)
    monkeypatch.setattr(kernel_search, "MOST_MANY", 300)
    monkeypatch.setattr(linear, "MAX_HELD_OUT", 100)
    monkeypatch.setattr(kernel_search, "MOST_ROWS", 300)
    monkeypatch.setattr(landmarks, "MIN_CANDIDATES", 200)
    monkeypatch.setattr(sampling, "STRATIFIED_ROWS", 500)
    monkeypatch.setattr(landmark_solutions, "KEPT_BYTES", 4 * 40 * 400)


@pytest.fixture
def gathered(monkeypatch):
    """The sizes in bytes of all results that the client gets."""
    sizes = []
    compute = dask.compute

    def counted(*parts):
        found = compute(*parts)
        sizes.append(len(pickle.dumps(found)))
        return found

    monkeypatch.setattr(dask, "compute", counted)
    return sizes


def problem(make, n):
    """Rows and labels that are made on the workers."""
    rng = da.random.default_rng(0)
    chunk = n // 8
    X = rng.standard_normal((n, 3), chunks=(chunk, 3))
    y = X[:, 0] * X[:, 1] + 0.2 * rng.standard_normal(n, chunks=chunk)
    weight = 1.0 + (X[:, 2] > 0)
    return X, (y > 0).astype(int) if make is KernelClassifier else y, weight


DEFAULT = {"learner": KernelSearch(effort="quick"), "n_components": 40}
FEATURES = {
    "learner": Sampled(ContinuousAlignment(max_iter=2), tol=1.0, min_rows=100, max_rows=100),
    "solver": "nystroem",
    "n_components": 40,
}


@pytest.mark.parametrize("options", [DEFAULT, FEATURES], ids=["default", "features"])
@pytest.mark.parametrize("make", [KernelClassifier, KernelRegressor], ids=lambda m: m.__name__)
def test_what_the_client_gets_does_not_grow_with_the_rows(make, options, gathered):
    totals, largest = [], []
    for n in (SMALL, 4 * SMALL):
        gathered.clear()
        X, y, weight = problem(make, n)
        make(**options).fit(X, y, sample_weight=weight)
        totals.append(sum(gathered))
        largest.append(max(gathered))
    # The number of steps of a solver, each of which gathers a sum, depends on the data. Labels of
    # the further rows alone would be 48 kB, in one piece.
    assert largest[1] <= 1.1 * largest[0]
    assert totals[1] <= 1.5 * totals[0]


def test_one_bandwidth_from_all_pairs_gathers_sums_only(gathered):
    """The labels of a learner by itself are gathered once, to see whether they are classes."""
    totals = []
    for n in (SMALL, 4 * SMALL):
        gathered.clear()
        X, y, _ = problem(KernelClassifier, n)
        ContinuousAlignment(max_iter=2).fit(X, y)
        totals.append(sum(gathered) - 8 * n)
    assert totals[1] <= 1.1 * totals[0]
