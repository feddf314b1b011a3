"""Hostile tables for the command line: a documented exit code and one JSON object."""

import contextlib
import io
import json
import tempfile
from pathlib import Path

import numpy as np

from kernalign.cli import main

CODES = {0, 2, 3, 4, 5}
CELLS = [
    "1",
    "2.5",
    "-3e5",
    "1e400",
    "inf",
    "-inf",
    "nan",
    "",
    " ",
    "NA",
    "x",
    "rose",
    "=cmd()",
    "'",
    '"',
    "1,5",
    "2024-01-01",
    "TRUE",
    "\x00",
    "é",
    "🌹",
    "z" * 3000,
    "0x10",
    "1_000",
    "+1",
    "<b>",
    "a\tb",
]
NAMES = ["a", "b", "a ", " a", "", "kind", "kind ", "1", "é", "=x", "a,b", '"q"', "z" * 500, "\t"]


def table(rng):
    """The bytes of a table, good or bad."""
    separator = str(rng.choice(list(",;\t|")))
    d, n = int(rng.integers(0, 6)), int(rng.integers(0, 25))
    names = [NAMES[i] for i in rng.integers(len(NAMES), size=d)] + ["kind"] * int(
        rng.integers(3) > 0
    )
    lines = [separator.join(names)]
    few = [CELLS[i] for i in rng.integers(len(CELLS), size=4)]
    honest = rng.integers(3) == 0
    for _ in range(n):
        width = len(names) + int(rng.integers(20) == 0)
        cells = [
            f"{rng.normal():.3g}" if honest or rng.integers(2) else few[rng.integers(4)]
            for _ in range(max(0, width - 1))
        ]
        lines.append(separator.join([*cells, str(rng.choice(["x", "y", few[0]]))]))
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    kind = rng.integers(12)
    if kind == 0:
        data = data.decode(errors="ignore").encode("utf-16")
    elif kind == 1:
        data = data[: int(rng.integers(0, len(data) + 1))]
    elif kind == 2:
        data += rng.bytes(30)
    return data


def words(rng, folder):
    data, model = folder / "t.csv", folder / "m.kern"
    data.write_bytes(table(rng))
    kind = rng.integers(6)
    if kind < 4:
        given = ["fit", data, "--target", str(rng.choice(["kind", "a", "", "nothing"]))]
        given += ["--learner", str(rng.choice(["du", "ca"])), "-o", model]
        given += ["--encode"] * int(rng.integers(2)) + ["--no-scale"] * int(rng.integers(2))
        if rng.integers(4) == 0:
            given += ["--drop", str(rng.choice(NAMES))]
        if rng.integers(4) == 0:
            given += ["--task", str(rng.choice(["classification", "regression"]))]
        return given
    if kind == 4:
        model.write_bytes(rng.bytes(int(rng.integers(0, 200))))
        return ["predict", model, data]
    given = ["fit", "predict", "--target", "-o", "--json", "--row", "-1", str(data), "", "x" * 100]
    return [given[i] for i in rng.integers(len(given), size=rng.integers(0, 5))]


def attack(seed):
    """What is wrong with how a command of this seed ends, or None."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = [str(word) for word in words(rng, folder)]
        problem = _met([*given, "--json"])
        if problem is None and given[:1] == ["fit"] and (folder / "m.kern").exists():
            # The model meets another table.
            (folder / "n.csv").write_bytes(table(rng))
            other = folder / ("t.csv" if rng.integers(2) else "n.csv")
            problem = _met(["predict", str(folder / "m.kern"), str(other), "--json"])
        return None if problem is None else f"{problem} {given}"[:500]


def _met(given):
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(given)
    except BaseException as problem:
        return f"{type(problem).__name__}: {problem}"
    try:
        found = json.loads(out.getvalue())
    except ValueError:
        return f"exit code {code} without one JSON object: {out.getvalue()[:100]!r}"
    if code not in CODES or err.getvalue() or not isinstance(found, dict):
        return f"exit code {code}: {found} {err.getvalue()[:200]}"
    return None
