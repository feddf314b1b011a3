"""When test alignment and test error part: pairs of methods on the same rows of a real task.

Of two methods, the one with the higher test alignment should have the lower test error. Where it
does not, alignment misleads. The share of such pairs is compared with the share in which the lower
validation error, which a user has, misleads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from scipy import stats

from experiments.cells import Row
from experiments.claims.real import NAMES, RANKS
from experiments.statistics import mean
from experiments.tables import NONE, Table

#: Pairs that are looked at one by one, beside all pairs of the paper's methods.
PAIRS = (("CA-nD", "CA-1D"), ("CR", "CA-1D"), ("DA", "CA-1D"), ("DU", "CA-1D"))

Cells = dict[tuple[str, int], dict[str, Row]]


def cells_of(rows: Sequence[Row], data: str) -> Cells:
    """Rows by task and repeat, then by method."""
    found: Cells = defaultdict(dict)
    for row in rows:
        if row["experiment"] == data and row["status"] == "done" and "alignment" in row:
            found[row["task"], int(row["repeat"])][row["method"]] = row
    return found


def misled(cells: Cells, pairs: Iterable[tuple[str, str]], guide: str) -> list[float]:
    """Per repeat, the share of pairs in which the better guide has the larger test error.

    guide : "alignment", of which more is better, or "validation_error". Pairs that are equal in
        either respect count half.
    """
    sign = -1 if guide == "alignment" else 1
    shares: dict[int, list[float]] = defaultdict(list)
    wanted = list(pairs)
    for (_, repeat), methods in cells.items():
        for first, second in wanted:
            if first in methods and second in methods:
                a, b = methods[first], methods[second]
                agreement = sign * (a[guide] - b[guide]) * (a["error"] - b["error"])
                shares[repeat].append(0.5 - 0.5 * float(np.sign(agreement)))
    return [float(np.mean(some)) for some in shares.values()]


def parting_table(rows: Sequence[Row]) -> Table:
    body = []
    for data, ranks in RANKS.items():
        cells = cells_of(rows, data)
        groups = {"all pairs": list(combinations(ranks, 2))}
        groups |= {f"{a} and {b}": [(a, b)] for a, b in PAIRS if a in ranks}
        for name, pairs in groups.items():
            shown = [interval(misled(cells, pairs, g)) for g in ("alignment", "validation_error")]
            body.append([NAMES[data], name, *shown])
    header = ["tasks", "methods", "alignment misleads", "validation error misleads"]
    note = (
        "Share of cells in which the method with the higher test alignment, or with the lower "
        "validation error, has the larger test error, with 95 % intervals over repeats; ties count "
        "half, so chance is 50 %."
    )
    return Table("When alignment and error part", header, body, note)


def interval(values: Sequence[float]) -> str:
    """Mean and 95 % interval of Student's t, in percent."""
    found = mean(values)
    if not found.n:
        return NONE
    if found.n < 2:
        return f"{100 * found.value:.0f} %"
    half = float(stats.t.ppf(0.975, found.n - 1)) * found.error
    return f"{100 * found.value:.0f} ± {100 * half:.0f} %"
