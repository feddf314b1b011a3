"""`kernalign fit`: learn a kernel from a table and save the model."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from kernalign.cli import models, tables
from kernalign.cli.console import Console
from kernalign.cli.errors import DataError, OutputError, for_shell
from kernalign.persistence import save


def run(options: Namespace, console: Console) -> None:
    check_folder(options.output)
    table = tables.read_table(options.data)
    data = tables.labelled(table, options.target, options.task, options.drop)
    X = data.X
    columns = tables.check_columns(X)
    kinds = f"{data.task} ({data.reason}; --task overrides)"
    console.say(f"{options.data}: {len(X)} rows, {columns.in_words}. Task: {kinds}.")
    model = models.model(
        X,
        data.classification,
        options.learner,
        scale=not options.no_scale,
    )
    began = time.perf_counter()
    said = fitted(model, X, data.y, console)
    seconds = time.perf_counter() - began
    notes = {
        "target": options.target,
        "task": data.task,
        **needed_columns(model, X),
        "learner": options.learner,
        "rows": len(X),
        "fit_seconds": round(seconds, 3),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    try:
        save(model, options.output, notes=notes)
    except OSError as problem:
        raise OutputError(f"{options.output} cannot be written: {problem.strerror}.") from None
    last = model[-1] if hasattr(model, "steps") else model
    error = held_out_error(last)
    console.say(f"Learned in {seconds:.1f} s: {last.kernel_!r}")
    console.say(f"Alignment with the target: {last.alignment_:.3f}")
    if error is not None:
        shown = f"{100 * error:.1f} %" if data.classification else f"{np.sqrt(error):.4g} (rms)"
        console.say(f"Error on held-out rows: {shown} (C = {last.C_:g})")
    for line in said:
        console.warn(f"Note: {line}")
    console.say(f"Saved {options.output}")
    console.result(
        model=str(options.output),
        task=data.task,
        rows=len(X),
        features=X.shape[1],
        seconds=seconds,
        alignment=last.alignment_,
        C=last.C_,
        cv_error=error,
        kernels=[
            {"weight": weight, "family": type(kernel.family).__name__, **kernel.parameters}
            for weight, kernel in zip(last.kernel_.weights, last.kernel_.kernels, strict=True)
        ],
        notes=said,
    )


def needed_columns(model: Any, X: Any) -> dict[str, Any]:
    """The columns that a model needs, those that must be numbers, and whether cells may be empty.

    A model that was fitted to a table checks the cells itself.
    """
    columns = getattr(model, "columns_", None)
    if columns is None:
        names = [str(name) for name in X.columns]
        return {"columns": names, "numbers": names, "encoded": False}
    return {"columns": [c.name for c in columns if c.used], "numbers": [], "encoded": True}


def fitted(model: Any, X: Any, y: Any, console: Console) -> list[str]:
    """Fit in place, with progress; returns the warnings of the library."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with console.progress("learning"):
            try:
                model.fit(X, y)
            except ValueError as problem:
                raise DataError(f"The model cannot be fitted: {for_shell(str(problem))}") from None
    return list(dict.fromkeys(for_shell(str(warning.message)) for warning in caught))


def held_out_error(estimator: Any) -> float | None:
    """Error on held-out rows, if it was estimated."""
    error = float(getattr(estimator, "cv_error_", np.nan))
    return error if np.isfinite(error) else None


def check_folder(path: str | None) -> None:
    """Check the output folder before the computation."""
    if path is not None and not Path(path).parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {Path(path).parent}.")
    if path is not None and Path(path).is_dir():
        raise OutputError(f"{path} cannot be written: it is a folder.")
    if path is not None and Path(path).exists() and not Path(path).is_file():
        raise OutputError(f"{path} cannot be written: it is no regular file.")
