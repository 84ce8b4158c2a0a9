"""Modules import only from their own line of the import order, or from lines above it, and never in a circle."""

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

LINE = re.compile(r"    ([\w, ]+)")


def import_order(package: Path) -> dict[str, int]:
    """Layer name -> its line in the docstring of the package, the first line 0."""
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8"))) or ""
    lines = [match[1] for line in docstring.splitlines() if (match := LINE.fullmatch(line))]
    return {name.strip(): place for place, line in enumerate(lines) for name in line.split(",")}


def modules(package: Path) -> dict[str, Path]:
    """Dotted name -> file, of every module of a package."""
    return {dotted(path, package): path for path in sorted(package.rglob("*.py"))}


def dotted(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.AST, known: dict[str, Path], package: str) -> Iterator[tuple[int, str]]:
    """(line, module of this package) for every import: also within functions and under TYPE_CHECKING."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else str(node.module) for name in inner]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] == package and name != package)


def layer_of(module: str) -> str:
    return module.split(".")[1]


def edges(package: Path) -> list[tuple[str, int, str]]:
    """(module, line, module that it imports), for the whole package. The package's own __init__ is no module of it."""
    known = modules(package)
    return [
        (module, line, other)
        for module, path in known.items()
        if module != package.name
        for line, other in imports(ast.parse(path.read_text("utf-8")), known, package.name)
    ]


def violations(package: Path) -> list[str]:
    """Every import against the order, as `module:line imports other`."""
    order = import_order(package)
    return [
        f"{module}:{line} imports {other}"
        for module, line, other in edges(package)
        if order[layer_of(other)] > order[layer_of(module)]
    ]


def circle(package: Path) -> list[str]:
    """Modules that import each other in a circle; empty if none do."""
    graph: dict[str, set[str]] = {}
    for module, _, other in edges(package):
        graph.setdefault(module, set()).add(other)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.fixture(scope="module")
def drift(project: Path) -> Path:
    return project / "src" / "drift"


@pytest.fixture
def planted(tmp_path: Path):
    """A package of two layers with one extra line in one of its modules."""

    def plant(module: str, line: str) -> Path:
        package = tmp_path / "planted"
        (package / "low").mkdir(parents=True)
        (package / "__init__.py").write_text('"""Planted.\n\nImport order:\n\n    low, side\n    high\n"""\n')
        for name in ("low/__init__", "low/one", "low/two", "side", "high"):
            (package / f"{name}.py").write_text("")
        (package / f"{module}.py").write_text(line)
        return package

    return plant


def test_every_module_has_its_line(drift):
    assert {layer_of(module) for module in modules(drift) if module != "drift"} == {*import_order(drift)}


def test_modules_import_only_from_lines_above(drift):
    assert violations(drift) == []


def test_no_circle_of_imports(drift):
    assert circle(drift) == []


def test_the_package_itself_imports_nothing_of_ours(drift):
    assert list(imports(ast.parse((drift / "__init__.py").read_text("utf-8")), modules(drift), "drift")) == []


@pytest.mark.parametrize(
    "line",
    [
        "import planted.high",
        "from planted import high",
        "from planted.high import anything",
        "def lazy():\n    from planted.high import anything",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from planted.high import anything",
    ],
)
def test_a_planted_import_from_below_is_found(planted, line):
    package = planted("low/one", line)
    assert violations(package) == [f"planted.low.one:{line.count(chr(10)) + 1} imports planted.high"]


def test_an_import_from_above_and_from_the_same_line_is_allowed(planted):
    package = planted("high", "from planted.low import one\nfrom planted.side import anything")
    (package / "low" / "one.py").write_text("import planted.side")
    assert violations(package) == []


def test_a_planted_circle_is_found(planted):
    package = planted("low/one", "from planted.low.two import anything")
    (package / "low" / "two.py").write_text("def lazy():\n    from planted.low import one")
    assert {*circle(package)} == {"planted.low.one", "planted.low.two"}
