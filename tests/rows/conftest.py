"""Fixtures of the tests of Dask: one cluster of two worker processes, rows that stay there."""

import warnings

import pytest

from kernalign.estimators import base
from kernalign.estimators.linear import EXACT_ROWS


@pytest.fixture
def rows_stay(monkeypatch):
    """Of few rows, only those that "auto" solves exactly are loaded; others stay on the cluster."""

    def few(n, d, solver, n_components):
        return n <= EXACT_ROWS and solver not in base.REMOTE_SOLVERS

    monkeypatch.setattr(base, "can_load", few)


@pytest.fixture(scope="session")
def cluster():
    from distributed import Client, LocalCluster

    with warnings.catch_warnings():
        # Ports in use and the like, of no concern here.
        warnings.simplefilter("ignore")
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="1GiB"
            ) as local,
            Client(local) as client,
        ):
            yield client
