"""The order of rows by their content: labels first, then the numbers from the last column on."""

import dask
import dask.array as da
import numpy as np
import pytest

from kernalign.gram import Target
from kernalign.gram.sampling import order_by_content
from kernalign.rows.dask import DaskSource


@pytest.mark.parametrize("values", [2, 1000])
@pytest.mark.parametrize("outputs", [1, 2])
def test_it_is_that_of_sorting_by_all_columns(values, outputs):
    rng = np.random.default_rng(0)
    X = rng.integers(0, values, (300, 4)).astype(float)
    target = Target(rng.integers(0, 3, (300, outputs)).astype(float), np.ones(300))
    codes = np.array([0, 3, 0, 0])
    expected = np.lexsort([*X[:, [0, 2, 3]].T, *target.values.T])
    np.testing.assert_array_equal(order_by_content(X, target, codes), expected)
    with dask.config.set(scheduler="threads"):
        rows, _ = DaskSource(da.from_array(X, chunks=(70, -1))).opened([])
        np.testing.assert_array_equal(order_by_content(rows, target, codes), expected)
