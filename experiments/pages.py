"""Tables of verdicts: per claim and reading, per reading of the whole paper, margins, questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.cells import Row
from experiments.claims import CLAIMS, QUESTIONS, Claim, judge
from experiments.margins import MARGINS
from experiments.readings import AXES, Reading, agrees, name_of, readings, select
from experiments.tables import Table
from experiments.verdicts import NO_DATA, NOT, REPRODUCED, UNCLEAR, Verdict, verdicts

SIGNS = {REPRODUCED: "yes", NOT: "no", UNCLEAR: "?", NO_DATA: "-"}


@dataclass(frozen=True)
class Judged:
    """One claim and its verdict in each reading, in the order of `readings()`."""

    claim: Claim
    verdicts: list[Verdict]

    def grouped(self) -> list[tuple[str, Verdict]]:
        """Verdicts that differ, each with the choices that it belongs to."""
        every = readings()
        groups: dict[tuple[str, str], list[int]] = {}
        for k, verdict in enumerate(self.verdicts):
            groups.setdefault((verdict.evidence, verdict.verdict), []).append(k)
        return [
            (common_choices([every[k] for k in group]) if len(groups) > 1 else "all readings",
             self.verdicts[group[0]])
            for group in groups.values()
        ]  # fmt: skip


def common_choices(some: Sequence[Reading]) -> str:
    """What these readings have in common; all of them where that is not what tells them apart."""
    common = {axis: some[0][axis] for axis in AXES if len({r[axis] for r in some}) == 1}
    free = 1
    for axis, choices in AXES.items():
        free *= 1 if axis in common else len(choices)
    if free == len(some):
        return name_of(common)
    return "; ".join(name_of(reading) for reading in some)


def judge_all(rows: Sequence[Row]) -> list[Judged]:
    """Every claim in every reading, corrected for all tests that differ.

    Readings share rows: a claim that they weigh alike is one test, and has one verdict.
    """
    columns = [
        [claim.rule.weigh(own, claim.experiment) for claim in CLAIMS]
        for own in (select(rows, reading) for reading in readings())
    ]
    tests = {(k, found): found for column in columns for k, found in enumerate(column)}
    judged = dict(zip(tests, verdicts(list(tests.values())), strict=True))
    return [
        Judged(claim, [judged[k, column[k]] for column in columns])
        for k, claim in enumerate(CLAIMS)
    ]


def readings_table(judged: Sequence[Judged]) -> Table:
    """How many statements each reading of the whole paper reproduces; the best one first."""
    shared = [one for one in judged if all(v.verdict != NO_DATA for v in one.verdicts)]
    missing = len(shared) < len(judged)
    body = []
    for k, reading in enumerate(readings()):
        every = Counter(one.verdicts[k].verdict for one in judged)
        found = Counter(one.verdicts[k].verdict for one in shared)
        counts = [found[REPRODUCED], found[NOT], found[UNCLEAR]]
        body.append((found[REPRODUCED] - found[NOT], [
            name_of(reading), *map(str, counts),
            *(str(every[v]) for v in (REPRODUCED, NOT, UNCLEAR, NO_DATA) if missing),
        ]))  # fmt: skip
    body.sort(key=lambda pair: -pair[0])
    header = ["reading", "reproduced", "not", "unclear"]
    note = "Readings differ in their numbers of repeats, and fewer repeats leave more unclear."
    if missing:
        header += [f"all: {word}" for word in ("reproduced", "not", "unclear", "no data")]
        note = (
            f"The first three columns count the {len(shared)} statements that have data in every "
            f"reading; they order the table. The others count all statements. {note}"
        )
    return Table("Readings of the whole paper", header, [line for _, line in body], note)


def claims_table(judged: Sequence[Judged], title: str) -> Table:
    """One line per claim and verdict that differs."""
    body = []
    for one in judged:
        for place, (where, verdict) in enumerate(one.grouped()):
            first = [one.claim.text, one.claim.words] if place == 0 else ["", ""]
            body.append([*first, where, verdict.verdict, verdict.evidence, one.claim.rule.describe()
                         if place == 0 else ""])  # fmt: skip
    header = ["statement", "the paper", "reading", "verdict", "here", "counts as reproduced if"]
    return Table(title, header, body, prose=True)


def matrix_table(judged: Sequence[Judged]) -> Table:
    """Which readings reproduce which claim."""
    short = [name_of(reading).replace(" rows", "").replace(" labels", "") for reading in readings()]
    body = [
        [one.claim.experiment, one.claim.text, *(SIGNS[v.verdict] for v in one.verdicts)]
        for one in judged
    ]
    return Table(
        "Every statement in every reading", ["experiment", "statement", *short], body, prose=True
    )


def margins_table() -> Table:
    body = [[name, f"{m.value:.3g}", m.source, m.known] for name, m in MARGINS.items()]
    header = ["margin", "value", "where it comes from", "figures of ours that were known"]
    note = (
        "Margins were fixed in a commit of their own before the rows of the readings that they "
        "judge. Rows on raw features (on standardised ones for the eleven sets) with lambda by "
        "alignment had been seen before, as the last column says: for that reading no margin is "
        "blind. Figures of the paper's SVMs have a margin of two standard errors on 1000 test "
        "rows each, and half of their last digit."
    )
    return Table("Margins, and what was known when they were fixed", header, body, note, prose=True)


#: The reading in which questions are asked: features as the benchmark collections have them.
ASKED = {"mnist": {}, "letter": {"scale": "raw"}, "eleven": {"scale": "standardised"}}


def asked(rows: Sequence[Row]) -> list[Row]:
    """The rows on which questions are asked."""
    chosen = [row for row in rows if agrees(row, ASKED.get(row["experiment"], {}))]
    return [row for row in chosen if row.get("reading", {}).get("lambda") != "error"]


def questions_table(rows: Sequence[Row]) -> Table:
    words = {REPRODUCED: "yes", NOT: "no", UNCLEAR: "unclear", NO_DATA: NO_DATA}
    body = [
        [claim.text, claim.words, words[verdict.verdict], verdict.evidence, claim.rule.describe()]
        for claim, verdict in zip(QUESTIONS, judge(QUESTIONS, asked(rows)), strict=True)
    ]
    header = ["question", "whose", "answer", "here", "yes if"]
    return Table("Questions that are not statements of the paper", header, body, prose=True)
