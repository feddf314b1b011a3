"""`kernalign predict`: the predictions of a saved model for a table."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from kernalign.cli import models, tables
from kernalign.cli.console import Console
from kernalign.cli.errors import ModelError, OutputError
from kernalign.cli.fit import check_folder
from kernalign.persistence import ModelFileError, load, read_header, replacing


def run(options: Namespace, console: Console) -> None:
    check_folder(options.output)
    model, notes = opened(options.model)
    X = rows_for(notes, tables.read_table(options.data), options.model)
    answers = predictions(model, X)
    if options.interval is not None:
        add_interval(answers, model, X, options.interval)
    if options.output is None and not console.as_json:
        sys.stdout.write(answers.to_csv(index=False))
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
    """A model and the notes that `fit` kept with it."""
    if not Path(path).is_file():
        raise ModelError(f"There is no model file {path}.")
    try:
        return load(path), read_header(path)["notes"]
    except ModelFileError as problem:
        raise ModelError(str(problem)) from None


def rows_for(notes: dict[str, Any], table: Any, path: str) -> Any:
    """The features that a model needs, from a table that may hold more."""
    if "columns" not in notes:
        raise ModelError(
            f"{path} was not written by 'kernalign fit': it does not say which columns it needs. "
            "Use it from Python: kernalign.load(path).predict(X)."
        )
    X = tables.for_prediction(table, notes["columns"], notes["numbers"], notes["encoded"])
    return models.as_objects(X)


def predictions(model: Any, X: Any) -> Any:
    """A data frame: the prediction, and the probability of each class."""
    import pandas

    answers = pandas.DataFrame({"prediction": model.predict(X)})
    if hasattr(model, "predict_proba"):
        for label, column in zip(model.classes_, model.predict_proba(X).T, strict=True):
            answers[f"probability_{label}"] = column
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


def write_table(answers: Any, path: str) -> None:
    """CSV, or Parquet by the name's ending; complete or not at all."""
    try:
        with replacing(Path(path)) as stream:
            if Path(path).suffix.lower() in tables.PARQUET:
                answers.to_parquet(stream, index=False)
            else:
                stream.write(answers.to_csv(index=False).encode())
    except OSError as problem:
        raise OutputError(f"{path} cannot be written: {problem.strerror}.") from None
