"""Bad input gets one clear sentence, or a defined answer with a warning.

Never NaN, never a warning from inside numpy, never a stack trace that a user cannot read.
"""

import re
import warnings

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, SVR

from kernalign import (
    AlignmentWarning,
    AnyOf,
    ContinuousAlignment,
    ContinuousRisk,
    CustomFamily,
    Dirichlet,
    Fourier,
    Gaussian,
    KernelClassifier,
    KernelFeatures,
    KernelRegressor,
    Laplacian,
    LearnedKernel,
    Linear,
    LpNormMKL,
    Matern,
    Polynomial,
    RationalQuadratic,
    SelectionWarning,
)
from kernalign.features import NystroemMap

FAMILIES = {
    "gaussian": Gaussian(),
    "gaussian ard": Gaussian(ard=True),
    "laplacian": Laplacian(),
    "laplacian ard": Laplacian(ard=True),
    "matern": Matern(),
    "matern ard": Matern(nu=2.5, ard=True),
    "rational quadratic": RationalQuadratic(),
    "fourier": Fourier(),
    "linear": Linear(),
    "polynomial": Polynomial(),
    "any of": AnyOf(Gaussian(columns=[0]), Linear()),
}
KINDS = ["classifier", "regressor", "features", "learner"]
TWO = ["gaussian", "gaussian ard"]

every_kind = pytest.mark.parametrize("kind", KINDS)
both_families = pytest.mark.parametrize("family", TWO)
#: Every family through the learner, two of them through everything.
everything = pytest.mark.parametrize(
    ("kind", "family"),
    [("learner", family) for family in FAMILIES]
    + [(kind, family) for kind in KINDS if kind != "learner" for family in TWO],
)


def make(kind, family="gaussian"):
    learner = ContinuousAlignment(FAMILIES[family], max_iter=5)
    return {
        "classifier": lambda: KernelClassifier(learner, C=[0.1, 1.0, 10.0], cv=3),
        "regressor": lambda: KernelRegressor(learner, C=[0.1, 1.0, 10.0], cv=3),
        "features": lambda: KernelFeatures(learner, n_components=10),
        "learner": lambda: learner,
    }[kind]()


def data(n=24, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] + 0.5 * rng.standard_normal(n) > 0).astype(int)


def response(kind, y):
    """What this kind of estimator takes for y: numbers that are not classes to a regressor."""
    return y + 0.1 * np.cos(np.arange(len(y))) if kind == "regressor" else y


def outputs(estimator, X):
    """Everything that an estimator says about rows."""
    found = [np.array([estimator.alignment_]), estimator.kernel_.weights]
    for method in ("decision_function", "predict_proba", "transform"):
        if hasattr(estimator, method):
            found.append(getattr(estimator, method)(X))
    if isinstance(estimator, KernelRegressor):
        found.append(estimator.predict(X))
    if isinstance(estimator, ContinuousAlignment):
        columns = getattr(estimator, "columns_", None)
        rows = X.toarray() if scipy.sparse.issparse(X) else X
        found.append(estimator.kernel_(rows if columns is None else columns.encode(X)))
    return found


def accepted(estimator, X, y, *, weight=None, may_warn=(), must_warn=(), new=None):
    """Fit and predict: finite numbers, and no warnings but the documented ones."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, y, **({} if weight is None else {"sample_weight": weight}))
        found = outputs(estimator, X) + ([] if new is None else outputs(estimator, new))
    seen = {w.category for w in caught}
    assert seen <= {*may_warn, *must_warn}, [str(w.message) for w in caught]
    assert seen >= set(must_warn)
    for values in found:
        assert np.isfinite(values).all()
    assert len(estimator.kernel_.kernels) > 0
    return estimator


def clear(message, *words):
    """The message holds the words, and nothing of numpy's way to print a scalar."""
    for word in words:
        # One letter could be part of any word.
        assert re.search(rf"\b{word}\b", message) if len(word) == 1 else word in message
    assert "np." not in message


def refused(estimator, X, y, *words, weight=None, kind=(ValueError, TypeError)):
    """Fit says no, in words."""
    given = {} if weight is None else {"sample_weight": weight}
    with pytest.raises(kind) as caught:
        estimator.fit(X, y, **given)
    clear(str(caught.value), *words)


# --- NaN and infinity ----------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_x_that_is_not_finite(kind, value, word):
    X, y = data()
    y = response(kind, y)
    fitted = make(kind).fit(X, y)
    X[3, 1] = value
    refused(make(kind), X, y, "X", word)
    if kind != "learner":
        method = fitted.transform if kind == "features" else fitted.predict
        with pytest.raises(ValueError, match=f"X contains {word}"):
            method(X)


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("classifier", np.nan, "y has no label in row 3"),
        ("classifier", np.inf, "y is infinite in row 3"),
        ("regressor", np.nan, "y is missing in row 3"),
        ("regressor", np.inf, "y is infinite in row 3"),
        *((kind, np.nan, "y contains NaN") for kind in ("features", "learner")),
        *((kind, np.inf, "y contains infinity") for kind in ("features", "learner")),
    ],
)
def test_y_that_is_not_finite(kind, value, said):
    X, y = data()
    y = response("regressor", y)
    y[3] = value
    refused(make(kind), X, y, said)


