"""A page that says what was learned, and how good it is: one file, no network.

facts -> words and pictures -> page: each step is a function of the one before.
"""

from kernalign.report.comparison import Score, cross_validated, difference, folds_for, tuned_svm
from kernalign.report.influence import InfluenceInfo, influence_info
from kernalign.report.page import report_html, write_report

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
