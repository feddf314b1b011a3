"""Run the attacks: python -m tests.fuzz MINUTES [--seed N] [--most N] [--only NAME ...]

The minutes are shared out among the attacks, of each of which there are at most so many. Seeds
follow each other from the first one, so that a run can be taken up where another ended. What is
found is printed, and its seed kept in cases.json.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

from tests.fuzz import bombs, commands, files, fits, kills, sequences, tables

ATTACKS = {
    "files": files.attack,
    "bombs": bombs.attack,
    "fits": fits.attack,
    "small-fits": fits.small_attack,
    "commands": commands.attack,
    "kills": kills.attack,
    "tables": tables.attack,
}
#: What the cases of some seeds reached.
COVERAGE = {"small-fits": fits.coverage}
CASES = Path(__file__).with_name("cases.json")
#: Sequences in one go.
BATCH = 25


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=10**9)
    names = [*ATTACKS, "sequences"]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = 0
    for name in options.only:
        seconds = 60 * options.minutes / len(options.only)
        found += run(name, options.seed, seconds, options.most)
    raise SystemExit(1 if found else 0)


def run(name, seed, seconds, most):
    """Attack for some seconds, or so many times; the number of cases found."""
    began, first, bad = time.monotonic(), seed, []
    spent = time.process_time()
    while time.monotonic() < began + seconds and seed < first + most:
        if name == "sequences":
            sequences.run(BATCH, always_the_same=False)
            seed += BATCH
            continue
        problem = ATTACKS[name](seed)
        if problem is not None:
            say(f"{name} {seed}: {problem[:300]}")
            bad.append(seed)
        seed += 1
    # Sequences have no seeds: hypothesis shrinks what it finds, and prints it.
    seeds = "" if name == "sequences" else f" (seeds {first} to {seed - 1})"
    spent = time.process_time() - spent
    say(f"{name}: {len(bad)} of {seed - first}{seeds}, {spent / 60:.1f} minutes of the processor")
    if name in COVERAGE:
        say(COVERAGE[name](range(first, seed)))
    if bad:
        keep(name, bad)
    return len(bad)


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def keep(name, seeds):
    """Add cases to those that every run of the tests tries."""
    cases = json.loads(CASES.read_text())
    cases[name] = sorted({*cases.get(name, []), *seeds})
    CASES.write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
