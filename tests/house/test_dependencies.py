"""Declared dependencies are the imported ones, so that no bound stands for a library that nobody uses."""

import ast
import re
import sys
import tomllib

import pytest

NAMED = {"ppi_py": "ppi-python"}  # imported by another name than the index has
UNIMPORTED = {
    "arviz": "a user opens the posterior with arviz.from_netcdf, and its version is recorded in it",
    "h5py": "what h5netcdf writes with",
}


@pytest.fixture(scope="module")
def declared(project) -> set[str]:
    listed = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    return {re.split(r"[<>=!~ \[]", name)[0] for name in listed}


@pytest.fixture(scope="module")
def imported(project) -> set[str]:
    """Third-party libraries that any module imports, by the name that the index has (arviz-stats for arviz_stats)."""
    found: set[str] = set()
    for path in (project / "src" / "drift").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module).split(".")[0])
    return {NAMED.get(name, name.replace("_", "-")) for name in found - {*sys.stdlib_module_names, "drift"}}


def test_what_is_imported_is_declared(declared, imported):
    assert imported - declared == set()


def test_what_is_declared_is_imported(declared, imported):
    assert declared - imported == {*UNIMPORTED}


def test_every_bound_is_a_lower_one(project):
    settings = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))
    listed = [*settings["project"]["dependencies"], *settings["dependency-groups"]["dev"]]
    assert [name for name in listed if not re.fullmatch(r"[a-z0-9-]+>=[0-9.]+", name)] == []
