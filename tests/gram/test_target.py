"""A target knows whether it stands for classes; labels are coded in one place."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from kernalign import ContinuousRisk, Gaussian, KernelRegressor, LpNormMKL, RidgeMKL
from kernalign.gram import Target
from kernalign.gram.labels import class_target, infer_target, response_target, signs
from tests import reference


def test_two_classes_are_signs_and_more_are_columns_of_them():
    weight = np.ones(4)
    two, three = class_target([0, 1, 1, 0], 2, weight), class_target([0, 2, 1, 0], 3, weight)
    np.testing.assert_array_equal(two.signs, [[-1], [1], [1], [-1]])
    np.testing.assert_array_equal(three.signs, [[1, -1, -1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]])
    np.testing.assert_array_equal(three.signs, signs([0, 2, 1, 0], 3))
    np.testing.assert_array_equal(two.signs[:, 0], signs([0, 1, 1, 0], 2))


@pytest.mark.parametrize("codes", [[0, 1, 1, 0, 1], [0, 2, 1, 0, 1]])
def test_the_norm_is_that_of_the_centred_target_kernel(codes):
    times = np.array([1, 2, 1, 3, 1])
    target = class_target(codes, max(codes) + 1, times.astype(float))
    T = reference.centre(np.repeat(target.values, times, 0) @ np.repeat(target.values, times, 0).T)
    assert target.norm == pytest.approx(np.linalg.norm(T), rel=1e-12)
    assert np.trace(target.covariance) == pytest.approx(np.trace(T), rel=1e-12)


def test_a_response_of_signs_is_centred_and_classes_are_not():
    values, weight = np.array([[-1.0], [1.0], [1.0], [1.0]]), np.ones(4)
    Y, constant = Target(values, weight).response()
    np.testing.assert_allclose(Y, values - 0.5)
    np.testing.assert_allclose(constant, [0.5])
    Y, constant = Target(values, weight, classes=True).response()
    np.testing.assert_array_equal(Y, values)
    np.testing.assert_array_equal(constant, [0])


def test_the_kind_survives_a_choice_of_rows_and_new_weights():
    target = class_target([0, 1, 1, 0], 2, np.full(4, 0.1))
    assert target.rows([0, 1]).classes
    assert target.counted().classes
    assert not response_target([0.0, 1.0], np.ones(2)).classes


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["a", "b", "a"], True),
        ([True, False, True], True),
        ([3, 7, 3], True),
        ([0.0, 1.0, 2.0], True),
        ([0.5, 1.0, 2.0], False),
        ([[0.5, 1], [1, 2], [2, 0.1]], False),
    ],
)
def test_the_rule_for_labels_of_unknown_kind(y, classes):
    assert infer_target(y, np.ones(3)).classes is classes


@pytest.mark.parametrize("kind", [int, float])
def test_whole_numbers_of_many_values_are_a_response(kind):
    few, many = np.arange(100) % 20, np.arange(100) % 21
    assert infer_target(few.astype(kind), np.ones(100)).classes
    assert not infer_target(many.astype(kind), np.ones(100)).classes
    assert infer_target(many.astype(str), np.ones(100)).classes


@pytest.mark.parametrize("odd", ["c", "zzz"])
def test_rows_of_weight_zero_do_not_make_classes(odd):
    y, weight = np.array(["b", "a", "b", odd]), np.array([1.0, 1, 1, 0])
    np.testing.assert_array_equal(
        infer_target(y, weight).values[:3], infer_target(y[:3], weight[:3]).values
    )


def test_rows_of_weight_zero_have_no_say_in_the_kind_and_the_scale():
    whole = infer_target(np.array([0, 1, 1, 0.5]), np.array([1.0, 1, 1, 0]))
    assert whole.classes
    y, weight = np.array([0.1, 0.7, 0.3, 1e6]), np.array([1.0, 1, 1, 0])
    np.testing.assert_array_equal(
        infer_target(y, weight).values[:3], infer_target(y[:3], weight[:3]).values
    )


@pytest.mark.parametrize("extra", [5, 0])
def test_rows_of_weight_zero_do_not_change_what_risk_learns(extra):
    X, y = load_iris(return_X_y=True)
    X, y = X[:100:2], y[:100:2]
    own = ContinuousRisk(corrective=True).fit(X, y)
    weight = np.r_[np.ones(50), np.zeros(3)]
    more = ContinuousRisk(corrective=True).fit(
        np.vstack([X, 100 + X[:3]]), np.r_[y, np.full(3, extra)], sample_weight=weight
    )
    assert more.kernel_ == own.kernel_
    np.testing.assert_array_equal(more.machine_.coefficients, own.machine_.coefficients)


@pytest.mark.parametrize("ones", [10, 5])
def test_a_regressor_never_takes_its_response_for_classes(ones):
    """A balanced response of zeros and ones is -1 and +1 once it is standardised."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = np.r_[np.ones(ones), np.zeros(20 - ones)]
    kernels = [Gaussian().at(s) for s in (0.5, 1.0)]
    with pytest.raises(ValueError, match="needs classes"):
        KernelRegressor(LpNormMKL(kernels), C=1.0).fit(X, y)
    fitted = KernelRegressor(RidgeMKL(kernels), C=1.0).fit(X, y)
    assert np.isfinite(fitted.predict(X)).all()
