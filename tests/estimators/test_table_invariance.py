"""Predictions do not depend on names of categories, order of columns and rows, or units."""

import numpy as np
import pytest

from kernalign import KernelClassifier, KernelRegressor
from tests.estimators.test_tables import table

RENAMED = {"red": "zebra", "green": "ant", "blue": "mouse", "grey": "bee"}
ORDER = np.random.default_rng(0).permutation(120)
#: The same table in other words: (of the table, of the rows to fit to).
CHANGES = {
    "categories renamed": lambda X: X.assign(colour=X["colour"].map(RENAMED)),
    "columns reversed": lambda X: X[X.columns[::-1]],
    "other units": lambda X: X.assign(height=X["height"] / 2.54, age=12 * X["age"] + 3),
    "rows in another order": lambda X: X,
}


def problem(kind):
    X, y = table()
    return X, (y if kind == "numbers" else np.where(y > 0, "high", "low"))


def outputs(kind, X, y, new):
    if kind == "numbers":
        return KernelRegressor(cv=2).fit(X, y).predict(new)
    return KernelClassifier(cv=2).fit(X, y).predict_proba(new)


@pytest.fixture(scope="module", params=["numbers", "classes"])
def plain(request):
    X, y = problem(request.param)
    return request.param, outputs(request.param, X, y, table(40, seed=1)[0])


@pytest.mark.parametrize("change", CHANGES)
def test_predictions_stay(plain, change):
    kind, expected = plain
    X, y = problem(kind)
    order = ORDER if change == "rows in another order" else slice(None)
    new = CHANGES[change](table(40, seed=1)[0])
    found = outputs(kind, CHANGES[change](X).iloc[order], y[order], new)
    np.testing.assert_allclose(found, expected, atol=1e-6)
