"""Run some finished cells again and compare their rows with the stored ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments import results
from experiments.cells import Row
from experiments.configs import EXPERIMENTS
from experiments.runner import Cell, cells_of

#: What a rerun must give again; times and what depends on the machine are not among it.
COMPARED = ("error", "validation_error", "alignment", "train_alignment", "C", "n_kernels", "lambda")
#: Numbers that are computed in another order may differ in their last digits.
TOLERANCE = 1e-8


def some_cells(rows: Sequence[Row], number: int, seed: int) -> list[Cell]:
    """Random cells among those whose rows are all done."""
    done = {results.key_of(row) for row in rows if row["status"] == "done"}
    repeats = 1 + max((int(row["repeat"]) for row in rows), default=-1)
    known = [
        cell
        for cell in cells_of([make() for make in EXPERIMENTS.values()], repeats)
        if done.issuperset(cell.keys)
    ]
    chosen = np.random.default_rng(seed).permutation(len(known))[:number]
    return [known[k] for k in chosen]


def differences(old: Row, new: Row) -> dict[str, tuple[object, object]]:
    """Fields of two rows of one cell that differ."""
    return {
        name: (old.get(name), new.get(name))
        for name in COMPARED
        if not _alike(old.get(name), new.get(name))
    }


def _alike(a: object, b: object) -> bool:
    if a is None or b is None:
        return a is b
    return bool(np.isclose(float(str(a)), float(str(b)), rtol=TOLERANCE, atol=TOLERANCE))


def check(rows: Sequence[Row], number: int, seed: int = 0) -> int:
    """Print each cell that differs, and how many do not; returns the number that differ."""
    stored = {results.key_of(row): row for row in rows}
    cells = some_cells(rows, number, seed)
    wrong = 0
    for cell in cells:
        found = {results.key_of(row): row for row in cell.run(None)}
        changed = {key: differences(stored[key], row) for key, row in found.items()}
        changed = {key: fields for key, fields in changed.items() if fields}
        wrong += bool(changed)
        for key, fields in changed.items():
            print(f"{'/'.join(map(str, key))}: {fields}", flush=True)
    print(f"{len(cells) - wrong} of {len(cells)} cells give their rows again")
    return wrong
