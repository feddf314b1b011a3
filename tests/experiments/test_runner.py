"""Every cell becomes one row, whatever happens to it or to the run."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from experiments import readings, results, runner
from experiments.__main__ import outcome
from experiments.configs import EXPERIMENTS
from experiments.datasets import MissingDataError
from tests.experiments import toy

ROOT = Path(__file__).parents[2]
SLOW_RUN = """
import sys
from pathlib import Path
from experiments import runner
from tests.experiments import toy
runner.run([toy.experiment(slow=toy.slow)], Path(sys.argv[1]), repeats=10, jobs=int(sys.argv[2]))
"""


def run(path, *experiments, **options):
    return runner.run(experiments, path, **{"repeats": 2, "stream": StringIO(), **options})


def keys(path):
    return [results.key_of(json.loads(line)) for line in path.read_text().splitlines()]


def test_every_cell_is_a_row_with_time_versions_and_machine(tmp_path):
    path = tmp_path / "results.jsonl"
    summary = run(path, toy.experiment(works=toy.works, slow=toy.slow))
    rows = results.read(path)
    assert summary.run == len(rows) == 8
    for row in rows:
        assert row["status"] == "done"
        assert row["versions"]["kernalign"]
        assert row["machine"]
    assert all(row["wall"] >= 0.15 for row in rows if row["method"] == "slow")


def test_failing_cell_is_a_row(tmp_path):
    path = tmp_path / "results.jsonl"
    summary = run(path, toy.experiment(fails=toy.fails, works=toy.works))
    assert len(summary.not_done) == 4
    failed = [row for row in results.read(path) if row["status"] == "failed"]
    assert {row["method"] for row in failed} == {"fails"}
    assert "ArithmeticError: no such kernel (toy.py:" in failed[0]["error_message"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_timed_out_cell_is_a_row_even_if_it_catches_exceptions(tmp_path, jobs):
    path = tmp_path / "results.jsonl"
    experiment = toy.experiment(hangs=toy.hangs, works=toy.works)
    start = time.monotonic()
    run(path, experiment, repeats=1, timeout=0.3, jobs=jobs)
    assert time.monotonic() - start < 30
    status = {(row["task"], row["method"]): row["status"] for row in results.read(path)}
    assert status == {
        ("one", "hangs"): "timeout",
        ("two", "hangs"): "timeout",
        ("one", "works"): "done",
        ("two", "works"): "done",
    }


def test_finished_cells_are_not_run_again_and_failed_ones_only_on_request(tmp_path):
    path = tmp_path / "results.jsonl"
    experiment = toy.experiment(works=toy.works, fails=toy.fails)
    run(path, experiment)
    before = path.read_bytes()
    assert run(path, experiment).run == 0
    assert path.read_bytes() == before
    assert run(path, experiment, retry=True).run == 4
    assert run(path, experiment, repeats=3).run == 4
    assert len(results.read(path)) == 12


def test_run_without_open_cells_says_so_and_what_to_do(tmp_path):
    path = tmp_path / "results.jsonl"
    experiment = toy.experiment(works=toy.works)
    assert outcome(run(path, experiment), path) == f"4 cells run, 0 had rows, in {path}"
    again = outcome(run(path, experiment), path)
    assert again.startswith(f"Nothing was run: all 4 cells already have rows in {path}.")
    for option in ("--repeats", "--retry", "--results"):
        assert option in again


@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_run_resumes_with_every_cell_once(tmp_path, jobs):
    path = tmp_path / "results.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_RUN, str(path), str(jobs)],
        cwd=ROOT,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while not path.exists() or path.read_bytes().count(b"\n") < 4:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    survived = path.read_text().splitlines()
    assert 4 <= len(survived) < 20
    with path.open("a") as file:
        file.write('{"experiment": "toy", "task": "on')
    summary = run(path, toy.experiment(slow=toy.slow), repeats=10, jobs=jobs)
    lines = path.read_text().splitlines()
    assert lines[: summary.skipped] == survived[: summary.skipped]
    assert summary.skipped + summary.run == 20
    assert len(keys(path)) == len(set(keys(path))) == 20


FULL_DISK = """
import json, resource, sys
from pathlib import Path
from experiments import results
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
row = {"experiment": "toy", "task": "one", "method": "works", "status": "done"}
written = 0
with results.opened(Path(sys.argv[1])) as file:
    try:
        while True:
            file.append({**row, "repeat": written, "text": "x" * 70})
            written += 1
    except results.ResultsFileError as problem:
        print(json.dumps([written, str(problem)]))
    # Room again: the next row stands on a line of its own.
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    file.append({**row, "repeat": written})
"""


@pytest.mark.parametrize("room", [1000, 1057, 1499])
def test_a_full_disk_is_a_sentence_and_every_row_claimed_is_there(tmp_path, room):
    path = tmp_path / "results.jsonl"
    command = [sys.executable, "-c", FULL_DISK, str(path), str(room)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    written, said = json.loads(done.stdout)
    assert written >= 4
    assert "cannot be written: File too large. All rows before are whole" in said
    assert [row["repeat"] for row in results.read(path)] == list(range(written + 1))


def children(pid):
    """Processes below a process, workers of workers included."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *children(int(child))]
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks into /proc")
def test_workers_end_with_a_killed_runner(tmp_path):
    path = tmp_path / "results.jsonl"
    script = SLOW_RUN.replace("repeats=10", "repeats=1000")
    command = [sys.executable, "-c", script, str(path), "2"]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 90
        while not path.exists() or path.read_bytes().count(b"\n") < 4:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        workers = children(process.pid)
        assert len(workers) >= 2
        process.kill()
        process.wait()
        deadline = time.monotonic() + 30
        while any(Path(f"/proc/{worker}").exists() for worker in workers):
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_two_runs_do_not_write_to_one_file(tmp_path):
    path = tmp_path / "results.jsonl"
    with results.opened(path), pytest.raises(RuntimeError, match="Another run"):
        run(path, toy.experiment(works=toy.works))


