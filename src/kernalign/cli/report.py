"""`kernalign report`: a page about a saved model."""

from __future__ import annotations

from argparse import Namespace

from kernalign.cli import predict, tables
from kernalign.cli.console import Console
from kernalign.cli.errors import DataError, OutputError, UserError
from kernalign.cli.fit import check_folder
from kernalign.report import write_report


def run(options: Namespace, console: Console) -> None:
    check_folder(options.output)
    model, notes = predict.opened(options.model)
    X = y = None
    if options.data is not None:
        table = tables.read_table(options.data)
        X = predict.rows_for(notes, table, options.model)
        target = str(notes.get("target"))
        if target in table.columns:
            y = tables.labelled(table, target, str(notes.get("task", "auto"))).y
        else:
            console.warn(f"Note: {options.data} has no column {target!r}: errors are not measured.")
    if options.row is not None and X is None:
        raise UserError("--row needs the data: add --data.")
    row = options.row
    if row is not None and X is not None and not 0 <= row < len(X):
        raise UserError(f"--row must be from 0 to {len(X) - 1}, the rows of {options.data}.")
    try:
        with console.progress("measuring and drawing"):
            write_report(
                model,
                options.output,
                X,
                y=y,
                row=row,
                notes=notes,
                model_path=options.model,
                compare=not options.no_compare,
                max_rows=options.max_rows,
            )
    except ValueError as problem:
        raise DataError(f"The report cannot be made: {problem}") from None
    except OSError as problem:
        raise OutputError(f"{options.output} cannot be written: {problem.strerror}.") from None
    console.say(f"Report: {options.output}")
    console.result(report=options.output, model=options.model, compared=y is not None)
