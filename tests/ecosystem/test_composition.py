"""Inside pipelines, column transformers and stacks."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from kernalign import (
    AnyOf,
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    KernelFeatures,
    KernelRegressor,
)
from tests.ecosystem.problems import ring, wave


def test_a_pipeline_is_its_steps_one_after_the_other():
    X, y = ring()
    X = X * [1, 1000]
    pipe = Pipeline([("scale", StandardScaler()), ("learn", KernelClassifier(C=10.0))])
    pipe.fit(X[:80], y[:80])
    scaler = StandardScaler().fit(X[:80])
    alone = KernelClassifier(C=10.0).fit(scaler.transform(X[:80]), y[:80])
    assert pipe["learn"].kernel_ == alone.kernel_
    np.testing.assert_array_equal(
        pipe.decision_function(X[80:]), alone.decision_function(scaler.transform(X[80:]))
    )
    assert pipe.score(X[80:], y[80:]) > 0.9


def test_parameters_are_reached_through_a_pipeline_down_to_the_family():
    pipe = make_pipeline(StandardScaler(), KernelClassifier(ContinuousAlignment(Gaussian())))
    pipe.set_params(kernelclassifier__learner__family__ard=True, kernelclassifier__C=3.0)
    X, y = ring(noise_features=2)
    fitted = pipe.fit(X, y)[-1]
    assert fitted.C_ == 3.0
    assert fitted.kernel_.kernels[0].sigma.shape == (4,)


def test_features_in_the_middle_of_a_pipeline():
    X, y = ring(200)
    linear = LogisticRegression().fit(X[:100], y[:100]).score(X[100:], y[100:])
    pipe = make_pipeline(StandardScaler(), KernelFeatures(n_components=30), LogisticRegression())
    assert linear < 0.75
    assert pipe.fit(X[:100], y[:100]).score(X[100:], y[100:]) > 0.9
    assert pipe[:-1].get_feature_names_out().tolist() == [f"kernelfeatures{i}" for i in range(30)]


def test_the_gram_matrix_feeds_a_precomputed_machine_in_a_pipeline():
    X, y = ring()
    pipe = make_pipeline(KernelFeatures(output="gram"), SVC(kernel="precomputed", C=10.0))
    direct = KernelClassifier(ContinuousAlignment(), SVC(kernel="precomputed"), C=10.0).fit(
        X[:80], y[:80]
    )
    pipe.fit(X[:80], y[:80])
    np.testing.assert_allclose(
        pipe.decision_function(X[80:]), direct.decision_function(X[80:]), atol=1e-9
    )


@pytest.fixture
def table():
    """Numbers in different units and a column of text; the label needs both."""
    rng = np.random.default_rng(0)
    n = 160
    frame = pd.DataFrame(
        {
            "height": rng.normal(170, 10, n),
            "income": rng.normal(5e4, 1e4, n),
            "city": rng.choice(["Kyiv", "Lyon", "Oslo"], n),
        }
    )
    tall = frame["height"] > 170
    return frame, np.where(frame["city"] == "Oslo", ~tall, tall).astype(int)


def test_after_a_column_transformer(table):
    frame, y = table
    columns = ColumnTransformer(
        [("number", StandardScaler(), ["height", "income"]), ("text", OneHotEncoder(), ["city"])]
    )
    model = make_pipeline(columns, KernelClassifier(ContinuousAlignment(Gaussian(ard=True))))
    model.fit(frame[:100], y[:100])
    assert model.score(frame[100:], y[100:]) > 0.85


def test_columns_by_the_names_that_a_column_transformer_gives(table):
    frame, y = table
    columns = make_column_transformer(
        (MinMaxScaler(), ["height", "income"]),
        (OneHotEncoder(sparse_output=False), ["city"]),
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    views = AnyOf(
        Gaussian(columns=["height", "city_Oslo"]), Gaussian(columns=["income", "city_Lyon"])
    )
    model = make_pipeline(columns, KernelClassifier(ContinuousAlignment(views), C=10.0))
    model.fit(frame[:100], y[:100])
    weight = {}
    kernel = model[-1].kernel_
    for k, w in zip(kernel.kernels, kernel.weights, strict=True):
        view = tuple(k.family.columns)
        weight[view] = weight.get(view, 0) + w
    # height, income, city_Kyiv, city_Lyon, city_Oslo: the first view explains the label.
    assert weight[(0, 4)] > 0.9 * sum(weight.values())
    assert model.score(frame[100:], y[100:]) > 0.9


def test_features_inside_a_column_transformer(table):
    frame, y = table
    columns = ColumnTransformer(
        [
            ("learned", KernelFeatures(n_components=10), ["height"]),
            ("text", OneHotEncoder(), ["city"]),
        ],
        sparse_threshold=0,
    )
    out = columns.fit_transform(frame, y)
    assert out.shape == (160, 13)
    alone = KernelFeatures(n_components=10).fit(frame[["height"]], y)
    np.testing.assert_array_equal(out[:, :10], alone.transform(frame[["height"]]))
    assert columns.get_feature_names_out()[0] == "learned__kernelfeatures0"


def test_a_stack_sees_held_out_predictions_of_the_classifier():
    X, y = ring(150)
    folds = StratifiedKFold(3)
    learned = KernelClassifier(C=10.0)
    stack = StackingClassifier(
        [("learned", learned), ("linear", LogisticRegression())],
        final_estimator=LogisticRegression(),
        cv=folds,
    ).fit(X[:100], y[:100])
    held_out = cross_val_predict(learned, X[:100], y[:100], cv=folds, method="predict_proba")
    linear = cross_val_predict(
        LogisticRegression(), X[:100], y[:100], cv=folds, method="predict_proba"
    )
    inputs = np.column_stack([held_out[:, 1], linear[:, 1]])
    by_hand = LogisticRegression().fit(inputs, y[:100])
    np.testing.assert_allclose(stack.final_estimator_.coef_, by_hand.coef_)
    assert stack.final_estimator_.coef_[0, 0] > 3 * abs(stack.final_estimator_.coef_[0, 1])
    assert stack.score(X[100:], y[100:]) > 0.85


def test_a_stack_sees_held_out_predictions_of_the_regressor():
    X, y = wave(150)
    folds = KFold(3)
    learned = KernelRegressor(C=100.0)
    stack = StackingRegressor(
        [("learned", learned), ("linear", LinearRegression())],
        final_estimator=LinearRegression(),
        cv=folds,
    ).fit(X[:100], y[:100])
    held_out = [
        cross_val_predict(model, X[:100], y[:100], cv=folds)
        for model in (learned, LinearRegression())
    ]
    by_hand = LinearRegression().fit(np.column_stack(held_out), y[:100])
    np.testing.assert_allclose(stack.final_estimator_.coef_, by_hand.coef_)
    assert stack.score(X[100:], y[100:]) > 0.9
