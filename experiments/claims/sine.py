"""Statements on the sine problem, with Dirichlet kernels and with Gaussians."""

from __future__ import annotations

from experiments.claims.claim import COST, DICTIONARY, Claim
from experiments.configs import FINITE
from experiments.generators import FREQUENCIES
from experiments.margins import (
    FAR,
    FREQUENCY,
    MANY_TIMES,
    MOST_RUNS,
    NEAR,
    SVM_ERRORS,
    of_figure,
)
from experiments.rules import Below, BelowAll, Figure, Found, Near, Slower

BEST_SVM = "SVM 2+12+60"
TRUE = tuple(float(f) for f in FREQUENCIES)

DIRICHLET: list[Claim] = [
    *(
        Claim(
            "dirichlet",
            f"{name} errs {100 * error:g} %.",
            f"figure on the sine problem: {100 * error:g} %",
            Figure(name, error, of_figure(error)),
        )
        for name, error in SVM_ERRORS.items()
    ),
    Claim(
        "dirichlet",
        "Only all three frequencies together do well.",
        DICTIONARY,
        BelowAll(BEST_SVM, tuple(name for name in SVM_ERRORS if name != BEST_SVM)),
    ),
    *(
        Claim(
            "dirichlet",
            f"{name} is near the SVM with the three frequencies.",
            "paraphrased: the continuous methods come near 2.3 %",
            Near(name, BEST_SVM, NEAR.value),
        )
        for name in ("CA", "CR")
    ),
    *(
        Claim(
            "dirichlet",
            f"{name} on the dictionary 0, 1, ..., 9 is far from CA.",
            DICTIONARY,
            Below("CA", name, by=FAR.value),
        )
        for name in FINITE
    ),
    Claim(
        "dirichlet", "CR is better than every finite method.", DICTIONARY, BelowAll("CR", FINITE)
    ),
    *(
        Claim(
            "dirichlet",
            f"{name} finds frequencies near sqrt 2, sqrt 12 and sqrt 60.",
            "figure: frequencies and weights that the continuous methods find",
            Found(name, TRUE, FREQUENCY.value, MOST_RUNS.value),
        )
        for name in ("CA", "CR")
    ),
    Claim(
        "dirichlet",
        "A finite dictionary needs a step below 0.1: at 0.2 it is still worse than at 0.05.",
        "paraphrased: a finite dictionary would have to be finer than 0.1",
        Below("DA 0.05", "DA 0.2"),
    ),
    Claim(
        "dirichlet",
        "CR takes many times as long as CA.",
        COST,
        Slower(("CR",), ("CA",), MANY_TIMES.value),
    ),
]

GAUSSIAN: list[Claim] = [
    *(
        Claim(
            "dirichlet-gaussian",
            f"{name} does as well with Gaussians as with Dirichlet kernels.",
            "paraphrased: results with Gaussian kernels are nearly identical",
            Near(name, name, NEAR.value, second_in="dirichlet"),
        )
        for name in ("CA", "CR")
    ),
    *(
        Claim(
            "dirichlet-gaussian",
            f"{name} is far from CA here too.",
            "paraphrased: results with Gaussian kernels are nearly identical",
            Below("CA", name, by=FAR.value),
        )
        for name in FINITE
    ),
    Claim(
        "dirichlet-gaussian",
        "CR is better than every finite method here too.",
        "paraphrased: results with Gaussian kernels are nearly identical",
        BelowAll("CR", FINITE),
    ),
]

CLAIMS = [*DIRICHLET, *GAUSSIAN]
