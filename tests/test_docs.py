"""The pages name what there is: every public name, and no name that does not exist."""

import importlib
import re
from pathlib import Path

import pytest

import kernalign

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.rst"))
GENERATED = {"gallery", "generated", "sg_execution_times"}


def words(name):
    return (DOCS / name).read_text(encoding="utf-8")


def listed_in_api():
    """Fully qualified names in the autosummary lists of the API page."""
    module, names = None, set()
    for line in words("api.rst").splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.fullmatch(r"   (\w+)", line):
            names.add(f"{module}.{found[1]}")
    return names


def resolve(dotted):
    """The object of a dotted name: the longest prefix that is a module, then attributes."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(dotted)


def test_every_public_name_is_in_the_api_page_and_no_other():
    listed = listed_in_api()
    public = {f"kernalign.{name}" for name in kernalign.__all__}
    assert public <= listed
    for name in listed:
        assert resolve(name) is not None


def test_every_name_of_the_symbol_table_exists():
    names = re.findall(r"`(kernalign\.[\w.]+)`", words("symbols.rst"))
    assert len(names) > 40
    for name in names:
        resolve(name)


def test_a_name_that_does_not_exist_is_noticed():
    with pytest.raises(AttributeError):
        resolve("kernalign.gram.Target.totals")


def test_every_page_is_reached_from_the_index():
    pages = {p.relative_to(DOCS).with_suffix("").as_posix() for p in PAGES}
    pages = {p for p in pages if p.split("/")[0] not in {*GENERATED, "measured"} and p[0] != "_"}
    listed = {"index"}
    for page, folder in (("index.rst", ""), ("guide/index.rst", "guide/")):
        listed |= {f"{folder}{name}" for name in re.findall(r"^   ([\w/]+)$", words(page), re.M)}
    assert pages <= listed


def test_gallery_examples_are_short_and_have_a_picture():
    examples = sorted((DOCS.parent / "examples" / "gallery").glob("*.py"))
    assert len(examples) >= 6
    for path in examples:
        text = path.read_text(encoding="utf-8")
        assert path.name.startswith("plot_")
        assert "plt.show()" in text
        assert len(text.splitlines()) < 120


@pytest.mark.parametrize("page", sorted(DOCS.parent.glob("*.md")), ids=lambda page: page.name)
def test_links_to_files_of_the_repository_work(page):
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_readme_is_short():
    assert len((DOCS.parent / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
