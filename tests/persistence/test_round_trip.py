"""What is loaded is what was saved, to the last bit."""

import io
import json
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from kernalign import (
    ContinuousAlignment,
    CustomFamily,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    ModelFileError,
    UniformWeights,
    load,
    save,
)
from kernalign.persistence import read_header
from kernalign.persistence.schema import Reader, Writer
from kernalign.tables import Columns
from tests.extend.inverse_multiquadric import InverseMultiquadric
from tests.extend.squared_features import SquaredFeatures
from tests.kernels import families
from tests.persistence.models import (
    CLASSIFIERS,
    LEARNERS,
    REGRESSORS,
    feature_models,
    labels,
    response,
    rows,
    table,
)

#: Functions of the custom families: a file names them, the user brings them.
FUNCTIONS = [
    families.cauchy,
    families.cauchy_gradient,
    families.wave,
    families.wave_gradient,
    InverseMultiquadric,
    SquaredFeatures,
]


def again(model, tmp_path, **options):
    return load(save(model, tmp_path / "model.kern"), **options)


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(X, y)


def assert_same_state(one, two):
    """Every attribute, all the way down; numbers of numpy come back as those of Python."""
    if isinstance(one, np.generic) or (isinstance(two, np.ndarray) and not two.ndim):
        one, two = np.asarray(one).item(), np.asarray(two).item()
    assert type(one) is type(two)
    if isinstance(one, np.ndarray):
        # The width of text follows from the text.
        assert one.dtype == two.dtype or one.dtype.kind == two.dtype.kind == "U"
        np.testing.assert_array_equal(one, two)
    elif isinstance(one, list | tuple):
        assert len(one) == len(two)
        for a, b in zip(one, two, strict=True):
            assert_same_state(a, b)
    elif isinstance(one, dict):
        assert list(one) == list(two)
        for key in one:
            assert_same_state(one[key], two[key])
    elif isinstance(one, np.random.RandomState):
        assert_same_state(one.get_state(), two.get_state())
    elif hasattr(one, "__dict__") and not callable(one):
        assert set(vars(one)) == set(vars(two))
        for name, value in vars(one).items():
            assert_same_state(value, vars(two)[name])
    elif hasattr(one, "__dict__"):
        assert one == two
    else:
        assert one == two or (one != one and two != two)


@pytest.mark.parametrize("case", families.CASES, ids=lambda case: case.name)
def test_every_family(case, tmp_path):
    """A kernel at parameters of its own, in a learner fitted on the rows of the case."""
    p = families.problem(case)
    names = families.NAMES[: p.full.shape[1]]
    kernel = case.family.resolve(p.full, names).at(p.sigma)
    learner = UniformWeights([kernel]).fit(p.full, p.full[:, 0] > p.full[:, 0].mean())
    same = again(learner, tmp_path, trusted=FUNCTIONS)
    assert same.kernel_ == learner.kernel_
    np.testing.assert_array_equal(
        same.kernel_(p.other_full, p.full), learner.kernel_(p.other_full, p.full)
    )


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: repr(learner)[:60])
def test_every_learner(learner, tmp_path):
    X = rows()
    learner = fitted(learner, X, labels(X))
    # A class from elsewhere is named by who loads it.
    same = again(learner, tmp_path, trusted=[type(learner)])
    assert_same_state(learner, same)
    np.testing.assert_array_equal(same.kernel_(X), learner.kernel_(X))
    # Parameters are whole again: it can be cloned, fitted and pickled.
    assert_same_state(vars(fitted(same, X, labels(X)))["alignment_"], learner.alignment_)
    pickle.dumps(same)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: repr(model)[:60])
def test_every_classifier(model, classes, tmp_path):
    X = rows()
    y = labels(X, classes)
    if model.class_weight is not None and classes > 2:
        model = clone(model).set_params(class_weight="balanced")
    model = fitted(model, X[:30], y[:30])
    same = again(model, tmp_path)
    assert_same_state(model, same)
    np.testing.assert_array_equal(same.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: repr(model)[:60])
def test_every_regressor(model, tmp_path):
    X = rows()
    model = fitted(model, X[:30], response(X[:30]))
    same = again(model, tmp_path)
    assert_same_state(model, same)
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