@every_kind
def test_missing_values_in_frames(kind):
    X, y = data()
    frame = pandas.DataFrame(X, columns=list("abc"))
    frame["b"] = pandas.array([None, *X[1:, 1]], dtype="Float64")
    for table in (frame, polars.DataFrame({"a": X[:, 0], "b": [None, *X[1:, 1]]})):
        estimator = accepted(make(kind), table, response(kind, y), new=table)
        assert estimator.columns_["b"].missing == 1


# --- too little ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["classifier", "features", "learner"])
@pytest.mark.parametrize("label", [1, "only", True, 3.0])
def test_one_class(kind, label):
    X, _ = data()
    refused(make(kind), X, np.full(len(X), label), "two classes", "one class", repr(label))


@pytest.mark.parametrize("kind", ["classifier", "features", "learner"])
def test_one_class_of_positive_weight_is_named(kind):
    X, y = data()
    labels = np.array(["bad", "good"])[y]
    weight = (y == 1).astype(float)
    refused(make(kind), X, labels, "two classes", "one class", "'good'", weight=weight)


@every_kind
def test_one_sample(kind):
    X, y = data()
    refused(make(kind), X[:1], y[:1], "1 sample", "minimum of 2", type(make(kind)).__name__)


@every_kind
def test_empty_x(kind):
    X, y = data()
    refused(make(kind), X[:0], y[:0], "0 sample", "minimum of 2")
    refused(make(kind), X[:, :0], y, "0 feature", "minimum of 1")


@every_kind
def test_x_of_the_wrong_dimension(kind):
    X, y = data()
    refused(make(kind), X[:, 0], response(kind, y), "Expected 2D array", "1D array", "reshape")
    refused(make(kind), X[None], response(kind, y), "dim 3", "dim <= 2")


@every_kind
def test_lengths_that_differ(kind):
    X, y = data()
    refused(make(kind), X, response(kind, y)[:-1], "inconsistent numbers of samples", "24", "23")


@every_kind
def test_no_y(kind):
    X, _ = data()
    refused(make(kind), X, None, "requires y", type(make(kind)).__name__)


@everything
def test_two_rows(kind, family):
    X, _ = data(2)
    warned = (SelectionWarning,) if kind == "classifier" else ()
    accepted(
        make(kind, family), X, np.array([0, 1]), may_warn=(AlignmentWarning,), must_warn=warned
    )


@every_kind
@both_families
def test_three_rows(kind, family):
    X, _ = data(3)
    may = (AlignmentWarning, SelectionWarning)
    accepted(make(kind, family), X, np.array([0, 1, 1]), may_warn=may)


@everything
def test_more_features_than_rows(kind, family):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 30)), np.arange(12) % 2
    accepted(make(kind, family), X, response(kind, y), may_warn=(AlignmentWarning,))


@pytest.mark.parametrize("rare", [1, 2, 3])
@both_families
def test_999_of_1000_rows_in_one_class(rare, family):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 2))
    y = np.zeros(1000, dtype=int)
    y[:rare] = 1
    clf = KernelClassifier(ContinuousAlignment(FAMILIES[family], max_iter=1), C=[0.1, 1.0], cv=2)
    must = (SelectionWarning,) if rare == 1 else ()
    accepted(clf, X, y, may_warn=(AlignmentWarning,), must_warn=must, new=X[:10] + 5)
    assert (clf.predict(X) == 0).mean() > 0.99


def test_the_warning_about_a_single_row_names_its_class():
    X, _ = data()
    labels = np.array(["common"] * 23 + ["rare"])
    with pytest.warns(SelectionWarning) as caught:
        make("classifier").fit(X, labels)
    (message,) = {str(w.message) for w in caught if w.category is SelectionWarning}
    clear(message, "'rare'", "single row", "C")


# --- nothing to learn ----------------------------------------------------------------------------


@everything
@pytest.mark.parametrize("value", [0.0, 1.0, -1e8])
def test_all_rows_equal(kind, family, value):
    X, y = data(12)
    X[:] = value
    accepted(make(kind, family), X, response(kind, y), must_warn=(AlignmentWarning,))


@everything
def test_all_rows_equal_and_huge(kind, family):
    X, y = data(12)
    X[:] = 1e300
    accepted(make(kind, family), X, response(kind, y), must_warn=(AlignmentWarning,))


