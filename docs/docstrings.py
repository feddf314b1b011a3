"""Docstrings are written for people who read code; these hooks make them reStructuredText.

In them |x| is a norm, `kernel_` a name and `*sigma` an argument, where reStructuredText would see
a substitution, a link and emphasis. Lists of "name : meaning" outside numpydoc's sections become
lists on the page.
"""

from __future__ import annotations

import re
from typing import Any

CODE = re.compile(r"(`+[^`]*`+)")
MEANING = re.compile(r"(\w[\w, ]*) : (.*)")


def outside_code(line: str, change: Any) -> str:
    """The line with what stands outside of backticks changed; doctests stay as they are."""
    if line.lstrip().startswith((">>>", "...")):
        return line
    parts = CODE.split(line)
    return "".join(part if part.startswith("`") else change(part) for part in parts)


def before_numpydoc(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Escape bars and stars, and make lists of meanings."""
    escaped = [outside_code(line, lambda s: re.sub(r"([|*])", r"\\\1", s)) for line in lines]
    lines[:] = meanings(escaped)


def meanings(lines: list[str]) -> list[str]:
    """ "name : meaning" before the first underlined section, as a list."""
    out: list[str] = []
    end = next((i for i, line in enumerate(lines) if re.fullmatch(r"-{3,}", line.strip())), None)
    end = len(lines) if end is None else end - 1
    listed = False
    for line in lines[:end]:
        found = MEANING.fullmatch(line)
        if found:
            out += [] if listed else [""]
            names = ", ".join(f"``{n.strip()}``" for n in found[1].split(","))
            # Several on one line are separated by semicolons.
            rest = re.sub(r"; (\w+) : ", r"; ``\1``: ", found[2])
            out.append(f"- {names}: {rest}")
            listed = True
        elif listed and line.startswith(" "):
            out.append(f"  {line.strip()}")
        else:
            out += [""] if listed and line else []
            out.append(line)
            listed = False
    return out + lines[end:]


def after_numpydoc(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Escape names that end in an underscore."""
    trailing = re.compile(r"(?<![\w`*\\:])(\w*[a-zA-Z0-9])_(?![\w`*])")
    for i, line in enumerate(lines):
        if not line.startswith(".. "):
            lines[i] = outside_code(line, lambda s: trailing.sub(r"\1\\_", s))


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", before_numpydoc, priority=100)
    app.connect("autodoc-process-docstring", after_numpydoc, priority=900)
    return {"parallel_read_safe": True}
