import hashlib
from pathlib import Path

import pytest

from drift.data.declaration import Contrast, Equivalence, Layout, Refusals, Study, Target, Tier
from drift.data.study import parse_study, read_study
from drift.errors import StudyFileError, StudyNotFoundError

FULL = """
title = "Drift"
ratings = "sub/ratings.csv"
seed = 20260724
models = ["ordinal", "ordinal-interaction"]
simulated = true
missing = "drop"
[columns]
participant = "rater"
question = "item"
model = "system"
domain = "area"
rating = "score"
refused = "refused"
[where]
criterion = "Relevance"
round = [1, 2]
[scale]
labels = ["poor", "fair", "good"]
[target]
questions = "these"
weighting = "domain"
[tiers]
Good = 60
Moderate = 80.5
[equivalence]
margin_pp = 5
sensitivity_pp = [3, 7]
set = ["A", "B"]
[[contrasts]]
name = "A against B"
treatment = ["A"]
comparator = ["B"]
domain = "Safety"
[refusals]
coding = "missing"
values = ["N/A"]
[design]
leave_out = ["domain", "model:domain"]
participants_are = "persons"
"""
LEAST = """
title = "T"
ratings = "r.csv"
seed = 1
models = ["ordinal"]
[columns]
model = "m"
rating = "r"
[scale]
labels = [1, 2]
"""


def parsed(text: str, path: str = "studies/drift.toml") -> Study:
    return parse_study(text, Path(path))


def refusal(text: str) -> str:
    with pytest.raises(StudyFileError) as caught:
        parsed(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "drift"),
        ("title", "Drift"),
        ("seed", 20260724),
        ("data", Path("studies/sub/ratings.csv")),
        ("kind", "ratings"),
        ("models", ("ordinal", "ordinal-interaction")),
        ("simulated", True),
        ("missing", "drop"),
        ("where", {"criterion": ("Relevance",), "round": ("1", "2")}),
        ("target", Target(questions="these", participants="new", weighting="domain")),
        ("tiers", (Tier("Good", 60.0), Tier("Moderate", 80.5))),
        ("equivalence", Equivalence(5.0, (3.0, 7.0), ("A", "B"))),
        ("contrasts", (Contrast("A against B", ("A",), ("B",), "Safety"),)),
        ("refusals", Refusals("missing", ("N/A",))),
        ("leave_out", ("domain", "model:domain")),
        ("participants_are", "persons"),
        ("layout", Layout()),
        ("digest", hashlib.sha256(FULL.encode()).hexdigest()),
        ("text", FULL),
    ],
)
def test_what_is_declared_is_what_is_read(field: str, value: object) -> None:
    assert getattr(parsed(FULL), field) == value


def test_labels_keep_their_order() -> None:
    assert parsed(FULL).scale.labels == ("poor", "fair", "good")


def test_factors_are_the_declared_columns() -> None:
    assert parsed(FULL).factors() == ("participant", "question", "model", "domain")


def test_the_least_study_has_the_defaults() -> None:
    study = parsed(LEAST)
    assert (study.missing, study.simulated, study.equivalence, study.refusals) == ("refuse", False, None, None)


def test_a_study_file_in_a_folder_is_called_after_the_folder() -> None:
    assert parsed(LEAST, "studies/drift-2/study.toml").name == "drift-2"