@everything
@pytest.mark.parametrize("value", [0.0, 1e8])
def test_a_constant_feature(kind, family, value):
    X, y = data()
    X = np.column_stack([X, np.full(len(X), value)])
    accepted(make(kind, family), X, response(kind, y), may_warn=(AlignmentWarning,))


@pytest.mark.parametrize("family", ["gaussian", "gaussian ard", "laplacian", "matern", "fourier"])
@pytest.mark.parametrize("value", [1.0, 1e8, 1e300])
def test_a_constant_feature_is_as_if_absent(family, value):
    X, y = data()
    with_it = np.column_stack([X, np.full(len(X), value)])
    learner = accepted(make("learner", family), with_it, y)
    if family != "fourier":  # its random starts have another dimension
        plain = make("learner", family).fit(X, y)
        assert learner.alignment_ == pytest.approx(plain.alignment_, abs=1e-3)


@everything
def test_repeated_rows_with_opposite_labels(kind, family):
    X, y = data()
    X, y = np.vstack([X, X]), np.r_[y, 1 - y]
    accepted(make(kind, family), X, y, must_warn=(AlignmentWarning,))


@every_kind
@both_families
def test_some_repeated_rows_with_opposite_labels(kind, family):
    X, y = data()
    X, y = np.vstack([X, X[:5]]), np.r_[y, 1 - y[:5]]
    accepted(make(kind, family), X, response(kind, y), may_warn=(AlignmentWarning,))


@every_kind
@both_families
@pytest.mark.parametrize("seed", range(4))
def test_labels_that_are_noise(kind, family, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((12, 4)), rng.permutation(np.repeat([0, 1], 6))
    accepted(make(kind, family), X, response(kind, y), may_warn=(AlignmentWarning,))


def test_the_warning_points_at_the_users_line():
    X, y = data(12)
    with pytest.warns(AlignmentWarning) as caught:
        make("classifier").fit(np.ones_like(X), y)
    assert [w.filename for w in caught] == [__file__]
    clear(str(caught[0].message), "No kernel", "alignment", "best single kernel")


# --- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["classifier", "features", "learner"])
@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([0.0, 1.0]),
        np.array([-7.0, 1e15]),
        np.array([3, 250], dtype=np.uint8),
    ],
    ids=["str", "object", "bool", "float", "far floats", "uint8"],
)
def test_labels_of_any_kind(kind, labels):
    X, y = data()
    estimator = accepted(make(kind), X, labels[y])
    plain = make(kind).fit(X, y)
    assert estimator.alignment_ == pytest.approx(plain.alignment_, abs=1e-9)
    if kind == "classifier":
        np.testing.assert_array_equal(estimator.predict(X), labels[plain.predict(X)])


@pytest.mark.parametrize("kind", ["classifier", "features", "learner"])
def test_labels_in_lists_and_series(kind):
    X, y = data()
    plain = make(kind).fit(X, y)
    categories = pandas.Series(pandas.Categorical.from_codes(y, ["no", "yes"]))
    for labels in (y.tolist(), pandas.Series(y), polars.Series(y), categories):
        estimator = accepted(make(kind), X.tolist(), labels)
        assert estimator.alignment_ == pytest.approx(plain.alignment_, abs=1e-9)


@pytest.mark.parametrize("kind", ["classifier", "features", "learner"])
@pytest.mark.parametrize("odd", [1, None], ids=["number", "None"])
def test_labels_of_mixed_kinds(kind, odd):
    X, y = data()
    labels = np.array(["no", "yes"], dtype=object)[y]
    labels[3] = odd
    refused(make(kind), X, labels, "y")


def test_numbers_to_a_classifier():
    X, y = data()
    refused(make("classifier"), X, response("regressor", y), "continuous", "class")


@every_kind
def test_several_labels_per_row(kind):
    """Several responses are taken by a regressor, and by nobody else."""
    X, y = data()
    several = np.column_stack([y, 1 - y])
    if kind == "regressor":
        assert accepted(make(kind), X, several).predict(X).shape == several.shape
    else:
        refused(make(kind), X, several, "y")


@every_kind
def test_a_column_of_labels(kind):
    """One column is one label per row: taken, with scikit-learn's warning or without."""
    X, y = data()
    estimator = accepted(make(kind), X, y[:, None], may_warn=(DataConversionWarning,))
    assert estimator.alignment_ == pytest.approx(make(kind).fit(X, y).alignment_, abs=1e-9)


def test_text_to_a_regressor():
    X, y = data()
    refused(make("regressor"), X, np.array(["low", "high"])[y], "y")


# --- responses -----------------------------------------------------------------------------------


