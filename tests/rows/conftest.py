"""One cluster of two worker processes for all tests of Dask."""

import warnings

import pytest


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