@pytest.mark.parametrize("model", feature_models(), ids=lambda model: repr(model)[:60])
def test_features(model, tmp_path):
    X = rows()
    model = fitted(model, X[:30], labels(X[:30]))
    same = again(model, tmp_path)
    method = "predict_proba" if hasattr(model, "predict_proba") else "transform"
    np.testing.assert_array_equal(getattr(same, method)(X), getattr(model, method)(X))


def test_a_pipeline_with_text_and_gaps(tmp_path):
    frame, y, model = table()
    model = fitted(model, frame, y)
    same = again(model, tmp_path)
    np.testing.assert_array_equal(same.predict_proba(frame), model.predict_proba(frame))
    assert read_header(tmp_path / "model.kern")["feature_names"] == list(frame.columns)
    with pytest.raises(ValueError, match="columns are missing"):
        same.predict(frame[["width", "colour"]])


def test_columns_are_checked_after_loading(tmp_path):
    frame, y, _ = table()
    frame = frame[["length", "width"]].fillna(0)
    same = again(KernelClassifier(C=1.0).fit(frame, y), tmp_path)
    with pytest.raises(ValueError, match="feature names"):
        same.predict(frame[["width", "length"]])


def test_columns_of_a_table():
    table = {
        "height": ["1,71", "1,80", "1,65", "1,92"],
        "colour": ["red", "blue", "red", None],
        "size": ["low", "high", "low", "high"],
        "day": np.array(["2024-01-01", "2024-02-03", "2024-05-06", "2024-09-01"], dtype="M8[D]"),
    }
    columns = Columns.of(table, kinds={"size": ["low", "high"]})
    writer = Writer()
    document = json.loads(json.dumps(writer.document(columns, "columns")))
    same = Reader(document, memoryview(b"".join(writer.buffers()))).model()
    assert_same_state(columns, same)
    np.testing.assert_array_equal(same.encode(table), columns.encode(table))


def test_a_table_as_it_is(tmp_path):
    frame, y, _ = table()
    kinds = {"colour": "categorical", 0: "numeric"}
    model = KernelClassifier(UniformWeights([Gaussian().at(1.0)]), C=1.0, kinds=kinds).fit(frame, y)
    same = again(model, tmp_path)
    assert_same_state(model, same)
    np.testing.assert_array_equal(same.predict_proba(frame), model.predict_proba(frame))


def test_several_responses(tmp_path):
    X = rows()
    Y = np.column_stack([response(X), np.exp(response(X))])
    model = KernelRegressor(UniformWeights([Gaussian().at(1.0)]), C=1.0).fit(X, Y)
    same = again(model, tmp_path)
    assert_same_state(model, same)
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


def test_shared_parts_are_written_once(tmp_path):
    X = rows(200, 50)
    model = KernelRegressor(ContinuousAlignment(), C=1.0).fit(X, response(X))
    same = again(model, tmp_path)
    assert same.kernel_ is same.learner_.kernel_ is same.model_.kernel
    # The rows once, and a few numbers for each.
    assert (tmp_path / "model.kern").stat().st_size < 1.5 * X.nbytes


def test_the_same_model_gives_the_same_bytes(tmp_path):
    X = rows()
    for name in "ab":
        save(KernelClassifier(C=1.0).fit(X, labels(X)), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_callback_stays_behind(tmp_path):
    X = rows()
    learner = ContinuousAlignment(max_iter=1).fit(X, labels(X))
    learner.callback = print
    assert again(learner, tmp_path).callback is None


def test_own_functions_are_asked_for_by_name(tmp_path):
    X = rows()
    family = CustomFamily(families.cauchy, (0.1, 10.0))
    path = save(ContinuousAlignment(family).fit(X, labels(X)), tmp_path / "m.kern")
    with pytest.raises(ModelFileError, match=r"function .*cauchy.* load\(path, trusted=\[cauchy"):
        load(path)
    assert load(path, trusted=[families.cauchy]).family.function is families.cauchy


class OwnFamily(Gaussian):
    """A user's own class."""


def test_own_classes_are_asked_for_by_name(tmp_path):
    X = rows()
    model = ContinuousAlignment(OwnFamily()).fit(X, labels(X))
    path = save(model, tmp_path / "m.kern")
    with pytest.raises(ModelFileError, match=r"class .*OwnFamily.* load\(path, trusted=\[OwnF"):
        load(path)
    np.testing.assert_array_equal(load(path, trusted=[OwnFamily]).kernel_(X), model.kernel_(X))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (lambda X, Z, s: X @ Z.T, "lambda"),
        (io.BytesIO(), "BytesIO"),
        (np.array([1]).astype("m8[s]"), "ndarray"),
    ],
    ids=["lambda", "stream", "time"],
)
def test_what_cannot_be_saved_is_named(value, said, tmp_path):
    X = rows()
    model = KernelClassifier(ContinuousAlignment(max_iter=1), C=1.0).fit(X, labels(X))
    model.set_params(learner=ContinuousAlignment(CustomFamily(value, (0.1, 1))))
    with pytest.raises(ValueError, match=rf"KernelClassifier.learner.family.function .*{said}"):
        save(model, tmp_path / "m.kern")
    assert list(tmp_path.iterdir()) == []


