"""On a real cluster of two worker processes: the same kernel, whatever happens to a worker."""

import os
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas
import pytest
from sklearn.model_selection import cross_val_score

import kernalign.rows.dask
from kernalign import (
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Laplacian,
    Matern,
    Sampled,
)
from kernalign.estimators import linear
from kernalign.rows.dask import DaskSource

# The xdist group keeps one cluster in one process; the loop of distributed warns of its own ends.
pytestmark = [
    pytest.mark.xdist_group("cluster"),
    pytest.mark.usefixtures("cluster", "rows_stay"),
    pytest.mark.filterwarnings("default::ResourceWarning"),
    pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning"),
]


def problem(n=900, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * [1.0, 2.0, 1.0, 3.0][:d]
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def unequal(X, *lengths):
    return da.concatenate([da.from_array(part) for part in np.split(X, np.cumsum(lengths))])


def same_kernel(one, two):
    assert len(one.kernels) == len(two.kernels)
    for a, b in zip(one.kernels, two.kernels, strict=True):
        np.testing.assert_allclose(a.sigma, b.sigma, rtol=1e-6)
    np.testing.assert_allclose(one.weights, two.weights, rtol=1e-6)


# --- the same kernel -----------------------------------------------------------------------------


@pytest.mark.parametrize("family", [Gaussian(), Laplacian(), Matern()], ids=repr)
def test_kernel_is_that_of_rows_in_memory(family):
    X, y = problem()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    chunks = da.from_array(X, chunks=(400, -1))
    learner = ContinuousAlignment(family, max_iter=4)
    far = learner.fit(chunks, da.from_array(y, chunks=300), sample_weight=weight)
    kernel, alignment = far.kernel_, far.alignment_
    near = learner.fit(X, y, sample_weight=weight)
    same_kernel(kernel, near.kernel_)
    assert alignment == pytest.approx(near.alignment_, rel=1e-8)


def test_chunks_of_unequal_and_unknown_length():
    X, y = problem()
    near = ContinuousAlignment().fit(X, y).kernel_
    same_kernel(ContinuousAlignment().fit(unequal(X, 10, 500, 1), y).kernel_, near)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["y"] = y
    # A filter leaves lengths unknown, and one partition empty.
    frame = pandas.concat([frame, frame.assign(a=100.0)])
    parts = dd.from_pandas(frame, npartitions=4, sort=False)
    parts = parts[parts["a"] < 50]
    learner = ContinuousAlignment().fit(parts[list("abcd")], parts["y"])
    same_kernel(learner.kernel_, near)
    assert list(learner.feature_names_in_) == list("abcd")


@pytest.mark.parametrize("waiting", [1, 1 << 28], ids=["one by one", "together"])
def test_shares_add_up_however_many_wait(waiting, monkeypatch):
    X, y = problem(1500)
    near = ContinuousAlignment().fit(X, y).kernel_
    monkeypatch.setattr(kernalign.rows.dask, "MIN_BLOCK_ROWS", 100)
    monkeypatch.setattr(kernalign.rows.dask, "MAX_BLOCK_ROWS", 120)
    monkeypatch.setattr(kernalign.rows.dask, "MAX_WAITING_BYTES", waiting)
    same_kernel(ContinuousAlignment().fit(unequal(X, 700, 90), y).kernel_, near)


def test_without_a_cluster_threads_of_this_process_do_it():
    X, y = problem()
    with dask.config.set(scheduler="threads"):
        far = ContinuousAlignment().fit(da.from_array(X, chunks=(400, -1)), y).kernel_
    same_kernel(far, ContinuousAlignment().fit(X, y).kernel_)


def test_a_sample_is_gathered_for_other_families():
    X, y = problem()
    learner = Sampled(ContinuousAlignment(Gaussian(ard=True), max_iter=2), tol=0.5, min_rows=100)
    far = learner.fit(unequal(X, 300, 200), y).kernel_
    same_kernel(far, learner.fit(X, y).kernel_)


# --- estimators ----------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_classifier_is_that_of_rows_in_memory(classes, monkeypatch):
    """By least squares; test_same_fit.py has the squared hinge."""
    monkeypatch.setattr(linear, "features_fit", lambda *_: False)
    X, y = problem(700)
    if classes == 3:
        y = y + (X[:, 2] > 1)
    names = np.array(["no", "yes", "perhaps"])[y]
    # One split held out, as chunks have it.
    options = {"learner": Sampled(tol=0.5, min_rows=100), "n_components": 60, "C": [0.1, 1.0, 10.0]}
    options["solver"] = "nystroem"
    chunks = unequal(X, 300, 250)
    model = KernelClassifier(**options).fit(chunks, names)
    assert model.solver_ == "nystroem"
    decision = model.decision_function(chunks)
    assert isinstance(decision, da.Array)
    np.testing.assert_allclose(decision.compute(), model.decision_function(X), atol=1e-8)
    found = model.predict(chunks).compute()
    np.testing.assert_array_equal(found, model.predict(X))
    p = model.predict_proba(chunks)
    assert p.chunks[0] == chunks.chunks[0]
    np.testing.assert_allclose(p.compute(), model.predict_proba(X), atol=1e-8)
    # The machine that the same landmarks give in memory.
    from kernalign.features import NystroemMap
    from kernalign.machines import normal_equations

    features = NystroemMap(model.kernel_, model.model_.rows)
    Y = 2 * np.eye(3)[y] - 1 if classes == 3 else (2.0 * (names == model.classes_[1]) - 1)[:, None]
    if classes == 3:
        Y = Y[:, [list(np.array(["no", "yes", "perhaps"])).index(c) for c in model.classes_]]
    sums = normal_equations(features, X, Y, np.ones(len(X)))
    near = sums.path(features.root, np.array([model.C_]))[0]
    found = model.model_.coefficients.reshape(near.coefficients.shape)
    np.testing.assert_allclose(found, near.coefficients, rtol=1e-5)


def test_regressor_on_a_data_frame():
    X, _ = problem(600)
    y = X[:, 0] * X[:, 1]
    frame = pandas.DataFrame(X, columns=list("abcd"))
    parts = dd.from_pandas(frame, npartitions=3)
    model = KernelRegressor(ContinuousAlignment(), n_components=80, solver="nystroem").fit(parts, y)
    found = model.predict(parts)
    np.testing.assert_allclose(found.compute(), model.predict(frame), atol=1e-8)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(parts.rename(columns={"a": "z"}))


# --- a worker dies, memory, bad input ------------------------------------------------------------


def test_worker_killed_during_fit_changes_nothing(cluster):
    X, y = problem(4000)
    near = ContinuousAlignment().fit(X, y)
    victims = []

    def kill():
        while not any(cluster.processing().values()):
            time.sleep(0.01)
        pid = next(iter(cluster.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        victims.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    far = ContinuousAlignment().fit(da.from_array(X, chunks=(700, -1)), y)
    assert victims, "the fit was over before a worker died"
    thread.join()
    same_kernel(far.kernel_, near.kernel_)
    cluster.wait_for_workers(2, timeout=60)


def _peak_mb():
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_memory_of_a_worker_is_bounded(cluster):
    """A Gram matrix of 8000 rows would be 490 MB, half of it 245 MB."""
    X, y = problem(8000)
    chunks = da.from_array(X, chunks=(2000, -1))
    ContinuousAlignment().fit(chunks[:500], y[:500])
    before = cluster.run(_peak_mb)
    ContinuousAlignment().fit(chunks, y)
    after = cluster.run(_peak_mb)
    assert max(after[w] - before[w] for w in before if w in after) < 150


def test_chunks_along_features_are_named():
    X, y = problem(50)
    chunks = da.from_array(X, chunks=(20, 2))
    with pytest.raises(ValueError, match=r"chunked along rows only. Got chunks along features: 2"):
        KernelClassifier().fit(chunks, y)
    with pytest.raises(ValueError, match=r"rechunk\(\{1: -1\}\)"):
        ContinuousAlignment().fit(chunks, y)


def test_bad_rows_and_parameters_are_named():
    X, y = problem(60)
    chunks = da.from_array(X, chunks=(30, -1))
    broken = X.copy()
    broken[40, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        ContinuousAlignment().fit(da.from_array(broken, chunks=(30, -1)), y)
    with pytest.raises(
        ValueError, match=r"X and y must have the same number of rows\. Got 60 and 59"
    ):
        ContinuousAlignment().fit(chunks, y[:59])
    with pytest.raises(ValueError, match="families with one parameter"):
        ContinuousAlignment(Gaussian(ard=True)).fit(chunks, y)
    model = KernelClassifier(ContinuousAlignment(), n_components=20, solver="nystroem")
    model.fit(chunks, y)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict(chunks[:, :3])


def test_rows_are_fetched_in_the_order_asked_for():
    X, _ = problem(100)
    rows, _ = DaskSource(unequal(X, 7, 60)).opened([])
    index = np.random.default_rng(0).permutation(100)[:30]
    np.testing.assert_array_equal(rows.take(index), X[index])
    used = X[:, 0] > 0
    np.testing.assert_array_equal(rows.subset(used).take(np.arange(used.sum())), X[used])


def test_cross_validation_through_joblib():
    from joblib import parallel_config

    X, y = problem(120)
    model = KernelClassifier(ContinuousAlignment(max_iter=2), C=1.0, cv=2)
    near = cross_val_score(model, X, y, cv=3)
    with parallel_config(backend="dask"):
        far = cross_val_score(model, X, y, cv=3, n_jobs=2)
    np.testing.assert_allclose(far, near)


def test_experiments_on_a_cluster(cluster, tmp_path):
    from experiments import results, runner
    from tests.experiments import toy

    path = tmp_path / "results.jsonl"
    address = cluster.scheduler.address
    summary = runner.run(
        [toy.experiment(works=toy.works, fails=toy.fails)], path, repeats=1, dask=address
    )
    rows = results.read(path)
    assert summary.run == len(rows) == 4
    assert {row["status"] for row in rows if row["method"] == "works"} == {"done"}
    assert {row["status"] for row in rows if row["method"] == "fails"} == {"failed"}
