"""How methods are fitted: the machine, the choice of C and lambda, the landscape."""

import numpy as np
import pytest
from sklearn.svm import SVC

from experiments.landscape import Landscape, count_minima
from experiments.methods import C_GRID, Learn, PenaltyPath, alignment_on, error_of, first_best
from experiments.problems import Problem, gaussians50
from kernalign import ContinuousAlignment, ContinuousRisk, Gaussian, LpNormMKL, UniformWeights

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
    fitted = PenaltyPath(learner, values=values)(SMALL)
    scores = fitted.extra["lambda_scores"]
    assert fitted.extra["lambda"] == values[int(np.argmax(scores))]
    assert alignment_on(fitted.kernel, SMALL.valid) == pytest.approx(max(scores), abs=1e-4)


def test_lambda_by_error_has_the_smaller_validation_error():
    learner = ContinuousAlignment(Gaussian(ard=True), n_starts=1)
    values = (np.inf, 1e6, 1.0)
    by_error = PenaltyPath(learner, "error", values)(SMALL)
    by_alignment = PenaltyPath(learner, "alignment", values)(SMALL)
    assert by_error.validation_error <= by_alignment.validation_error


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