@both_families
@pytest.mark.parametrize("machine", ["ridge", "svr"])
@pytest.mark.parametrize("value", [0.0, 5.0, -1e-300, 1e300])
def test_a_constant_response(family, machine, value):
    X, _ = data()
    model = KernelRegressor(
        ContinuousAlignment(FAMILIES[family]), machine=machine, C=[0.1, 1.0], cv=3
    )
    accepted(model, X, np.full(len(X), value), must_warn=(AlignmentWarning,))
    # Support vectors may use their tube: a tenth of the unit that stands in for the spread.
    np.testing.assert_allclose(
        model.predict(X + 1), value, rtol=1e-6, atol=0.2 if machine == "svr" else 1e-9
    )


@both_families
@pytest.mark.parametrize("machine", ["ridge", "svr"])
@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1e100, 1e200, 1e300])
def test_a_tiny_or_huge_response(family, machine, scale):
    X, y = data()
    y = response("regressor", y)
    learner = ContinuousAlignment(FAMILIES[family], max_iter=3)
    model = KernelRegressor(learner, machine=machine, C=[0.1, 1.0], cv=3)
    plain = model.fit(X, y).predict(X)
    accepted(model, X, scale * y)
    np.testing.assert_allclose(model.predict(X) / scale, plain, atol=1e-2)


@pytest.mark.parametrize("kind", ["features", "learner"])
@pytest.mark.parametrize("scale", [1e-300, 1e100, 1e300])
def test_a_tiny_or_huge_response_to_a_learner(kind, scale):
    X, y = data()
    y = response("regressor", y)
    estimator = accepted(make(kind), X, scale * y)
    assert estimator.alignment_ == pytest.approx(make(kind).fit(X, y).alignment_, abs=1e-6)


def test_a_response_that_hardly_varies():
    X, y = data()
    y = response("regressor", y)
    model = accepted(make("regressor"), X, 1e6 + 1e-3 * y, may_warn=(AlignmentWarning,))
    assert np.abs(model.predict(X) - 1e6).max() < 1e-2


# --- the form of X -------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize(
    "form", [scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array]
)
def test_sparse_x(kind, form):
    X, y = data()
    y = response(kind, y)
    estimator = accepted(make(kind), form(X), y)
    assert estimator.alignment_ == pytest.approx(make(kind).fit(X, y).alignment_, abs=1e-12)


