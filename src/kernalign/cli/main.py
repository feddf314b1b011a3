"""The parser, and the translation of errors to messages and exit codes."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kernalign.cli.console import Console
from kernalign.cli.errors import (
    INTERRUPTED,
    OK,
    OUTPUT,
    PROGRAM,
    USAGE,
    EndedError,
    UserError,
)

EXAMPLES = """\
examples:
  kernalign demo
  kernalign fit wine.csv --target cultivar -o wine.kern
  kernalign fit survey.csv --target bought --drop name -o survey.kern
  kernalign predict wine.kern new.csv --interval 0.9 -o predictions.csv
  kernalign report wine.kern --data wine.csv -o report.html
  kernalign compare wine.csv --target cultivar -o compare.png

exit codes:
  0    success
  1    internal error (please report it)
  2    wrong command line, or a package that is not installed
  3    data that cannot be used; the message names the column and a remedy
  4    model file that cannot be used
  5    file, or standard output, that cannot be written
  130  interrupted; no incomplete file is left behind
  143  ended by the system (128 plus the number of the signal); no incomplete file either
"""

_TABLE = "CSV (comma, semicolon, tab) or Parquet"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code, which is always one of those in the help."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    console = Console("--json" in arguments, quiet=False)
    try:
        with _signals():
            options = _parser().parse_args(arguments)
            console = Console(options.json, options.quiet)
            _run_quietly(options, console)
    except UserError as mistake:
        console.error(str(mistake), mistake.code)
        return mistake.code
    except (KeyboardInterrupt, EndedError) as end:
        code = end.code if isinstance(end, EndedError) else INTERRUPTED
        console.error("Interrupted: no file was changed.", code)
        return code
    except SystemExit as leave:
        # argparse has printed the help or the version.
        return leave.code if isinstance(leave.code, int) else USAGE
    except Exception as problem:
        return _failed(problem, console)
    return OK


def _failed(problem: Exception, console: Console) -> int:
    """One sentence for an unexpected error."""
    if isinstance(problem, ImportError):
        console.error(str(problem), USAGE)
        return USAGE
    if isinstance(problem, MemoryError):
        console.error("There is not enough memory for these data: use fewer rows.", PROGRAM)
        return PROGRAM
    if isinstance(problem, OSError):
        named = f"{problem.filename} " if problem.filename else "A file "
        console.error(f"{named}cannot be used: {problem.strerror or problem}.", OUTPUT)
        return OUTPUT
    frames = traceback.extract_tb(problem.__traceback__)
    where = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else "unknown"
    console.error(
        f"An error of the program, please report it: {type(problem).__name__} ({where}): {problem}",
        PROGRAM,
    )
    return PROGRAM


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Turn termination signals into exceptions, so that no incomplete file is left."""
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        names = []

    def end(number: int, frame: object) -> None:
        raise EndedError(number)

    before = {name: signal.signal(getattr(signal, name), end) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def _run_quietly(options: argparse.Namespace, console: Console) -> None:
    """Run a command; warnings become notes at its end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        _run(options, console)
    for line in dict.fromkeys(str(warning.message) for warning in caught):
        console.warn(f"Note: {line}")


def _run(options: argparse.Namespace, console: Console) -> None:
    # Commands import what they need, so that `kernalign --help` does not import scikit-learn.
    if options.command == "fit":
        from kernalign.cli import fit

        fit.run(options, console)
    elif options.command == "predict":
        from kernalign.cli import predict

        predict.run(options, console)
    elif options.command == "report":
        from kernalign.cli import report

        report.run(options, console)
    elif options.command == "compare":
        from kernalign.cli import compare

        compare.run(options, console)
    else:
        from kernalign.cli import demo

        demo.run(options, console, lambda argv: _run(_parser().parse_args(argv), console))


class _Parser(argparse.ArgumentParser):
    """A parser that raises UserError."""

    def error(self, message: str) -> Any:
        raise UserError(f"{message}. {self.format_usage()}")


def _parser() -> argparse.ArgumentParser:
    from kernalign.cli.models import LEARNERS, QUICK

    parser = _Parser(
        prog="kernalign",
        description="Learn the kernel of a kernel machine from a table, and use it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"kernalign {version('kernalign')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    shared = _shared()
    learners = "; ".join(f"{name}: {what}" for name, (what, _) in LEARNERS.items())

    fit = _command(
        commands,
        "fit",
        "learn a kernel from a table and save the model",
        [shared, _data_options()],
        "kernalign fit wine.csv --target cultivar --learner ca-nd -o wine.kern",
    )
    fit.add_argument("--learner", default="auto", choices=list(LEARNERS), help=learners)
    fit.add_argument("-o", "--output", required=True, help="where to save the model (.kern)")

    predict = _command(
        commands,
        "predict",
        "predict the rows of a table with a saved model",
        [shared],
        "kernalign predict wine.kern new.csv -o predictions.csv",
    )
    predict.add_argument("model", help="a model that 'kernalign fit' saved")
    predict.add_argument("data", help=f"the table: {_TABLE}")
    predict.add_argument("-o", "--output", help="output file; default: standard output")
    predict.add_argument(
        "--interval",
        type=_share,
        metavar="COVERAGE",
        help="add columns 'low' and 'high' that contain the number with this probability, such as "
        "0.9, or a column 'set' of classes that contains the true one",
    )

    report = _command(
        commands,
        "report",
        "write a page about a saved model",
        [shared],
        "kernalign report wine.kern --data wine.csv --row 7 -o report.html",
    )
    report.add_argument("model", help="a model that 'kernalign fit' saved")
    report.add_argument("--data", help=f"the labelled table it was fitted to: {_TABLE}")
    report.add_argument(
        "--row", type=int, help="row of the data whose prediction is explained, counted from 0"
    )
    report.add_argument("--no-compare", action="store_true", help="skip cross-validation")
    _max_rows(report)
    report.add_argument("-o", "--output", required=True, help="where to write (.html)")

    compare = _command(
        commands,
        "compare",
        "learners, a tuned RBF SVM and gradient boosting on the same folds",
        [shared, _data_options()],
        "kernalign compare wine.csv --target cultivar --learners ca,ca-nd,du -o compare.png",
    )
    quick = ",".join(QUICK)
    compare.add_argument(
        "--learners", help=f"comma-separated list, or all (default {quick}); {learners}"
    )
    compare.add_argument("--folds", type=_folds, default=5, help="folds (default 5)")
    _max_rows(compare)
    compare.add_argument("-o", "--output", help="file of the plot (.png, .svg, .pdf)")

    demo = _command(
        commands,
        "demo",
        "run every command once on data that ship with scikit-learn",
        [shared],
        "kernalign demo -o wine-demo",
    )
    demo.add_argument("-o", "--output", default="kernalign-demo", help="a folder for the files")
    return parser


def _command(
    commands: Any, name: str, what: str, parents: list[argparse.ArgumentParser], example: str
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        parents=parents,
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return made


def _shared() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="one JSON object instead of text")
    shared.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    return shared


def _data_options() -> argparse.ArgumentParser:
    data = argparse.ArgumentParser(add_help=False)
    data.add_argument("data", help=f"the table: {_TABLE}")
    data.add_argument("--target", required=True, help="the column to predict")
    data.add_argument(
        "--task",
        default="auto",
        choices=["auto", "classification", "regression"],
        help="default: inferred from the target",
    )
    data.add_argument(
        "--drop", action="append", default=[], metavar="COLUMN", help="leave a column out"
    )
    data.add_argument(
        "--encode",
        action="store_true",
        help="no effect; accepted for scripts of earlier versions",
    )
    data.add_argument("--no-scale", action="store_true", help="keep the units of the columns")
    return data


def _max_rows(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--max-rows",
        type=_rows,
        default=1000,
        help="maximum number of rows for cross-validation (default 1000)",
    )


def _folds(text: str) -> int:
    return _whole(text, 2)


def _rows(text: str) -> int:
    return _whole(text, 20)


def _share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"must be a number between 0 and 1, got {text!r}")
    return number


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"must be a whole number from {least}, got {text!r}")
    return number
