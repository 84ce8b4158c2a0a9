"""`drift simulate`: a folder that `drift fit` takes, with the truth beside it, labelled as simulated everywhere."""

import json

import numpy as np
import pandas as pd
import pytest

from drift.data.study import read_study


@pytest.fixture
def folder(study):
    return study.parent


def test_has_ratings_truth_and_study(folder):
    """And the fixture's own card."""
    assert {path.name for path in folder.iterdir()} == {"ratings.csv", "truth.json", "study.toml", "models"}


def test_has_the_sizes_asked_for(folder):
    table = pd.read_csv(folder / "ratings.csv")
    assert table[["rater", "item", "system"]].nunique().tolist() == [10, 12, 3]
    assert len(table) == 360


def test_the_study_says_that_it_is_simulated(study):
    declared = read_study(study)
    assert declared.simulated
    assert "SIMULATED" in declared.title


def test_the_truth_has_a_deviation_for_each_cell(folder):
    truth = json.loads((folder / "truth.json").read_text())
    assert np.shape(truth["deviation_percent"]) == (3, 12)


def test_the_same_seed_gives_the_same_ratings(folder, call, tmp_path):
    words = ("--recipe", "Radd", "--participants", "10", "--questions", "12", "--models", "3", "--effects", "normal")
    assert call("simulate", tmp_path / "again", *words).status == 0
    assert (tmp_path / "again" / "ratings.csv").read_bytes() == (folder / "ratings.csv").read_bytes()


def test_an_existing_folder_is_not_written_into(folder, call):
    before = (folder / "study.toml").read_bytes()
    done = call("simulate", folder)
    assert (done.status, done.out) == (2, "")
    assert done.err == f"error: File exists: {folder}\n"
    assert (folder / "study.toml").read_bytes() == before


def test_a_size_that_the_recipe_does_not_have_writes_nothing(call, tmp_path):
    done = call("simulate", tmp_path / "new", "--participants", "5")
    assert (done.status, done.out) == (2, "")
    assert "recipe R is the whole design" in done.err
    assert not (tmp_path / "new").exists()
