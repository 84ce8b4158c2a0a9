"""What README and the other pages say is there: commands, targets, files, keys, limits."""

import importlib
import re
import shlex
import tomllib
from itertools import chain
from pathlib import Path

import pytest

from drift.__main__ import COMMANDS
from drift.data.ratings import read_ratings
from drift.data.scorer_study import parse_scorer_study
from drift.data.study import parse_study
from drift.errors import DriftError
from drift.inference import diagnostics
from drift.models.cards import KINDS

PAGES = ("README.md", "posteriors/README.md", "notebooks/README.md", "docs/README.md")
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TARGET = re.compile(r"^([a-z-]+):.*##", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]+)\)")


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in FENCED.findall(page.read_text("utf-8")) if kind == language]


def command_lines(project: Path) -> list[list[str]]:
    """Every line of every bash block, as words, without its comment."""
    text = chain.from_iterable(blocks(project / page, "bash") for page in PAGES)
    lines = chain.from_iterable(block.splitlines() for block in text)
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def unknown_part(words: list[str], targets: list[str]) -> str:
    """What a line of a bash block names that does not exist; empty where all of it does."""
    match words:
        case ["make", *asked]:
            return " ".join(target for target in asked if target not in targets)
        case [".venv/bin/drift", name, *arguments] if name in COMMANDS:
            return rejected(name, arguments)
        case [".venv/bin/python", "-m", module, *arguments] if module.removeprefix("drift.") in COMMANDS:
            return rejected(module.removeprefix("drift."), arguments)
    return " ".join(words)


def rejected(name: str, arguments: list[str]) -> str:
    """The arguments, if the command's parser does not take them."""
    try:
        importlib.import_module(f"drift.{name}").parser().parse_args(arguments)
    except SystemExit:
        return " ".join(arguments)
    return ""


@pytest.fixture(scope="module")
def readme(project) -> str:
    return (project / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def targets(project) -> list[str]:
    return TARGET.findall((project / "Makefile").read_text("utf-8"))


def test_every_command_in_the_pages_exists(project, targets):
    lines = command_lines(project)
    assert ["make", "fit"] in lines
    assert ["make", "test"] in lines
    assert [part for words in lines if (part := unknown_part(words, targets))] == []


@pytest.mark.parametrize(
    "line", ["make report", ".venv/bin/drift report x", ".venv/bin/drift fit x --fast", "pip install drift"]
)
def test_a_command_that_does_not_exist_is_found(targets, line):
    assert unknown_part(line.split(), targets)


def test_targets_are_phony(project, targets):
    phony = re.search(r"^\.PHONY: (.*)$", (project / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert phony is not None
    assert phony[1].split() == targets


def test_the_study_file_reads_the_table(project, tmp_path):
    (toml, _), (csv,) = blocks(project / "README.md", "toml"), blocks(project / "README.md", "csv")
    (tmp_path / "ratings.csv").write_text(csv)
    ratings = read_ratings(parse_study(toml, tmp_path / "my-study.toml"))
    assert ratings.n_rows == len(csv.splitlines()) - 1
    assert ratings.levels["model"] == ("Alpha", "Beta")


def test_the_scorer_study_file_is_one(project):
    (_, toml) = blocks(project / "README.md", "toml")
    study = parse_scorer_study(toml, project / "my-study.toml")
    assert study.contrasts[0].treatment == "certainty"
    assert study.audits[0].sampled_on == ("arm", "scorer")


def test_limits_are_those_of_the_checks(readme):
    assert f"R-hat < {diagnostics.RHAT_BELOW}" in readme
    assert f"ESS >= {diagnostics.ESS_AT_LEAST}" in readme
    assert f"E-BFMI >= {diagnostics.EBFMI_AT_LEAST}" in readme
    assert diagnostics.DIVERGENCES_AT_MOST == 0
    assert "no divergence" in readme


def test_bad_input_has_the_exit_status_that_the_table_says(readme):
    assert f"| {DriftError.exit_code} | bad input" in readme


def test_every_card_is_named(readme):
    assert [card for card in KINDS if f"`{card}`" not in readme] == []


def test_commands_said_to_be_missing_are_missing(readme):
    listed = re.search(r"Not yet there: the commands (.*?);", readme, re.DOTALL)
    assert listed is not None
    missing = re.findall(r"`(\w+)`", listed[1])
    assert missing
    assert {*missing} & {*COMMANDS} == set()


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(project, page):
    folder = (project / page).parent
    broken = [link for link in LINK.findall((project / page).read_text("utf-8")) if not (folder / link).exists()]
    assert broken == []


def test_changelog_has_this_version_and_its_changes_to_posteriors(project):
    version = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    sections = re.split(r"^## ", (project / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
    assert sections[0].split()[0] == version
    assert [section.split()[0] for section in sections if "### Changes to posteriors" not in section] == []
