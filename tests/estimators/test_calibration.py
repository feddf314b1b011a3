"""Temperature calibration: the slope of largest likelihood."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_softmax

from kernalign.machines.calibration import TemperatureCalibration


def log_likelihood(slope, scores, codes, weight):
    """Of all rows, and of two more: one wrong and one right by the usual margin."""
    log_p = log_softmax(slope * scores, axis=1)
    right = scores[np.arange(len(codes)), codes]
    others = np.where(np.eye(scores.shape[1])[codes] == 1, -np.inf, scores).max(axis=1)
    usual = weight @ np.abs(right - others) / weight.sum()
    more = np.full((2, scores.shape[1]), -usual)
    more[:, 0] = 0.0
    more[0, 1] = usual
    return (
        float(weight @ log_p[np.arange(len(codes)), codes])
        + log_softmax(slope * more, axis=1)[:, 0].sum()
    )


def noisy_scores(seed, n=80, classes=3):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, n)
    return np.eye(classes)[codes] + rng.standard_normal((n, classes)), codes


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(seed=st.integers(0, 500), size=st.floats(1e-3, 1e3), classes=st.integers(3, 5))
def test_no_other_slope_is_more_likely(seed, size, classes):
    scores, codes = noisy_scores(seed, classes=classes)
    scores = size * scores
    weight = np.random.default_rng(seed).uniform(0.5, 2, len(codes))
    slope = TemperatureCalibration().fit(scores, codes, weight).slope_
    best = log_likelihood(slope, scores, codes, weight)
    # Within the range that is searched: e^-7 .. e^7 over the largest score.
    around = np.exp(np.linspace(-7, 7, 200)) / np.abs(scores).max()
    assert best >= max(log_likelihood(s, scores, codes, weight) for s in around) - 1e-6


def test_two_classes_are_a_sigmoid_through_the_origin():
    rng = np.random.default_rng(0)
    decision = rng.standard_normal(200)
    codes = (rng.random(200) < expit(2.5 * decision)).astype(int)
    calibration = TemperatureCalibration().fit(decision, codes, np.ones(200))
    P = calibration.probabilities(decision)
    np.testing.assert_allclose(P[:, 1], expit(calibration.slope_ * decision), atol=1e-12)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    assert calibration.slope_ == pytest.approx(2.5, rel=0.3)


def test_the_slope_is_of_the_scores_and_not_of_their_unit():
    scores, codes = noisy_scores(1)
    one = TemperatureCalibration().fit(scores, codes, np.ones(80))
    thousand = TemperatureCalibration().fit(1000 * scores, codes, np.ones(80))
    assert thousand.slope_ == pytest.approx(one.slope_ / 1000, rel=1e-3)


def test_weights_count_as_repeated_rows():
    scores, codes = noisy_scores(2)
    weight = np.random.default_rng(0).integers(1, 4, 80)
    weighted = TemperatureCalibration().fit(scores, codes, weight.astype(float))
    rows = np.repeat(np.arange(80), weight)
    repeated = TemperatureCalibration().fit(scores[rows], codes[rows], np.ones(len(rows)))
    assert weighted.slope_ == pytest.approx(repeated.slope_, rel=1e-3)


def test_rows_that_were_never_held_out_do_not_count():
    scores, codes = noisy_scores(3)
    holes = scores.copy()
    holes[::3] = np.nan
    known = np.isfinite(holes).all(axis=1)
    some = TemperatureCalibration().fit(holes, codes, np.ones(80))
    rest = TemperatureCalibration().fit(scores[known], codes[known], np.ones(int(known.sum())))
    assert some.slope_ == rest.slope_


@pytest.mark.parametrize(
    "decision", [np.zeros(10), np.full(10, np.nan), np.r_[np.ones(5), -np.ones(5)]]
)
def test_degenerate_scores_give_finite_probabilities(decision):
    codes = np.r_[np.ones(5, int), np.zeros(5, int)]
    calibration = TemperatureCalibration().fit(decision, codes, np.ones(10))
    P = calibration.probabilities(np.array([-1e300, -1.0, 0.0, 1.0, 1e300]))
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_rows_that_are_all_right_leave_a_doubt():
    """As many as one wrong row and one right row more would."""
    for n in (10, 100, 1000):
        codes = np.arange(n) % 2
        calibration = TemperatureCalibration().fit(2.0 * codes - 1, codes, np.ones(n))
        surest = calibration.probabilities(np.ones(1)).max()
        assert surest == pytest.approx((n + 1) / (n + 2), rel=1e-4)


@pytest.mark.parametrize("unit", [1 / 80, 1e-4, 1e-9])
def test_weights_of_less_than_a_row_count_as_one(unit):
    scores, codes = noisy_scores(4)
    one = TemperatureCalibration().fit(scores, codes, np.ones(80))
    small = TemperatureCalibration().fit(scores, codes, np.full(80, unit))
    assert small.slope_ == pytest.approx(one.slope_, rel=1e-6)
