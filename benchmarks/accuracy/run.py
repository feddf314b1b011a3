"""Run the cells of the benchmark: a row each, appended as it finishes, nothing run twice."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy import peers, tasks
from experiments import runner
from experiments.cells import Experiment

RESULTS = Path(__file__).parent.parent / "results" / "accuracy" / "results.jsonl"
REPEATS = 10


def experiments() -> list[Experiment]:
    return [
        Experiment(
            "classification",
            "Share of wrong classes",
            dict(tasks.CLASSIFICATION),
            dict(peers.classifiers()),
        ),
        Experiment(
            "regression",
            "Squared error over the variance",
            dict(tasks.REGRESSION),
            dict(peers.regressors()),
        ),
    ]


def run_all(
    repeats: int = REPEATS,
    jobs: int = 2,
    names: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    retry: bool = False,
) -> runner.Summary:
    chosen = [e.restricted(names, methods) for e in experiments()]
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    return runner.run(
        [e for e in chosen if e.tasks and e.methods],
        RESULTS,
        repeats=repeats,
        jobs=jobs,
        retry=retry,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tasks", nargs="+", metavar="TASK")
    parser.add_argument("--methods", nargs="+", metavar="METHOD")
    parser.add_argument("--retry", action="store_true", help="run failed cells again")
    given = parser.parse_args()
    summary = run_all(given.repeats, given.jobs, given.tasks, given.methods, given.retry)
    print(f"{summary.run} cells run, {summary.skipped} had rows")
