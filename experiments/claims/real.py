"""Statements on h(sigma), MNIST, Letter and the eleven sets."""

from __future__ import annotations

from experiments.claims.claim import BEST, COST, DICTIONARY, Claim
from experiments.configs import FINITE
from experiments.margins import (
    ABOUT_FIFTY,
    RARE,
    TAU,
    TEN_ITERATIONS,
    THIRD,
    TIMES,
)
from experiments.rules import (
    Below,
    BelowAll,
    BestInEveryTask,
    Fewer,
    Figure,
    NeverAbove,
    Ranked,
    RatioIs,
    Slower,
)

#: Median ranks of the paper's tables.
RANKS: dict[str, dict[str, float]] = {
    "mnist": {"CA-1D": 1, "CR": 2, "DU": 4, "DA": 4.5, "D1": 4.5, "D2": 5},
    "letter": {"CA-1D": 1, "CR": 2, "DA": 3.5, "CA-nD": 4.5, "DU": 5, "D2": 6, "D1": 7},
    "eleven": {"CA-nD": 2, "CA-1D": 3, "CR": 3, "DA": 3, "D1": 4, "D2": 6, "DU": 6},
}
#: Seconds of the paper's tables.
SECONDS: dict[str, dict[str, float]] = {
    "mnist": {"CA-1D": 12, "CR": 377, "DU": 10, "DA": 31, "D1": 57, "D2": 58},
    "letter": {"CA-1D": 9, "CR": 590, "DA": 11, "CA-nD": 1986, "DU": 5, "D2": 22, "D1": 21},
}
NAMES = {"mnist": "MNIST", "letter": "Letter", "eleven": "the eleven sets"}


def ranks_of(data: str) -> str:
    listed = ", ".join(f"{method} {rank:g}" for method, rank in RANKS[data].items())
    return f"table of {NAMES[data]}, median ranks: {listed}"


def time_claims(data: str) -> list[Claim]:
    """Direction and size of every ratio in the paper's table."""
    found = []
    base = SECONDS[data]["CA-1D"]
    for name, seconds in SECONDS[data].items():
        if name == "CA-1D":
            continue
        ratio, words = seconds / base, f"table of {NAMES[data]}: {seconds:g} s, CA-1D {base:g} s"
        slower = ratio > 1
        pair = ((name,), ("CA-1D",)) if slower else (("CA-1D",), (name,))
        found.append(
            Claim(
                data,
                f"{name} is {'slower' if slower else 'faster'} than CA-1D.",
                words,
                Slower(*pair),
            )
        )
        text = f"{name} takes {ratio:.2g} times as long as CA-1D."
        # A ratio in the other direction is not the paper's, however near.
        low = max(ratio / TIMES.value, 1.0) if slower else ratio / TIMES.value
        high = ratio * TIMES.value if slower else min(ratio * TIMES.value, 1.0)
        found.append(Claim(data, text, words, RatioIs(name, "CA-1D", low, high)))
    return found


def solver_claims(data: str) -> list[Claim]:
    """What the paper says of cost wherever it compares."""
    low, high = 1 / (3 + THIRD.value), 1 / (3 - THIRD.value)
    return [
        Claim(
            data,
            "CR-DC is faster than CR.",
            "paraphrased: CR-DC is three times faster",
            Slower(("CR",), ("CR-DC",)),
        ),
        Claim(
            data,
            "CR-DC takes a third of CR's time.",
            "paraphrased: CR-DC is three times faster",
            RatioIs("CR-DC", "CR", low, high),
        ),
        Claim(
            data,
            "One-stage methods are slower than two-stage methods.",
            COST + "; paraphrased: one-stage methods are slower",
            Slower(("CR", "D1", "D2"), ("CA-1D", "DA", "DU")),
        ),
        Claim(
            data,
            "CA-1D needs fewer than ten iterations.",
            "paraphrased: CA needs fewer than ten iterations",
            Fewer("CA-1D", TEN_ITERATIONS.value, "iterations"),
        ),
        Claim(
            data,
            "CR needs about 50 iterations.",
            "paraphrased: CR needs about 50 iterations",
            Figure("CR", 50.0, ABOUT_FIFTY.value, "iterations"),
        ),
    ]


LANDSCAPE = [
    Claim(
        "landscape",
        "h(sigma) has at most two local minima.",
        "figure: h(sigma) in the iterations of CA",
        NeverAbove("most_minima", 2, RARE.value),
    )
]

IMAGES = [
    claim
    for data in ("mnist", "letter")
    for claim in (
        Claim(
            data, "Methods rank as in the paper.", ranks_of(data), Ranked(RANKS[data], TAU.value)
        ),
        *(
            Claim(data, f"CA-1D is better than {other}.", ranks_of(data), Below("CA-1D", other))
            for other in ("CR", *FINITE)
        ),
        Claim(data, "CR is better than every finite method.", DICTIONARY, BelowAll("CR", FINITE)),
        *time_claims(data),
        *solver_claims(data),
    )
]

LETTER = [
    Claim(
        "letter",
        "CA-nD has the highest test alignment in every task.",
        "paraphrased: CA-nD has the highest alignment",
        BestInEveryTask(
            "CA-nD",
            tuple(method for method in RANKS["letter"] if method != "CA-nD"),
            "alignment",
            largest=True,
        ),
    ),
    Claim(
        "letter",
        "Yet CA-nD does not have the lowest error: CA-1D has a lower one.",
        ranks_of("letter"),
        Below("CA-1D", "CA-nD"),
    ),
]

ELEVEN = [
    Claim("eleven", "Methods rank as in the paper.", ranks_of("eleven"),
          Ranked(RANKS["eleven"], TAU.value)),
    *(
        Claim("eleven", f"CA-nD is better than {other}.", BEST + "; " + ranks_of("eleven"),
              Below("CA-nD", other))
        for other in RANKS["eleven"] if other != "CA-nD"
    ),
    *(
        Claim("eleven", f"CA-1D is better than {other}.", ranks_of("eleven"),
              Below("CA-1D", other))
        for other in ("D1", "D2", "DU")
    ),
    *solver_claims("eleven"),
]  # fmt: skip

CLAIMS: list[Claim] = [*LANDSCAPE, *IMAGES, *LETTER, *ELEVEN]
