"""Small files that refer often to large arrays or to objects: refused before they cost much."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from kernalign import (
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    ModelFileError,
    UniformWeights,
    load,
    save,
)
from kernalign.persistence import container, limits
from kernalign.persistence.schemas import estimators, kernels
from tests.persistence.forging import fields, packed, parts
from tests.persistence.models import labels, response, rows

SCALER = {"with_mean": True, "with_std": True, "mean_": None, "scale_": None}


@pytest.fixture(scope="module")
def model():
    X = rows()
    return KernelClassifier(UniformWeights(Gaussian().grid(0.5, 5, 3)), C=1.0).fit(X, labels(X))


@pytest.fixture
def path(model, tmp_path):
    return save(model, tmp_path / "m.kern")


def forge(path, objects):
    """The file with other objects than its own."""
    header, model, arrays = parts(path)
    model["objects"] = objects
    path.write_bytes(packed(header, model, arrays))
    return path


def test_one_array_of_many_objects(path):
    """Each of them would check all its numbers."""
    header, model, arrays = parts(path)
    large = np.ones(10**5)
    model["arrays"].append(["f8", [len(large)], "C"])
    seen = ["Seen", {"n_rows": 1, "spread": {"array": len(model["arrays"]) - 1}}]
    model["objects"] = [seen] * 20_000
    path.write_bytes(packed(header, model, arrays + large.tobytes()))
    with pytest.raises(ModelFileError, match="refer to its arrays and to each other too often"):
        load(path)


def test_the_number_of_objects(path, model, tmp_path, monkeypatch):
    header, document, arrays = parts(path)
    document["objects"] = document["objects"][:1] * 25_001 + document["objects"]
    path.write_bytes(packed(header, document, arrays))
    with pytest.raises(ModelFileError, match="at most 25000 objects"):
        load(path)
    monkeypatch.setattr(limits, "MOST_OBJECTS", 3)
    with pytest.raises(ValueError, match="at most 3 objects"):
        save(model, tmp_path / "other.kern")


def test_labels_are_not_padded_to_much_more_than_the_file(path):
    """50,000 labels and one of 9,000 characters are 1.8 GB of an array of text."""
    header, model, arrays = parts(path)
    items = ["x" * 9000, *map(str, range(50_000))]
    fields(model, "KernelClassifier")["classes_"] = {"labels": "U", "items": items}
    path.write_bytes(packed(header, model, arrays))
    with pytest.raises(ModelFileError, match="labels that are too long for their number"):
        load(path)


def test_labels_that_could_not_be_loaded_are_not_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_PADDED", 20)
    X = rows()
    model = KernelClassifier(UniformWeights(Gaussian().grid(0.5, 5, 3)), C=1.0).fit(X, labels(X))
    with pytest.raises(ValueError, match="labels that are too long"):
        save(model, tmp_path / "m.kern")


def test_header_and_model_are_counted_together(path, monkeypatch):
    header, model, arrays = parts(path)
    monkeypatch.setattr(container, "MOST_NODES", 3000)
    header["notes"] = {"x": [[] for _ in range(2500)]}
    path.write_bytes(packed(header, model, arrays))
    load(path)
    model["objects"][0][1]["columns"] = [[] for _ in range(1000)]
    path.write_bytes(packed(header, model, arrays))
    with pytest.raises(ModelFileError, match="more than 3000 lists"):
        load(path)


def test_many_models_of_one_kernel(path):
    """Each would check all terms of the kernel, and predict with them."""
    header, model, arrays = parts(path)
    kernel = fields(model, "LearnedKernel")
    kernel["kernels"] = kernel["kernels"][:1] * 3000
    kernel["weights"] = {"array": len(model["arrays"])}
    model["arrays"].append(["f8", [3000], "C"])
    model["objects"] += [model["objects"][-1]] * 100
    path.write_bytes(packed(header, model, arrays + np.ones(3000).tobytes()))
    with pytest.raises(ModelFileError, match="too often"):
        load(path)


def test_kernels_of_too_many_terms_are_neither_loaded_nor_saved(model, path, monkeypatch):
    monkeypatch.setattr(kernels, "MOST_TERMS", 2)
    with pytest.raises(ModelFileError, match="a sum of at most 2 kernels"):
        load(path)
    with pytest.raises(ValueError, match="a sum of at most 2 kernels"):
        save(model, path)


@pytest.mark.parametrize("fit", ["classes", "pairs", "numbers"])
def test_a_large_model_is_checked_on_its_first_rows(fit, tmp_path, monkeypatch):
    """It is loaded whole, and predicts the same."""
    X = rows()
    learner = UniformWeights(Gaussian().grid(0.5, 5, 3))
    y = response(X) if fit == "numbers" else labels(X, 4 if fit == "pairs" else 2)
    estimator = KernelRegressor if fit == "numbers" else KernelClassifier
    model = estimator(learner, C=1.0).fit(X, y)
    path = save(model, tmp_path / "m.kern")
    monkeypatch.setattr(estimators, "LARGEST_CHECK", 1)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))


NESTED = {
    "twice as many": (["Linear", {"columns": None}], lambda i: ("AnyOf", "families", i)),
    "pipelines": (["StandardScaler", SCALER], lambda i: ("Pipeline", "steps", i)),
}


@pytest.mark.parametrize("name", NESTED)
def test_objects_of_objects(name, path):
    bottom, form = NESTED[name]
    objects = [bottom]
    for i in range(40):
        cls, field, below = form(i)
        extra = {"names": ["a", "b"]} if cls == "Pipeline" else {}
        objects.append([cls, {field: [{"object": below}] * 2, **extra}])
    with pytest.raises(ModelFileError, match="too many objects, or they are nested too deep"):
        load(forge(path, objects))


@pytest.mark.parametrize(
    ("width", "number", "parts_", "step", "said"),
    [
        (2**40, 1, 1, {"object": 0}, "must take 1 columns"),
        (1, 2**40, 1, {"object": 0}, "n_features must be an int"),
        (1, 60_000, 5, "passthrough", "must have at most 100000 columns"),
    ],
)
def test_columns_that_a_column_transformer_would_allocate(width, number, parts_, step, said, path):
    """Placeholders of its steps are as wide as the file says."""
    wide = {
        "names": [f"{i}" for i in range(parts_)],
        "steps": [step] * parts_,
        "columns": [{"slice": [None, None, None]}] * parts_,
        "widths": [width] * parts_,
        "remainder": "drop",
        "verbose_feature_names_out": False,
        "n_features": number,
    }
    scaler = ["StandardScaler", {**SCALER, "n_features_in_": width}]
    with pytest.raises(ModelFileError, match=said):
        load(forge(path, [scaler, ["ColumnTransformer", wide]]))


def test_steps_that_are_fitted_when_they_are_read(path):
    categories = [{"labels": "U", "items": ["a", "b"]}] * 100
    encoder = {"handle_unknown": "error", "drop": None, "sparse_output": False}
    objects = [["OneHotEncoder", {**encoder, "categories": categories}]] * 100
    with pytest.raises(ModelFileError, match="too often"):
        load(forge(path, objects))


def test_usual_steps_are_far_from_the_limits(tmp_path):
    X = np.array([[f"{i % 7}", f"{i % 3}"] * 100 for i in range(20)], dtype=object)
    parts_ = [(f"{k}", OneHotEncoder(sparse_output=False), [k]) for k in range(50)]
    step = ColumnTransformer([*parts_, ("rest", OneHotEncoder(), list(range(50, 200)))]).fit(X)
    loaded = load(save(step, tmp_path / "m.kern"))
    np.testing.assert_array_equal(loaded.transform(X), step.transform(X))
