"""The shape of the source, counted: rooms, questions by type, depth and reach of a call."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from sklearn.datasets import make_classification

import kernalign
from benchmarks._row import Row
from kernalign import ContinuousAlignment, KernelClassifier

ROOT = Path(kernalign.__file__).parent
#: Questions about what a thing is, asked of its type or its attributes.
QUESTION = re.compile(r"\b(?:isinstance|getattr|hasattr)\(")
REMOTE = re.compile(r"isinstance\([^)]*\b(?:RemoteRows|DaskRows)\b")
#: Whoever divides by |K| |Khat*_c| implements centred alignment; these names are given to it.
ALIGNMENT = re.compile(
    r"def \w*(?:alignment|cosine)\w*\([^)]*\)[^:]*:(?:(?!\n(?:    )?(?:def|class) ).)*?"
    r"(?:norm\(|sqrt\()",
    re.DOTALL,
)


class Reach:
    """Frames of the library that a call enters: functions, files and depth of the stack.

    Comprehensions and lambdas are a part of the function that they stand in.
    """

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.files: set[str] = set()
        self.depth = 0
        self._now = 0

    def __call__(self, frame: Any, event: str, _argument: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(str(ROOT)) or code.co_name.startswith("<"):
            return
        if event == "call":
            self._now += 1
            self.depth = max(self.depth, self._now)
            self.functions.add((code.co_filename, code.co_qualname))
            self.files.add(code.co_filename)
        elif event == "return":
            self._now -= 1


def reach(call: Callable[[], object]) -> Reach:
    """What a call enters."""
    found = Reach()
    sys.setprofile(found)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def run() -> Iterator[Row]:
    texts = {path.relative_to(ROOT): path.read_text() for path in sorted(ROOT.rglob("*.py"))}
    lines = {path: len(text.splitlines()) for path, text in texts.items()}
    inside = [text for path, text in texts.items() if path.parts[0] == "estimators"]
    asked = sum(len(QUESTION.findall(text)) for text in inside)
    own = {path for path, text in texts.items() if "class DaskRows" in text}
    houses = {path.parts[0] for path in own}
    remote = sum(
        len(REMOTE.findall(text)) for path, text in texts.items() if path.parts[0] not in houses
    )
    learners = sum(p.parts[0] == "learners" and p.name != "__init__.py" for p in texts)
    aligned = [
        f"{path}:{found.group().split('(')[0][4:]}"
        for path, text in texts.items()
        for found in ALIGNMENT.finditer(text)
    ]
    print(f"# centred alignment: {', '.join(aligned)}")
    yield Row("files in learners/", str(learners), "16", "14")
    yield Row("isinstance, getattr, hasattr in estimators/", str(asked), "20", "10")
    yield Row("isinstance of remote rows outside their package", str(remote), "0", "0")
    yield Row("implementations of centred alignment", str(len(aligned)), "2", "1")
    yield from _calls()
    yield Row("lines in src", str(sum(lines.values())), "17500", "16500")
    sizes = f"{median(lines.values()):g} / {max(lines.values())}"
    yield Row("median / largest file, lines", sizes, "122 / 358")


def _calls() -> Iterator[Row]:
    X, y = make_classification(2200, 10, n_informative=5, random_state=0)
    few = KernelClassifier()
    fitted = reach(lambda: few.fit(X[:80], y[:80]))
    many = KernelClassifier(ContinuousAlignment(), n_components=50).fit(X, y)
    depths = [reach(lambda m=model: m.predict(X[:50])).depth for model in (few, many)]
    yield Row(
        "depth of the stack in predict, n=80 / n=2200",
        "{} / {}".format(*depths),
        "10 / 10",
        "8 / 8",
    )
    yield Row(
        "functions / files of the default fit, n=80",
        f"{len(fitted.functions)} / {len(fitted.files)}",
        "200 / 34",
        "160 / 30",
    )
