"""A page about a fitted model, for people: one file, no network.

facts -> sections -> page: each step is a function of the one before.
"""

from kernalign.report.comparison import Score, cross_validated, difference, folds_for
from kernalign.report.influence import InfluenceInfo, influence_info
from kernalign.report.page import report_html, write_report
from kernalign.report.tuned_svm import tuned_svm

__all__ = [
    "InfluenceInfo",
    "Score",
    "cross_validated",
    "difference",
    "folds_for",
    "influence_info",
    "report_html",
    "tuned_svm",
    "write_report",
]
