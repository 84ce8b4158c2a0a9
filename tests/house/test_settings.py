"""The settings in pyproject.toml and .gitignore bite: each is broken once here, on purpose, and has to complain."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

LARGEST_NC = 3_000_000  # bytes of a posterior that may be in git (design.md, section 3)

WARNS = "import warnings\n\ndef test_it():\n    warnings.warn('anything')\n"
MISSPELT_MARKER = "import pytest\n\n@pytest.mark.slwo\ndef test_it():\n    pass\n"
SLOW = "import pytest\n\n@pytest.mark.slow\ndef test_it():\n    pass\n"
HARMLESS = "def test_it():\n    pass\n"
UNNAMED_NOQA = "import os  # noqa\n"
PRINTS = '"""Doc."""\n\nprint("x")\n'
UNTYPED = '"""Doc."""\n\n\ndef f(x):\n    return x\n'


def run_tests(project: Path, folder: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    """The outcome of one test file under our pyproject.toml."""
    (folder / "test_planted.py").write_text(source)
    words = [sys.executable, "-m", "pytest", "-q", "-c", project / "pyproject.toml", f"--rootdir={folder}"]
    words += ["-p", "no:cacheprovider", *options, folder / "test_planted.py"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def lint(project: Path, name: str, source: str) -> str:
    """What ruff says about a source of that name in the checkout."""
    ruff = Path(sys.executable).with_name("ruff")
    if not ruff.exists():
        pytest.skip("ruff is not installed here")
    words = [ruff, "check", "--no-cache", "--output-format=concise", f"--stdin-filename={project / name}", "-"]
    return subprocess.run(words, cwd=project, input=source, capture_output=True, text=True, check=False).stdout


def git(project: Path, *words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=project, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        pytest.skip(f"no git checkout here: {done.stderr.strip()}")
    return done.stdout.splitlines()


def test_a_harmless_test_passes(project, tmp_path):
    assert run_tests(project, tmp_path, HARMLESS).returncode == 0


def test_a_warning_fails_a_test(project, tmp_path):
    done = run_tests(project, tmp_path, WARNS)
    assert done.returncode == 1
    assert "UserWarning: anything" in done.stdout


def test_a_misspelt_marker_fails(project, tmp_path):
    done = run_tests(project, tmp_path, MISSPELT_MARKER)
    assert done.returncode == 2
    assert "'slwo' not found in `markers`" in done.stdout


def test_a_misspelt_setting_fails(project, tmp_path):
    done = run_tests(project, tmp_path, HARMLESS, "-o", "filterwarning=error")
    assert "filterwarning" in done.stderr
    assert done.returncode != 0


def test_slow_tests_run_only_when_asked_for(project, tmp_path):
    assert "1 deselected" in run_tests(project, tmp_path, SLOW).stdout
    assert "1 passed" in run_tests(project, tmp_path, SLOW, "-m", "slow or not slow").stdout


def test_a_noqa_without_its_rule_is_refused(project):
    assert "PGH004" in lint(project, "src/drift/planted.py", UNNAMED_NOQA)


def test_only_commands_print(project):
    assert "T201" in lint(project, "src/drift/planted.py", PRINTS)
    assert "T201" not in lint(project, "src/drift/fit.py", PRINTS)


def test_types_are_checked_strictly(project, tmp_path):
    mypy = Path(sys.executable).with_name("mypy")
    if not mypy.exists():
        pytest.skip("mypy is not installed here")
    (tmp_path / "planted.py").write_text(UNTYPED)
    words = [mypy, "--config-file", project / "pyproject.toml", f"--cache-dir={os.devnull}", tmp_path / "planted.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "[no-untyped-def]" in done.stdout


def test_every_lint_exception_has_its_reason(project):
    lines = (project / "pyproject.toml").read_text("utf-8").splitlines()
    first = lines.index("ignore = [") + 1
    ignored = lines[first : lines.index("]", first)]
    assert [line for line in ignored if "#" not in line] == []


def test_every_type_exception_has_its_reason(project):
    text = (project / "pyproject.toml").read_text("utf-8")
    overrides = [block.split("\n[", 1)[0] for block in text.split("[[tool.mypy.overrides]]\n")[1:]]
    settings = [line for block in overrides for line in block.splitlines() if line and not line.startswith("module")]
    assert settings
    assert [line for line in settings if "#" not in line] == []


@pytest.mark.parametrize(
    "name", ["frontier-ratings-ordinal.nc", "mine-ordinal.nc", "mine-ordinal.json", ".x.nc.1.part"]
)
def test_posteriors_that_a_fit_makes_again_stay_out_of_git(project, name):
    assert git(project, "check-ignore", "--no-index", f"posteriors/{name}") == [f"posteriors/{name}"]


@pytest.mark.parametrize("name", ["README.md", ".gitkeep", "index.csv", "frontier-ratings-ordinal.json"])
def test_records_of_bundled_studies_go_into_git(project, name):
    assert git(project, "check-ignore", "--no-index", f"posteriors/{name}") == []


def test_no_large_posterior_is_in_git(project):
    tracked = [project / name for name in git(project, "ls-files", "*.nc")]
    assert [path.name for path in tracked if path.stat().st_size > LARGEST_NC] == []


def test_version_is_that_of_the_lock(project):
    settings = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))
    packages = tomllib.loads((project / "uv.lock").read_text("utf-8"))["package"]
    assert [package["version"] for package in packages if package["name"] == "drift"] == [
        settings["project"]["version"]
    ]
