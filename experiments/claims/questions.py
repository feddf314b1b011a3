"""Our own questions, and those that the paper leaves open. Not statements of the paper.

Each is asked on the eight MNIST tasks, the twelve pairs of letters and the eleven sets.
"""

from __future__ import annotations

from experiments.claims.claim import Claim
from experiments.claims.real import NAMES
from experiments.rules import Below, Near

#: Half a point of error, on average over tasks, is as good.
AS_GOOD = 0.005
OPEN = "open question of the paper"
OURS = "ours"


def questions(data: str) -> list[Claim]:
    where = f"On {NAMES[data]}:"
    return [
        Claim(
            data,
            f"{where} do uniform weights on the kernels that CA found do as well as CA's own?",
            OPEN,
            Near("CA uniform", "CA-1D", AS_GOOD),
        ),
        *(
            Claim(
                data,
                f"{where} do the weights of {name} on the kernels that CA found do better than "
                "CA's own?",
                OPEN,
                Below(f"CA {name}", "CA-1D"),
            )
            for name in ("alignf", "D1", "D2")
        ),
        *(
            Claim(
                data,
                f"{where} does {name} do better on the kernels that CA found than on a grid of 20?",
                OPEN,
                Below(f"CA {ours}", name),
            )
            for name, ours in (("DA", "alignf"), ("D1", "D1"), ("D2", "D2"), ("DU", "uniform"))
        ),
        Claim(data, f"{where} is full correction of all weights better?", OURS,
              Below("CA corrected", "CA-1D")),
        Claim(data, f"{where} is it better to add the kernel with the best step?", OURS,
              Below("CA best step", "CA-1D")),
    ]  # fmt: skip


QUESTIONS: list[Claim] = [one for data in NAMES for one in questions(data)]
