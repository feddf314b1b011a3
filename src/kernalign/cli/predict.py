"""`kernalign predict`: the predictions of a saved model for a table."""

from __future__ import annotations

import warnings
from argparse import Namespace
from pathlib import Path
from typing import Any

from kernalign._warnings import ColumnWarning
from kernalign.cli import tables
from kernalign.cli.console import Console
from kernalign.cli.errors import DataError, ModelError, OutputError
from kernalign.cli.fit import check_folder
from kernalign.persistence import ModelFileError, load, read_header, replacing


def run(options: Namespace, console: Console) -> None:
    check_folder(options.output)
    model, notes = opened(options.model)
    X = rows_for(notes, tables.read_table(options.data), options.model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ColumnWarning)
        answers = predictions(model, X)
    for line in dict.fromkeys(str(warning.message) for warning in caught):
        console.warn(f"Note: {line}")
    if options.interval is not None:
        add_interval(answers, model, X, options.interval)
    if options.output is None and not console.as_json:
        console.write(csv_text(answers))
    elif options.output is not None:
        write_table(answers, options.output)
        console.say(f"Predicted {len(answers)} rows: {options.output}")
    console.result(
        rows=len(answers),
        output=options.output,
        columns=list(answers.columns),
        predictions=answers.to_dict(orient="list") if options.output is None else None,
    )


def opened(path: str) -> tuple[Any, dict[str, Any]]:
    """A model and the notes that `fit` saved with it."""
    if not Path(path).is_file():
        raise ModelError(f"There is no model file {path}.")
    try:
        return load(path), read_header(path)["notes"]
    except ModelFileError as problem:
        raise ModelError(str(problem)) from None
    except OSError as problem:
        raise ModelError(f"{path} cannot be read: {problem.strerror}.") from None


def rows_for(notes: dict[str, Any], table: Any, path: str) -> Any:
    """The features that a model needs, from a table that may have more."""
    if "columns" not in notes:
        raise ModelError(
            f"{path} was not written by 'kernalign fit': it does not say which columns it needs. "
            "Use it from Python: kernalign.load(path).predict(X)."
        )
    columns: Any = notes["columns"]
    numbers: Any = notes.get("numbers")
    encoded: Any = notes.get("encoded")
    listed = all(
        isinstance(names, list) and all(isinstance(name, str) for name in names)
        for names in (columns, numbers)
    )
    if not listed or not isinstance(encoded, bool) or not set(numbers) <= set(columns):
        raise ModelError(f"{path} does not say, as 'kernalign fit' does, which columns it needs.")
    return tables.for_prediction(table, columns, numbers, encoded)


def predictions(model: Any, X: Any) -> Any:
    """A data frame: the prediction, and the probability of each class."""
    import pandas

    try:
        answers = pandas.DataFrame({"prediction": model.predict(X)})
        if hasattr(model, "predict_proba"):
            for label, column in zip(model.classes_, model.predict_proba(X).T, strict=True):
                answers[f"probability_{label}"] = column
    except ValueError as problem:
        raise DataError(f"These rows cannot be predicted: {problem}") from None
    return answers


def add_interval(answers: Any, model: Any, X: Any, coverage: float) -> None:
    """Columns `low` and `high`, or `set` for classes, the first ones after the prediction."""
    steps = getattr(model, "steps", None)
    last, rows = (model, X) if steps is None else (steps[-1][1], model[:-1].transform(X))
    try:
        if hasattr(last, "predict_set"):
            sets = last.predict_set(rows, coverage)
            classes = last.classes_.astype(str)
            answers.insert(1, "set", [" | ".join(classes[held]) for held in sets])
        else:
            low, high = last.predict_interval(rows, coverage).T
            answers.insert(1, "low", low)
            answers.insert(2, "high", high)
    except ValueError as problem:
        raise ModelError(str(problem)) from None


def csv_text(answers: Any) -> str:
    """CSV in which no cell is a formula that a spreadsheet would run.

    Text that starts like a formula is prefixed by an apostrophe.
    """
    safe = answers.rename(columns=_no_formula)
    for name in safe.columns:
        if safe[name].dtype.kind not in "biuf":
            safe[name] = safe[name].map(_no_formula)
    return str(safe.to_csv(index=False))


def _no_formula(cell: Any) -> Any:
    risky = isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{cell}" if risky else cell


def write_table(answers: Any, path: str) -> None:
    """CSV, or Parquet by the name's ending; complete or not at all."""
    try:
        with replacing(Path(path)) as stream:
            if Path(path).suffix.lower() in tables.PARQUET:
                answers.to_parquet(stream, index=False)
            else:
                stream.write(csv_text(answers).encode())
    except OSError as problem:
        raise OutputError(f"{path} cannot be written: {problem.strerror}.") from None