class Unheard(KernelRidge):
    """A machine that may predict in any way."""


def test_machines_that_are_not_known_cannot_be_saved(tmp_path):
    X = rows()
    model = KernelRegressor(ContinuousAlignment(), machine=Unheard(kernel="precomputed"), C=1.0)
    with pytest.raises(ValueError, match=r"machine Unheard cannot be saved: .* Known are SVC,"):
        save(model.fit(X, response(X)), tmp_path / "m.kern")


def test_a_field_without_a_schema_cannot_be_saved(tmp_path):
    X = rows()
    model = KernelClassifier(ContinuousAlignment(max_iter=1), C=1.0).fit(X, labels(X))
    model.memory = "folder"
    with pytest.raises(ValueError, match="know no field 'memory' of KernelClassifier"):
        save(model, tmp_path / "m.kern")


def test_a_pipeline_keeps_no_folder(tmp_path):
    X = rows()
    model = make_pipeline(StandardScaler(), KernelClassifier(C=1.0), memory=str(tmp_path / "c"))
    same = again(model.fit(X, labels(X)), tmp_path)
    assert same.memory is None
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


def test_a_model_of_many_rows_holds_them_and_no_matrix_of_them(tmp_path):
    """4,597 rows of 57 columns take 2.3 MB: rows, coefficients, and held-out rows."""
    X = rows(600, 4)
    model = KernelRegressor(ContinuousAlignment(max_iter=1), machine="ridge", C=1.0, cv=2)
    path = save(model.fit(X, response(X)), tmp_path / "m.kern")
    assert path.stat().st_size < 600 * (4 + 2) * 8 + 600 * 6 * 8 + 12_000


def test_a_model_holds_landmarks_and_coefficients(tmp_path):
    """And six numbers of each held-out row, but no matrix of landmarks by landmarks."""
    X = rows(600, 4)
    model = KernelRegressor(ContinuousAlignment(), solver="nystroem", n_components=200)
    path = save(model.fit(X, response(X)), tmp_path / "m.kern")
    assert path.stat().st_size < 200 * 5 * 8 + 600 * 6 * 8 + 12_000


TRANSFORMERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    MinMaxScaler(clip=True),
    MaxAbsScaler(),
    RobustScaler(),
    PCA(2),
    PCA(2, whiten=True),
    SimpleImputer(strategy="median"),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    ColumnTransformer([("one", StandardScaler(), [0]), ("rest", "passthrough", slice(1, 3))]),
    ColumnTransformer([("one", PCA(1), [0, 2])], remainder="passthrough"),
]


@pytest.mark.parametrize("step", TRANSFORMERS, ids=lambda step: repr(step)[:60])
def test_every_step(step, tmp_path):
    X = rows().round(1)
    model = fitted(
        make_pipeline(step, KernelRegressor(UniformWeights([Gaussian().at(1.0)]), C=1.0)),
        X,
        response(X),
    )
    same = again(model, tmp_path)
    other = rows(60).round(1)[40:] if not hasattr(step, "categories") else X
    np.testing.assert_array_equal(same.predict(other), model.predict(other))
    np.testing.assert_array_equal(fitted(same, X, response(X)).predict(other), model.predict(other))


def test_what_is_no_estimator_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"save needs a fitted estimator .* Got list"):
        save([1], tmp_path / "m.kern")
    with pytest.raises(ValueError, match="there is no folder"):
        save(StandardScaler().fit(rows()), tmp_path / "no" / "m.kern")
    unfitted = r"save needs a fitted estimator .* Got {} that is not fitted"
    for model in (KernelClassifier(), make_pipeline(StandardScaler(), KernelClassifier())):
        with pytest.raises(ValueError, match=unfitted.format(type(model).__name__)):
            save(model, tmp_path / "m.kern")
    assert not list(tmp_path.iterdir())
