"""Statements on the two Gaussians in 50 dimensions."""

from __future__ import annotations

from experiments.claims.claim import COST, MANY_DIMENSIONS, Claim
from experiments.configs import FINITE, GAMMAS
from experiments.margins import ALIGNMENT, RISE, TEN_ITERATIONS, TEN_TIMES
from experiments.rules import Below, Fewer, Near, Slower, Trend

TASKS = tuple(f"gamma={g}" for g in GAMMAS)
SINGLE = ("CA-1D", "CR", *FINITE)
FIGURE = "figure: test error against gamma"

CLAIMS: list[Claim] = [
    *(
        Claim(
            "gaussians50",
            f"The error of {name} grows with gamma.",
            FIGURE,
            Trend(name, TASKS, RISE.value),
        )
        for name in SINGLE
    ),
    Claim(
        "gaussians50",
        "The error of CA-nD does not grow with gamma.",
        MANY_DIMENSIONS,
        Trend("CA-nD", TASKS, RISE.value, grows=False),
    ),
    *(
        Claim(
            "gaussians50",
            f"At large gamma CA-nD is better than {name}.",
            MANY_DIMENSIONS,
            Below("CA-nD", name, tasks=TASKS[-1:]),
        )
        for name in SINGLE
    ),
    Claim(
        "gaussians50",
        "Without lambda CA-nD overfits at small gamma.",
        "paraphrased: without the penalty CA-nD overfits where gamma is small",
        Below("CA-nD", "CA-nD lambda=0", tasks=TASKS[:1]),
    ),
    Claim(
        "gaussians50",
        "DA's test alignment equals CA-1D's.",
        "figure: alignment against gamma",
        Near("DA", "CA-1D", ALIGNMENT.value, metric="alignment", tasks=TASKS),
    ),
    Claim(
        "gaussians50",
        "CR is at least ten times slower than CA-1D.",
        COST + "; paraphrased: at least ten times",
        Slower(("CR",), ("CA-1D",), TEN_TIMES.value),
    ),
    Claim(
        "gaussians50",
        "CA-1D needs fewer than ten iterations.",
        "paraphrased: CA needs fewer than ten iterations",
        Fewer("CA-1D", TEN_ITERATIONS.value, "iterations"),
    ),
]
