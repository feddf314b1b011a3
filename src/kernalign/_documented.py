"""Where scikit-learn's diagram of an estimator links to."""

from __future__ import annotations

from sklearn.base import BaseEstimator


class Documented(BaseEstimator):
    """An estimator with a page in the documentation of kernalign."""

    _doc_link_module = "kernalign"
    _doc_link_template = (
        "https://kernalign.readthedocs.io/en/stable/generated/kernalign.{estimator_name}.html"
    )
