"""Cost against n: whole fits of 1e3 .. 1e6 rows, each in a process of its own.

Cells are appended to a file as they finish and not run again, so that the benchmark can be run in
parts (`--max-n`). The table gives ratios to kernalign at the same n; exponents are fitted to the
times beyond 20,000 rows, and drawn.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._row import Row

SIZES = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
MNIST_SIZES = (1000, 3000, 10_000, 30_000, 60_000)
#: Times up to here do not count for the exponent.
BEYOND = 20_000
RESULTS = Path("out") / "scale.jsonl"
Cell = tuple[str, str, int]
OURS = "kernalign"


def arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("--max-n", type=int, default=1_000_000, metavar="N", help="largest n")
    parser.add_argument("--min-n", type=int, default=0, metavar="N", help="smallest n")
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="synthetic, mnist")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="beginnings of method names")
    parser.add_argument("--timeout", type=float, default=7200, help="seconds for a cell")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE")
    parser.add_argument("--report", action="store_true", help="only print what the file holds")
    return parser.parse_args(list(given))


def cells(options: argparse.Namespace) -> list[Cell]:
    """Cells that can be run here, small ones first."""
    from benchmarks.scale_cell import METHODS

    has_mnist = (Path(os.environ.get("KERNALIGN_DATA", "")) / "mnist.npz").is_file()
    has_xrfm = importlib.util.find_spec("xrfm") is not None
    wanted = []
    for problem, sizes in (("synthetic", SIZES), ("mnist", MNIST_SIZES)):
        if options.problems and problem not in options.problems:
            continue
        if problem == "mnist" and not has_mnist:
            continue
        for method, (_, most) in METHODS.items():
            named = not options.methods or any(method.startswith(m) for m in options.methods)
            if not named or (method == "xrfm" and not has_xrfm):
                continue
            fits = [n for n in sizes if n <= most and options.min_n <= n <= options.max_n]
            wanted += [(problem, method, n) for n in fits]
    return sorted(wanted, key=lambda cell: cell[2])


def read(path: Path) -> dict[Cell, dict[str, Any]]:
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return {(row["problem"], row["method"], row["n"]): row for row in rows}


def measure(cell: Cell, timeout: float) -> dict[str, Any]:
    """Run one cell in a process of its own."""
    problem, method, n = cell
    command = [sys.executable, "-m", "benchmarks.scale_cell", problem, method, str(n)]
    row: dict[str, Any] = {"problem": problem, "method": method, "n": n}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=True)
    except subprocess.TimeoutExpired:
        return {**row, "status": f"more than {timeout:g} s"}
    except subprocess.CalledProcessError as error:
        return {**row, "status": (error.stderr.strip().splitlines() or ["failed"])[-1]}
    return {**row, "status": "done", **json.loads(done.stdout.splitlines()[-1])}


def exponent(rows: Sequence[dict[str, Any]]) -> float:
    """Slope of log time against log n beyond 20,000 rows; NaN for fewer than two sizes."""
    late = [(row["n"], row["seconds"]) for row in rows if row["n"] >= BEYOND]
    if len(late) < 2:
        return float("nan")
    n, seconds = np.log(np.array(late)).T
    return float(np.polyfit(n, seconds, 1)[0])


def run(given: Sequence[str] = ()) -> Iterator[Row]:
    options = arguments(given)
    have = read(options.results)
    if not options.report:
        options.results.parent.mkdir(parents=True, exist_ok=True)
        for cell in cells(options):
            if cell in have:
                continue
            have[cell] = measure(cell, options.timeout)
            with options.results.open("a") as file:
                file.write(json.dumps(have[cell]) + "\n")
            print(f"# {', '.join(map(str, cell))}: {_shown(have[cell])}", file=sys.stderr)
    done = {cell: row for cell, row in have.items() if row["status"] == "done"}
    yield from table(done)
    picture = options.results.with_suffix(".png")
    if done and plot(done, picture):
        print(f"# {picture}", file=sys.stderr)


def _shown(row: dict[str, Any]) -> str:
    if row["status"] != "done":
        return str(row["status"])
    return f"{row['seconds']:.1f} s, {row['peak']:.0f} MB, {100 * row['error']:.2f} %"


def table(done: dict[Cell, dict[str, Any]]) -> Iterator[Row]:
    """Every cell beside kernalign at the same n, then the exponents."""
    for (problem, method, n), row in sorted(
        done.items(), key=lambda item: (item[0][0], item[0][2])
    ):
        ours = done.get((problem, OURS, n))
        bar, goal = _bars(problem, method, n, done)
        ratio = "" if ours is None else f", {row['seconds'] / ours['seconds']:.2f}x the time"
        yield Row(f"{problem} n={n}: {method}{ratio}"[:66], _shown_short(row), bar, goal)
    for problem, method in sorted({cell[:2] for cell in done}):
        rows = [row for cell, row in done.items() if cell[:2] == (problem, method)]
        slope = exponent(rows)
        if np.isfinite(slope):
            what = f"{problem}: {method}, exponent of time beyond {BEYOND}"
            yield Row(what[:66], f"{slope:.2f}", "1.15" if method == OURS else "", "")


def _shown_short(row: dict[str, Any]) -> str:
    return f"{row['seconds']:.0f}s {row['peak']:.0f}MB {100 * row['error']:.2f}%"


def _bars(problem: str, method: str, n: int, done: dict[Cell, dict[str, Any]]) -> tuple[str, str]:
    """What a cell of kernalign must reach."""
    peer = done.get((problem, "Nystroem + LinearSVC grid search", n))
    if problem == "synthetic" and method == OURS and n == 10**6:
        return "900s 4096MB", "300s 2048MB"
    if problem == "synthetic" and method.startswith(f"{OURS}, 1000") and n == 10**5 and peer:
        return f"{100 * peer['error']:.2f}%", f"{80 * peer['error']:.2f}%"
    if problem == "mnist" and method == OURS and n == 60_000:
        if peer is None:
            return "2%", "1.2%"
        return f"{peer['seconds']:.0f}s 2%", f"{peer['seconds'] / 2:.0f}s 1.2%"
    return "", ""


def plot(done: dict[Cell, dict[str, Any]], path: Path) -> bool:
    """Cost against n, one panel a problem, exponents in the legend."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    problems = sorted({cell[0] for cell in done})
    figure = Figure(figsize=(6 * len(problems), 4.5), layout="constrained")
    for ax, problem in zip(
        figure.subplots(1, len(problems), squeeze=False)[0], problems, strict=True
    ):
        for method in sorted({cell[1] for cell in done if cell[0] == problem}):
            rows = sorted(
                (row for cell, row in done.items() if cell[:2] == (problem, method)),
                key=lambda row: row["n"],
            )
            slope = exponent(rows)
            label = method if np.isnan(slope) else f"{method}: n^{slope:.2f}"
            ax.loglog(
                [row["n"] for row in rows], [row["seconds"] for row in rows], "o-", label=label
            )
        ax.set(title=problem, xlabel="rows", ylabel="seconds of a whole fit")
        ax.legend(fontsize="small")
    figure.savefig(path, dpi=120)
    return True
