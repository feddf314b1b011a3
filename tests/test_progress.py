"""Progress: the true number of steps, the time left, and one line or plain lines."""

import io
import re
import warnings

import numpy as np
import pytest

import kernalign._progress as module
from kernalign import (
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    LpNormMKL,
)
from kernalign._progress import Progress, current, duration, one_step, watched
from kernalign._threads import map_tasks
from kernalign.estimators.steps import Costs
from kernalign.report import report_html

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
y = X[:, 0] + 0.1 * rng.normal(size=60)
QUICK = ContinuousAlignment(Gaussian(), max_iter=2)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Seconds that only pass when a test says so."""
    now = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    return now


def lines(capsys):
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("make", "steps"),
    [
        (lambda: KernelRegressor(), 7),
        (lambda: KernelRegressor(cv=3), 5),
        (lambda: KernelClassifier(), 7),
        (lambda: KernelClassifier(QUICK, cv=4), 6),
        (lambda: KernelClassifier([QUICK, QUICK], cv=3), 6),
        (lambda: KernelClassifier(LpNormMKL([Gaussian().at(1.0)]), C=[0.1, 1.0], cv=3), 4),
        (lambda: KernelRegressor(QUICK, solver="nystroem", cv=3), 5),
        (lambda: KernelRegressor([QUICK, QUICK], solver="nystroem", cv=3), 12),
    ],
    ids=["regressor", "folds", "classifier", "alignment", "two", "one stage", "features", "sample"],
)
@pytest.mark.filterwarnings("ignore::kernalign.AlignmentWarning")
def test_the_number_of_steps_is_known_before_they_begin(make, steps, capsys):
    model = make().set_params(verbose=1)
    model.fit(X, y > 0 if isinstance(model, KernelClassifier) else y)
    first, *ticks, last = lines(capsys)
    name = type(model).__name__
    assert re.match(rf"{name}, 60 rows: {steps} steps(, about \d+ s)?$", first)
    counts = [int(re.match(rf"{name}, 60 rows: (\d+) of {steps} ", line)[1]) for line in ticks]
    assert counts == list(range(1, steps + 1))
    assert re.match(rf"{name}, 60 rows: done in [\d.]+ s$", last)


def test_the_default_fit_tells_its_time_before_it_begins(capsys):
    KernelRegressor(verbose=True).fit(X, y)
    assert re.search(r"7 steps, about \d+ s$", lines(capsys)[0])
    # More rows and more columns take longer.
    small, large, wide = Costs.of(100, 5), Costs.of(3000, 5), Costs.of(100, 50)
    for step in ("search", "machine", "fold"):
        assert getattr(small, step) < getattr(large, step)
        assert getattr(small, step) <= getattr(wide, step)


def test_silence_unless_asked(capsys):
    KernelRegressor().fit(X, y)
    assert lines(capsys) == []


def test_verbose_changes_nothing():
    plain, shown = KernelRegressor().fit(X, y), KernelRegressor(verbose=1).fit(X, y)
    np.testing.assert_array_equal(plain.predict(X), shown.predict(X))


def test_the_time_left_is_that_of_the_costs_left(clock):
    progress = Progress("fit", shown=True, stream=io.StringIO())
    progress.plan([6.0, 3.0, 3.0], "9 rows", seconds=40.0)
    assert progress.line() == "fit, 9 rows: 3 steps, about 40 s"
    clock[0] = 10.0
    progress.tick("kernel", 6.0)
    assert progress.seconds_left() == pytest.approx(10.0)
    assert progress.line("kernel") == "fit, 9 rows: 1 of 3 steps (kernel), about 10 s left"
    clock[0] = 20.0
    progress.tick("fold", 3.0)
    assert progress.seconds_left() == pytest.approx(20.0 * 3 / 9)
    progress.reach(3)
    assert progress.line() == "fit, 9 rows: 3 of 3 steps"


def test_a_terminal_has_one_line(clock):
    stream = Terminal()
    progress = Progress("fit", shown=True, stream=stream)
    with watched(progress):
        progress.plan(2, seconds=5.0)
        clock[0] = 1.0
        progress.tick("a long name of a step")
        progress.tick()
    written = stream.getvalue()
    assert written.endswith("\n")
    assert written.count("\n") == 1
    shown = written.rstrip("\n").split("\r")
    assert shown[-1].rstrip() == "fit: done in 1.0 s"
    # What was longer is rubbed out.
    assert len(shown[-1]) == max(map(len, shown))


def test_the_line_of_a_command_goes_away():
    stream = Terminal()
    with watched(Progress("fit", shown=True, kept=False, stream=stream)) as progress:
        progress.plan(1)
    last = stream.getvalue().split("\r")
    assert last[-1] == ""
    assert not last[-2].strip()


def test_a_stream_that_is_closed_does_not_end_the_work():
    stream = io.StringIO()
    stream.close()
    with watched(Progress("fit", shown=True, stream=stream)) as progress:
        progress.plan(1)
        progress.tick()
    assert progress.done == 1


def test_fits_inside_another_work_are_steps_of_it(capsys):
    with watched(Progress("both", shown=True)) as progress:
        progress.plan(2)
        for name in ("one", "two"):
            with one_step(name):
                KernelRegressor(QUICK, C=1.0, verbose=1).fit(X, y)
    assert progress.done == progress.total == 2
    assert [line.split(",")[0] for line in lines(capsys)][:3] == [
        "both: 2 steps",
        "both: 1 of 2 steps (one)",
        "both: 2 of 2 steps (two)",
    ]


def test_threads_add_to_the_same_progress():
    with watched(Progress("fit", shown=False)) as progress:
        map_tasks(lambda i: current().tick(), range(20))
    assert progress.done == 20


def test_a_report_shows_its_fits_and_pictures(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelClassifier(QUICK, C=1.0).fit(X, y > 0)
        report_html(model, X, y > 0, verbose=1)
        report_html(model, verbose=1)
    written = lines(capsys)
    # The number of steps is known before the first.
    assert written[0] == "report: 5 steps"
    done = ["tuned RBF SVM", "gradient boosting", "importance of columns", "facts", "pictures"]
    for t, what in enumerate(done):
        assert written[t + 1].startswith(f"report: {t + 1} of 5 steps ({what})")
    assert written[7] == "report: 2 steps"


def test_durations():
    assert [duration(s) for s in (0.2, 60, 600, 7200)] == ["1 s", "60 s", "10 min", "2.0 h"]