def test_missing_data_stops_its_task_only(tmp_path):
    def missing(repeat):
        raise MissingDataError("The data set 'x' is missing.")

    path = tmp_path / "results.jsonl"
    experiment = toy.experiment(works=toy.works)
    experiment.tasks["lost"] = missing
    stream = StringIO()
    summary = run(path, experiment, stream=stream)
    assert summary.missing == {"toy/lost": "The data set 'x' is missing."}
    assert "toy/lost: not run. The data set 'x' is missing." in stream.getvalue()
    assert {row["task"] for row in results.read(path)} == {"one", "two"}


def test_line_that_is_no_row_is_an_error(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text("nonsense\n")
    with pytest.raises(ValueError, match="line 1, is not a row"):
        results.read(path)


def test_progress_tells_the_time_left(tmp_path):
    cells = runner.cells_of([toy.experiment(works=toy.works, slow=toy.slow)], 5)
    progress = runner.Progress(cells, 2, StringIO())
    for method, wall in (("works", 1.0), ("slow", 3.0)):
        progress.show([{"experiment": "toy", "task": "one", "repeat": 0, "method": method,
                        "wall": wall, "status": "done"}])  # fmt: skip
    assert progress.time_left() == pytest.approx((9 * 1.0 + 9 * 3.0) / 2)
    assert runner.clock(3725) == "1:02:05"


def test_readings_are_cells_of_their_own_and_a_shared_cell_gives_all_its_rows(tmp_path):
    path = tmp_path / "results.jsonl"
    choices = [{"scale": "raw"}, {"scale": "standardised"}]
    experiment = replace(
        toy.experiment(works=toy.works, shared=toy.Shared()),
        tasks={"one": toy.scaled_problem},
        choices=choices,
    )
    assert run(path, experiment, repeats=1).run == 4
    rows = results.read(path)
    assert [row["status"] for row in rows] == ["done"] * 6
    assert {(row["method"], *sorted(row["reading"].values())) for row in rows} == {
        ("works", "raw"),
        ("works", "standardised"),
        ("shared", "alignment", "raw"),
        ("shared", "error", "raw"),
        ("shared", "alignment", "standardised"),
        ("shared", "error", "standardised"),
    }
    assert run(path, experiment, repeats=1).run == 0
    raw = experiment.restricted(reading={"scale": "raw", "lambda": "error"})
    assert raw.choices == [{"scale": "raw"}]


def test_rows_belong_to_the_readings_that_they_agree_with():
    rows = [{"reading": {"scale": "raw"}}, {"reading": {"scale": "raw", "lambda": "error"}}, {}]
    reading = {"scale": "raw", "lambda": "alignment", "labels": "drawn"}
    assert readings.select(rows, reading) == [rows[0], rows[2]]
    assert readings.select(rows, {**reading, "scale": "standardised"}) == [rows[2]]
    assert len({readings.name_of(r) for r in readings.readings()}) == 8


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiment_has_cells_that_processes_can_be_given(name):
    import pickle

    experiment = EXPERIMENTS[name]()
    assert experiment.name == name
    assert experiment.pairs()
    assert pickle.loads(pickle.dumps(experiment)).pairs() == experiment.pairs()
