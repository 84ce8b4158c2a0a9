"""The `drift` command: what it lists, what it refuses, and how soon it answers."""

import ast
import subprocess
import sys
import time
from importlib.metadata import version

import pytest

from drift.__main__ import COMMANDS, help_text, main

SECONDS = 0.3  # for help and version, which import nothing; found: .02
HELP_SECONDS = 1.0  # for the help of a command, required by issue 2


def quickest(*words: str) -> float:
    """Seconds of the quickest of three runs, for other programs run on this machine too."""
    return min(timed(*words) for _ in range(3))


def timed(*words: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    return time.perf_counter() - start


@pytest.mark.parametrize("name", COMMANDS)
def test_summary_is_the_first_line_of_the_module(project, name):
    docstring = ast.get_docstring(ast.parse((project / "src" / "drift" / f"{name}.py").read_text("utf-8")))
    assert docstring is not None
    assert docstring.splitlines()[0] == COMMANDS[name][0]


def test_every_command_of_the_import_order_is_listed(project):
    lines = (project / "src" / "drift" / "__init__.py").read_text("utf-8").splitlines()
    last = lines.index("    __main__")
    assert lines[last - 1].strip().split(", ") == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself_with_an_example(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"python -m drift.{name}" in capsys.readouterr().out


def test_help_goes_to_standard_output(capsys):
    assert main(["--help"]) == 0
    assert capsys.readouterr() == (f"{help_text()}\n", "")


def test_version_is_the_installed_one(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"drift {version('drift')}\n"


def test_no_command_is_bad_input(capsys):
    assert main([]) == 2
    assert capsys.readouterr() == ("", f"{help_text()}\n")


def test_an_unknown_command_is_bad_input_and_the_nearest_is_named(capsys):
    assert main(["conclud"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: no command 'conclud' (did you mean 'conclude'?)\n")


def test_the_exit_status_is_that_of_the_command(monkeypatch):
    monkeypatch.setitem(COMMANDS, "fit", ("", lambda: lambda argv: len(argv or ())))
    assert main(["fit", "a", "b", "c"]) == 3


@pytest.mark.parametrize("words", [("--help",), ("--version",)])
def test_help_and_version_answer_at_once(words):
    assert quickest("-m", "drift", *words) < SECONDS


@pytest.mark.parametrize("name", COMMANDS)
def test_a_commands_help_answers_within_a_second(name):
    assert quickest("-m", f"drift.{name}", "--help") < HELP_SECONDS


@pytest.mark.parametrize("name", ["drift", *(f"drift.{name}" for name in COMMANDS)])
def test_importing_a_command_imports_no_library(name):
    code = f"import {name}, sys; print(*({{'numpy', 'pandas', 'xarray', 'numba', 'pymc'}} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", COMMANDS)
def test_python_m_does_not_warn(name):
    words = [sys.executable, "-W", "error", "-m", f"drift.{name}", "--help"]
    assert subprocess.run(words, check=True, capture_output=True).stderr == b""
