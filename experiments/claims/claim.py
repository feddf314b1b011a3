"""One statement, its source, and its rule."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.rules import Rule


@dataclass(frozen=True)
class Claim:
    """text : the statement in our words; words : the paper's own, or where its figures stand.

    Words in quotation marks are quoted. Where there are none, the statement is paraphrased.
    """

    experiment: str
    text: str
    words: str
    rule: Rule


#: Sentences of the abstract.
DICTIONARY = (
    "abstract: “we explicitly demonstrate the importance of combining the right dictionary of "
    "kernels, which is problematic for methods based on a finite set of base kernels chosen a "
    "priori”"
)
COST = (
    "abstract: “our method requires substantially less computation than previous such approaches”"
)
BEST = (
    "abstract: “our new method achieves state-of-the-art performance across a variety of "
    "real-world datasets”"
)
MANY_DIMENSIONS = (
    "abstract: “more amenable to multiple dimensional parameterizations of base kernels, which we "
    "demonstrate”"
)
