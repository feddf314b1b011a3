"""Rules that judge claims: each turns rows into evidence for and against (`experiments.verdicts`).

`means` compares means with figures and with each other, `orders` methods with methods, `times`
ratios, `runs` counts runs. Repeats are the units of every test: they are drawn independently,
while the tasks are the paper's own. Over several tasks a repeat is first averaged over them.
"""

from experiments.rules.base import Rule
from experiments.rules.means import Fewer, Figure, Near, Trend
from experiments.rules.orders import Below, BelowAll, BestInEveryTask, Ranked
from experiments.rules.runs import Found, NeverAbove
from experiments.rules.times import RatioIs, Slower

__all__ = [
    "Below",
    "BelowAll",
    "BestInEveryTask",
    "Fewer",
    "Figure",
    "Found",
    "Near",
    "NeverAbove",
    "Ranked",
    "RatioIs",
    "Rule",
    "Slower",
    "Trend",
]
