"""Every command, in process, on small tables: what it writes, says and returns."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from kernalign import KernelClassifier, KernelRegressor, kernels, load, save
from kernalign.cli import main
from kernalign.cli.console import Console
from kernalign.persistence import read_header


def flowers(n=60):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n, 2)), columns=["length", "width"])
    table["kind"] = np.where(table["length"] * table["width"] > 0, "rose", "lily")
    return table


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with tables and one fitted model, shared by the tests that only read."""
    folder = tmp_path_factory.mktemp("shop")
    flowers().to_csv(folder / "flowers.csv", index=False)
    code = main(
        ["fit", str(folder / "flowers.csv"), "--target", "kind", "-o", str(folder / "m.kern"), "-q"]
    )
    assert code == 0
    return folder


def run(capsys, *argv):
    code = main([str(word) for word in argv])
    out = capsys.readouterr()
    return code, out.out, out.err


# --- fit -----------------------------------------------------------------------------------------


def test_fit_saves_a_model_that_python_can_use(shop):
    model, table = load(shop / "m.kern"), flowers()
    assert isinstance(model, KernelClassifier)
    assert model.score(table[["length", "width"]], table["kind"]) > 0.8
    notes = read_header(shop / "m.kern")["notes"]
    assert notes["target"] == "kind"
    assert notes["columns"] == ["length", "width"]
    assert notes["task"] == "classification"


def test_fit_says_what_it_did(tmp_path, capsys):
    table = flowers(30)
    table.to_csv(tmp_path / "t.csv", index=False, sep=";")
    model = tmp_path / "m.kern"
    code, out, err = run(
        capsys, "fit", tmp_path / "t.csv", "--target", "kind", "--learner", "ca", "-o", model
    )
    assert code == 0
    assert "30 rows, 2 columns. Task: classification ('kind' holds 2 different labels" in out
    assert "Gaussian(sigma=" in out
    assert f"Saved {model}" in out
    assert err == "" or err.startswith("Note: ")


