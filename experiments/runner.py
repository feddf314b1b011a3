"""Run the cells of experiments, several at a time, and append each as it finishes."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TextIO

from joblib import Parallel, delayed, parallel_config

from experiments import results
from experiments.cells import Experiment, Row, run_cell
from experiments.datasets import MissingDataError, WrongDataError

#: Seconds after which a cell is given up, unless the user says otherwise.
TIMEOUT = 1800.0
#: Seconds between two looks of a worker at its runner.
WATCH = 0.5


@dataclass(frozen=True)
class Cell:
    experiment: Experiment
    task: str
    repeat: int
    method: str
    choice: dict[str, str] = field(default_factory=dict)

    @property
    def keys(self) -> list[results.Key]:
        """Of the rows that it gives."""
        where = self.experiment.name, self.task, self.repeat, self.method
        readings = self.experiment.readings_of(self.method, self.choice)
        return [(*where, results.text_of(reading)) for reading in readings]

    def run(self, timeout: float | None) -> list[Row]:
        where = self.experiment, self.task, self.repeat, self.method
        return run_cell(*where, timeout, self.choice)


@dataclass(frozen=True)
class Summary:
    """What a run did: cells run and skipped, rows that are not done, tasks without data."""

    run: int
    skipped: int
    not_done: list[Row]
    missing: dict[str, str]


def cells_of(experiments: Iterable[Experiment], repeats: int) -> list[Cell]:
    """All cells, repeat by repeat: a run that is stopped early has whole repeats."""
    return [
        Cell(experiment, task, repeat, method, choice)
        for experiment in experiments
        for repeat in range(repeats)
        for choice in experiment.choices
        for task, method in experiment.pairs()
    ]


def run(
    experiments: Sequence[Experiment],
    path: Path,
    *,
    repeats: int = 10,
    jobs: int = 1,
    timeout: float | None = TIMEOUT,
    retry: bool = False,
    dask: str | None = None,
    stream: TextIO = sys.stderr,
) -> Summary:
    """Run every cell that has no row yet.

    retry : run failed and timed-out cells again.
    dask : address of a cluster that takes the place of local processes.
    """
    with results.opened(path) as file:
        have = results.finished(results.read(path), retry)
        wanted = cells_of(experiments, repeats)
        open_cells = [cell for cell in wanted if not have.issuperset(cell.keys)]
        missing = missing_data(open_cells)
        todo = [cell for cell in open_cells if f"{cell.experiment.name}/{cell.task}" not in missing]
        for task, message in missing.items():
            print(f"{task}: not run. {message}", file=stream)
        progress = Progress(todo, jobs, stream)
        bad = []
        for rows in compute(todo, jobs, timeout, dask):
            for row in rows:
                file.append(row)
            progress.show(rows)
            bad += [row for row in rows if row["status"] != "done"]
        progress.close()
    return Summary(len(todo), len(wanted) - len(open_cells), bad, missing)


def missing_data(cells: Iterable[Cell]) -> dict[str, str]:
    """Tasks (experiment/task) whose data cannot be had, and why."""
    seen: dict[str, str | None] = {}
    for cell in cells:
        name = f"{cell.experiment.name}/{cell.task}"
        if name in seen:
            continue
        try:
            cell.experiment.tasks[cell.task](cell.repeat, **cell.choice)
            seen[name] = None
        except (MissingDataError, WrongDataError) as error:
            seen[name] = str(error)
        except Exception:
            # Not a matter of data: the cell itself will say what is wrong.
            seen[name] = None
    return {name: message for name, message in seen.items() if message is not None}


def compute(
    cells: Sequence[Cell], jobs: int, timeout: float | None, dask: str | None
) -> Iterator[list[Row]]:
    """Rows of cells in the order in which they finish; processes have one BLAS thread each."""
    if not cells:
        return
    if jobs == 1 and dask is None:
        for cell in cells:
            yield cell.run(timeout)
        return
    # Workers of a cluster are its own.
    runner = os.getpid() if dask is None else None
    with backend(jobs, dask):
        pool = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
        yield from pool(delayed(run_in_worker)(cell, timeout, runner) for cell in cells)


def run_in_worker(cell: Cell, timeout: float | None, runner: int | None) -> Row:
    """Run a cell in a process that ends with the runner, also where that is killed."""
    if runner is not None:
        end_with(runner)
    return cell.run(timeout)


@cache
def end_with(parent: int) -> None:
    """Watch the parent of this process, once."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def backend(jobs: int, dask: str | None) -> Iterator[None]:
    if dask is None:
        with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1):
            yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise RuntimeError(
            '--dask needs the extra "dask": pip install "kernalign[dask]".'
        ) from error
    with Client(dask), parallel_config(backend="dask"):
        yield


class Progress:
    """A line with the time left: on a terminal one that changes, else one now and then."""

    #: Seconds between lines where the output is a file.
    EVERY = 30.0

    def __init__(self, cells: Sequence[Cell], jobs: int, stream: TextIO):
        self.left: dict[tuple[str, str], int] = defaultdict(int)
        for cell in cells:
            self.left[cell.experiment.name, cell.method] += 1
        self.total, self.done, self.jobs, self.stream = len(cells), 0, max(1, jobs), stream
        self.walls: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.started = self.last = time.monotonic()
        self.terminal = stream.isatty()

    def show(self, rows: Sequence[Row]) -> None:
        """Count the rows of one cell."""
        row = rows[-1]
        kind = row["experiment"], row["method"]
        self.done += 1
        self.left[kind] -= 1
        self.walls[kind].append(sum(one["wall"] for one in rows))
        now = time.monotonic()
        if not self.terminal and now - self.last < self.EVERY and self.done < self.total:
            return
        self.last = now
        line = (
            f"{self.done}/{self.total} cells, {clock(now - self.started)} gone, "
            f"{clock(self.time_left())} left: {'/'.join(str(row[k]) for k in results.KEY)} "
            f"{row['status']}"
        )
        self.stream.write(f"\r\x1b[K{line}" if self.terminal else f"{line}\n")
        self.stream.flush()

    def time_left(self) -> float:
        """Cells to come, each as long as those of its method so far, or as the mean of all."""
        walls = [wall for some in self.walls.values() for wall in some]
        overall = sum(walls) / len(walls)
        total = 0.0
        for kind, number in self.left.items():
            some = self.walls.get(kind)
            total += number * (sum(some) / len(some) if some else overall)
        return total / self.jobs

    def close(self) -> None:
        if self.terminal and self.done:
            self.stream.write("\n")


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
