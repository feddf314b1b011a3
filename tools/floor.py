"""Print the lowest version that pyproject.toml allows of each dependency, as constraints for pip.

    python tools/floor.py > floor.txt
    pip install --constraint floor.txt '.[test]'

Extras are included. A requirement without a lower bound is left to pip.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
#: A name, the extras that it asks for, and a lower bound.
BOUNDED = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,]+\])?>=(?P<version>[\d.]+)")


def floors(project: dict[str, Any]) -> dict[str, str]:
    """Lowest version of each bounded requirement of a [project] table, by name.

    A package that is bounded twice must have the same bound, because one environment holds it once.
    """
    extras = project.get("optional-dependencies", {})
    found: dict[str, str] = {}
    for requirement in [*project.get("dependencies", []), *(r for e in extras.values() for r in e)]:
        match = BOUNDED.fullmatch(requirement)
        if match is None:
            if not re.fullmatch(r"[\w.-]+(\[[\w,]+\])?", requirement):
                raise ValueError(
                    f"{requirement!r} in pyproject.toml is neither a name nor a name with one "
                    "lower bound such as 'numpy>=2.0', and its lowest version is not known."
                )
            continue
        name, version = match["name"], match["version"]
        if found.setdefault(name, version) != version:
            raise ValueError(
                f"{name} has the two lower bounds {found[name]} and {version} in pyproject.toml: "
                "give it one."
            )
    return found


def main() -> None:
    with PYPROJECT.open("rb") as stream:
        project = tomllib.load(stream)["project"]
    # 2.0 stands for 2.0.0 (PEP 440), so '==' with the bound names exactly the lowest release.
    for name, version in sorted(floors(project).items()):
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
