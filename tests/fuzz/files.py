"""Mutated and forged model files: `ModelFileError`, or a model that predicts; nothing else."""

import copy
import functools
import json
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernalign import (
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    KernelFeatures,
    KernelRegressor,
    KernelSearch,
    ModelFileError,
    Polynomial,
    UniformWeights,
    load,
    save,
)
from kernalign.persistence import read_header
from tests.fuzz.memory import grown
from tests.persistence.forging import archived, packed, parts
from tests.persistence.models import labels, response, rows, table

#: What is asked of a model that was loaded.
METHODS = ["predict", "predict_proba", "decision_function", "predict_interval", "transform"]
#: Seconds of the processor that a file may take.
SLOWEST = 2.0
#: Bytes of memory that it may take beside four times its size.
ROOM = 64 * 2**20
STRANGE = [
    None,
    True,
    False,
    0,
    1,
    -1,
    3,
    2**31,
    2**63,
    10**30,
    0.5,
    -0.0,
    1e300,
    1e-320,
    float("nan"),
    float("inf"),
    "",
    "x",
    "os.system",
    "Pipeline",
    "x" * 5000,
    [],
    [[]],
    [1, 2, 3],
    {},
    {"object": 0},
    {"object": 1},
    {"object": -1},
    {"array": 0},
    {"array": 1},
    {"array": 10**9},
    {"number": "nan"},
    {"number": "inf"},
    {"number": []},
    {"function": "os.system"},
    {"labels": "O", "items": [1, "a"]},
    {"labels": "U", "items": ["a", "b"]},
    {"slice": [0, 1, 0]},
    {"mask": [True]},
    {"record": {"a": 1}},
    {"tuple": []},
]
NUMBERS = [0.0, -1.0, 1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e155, 2.0**53]


@functools.cache
def originals():
    """Honest files: their bytes, their parts, and rows to predict."""
    X = rows()
    frame, kinds, _ = table()
    frame["day"] = np.datetime64("2024-01-01") + np.arange(len(frame))
    cheap = UniformWeights([*Gaussian().grid(0.5, 5, 3), Polynomial(2).at(1.0)])
    models = [
        KernelClassifier(ContinuousAlignment(max_iter=2), C=1.0).fit(X, labels(X)),
        KernelClassifier(cheap, machine=SVC(kernel="precomputed"), C=1.0).fit(X, labels(X, 4)),
        KernelRegressor(cheap, solver="nystroem", n_components=8, C=1.0).fit(X, response(X)),
        KernelRegressor(
            ContinuousAlignment(max_iter=2), solver="fourier", n_components=8, C=1.0
        ).fit(X, response(X)),
        KernelRegressor(cheap, C=1.0).fit(X, np.column_stack([response(X), X[:, 0]])),
        KernelFeatures(cheap, n_components=5).fit(X, labels(X)),
        make_pipeline(StandardScaler(), KernelClassifier(cheap, C=1.0)).fit(X, labels(X)),
        KernelRegressor().fit(X, response(X)),
        KernelClassifier(KernelSearch(effort="quick")).fit(frame, kinds),
    ]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, model in enumerate(models):
            path = save(model, Path(folder) / f"{number}.kern")
            new = frame[:3] if model is models[-1] else rows(3)
            found.append((path.read_bytes(), parts(path), new))
    return found


def attack(seed):
    """What is wrong with how a file of this seed is met, or None."""
    return met(*attacked(np.random.default_rng(seed)))


