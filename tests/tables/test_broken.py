"""Every broken table gets a right encoding, or a sentence that says where and what to do."""

import contextlib
import warnings

import numpy as np
import pytest

from kernalign._warnings import ColumnWarning
from kernalign.tables import Columns
from tests.tables.broken import CASES


def test_there_are_a_hundred():
    assert len({case.title for case in CASES}) == len(CASES) >= 100


@contextlib.contextmanager
def said(case):
    """The warning that a case asks for, and no other; the text of the error, if there is one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    messages = [str(warning.message) for warning in caught]
    assert all(issubclass(warning.category, ColumnWarning) for warning in caught), messages
    assert len(messages) == bool(case.warns), messages
    for part in case.warns:
        assert part in messages[0]


def used(case):
    columns = Columns.of(case.table, **case.options)
    return columns, columns.encode(case.table if case.predict is None else case.predict)


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_broken_table(case):
    with said(case):
        if case.says:
            with pytest.raises((ValueError, TypeError)) as error:
                used(case)
            message = str(error.value)
            assert [part for part in case.says if part not in message] == []
            assert len(message) < 1000
            return
        columns, X = used(case)
    assert {name: columns[name].kind for name in case.kinds} == case.kinds
    assert X.dtype == float
    assert X.shape[1] == len(columns.features)
    assert np.isfinite(X).all()
    if case.first is not None:
        np.testing.assert_allclose(X[0], case.first, rtol=1e-12)
