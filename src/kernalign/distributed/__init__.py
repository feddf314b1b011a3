"""Rows that are not in memory, on the workers of a Dask cluster."""
