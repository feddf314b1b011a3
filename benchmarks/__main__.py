"""Run benchmarks: python -m benchmarks [NAME ...]; without a name, all of them.

Every row is a ratio or an error measured in this run; absolute times mean nothing.
"""

from __future__ import annotations

import argparse
import importlib
import sys

NAMES = (
    "pass_over_pairs",
    "memory",
    "grid_search",
    "penalty_path",
    "sine",
    "moons",
    "start_up",
    "options",
    "methods",
    "accuracy",
    "peers",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {', '.join(NAMES)}")
    names = parser.parse_args().names or list(NAMES)
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        sys.exit(f"No benchmark called {unknown[0]!r}. There are: {', '.join(NAMES)}.")
    print(f"{'what':66} {'measured':>12} {'bar':>12} {'goal':>12}")
    for name in names:
        for row in importlib.import_module(f"benchmarks.{name}").run():
            print(f"{row.what:66} {row.measured:>12} {row.bar:>12} {row.goal:>12}", flush=True)


if __name__ == "__main__":
    main()