def test_regression_from_numbers_and_by_request(tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    table["y"] = np.sin(table["a"])
    table["count"] = np.arange(30) % 4
    table.to_parquet(tmp_path / "t.parquet")
    path, model = tmp_path / "t.parquet", tmp_path / "m.kern"
    code, out, _ = run(capsys, "fit", path, "--target", "y", "-o", model, "--json")
    assert code == 0
    assert json.loads(out)["task"] == "regression"
    assert isinstance(load(model), KernelRegressor)
    run(capsys, "fit", path, "--target", "count", "-o", model, "--task", "regression", "-q")
    assert isinstance(load(model), KernelRegressor)


def test_json_is_one_object_of_plain_numbers(tmp_path, capsys):
    flowers(30).to_csv(tmp_path / "t.csv", index=False)
    code, out, err = run(
        capsys, "fit", tmp_path / "t.csv", "--target", "kind", "-o", tmp_path / "m", "--json"
    )
    said = json.loads(out)
    assert code == 0
    assert err == ""
    assert said["rows"] == 30
    assert said["kernels"][0]["family"] in kernels.__all__
    assert said["kernels"][0]["weight"] > 0


@pytest.mark.parametrize("words", [[], ["--encode"], ["--learner", "ca"], ["--learner", "du"]])
def test_tables_are_taken_as_they_are(words, tmp_path, capsys):
    table = flowers(40)
    table["colour"] = np.where(table["length"] > 0, "red", "white")
    table.loc[[3, 5], "width"] = np.nan
    table.loc[7, "colour"] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.kern"
    code, out, err = run(capsys, "fit", tmp_path / "t.csv", "--target", "kind", *words, "-o", model)
    assert code == 0, err
    new = table.drop(columns="kind").iloc[:4].copy()
    new.loc[0, "colour"] = "never seen"
    new["extra"] = 1
    new.to_csv(tmp_path / "new.csv", index=False)
    code, out, err = run(capsys, "predict", model, tmp_path / "new.csv")
    assert code == 0, err
    assert out.splitlines()[0] == "prediction,probability_lily,probability_rose"
    assert len(out.splitlines()) == 5


# --- predict -------------------------------------------------------------------------------------


def test_predictions_are_the_models(shop, tmp_path, capsys):
    out_path = tmp_path / "out.csv"
    code, out, _ = run(capsys, "predict", shop / "m.kern", shop / "flowers.csv", "-o", out_path)
    assert code == 0
    assert f"Predicted 60 rows: {out_path}" in out
    answers, model = pd.read_csv(out_path), load(shop / "m.kern")
    X = flowers()[["length", "width"]]
    assert answers["prediction"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(answers.iloc[:, 1:], model.predict_proba(X), rtol=1e-9)
    run(capsys, "predict", shop / "m.kern", shop / "flowers.csv", "-o", tmp_path / "o.parquet")
    assert pd.read_parquet(tmp_path / "o.parquet")["prediction"].tolist() == list(
        answers["prediction"]
    )


def test_intervals_and_sets_are_the_models(shop, tmp_path, capsys):
    out_path = tmp_path / "out.csv"
    words = ("--interval", "0.8", "-o", out_path)
    run(capsys, "predict", shop / "m.kern", shop / "flowers.csv", *words)
    model, X = load(shop / "m.kern"), flowers()[["length", "width"]]
    sets = model.predict_set(X, 0.8)
    named = [" | ".join(model.classes_[row]) for row in sets]
    assert pd.read_csv(out_path)["set"].tolist() == named
    table = flowers().drop(columns="kind")
    table.to_csv(tmp_path / "t.csv", index=False)
    run(capsys, "fit", tmp_path / "t.csv", "--target", "width", "-o", tmp_path / "r.kern", "-q")
    run(capsys, "predict", tmp_path / "r.kern", tmp_path / "t.csv", *words)
    found = pd.read_csv(out_path)
    assert found.columns.tolist() == ["prediction", "low", "high"]
    model = load(tmp_path / "r.kern")
    wanted = model.predict_interval(table[["length"]], 0.8)
    np.testing.assert_allclose(found[["low", "high"]], wanted, rtol=1e-9)
    code, _, err = run(capsys, "predict", shop / "m.kern", "t.csv", "--interval", "90")
    assert code == 2
    assert "must be a number between 0 and 1, got '90'" in err


def test_predict_json(shop, capsys):
    code, out, _ = run(capsys, "predict", shop / "m.kern", shop / "flowers.csv", "--json")
    assert code == 0
    assert len(json.loads(out)["predictions"]["prediction"]) == 60


# --- compare -------------------------------------------------------------------------------------


def test_compare_has_a_table_and_a_picture(tmp_path, capsys):
    flowers(40).to_csv(tmp_path / "t.csv", index=False)
    picture = tmp_path / "c.png"
    words = ["compare", tmp_path / "t.csv", "--target", "kind", "--learners", "ca,du"]
    code, out, err = run(capsys, *words, "--folds", "2", "-o", picture)
    assert code == 0, err
    rows = [line.split()[0] for line in out.splitlines() if " to " in line]
    assert sorted(rows) == ["always", "ca", "du", "gradient", "tuned"]
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("learner", ["auto", "ca"])
def test_compare_tells_the_error_that_fit_tells(learner, tmp_path, capsys):
    flowers(40).to_csv(tmp_path / "t.csv", index=False)
    words = [tmp_path / "t.csv", "--target", "kind", "--json"]
    _, fitted, _ = run(capsys, "fit", *words, "--learner", learner, "-o", tmp_path / "m.kern")
    _, compared, _ = run(capsys, "compare", *words, "--learners", learner)
    (own,) = [s for s in json.loads(compared)["scores"] if s["name"] == learner]
    assert own["error"] == pytest.approx(json.loads(fitted)["cv_error"])


# --- mistakes ------------------------------------------------------------------------------------


def broken(name, change):
    def make(folder):
        table = flowers(30)
        table = change(table)
        table.to_csv(folder / "t.csv", index=False)

    return pytest.param(make, id=name)


def changed(**columns):
    return lambda table: table.assign(**columns)


def with_gap(table):
    table.loc[4, "width"] = np.nan
    return table


def with_gap_in_target(table):
    table.loc[[4, 6], "kind"] = None
    return table


MISTAKES = [
    (
        [],
        with_gap_in_target,
        3,
        ["The target 'kind' is empty in 2 rows (the first is row 4, counted"],
    ),
    ([], changed(kind="rose"), 3, ["The target 'kind' has one value only, 'rose'"]),
    ([], changed(kind=2.5), 3, ["The target 'kind' has one value only, 2.5."]),
    (["--target", "thing"], changed(), 3, ["does not have. Its columns are 'length'"]),
    ([], changed(width=np.inf), 3, ["Column 'width' cannot be used: it is infinite in rows 0, 1"]),
    (["--target", "knid"], changed(), 3, ["Did you mean 'kind'?", "'length', 'width', 'kind'"]),
    (["--drop", "no"], changed(), 3, ["--drop names a column 'no'"]),
    (["--drop", "width", "--drop", "length"], changed(), 3, ["no column beside the target"]),
    (["--task", "regression"], changed(), 3, ["holds text", "a regression needs numbers"]),
    (["--learner", "best"], changed(), 2, ["invalid choice: 'best'"]),
    (["-o", "no/where.kern"], changed(), 5, ["there is no folder no"]),
]


@pytest.mark.parametrize(("words", "change", "code", "said"), MISTAKES)
def test_mistakes_are_one_sentence(words, change, code, said, tmp_path, capsys):
    change(flowers(30)).to_csv(tmp_path / "t.csv", index=False)
    base = ["fit", tmp_path / "t.csv", "--target", "kind", "-o", tmp_path / "m.kern"]
    got, out, err = run(capsys, *base, *words)
    assert got == code
    assert out == ""
    for part in said:
        assert part in err
    assert "Traceback" not in err
    if code != 2:
        assert err.startswith("kernalign: ")
        assert len(err.splitlines()) == 1
    assert not (tmp_path / "m.kern").exists()


def test_identifiers_are_told_apart_from_categories(tmp_path, capsys):
    table = flowers(60)
    table["name"] = [f"flower {i}" for i in range(60)]
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", tmp_path / "t.csv", "--target", "kind", "-o", tmp_path / "m.kern"]
    code, _, err = run(capsys, *words)
    assert code == 0
    assert "Note: Text and identifiers are left out: 'name' (60 different texts in 60 rows)" in err
    assert "--drop leaves a column out" in err
    assert "kinds=" not in err
    # A column that the model does not use need not be there.
    table.drop(columns=["name", "kind"]).to_csv(tmp_path / "new.csv", index=False)
    code, out, err = run(capsys, "predict", tmp_path / "m.kern", tmp_path / "new.csv")
    assert (code, len(out.splitlines())) == (0, 61)


def test_demo_without_pandas_names_the_extra_and_makes_no_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    code, _, err = run(capsys, "demo", "-o", tmp_path / "demo")
    assert code == 2
    assert "pip install 'kernalign[cli]'" in err
    assert not (tmp_path / "demo").exists()


@pytest.mark.parametrize("words", [[], ["fit"], ["paint"], ["fit", "x.csv", "--target", "y"]])
def test_wrong_command_lines(words, capsys):
    code, _, err = run(capsys, *words)
    assert code == 2
    assert "usage: kernalign" in err


def test_files_that_cannot_be_read(shop, tmp_path, capsys):
    other = tmp_path / "other.kern"
    other.write_text("not a model")
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    for words, code, said in [
        (["predict", tmp_path / "no.kern", shop / "flowers.csv"], 4, "There is no model file"),
        (["predict", other, shop / "flowers.csv"], 4, "is not a model saved by kernalign"),
        (["predict", shop / "m.kern", tmp_path / "no.csv"], 3, "There is no file"),
        (["predict", shop / "m.kern", empty], 3, "cannot be read as a table"),
        (["report", other, "-o", tmp_path / "r.html"], 4, "is not a model saved by kernalign"),
        (["report", shop / "m.kern", "--row", "2", "-o", tmp_path / "r.html"], 2, "--data"),
    ]:
        got, _, err = run(capsys, *words)
        assert got == code
        assert said in err


def test_tables_that_do_not_fit_the_model(shop, tmp_path, capsys):
    for change, said in [
        (lambda t: t.drop(columns="width"), "The model needs a column 'width'"),
        (lambda t: t.assign(width="wide"), "Column 'width' cannot be used: it holds text"),
        (lambda t: t.assign(width=np.inf), "Column 'width' cannot be used: it is infinite"),
    ]:
        change(flowers(30)).to_csv(tmp_path / "t.csv", index=False)
        code, out, err = run(capsys, "predict", shop / "m.kern", tmp_path / "t.csv")
        assert (code, out) == (3, "")
        assert said in err


def test_models_from_python_say_what_they_lack(tmp_path, shop, capsys):
    X = flowers()[["length", "width"]]
    save(KernelClassifier(C=1.0).fit(X, flowers()["kind"]), tmp_path / "m.kern")
    code, _, err = run(capsys, "predict", tmp_path / "m.kern", shop / "flowers.csv")
    assert code == 4
    assert "was not written by 'kernalign fit'" in err


def test_errors_as_json(tmp_path, capsys):
    code, out, err = run(capsys, "predict", tmp_path / "no.kern", "x.csv", "--json")
    assert code == 4
    assert json.loads(out) == {
        "error": f"There is no model file {tmp_path}/no.kern.",
        "exit_code": 4,
    }
    assert err == ""


# --- help, progress, interruption ----------------------------------------------------------------


@pytest.mark.parametrize("words", [[], ["fit"], ["predict"], ["report"], ["compare"], ["demo"]])
def test_help_has_examples(words, capsys):
    code, out, _ = run(capsys, *words, "--help")
    assert code == 0
    assert "example" in out
    assert "kernalign " in out
    if not words:
        for exit_code in (0, 1, 2, 3, 4, 5, 130):
            assert f"\n  {exit_code} " in out


def test_commands_show_progress_on_a_terminal_only(monkeypatch, capsys):
    # Standard error is no terminal here, so a command is silent.
    with Console().progress("learning") as progress:
        assert not progress.shown
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    for console, shown in ((Console(), True), (Console(True), False), (Console(quiet=True), False)):
        with console.progress("learning") as progress:
            assert progress.shown == shown
            assert not progress.kept


def test_interruption_exits_with_130_and_leaves_nothing(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(1500, 6)), columns=list("abcdef"))
    table["y"] = np.sin(table["a"])
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", tmp_path / "t.csv", "--target", "y", "--learner", "ca-nd"]
    process = subprocess.Popen(
        [sys.executable, "-m", "kernalign", *map(str, words), "-o", str(tmp_path / "m.kern")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    # The first line is said when the data are read and learning begins.
    assert "1500 rows" in process.stdout.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "kernalign: Interrupted: no file was changed.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
