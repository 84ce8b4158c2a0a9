"""What is written about the models is true: generated blocks, and references that exist."""

import re
import shutil
from pathlib import Path

import pytest

from drift.models.cards import build_model, card_folder, card_names, read_card
from drift.models.spec import BEGIN, END, reference_density, reference_frame, spec, with_spec, write_specs

ROOT = Path(__file__).parents[2]
KEY = re.compile(r"\b[a-z]{2,}(?:19|20)\d\d[a-z]?\b")
DEFINED = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "models" / "references.bib").read_text(), re.MULTILINE))
SECTIONS = ("The question", "The model", "Why these priors", "What it cannot tell", "Checked by", "Changes")


@pytest.mark.parametrize("name", card_names())
def test_the_block_of_a_card_is_generated(name):
    text = read_card(name).text
    assert with_spec(text, spec(read_card(name))) == text, "python -m drift.models.spec, and date the change"


@pytest.mark.parametrize("name", card_names())
@pytest.mark.parametrize("section", SECTIONS)
def test_a_card_has_its_sections(name, section):
    assert f"\n## {section}\n" in read_card(name).text


@pytest.mark.parametrize("name", card_names())
def test_a_card_explains_every_variable_that_it_reports(name):
    text = read_card(name).text
    prose = text.partition(BEGIN)[0]
    reported = text.partition("| reported |")[2]
    names = re.findall(r"^\| `(\w+)` \|", reported, re.MULTILINE)
    assert names
    assert [variable for variable in names if f"`{variable}`" not in prose] == []


@pytest.mark.parametrize("name", card_names())
def test_tests_that_a_card_names_exist(name):
    for path in re.findall(r"`(tests/[\w/.]+)`", read_card(name).text):
        assert (ROOT / path).exists(), path


def test_another_prior_has_another_density(card_text):
    densities = set()
    for lines in ((), ("[priors]", "sd_model = {half_normal = 1.6}"), ("[priors]", "label = 1.1")):
        card = card_text('builder = "ordinal"', *lines)
        densities.add(round(reference_density(build_model(card, reference_frame(card))), 6))
    assert len(densities) == 3


def test_blocks_are_rewritten_where_they_are_stale(tmp_path):
    for path in card_folder().glob("*.md"):
        shutil.copy(path, tmp_path)
    stale = tmp_path / "ordinal.md"
    stale.write_text(with_spec(stale.read_text(), f"{BEGIN}\nold\n{END}"))
    assert write_specs(tmp_path) == [stale]
    assert stale.read_text() == read_card("ordinal").text


@pytest.mark.parametrize("text", ["no markers", f"{END}{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_markers_are_needed_once_and_in_order(text):
    with pytest.raises(ValueError, match="one line"):
        with_spec(text, "")


def cited():
    """(file, key) of every citation key in the package and in the cards."""
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "models").glob("*.md")]
    return sorted({(file.name, key) for file in files for key in KEY.findall(file.read_text(encoding="utf-8"))})


def test_there_are_citations():
    assert ("diagnostics.py", "vehtari2021") in cited()


def test_every_key_that_is_cited_is_defined():
    assert [(file, key) for file, key in cited() if key not in DEFINED] == []


@pytest.mark.parametrize("name", card_names())
def test_references_of_a_header_are_cited_in_its_prose(name):
    _, header, prose = read_card(name).text.split("+++\n", 2)
    keys = KEY.findall(header)
    assert keys
    assert [key for key in keys if key not in prose] == []


def test_nothing_is_defined_in_vain():
    assert DEFINED - {key for _, key in cited()} == set()
