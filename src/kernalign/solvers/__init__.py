"""Algorithms that know neither scikit-learn's estimators nor where rows come from."""