@every_kind
@pytest.mark.parametrize(
    ("column", "found"),
    [
        (lambda n: ["red", "blue"] * (n // 2), "categorical"),
        (lambda n: ["1.5"] * n, "constant"),
        (lambda n: pandas.Categorical(["red", "blue"] * (n // 2)), "categorical"),
    ],
    ids=["text", "one number as text", "categories"],
)
def test_text_in_a_pandas_frame(kind, column, found):
    X, y = data()
    frame = pandas.DataFrame(X, columns=list("abc")).assign(b=column(len(X)))
    estimator = accepted(make(kind), frame, response(kind, y), new=frame)
    assert estimator.columns_["b"].kind == found


@every_kind
def test_one_text_among_numbers(kind):
    X, y = data()
    frame = pandas.DataFrame(X, columns=list("abc")).assign(b=[1.0] * (len(X) - 1) + ["two"])
    refused(make(kind), frame, response(kind, y), "'b'", "row 23", "'two'", "categorical")


@every_kind
@pytest.mark.parametrize("dtype", [polars.String, polars.Categorical])
def test_text_in_a_polars_frame(kind, dtype):
    X, y = data()
    frame = polars.DataFrame(
        {"a": X[:, 0], "b": polars.Series(["red", "blue"] * 12, dtype=dtype), "c": X[:, 2]}
    )
    estimator = accepted(make(kind), frame, response(kind, y), new=frame)
    assert estimator.columns_["b"].kind == "categorical"


@every_kind
@pytest.mark.parametrize(
    "X",
    [
        np.array([["red", "blue"]] * 24),
        np.array([["red", "blue"]] * 24, dtype=object),
        np.array([[1.0, "blue"]] * 24, dtype=object),
    ],
    ids=["str", "object", "mixed"],
)
def test_text_in_an_array(kind, X):
    _, y = data()
    refused(make(kind), X, response(kind, y), "No column can be used", "one value")


def test_text_at_prediction():
    X, y = data()
    frame = pandas.DataFrame(X, columns=list("abc"))
    clf = make("classifier").fit(frame, y)
    with pytest.raises(ValueError, match="Column 'b' cannot be used: it holds text"):
        clf.predict(frame.assign(b="red"))


def test_text_at_prediction_with_a_model_of_an_array():
    """The sentence is that of a table in `fit`; numbers written as text stay numbers."""
    X, y = data()
    clf = make("classifier").fit(X, y)
    cells = X.astype(object)
    cells[3, 1] = "abc"
    with pytest.raises(ValueError, match=r"Column 'x1' cannot be used: .* row 3 holds 'abc'"):
        clf.predict(cells)
    with pytest.raises(ValueError, match="Column 'x0' cannot be used: it holds dates"):
        clf.predict(np.array([[np.datetime64("2020-01-01"), 1.0, 2.0]], dtype=object))
    cells[3, 1] = str(X[3, 1])
    np.testing.assert_array_equal(clf.predict(cells), clf.predict(X))


@every_kind
def test_numbers_as_objects_and_booleans(kind):
    X, y = data()
    y = response(kind, y)
    plain = make(kind).fit(X, y)
    objects = accepted(make(kind), X.astype(object), y)
    assert objects.alignment_ == pytest.approx(plain.alignment_, abs=1e-12)
    accepted(make(kind), X > 0, y, may_warn=(AlignmentWarning,))


@pytest.mark.parametrize(
    ("kind", "family"), [*((kind, "gaussian") for kind in KINDS), ("learner", "gaussian ard")]
)
@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        lambda X: pandas.DataFrame(X).to_numpy(),
    ],
    ids=["Fortran", "strided rows", "strided columns", "negative strides", "frame"],
)
def test_the_layout_of_x_does_not_matter(kind, family, form):
    X, y = data()
    y = response(kind, y)
    other = accepted(make(kind, family), form(X), y)
    plain = make(kind, family).fit(X, y)
    for one, two in zip(outputs(other, form(X)), outputs(plain, X), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)


@every_kind
@both_families
def test_read_only_arrays_are_only_read(kind, family):
    X, y = data()
    y = response(kind, y)
    weight = np.ones(len(X))
    for array in (X, y, weight):
        array.flags.writeable = False
    accepted(make(kind, family), X, y, weight=weight)


@pytest.mark.parametrize(
    ("kind", "family"), [*((kind, "gaussian") for kind in KINDS), ("learner", "gaussian ard")]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.longdouble])
def test_other_number_types(kind, family, dtype):
    X, y = data()
    X = (4 * X).astype(dtype)
    y = response(kind, y)
    estimator = accepted(make(kind, family), X, y)
    double = make(kind, family).fit(X.astype(float), y)
    assert estimator.alignment_ == double.alignment_
    assert estimator.kernel_(X.astype(float)).dtype == np.float64


def test_complex_numbers():
    X, y = data()
    for kind in KINDS:
        refused(make(kind), X + 1j, response(kind, y), "Complex data not supported")


# --- scales --------------------------------------------------------------------------------------


@everything
@pytest.mark.parametrize("scale", [1e-300, 1e299])
def test_features_of_any_scale(kind, family, scale):
    X, y = data()
    y = response(kind, y)
    estimator = accepted(make(kind, family), scale * X, y, may_warn=(AlignmentWarning,))
    plain = make(kind, family).fit(X, y)
    assert estimator.alignment_ == pytest.approx(plain.alignment_, abs=2e-3)


@everything
@pytest.mark.parametrize("power", [160, 299])
def test_features_of_mixed_scales(kind, family, power):
    X, y = data()
    X = X * [10.0**power, 10.0**-power, 1.0]
    accepted(make(kind, family), X, response(kind, y), may_warn=(AlignmentWarning,))


@pytest.mark.parametrize("family", ["gaussian ard", "laplacian ard", "matern ard"])
@pytest.mark.parametrize("exponent", [0, 160, 300])
def test_a_relevance_too_small_to_invert_is_none_at_all(family, exponent):
    X, _ = data()
    resolved = FAMILIES[family].resolve(10.0**exponent * X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sigma = resolved.from_search(np.array([1.0, 1e-40, 0.0]))
    assert np.isfinite(sigma[0])
    assert np.isinf(sigma[2])
    assert sigma[1] > 1e3 * sigma[0]


@pytest.mark.parametrize(
    "family", [f for f in FAMILIES if f not in ("polynomial", "linear", "any of", "fourier")]
)
@pytest.mark.parametrize("distance", [1e3, 1e100, 1e200, 1e300])
def test_new_rows_far_from_all_others(family, distance):
    X, y = data()
    far = distance * np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 0.0], [-1.0, 0.0, 1.0]])
    accepted(make("classifier", family), X, y, new=far)


@pytest.mark.parametrize("cell", [1e155, 1e200, 1e300])
@pytest.mark.parametrize("family", [Gaussian(bounds=(0.1, 10.0)), Matern(bounds=(0.1, 10.0))])
def test_one_cell_far_beyond_the_bounds_of_a_bandwidth(family, cell):
    """A difference of two overflows was no number, and so were the decisions."""
    X, y = data()
    X[3, 1] = cell
    K = family.at(1.0)(X)
    assert np.isfinite(K).all()
    np.testing.assert_array_equal(K[3], np.arange(len(X)) == 3)
    others = np.delete(X, 3, axis=0)
    np.testing.assert_allclose(np.delete(K, 3, axis=0)[:, :3], family.at(1.0)(others, X[:3]))
    classifier = KernelClassifier(ContinuousRisk(family), C=1.0)
    accepted(classifier, X, y)


