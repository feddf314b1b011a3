"""Files that are cut off, altered, foreign or from the future; writing that is interrupted."""

import errno
import hashlib
import inspect
import json
import os
import pickle
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from kernalign import ContinuousAlignment, KernelClassifier, ModelFileError, load, save
from kernalign.persistence import FORMAT, container, read_header, replacing
from tests.persistence.forging import archived, fields, forged, forged_array, packed, parts
from tests.persistence.models import labels, rows


@pytest.fixture(scope="module")
def model():
    X = rows()
    return KernelClassifier(C=1.0).fit(X, labels(X))


@pytest.fixture
def path(model, tmp_path):
    return save(model, tmp_path / "model.kern", notes={"target": "label"})


def test_header(path):
    header = read_header(path)
    assert header["format"] == FORMAT == 2
    assert header["notes"] == {"target": "label"}
    assert header["class"] == "KernelClassifier"
    assert {"kernalign", "scikit-learn", "numpy", "python"} <= set(header["versions"])


def test_every_cut_is_noticed(path):
    whole = path.read_bytes()
    for length in {0, 1, 3, 4, 30, *np.linspace(50, len(whole) - 1, 40, dtype=int).tolist()}:
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"is empty|damaged or cut off") as caught:
            load(path)
        assert str(path) in str(caught.value)


def test_every_altered_byte_is_noticed(path):
    """By zip's own checks, by the checksum, or because the file no longer says what it is."""
    whole = bytearray(path.read_bytes())
    for position in np.linspace(0, len(whole) - 1, 300, dtype=int).tolist():
        altered = bytearray(whole)
        altered[position] ^= 0x01
        path.write_bytes(altered)
        try:
            same = load(path)
        except ModelFileError:
            continue
        # What zip itself ignores (dates, flags) may change; what is loaded may not.
        assert same.kernel_ == load_bytes(path, whole).kernel_


def load_bytes(path, content):
    other = path.with_name("whole.kern")
    other.write_bytes(content)
    return load(other)


def test_contents_that_do_not_match_the_checksum(path):
    header, model, arrays = parts(path)
    contents = [json.dumps(header).encode(), json.dumps(model).encode(), arrays[:-1] + b"\1"]
    path.write_bytes(archived(contents))
    for read in (load, read_header):
        with pytest.raises(ModelFileError, match=r"altered after it was written"):
            read(path)


