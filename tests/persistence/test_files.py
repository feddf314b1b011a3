"""Files that are cut off, altered, foreign or from the future; writing that is interrupted."""

import hashlib
import json
import os
import pickle
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC

from kernalign import (
    ContinuousAlignment,
    KernelClassifier,
    ModelFileError,
    ModelVersionWarning,
    load,
    save,
)
from kernalign.persistence import FORMAT, container, files, read_header
from tests.persistence.models import labels, rows


@pytest.fixture(scope="module")
def model():
    X = rows()
    return KernelClassifier(C=1.0).fit(X, labels(X))


@pytest.fixture
def path(model, tmp_path):
    return save(model, tmp_path / "model.kern", notes={"target": "label"})


def rewritten(path, change):
    """The file with its members changed, sealed anew like an honest one."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members.pop("header.json"))
    change(header, members)
    header["sha256"] = container._checksum(header, members)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_header(path):
    header = read_header(path)
    assert header["format"] == FORMAT == 1
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
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    array = members["arrays/0.npy"]
    members["arrays/0.npy"] = array[:-1] + bytes([array[-1] ^ 1])
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match=r"altered after it was written"):
        load(path)


def test_checksum_is_sha256_of_what_is_written_here(path):
    """The recipe of the module's docstring, spelled out once more."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    stated = header.pop("sha256")
    members["header.json"] = json.dumps(header, sort_keys=True).encode()
    whole = b"".join(
        f"{name} {len(members[name])}\n".encode() + members[name] for name in sorted(members)
    )
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
    with pytest.raises(ModelFileError, match="is not a model saved by kernalign"):
        load(path)


def test_a_later_format(path):
    rewritten(path, lambda header, members: header.update(format=FORMAT + 1))
    with pytest.raises(ModelFileError, match=r"format 2.*reads formats up to 1: upgrade"):
        load(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "no.kern")


def edit_model(edit):
    def change(header, members):
        node = json.loads(members["model.json"])
        edit(node)
        members["model.json"] = json.dumps(node).encode()

    return change


@pytest.mark.parametrize(
    "name",
    ["os.system", "subprocess.Popen", "kernalign.kernels.base.np", "builtins.eval"],
)
def test_no_other_class_is_looked_up(name, path):
    """A file sealed anew by somebody who wants code to be run."""
    rewritten(path, edit_model(lambda node: node.update({"class": name})))
    with pytest.raises(ModelFileError, match="is not part of kernalign"):
        load(path)


def test_no_function_is_looked_up(path):
    evil = {"is": "function", "name": "os.system"}
    rewritten(path, edit_model(lambda node: node["state"].update(learner=evil)))
    with pytest.raises(ModelFileError, match=r"the function os.system, which is not part"):
        load(path)


def test_no_method_of_a_loaded_class_is_called(path, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("code was run")

    for name in ("__init__", "__setstate__", "__setattr__"):
        monkeypatch.setattr(KernelClassifier, name, refuse)
    load(path)


@pytest.mark.parametrize(
    "edit",
    [
        lambda node: node.update({"is": "pickle"}),
        lambda node: node["state"].update(cv={"is": "seen", "number": 999}),
        lambda node: node["state"].update(cv={"is": "array", "array": 999}),
        lambda node: node.pop("state"),
        lambda node: node.update({"class": "kernalign.kernels.nowhere.Nothing"}),
    ],
)
def test_models_that_make_no_sense(edit, path):
    rewritten(path, edit_model(edit))
    with pytest.raises(ModelFileError, match="is not a complete model"):
        load(path)


def test_arrays_of_objects_and_of_stated_size_only(path, tmp_path):
    def pickled(header, members):
        np.save(tmp_path / "evil.npy", np.array([{}], dtype=object), allow_pickle=True)
        members["arrays/0.npy"] = (tmp_path / "evil.npy").read_bytes()

    with pytest.raises(ModelFileError, match="not a complete model: an array holds objects"):
        load(rewritten(path, pickled))

    def inflated(header, members):
        members["arrays/0.npy"] = members["arrays/1.npy"].replace(b"(", b"(9999999999, ", 1)

    with pytest.raises(ModelFileError, match="not a complete model"):
        load(rewritten(path, inflated))


def test_compressed_members_are_not_ours(path):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match="is not a model saved by kernalign"):
        load(path)


@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_an_interruption_leaves_the_old_file(moment, path, model, monkeypatch):
    before = path.read_bytes()

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    if moment == "write":
        monkeypatch.setattr(zipfile.ZipFile, "writestr", interrupt)
    else:
        monkeypatch.setattr(os, moment, interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(model, path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_rights_are_those_of_a_new_file(path, tmp_path):
    (tmp_path / "plain").write_text("")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_notes_must_be_plain(model, tmp_path):
    with pytest.raises(ValueError, match=r"notes .* must be plain values"):
        save(model, tmp_path / "m.kern", notes={"a": object()})


def test_another_scikit_learn_is_mentioned(tmp_path):
    X = rows()
    model = KernelClassifier(machine=SVC(kernel="precomputed"), C=1.0).fit(X, labels(X))
    path = save(model, tmp_path / "model.kern")
    rewritten(path, lambda header, _: header["versions"].update({"scikit-learn": "1.2.3"}))
    with pytest.warns(ModelVersionWarning, match=r"sklearn.svm.SVC of scikit-learn 1.2.3, and"):
        load(path)


def test_one_pass_over_the_code_that_is_trusted():
    """Every class that may be named exists under that name."""
    from kernalign.persistence.registry import SCIKIT_LEARN, Lookup, name_of

    for module, names in SCIKIT_LEARN.items():
        for name in names:
            assert name_of(Lookup()(f"{module}.{name}", "class")) == f"{module}.{name}"


def test_models_of_earlier_versions_still_load():
    """Files in `data` are never written anew: see `data/make.py`."""
    folder = Path(__file__).parent / "data"
    stored = sorted(folder.glob("*.kern"))
    assert stored
    for file in stored:
        expected = json.loads(file.with_suffix(".json").read_text())
        with warnings.catch_warnings():
            # The stored parts of scikit-learn are older than the one in use, sooner or later.
            warnings.simplefilter("ignore", files.ModelVersionWarning)
            model = load(file)
        # Parameters that came later have their defaults, so that it can be cloned and fitted.
        assert repr(clone(model.learner_)) == repr(clone(model).learner or ContinuousAlignment())
        for method, answers in expected["answers"].items():
            given = getattr(model, method)(np.array(expected["X"]))
            if isinstance(answers[0], str):
                assert given.tolist() == answers
            else:
                np.testing.assert_allclose(given, answers, rtol=1e-9, atol=1e-12)