def test_a_weight_of_the_loss_that_overflows():
    X, y = data()
    for learner in (LpNormMKL([Gaussian().at(1.0)], p=1.5, C=1e300), ContinuousRisk(C=1e300)):
        refused(learner, X, y, "'C' parameter", "1e+100")


def test_an_error_of_a_huge_response_is_no_nan():
    X, y = data()
    y = response("regressor", y)
    model = KernelRegressor(cv=3).fit(X, 1e200 * y)
    assert model.cv_error_ == np.inf
    assert np.isfinite(model.predict(X)).all()


def test_frequencies_that_overflow():
    X, y = data()
    model = KernelClassifier(ContinuousAlignment(Matern(), max_iter=1), solver="fourier")
    refused(model, 1e-310 * X, y, "solver='fourier'", "frequencies", "solver='nystroem'")


def test_a_polynomial_of_a_row_beyond_all_scales():
    X, _ = data()
    far = np.array([[1e200, -1e200, 1e300]])
    kernel = Polynomial(3).resolve(X).at(1.0)
    assert np.isfinite(kernel(far, X)).all()


def test_landmarks_on_which_nothing_is_left_of_the_kernel():
    """A factorisation was tried without end."""
    X, _ = data()
    kernel = LearnedKernel([Linear().at(np.ones(X.shape[1]))], np.ones(1))
    assert np.isfinite(NystroemMap(kernel, np.zeros((3, X.shape[1]))).root).all()


def test_random_features_of_few_rows_are_few():
    X, y = data()
    model = KernelClassifier(ContinuousAlignment(max_iter=2), solver="fourier").fit(X, y)
    assert model.model_.columns <= 10 * len(X) + 4


# --- weights -------------------------------------------------------------------------------------


@every_kind
def test_weights_that_are_no_weights(kind):
    X, y = data()
    y = response(kind, y)
    ones = np.ones(len(X))
    refused(make(kind), X, y, "Negative", "sample_weight", weight=np.r_[-1.0, ones[1:]])
    refused(make(kind), X, y, "sample_weight", "NaN", weight=np.r_[np.nan, ones[1:]])
    refused(make(kind), X, y, "sample_weight", "infinity", weight=np.r_[np.inf, ones[1:]])
    refused(make(kind), X, y, "sample_weight", "(23,)", "(24,)", weight=ones[1:])
    refused(make(kind), X, y, "1D array", "24", weight=ones[:, None])


@every_kind
def test_weights_of_zero_only(kind):
    X, y = data()
    with pytest.raises(ValueError, match=r"ample.?weight.* must .*(non-zero|positive)"):
        make(kind).fit(X, response(kind, y), sample_weight=np.zeros(len(X)))


def test_weight_on_a_single_row():
    X, y = data()
    weight = np.eye(len(X))[0]
    refused(make("regressor"), X, response("regressor", y), "two rows", "1", weight=weight)


@pytest.mark.parametrize(
    ("kind", "family"),
    [("classifier", "gaussian"), ("learner", "gaussian"), ("learner", "gaussian ard")],
)
@pytest.mark.parametrize("size", [1e-300, 1e-10, 1 / 24, 1e9, 1e300])
def test_weights_of_any_size(kind, family, size):
    """Equal weights favour no row. Where C is fixed by their size, the kernel is not."""
    X, y = data()
    y = response(kind, y)
    estimator = accepted(make(kind, family), X, y, weight=np.full(len(X), size))
    plain = make(kind, family).fit(X, y)
    assert estimator.alignment_ == pytest.approx(plain.alignment_, abs=0.03)


# --- at prediction -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["classifier", "regressor", "features"])
def test_before_fit(kind):
    X, _ = data()
    estimator = make(kind)
    with pytest.raises(NotFittedError, match=type(estimator).__name__):
        (estimator.transform if kind == "features" else estimator.predict)(X)


@pytest.mark.parametrize("kind", ["classifier", "regressor", "features"])
def test_other_columns_at_prediction(kind):
    X, y = data()
    estimator = make(kind).fit(X, response(kind, y))
    use = estimator.transform if kind == "features" else estimator.predict
    with pytest.raises(ValueError, match=r"2 features.*expecting 3 features"):
        use(X[:, :2])
    with pytest.raises(ValueError, match="Expected 2D array"):
        use(X[0])
    with pytest.raises(ValueError, match="0 sample"):
        use(X[:0])
    np.testing.assert_array_equal(use(scipy.sparse.csr_array(X)), use(X))


