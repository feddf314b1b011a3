"""Select kernel, machine and regularisation by cross-validation.

Kernels are learned again inside each fold. Otherwise the kernel would have seen the held-out
labels, the selected regularisation would be too weak, and its error too small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernalign._progress import current
from kernalign._typing import Array, IntArray
from kernalign.estimators.error import SINGLE_ROW_FOLDS, RowErrors
from kernalign.estimators.folds import Split
from kernalign.estimators.left_out import LeftOut
from kernalign.estimators.losses import Loss
from kernalign.estimators.problem import Problem
from kernalign.estimators.stability import FoldKernel
from kernalign.estimators.stages import Candidate, Stages

#: Relative rounding error that is tolerated in comparisons with a standard error.
ROUNDING = 1e-9
#: Number of parts of a fold; each is evaluated with the choice of the other parts.
PARTS = 5
#: Mean losses of machines that differ by less, relatively, are equal up to rounding errors of
#: features in single precision: without rows beyond the margin, least squares and the squared hinge
#: loss have the same solution.
TIE = 1e-5


@dataclass
class Held:
    """Results of one candidate, fold by fold.

    outputs : (values, rows, ...) for the held-out rows of a fold; errors : (values, rows).
    alignments : of the kernel, between held-out and training rows.
    learned : the kernel of each fold that has learned one of its own.
    """

    outputs: list[Array] = field(default_factory=list)
    errors: list[Array] = field(default_factory=list)
    alignments: list[float] = field(default_factory=list)
    learned: list[FoldKernel] = field(default_factory=list)


@dataclass(frozen=True)
class Choice:
    """The selected candidate, the index of each candidate's best C, and mean losses."""

    candidate: Candidate
    places: dict[Candidate, int]
    losses: dict[Candidate, Array]


@dataclass(frozen=True)
class Selection:
    """Result of cross-validation.

    candidate, C : the selected ones.
    values : the values of C that were tried.
    places : index of each candidate's best C among the values.
    losses, errors : mean loss and mean error of each candidate at each C.
    alignments : mean and standard deviation over folds of the held-out alignment of each
        candidate's kernel.
    held_out : outputs of the selected candidate for the rows that were held out.
    folds : the number of the fold that held out each of them.
    n_rows : the number of all rows.
    honest : errors of held-out rows, each under a choice that the row did not take part in.
    known : intermediate results that training on all rows can reuse.
    learned : kernels of the choice that folds have learned for themselves.
    """

    candidate: Candidate
    C: float
    values: Array
    places: dict[Candidate, int]
    losses: dict[Candidate, Array]
    errors: dict[Candidate, Array]
    alignments: dict[Candidate, tuple[float, float]]
    held_out: LeftOut
    folds: IntArray
    n_rows: int
    honest: RowErrors
    known: Any = None
    learned: Sequence[FoldKernel] = ()


@dataclass(frozen=True)
class Folds:
    """The held-out rows of each fold, by position, label and weight, with the results for them.

    weights : used in the selection, including class weights; given : used in reported errors.
    groups : of all rows, or None. No fold divides a group.
    """

    rows: list[Any]
    labels: list[Array]
    weights: list[Array]
    given: list[Array]
    held: dict[Candidate, Held]
    loss: Loss
    groups: Any = None

    def choose(self, folds: Sequence[int], judged: Any = ()) -> Choice | None:
        """The simplest kernel within one standard error of the best.

        Each kernel is compared with its own best machine and C. Ties between machines go to the
        first one, ties between values of C to the stronger regularisation.

        folds : the folds that take part in the selection.
        judged : rows that do not take part; returns None if no other rows are left.
        """
        say = [~np.isin(self.rows[f], judged) for f in folds]
        if not any(some.any() for some in say):
            return None
        chosen = list(zip(folds, say, strict=True))
        y, weight = (
            np.concatenate([v[f][some] for f, some in chosen]) for v in (self.labels, self.weights)
        )
        places: dict[Candidate, int] = {}
        means: dict[Candidate, Array] = {}
        of_rows: dict[Candidate, Array] = {}
        for candidate, held in self.held.items():
            outputs = np.concatenate([held.outputs[f][:, some] for f, some in chosen], axis=1)
            tried = _tried(outputs)
            losses = np.full(outputs.shape[:2], np.inf)
            found = self.loss.deciding(y, outputs[tried], weight)
            losses[tried] = np.nan_to_num(found, nan=np.inf, posinf=np.inf)
            means[candidate] = losses @ (weight / weight.sum())
            places[candidate] = int(np.argmin(means[candidate]))
            of_rows[candidate] = losses[places[candidate]]
        best: dict[int, Candidate] = {}
        for c in self.held:
            if c.kernel not in best or means[c].min() < (1 - TIE) * means[best[c.kernel]].min():
                best[c.kernel] = c
        winner = min(best.values(), key=lambda c: means[c].min())
        for c in best.values():
            with np.errstate(invalid="ignore"):
                d = of_rows[c] - of_rows[winner]
            if _within_a_standard_error(d, weight):
                return Choice(c, places, means)
        return Choice(winner, places, means)

    def mean_errors(self, candidate: Candidate, folds: Sequence[int]) -> Array:
        """Mean error at each C over some folds."""
        total = sum(self.held[candidate].errors[f] @ self.given[f] for f in folds)
        mean: Array = total / sum(self.given[f].sum() for f in folds)
        return mean

    def honest(self) -> RowErrors:
        """Errors of rows, each under the choice of other rows of the same fold.

        A row influences the choice that is evaluated on it neither by its own loss nor through a
        machine trained on it: the machines of a fold have not seen the fold's held-out rows. Rows
        of other folds take no part, because their machines were trained on the evaluated row.
        """
        values, weight, rows_judged = [], [], []
        for f, rows in enumerate(self.rows):
            of_fold = rows if self.groups is None else self.groups[rows]
            own = np.unique(of_fold)
            parts = np.array_split(np.random.default_rng(f).permutation(own), min(PARTS, len(own)))
            for part in parts if self._several() else [own]:
                judged = np.isin(of_fold, part)
                choice = self.choose([f], rows[judged]) if self._several() else self.choose([f])
                if choice is None:
                    return RowErrors.none(SINGLE_ROW_FOLDS)
                place = choice.places[choice.candidate]
                values.append(self.held[choice.candidate].errors[f][place, judged])
                weight.append(self.given[f][judged])
                rows_judged.append(rows[judged])
        at = np.concatenate(rows_judged)
        unit = at if self.groups is None else self.groups[at]
        errors, weights = np.concatenate(values), np.concatenate(weight)
        return RowErrors(errors, weights, unit, self.loss.shares, rows=at)

    def _several(self) -> bool:
        """Whether there is more than one option to select from."""
        held = next(iter(self.held.values()))
        return len(self.held) > 1 or len(held.outputs[0]) > 1


