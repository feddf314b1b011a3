"""Imports point one way, the library stays silent, and files stay short."""

import ast
from pathlib import Path

import pytest

import kernalign

ROOT = Path(kernalign.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
#: From the bottom up: a layer may import those before it in this list, and itself.
CORE = ["kernels", "gram", "criteria", "solvers", "features", "machines", "learners"]
LAYERS = [
    "tables",
    "rows",
    *CORE,
    "estimators",
    "persistence",
    "plots",
    "report",
    "cli",
]
#: Imported only inside the function that needs them: the package works without.
OPTIONAL = {"matplotlib", "dask", "distributed", "torch", "pandas", "polars", "pyarrow"}
#: The mathematical core does not know them at all.
FOREIGN_TO_CORE = {"matplotlib", "dask", "distributed", "pandas", "polars", "pyarrow"}
LONGEST = 400
#: Where the package is entered, from above all layers.
ENTRIES = ("__init__.py", "__main__.py")

every_file = pytest.mark.parametrize(
    "path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES]
)


def layer_of(path):
    """The layer that a file belongs to; None for the modules at the top of the package."""
    first = path.relative_to(ROOT).parts[0]
    return first if first in LAYERS else None


def imports(tree, path):
    """(dotted name, whether at module level) of every import, relative ones made absolute."""
    package = ["kernalign", *path.relative_to(ROOT).parts[:-1]]
    inside = {
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            yield name, node not in inside


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def forbidden(layer):
    """What a layer must not import: the layers above."""
    above = LAYERS[LAYERS.index(layer) + 1 :]
    return {f"kernalign.{name}" for name in above}


def is_within(name, module):
    return name == module or name.startswith(f"{module}.")


def test_all_layers_have_files():
    """Otherwise the tests below would hold of nothing."""
    found = {layer_of(path) for path in FILES} - {None}
    assert found == set(LAYERS)
    assert sum(1 for path in FILES for _ in imports(parsed(path), path)) > 100


def test_detector_sees_every_form_of_import():
    path = ROOT / "gram" / "example.py"
    source = (
        "import kernalign.learners.base as b\n"
        "from kernalign import estimators\n"
        "from ..criteria import alignment\n"
        "from . import base\n"
        "def f():\n"
        "    from kernalign.solvers import inner_search\n"
        "    import dask.array\n"
        "if True:\n"
        "    import torch\n"
    )
    found = dict(imports(ast.parse(source), path))
    assert found["kernalign.learners.base"] is True
    assert found["kernalign.estimators"] is True
    assert found["kernalign.criteria.alignment"] is True
    assert found["kernalign.gram.base"] is True
    assert found["kernalign.solvers.inner_search"] is False
    assert found["dask.array"] is False
    assert found["torch"] is True
    assert forbidden("gram") == {f"kernalign.{n}" for n in LAYERS[4:]}


@every_file
def test_imports_point_down(path):
    """In the order of LAYERS, lazy imports included."""
    layer = layer_of(path)
    names = {name for name, _ in imports(parsed(path), path)}
    if layer is not None:
        upward = {n for n in names for module in forbidden(layer) if is_within(n, module)}
        assert upward == set()
        # The package's own names come from every layer: `from kernalign import X` hides which.
        private = {n for n in names if n.startswith("kernalign.") and n.count(".") == 1}
        known = {f"kernalign.{x}" for x in LAYERS}
        hidden = {n for n in private - known if not _is_module(n)}
        assert hidden == set()
    if layer in ("tables", *CORE):
        assert {n for n in names for f in FOREIGN_TO_CORE if is_within(n, f)} == set()


def _is_module(name):
    part = name.split(".")[1]
    return (ROOT / f"{part}.py").exists() or (ROOT / part / "__init__.py").exists()


@every_file
def test_private_helpers_know_no_layer(path):
    """_typing, _threads, ... serve all layers, so they stand on none."""
    if not (path.parent == ROOT and path.name.startswith("_") and path.name not in ENTRIES):
        return
    names = {name for name, _ in imports(parsed(path), path)}
    assert {n for n in names for x in LAYERS if is_within(n, f"kernalign.{x}")} == set()


@every_file
def test_optional_packages_are_imported_where_they_are_used(path):
    names = {name for name, at_module_level in imports(parsed(path), path) if at_module_level}
    assert {n for n in names for module in OPTIONAL if is_within(n, module)} == set()


@pytest.mark.parametrize(
    ("packages", "path"),
    [
        (("dask", "distributed"), "rows/cluster.py"),
        (("pyarrow",), "rows/arrow.py"),
        (("numba",), "_loops.py"),
        (("kernalign._loops",), "_compiled.py"),
    ],
)
def test_optional_packages_are_imported_in_one_file(packages, path):
    found = {
        path.relative_to(ROOT).as_posix()
        for path in FILES
        for name, _ in imports(parsed(path), path)
        if any(is_within(name, package) for package in packages)
    }
    assert found == {path}


@every_file
def test_nobody_knows_where_rows_are(path):
    """Rows that are not in memory are known to the package `rows`, and entered through one door."""
    if layer_of(path) == "rows":
        return
    names = {name for name, _ in imports(parsed(path), path)}
    for where in ("dask", "files", "arrow"):
        assert not any(is_within(name, f"kernalign.rows.{where}") for name in names)
    kinds = {name for name in names if name.startswith("kernalign.rows")}
    assert not {"Rows", "ArrayRows", "Source"} & {name.rpartition(".")[2] for name in kinds}


def test_one_door_to_dask():
    found = {
        path.relative_to(ROOT).as_posix()
        for path in FILES
        for name, _ in imports(parsed(path), path)
        if is_within(name, "kernalign.rows.dask")
    }
    assert found == {"rows/input.py"}


@every_file
def test_library_does_not_print(path):
    calls = [
        node.lineno
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("print", "pprint")
    ]
    assert calls == []


@every_file
def test_files_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < LONGEST
