"""What a prediction would be without some training rows: the machine is solved again without them.

The kernel, the noise and C stay as they are. For the ridge machine of the default fit the solution
without a row follows from the solution with it; other machines are trained again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import is_classifier

from kernalign._typing import Array, IntArray
from kernalign.criteria.kernel_sum import CONSTANT
from kernalign.estimators import classifier, regressor
from kernalign.gram.labels import class_target
from kernalign.learners import KernelSearch
from kernalign.machines.base import Machine
from kernalign.machines.model import KernelModel, Model

#: Rows whose removal is computed: those with the largest first guess.
SHORTLIST, RETRAINED = 60, 12
#: Rows at most for which a machine is trained again and again.
MOST_ROWS = 2000
#: How exactly a machine that is trained again must reproduce the model, in units of its outputs.
SAME = 1e-2


@dataclass(frozen=True)
class Removed:
    """Outputs at one row x, (c,) or (), without the row x itself if it is a training row.

    base : with all other training rows.
    rows : (m,) places of training rows; without : (m, ...) the outputs if each one is left out.
    """

    base: Array
    rows: IntArray
    without: Array


@dataclass(frozen=True)
class TrainingRows:
    """The rows that a model was trained on, with their labels.

    K : (n, n) kernel values; k : (n,) of the row x with them; own : the place of x, or None.
    y : (n,) codes, or responses on the scale of the machine.
    """

    K: Array
    k: Array
    y: Array
    own: int | None

    def others(self) -> IntArray:
        """Places of all rows but x."""
        return np.delete(np.arange(len(self.k)), [] if self.own is None else [self.own])


def is_default_ridge(estimator: Any, model: Model) -> bool:
    """Whether the machine is that of the default fit, on all training rows."""
    searched = isinstance(estimator.learner_, KernelSearch) and estimator.machine is None
    if not searched or not isinstance(model, KernelModel) or model.index is None:
        return False
    return estimator.solver_ == "exact" and len(model.rows) == model.n_rows


def removed(estimator: Any, model: Model, rows: TrainingRows, output: Array) -> Removed:
    """Outputs at x without each of the rows that matter most.

    output : of the model itself at x.
    """
    if is_default_ridge(estimator, model):
        assert isinstance(model, KernelModel)
        return _from_solution(estimator, model, rows)
    return _trained_again(estimator, rows, output)


def _from_solution(estimator: Any, model: KernelModel, rows: TrainingRows) -> Removed:
    """The ridge machine: A = K + constant + diag(noise / w), f(x) = m + (k + constant)'A^-1(Y - m),
    m the weighted mean of Y."""
    classes = len(estimator.classes_) if is_classifier(estimator) else 0
    n = len(rows.k)
    Y = rows.y.reshape(n, -1)
    if classes:
        Y = class_target(rows.y.astype(np.intp), classes, np.ones(n)).values
    a = model.coefficients.reshape(n, -1)
    # The residual of a row is its coefficient times noise / weight.
    missed = Y - rows.K @ a - model.intercept
    ridge = np.einsum("ic,ic->i", missed, a) / np.maximum(np.einsum("ic,ic->i", a, a), 1e-300)
    usual = float(np.einsum("ic,ic->", missed, a) / np.einsum("ic,ic->", a, a))
    weighted = not np.allclose(missed, usual * a, atol=1e-5 * float(np.abs(missed).max()))
    ridge = ridge if weighted else np.full(n, usual)
    w = 1 / ridge
    constant = CONSTANT * float(w @ np.diagonal(rows.K) / w.sum())
    some = rows.others()
    A = rows.K[np.ix_(some, some)] + constant
    A[np.diag_indices(len(some))] += ridge[some]
    factor = cho_factor(A, lower=True, overwrite_a=True)
    k, Y, w = rows.k[some] + constant, Y[some], w[some]
    z, u, v = (cho_solve(factor, rhs) for rhs in (Y, np.ones(len(some)), k))
    total, sums = w.sum(), w @ Y
    mean = sums / total
    base = mean + k @ z - mean * (k @ u)
    guess = np.abs(v[:, None] * (z - u[:, None] * mean)).max(axis=1)
    top = np.argsort(-guess, kind="stable")[:SHORTLIST]
    columns = cho_solve(factor, np.eye(len(some))[:, top])
    inverse = columns[top, np.arange(len(top))]
    left = (v[top] / inverse)[:, None]
    means = (sums - w[top, None] * Y[top]) / (total - w[top])[:, None]
    without = means + (k @ z - left * z[top]) - means * ((k @ u) - left * u[top, None])
    return Removed(_flat(base[None])[0], some[top], _flat(without))


def _flat(outputs: Array) -> Array:
    """Outputs as the model has them: one column as none."""
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs


def _trained_again(estimator: Any, rows: TrainingRows, output: Array) -> Removed:
    machine = _machine(estimator)
    some = rows.others()
    if machine is None or len(some) > MOST_ROWS or rows.y.ndim > 1:
        raise ValueError(
            "The effect of single training rows is not computed for this machine, or for so many "
            "rows. The most similar rows are shown instead."
        )
    y: Any = rows.y.astype(np.intp) if is_classifier(estimator) else rows.y

    def at_x(kept: IntArray) -> Array:
        K = rows.K[np.ix_(kept, kept)]
        fitted = machine.fit(K, y[kept], np.ones(len(kept)), float(estimator.C_))
        found: Array = np.asarray(fitted.predict(rows.k[None, kept]))[0]
        return found.reshape(()) if found.size == 1 else found

    everything = at_x(np.arange(len(rows.k)))
    scale = max(1.0, float(np.abs(output).max()))
    if not np.allclose(everything, output, atol=SAME * scale):
        raise ValueError(
            "The effect of single training rows is not known, because rows have weights. The most "
            "similar rows are shown instead."
        )
    guess = np.abs(rows.k[some])
    top = some[np.argsort(-guess, kind="stable")[:RETRAINED]]
    base = at_x(some)
    without = np.array([at_x(some[some != place]) for place in top])
    return Removed(base, top, without)


def _machine(estimator: Any) -> Machine | None:
    """The machine that was selected, if it is one of the library's."""
    if estimator.learner_.one_stage:
        return None
    name = [record["machine"] for record in estimator.path_ if record["chosen"]][-1:]
    known = classifier.MACHINES
    if not is_classifier(estimator):
        known = [machine for some in regressor.MACHINES.values() for machine in some]
    return next((machine for machine in known if [machine.name] == name), None)
