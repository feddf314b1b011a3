"""Choose kernel, machine and regularisation by cross-validation.

Kernels are learned again inside each fold: chosen on a kernel that has seen the held-out labels,
the regularisation would be too weak and its error a lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernalign._progress import current
from kernalign._typing import Array
from kernalign.estimators.error import ALONE, RowErrors
from kernalign.estimators.folds import Split
from kernalign.estimators.losses import Loss
from kernalign.estimators.problem import Problem
from kernalign.estimators.stages import Candidate, Stages

#: Relative rounding that a comparison with a standard error forgives.
ROUNDING = 1e-9
#: Parts of the rows of a fold, each judged by the choice of the others.
PARTS = 5


@dataclass
class Held:
    """What folds said of one candidate, fold by fold.

    outputs : (values, rows, ...) for the rows that a fold held out; errors : (values, rows).
    alignments : of the kernel, between rows held out and rows learned from.
    """

    outputs: list[Array] = field(default_factory=list)
    errors: list[Array] = field(default_factory=list)
    alignments: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Choice:
    """A candidate, the place of each candidate's best C among the values, mean deciding losses."""

    candidate: Candidate
    places: dict[Candidate, int]
    losses: dict[Candidate, Array]


@dataclass(frozen=True)
class Selection:
    """What cross-validation found.

    candidate, C : the choice.
    values : the C that were tried.
    places : each candidate's best C, as a place among the values.
    losses, errors : mean of what decided, and mean error, of each candidate at each C.
    alignments : mean and standard deviation over folds of the alignment on held-out rows of each
        candidate's kernel.
    held_out : outputs of the choice for each row, from the fold that held it out; NaN where a row
        was never held out.
    honest : errors of held-out rows under choices that they had no say in.
    known : what training on all rows can start from.
    """

    candidate: Candidate
    C: float
    values: Array
    places: dict[Candidate, int]
    losses: dict[Candidate, Array]
    errors: dict[Candidate, Array]
    alignments: dict[Candidate, tuple[float, float]]
    held_out: Array
    honest: RowErrors
    known: Any = None


@dataclass(frozen=True)
class Folds:
    """Rows that each fold held out, by position, label and weight, and what was said of them.

    weights : by which rows decide, those of classes included; given : by which errors are reported.
    groups : of all rows, none of which is divided, or None.
    """

    rows: list[Any]
    labels: list[Array]
    weights: list[Array]
    given: list[Array]
    held: dict[Candidate, Held]
    loss: Loss
    groups: Any = None

    def choose(self, folds: Sequence[int], judged: Any = ()) -> Choice | None:
        """The first kernel no worse than the best by more than a standard error of the difference.

        Each kernel with its own best machine and C; ties between C go to the stronger
        regularisation.

        folds : which folds have a say.
        judged : rows that have none, in whatever fold; None is returned where no others are left.
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
            if c.kernel not in best or means[c].min() < means[best[c.kernel]].min():
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
        """Errors of rows under the choice that other rows of their fold would have made.

        No row has a say in the choice that judges it, neither by its own loss nor through a machine
        that it trained: the machines of a fold have seen none of the fold's rows. Rows of other
        folds must not choose, because their machines have learned from the row that is judged.
        """
        values, weight, units = [], [], []
        for f, rows in enumerate(self.rows):
            of_fold = rows if self.groups is None else self.groups[rows]
            own = np.unique(of_fold)
            parts = np.array_split(np.random.default_rng(f).permutation(own), min(PARTS, len(own)))
            for part in parts if self._several() else [own]:
                judged = np.isin(of_fold, part)
                choice = self.choose([f], rows[judged]) if self._several() else self.choose([f])
                if choice is None:
                    return RowErrors.none(ALONE)
                place = choice.places[choice.candidate]
                values.append(self.held[choice.candidate].errors[f][place, judged])
                weight.append(self.given[f][judged])
                units.append(of_fold[judged])
        return RowErrors(
            np.concatenate(values), np.concatenate(weight), np.concatenate(units), self.loss.shares
        )

    def _several(self) -> bool:
        """Whether there is anything to choose from."""
        held = next(iter(self.held.values()))
        return len(self.held) > 1 or len(held.outputs[0]) > 1


def select(
    stages: Stages, problem: Problem, values: Array, folds: Iterable[Split], loss: Loss
) -> Selection:
    """The simplest kernel that is as good as the best, with its machine and C of smallest loss."""
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
        # What is known of two splits is not held at the same time.
        known = None
        outputs, tried, known = stages.path(problem.rows(train), part, values, tried)
        for out in outputs:
            record = found.held[out.candidate]
            record.outputs.append(out.values)
            errors = loss.error(part.y, out.values)
            errors[~_tried(out.values)] = np.inf
            record.errors.append(errors)
            record.alignments.append(out.alignment)
        progress.tick("fold")
    if not found.rows:
        raise ValueError("The 'cv' parameter must yield at least one split. Got none.")
    everything = range(len(found.rows))
    choice = found.choose(everything)
    assert choice is not None
    best = choice.places[choice.candidate]
    held = found.held[choice.candidate].outputs
    held_out = np.full((len(problem), *held[0].shape[2:]), np.nan)
    for test, values_of_test in zip(found.rows, held, strict=True):
        held_out[test] = values_of_test[best]
    return Selection(
        candidate=choice.candidate,
        C=float(values[best]),
        values=values,
        places=choice.places,
        losses=choice.losses,
        errors={c: found.mean_errors(c, everything) for c in found.held},
        alignments={c: _mean_and_deviation(found.held[c].alignments) for c in found.held},
        held_out=held_out,
        honest=found.honest(),
        known=known,
    )


def path_records(stages: Stages, chosen: Selection, unit: float) -> list[dict[str, Any]]:
    """What was chosen from, the simplest first, as a person reads it.

    unit : of the error.
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
                "rows": len(chosen.held_out),
                "error": float(chosen.errors[candidate][place]) * unit,
                "C": float(chosen.values[place]),
                "chosen": candidate == chosen.candidate,
            }
        )
    return records


def _tried(outputs: Array) -> Any:
    """At which C there are outputs: others are NaN."""
    return ~np.isnan(outputs.reshape(len(outputs), -1)).all(axis=1)


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    known = [value for value in values if np.isfinite(value)]
    return (float(np.mean(known)), float(np.std(known))) if known else (np.nan, np.nan)


def _within_a_standard_error(d: Array, weight: Array) -> bool:
    """Whether the mean of the differences is no more than its own standard error.

    A single row that differs is not evidence: its difference equals the standard error.
    """
    if not np.isfinite(d).all():
        # A machine without an answer at some row is not as good as one that has it.
        return False
    share = weight / weight.sum()
    mean = float(share @ d)
    rows = max(float(weight.sum()), len(weight))
    error = np.sqrt(float(share @ (d - mean) ** 2) / max(rows - 1, np.finfo(float).tiny))
    return mean <= error * (1 + ROUNDING)