@pytest.mark.parametrize("kind", ["classifier", "regressor", "features"])
@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
def test_other_names_at_prediction(kind, frame):
    X, y = data()
    estimator = make(kind).fit(frame(dict(zip("abc", X.T, strict=True))), response(kind, y))
    use = estimator.transform if kind == "features" else estimator.predict
    for names, words in (("abx", ["unseen at fit time", "x", "missing", "c"]), ("acb", ["order"])):
        with pytest.raises(ValueError, match="feature names should match") as caught:
            use(frame(dict(zip(names, X.T, strict=True))))
        clear(str(caught.value), *words)


def test_names_that_are_no_strings():
    X, y = data()
    frame = pandas.DataFrame(X, columns=["a", 1, "c"])
    for kind in KINDS:
        estimator = accepted(make(kind), frame, response(kind, y), new=frame)
        assert estimator.feature_names_in_.tolist() == ["a", "1", "c"]


# --- parameters ----------------------------------------------------------------------------------

LEARNER = {
    "family": ["gaussian", 1, Gaussian, [Gaussian()], SVC()],
    "tol": [-1, "small", None, np.nan, True, [1e-3]],
    "max_iter": [0, -1, 2.5, "all", None, np.inf, True],
    "eps": [0, -1.0, "tiny", None, np.inf, np.nan],
    "eta_max": [0, -1.0, "one", None, np.inf, np.nan],
    "start": ["worst", None, 1],
    "selection": ["slopes", None, 0],
    "corrective": ["yes", None, 1],
    "early_stopping": ["yes", None, 1],
    "penalty": [-1, "paths", None, [], [-1.0], ["a"], np.nan, [1.0, np.nan], {}],
    "validation_fraction": [0, 1, -0.5, 2, "quarter", None],
    "n_starts": [0, -1, 1.5, "many", None],
    "callback": ["print", 1, []],
}
TABLE = {
    "categorical_features": ["from_names", 1, 2.5],
    "kinds": ["numeric", 1, ["numeric"]],
}
CLASSIFIER = {
    **TABLE,
    "learner": ["ca", 1, SVC(), ContinuousAlignment, Gaussian()],
    "machine": ["svm", 1, SVC(), SVC, LogisticRegression()],
    "C": [0, -1, "best", None, [], [0.0, 1.0], [np.nan], np.nan, np.inf, ["a"], [[1.0]], {}, True],
    "nested": ["yes", None, 1],
    "solver": ["fast", None, 1],
    "n_components": [0, -1, 2.5, "many", True],
    "verbose": ["yes", None, 0.5],
    "class_weight": ["equal", 1, [1, 2], {0: -1.0, 1: 1.0}, {0: 0.0, 1: 1.0}],
}
REGRESSOR = {
    **TABLE,
    **{
        name: CLASSIFIER[name]
        for name in ("learner", "C", "nested", "solver", "n_components", "verbose")
    },
    "machine": ["svm", 1, SVR(), SVR, LogisticRegression()],
}
FEATURES = {
    **TABLE,
    "learner": ["ca", 1, SVC()],
    "n_components": [0, -1, 1.5, "all", True],
    "output": ["matrix", None, 1],
}
WRONG = [
    (owner, name, value)
    for owner, table in (
        (ContinuousAlignment, LEARNER),
        (KernelClassifier, CLASSIFIER),
        (KernelRegressor, REGRESSOR),
        (KernelFeatures, FEATURES),
    )
    for name, values in table.items()
    for value in values
]


@pytest.mark.parametrize(
    ("owner", "name", "value"), WRONG, ids=[f"{o.__name__}-{n}-{v!r}" for o, n, v in WRONG]
)
def test_wrong_values_of_parameters(owner, name, value):
    """Parameter, owner, allowed and got, all in the message."""
    X, y = data()
    estimator = owner(**{name: value})
    with pytest.raises((ValueError, TypeError)) as caught:
        estimator.fit(X, response("regressor", y) if owner is KernelRegressor else y)
    message = str(caught.value)
    assert f"'{name}' parameter of {owner.__name__} must" in message
    assert repr(value) in message


def test_the_constructor_checks_nothing():
    """As scikit-learn asks: parameters are checked by fit, so that clone and search work."""
    for owner, name, value in WRONG:
        assert getattr(owner(**{name: value}), name) is value


def test_the_tables_name_every_parameter():
    """Others are checked below, by scikit-learn's own messages."""
    elsewhere = {"random_state", "cv"}
    for owner, table in (
        (ContinuousAlignment, LEARNER),
        (KernelClassifier, CLASSIFIER),
        (KernelRegressor, REGRESSOR),
        (KernelFeatures, FEATURES),
    ):
        assert set(table) | elsewhere >= set(owner().get_params(deep=False))


@pytest.mark.parametrize("owner", [KernelClassifier, KernelRegressor])
@pytest.mark.parametrize("value", [0, 1, -1, "five", 2.5, []])
def test_folds_that_are_no_folds(owner, value):
    X, y = data()
    y = response("regressor", y) if owner is KernelRegressor else y
    with pytest.raises((ValueError, TypeError), match=r"cv|cross-validation|split"):
        owner(cv=value).fit(X, y)


