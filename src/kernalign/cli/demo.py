"""`kernalign demo`: every command once, on data that ship with scikit-learn."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from sklearn.datasets import load_wine

from kernalign.cli.console import Console
from kernalign.cli.errors import OutputError
from kernalign.cli.tables import need_pandas


def run(options: Namespace, console: Console, command: Callable[[list[str]], None]) -> None:
    """Write a table into a folder, then run the commands that a user would."""
    need_pandas()
    folder = Path(options.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        data = load_wine(as_frame=True)
        table = data.frame.rename(columns={"target": "cultivar"})
        table["cultivar"] = [f"cultivar {code}" for code in table["cultivar"]]
        table.to_csv(folder / "wine.csv", index=False)
    except OSError as problem:
        raise OutputError(f"{folder} cannot be written: {problem.strerror}.") from None
    wine, model = str(folder / "wine.csv"), str(folder / "wine.kern")
    steps = [
        ["fit", wine, "--target", "cultivar", "-o", model],
        ["predict", model, wine, "-o", str(folder / "predictions.csv")],
        ["report", model, "--data", wine, "-o", str(folder / "report.html")],
    ]
    with console.collecting() as results:
        for step in steps:
            console.say(f"\n$ kernalign {shlex.join(step)}")
            command(step)
    console.say(f"\nOpen {folder / 'report.html'} in a browser.")
    console.result(steps=results)
