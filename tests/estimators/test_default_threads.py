"""The default fit is the same with one thread and with several."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from threadpoolctl import threadpool_limits

from kernalign import KernelClassifier, KernelRegressor
from kernalign._threads import thread_count
from kernalign.estimators import searched


def classes(n):
    return make_classification(n, 8, n_informative=4, random_state=0)


def numbers(n):
    return make_friedman1(n, 6, noise=0.3, random_state=0)


# Enough rows for last steps on a larger sample.
@pytest.mark.parametrize(
    ("kind", "rows"), [(KernelClassifier, classes(700)), (KernelRegressor, numbers(620))]
)
def test_one_and_two_threads_agree_bit_for_bit(kind, rows):
    fitted = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            assert thread_count() == threads, "otherwise the test proves nothing"
            fitted.append(kind().fit(*rows))
            assert thread_count() == threads
    one, two = fitted
    assert one.C_ == two.C_
    assert one.cv_error_ == two.cv_error_
    assert str(one.kernel_) == str(two.kernel_)
    np.testing.assert_array_equal(one.held_out_.outputs, two.held_out_.outputs)
    np.testing.assert_array_equal(one.stability_.alignment, two.stability_.alignment)
    with threadpool_limits(1, user_api="blas"):
        np.testing.assert_array_equal(*(model.predict(rows[0]) for model in fitted))


def test_blas_has_one_thread_after_the_folds_too(monkeypatch):
    """Threads of BLAS that wait for small products take the processor from those of the fit."""
    seen = []

    def noting(own):
        def noted(*given):
            seen.append(thread_count())
            return own(*given)

        return noted

    for name in ("better_search", "stability"):
        monkeypatch.setattr(searched, name, noting(getattr(searched, name)))
    with threadpool_limits(2, user_api="blas"):
        KernelClassifier().fit(*classes(450))
        assert thread_count() == 2
    assert set(seen) == {1}
    assert len(seen) > 1