@pytest.mark.parametrize("value", ["a", 2.5, -1])
def test_seeds_that_are_no_seeds(value):
    X, y = data()
    for estimator in (
        ContinuousAlignment(random_state=value),
        KernelFeatures(random_state=value, n_components=5),
    ):
        with pytest.raises(ValueError, match=r"[Ss]eed"):
            estimator.fit(X, y)


def test_a_class_weight_for_a_class_that_is_not_there():
    X, y = data()
    refused(KernelClassifier(class_weight={5: 1.0}), X, y, "class_weight", "classes")


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (Gaussian(bounds=(2, 1)), ["'bounds'", "Gaussian", "low <= high", "(2, 1)"]),
        (Gaussian(bounds=(0, 1)), ["'bounds'", "Gaussian", "0 < low", "(0, 1)"]),
        (Gaussian(ard=True, bounds=3), ["'bounds'", "Gaussian", "pair", "3"]),
        (Gaussian(bounds="ab"), ["'bounds'", "Gaussian", "pair", "'ab'"]),
        (Gaussian(ard="yes"), ["'ard'", "Gaussian", "'yes'"]),
        (Gaussian(columns=[7]), ["'columns'", "Gaussian", "3", "7"]),
        (Gaussian(columns=[]), ["'columns'", "Gaussian", "no column"]),
        (Gaussian(columns=["a"]), ["'columns'", "Gaussian", "'a'", "names"]),
        (Gaussian(columns=1), ["'columns'", "Gaussian", "1"]),
        (Gaussian(columns=[0.5]), ["'columns'", "Gaussian", "0.5"]),
        (Gaussian(columns=[None]), ["'columns'", "Gaussian", "None"]),
        (Matern(nu=1.0), ["'nu'", "Matern", "1.5", "Got 1.0"]),
        (Polynomial(degree=0), ["'degree'", "Polynomial", "[1, inf)", "Got 0"]),
        (Polynomial(degree=1.5), ["'degree'", "Polynomial", "int", "Got 1.5"]),
        (Fourier(bounds=(2, 1)), ["'bounds'", "Fourier", "low <= high", "(2, 1)"]),
        (Dirichlet(), ["Dirichlet", "one column", "3 columns", "Fourier"]),
        (AnyOf(), ["AnyOf", "at least one"]),
        (AnyOf(Gaussian(), "x"), ["AnyOf", "families", "'x'"]),
        (CustomFamily(None, (1, 2)), ["CustomFamily", "function", "None"]),
        (CustomFamily(np.dot, "x"), ["'bounds'", "CustomFamily", "'x'"]),
        (CustomFamily(lambda X, Z, s: np.ones(3), (1, 2)), ["CustomFamily", "shape", "(3,)"]),
        (
            CustomFamily(lambda X, Z, s: np.full((len(X), len(Z)), np.nan), (1, 2)),
            ["CustomFamily", "NaN"],
        ),
    ],
    ids=lambda value: repr(value)[:40] if not isinstance(value, list) else "",
)
def test_wrong_values_of_a_familys_parameters(family, words):
    X, y = data()
    refused(ContinuousAlignment(family), X, y, *words)
    refused(KernelClassifier(ContinuousAlignment(family)), X, y, *words)


@pytest.mark.parametrize(
    "columns",
    [
        np.array([0, 2]),
        (0, 2),
        range(0, 3, 2),
        slice(0, 3, 2),
        [0, -1],
        np.array([True, False, True]),
    ],
    ids=repr,
)
def test_columns_in_any_form(columns):
    X, y = data()
    learner = ContinuousAlignment(Gaussian(columns=columns)).fit(X, y)
    same = ContinuousAlignment(Gaussian()).fit(X[:, [0, 2]], y)
    assert learner.alignment_ == pytest.approx(same.alignment_, abs=1e-9)


@pytest.mark.parametrize("family", [Gaussian, Laplacian, Matern])
@pytest.mark.parametrize("bounds", [(1, 1), (1, 1 + 1e-9), (1, 1.1), (1, 1.5), (1e-3, 1e3)])
@pytest.mark.parametrize("ard", [False, True])
def test_bounds_as_narrow_as_may_be(family, bounds, ard):
    X, y = data()
    learner = accepted(
        ContinuousAlignment(
            family(ard, bounds=bounds) if family is not Matern else Matern(ard=ard, bounds=bounds),
            max_iter=3,
        ),
        X,
        y,
        may_warn=(AlignmentWarning,),
    )
    for kernel in learner.kernel_.kernels:
        assert (kernel.sigma >= bounds[0] * (1 - 1e-9)).all()
        assert (kernel.sigma <= bounds[1] * (1 + 1e-9)).all()
