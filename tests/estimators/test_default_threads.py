"""The default fit is the same with one thread and with several."""

from threading import Event

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from threadpoolctl import threadpool_limits

from kernalign import KernelClassifier, KernelRegressor, KernelSearch
from kernalign._threads import thread_count
from kernalign.estimators import searched
from kernalign.learners import kernel_search
from kernalign.machines import tuned_ridge


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


def test_folds_are_searched_beside_the_last_steps(monkeypatch):
    """Each of the last steps needs the one before, so that they leave threads idle."""
    order, begun, last_steps, learn = [], Event(), kernel_search.learn, KernelSearch.learn

    def waiting(*given):
        order.append("last steps")
        assert begun.wait(10)
        return last_steps(*given)

    def noted(self, *given):
        order.append(self.effort)
        if self.effort == "quick":
            begun.set()
        return learn(self, *given)

    monkeypatch.setattr(kernel_search, "learn", waiting)
    monkeypatch.setattr(KernelSearch, "learn", noted)
    with threadpool_limits(2, user_api="blas"):
        model = KernelClassifier().fit(*classes(700))
    folds = ["quick"] * len(model.stability_.alignment)
    assert order[0] == "full"
    assert sorted(order) == sorted(["full", "last steps", *folds])


def test_folds_have_their_machines_beside_the_steps_of_the_noise(monkeypatch):
    begun, ridge_at, machine = Event(), tuned_ridge.ridge_at, searched._machine

    def waiting(*given):
        assert begun.wait(10)
        return ridge_at(*given)

    def noted(*given):
        begun.set()
        return machine(*given)

    monkeypatch.setattr(tuned_ridge, "ridge_at", waiting)
    monkeypatch.setattr(searched, "_machine", noted)
    with threadpool_limits(2, user_api="blas"):
        KernelRegressor().fit(*numbers(450))
    assert begun.is_set()


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
