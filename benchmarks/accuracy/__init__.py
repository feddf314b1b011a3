"""How accurate the default fit is beside what people would use instead.

python -m benchmarks accuracy runs what has no row yet and prints the bars;
python -m benchmarks.accuracy --tasks ... --methods ... runs a part. Rows, tables and the page are
under benchmarks/results/accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks._row import Row
from benchmarks.accuracy.bars import bars
from benchmarks.accuracy.page import write_page
from benchmarks.accuracy.run import RESULTS, run_all
from experiments import results


def run() -> Iterator[Row]:
    run_all()
    rows = results.read(RESULTS)
    write_page(rows, RESULTS.parent)
    yield from bars(rows)
