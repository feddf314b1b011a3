"""Whatever happens to tables, streams, disk and signals: an exit code and, for programs, JSON."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernalign.cli import main
from kernalign.cli.console import LONGEST, shortened
from tests.persistence.forging import forged

COMMAND = [sys.executable, "-m", "kernalign"]


def flowers(n=40):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n, 2)), columns=["length", "width"])
    table["kind"] = np.where(table["length"] > 0, "=cmd|' /C calc'!A0", "lily")
    return table


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    flowers().to_csv(folder / "flowers.csv", index=False)
    words = ["fit", folder / "flowers.csv", "--target", "kind", "--learner", "du"]
    assert main([*map(str, words), "-o", str(folder / "m.kern"), "-q"]) == 0
    return folder


def as_json(capsys, *argv):
    """The exit code and the one JSON object of a command."""
    code = main([*map(str, argv), "--json"])
    out = capsys.readouterr()
    assert out.err == ""
    found = json.loads(out.out)
    assert isinstance(found, dict)
    assert found.get("exit_code", 0) == code
    return code, found


#: Tables, and what is said of them by `fit --target kind`.
TABLES = {
    "names equal after strip": ("a, a,kind\n1,2,x\n3,4,y\n", 3, "Two columns of .* are called 'a'"),
    "same names": ("kind,kind \n1,2\n3,4\n", 3, "called 'kind'"),
    "a cell of a million characters": (
        f"a,kind\n{'z' * 10**6},x\n2,y\n",
        3,
        "2 different texts in 2 rows",
    ),
    "a name of a million characters": (f"{'z' * 10**6},kind\nq,x\n2,y\n", 3, r"zzz"),
    "too many columns": (
        f"{','.join(f'c{i}' for i in range(10_001))},kind\n",
        3,
        "10002 columns, and at most 10000",
    ),
    "infinite": (
        "a,kind\ninf,x\n1,y\n2,x\n3,y\n",
        3,
        "'a' cannot be used: it is infinite in row 0",
    ),
    "no rows": ("a,kind\n", 3, "has no rows"),
    "no bytes": ("", 3, "cannot be read as a table"),
    "no text": ("\x00\x00\x00\n\x00", 3, "column 'kind'|cannot be read"),
    "one quote": ('a,kind\n"1,x\n2,y\n', 3, "cannot be read|column"),
    "ragged": ("a,kind\n1,x,2,3\n1\n", 3, "cannot be read|column|empty in row"),
}


@pytest.mark.parametrize("name", TABLES)
def test_hostile_tables(name, tmp_path, capsys):
    text, wanted, said = TABLES[name]
    (tmp_path / "t.csv").write_text(text)
    code, found = as_json(
        capsys, "fit", tmp_path / "t.csv", "--target", "kind", "-o", tmp_path / "m.kern"
    )
    assert code == wanted
    assert len(found["error"]) <= LONGEST

    assert re.search(said, found["error"])
    assert not (tmp_path / "m.kern").exists()


def test_lists_in_cells(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": [[1], [2]], "kind": ["x", "y"]}).to_parquet(tmp_path / "t.parquet")
    words = ["--target", "kind", "--encode", "-o", tmp_path / "m.kern"]
    code, found = as_json(capsys, "fit", tmp_path / "t.parquet", *words)
    assert code == 3
    assert "'a' cannot be used: row 0 holds several values in one cell" in found["error"]


@pytest.mark.parametrize("command", ["predict", "report"])
def test_infinities_after_the_fit(command, shop, tmp_path, capsys):
    table = flowers()
    table.loc[4, "width"] = np.inf
    table.to_csv(tmp_path / "t.csv", index=False)
    words = [shop / "m.kern", tmp_path / "t.csv"]
    if command == "report":
        words = [shop / "m.kern", "--data", tmp_path / "t.csv", "-o", tmp_path / "r.html"]
    code, found = as_json(capsys, command, *words)
    assert code == 3
    assert "'width' is infinite in row 4 (counted from 0)" in found["error"]


def test_the_target_is_not_dropped(shop, tmp_path, capsys):
    words = ["--target", "kind", "--drop", "kind", "-o", tmp_path / "m.kern"]
    code, found = as_json(capsys, "fit", shop / "flowers.csv", *words)
    assert code == 2
    assert "--drop leaves out the target 'kind'" in found["error"]


def test_no_formula_is_written(shop, tmp_path, capsys):
    words = ["predict", shop / "m.kern", shop / "flowers.csv"]
    assert main([*map(str, words), "-o", str(tmp_path / "p.csv")]) == 0
    capsys.readouterr()
    assert main([*map(str, words)]) == 0
    for text in ((tmp_path / "p.csv").read_text(), capsys.readouterr().out):
        assert "'=cmd|" in text
        for line in text.splitlines():
            assert not any(cell.strip('"').startswith(tuple("=+@")) for cell in line.split(","))


@pytest.mark.parametrize(
    "words",
    [[], ["fit"], ["no-command"], ["fit", "t.csv", "--target"], ["compare", "t", "--folds", "x"]],
)
def test_wrong_command_lines_are_json_too(words, capsys):
    code, found = as_json(capsys, *words)
    assert code == 2
    assert found["error"]


def test_an_error_of_the_program_is_one_sentence(shop, capsys, monkeypatch):
    from kernalign.cli import predict

    def broken(*args):
        raise RuntimeError("it broke")

    monkeypatch.setattr(predict, "predictions", broken)
    code, found = as_json(capsys, "predict", shop / "m.kern", shop / "flowers.csv")
    assert code == 1
    assert "please report it: RuntimeError (test_robust.py, line" in found["error"]


@pytest.mark.parametrize(
    "notes",
    [{"columns": 3}, {"columns": ["length"], "numbers": None}, {"columns": [["length"]]}],
)
def test_notes_that_make_no_sense(notes, shop, tmp_path, capsys):
    path = tmp_path / "m.kern"
    path.write_bytes((shop / "m.kern").read_bytes())
    forged(path, lambda header, model: header.update(notes=notes))
    code, found = as_json(capsys, "predict", path, shop / "flowers.csv")
    assert code == 4
    assert "which columns it needs" in found["error"]


def test_columns_that_the_model_does_not_have(shop, tmp_path, capsys):
    path = tmp_path / "m.kern"
    path.write_bytes((shop / "m.kern").read_bytes())
    only = {"columns": ["length"], "numbers": ["length"], "encoded": False}
    forged(path, lambda header, model: header.update(notes=only))
    code, _ = as_json(capsys, "predict", path, shop / "flowers.csv")
    assert code == 3


@pytest.mark.parametrize("place", ["/dev/full", "pipe"])
def test_outputs_that_are_no_files(place, shop, tmp_path, capsys):
    if place == "pipe":
        place = tmp_path / "pipe"
        os.mkfifo(place)
    before = os.stat(place).st_mode
    code, found = as_json(capsys, "predict", shop / "m.kern", shop / "flowers.csv", "-o", place)
    assert code == 5
    assert "no regular file" in found["error"]
    assert os.stat(place).st_mode == before


def test_demo_is_one_object(tmp_path, capsys, monkeypatch):
    from kernalign.cli import demo

    def fast(options, console, command):
        with console.collecting() as results:
            console.result(step=1)
            console.result(step=2)
        console.result(steps=results)

    monkeypatch.setattr(demo, "run", fast)
    code, found = as_json(capsys, "demo", "-o", tmp_path)
    assert code == 0
    assert found == {"steps": [{"step": 1}, {"step": 2}]}


def test_messages_are_of_bounded_length():
    assert len(shortened("x" * 10**7)) <= LONGEST
    assert shortened("two\nlines") == "two lines"


@pytest.mark.parametrize(
    "redirected", [">/dev/full", ">&-", "2>&-", ">&- 2>&-", "| true", "</dev/null", "<&-"]
)
@pytest.mark.parametrize("form", ["", "--json"])
def test_streams_that_are_full_or_closed(redirected, form, shop):
    words = f"{sys.executable} -m kernalign predict {shop / 'm.kern'} {shop / 'flowers.csv'} {form}"
    script = f"set -o pipefail; {words} {redirected}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    reads = redirected in ("2>&-", "</dev/null", "<&-")
    assert done.returncode in ((0,) if reads else (0, 5))
    if redirected in (">/dev/full", ">&-"):
        assert done.returncode == 5
        if not form:
            assert "Standard output cannot be written" in done.stderr


def processor_seconds(pid):
    """What a running process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to read it from")
def test_a_signal_that_asks_to_end(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(1500, 12)))
    table["y"] = rng.integers(0, 5, size=1500)
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", str(tmp_path / "t.csv"), "--target", "y", "-o", str(tmp_path / "m.kern")]
    words += ["--learner", "ca-nd", "--json"]
    pipe = subprocess.PIPE
    running = subprocess.Popen([*COMMAND, *words], stdout=pipe, stderr=pipe, text=True)
    # Past the start-up, and long before the end.
    while processor_seconds(running.pid) < 4:
        time.sleep(0.1)
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=100)
    assert "Traceback" not in err
    assert running.returncode == 143
    assert json.loads(out)["exit_code"] == 143
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]
