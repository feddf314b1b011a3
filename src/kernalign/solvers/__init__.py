"""Algorithms that depend neither on scikit-learn's estimators nor on the storage of rows."""
