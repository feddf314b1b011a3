"""Small model files that ask for much: many lists, long labels, one array or object used often."""

import copy
import io
import json
import zipfile

import numpy as np

from tests.fuzz import files
from tests.persistence.forging import fields, packed

#: The honest files that bombs are made of, by their place in `files.originals`.
CLASSIFIER, SEVERAL_OUTPUTS = 0, 4


def attack(seed):
    """What is wrong with how a bomb of this seed is met, or None."""
    rng = np.random.default_rng(seed)
    return files.met(BOMBS[seed % len(BOMBS)](rng), files.originals()[CLASSIFIER][2])


def honest(place=CLASSIFIER):
    """Header, model and numbers of an honest file."""
    return copy.deepcopy(files.originals()[place][1])


def add(model, arrays, values):
    """The numbers with another array, and the node that refers to it."""
    model["arrays"].append([values.dtype.str[1:], list(values.shape), "C"])
    return arrays + values.tobytes(), {"array": len(model["arrays"]) - 1}


def inserted(model, place, objects):
    """Put objects before one of a model; references to what follows them are kept."""

    def moved(node):
        if isinstance(node, dict):
            if set(node) == {"object"} and node["object"] >= place:
                return {"object": node["object"] + len(objects)}
            return {key: moved(value) for key, value in node.items()}
        return [moved(item) for item in node] if isinstance(node, list) else node

    own = model["objects"]
    model["objects"] = [*own[:place], *objects, *moved(own[place:])]


def texts(rng):
    """As many lists or names as allowed, in the model, the header, or both."""
    header, model, arrays = honest()
    forms = ['{"a%d":%d}', '{"%d":{}}', "[%d]", "[[],%d]", '"%d"', "%d.5", '["%d",{}]']
    form = forms[rng.integers(len(forms))]
    number = int(rng.choice([30_000, 95_000, 198_000]))
    text = "[" + ",".join(form.replace("%d", str(i)) for i in range(number)) + "]"
    where = rng.integers(4)
    if where != 0:
        header["notes"] = {"x": json.loads(text)}
    if where == 1:
        header["notes"] = {f"{i}": i for i in range(number)}
    if where == 2:
        return packed(header, model, arrays)
    return packed(header, f'{{"objects":{text},"arrays":[]}}'.encode(), b"")


def deep(rng):
    """Lists in lists, closed or not."""
    header, _, arrays = honest()
    depth = int(rng.choice([33, 400, 990, 90_000]))
    opened, closed = [("[", "]"), ('{"a":', "}")][rng.integers(2)]
    return packed(
        header, (opened * depth + "1" + closed * depth * rng.integers(2)).encode(), arrays
    )


def digits(rng):
    """Long numbers."""
    header, _, arrays = honest()
    length = int(rng.choice([100, 4000, 4400, 100_000]))
    one = "1" * length + str(rng.choice(["", ".5", "e5", "e-400"]))
    return packed(header, f"[{','.join([one] * (4_000_000 // length))}]".encode(), arrays)


def records(rng):
    """Information of many parts."""
    header, model, arrays = honest()
    forms = [
        lambda i: {"record": {f"a{i}": i}},
        lambda i: {"tuple": []},
        lambda i: {"mask": [True]},
        lambda i: {"object": 0},
        lambda i: f"{i}" * 8,
        lambda i: i + 0.5,
    ]
    form = forms[rng.integers(len(forms))]
    model["objects"][-1][1]["history_"] = [
        form(i) for i in range(int(rng.integers(20_000, 60_000)))
    ]
    return packed(header, model, arrays)


def labels(rng):
    """One long label, to which numpy pads the others, once or in many objects."""
    header, model, arrays = honest()
    number = int(rng.choice([100, 1000, 10_000, 190_000]))
    items = ["x" * 9000, *(str(i) for i in range(number))]
    node = {"labels": str(rng.choice(["U", "O"])), "items": items}
    model["objects"][-1][1][str(rng.choice(["classes_", "feature_names_in_"]))] = node
    last = model["objects"][-1]
    copies = int(rng.integers(1, 60)) if number <= 1000 else 1
    model["objects"] += [copy.deepcopy(last) for _ in range(copies)]
    return packed(header, model, arrays)


def shared_array(rng):
    """Many objects of one large array."""
    header, model, arrays = honest()
    arrays, node = add(model, arrays, np.ones(int(rng.integers(10_000, 1_000_000))))
    forms = [
        ["Seen", {"n_rows": 1, "spread": node}],
        ["Scores", {"values": node, "weight": node, "unknown": ""}],
        ["Posterior", {"scale": 1.0, "noise": 1.0, "constant": 1.0, "weight": node}],
        ["DualModel", {"coefficients": node, "intercept": 0.0}],
        ["Linear", {"columns": None, "_scale": node}],
    ]
    form = forms[rng.integers(len(forms))]
    inserted(model, 0, [form] * int(rng.integers(1000, 25_000)))
    return packed(header, model, arrays)


