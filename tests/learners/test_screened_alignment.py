"""Relevances from the alignment of each feature by itself."""

import numpy as np
import pytest

from kernalign import (
    ContinuousAlignment,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    RationalQuadratic,
    ScreenedAlignment,
    centered_alignment,
)
from kernalign.gram import Target
from kernalign.gram.labels import class_target
from kernalign.learners.screened_alignment import Screen
from kernalign.rows.memory import SMALLEST_SPREAD


def rows(n=80, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(0.01, 100, d)
    return X, (X[:, 0] / 0.01 + X[:, d - 1] / 100 + 0.3 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_feature_counts_by_the_alignment_of_its_linear_kernel(n_classes):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(40, 5)), np.arange(40) % n_classes
    screen = Screen.of(X, class_target(codes, n_classes, np.ones(40)), 1.0)
    T = np.eye(n_classes)[codes] @ np.eye(n_classes)[codes].T
    naive = [centered_alignment(np.outer(x, x), T) for x in X.T]
    np.testing.assert_allclose(screen.alignment, naive, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("false_alarms", [1.0, 5.0])
def test_as_many_features_pass_by_chance_as_were_allowed(n_classes, false_alarms):
    rng = np.random.default_rng(0)
    passed = []
    for _ in range(200):
        X, codes = rng.normal(size=(100, 50)), rng.integers(n_classes, size=100)
        screen = Screen.of(X, class_target(codes, n_classes, np.ones(100)), false_alarms)
        passed.append((screen.alignment > screen.threshold).sum())
    assert np.mean(passed) == pytest.approx(false_alarms, abs=4 * np.std(passed) / 200**0.5)


def test_weights_count_as_rows():
    X, y = rows()
    weight = np.random.default_rng(1).integers(1, 4, len(X))
    whole = Screen.of(X, Target(2.0 * y[:, None] - 1, weight.astype(float)), 1.0)
    again = np.repeat(np.arange(len(X)), weight)
    repeated = Screen.of(X[again], Target(2.0 * y[again, None] - 1, np.ones(len(again))), 1.0)
    np.testing.assert_allclose(whole.alignment, repeated.alignment, rtol=1e-12)
    assert whole.threshold == pytest.approx(repeated.threshold, rel=1e-12)


@pytest.mark.parametrize("family", [Gaussian(ard=True), Laplacian(ard=True), Matern(ard=True)])
def test_the_kernel_is_one_bandwidth_on_scaled_features(family):
    X, y = rows()
    learner = ScreenedAlignment(family).fit(X, y)
    screen = Screen.of(X, class_target(y, 2, np.ones(len(X))), 1.0)
    scaled = X * np.sqrt(screen.relevances()) / screen.spread
    common = type(family)(**{**family.get_params(deep=False), "ard": False})
    other = ContinuousAlignment(common).fit(scaled, y)
    np.testing.assert_allclose(learner.kernel_(X), other.kernel_(scaled), atol=1e-9)
    assert learner.alignment_ == pytest.approx(other.alignment_, rel=1e-9)


def test_features_below_the_threshold_are_not_looked_at():
    X, y = rows()
    learner = ScreenedAlignment().fit(X, y)
    off = learner.feature_alignment_ <= learner.threshold_
    assert off.any()
    assert not off[[0, -1]].any()
    for kernel in learner.kernel_.kernels:
        assert (np.isinf(kernel.sigma) == off).all()


def test_units_of_features_do_not_matter():
    X, y = rows()
    units = np.geomspace(1e-3, 1e3, X.shape[1])
    one, other = (ScreenedAlignment().fit(data, y).kernel_ for data in (X, X * units))
    np.testing.assert_allclose(one(X), other(X * units), atol=1e-7)


@pytest.mark.filterwarnings("ignore:No kernel of the family")
def test_where_nothing_passes_all_are_alike():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 2
    learner = ScreenedAlignment(false_alarms=1e-6).fit(X, y)
    spread = X.std(axis=0)
    for kernel in learner.kernel_.kernels:
        np.testing.assert_allclose(kernel.sigma / spread, (kernel.sigma / spread)[0])


def test_constant_features_are_not_looked_at():
    X, y = rows()
    X[:, 3] = 1e6
    learner = ScreenedAlignment().fit(X, y)
    assert learner.feature_alignment_[3] == 0
    assert np.isinf(learner.kernel_.kernels[0].sigma[3])


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_very_large_and_small_units(unit):
    X, y = rows()
    one, other = (
        Screen.of(X, class_target(y, 2, np.ones(len(X))), 1.0),
        Screen.of(X * unit, class_target(y, 2, np.ones(len(X))), 1.0),
    )
    np.testing.assert_allclose(other.alignment, one.alignment, rtol=1e-9)
    np.testing.assert_allclose(other.spread, one.spread * unit, rtol=1e-9)


def test_bounds_are_refused():
    X, y = rows()
    with pytest.raises(ValueError, match=r"must have no bounds.*Got Gaussian"):
        ScreenedAlignment(Gaussian(ard=True, bounds=(1.0, 2.0))).fit(X, y)


def test_columns_of_a_family():
    X, y = rows()
    learner = ScreenedAlignment(Gaussian(ard=True, columns=[0, 3, 11])).fit(X, y)
    alone = ScreenedAlignment().fit(X[:, [0, 3, 11]], y)
    np.testing.assert_allclose(learner.kernel_(X), alone.kernel_(X[:, [0, 3, 11]]), atol=1e-9)


@pytest.mark.parametrize("family", [Gaussian(), RationalQuadratic(ard=True), Linear(), "gaussian"])
def test_a_family_without_a_bandwidth_per_feature_is_refused(family):
    X, y = rows()
    with pytest.raises(ValueError, match=r"must be a family with one bandwidth per feature.*Got"):
        ScreenedAlignment(family).fit(X, y)


@pytest.mark.parametrize("value", [0, -1, "few", None])
def test_bad_false_alarms(value):
    X, y = rows()
    with pytest.raises(ValueError, match="The 'false_alarms' parameter of ScreenedAlignment must"):
        ScreenedAlignment(false_alarms=value).fit(X, y)


def test_the_history_holds_kernels_on_the_features_as_they_are():
    """On features of very different spreads: kernels on rescaled features would all but vanish."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) * [1e-3, 1.0, 1e3, 1.0]
    y = X[:, 0] * 1e3 + X[:, 2] * 1e-3 > 0
    learner = ScreenedAlignment().fit(X, y)
    total = sum(
        weight * record["kernel"](X)
        for weight, record in zip(learner.history_[-1]["weights"], learner.history_, strict=True)
    )
    found = centered_alignment(total, np.outer(2 * y - 1.0, 2 * y - 1.0))
    assert found == pytest.approx(learner.objective_, abs=1e-5)


def test_denormal_numbers():
    X, y = rows()
    found = Screen.of(X * 1e-310, class_target(y, 2, np.ones(len(X))), 1.0)
    np.testing.assert_array_equal(found.spread, SMALLEST_SPREAD)
