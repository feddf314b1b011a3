"""What an estimator says of its own error: the mean, its interval, and when it is silent."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import t as student
from sklearn.kernel_ridge import KernelRidge

from kernalign import Gaussian, KernelClassifier, KernelRegressor, UniformWeights
from kernalign.estimators.error import INTERVAL_FACTOR, RowErrors, of_numbers, of_shares

QUICK = UniformWeights(Gaussian().grid(0.5, 2.0, 2))


def rows(values, shares=False, unit=None, weight=None):
    n = len(values)
    unit = np.arange(n) if unit is None else unit
    weight = np.ones(n) if weight is None else weight
    return RowErrors(np.asarray(values, dtype=float), weight, unit, shares)


def test_mean_and_standard_error_are_those_of_the_rows():
    values = np.random.default_rng(0).exponential(size=50)
    found = rows(values).estimate(4.0)
    assert found.mean == pytest.approx(4 * values.mean())
    assert found.deviation == pytest.approx(4 * values.std(ddof=1) / np.sqrt(50))
    low, high = found.interval
    # Symmetric in the logarithm.
    assert low * high == pytest.approx(found.mean**2)
    assert low < found.mean < high


def test_rows_of_a_group_count_as_one():
    values = np.random.default_rng(1).exponential(size=30)
    once = rows(values).estimate()
    often = rows(np.repeat(values, 4), unit=np.repeat(np.arange(30), 4)).estimate()
    assert once.mean == pytest.approx(often.mean)
    assert once.deviation == pytest.approx(often.deviation)
    assert once.interval == pytest.approx(often.interval)


def test_the_interval_of_a_share_is_wilsons():
    """Its ends are the shares p whose own standard error puts the mean q deviations away."""
    for wrong in (0, 3, 20, 39):
        found = rows(np.arange(40) < wrong, shares=True).estimate()
        q = INTERVAL_FACTOR * student.ppf(0.975, 39)
        m = wrong / 40
        n = 39 if 0 < wrong < 40 else 40
        low, high = found.interval

        def away(p, m=m, q=q, n=n):
            return (m - p) ** 2 - q**2 * p * (1 - p) / n

        assert high == pytest.approx(brentq(away, m + 1e-12, 1.0))
        assert low == pytest.approx(brentq(away, 0.0, m - 1e-12) if wrong else 0.0)
    assert of_shares(0.0, 0.0, 40)[1] > 0.05
    assert of_numbers(0.0, 0.0, 40) == (0.0, 0.0)


def test_too_few_rows_have_no_interval():
    found = rows(np.ones(5)).estimate()
    assert found.mean == 1.0
    assert np.isnan(found.interval).all()
    assert "fewer than 10 rows" in found.unknown


def test_errors_beyond_all_numbers_are_unknown():
    """Equal errors have a deviation of 0, which times infinity was not a number."""
    for values, scale in [([1e200, 1e200], 1e200), ([np.inf, 1.0], 1.0)]:
        found = rows(values).estimate(scale)
        assert found.mean == found.deviation == np.inf
        assert np.isnan(found.interval).all()
        assert found.unknown == "squared errors overflow"


@pytest.mark.parametrize("learner", [None, QUICK])
def test_without_nesting_nothing_is_said_and_the_reason_is(learner):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    silent = KernelRegressor(learner, C=1.0, nested=False).fit(X, y)
    assert np.isnan([silent.cv_error_, silent.cv_error_std_, *silent.cv_error_interval_]).all()
    assert "nested=False" in silent.cv_error_unknown_
    other = KernelClassifier(learner, C=1.0).fit(X, y > 0)
    assert other.cv_error_unknown_ == ""
    low, high = other.cv_error_interval_
    assert 0 <= low <= other.cv_error_ <= high <= 1


def test_the_best_of_many_candidates_on_noise_is_chance():
    """Two folds, thirty kernels: the choice of one fold is the luck of the other as well."""
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 12)), rng.permutation(np.arange(60) % 2)
        pairs = [rng.choice(12, 2, replace=False).tolist() for _ in range(30)]
        learners = [UniformWeights([Gaussian(columns=p).at(1.0)]) for p in pairs]
        ridge = KernelRidge(kernel="precomputed")
        found.append(KernelClassifier(learners, ridge, C=1.0, cv=2).fit(X, y).cv_error_)
    # 300 rows, judged once each: a standard error of 2.9 points.
    assert abs(np.mean(found) - 0.5) < 3 * 0.5 / np.sqrt(300)
