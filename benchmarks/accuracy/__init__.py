"""How accurate the default fit is beside what people would use instead.

python -m benchmarks accuracy runs what has no row yet and prints the bars, --report only prints;
python -m benchmarks.accuracy --tasks ... --methods ... runs a part. Rows, tables and the page are
under benchmarks/results/accuracy.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from benchmarks._row import Row
from benchmarks.accuracy.bars import bars
from benchmarks.accuracy.page import write_page
from benchmarks.accuracy.run import RESULTS, run_all
from benchmarks.accuracy.summary import TABLE, accuracy_table
from experiments import results


def run(given: Sequence[str] = ()) -> Iterator[Row]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks accuracy", description=__doc__)
    parser.add_argument("--report", action="store_true", help="only print what the rows say")
    if not parser.parse_args(list(given)).report:
        run_all()
    rows = results.read(RESULTS)
    write_page(rows, RESULTS.parent)
    TABLE.write_text(accuracy_table(rows), encoding="utf-8")
    yield from bars(rows)
