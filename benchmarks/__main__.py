"""Run benchmarks: python -m benchmarks [NAME ...]; without a name, all that are not named below.

`accuracy`, `tables`, `dask`, `files`, `feature_test`, `intervals`, `landmarks`, `many_rows`,
`own_error` and `scale` take long and run by name only.

Every row is a ratio or an error measured in this run; absolute times mean nothing.
`python -m benchmarks scale --help` tells the options of one that has its own.
"""

from __future__ import annotations

import argparse
import importlib
import sys

#: Those that take long, and options of their own: run by name only.
WITH_OPTIONS = (
    "accuracy",
    "tables",
    "dask",
    "files",
    "feature_test",
    "intervals",
    "landmarks",
    "many_rows",
    "own_error",
    "scale",
)
NAMES = (
    "pass_over_pairs",
    "combination",
    "memory",
    "grid_search",
    "penalty_path",
    "sine",
    "moons",
    "start_up",
    "structure",
    "default_fit",
    "options",
    "methods",
    "peers",
    *WITH_OPTIONS,
)


def main() -> None:
    given = sys.argv[1:]
    own = given[1:] if given[:1] and given[0] in WITH_OPTIONS else []
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {', '.join(NAMES)}")
    names = parser.parse_args(given[: len(given) - len(own)]).names
    names = names or [name for name in NAMES if name not in WITH_OPTIONS]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        sys.exit(f"No benchmark called {unknown[0]!r}. There are: {', '.join(NAMES)}.")
    rows_of = [importlib.import_module(f"benchmarks.{name}").run for name in names]
    if own:
        rows_of = [lambda run=rows_of[0]: run(own)]
    print(f"{'what':66} {'measured':>20} {'bar':>14} {'goal':>14}")
    for rows in rows_of:
        for row in rows():
            print(f"{row.what:66} {row.measured:>20} {row.bar:>14} {row.goal:>14}", flush=True)


if __name__ == "__main__":
    main()
