"""Prediction intervals and quantiles from the residuals of held-out rows.

Each fold learns its own kernel and machine and predicts rows that it has not seen. The scores are
the residuals of these rows, in units of the standard deviation that the fold's Gaussian process
predicts for them. An interval is the prediction plus and minus the row's standard deviation times a
conformal quantile of the scores: the ceil((N + 1) coverage)-th smallest of N scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernalign._typing import Array
from kernalign._validation import check_share
from kernalign.estimators.base import KernelPredictor
from kernalign.estimators.left_out import LeftOut
from kernalign.estimators.problem import Problem
from kernalign.estimators.scores import NONE_HELD_OUT, NOT_NESTED, Scores
from kernalign.estimators.searched import Searched
from kernalign.machines import KernelModel, RidgeRegressor
from kernalign.machines.posterior import Posterior, representatives
from kernalign.rows import taken
from kernalign.rows.input import of_rows

#: Reason why there are no intervals.
SEVERAL = "y has several columns. Fit one KernelRegressor for each of them."


@dataclass(frozen=True)
class Certainty:
    """What a fitted regressor knows about its own errors.

    posterior : the Gaussian process of the machine; None if it has none.
    scores : of held-out rows; scaled : whether they are in units of the posterior's deviations.
    """

    posterior: Posterior | None
    scores: Scores
    scaled: bool


def searched_certainty(found: Searched, t: Array, weight: Array, *, nested: bool) -> Certainty:
    """For a default fit: scores in units of the deviations that the folds predict."""
    if t.ndim > 1:
        return Certainty(None, Scores.none(SEVERAL), scaled=False)
    if not nested:
        return Certainty(found.posterior, Scores.none(NOT_NESTED), scaled=True)
    held_out = found.held_out
    index = np.concatenate([part.index for part in held_out])
    missed = taken(t, index) - np.concatenate([part.outputs for part in held_out])
    spread = np.concatenate([np.asarray(part.deviations) for part in held_out])
    # A fold can predict the response exactly, for example a constant one: its deviation is zero.
    scores = np.divide(missed, spread, out=np.zeros_like(missed), where=spread > 0)
    return Certainty(found.posterior, Scores.of(scores, taken(weight, index)), scaled=True)


def selected_certainty(
    fitted: Mapping[str, Any], held_out: LeftOut, problem: Problem, *, nested: bool
) -> Certainty:
    """For fits that select C on held-out rows: the residuals of these rows are the scores."""
    if problem.y.ndim > 1:
        return Certainty(None, Scores.none(SEVERAL), scaled=False)
    known = held_out.known
    scores = Scores.none(NONE_HELD_OUT if nested else NOT_NESTED)
    if nested and len(known):
        missed = taken(problem.y, known.index) - known.outputs
        scores = Scores.of(missed, taken(problem.weight, known.index))
    return Certainty(_ridge_posterior(fitted, problem), scores, scaled=False)


def _ridge_posterior(fitted: Mapping[str, Any], problem: Problem) -> Posterior | None:
    """The Gaussian process of an exact ridge machine; None for other machines."""
    model = fitted["model_"]
    machines = [record["machine"] for record in fitted["path_"] if record["chosen"]]
    ridge = machines[-1:] == [RidgeRegressor.name]
    if not ridge or not isinstance(model, KernelModel) or model.index is None:
        return None
    a = np.zeros(len(problem))
    a[model.index] = model.coefficients
    return Posterior.of(a, problem.target, 1 / fitted["C_"], 0.0).at_rows(model.index)


class PredictsIntervals(KernelPredictor):
    """Intervals and quantiles of a regressor with `model_`, `response_` and `certainty_`."""

    model_: Any
    response_: Any
    certainty_: Certainty

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """Prediction interval that contains a new response with probability `coverage`.

        The coverage is that of held-out rows, which were predicted by folds with their own kernel;
        the distribution of the errors is not assumed. In the default fit, the width is proportional
        to the standard deviation that the model predicts for the row. The ends are infinite if
        there are too few held-out rows for the coverage: at least coverage / (1 - coverage) are
        needed.

        Parameters
        ----------
        X : rows
        coverage : float in (0, 1)

        Returns
        -------
        array of shape (n, 2)
        """
        check_share(self, "coverage", coverage)
        scores = self._known_scores()
        size = scores.within(coverage)
        return self._between(X, np.array([-size, size]))

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> Any:
        """Quantiles of a new response, from the same scores as `predict_interval`.

        Parameters
        ----------
        X : rows
        quantiles : sequence of floats in (0, 1)

        Returns
        -------
        array of shape (n, number of quantiles)
        """
        shares = np.atleast_1d(np.asarray(quantiles, dtype=float))
        for share in shares.ravel().tolist():
            check_share(self, "quantiles", share)
        scores = self._known_scores()
        return self._between(X, np.array([scores.quantile(share) for share in shares.tolist()]))

    def _known_scores(self) -> Scores:
        check_is_fitted(self)
        scores: Scores = self.certainty_.scores
        if scores.unknown:
            raise ValueError(f"{type(self).__name__} does not know its intervals: {scores.unknown}")
        return scores

    def _between(self, X: Any, sizes: Array) -> Any:
        """The response at the given numbers of standard deviations from the prediction."""
        outputs, inverse = self.model_.outputs, self.response_.inverse
        deviations = self._deviations() if self.certainty_.scaled else None

        def ends(rows: Array) -> Array:
            t = outputs(rows)[:, None]
            spread = np.ones((len(rows), 1)) if deviations is None else deviations(rows)[:, None]
            with np.errstate(invalid="ignore", over="ignore"):
                # A standard deviation of zero means certainty; it must not become inf * 0.
                return inverse(t + np.where(spread > 0, spread * sizes, 0.0))

        return of_rows(self, X, ends, len(sizes))

    def _deviations(self) -> Callable[[Array], Array]:
        """A function from rows to the standard deviations of the transformed response."""
        posterior = self.certainty_.posterior
        if self.certainty_.scores.unknown == SEVERAL:
            raise ValueError(f"return_std supports one response, but {SEVERAL}")
        if posterior is None:
            raise ValueError(
                "return_std needs a machine that is a Gaussian process: the default fit, or "
                "machine='ridge' with solver='exact'."
            )
        rows = self.model_.rows
        rows = rows if self.model_.index is not None else representatives(rows)
        return posterior.on_rows(self.model_.kernel, rows)

    def _with_deviations(self, X: Any) -> tuple[Any, Any]:
        """Mean and standard deviation of the response."""
        outputs, response, deviations = self.model_.outputs, self.response_, self._deviations()

        def both(rows: Array) -> Array:
            t = outputs(rows)
            return np.column_stack([response.back(t), response.deviation(t, deviations(rows))])

        found = of_rows(self, X, both, 2)
        return found[:, 0], found[:, 1]