def select(
    stages: Stages, problem: Problem, values: Array, folds: Iterable[Split], loss: Loss
) -> Selection:
    """Select the simplest kernel within one standard error of the best, its machine and its C."""
    values = np.sort(values)
    held_of = {candidate: Held() for candidate in stages.candidates}
    found = Folds([], [], [], [], held_of, loss, problem.groups)
    tried = known = None
    progress = current()
    for train, test in folds:
        part = problem.fetched(test)
        found.rows.append(np.asarray(test))
        found.labels.append(part.y)
        found.weights.append(part.target.weight)
        found.given.append(part.weight)
        # Free the results of the previous split before the next one is computed.
        known = None
        outputs, tried, known = stages.path(problem.rows(train), part, values, tried)
        for out in outputs:
            record = found.held[out.candidate]
            record.outputs.append(out.values)
            errors = loss.error(part.y, out.values)
            errors[~_tried(out.values)] = np.inf
            record.errors.append(errors)
            record.alignments.append(out.alignment)
            record.learned += [] if out.learned is None else [out.learned]
        progress.tick("fold")
    if not found.rows:
        raise ValueError("The 'cv' parameter must yield at least one split. Got none.")
    everything = range(len(found.rows))
    choice = found.choose(everything)
    assert choice is not None
    best = choice.places[choice.candidate]
    held = found.held[choice.candidate].outputs
    numbers = [np.full(len(test), number) for number, test in enumerate(found.rows)]
    return Selection(
        candidate=choice.candidate,
        C=float(values[best]),
        values=values,
        places=choice.places,
        losses=choice.losses,
        errors={c: found.mean_errors(c, everything) for c in found.held},
        alignments={c: _mean_and_deviation(found.held[c].alignments) for c in found.held},
        held_out=LeftOut.of(found.rows, [values_of_test[best] for values_of_test in held]),
        folds=LeftOut.of(found.rows, numbers).outputs.astype(np.intp),
        n_rows=len(problem),
        honest=found.honest(),
        known=known,
        learned=found.held[choice.candidate].learned,
    )


def path_records(stages: Stages, chosen: Selection, unit: float) -> list[dict[str, Any]]:
    """The compared candidates as records, the simplest first.

    unit : in which the error is reported.
    """
    records = []
    for candidate in stages.candidates if chosen.places else ():
        place = chosen.places[candidate]
        records.append(
            {
                "learner": stages.learner(candidate),
                "machine": stages.machine_name(candidate),
                "alignment": stages.alignment(candidate),
                "held_out_alignment": chosen.alignments[candidate][0],
                "rows": chosen.n_rows,
                "error": float(chosen.errors[candidate][place]) * unit,
                "C": float(chosen.values[place]),
                "chosen": candidate == chosen.candidate,
            }
        )
    return records


def _tried(outputs: Array) -> Any:
    """The values of C that were tried; the outputs of others are NaN."""
    return ~np.isnan(outputs.reshape(len(outputs), -1)).all(axis=1)


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    known = [value for value in values if np.isfinite(value)]
    return (float(np.mean(known)), float(np.std(known))) if known else (np.nan, np.nan)


def _within_a_standard_error(d: Array, weight: Array) -> bool:
    """Whether the mean difference is at most its own standard error.

    If only a single row differs, its mean difference equals the standard error.
    """
    if not np.isfinite(d).all():
        # A candidate without an output for some row is worse than one that has it.
        return False
    share = weight / weight.sum()
    mean = float(share @ d)
    rows = max(float(weight.sum()), len(weight))
    error = np.sqrt(float(share @ (d - mean) ** 2) / max(rows - 1, np.finfo(float).tiny))
    return mean <= error * (1 + ROUNDING)