def met(data, new):
    """What is wrong with how a file of these bytes is met, or None; rows to predict."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.kern"
        path.write_bytes(data)
        began = time.process_time()
        problem, size = grown(lambda: _met(path, new))
        spent = time.process_time() - began
    if spent > SLOWEST:
        return f"took {spent:.1f} s"
    if size > 4 * len(data) + ROOM:
        return f"took {size / 2**20:.0f} MiB for a file of {len(data) / 2**20:.1f} MiB"
    return problem


def _met(path, new):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            read_header(path)
        except ModelFileError:
            pass
        except BaseException as problem:
            return f"read_header: {type(problem).__name__}: {problem}"
        try:
            model = load(path)
        except ModelFileError:
            return None
        except BaseException as problem:
            return f"load: {type(problem).__name__}: {problem}"
        if any(hasattr(model, name) for name in ("model_", "steps")):
            return _used(model, new)
    return None


def _used(model, new):
    for name in METHODS:
        if hasattr(model, name):
            try:
                getattr(model, name)(new)
            except ModelFileError:
                return None
            except BaseException as problem:
                if str(problem).startswith("KernelRegressor does not know its intervals"):
                    continue
                return f"{name}: {type(problem).__name__}: {problem}"
    try:
        repr(model)
    except BaseException as problem:
        return f"repr: {type(problem).__name__}: {problem}"
    return None


def attacked(rng):
    """The bytes of a file that was mutated, or forged and sealed anew; rows to predict."""
    files = originals()
    data, (header, model, arrays), new = files[rng.integers(len(files))]
    return _attacked(rng, data, header, model, arrays), new


def _attacked(rng, data, header, model, arrays):
    kind = rng.integers(10)
    if kind < 2:
        return mutated(rng, data)
    header, model = copy.deepcopy(header), copy.deepcopy(model)
    for _ in range(rng.integers(1, 4)):
        if kind < 6:
            forge_tree(rng, model)
        elif kind == 6:
            forge_tree(rng, header)
        elif kind == 7:
            arrays = forged_numbers(rng, arrays)
        elif kind == 8:
            forge_objects(rng, model)
        else:
            text = mutated(rng, json.dumps(model).encode())
            return packed(header, text, arrays)
    if rng.integers(50) == 0:
        return archived([json.dumps(header).encode(), mutated(rng, arrays), arrays])
    return packed(header, model, arrays)


def mutated(rng, data):
    """Bytes flipped, cut, doubled or moved."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        if not data:
            return bytes(data)
        place, end = np.sort(rng.integers(0, len(data) + 1, 2)).tolist()
        kind = rng.integers(6)
        if kind == 0:
            data[place % len(data)] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            data[place % len(data)] = int(rng.integers(256))
        elif kind == 2:
            del data[place:]
        elif kind == 3:
            del data[place : min(end, place + 20)]
        elif kind == 4:
            data[place:place] = data[place:end][:2000]
        else:
            data[place:place] = rng.bytes(int(rng.integers(1, 9)))
    return bytes(data)


def forge_tree(rng, tree):
    """One node of plain data replaced, removed, doubled, or swapped with another."""
    places = list(_places(tree))
    if not places:
        return
    holder, key = places[rng.integers(len(places))]
    kind = rng.integers(6)
    if kind < 3:
        holder[key] = copy.deepcopy(STRANGE[rng.integers(len(STRANGE))])
    elif kind == 3:
        del holder[key]
    elif kind == 4:
        other, name = places[rng.integers(len(places))]
        try:
            holder[key] = copy.deepcopy(other[name])
        except (KeyError, IndexError):
            return
    elif isinstance(holder, list):
        holder.insert(int(rng.integers(len(holder) + 1)), copy.deepcopy(holder[key]))
    else:
        holder[f"{key}{rng.integers(10)}"] = copy.deepcopy(holder[key])


def _places(tree):
    inside = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    for key, value in list(inside):
        yield tree, key
        yield from _places(value)


def forge_objects(rng, model):
    """Fields of one object given to another, classes renamed, objects in another order."""
    objects = model["objects"]
    first, second = (int(i) for i in rng.integers(len(objects), size=2))
    kind = rng.integers(4)
    if kind == 0:
        objects[first][0] = objects[second][0]
    elif kind == 1:
        objects[first][1].update(copy.deepcopy(objects[second][1]))
    elif kind == 2:
        objects[first], objects[second] = objects[second], objects[first]
    else:
        described = model["arrays"]
        place = int(rng.integers(len(described)))
        shape = described[place][1]
        choices = [shape[::-1], [*shape, 1], [1, *shape], [int(np.prod(shape))], [0], [2**30]]
        described[place][1] = choices[rng.integers(len(choices))]


def forged_numbers(rng, arrays):
    """Some numbers of the arrays replaced."""
    values = np.frombuffer(arrays, dtype="<f8").copy()
    if not len(values):
        return arrays
    for place in rng.integers(len(values), size=rng.integers(1, 6)):
        values[place] = NUMBERS[rng.integers(len(NUMBERS))]
    return values.tobytes()
