"""The figures that the default fit is held to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from benchmarks._row import Row
from benchmarks.accuracy import tasks
from benchmarks.accuracy.peers import VARIANTS
from experiments.cells import Row as Cell
from experiments.statistics import Comparison, compare, mean, pairs, values_of

OURS, RIVAL = "kernalign", "tuned SVC"
#: A method has a rank if it ran on at least this share of the tasks.
NEARLY = 0.85
#: Splits that the figures rest on.
SPLITS = 5
Errors = dict[str, dict[str, dict[int, float]]]


def bars(rows: Sequence[Cell]) -> Iterator[Row]:
    errors = values_of(rows, "classification", "error")
    yield from _eleven(errors)
    yield from _ranks(errors)
    yield from _worst(distances(errors, small(errors)), "tasks, n <= 2000", "3", "1.5")
    for name, bar, goal in (
        ("gaussians gamma=40", "6.2 %", "4.8 %"),
        ("moons + 48", "3.5 %", "3.0 %"),
        ("clusters n=1000", "10 %", "8.5 %"),
        ("clusters n=4000", "9 %", "7 %"),
    ):
        values = list(errors.get(name, {}).get(OURS, {}).values())
        if values:
            found = mean(values)
            text = f"{100 * found.value:.1f} %"
            yield Row(f"test error, {name}, {found.n} repeats", text, bar, goal)
    yield from _alone(errors)
    yield from _worst(distances(errors, tasks.TABLE), "rows of the table", "2", "1")
    yield from _public_regression(rows)
    yield from _times(rows)


def _eleven(errors: Errors) -> Iterator[Row]:
    """Each of the eleven sets against the tuned SVC, on the repeats that both have."""
    differences = {}
    for name in tasks.ELEVEN:
        a, b = pairs({name: errors.get(name, {})}, OURS, RIVAL)
        if a:
            differences[name] = 100 * (np.mean(a) - np.mean(b)), len(a)
    if not differences:
        return
    worst = max(differences, key=lambda name: differences[name][0])
    lower = sum(d < 0 for d, _ in differences.values())
    fewest = min(n for _, n in differences.values())
    what = f"eleven sets, {len(differences)} with at least {fewest} splits"
    yield Row(
        f"{what}: worst distance to the tuned SVC ({worst})",
        f"{differences[worst][0]:+.1f}",
        "+1",
        "+0.5",
    )
    yield Row(f"{what}: lower error than the tuned SVC", f"{lower}", "7", "10")


def _ranks(errors: Errors) -> Iterator[Row]:
    """Mean ranks on the small tasks: methods with all splits, and those with fewer beside them."""
    errors = small(errors)
    yield from _rank(ranked(errors), f"methods with {SPLITS} splits or more")
    if len(_wide(errors, 1)) > len(_wide(errors, SPLITS)):
        which = "methods with fewer splits too, on common splits"
        yield from _rank(ranked(errors, fewest=1), which)


def _rank(found: Comparison | None, which: str) -> Iterator[Row]:
    if found is None or OURS not in found.methods:
        return
    order = np.argsort(found.mean_ranks, kind="stable")
    place = int(np.flatnonzero(order == found.methods.index(OURS))[0]) + 1
    ours = found.mean_ranks[found.methods.index(OURS)]
    others = [r for m, r in zip(found.methods, found.mean_ranks, strict=True) if m != OURS]
    lead, width = min(others) - ours, found.critical_difference
    yield Row(f"place by mean rank, {len(found.tasks)} tasks, {which}", f"{place}", "1", "1")
    yield Row("   lead over the next", f"{lead:+.2f}", "+0", f"+{width:.2f} (CD)")
    yield Row("   " + ", ".join(f"{found.methods[k]} {found.mean_ranks[k]:.2f}" for k in order), "")


def small(errors: Errors) -> Errors:
    """The tasks with at most 2000 rows to fit."""
    return {name: e for name, e in errors.items() if name not in tasks.LARGE}


def ranked(errors: Errors, fewest: int = SPLITS) -> Comparison | None:
    """Ranks of the methods that have so many splits of nearly all tasks, over common tasks."""
    wide = _wide(errors, fewest)
    common = {
        name: e for name, e in errors.items() if all(len(e.get(m, {})) >= fewest for m in wide)
    }
    return compare(common, wide) if len(wide) > 1 and len(common) > 1 else None


def _wide(errors: Errors, fewest: int) -> list[str]:
    """Methods with so many splits of nearly all tasks."""
    methods = dict.fromkeys(m for e in errors.values() for m in e if m not in VARIANTS)
    ran = {m: sum(len(e.get(m, {})) >= fewest for e in errors.values()) for m in methods}
    return [m for m in methods if ran[m] >= NEARLY * len(errors)]


def _alone(errors: Errors) -> Iterator[Row]:
    """Features that all matter alike: the default fit beside one bandwidth, and the best peer."""
    name = "gaussians gamma=0"
    ours, one = pairs({name: errors.get(name, {})}, OURS, "one bandwidth")
    if not ours:
        return
    peers = {m: v for m, v in errors[name].items() if m not in (OURS, *VARIANTS)}
    best = min(100 * float(np.mean(list(v.values()))) for v in peers.values())
    found, alone = 100 * float(np.mean(ours)), 100 * float(np.mean(one))
    what = f"test error, {name}, {len(ours)} repeats; one bandwidth {alone:.1f} %"
    yield Row(what, f"{found:.1f} %", f"{alone + 0.5:.1f} %", f"{best:.1f} %")


def distances(errors: Errors, names: Iterable[str]) -> dict[str, float]:
    """By task: error of the default fit minus the lowest of a peer, in points, at least zero.

    Each peer is compared on the repeats that both have. Peers with fewer than five in common are
    left out: the lowest of many means over few splits is lowest by chance.
    """
    distance = {}
    for name in names:
        row = errors.get(name, {})
        duels = [pairs({name: row}, OURS, m) for m in row if m not in (OURS, *VARIANTS)]
        found = [100 * float(np.mean(a) - np.mean(b)) for a, b in duels if len(a) >= SPLITS]
        if found:
            distance[name] = max(0.0, *found)
    return distance


def _worst(distance: dict[str, float], what: str, bar: str, goal: str) -> Iterator[Row]:
    if distance:
        worst = max(distance, key=lambda name: distance[name])
        text = f"worst distance to the best, {len(distance)} {what} ({worst})"
        yield Row(text, f"{distance[worst]:.1f}", bar, goal)


def _public_regression(rows: Sequence[Cell]) -> Iterator[Row]:
    """Points of the variance of the response."""
    errors = values_of(rows, "regression", "error")
    distance = distances(errors, tasks.SMALL_PUBLIC_REGRESSION)
    if distance:
        found = float(np.mean(list(distance.values())))
        what = f"mean distance to the best, {len(distance)} public regression sets, n < 2000"
        yield Row(what, f"{found:.1f}", "0.8", "0.3")
    yield from _worst(distance, "public regression sets, n < 2000", "2.0", "1.0")


def _times(rows: Sequence[Cell]) -> Iterator[Row]:
    seconds = values_of(rows, "classification", "fit_seconds", ["clusters n=1000"])
    ours, theirs = pairs(seconds, OURS, RIVAL)
    if ours:
        ratio = float(np.median(np.array(ours) / np.array(theirs)))
        what = "processor time of a fit / GridSearchCV(SVC), 21 x 8, n=1000, d=20"
        yield Row(what, f"{ratio:.2f}x", "1x", "0.1x")