def test_the_text_alone_is_enough_to_read_a_study_again(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(FULL, encoding="utf-8")
    study = read_study(path)
    assert parse_study(study.text, study.path) == study


def test_a_byte_order_mark_is_no_part_of_the_study(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_bytes(b"\xef\xbb\xbf" + LEAST.encode())
    assert read_study(path).text == LEAST


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyNotFoundError, match=r"nowhere\.toml"):
        read_study(tmp_path / "nowhere.toml")


def test_latin_1_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_bytes(LEAST.replace('"T"', '"Té"').encode("latin-1"))
    with pytest.raises(StudyFileError, match="UTF-8"):
        read_study(tmp_path / "s.toml")


def test_broken_toml_is_refused_by_line() -> None:
    assert "line 2" in refusal('title = "T"\nseed = \n')


def test_an_empty_file_lists_everything_to_write() -> None:
    message = refusal("")
    assert all(
        word in message for word in ("title", "seed", "models", "labels", 'ratings = "ratings.csv"', "[columns] model")
    )


def test_all_problems_come_in_one_message() -> None:
    message = refusal(LEAST.replace("seed = 1", "sead = 1\nsimulated = 3").replace("labels = [1, 2]", "labels = [1]"))
    assert message.startswith("drift.toml: 4 problems")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("seed = 1", "sead = 1", "sead is unknown (did you mean 'seed'?)"),
        ("seed = 1", "seed = 1.5", "seed is 1.5: write a whole number"),
        ("seed = 1", "seed = true", "seed is true: write a whole number"),
        ("seed = 1", "seed = -1", "seed is -1: write a whole number of at least 0"),
        (
            "seed = 1",
            "seed = 1\nmissing = 'dropp'",
            "missing is 'dropp': write \"refuse\" or \"drop\" (did you mean 'drop'?)",
        ),
        ('title = "T"', "title = 3", "title is 3: write a text"),
        ('models = ["ordinal"]', "models = []", "models names no model card"),
        ('models = ["ordinal"]', 'models = "ordinal"', "models is 'ordinal': write a list"),
        ('models = ["ordinal"]', 'models = ["a", "a"]', "models names 'a' twice"),
        ('ratings = "r.csv"', 'ratings = "r.csv"\ncells = "c.csv"', "name one data file"),
        ('model = "m"', 'modle = "m"', "[columns] modle is unknown (did you mean 'model'?)"),
        ('model = "m"', "", "[columns] model is missing"),
        ('rating = "r"', 'rating = "m"', "[columns] gives column 'm' two roles"),
        ('rating = "r"', 'rating = "r"\nrefused = "x"', "[refusals] coding is missing"),
        ("labels = [1, 2]", "labels = [1]", "a scale has 2 to 1000 labels, this one has 1"),
        ("labels = [1, 2]", "labels = [1, 1.0]", "[scale] labels names '1' twice"),
        ("labels = [1, 2]", 'labels = [1, "1.0"]', "label '1.0' is there twice"),
        ("labels = [1, 2]", 'labels = "1-5"', "write a list"),
        ("labels = [1, 2]", "labels = [1, 2]\n[tiers]\nGood = 80\nPoor = 60", "from lowest to highest"),
        ("labels = [1, 2]", 'labels = [1, 2]\n[tiers]\nGood = "60"', "[tiers] write upper bounds"),
        ("labels = [1, 2]", "labels = [1, 2]\n[tiers]\nGood = 0.6\nPoor = 101", "[tiers] bounds are percent"),
        ("labels = [1, 2]", "labels = [1, 2]\n[equivalence]\nset = ['A', 'B']", "margin_pp is missing"),
        ("labels = [1, 2]", "labels = [1, 2]\n[equivalence]\nmargin_pp = 0", "margins are percentage points"),
        ("labels = [1, 2]", "labels = [1, 2]\n[equivalence]\nmargin_pp = true", "margin_pp is missing or no number"),
        ("labels = [1, 2]", "labels = [1, 2]\n[equivalence]\nmargin_pp = 5\nset = ['A']", "set names 'A' alone"),
        (
            "labels = [1, 2]",
            "labels = [1, 2]\n[[contrasts]]\nname = 'n'\ntreatment = ['A']",
            "comparator names no model",
        ),
        (
            "labels = [1, 2]",
            "labels = [1, 2]\n[[contrasts]]\nname = 'n'\ntreatment = ['A']\ncomparator = ['A']",
            "which is in treatment too",
        ),
        ("labels = [1, 2]", "labels = [1, 2]\n[target]\nweighting = 'domain'", "declares no domain"),
        ("labels = [1, 2]", "labels = [1, 2]\n[target]\nquestions = 'old'", "[target] questions is 'old'"),
        ("labels = [1, 2]", "labels = [1, 2]\n[design]\nleave_out = ['rater']", "'rater', which is no term"),
        ("labels = [1, 2]", "labels = [1, 2]\n[refusals]\ncoding = 'lowest'", "says no way to tell them"),
        ("labels = [1, 2]", "labels = [1, 2]\n[layout]\nform = 'wide'", "names_to is missing"),
        ("labels = [1, 2]", "labels = [1, 2]\n[layout]\ncolumns = ['a']", 'write form = "wide"'),
        ("seed = 1", "seed = 1\ntarget = 3", "target is 3: write it as a table, [target]"),
    ],
)
def test_each_problem_says_what_to_write(old: str, new: str, told: str) -> None:
    assert told in refusal(LEAST.replace(old, new))


CELLS = """
title = "T"
seed = 1
models = ["cell-means"]
[cells]
file = "cells.csv"
raters = 47
[columns]
question = "q"
model = "m"
deviation = "d"
[scale]
labels = [1, 2, 3, 4, 5]
"""


def test_a_table_of_cells_is_declared_with_its_raters() -> None:
    study = parsed(CELLS)
    assert (study.kind, study.data.name, study.raters) == ("cells", "cells.csv", 47)


def test_a_table_of_cells_has_no_rating_column() -> None:
    assert "[columns] rating is unknown" in refusal(CELLS.replace('model = "m"', 'model = "m"\nrating = "r"'))


def test_a_table_of_cells_needs_the_deviation() -> None:
    assert "[columns] deviation is missing" in refusal(CELLS.replace('deviation = "d"', ""))