def many_arrays(rng):
    """Arrays without numbers, or of more than there are."""
    header, model, arrays = honest()
    shapes = [[0], [0, 2**19, 2**19], [2**30, 4], [2**31 - 1, 0], [], [1] * 3, [2**40]]
    shape = shapes[rng.integers(len(shapes))]
    kind = str(rng.choice(["f8", "f4", "u8"]))
    model["arrays"] += [[kind, shape, "F"]] * int(rng.integers(1, 45_000))
    return packed(header, model, arrays)


def many_kernels(rng):
    """One model of many kernels, of one family or of many equal ones; or many models of it."""
    header, model, arrays = honest()
    number = int(rng.choice([300, 3000, 20_000]))
    place = next(i for i, one in enumerate(model["objects"]) if one[0] == "LearnedKernel")
    node = model["objects"][place][1]["kernels"][0]
    used = [node] * number
    if rng.integers(2):
        member = model["objects"][node["object"]]
        family = model["objects"][member[1]["family"]["object"]]
        members = [
            [member[0], {**member[1], "family": {"object": place + i}}] for i in range(number)
        ]
        inserted(model, place, [family] * number + members)
        used = [{"object": place + number + i} for i in range(number)]
        place += 2 * number
    kernel = model["objects"][place][1]
    kernel["kernels"] = used
    arrays, kernel["weights"] = add(model, arrays, np.full(number, 1 / number))
    model["objects"] += [model["objects"][-1]] * int(rng.integers(0, 1000))
    return packed(header, model, arrays)


def many_rows(rng):
    """Megabytes of rows, of any type of numbers."""
    header, model, arrays = honest(SEVERAL_OUTPUTS)
    machine = fields(model, "KernelModel")
    number, kind = int(rng.integers(1000, 400_000)), str(rng.choice(["f8", "f4", "i4", "u8"]))
    arrays, machine["rows"] = add(model, arrays, np.ones((number, 3), dtype=kind))
    arrays, machine["coefficients"] = add(model, arrays, np.zeros((number, 2), dtype=kind))
    machine["index"] = None
    return packed(header, model, arrays)


def nested(rng):
    """Learners of learners, twice the one before, or pipelines of pipelines."""
    header, model, arrays = honest()
    many = int(rng.choice([20, 40, 3000]))
    forms = [
        lambda i: ["AnyOf", {"families": [{"object": i}] * 2}],
        lambda i: ["Reweighted", {"dictionary": {"object": i}, "weights": {"object": i}}],
        lambda i: ["Pipeline", {"names": ["a", "b"], "steps": [{"object": i}] * 2}],
    ]
    bottom = [
        ["Linear", {"columns": None}],
        ["UniformWeights", {"kernels": None, "normalize": "none"}],
        ["StandardScaler", {"with_mean": True, "with_std": True, "mean_": None, "scale_": None}],
    ]
    kind = rng.integers(len(forms))
    model["objects"] = [bottom[kind], *(forms[kind](i) for i in range(many))]
    return packed(header, model, arrays)


def steps(rng):
    """Steps that are fitted when they are read: many of them, or of many columns."""
    header, model, arrays = honest()
    scaler = {"with_mean": True, "with_std": True, "mean_": None, "scale_": None}
    columns = int(rng.choice([1, 1000, 10**6, 2**40]))
    wide = {
        "names": [f"{i}" for i in range(int(rng.integers(1, 900)))],
        "remainder": "drop",
        "verbose_feature_names_out": False,
        "n_features": int(rng.choice([1, 1000, 10**5, 10**6])),
    }
    parts = len(wide["names"])
    step = [{"object": 0}, "passthrough"][rng.integers(2)]
    wide["steps"] = [step] * parts
    wide["columns"] = [{"slice": [None, None, None]}] * parts
    wide["widths"] = [columns] * parts
    words = {"labels": "U", "items": ["a", "b"]}
    encoder = {"handle_unknown": "error", "drop": None, "sparse_output": False}
    forms = [
        ["ColumnTransformer", wide],
        ["OneHotEncoder", {**encoder, "categories": [words] * int(rng.integers(1, 500))}],
        ["SimpleImputer", {"strategy": "mean", "fill_value": None, "statistics": [0.5] * parts}],
    ]
    form = forms[rng.integers(len(forms))]
    model["objects"] = [["StandardScaler", {**scaler, "n_features_in_": columns}]]
    model["objects"] += [form] * int(rng.integers(1, 1 + 150_000 // (5 * parts)))
    return packed(header, model, arrays)


def archives(rng):
    """Archives that unpack to far more than they are."""
    header, model, _ = honest()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("model.json", json.dumps(model))
        archive.writestr("arrays.bin", bytes(int(rng.integers(10**6, 10**8))))
        for i in range(int(rng.choice([0, 2000]))):
            archive.writestr(f"{i}", b"")
    return stream.getvalue()


BOMBS = [
    texts,
    deep,
    digits,
    records,
    labels,
    shared_array,
    many_arrays,
    many_kernels,
    many_rows,
    nested,
    steps,
    archives,
]