def test_checksum_is_sha256_of_what_is_written_here(path):
    """The recipe of the module's docstring, spelled out once more, with Python's own zip reader."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        members = {name: archive.read(name) for name in archive.namelist()}
    assert list(members) == ["header.json", "model.json", "arrays.bin"]
    header = json.loads(members["header.json"])
    stated = header.pop("sha256")
    members["header.json"] = json.dumps(header, sort_keys=True).encode()
    whole = b"".join(f"{name} {len(m)}\n".encode() + m for name, m in members.items())
    assert hashlib.sha256(whole).hexdigest() == stated


@pytest.mark.parametrize(
    "content",
    [b"sepal,petal\n1,2\n", pickle.dumps({"a": 1}), b"\x93NUMPY", b"PK\x05\x06" + b"\0" * 18],
    ids=["csv", "pickle", "npy", "empty zip"],
)
def test_foreign_files(content, tmp_path):
    path = tmp_path / "other.kern"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a model saved by kernalign"):
        load(path)


@pytest.mark.parametrize("name", ["schema.json", "header.json"])
@pytest.mark.parametrize("content", ["{}", "[]", "nonsense", '{"library": "skops", "format": 1}'])
def test_foreign_archives(name, content, tmp_path):
    path = tmp_path / "other.kern"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, content)
    with pytest.raises(ModelFileError, match=r"is not a (complete )?model"):
        load(path)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (FORMAT + 1, "later version of kernalign, in format 3, .*: upgrade"),
        (1, "earlier version of kernalign, in format 1, .*: fit the model again and save it"),
        ("2", "is not a model saved by kernalign"),
        (2.0, "is not a model saved by kernalign"),
    ],
)
def test_other_formats(number, said, path):
    forged(path, lambda header, model: header.update(format=number))
    for read in (load, read_header):
        with pytest.raises(ModelFileError, match=said):
            read(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "no.kern")


@pytest.mark.parametrize(
    "name",
    ["os.system", "subprocess.Popen", "kernalign.kernels.base.np", "builtins.eval", "Nothing"],
)
def test_no_other_class_is_looked_up(name, path):
    """A file sealed anew by somebody who wants code to be run."""

    def edit(header, model):
        model["objects"][-1][0] = name

    with pytest.raises(ModelFileError, match="is not part of kernalign"):
        load(forged(path, edit))


def test_no_method_of_a_loaded_class_is_called(path, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("code was run")

    for name in ("__init__", "__setstate__", "__setattr__"):
        monkeypatch.setattr(KernelClassifier, name, refuse)
    load(path)


def estimator(model):
    return model["objects"][-1][1]


#: What a forged file changes, and what is said of it.
FORGED = {
    "unknown field": (lambda m: estimator(m).update(memory="x"), "has no field 'memory'"),
    "missing field": (lambda m: estimator(m).pop("classes_"), "lacks the field 'classes_'"),
    "missing parameter": (lambda m: fields(m, "KernelModel").pop("rows"), "lacks the field 'rows'"),
    "no fields": (
        lambda m: m["objects"].__setitem__(-1, ["KernelClassifier"]),
        "class and its fields",
    ),
    "forward": (lambda m: estimator(m).update(model_={"object": 9999}), "object before it"),
    "itself": (
        lambda m: estimator(m).update(model_={"object": len(m["objects"]) - 1}),
        "object before it",
    ),
    "wrong class": (
        lambda m: estimator(m).update(model_=estimator(m)["kernel_"]),
        r"KernelClassifier.model_ must be Model",
    ),
    "function": (
        lambda m: estimator(m).update(learner={"function": "os.system"}),
        r"KernelClassifier.learner must be",
    ),
    "array out of range": (
        lambda m: fields(m, "KernelModel").update(rows={"array": 999}),
        r"KernelModel.rows must be an array \(m, d\) of finite numbers",
    ),
    "array of another shape": (
        lambda m: fields(m, "KernelModel").update(rows=fields(m, "KernelModel")["coefficients"]),
        r"KernelModel.rows must be an array \(m, d\)",
    ),
    "number as flag": (lambda m: estimator(m).update(nested=1), "nested must be true or false"),
    "flag as number": (
        lambda m: fields(m, "Seen").update(n_rows=True),
        r"Seen.n_rows must be an int in \[0",
    ),
    "negative slope": (
        lambda m: fields(m, "TemperatureCalibration").update(slope_=-1.0),
        r"slope_ must be a number in \(0",
    ),
    "no slope": (
        lambda m: fields(m, "TemperatureCalibration").pop("slope_"),
        "TemperatureCalibration lacks the field 'slope_'",
    ),
    "huge int": (lambda m: estimator(m).update(cv=10**40), "KernelClassifier.cv must be"),
    "one class": (
        lambda m: estimator(m).update(classes_={"labels": "U", "items": ["no"]}),
        "as many outputs as there are classes",
    ),
    "equal classes": (
        lambda m: estimator(m).update(classes_={"labels": "U", "items": ["no", "no"]}),
        "classes_ must be an array of different labels",
    ),
    "three classes": (
        lambda m: estimator(m).update(classes_={"labels": "i8", "items": [1, 2, 3]}),
        "as many outputs as there are classes",
    ),
    "objects of labels": (
        lambda m: estimator(m).update(classes_={"labels": "O", "items": [[], {}]}),
        "classes_.items",
    ),
    "other columns": (
        lambda m: estimator(m).update(n_features_in_=7),
        "KernelClassifier.model_ must be of 7 columns",
    ),
    "smoothness": (lambda m: m["objects"].insert(0, ["Matern", {"nu": 0.7}]), "Matern"),
}


@pytest.mark.parametrize("name", FORGED)
def test_models_that_make_no_sense(name, path):
    edit, said = FORGED[name]
    with pytest.raises(ModelFileError, match=rf"cannot be loaded: .*{said}"):
        load(forged(path, lambda header, model: edit(model) and None))


BOMBS = {
    "text": (lambda: b'["' + b"x" * container.MOST_TEXT + b'"]', "its text is longer than 8 MiB"),
    "items": (lambda: b"[" + b"1," * container.MOST_ITEMS + b"1,1]", "200000 items"),
    "lists": (lambda: b"[" + b"[]" * container.MOST_NODES + b"]", "200000 lists"),
    "beyond ASCII": (lambda: '["\U0001f600"]'.encode(), "its text is no JSON"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_text_that_would_take_much_memory(name, path):
    """A character beyond ASCII makes all others of its text take four bytes."""
    header, _, arrays = parts(path)
    make, said = BOMBS[name]
    path.write_bytes(packed(header, make(), arrays))
    with pytest.raises(ModelFileError, match=said):
        load(path)


def test_the_signature_of_a_class_is_read_once(path, monkeypatch):
    """A file of 60,000 objects would take seconds if it was read for each of them."""
    asked, signature = [], inspect.signature
    monkeypatch.setattr(inspect, "signature", lambda cls: (asked.append(cls), signature(cls))[1])
    header, model, arrays = parts(path)
    model["objects"] = [["Gaussian", {}]] * 100
    path.write_bytes(packed(header, model, arrays))
    load(path)
    assert len(asked) <= 1


def test_what_could_not_be_loaded_is_not_saved(model, tmp_path, monkeypatch):
    monkeypatch.setattr(container, "MOST_ITEMS", 20)
    with pytest.raises(ValueError, match=r"cannot be saved: it has more than .* 20 items"):
        save(model, tmp_path / "m.kern")
    assert not list(tmp_path.iterdir())


def test_every_field_is_refused_as_something_else(path):
    """Of every object of a model, every field in turn: only `ModelFileError`, or a model."""
    whole = path.read_bytes()
    _, model, _ = parts(path)
    strange = [None, -1, {"object": 0}, {"array": 0}]
    tried = 0
    for place, (_, state) in enumerate(model["objects"]):
        for field in state:
            for value in strange:
                path.write_bytes(whole)

                def edit(header, model, place=place, field=field, value=value):
                    model["objects"][place][1][field] = value

                tried += 1
                try:
                    found = load(forged(path, edit))
                except ModelFileError:
                    continue
                assert np.isfinite(found.decision_function(rows())).all()
    assert tried > 300


@pytest.mark.parametrize(
    ("cls", "field", "value", "said"),
    [
        ("KernelModel", "rows", np.full((40, 3), np.nan), "finite numbers"),
        ("KernelModel", "rows", np.zeros((40, 4)), "where others have|must be of 4 columns"),
        ("KernelModel", "coefficients", np.zeros(7), "'m' where others have"),
        ("KernelModel", "intercept", np.zeros(3), "outputs|'c'"),
        ("KernelModel", "index", np.arange(40) - 1, "index must be"),
        ("KernelModel", "index", np.arange(40.0), "index must be"),
        ("LearnedKernel", "weights", np.zeros(9), "as many as its kernels"),
        ("LearnedKernel", "weights", -np.ones(1), "weights must be"),
        ("FamilyMember", "sigma", np.ones(17), "parameters. Got 17"),
        ("FamilyMember", "sigma", np.array([np.nan]), "sigma must be"),
        ("Units", "spread", np.zeros(3), "spread must be"),
        ("Units", "centre", np.zeros(5), "'d' where others have"),
        ("Seen", "spread", np.zeros(2), "must be of"),
    ],
)
def test_arrays_that_do_not_fit(cls, field, value, said, path):
    with pytest.raises(ModelFileError, match=said):
        load(forged_array(path, cls, field, value))


@pytest.mark.parametrize(
    "description",
    [
        None,
        [],
        ["f8", [1]],
        ["O", [1], "C"],
        ["f8", [-1], "C"],
        ["f8", [2**40], "C"],
        ["f8", [0, 2**62], "C"],
        ["f8", 3, "C"],
        ["f8", [1], "A"],
        ["f8", [1], []],
        [[], [1], "C"],
    ],
)
def test_arrays_that_are_not_described(description, path):
    def edit(header, model):
        model["arrays"][0] = description

    with pytest.raises(ModelFileError, match=r"array 0|all numbers of the file"):
        load(forged(path, edit))


#: Headers that are not what a header is.
HEADERS = {
    "no notes": lambda h: h.pop("notes"),
    "notes": lambda h: h.update(notes=[1]),
    "versions": lambda h: h.update(versions=None),
    "version": lambda h: h.update(versions={"numpy": 1}),
    "names": lambda h: h.update(feature_names={"a": 1}),
    "class": lambda h: h.update({"class": 3}),
    "unknown": lambda h: h.update(code="import os"),
    "NaN": lambda h: h.update(notes={"a": float("nan")}),
    "large": lambda h: h.update(notes={"a": 1e400}),
    "checksum": lambda h: h.update(library=["kernalign"]),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_make_no_sense(name, path):
    forged(path, lambda header, model: HEADERS[name](header) and None)
    for read in (load, read_header):
        with pytest.raises(ModelFileError):
            read(path)


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 400 + b"]" * 400,
        b"[" * 10**5,
        b"{}",
        b"[]",
        b"1",
        b"nonsense",
        b"\xff",
        b'{"a":1,"a":2}',
    ],
)
def test_text_that_is_no_model(text, path):
    header, _, arrays = parts(path)
    path.write_bytes(packed(header, text, arrays))
    with pytest.raises(ModelFileError):
        load(path)
    path.write_bytes(archived([text, b"{}", b""]))
    with pytest.raises(ModelFileError):
        read_header(path)


def test_text_takes_no_more_memory_than_allowed(path):
    """Two bytes of text make a list of 64: their number is bounded before they are made."""
    header, _, arrays = parts(path)
    path.write_bytes(packed(header, b"[" + b"[]," * 10**6 + b"[]]", arrays))
    with pytest.raises(ModelFileError, match="more than 200000 lists"):
        load(path)


def zipped(path, names, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", method) as archive:
        for name in names:
            archive.writestr(name, members.get(name, b"{}"))


MEMBERS = ("header.json", "model.json", "arrays.bin")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "names",
    [
        MEMBERS,
        MEMBERS[::-1],
        MEMBERS[:2],
        (*MEMBERS, "more.bin"),
        (*MEMBERS, "arrays.bin"),
        ("header.json", "../model.json", "arrays.bin"),
    ],
    ids=["other dates", "reversed", "missing", "more", "twice", "elsewhere"],
)
def test_archives_that_save_does_not_write(names, path):
    zipped(path, names)
    for read in (load, read_header):
        with pytest.raises(ModelFileError):
            read(path)


def test_compressed_members_are_not_ours(path):
    zipped(path, MEMBERS, zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match="is not a model saved by kernalign"):
        load(path)


def test_many_entries_of_one_member_are_not_listed(path):
    """65,000 entries of the directory that all name the same bytes."""
    whole = path.read_bytes()
    start = whole.rindex(b"PK\1\2")
    entry = whole[start : whole.rindex(b"PK\5\6")]
    path.write_bytes(whole[:start] + entry * 65_000 + whole[start + len(entry) :])
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)


def test_something_else_than_a_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("/dev/zero", tmp_path):
        with pytest.raises((ModelFileError, IsADirectoryError)):
            load(name)


KEY = b"0123456789abcdef"


def test_a_signed_file_is_loaded_with_its_key_only(model, tmp_path):
    path = save(model, tmp_path / "m.kern", key=KEY)
    for read in (load, read_header):
        read(path)
        read(path, key=KEY)
        with pytest.raises(ModelFileError, match="was not signed with this key"):
            read(path, key=KEY[::-1])
    # Whoever alters the file can mend the checksum, but not the signature.
    header, parsed, arrays = parts(path)
    mended = container.seal({**header, "notes": {"a": 1}}, [json.dumps(parsed).encode(), arrays])
    mended["hmac"] = header["hmac"]
    contents = [json.dumps(mended).encode(), json.dumps(parsed).encode(), arrays]
    path.write_bytes(archived(contents))
    read_header(path)
    with pytest.raises(ModelFileError, match="was not signed with this key, or was altered"):
        load(path, key=KEY)


def test_the_signature_is_hmac_sha256_of_the_checksum(model, tmp_path):
    import hmac

    header = read_header(save(model, tmp_path / "m.kern", key=KEY))
    assert header["hmac"] == hmac.digest(KEY, header["sha256"].encode(), "sha256").hex()


def test_a_file_without_signature_is_refused_with_a_key(path):
    with pytest.raises(ModelFileError, match="is not signed"):
        load(path, key=KEY)


@pytest.mark.parametrize("key", ["0123456789abcdef", b"short", 3])
def test_keys_that_are_none(key, model, path):
    for call in (lambda: save(model, path, key=key), lambda: load(path, key=key)):
        with pytest.raises(ValueError, match="key must be at least 16 bytes"):
            call()


@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_an_interruption_leaves_the_old_file(moment, path, model, monkeypatch):
    before = path.read_bytes()

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    if moment == "write":
        monkeypatch.setattr(container, "layout", interrupt)
    else:
        monkeypatch.setattr(os, moment, interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(model, path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_link_is_followed(model, tmp_path):
    """What was there before as a link became a file of its own."""
    (tmp_path / "real").mkdir()
    link = tmp_path / "model.kern"
    link.symlink_to(tmp_path / "real" / "model.kern")
    for _ in range(2):
        save(model, link)
        assert link.is_symlink()
        assert not (tmp_path / "real" / "model.kern").is_symlink()
        load(link)


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_other_than_regular_files_stay(kind, tmp_path):
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/full")
    before = os.stat(path).st_mode
    with pytest.raises(OSError, match=f"it is a {kind}") as caught, replacing(path) as stream:
        stream.write(b"x")
    assert caught.value.errno == errno.EINVAL
    assert os.stat(path).st_mode == before


def test_the_mode_of_a_file_stays(path, model):
    path.chmod(0o600)
    save(model, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


KILLED = """
import os, sys
from pathlib import Path
from kernalign.persistence import replacing
with replacing(Path(sys.argv[1])) as stream:
    stream.write(b"half")
    stream.flush()
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), 9)
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_what_killed_writers_left_is_removed(path, model):
    """And what is still being written is not."""
    command = [sys.executable, "-c", KILLED, str(path)]
    subprocess.run([*command, "kill"], check=False)
    left = [p for p in path.parent.iterdir() if p != path]
    assert len(left) == 1
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, "wait"], stdin=pipe, stdout=pipe) as alive:
        assert alive.stdout.readline() == b"writing\n"
        assert len([p for p in path.parent.iterdir() if p != path]) == 1
        save(model, path)
        assert len([p for p in path.parent.iterdir() if p != path]) == 1
        alive.communicate(b"")
    assert path.read_bytes() == b"half"
    save(model, path)
    assert list(path.parent.iterdir()) == [path]


def test_rights_are_those_of_a_new_file(path, tmp_path):
    (tmp_path / "plain").write_text("")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_notes_must_be_plain(model, tmp_path):
    with pytest.raises(ValueError, match=r"notes .* must be plain values"):
        save(model, tmp_path / "m.kern", notes={"a": object()})


def test_models_of_earlier_versions_still_load():
    """Files in `data` are never written anew: see `data/make.py`."""
    folder = Path(__file__).parent / "data"
    stored = sorted(folder.glob("*.kern"))
    assert stored
    for file in stored:
        expected = json.loads(file.with_suffix(".json").read_text())
        model = load(file)
        # Parameters that came later have their defaults, so that it can be cloned and fitted.
        assert repr(clone(model.learner_)) == repr(clone(model).learner or ContinuousAlignment())
        for method, answers in expected["answers"].items():
            given = getattr(model, method)(np.array(expected["X"]))
            if isinstance(answers[0], str):
                assert given.tolist() == answers
            else:
                np.testing.assert_allclose(given, answers, rtol=1e-9, atol=1e-12)
