"""python -m experiments run NAME | report | pictures | check | list"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments import results, runner
from experiments.check import check as check_rows
from experiments.configs import EXPERIMENTS
from experiments.readings import AXES

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "results.jsonl"
PICTURES = HERE.parent / "docs" / "_static" / "paper"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description="The paper, again.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run experiments; what has been run is not run again")
    run.add_argument("name", nargs="+", choices=[*EXPERIMENTS, "all"], metavar="NAME")
    run.add_argument("--repeats", type=positive, default=10, metavar="R")
    run.add_argument("--jobs", type=positive, default=1, metavar="J", help="cells at a time")
    run.add_argument("--timeout", type=float, default=runner.TIMEOUT, help="seconds for a cell")
    run.add_argument("--retry", action="store_true", help="run failed and timed-out cells again")
    run.add_argument("--tasks", nargs="+", metavar="TASK", help="only these tasks")
    run.add_argument("--methods", nargs="+", metavar="METHOD", help="only these methods")
    run.add_argument("--reading", nargs="+", type=choice, metavar="AXIS=CHOICE", default=[])
    run.add_argument("--dask", metavar="ADDRESS", help="a Dask cluster instead of processes")
    report = commands.add_parser("report", help="write the page and the summary")
    report.add_argument("--out", type=Path, metavar="DIRECTORY", help="default: beside the results")
    pictures = commands.add_parser("pictures", help="draw the pictures of the documentation")
    pictures.add_argument("--out", type=Path, metavar="DIRECTORY", default=PICTURES)
    check = commands.add_parser("check", help="run random cells again and compare their rows")
    check.add_argument("--cells", type=positive, default=30, metavar="N")
    check.add_argument("--seed", type=int, default=0)
    commands.add_parser("list", help="list experiments, tasks and methods")
    for command in (run, report, pictures, check):
        command.add_argument("--results", type=Path, default=RESULTS, metavar="FILE")
    for command in (report, pictures, check):
        command.add_argument(
            "--earlier",
            type=Path,
            metavar="FILE",
            help="rows for cells that have not been run again",
        )
    options = parser.parse_args(arguments)
    if options.command == "list":
        return list_experiments()
    if options.command == "run":
        return run_experiments(options)
    rows = results.merged(options.results, options.earlier)
    if not rows:
        message = "has no rows: python -m experiments run NAME makes some."
        raise SystemExit(f"{options.results} {message}")
    if options.command == "check":
        return int(check_rows(rows, options.cells, options.seed) > 0)
    # matplotlib is slow to import and a run does not need it.
    if options.command == "report":
        from experiments.report import write_report as write
    else:
        from experiments.lecture import draw as write
    for path in write(rows, options.out or options.results.parent):
        print(path)
    return 0


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
    return number


def choice(text: str) -> tuple[str, str]:
    """One choice of a reading, such as scale=raw."""
    axis, _, made = text.partition("=")
    if made not in AXES.get(axis, ()):
        known = ", ".join(f"{a}={c}" for a, choices in AXES.items() for c in choices)
        raise argparse.ArgumentTypeError(f"must be one of {known}; got {text}")
    return axis, made


def run_experiments(options: argparse.Namespace) -> int:
    names = list(EXPERIMENTS) if "all" in options.name else options.name
    experiments = [EXPERIMENTS[name]() for name in names]
    for given, known in (
        (options.tasks, {task for e in experiments for task in e.tasks}),
        (options.methods, {method for e in experiments for method in e.methods}),
    ):
        unknown = sorted(set(given or ()) - known)
        if unknown:
            raise SystemExit(f"{', '.join(unknown)}: unknown. Known: {', '.join(sorted(known))}.")
    reading = dict(options.reading)
    experiments = [e.restricted(options.tasks, options.methods, reading) for e in experiments]
    try:
        summary = runner.run(
            experiments,
            options.results,
            repeats=options.repeats,
            jobs=options.jobs,
            timeout=options.timeout,
            retry=options.retry,
            dask=options.dask,
        )
    except results.ResultsFileError as problem:
        raise SystemExit(str(problem)) from None
    print(outcome(summary, options.results))
    for row in summary.not_done:
        where = "/".join(str(row[k]) for k in ("experiment", "task", "repeat", "method"))
        print(f"{row['status']}: {where}: {row['error_message']}")
    if summary.missing:
        print(f"no data: {', '.join(summary.missing)}")
    return 0


def outcome(summary: runner.Summary, path: Path) -> str:
    """How many cells were run; if none because all have rows, also how to run some."""
    if summary.run == 0 and summary.skipped and not summary.missing:
        return (
            f"Nothing was run: all {summary.skipped} cells already have rows in {path}. Ask for "
            "more repeats with --repeats, run failed cells again with --retry, or run all cells "
            "into a new file with --results FILE."
        )
    return f"{summary.run} cells run, {summary.skipped} had rows, in {path}"


def list_experiments() -> int:
    for name, make in EXPERIMENTS.items():
        experiment = make()
        cells = len(experiment.pairs()) * len(experiment.choices)
        print(f"{name}: {experiment.title}, {cells} cells a repeat")
        print(f"  tasks    {', '.join(experiment.tasks)}")
        print(f"  methods  {', '.join(experiment.methods)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
