"""Kernels learned by evidence and by leave-one-out loss."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from kernalign import (
    AlignmentWarning,
    AnyOf,
    ContinuousEvidence,
    Gaussian,
    GaussianMetric,
    Linear,
    Matern,
)
from kernalign.criteria.evidence import Evidence, LeaveOneOut
from kernalign.gram import Target
from kernalign.solvers.descent import Descent, Point

FAMILIES = [
    Gaussian(),
    Gaussian(ard=True),
    Matern(ard=True),
    GaussianMetric(2),
    AnyOf(Gaussian(ard=True), Linear()),
]


def rows(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("criterion", [Evidence, LeaveOneOut])
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_slope_in_all_parameters(family, criterion):
    X, y = rows(25)
    families = family.resolve(X).members()
    rng = np.random.default_rng(0)
    spaces = [f.search_space(f.select(X), rng) for f in families]
    descent = Descent(
        criterion(Target(y[:, None], np.ones(len(y)))),
        families,
        spaces,
        [f.select(X) for f in families],
        prior=0.7,
    )
    start = Point([s.scan[len(s.scan) // 2] for s in spaces], np.zeros(len(spaces)), np.log(0.2))
    x = descent._join(start) + 0.1 * rng.normal(size=descent._join(start).size)
    _, slope = descent._value_and_slope(x)
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = 1e-6
        up, down = (descent._value_and_slope(x + s * step)[0] for s in (1, -1))
        assert slope[k] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-8)


def test_one_bandwidth_finds_the_maximum_of_the_evidence():
    X, y = rows()
    learner = ContinuousEvidence(Gaussian()).fit(X, y)
    kernel = ConstantKernel(1.0, (1e-4, 1e4)) * RBF(1.0, (1e-2, 1e2)) + WhiteKernel(0.1)
    process = GaussianProcessRegressor(kernel, alpha=0, n_restarts_optimizer=4, random_state=0).fit(
        X, y - y.mean()
    )
    scale, noise = process.kernel_.k1.k1.constant_value, process.kernel_.k2.noise_level
    sigma = np.sqrt(2) * process.kernel_.k1.k2.length_scale
    assert learner.kernel_.kernels[0].sigma[0] == pytest.approx(sigma, rel=0.02)
    assert learner.noise_ == pytest.approx(noise / scale, rel=0.05)


def test_features_without_a_say_are_switched_off():
    X, y = rows(120)
    sigma = ContinuousEvidence().fit(X, y).kernel_.kernels[0].sigma
    assert sigma[0] < 3
    assert np.isinf(sigma[1:]).all()


def test_leave_one_out_sees_which_feature_matters():
    X, y = rows(120)
    sigma = ContinuousEvidence(criterion="loo").fit(X, y).kernel_.kernels[0].sigma
    assert (sigma[0] ** 2 < sigma[1:] ** 2 / 5).all()


def test_an_infinite_prior_ties_the_bandwidths():
    X, y = rows()
    tied = ContinuousEvidence(prior=np.inf).fit(X, y)
    one = ContinuousEvidence(Gaussian()).fit(X, y)
    assert tied.kernel_.kernels[0].sigma == pytest.approx(one.kernel_.kernels[0].sigma)


def test_a_stronger_prior_makes_relevances_more_alike():
    X, y = rows(40)
    shares = []
    for prior in (np.inf, 10.0, 3.0, 1.0):
        learner = ContinuousEvidence(Gaussian(ard=True), prior=prior).fit(X, y)
        relevance = 1 / np.broadcast_to(learner.kernel_.kernels[0].sigma, 4) ** 2
        shares.append(relevance[0] / relevance.sum())
    assert shares[0] == pytest.approx(0.25)
    assert (np.diff(shares) > 0).all()


def test_no_feature_of_two_is_locked_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 12))
    y = np.sign(X[:, 3] * X[:, 7])  # neither shows without the other
    learner = ContinuousEvidence(prior=0.3).fit(X, y)
    relevance = 1 / learner.kernel_.kernels[0].sigma ** 2
    assert set(np.argsort(relevance)[-2:]) == {3, 7}


def test_evidence_never_rises_along_the_history():
    X, y = rows()
    values = [record["objective"] for record in ContinuousEvidence().fit(X, y).history_]
    assert len(values) > 5
    assert (np.diff(values[-5:]) <= 1e-12).all()


def test_rows_beyond_the_most_are_sampled_in_proportion():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] > 1.2).astype(int)
    learner = ContinuousEvidence(max_rows=100).fit(X, y)
    assert learner.kernel_.kernels[0].sigma[0] < learner.kernel_.kernels[0].sigma[1:].min()
    again = clone(learner).fit(X, y)
    np.testing.assert_array_equal(again.kernel_.weights, learner.kernel_.weights)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criterion": "alignment"}, "'criterion' parameter of ContinuousEvidence must be one of"),
        ({"prior": -1}, "'prior' parameter of ContinuousEvidence must be a number"),
        ({"max_rows": 0}, "'max_rows' parameter of ContinuousEvidence must be an int"),
        ({"family": "rbf"}, "'family' parameter of ContinuousEvidence must be a kernel family"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = rows(20)
    with pytest.raises(ValueError, match=message):
        ContinuousEvidence(**parameters).fit(X, y)


def test_integer_weights_are_repeated_rows():
    X, y = rows(40)
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = ContinuousEvidence().fit(X, y, sample_weight=weight)
    repeated = ContinuousEvidence().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.kernel_(X), repeated.kernel_(X), atol=1e-3)


@pytest.mark.parametrize("criterion", ["evidence", "loo"])
def test_equal_labels_are_told_and_give_a_kernel(criterion):
    X, _ = rows(20)
    with pytest.warns(AlignmentWarning, match="All labels are equal"):
        learner = ContinuousEvidence(criterion=criterion).fit(X, np.full(20, 1.5))
    assert np.isfinite(learner.kernel_(X)).all()
