"""What the paper says, and the rule by which each statement is judged.

`CLAIMS` are statements of the paper. `QUESTIONS` are ours, including those that the paper leaves
open, and are judged apart. Margins and what was known when they were fixed: `experiments.margins`.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.cells import Row
from experiments.claims import gaussians, questions, real, sine
from experiments.claims.claim import Claim
from experiments.verdicts import Verdict, verdicts

CLAIMS: list[Claim] = [*sine.CLAIMS, *gaussians.CLAIMS, *real.CLAIMS]
QUESTIONS: list[Claim] = questions.QUESTIONS


def judge(claims: Sequence[Claim], rows: Sequence[Row]) -> list[Verdict]:
    """Verdicts on the rows of one reading, corrected for the number of claims."""
    return verdicts([claim.rule.weigh(rows, claim.experiment) for claim in claims])
