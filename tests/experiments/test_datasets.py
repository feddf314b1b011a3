"""Loaders check what they load and say what is missing; generators and recipes."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from experiments import datasets, generators, openml, problems

DATA = os.environ.get("KERNALIGN_DATA")
needs_data = pytest.mark.skipif(
    not DATA, reason="the paper's data are not part of the project: KERNALIGN_DATA names them"
)


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """No data directory, an empty cache, no network."""

    def unreachable(name, data_home):
        raise OSError("no route to host")

    monkeypatch.delenv("KERNALIGN_DATA", raising=False)
    monkeypatch.setenv("KERNALIGN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(openml, "fetch", unreachable)
    datasets._load.cache_clear()
    yield tmp_path
    datasets._load.cache_clear()


@needs_data
@pytest.mark.parametrize("name", datasets.SOURCES)
def test_data_set_has_the_papers_shape(name):
    X, y = datasets.load(name)
    source = datasets.SOURCES[name]
    assert X.shape == (source.n_rows, source.n_features)
    assert len(y) == len(X)


@needs_data
def test_damaged_file_is_named(empty, monkeypatch):
    shutil.copy(Path(DATA) / "heart.csv.gz", empty / "heart.csv.gz")
    with (empty / "heart.csv.gz").open("ab") as file:
        file.write(b"x")
    monkeypatch.setenv("KERNALIGN_DATA", str(empty))
    with pytest.raises(datasets.WrongDataError, match=r"heart\.csv\.gz has SHA-256"):
        datasets.load("heart")


def test_missing_data_set_says_where_it_was_looked_for(empty):
    with pytest.raises(datasets.MissingDataError) as error:
        datasets.load("banana")
    message = str(error.value)
    for part in ("'banana'", "KERNALIGN_DATA is not set", "cache", "OpenML", "banana.csv.gz"):
        assert part in message


@pytest.mark.parametrize("name", ["ringnorm", "waveform"])
def test_generated_sets_need_no_source(empty, name):
    X, y = datasets.load(name)
    source = datasets.SOURCES[name]
    assert X.shape == (source.n_rows, source.n_features)
    assert set(y) == {"-1", "1"}


@needs_data
@pytest.mark.parametrize("name", ["ringnorm", "waveform"])
def test_generators_draw_from_the_distribution_of_the_files(name):
    X, labels = datasets.load(name)
    Z, y = datasets.SOURCES[name].generator(len(X), np.random.default_rng(0))
    for sign in (-1, 1):
        ours, theirs = Z[y == sign], X[labels == str(sign)]
        np.testing.assert_allclose(ours.mean(axis=0), theirs.mean(axis=0), atol=0.1)
        np.testing.assert_allclose(ours.std(axis=0), theirs.std(axis=0), atol=0.1)


def test_cache_is_used_and_checked(empty):
    source = datasets.SOURCES["thyroid"]
    X = np.random.default_rng(0).standard_normal((source.n_rows, source.n_features))
    y = np.repeat(list(source.counts), list(source.counts.values()))
    (empty / "cache").mkdir()
    np.savez(empty / "cache" / "thyroid.npz", X=X, y=y)
    np.testing.assert_array_equal(datasets.load("thyroid")[0], X)
    datasets._load.cache_clear()
    np.savez(empty / "cache" / "thyroid.npz", X=X[:-1], y=y[:-1])
    with pytest.raises(datasets.WrongDataError, match=r"must have shape \(215, 5\)"):
        datasets.load("thyroid")


def test_splice_recipe_codes_letters_and_drops_others():
    pd = pytest.importorskip("pandas")
    letters = pd.DataFrame([list("AGCT" * 15), list("AGCN" * 15), list("TTTT" * 15)] * 2)
    X, y = openml.splice(letters, pd.Series(["EI", "IE", "N"] * 2))
    assert X.shape == (2, 60)
    assert X[0, :4].tolist() == [1, 2, 3, 4]
    assert y.tolist() == ["1", "-1"]


def test_breast_cancer_recipe_orders_categories():
    pd = pytest.importorskip("pandas")
    first = ["30-39", "premeno", "30-34", "0-2", "no", "3", "left", "left_low", "no"]
    other = ["50-59", "ge40", "5-9", "3-5", "yes", "1", "right", "central", "yes"]
    lost = [*first[:4], "?", *first[5:]]
    X, y = openml.breast_cancer(
        pd.DataFrame([first, other, lost]),
        pd.Series(["no-recurrence-events", "recurrence-events", "recurrence-events"]),
    )
    assert X.shape == (2, 9)
    ages = dict(zip(y, X[:, 0], strict=True))
    assert ages["-1"] < ages["1"]


# -- problems -------------------------------------------------------------------------------------


def test_balanced_training_labels_of_gaussians50():
    problem = problems.gaussians50(3, gamma=2)
    assert problem.train[1].sum() == 0
    assert [len(y) for _, y in (problem.train, problem.valid, problem.test)] == [50, 1000, 1000]
    drawn = [problems.gaussians50(r, gamma=2, labels="drawn").train[1].sum() for r in range(5)]
    assert any(drawn)


def test_smaller_validation_part_leaves_the_others_alone():
    one, other = problems.gaussians50(0, gamma=5), problems.gaussians50(0, 5, (50, 200, 1000))
    np.testing.assert_array_equal(one.train[0], other.train[0])
    np.testing.assert_array_equal(one.test[0], other.test[0])


def test_class_means_of_gaussians50_have_length_rho():
    X, y = generators.gaussians50(40000, 10, np.random.default_rng(0))
    assert np.linalg.norm((X * y[:, None]).mean(axis=0)) == pytest.approx(1.75, abs=0.02)


@needs_data
def test_real_problems_have_the_papers_sizes():
    for name, sizes in problems.ELEVEN.items():
        problem = problems.eleven(0, name)
        parts = (problem.train, problem.valid, problem.test)
        assert tuple(len(y) for _, y in parts) == sizes
        assert all(set(y) == {-1, 1} for _, y in parts)
    hk = problems.letter(0, "H-K")
    assert (len(hk.train[1]), len(hk.valid[1]), len(hk.test[1])) == (300, 200, 973)
    digits = problems.mnist(1, "odd-even")
    assert digits.train[0].shape == (500, 784)
    assert digits.train[0].max() == 255


@needs_data
def test_repeats_differ_and_parts_share_no_row():
    first, second = problems.eleven(0, "banana"), problems.eleven(1, "banana")
    assert not np.array_equal(first.train[1], second.train[1])
    again = problems.eleven(0, "banana")
    np.testing.assert_array_equal(first.train[0], again.train[0])
