"""`drift simulate`: a folder that `drift fit` takes, with the truth beside it, labelled as simulated everywhere."""

import json

import numpy as np
import pandas as pd
import pytest

from drift.data.bundled import find_study
from drift.data.labels import read_labels
from drift.data.scorer_study import read_scorer_study
from drift.data.simulate_labels import PRESETS
from drift.data.study import read_study
from drift.simulate import SETTINGS


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


# ---- scorer labels

SMALL = ("--models", "3", "--questions", "40", "--audited", "30")


@pytest.fixture
def panel(call, tmp_path):
    """A small SIMULATED panel with a stress audit."""
    assert call("simulate", tmp_path / "panel", "--labels", "stress", *SMALL).status == 0
    return tmp_path / "panel"


def test_every_setting_is_offered():
    assert (*PRESETS, "scorer-audit") == SETTINGS


def test_a_panel_has_labels_truth_and_study(panel):
    assert {path.name for path in panel.iterdir()} == {"labels.csv", "truth.json", "study.toml"}


@pytest.mark.parametrize("name", PRESETS)
def test_the_reader_takes_every_setting(call, tmp_path, name):
    assert call("simulate", tmp_path / "panel", "--labels", name, *SMALL).status == 0
    labels = read_labels(read_scorer_study(tmp_path / "panel" / "study.toml"))
    assert (labels.n_rows, int(labels.audited.sum())) == (3 * 40 * 6, 30 * 6)


def test_routes_are_strata(call, tmp_path):
    assert call("simulate", tmp_path / "panel", "--labels", "routed", *SMALL).status == 0
    labels = read_labels(read_scorer_study(tmp_path / "panel" / "study.toml"))
    assert labels.levels["stratum"] == ("heuristic", "judge")


def test_the_study_of_a_panel_says_that_it_is_simulated(panel):
    declared = read_scorer_study(panel / "study.toml")
    assert declared.simulated
    assert "SIMULATED" in declared.title


def test_a_stress_audit_is_declared_as_one(panel):
    (audit,) = read_scorer_study(panel / "study.toml").audits
    assert (audit.design, audit.sampled_on) == ("stress", ("arm", "scorer"))


def test_the_truth_of_a_panel_has_all_15_contrasts(panel):
    truth = json.loads((panel / "truth.json").read_text())
    contrasts = {(one["treatment"], one["comparator"]): one for one in truth["contrasts"]}
    assert len(contrasts) == 15
    label = pd.Series(truth["label"]).groupby(pd.read_csv(panel / "labels.csv")["arm"]).mean()
    found = contrasts["Authority", "Neutral"]["panel"]
    assert found == pytest.approx(label["Authority"] - label["Neutral"], abs=1e-12)


def test_one_command_writes_the_bundled_scorer_study(call, tmp_path):
    done = call("simulate", tmp_path / "again", "--labels", "scorer-audit")
    assert (done.status, done.err) == (0, f"7,952 SIMULATED labels in {tmp_path / 'again'}\n")
    bundled = find_study("scorer-audit").parent
    for name in ("study.toml", "labels.csv.gz"):
        assert (tmp_path / "again" / name).read_bytes() == (bundled / name).read_bytes()


def test_the_case_study_has_one_size(call, tmp_path):
    done = call("simulate", tmp_path / "new", "--labels", "scorer-audit", "--models", "3")
    assert (done.status, done.out) == (2, "")
    assert "scorer-audit has the sizes of the case study" in done.err
    assert not (tmp_path / "new").exists()


def test_more_audited_than_there_are_writes_nothing(call, tmp_path):
    done = call("simulate", tmp_path / "new", "--labels", "stress", "--questions", "2", "--audited", "30")
    assert (done.status, done.out) == (2, "")
    assert "asks for more rows than there are" in done.err
    assert not (tmp_path / "new").exists()
