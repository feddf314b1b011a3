"""What a release needs is there, and says the same as the code."""

import re
import tomllib
from pathlib import Path

import pytest

import kernalign
from tools.floor import floors

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "kernalign"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
NEWEST_PYTHON = 14
FILES = [
    ".github/ISSUE_TEMPLATE/bug.yml",
    ".github/ISSUE_TEMPLATE/feature.yml",
    ".github/PULL_REQUEST_TEMPLATE.md",
    ".github/workflows/docs.yml",
    ".github/workflows/release.yml",
    ".github/workflows/test.yml",
    ".pre-commit-config.yaml",
    ".readthedocs.yaml",
    "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "RELEASING.md",
    "SECURITY.md",
    "recipe/recipe.yaml",
]


def text(name):
    return (ROOT / name).read_text()


def supported():
    """Minor versions of Python 3, from requires-python to the newest one that is claimed."""
    lowest = re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"])
    return [f"3.{minor}" for minor in range(int(lowest[1]), NEWEST_PYTHON + 1)]


@pytest.mark.parametrize("name", FILES)
def test_file_is_there_and_not_empty(name):
    assert text(name).strip()


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("recipe/recipe.yaml", r'^  version: "(\S+)"$'),
    ],
)
def test_version_is_the_one_of_the_package(name, line):
    assert re.findall(line, text(name), re.MULTILINE) == [kernalign.__version__]


def test_classifiers_and_workflow_name_the_supported_versions_of_python():
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert classified == supported()
    matrix = re.search(r"python: \[(.*)\]", text(".github/workflows/test.yml"))
    assert re.findall(r"3\.\d+", matrix[1]) == supported()


def test_lowest_dependencies_are_tested_on_the_lowest_python():
    lowest = text(".github/workflows/test.yml").split("\n  lowest:\n")[1]
    assert f'python-version: "{supported()[0]}"' in lowest
    assert "make test-floor" in lowest


def test_folders_that_make_test_floor_runs_exist():
    listed = re.search(r"^FLOOR_TESTS := ((?:.*\\\n)*.*)$", text("Makefile"), re.MULTILINE)
    folders = re.findall(r"tests/\w+", listed[1])
    assert "tests/cli" in folders
    assert [name for name in folders if not (ROOT / name).is_dir()] == []


def test_recipe_has_the_requirements_of_the_package():
    run = text("recipe/recipe.yaml").split("  run:\n")[1].split("\n\n")[0]
    stated = {re.sub(r"^\s*- | ", "", line) for line in run.splitlines()}
    assert stated == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}


def test_package_says_that_it_has_types():
    assert (PACKAGE / "py.typed").is_file()
    assert "Typing :: Typed" in PROJECT["classifiers"]


def test_wheel_contains_every_file_of_the_package():
    # Part of the extra "test". An environment that is older than that skips, until `make setup`.
    hatchling = pytest.importorskip("hatchling.builders.wheel")
    builder = hatchling.WheelBuilder(str(ROOT))
    wheel = {file.distribution_path for file in builder.recurse_included_files()}
    tree = {
        str(path.relative_to(ROOT / "src"))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wheel == tree


def test_extras_that_the_code_tells_users_to_install_exist():
    told = {
        extra
        for path in PACKAGE.rglob("*.py")
        for names in re.findall(r"kernalign\[([\w,]+)\]", path.read_text())
        for extra in names.split(",")
    }
    assert told
    assert told <= set(EXTRAS)


def test_every_requirement_of_a_user_has_a_floor():
    floor = floors(PROJECT)
    named = ("plot", "cli", "dask", "fast", "parquet")
    extras = [requirement for name in named for requirement in EXTRAS[name]]
    needed = [*PROJECT["dependencies"], *extras]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in needed} - {"kernalign"}
    assert names <= set(floor)


def test_floors_are_read_from_requirements_with_and_without_extras():
    project = {
        "dependencies": ["numpy>=2.0", "plain"],
        "optional-dependencies": {"a": ["dask[array,dataframe]>=2024.12", "numpy>=2.0"]},
    }
    assert floors(project) == {"numpy": "2.0", "dask": "2024.12"}


@pytest.mark.parametrize(
    ("requirements", "message"),
    [
        (["numpy>=2.0,<3"], "lowest version is not known"),
        (["numpy>=2.0", "numpy>=2.1"], "two lower bounds 2.0 and 2.1"),
    ],
)
def test_floor_that_is_not_one_version_is_refused(requirements, message):
    with pytest.raises(ValueError, match=message):
        floors({"dependencies": requirements})
