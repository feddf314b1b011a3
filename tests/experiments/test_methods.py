"""How methods are fitted: the machine, the choice of C and lambda, the landscape."""

import numpy as np
import pytest
from sklearn.svm import SVC

from experiments.gram_cache import KernelsOnFixedRows
from experiments.landscape import Landscape, count_minima
from experiments.methods import C_GRID, Learn, PenaltyPath, alignment_on, error_of, first_best
from experiments.problems import Problem, gaussians50
from kernalign import (
    ContinuousAlignment,
    ContinuousRisk,
    Gaussian,
    Laplacian,
    LearnedKernel,
    LpNormMKL,
    UniformWeights,
)

SMALL = gaussians50(0, gamma=10, sizes=(40, 100, 200))


def outputs(fitted, problem, part):
    return fitted.machine.predict(fitted.kernel(part[0], problem.train[0]))


def test_two_stages_train_the_svm_of_the_chosen_c():
    fitted = Learn(UniformWeights([Gaussian().at(5.0)]))(SMALL)
    X, y = SMALL.train
    svm = SVC(kernel="precomputed", C=fitted.C, tol=1e-8).fit(fitted.kernel(X), y)
    theirs = svm.decision_function(fitted.kernel(SMALL.test[0], X))
    ours = outputs(fitted, SMALL, SMALL.test)
    # The bias is not unique where no row lies on the margin; differences of outputs are.
    np.testing.assert_allclose(ours - ours.mean(), theirs - theirs.mean(), atol=1e-2)


@pytest.mark.parametrize(
    "learner",
    [
        ContinuousAlignment(),
        ContinuousRisk(),
        LpNormMKL(Gaussian().grid(1, 10, 3), p=2),
    ],
    ids=["CA", "CR", "D2"],
)
def test_validation_error_is_that_of_the_fitted_machine(learner):
    fitted = Learn(learner)(SMALL)
    error = error_of(outputs(fitted, SMALL, SMALL.valid), SMALL.valid[1])
    assert error == pytest.approx(fitted.validation_error, abs=0.011)
    assert fitted.C in C_GRID
    assert fitted.learning > 0


def test_ties_go_to_the_stronger_regularisation():
    candidates = [("k", "a", 0.3), ("k", "b", 0.1), ("k", "c", 0.1), ("k", "d", 0.2)]
    assert first_best(candidates) == (1, 0.1, "k", "b")


def test_lambda_is_the_one_that_aligns_best_on_validation_rows():
    learner = ContinuousAlignment(Gaussian(ard=True), n_starts=1)
    values = (1e6, 1.0)
    fitted = PenaltyPath(learner, values=values)(SMALL)["alignment"]
    scores = fitted.extra["lambda_scores"]
    assert fitted.extra["lambda"] == values[int(np.argmax(scores))]
    assert alignment_on(fitted.kernel, SMALL.valid) == pytest.approx(max(scores), abs=1e-4)


def test_lambda_by_error_has_the_smaller_validation_error():
    learner = ContinuousAlignment(Gaussian(ard=True), n_starts=1)
    values = (np.inf, 1e6, 1.0)
    found = PenaltyPath(learner, values=values)(SMALL)
    assert found["error"].validation_error <= found["alignment"].validation_error
    alone = PenaltyPath(learner, ("error",), values)(SMALL)["error"]
    assert alone.extra["lambda"] == found["error"].extra["lambda"]
    assert found["error"].seconds > found["error"].learning == found["alignment"].learning


@pytest.mark.parametrize("kernels", [Gaussian().grid(1, 10, 3), [Laplacian(ard=True).at(2.0)]])
def test_kernels_on_fixed_rows_are_the_learned_kernels(kernels):
    on_rows = KernelsOnFixedRows(SMALL.valid[0], SMALL.train[0])
    for weights in ([0.2] * len(kernels), [0.0] * len(kernels), [1.0] * len(kernels)):
        learned = LearnedKernel(kernels, np.array(weights))
        for _ in range(3):
            np.testing.assert_allclose(
                on_rows(learned), learned(SMALL.valid[0], SMALL.train[0]), rtol=1e-9, atol=1e-12
            )


def test_iterations_are_those_of_a_fit_from_the_start():
    method = Learn(ContinuousRisk())
    learner = ContinuousRisk(C=10.0).fit(*SMALL.train)
    assert method.iterations(SMALL, 10.0) == len(learner.history_)
    assert Learn(UniformWeights([Gaussian().at(5.0)])).iterations(SMALL, 1.0) is None


def test_minima_are_counted_inside_the_range_only():
    x = np.linspace(0, 1, 200)
    assert count_minima(-np.sin(np.pi * x)) == 1
    assert count_minima(x) == 0
    assert count_minima(np.cos(4 * np.pi * x)) == 2
    assert count_minima((x - 0.5) ** 2 + 1e-9 * np.cos(300 * x)) == 1


def test_landscape_is_lowest_where_the_learner_went():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) % 2, 1, -1)
    X = rng.standard_normal((60, 2)) + 1.5 * y[:, None]
    learner = ContinuousAlignment(Gaussian(bounds=(0.1, 100)))
    found = Landscape(learner, 0.1, 100)(Problem((X, y), (X, y), (X, y)))
    learner.fit(X, y)
    assert len(found["curves"]) == len(learner.history_)
    lowest = found["sigmas"][int(np.argmin(found["curves"][0]))]
    assert lowest == pytest.approx(learner.history_[0]["kernel"].sigma[0], rel=0.05)
