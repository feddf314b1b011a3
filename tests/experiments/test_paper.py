"""The main claims at their small size: one repeat of the sine problem, through to the page."""

import itertools
import re

import numpy as np
import pytest

from experiments import results
from experiments.__main__ import main
from experiments.check import check, differences, some_cells
from experiments.figures import error_info, frequency_info
from experiments.generators import FREQUENCIES
from experiments.lecture import steps_info
from experiments.pages import common_choices, judge_all, readings_table
from experiments.readings import readings
from experiments.verdicts import NO_DATA, UNCLEAR

TEN_KERNELS = ("DA", "D1", "D2", "DU")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("paper") / "results.jsonl"
    methods = ["SVM 2", "SVM 2+12", "SVM 2+12+60", "CA", *TEN_KERNELS]
    command = ["run", "dirichlet", "--repeats", "1", "--results", str(path), "--methods"]
    assert main([*command, *methods]) == 0
    return path


@pytest.fixture(scope="module")
def by_method(path):
    return {row["method"]: row for row in results.read(path)}


def test_errors_of_given_frequencies(by_method):
    assert 0.20 < by_method["SVM 2"]["error"] < 0.35
    assert 0.12 < by_method["SVM 2+12"]["error"] < 0.26
    assert by_method["SVM 2+12+60"]["error"] < 0.05


def test_continuous_search_is_near_the_truth_and_ten_kernels_are_far(by_method):
    assert by_method["CA"]["error"] < 0.08
    for method in TEN_KERNELS:
        assert by_method[method]["error"] > 0.35


def test_frequencies_found(by_method):
    found = np.array(by_method["CA"]["sigmas"])
    for frequency in FREQUENCIES:
        assert np.abs(found - frequency).min() < 0.1


def test_report_has_every_part(path, capsys, tmp_path):
    assert main(["report", "--results", str(path), "--out", str(tmp_path)]) == 0
    assert str(tmp_path / "report.html") in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    # Self-contained: nothing is loaded from anywhere.
    assert not re.search(r"<(script|link|img)|url\(http|@import", page)
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    for name in ("dirichlet", "gaussians50", "eleven", "mnist"):
        assert f"`{name}`" in summary
    assert "26.1" in summary
    assert "no data" in summary


def test_a_rerun_gives_the_stored_rows_and_a_changed_row_is_found(path, capsys):
    rows = results.read(path)
    assert check(rows, 2) == 0
    assert "2 of 2 cells give their rows again" in capsys.readouterr().out
    cells = some_cells(rows, len(rows), seed=0)
    assert {cell.method for cell in cells} == {row["method"] for row in rows}
    row = rows[0]
    assert differences(row, row) == {}
    assert set(differences(row, {**row, "error": row["error"] + 0.001})) == {"error"}
    assert differences(row, {**row, "seconds": 1e9}) == {}


def test_earlier_rows_fill_cells_that_have_no_row(path, tmp_path):
    row = results.read(path)[0]
    new = tmp_path / "new.jsonl"
    with results.opened(new) as file:
        file.append({**row, "error": 0.5})
    found = {results.key_of(one): one for one in results.merged(new, path)}
    assert len(found) == len(results.read(path))
    assert found[results.key_of(row)]["error"] == 0.5


def test_each_step_of_the_picture_goes_to_the_top_of_its_curve():
    sigma, steps = steps_info(points=2001)
    assert len(steps) >= 3
    for step in steps:
        assert sigma[int(np.argmax(step.curve))] == pytest.approx(step.taken, abs=0.02)
    assert sorted(step.taken for step in steps[:3]) == pytest.approx(FREQUENCIES, abs=0.1)
    assert all(a.alignment < b.alignment for a, b in itertools.pairwise(steps))


def test_pictures_of_the_documentation_are_drawn(path, tmp_path):
    assert main(["pictures", "--results", str(path), "--out", str(tmp_path)]) == 0
    assert {file.name for file in tmp_path.iterdir()} == {"sine.svg", "steps.svg", "gamma.svg"}


def test_figures_show_what_the_rows_say(path, by_method):
    rows = results.read(path)
    errors = {name: error for name, error, _ in error_info(rows, "dirichlet")}
    assert errors["CA"] == pytest.approx(100 * by_method["CA"]["error"])
    assert [s for s, _ in frequency_info(rows, "CA")] == by_method["CA"]["sigmas"]


def test_one_repeat_gives_no_verdict(path):
    found = {one.claim.text: one.verdicts for one in judge_all(results.read(path))}
    for verdict in found["SVM 2+12+60 errs 2.3 %."]:
        assert verdict.verdict == UNCLEAR
        assert "(n = 1)" in verdict.evidence
    assert all(v.verdict == NO_DATA for v in found["CR-DC is faster than CR."])


def test_readings_are_counted_on_what_all_of_them_have(path):
    table = readings_table(judge_all(results.read(path)))
    assert len(table.rows) == len(readings()) == 8
    assert all(line[1:3] == ["0", "0"] for line in table.rows)


def test_readings_are_named_by_what_they_have_in_common():
    every = readings()
    assert common_choices([r for r in every if r["scale"] == "raw"]) == "raw rows"
    assert common_choices(every[:1]) == "raw rows, lambda by alignment, balanced labels"
    assert ";" in common_choices([every[0], every[-1]])


def test_unknown_task_and_empty_results_are_one_sentence(tmp_path):
    with pytest.raises(SystemExit, match="moon: unknown"):
        main(["run", "eleven", "--tasks", "moon", "--results", str(tmp_path / "r.jsonl")])
    with pytest.raises(SystemExit, match="has no rows"):
        main(["report", "--results", str(tmp_path / "none.jsonl")])
    with pytest.raises(SystemExit):
        main(["run", "eleven", "--reading", "scale=logarithmic"])


def test_list_names_every_experiment(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    assert "dirichlet-gaussian" in printed
    assert "CA corrected" in printed
