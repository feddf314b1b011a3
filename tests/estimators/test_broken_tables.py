"""A hundred broken tables at the front door: a useful sentence, or a fit that predicts."""

import warnings

import numpy as np
import pytest

from kernalign import AlignmentWarning, ColumnWarning, ContinuousAlignment, KernelRegressor
from kernalign.tables import is_table
from kernalign.tables.reading import read_table
from tests.tables.broken import CASES


def rows_of(table):
    try:
        return read_table(table).rows
    except (ValueError, TypeError):
        return 40


#: What the tables layer takes, or says in other words.
HERE = {
    "the largest doubles": ("exceeds 1e+300", "divide"),
    "kinds that are no dictionary": ("'kinds' parameter of KernelRegressor", "dictionary"),
}


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_sentence_or_fit(case):
    says = HERE.get(case.title, case.says)
    y = np.random.default_rng(0).normal(size=rows_of(case.table))
    model = KernelRegressor(ContinuousAlignment(max_iter=1), C=1.0, cv=2, **case.options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ColumnWarning)
        # The labels are random.
        warnings.simplefilter("ignore", AlignmentWarning)
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        if not says:
            model.fit(case.table, y)
            new = case.table if case.predict is None else case.predict
            assert np.isfinite(model.predict(new)).all()
            return
        with pytest.raises((ValueError, TypeError)) as error:
            model.fit(case.table, y).predict(case.predict)
    # scikit-learn has its own sentences about arrays that have not two dimensions.
    if is_table(case.table):
        assert [part for part in says if part not in str(error.value)] == []
    assert "np." not in str(error.value)
