"""`drift fit` and `drift conclude` on small SIMULATED scorer studies: files, contrast cards, refusals, draws."""

import json
import os
import subprocess
import sys

import arviz
import numpy as np
import pandas as pd
import pytest
import xarray as xr

pytestmark = pytest.mark.timeout(600)  # three structures are compiled where nothing is cached yet

ARMS = 6
VARIANTS = {
    "wide_rater_prior", "dependence", "only_rater_1", "only_rater_2", "truth_is_rater_1", "truth_is_rater_2",
}  # fmt: skip
GATES = """
[gates]
same_keys = 20
"""
ORDINAL = """\
title = "SIMULATED scores of a judge"
labels = "labels.csv"
simulated = true
seed = 3
models = ["misclassification-ordinal"]
[outcome]
name = "quality"
[scale]
labels = [1, 2, 3]
[columns]
key = "item"
arm = "prompt"
scorer = "judge"
raters = ["ann"]
[audits.random]
design = "representative"
sampled_on = ["arm"]
[[contrasts]]
name = "b - a"
treatment = "b"
comparator = "a"
tolerance_pp = 5
same_construct = true
"""


@pytest.fixture(scope="module")
def study(call, tmp_path_factory):
    """SIMULATED: one model, 150 items, six arms, 40 responses an arm audited by two raters."""
    folder = tmp_path_factory.mktemp("scorer") / "panel"
    words = ("--labels", "representative", "--models", "1", "--questions", "150", "--audited", "40", "--seed", "5")
    assert call("simulate", folder, *words).status == 0
    return folder / "study.toml"


@pytest.fixture(scope="module")
def fitted(call, study):
    folder = study.parent / "posteriors"
    return call("fit", study, "--out", folder), folder / "panel-misclassification.nc"


def test_a_fit_passes_its_checks(fitted):
    done, path = fitted
    assert done.status == 0
    assert path.exists()


def test_the_file_holds_every_variant_and_each_passed(fitted):
    with xr.open_datatree(fitted[1]) as tree:
        variants = tree["variants"].children
        assert {*variants} == VARIANTS
        assert {group.attrs["checks_passed"] for group in variants.values()} == {"true"}


def test_the_file_opens_in_arviz(fitted):
    assert arviz.from_netcdf(fitted[1])["posterior"].sizes["chain"] == 4


def test_nothing_of_the_size_of_rows_times_draws_is_stored(fitted):
    with xr.open_datatree(fitted[1]) as tree:
        sizes = [{*variable.dims} for group in tree.subtree for variable in group.data_vars.values()]
    assert not [dims for dims in sizes if {"row", "draw"} <= dims]


def test_a_contrast_card_for_each_contrast_as_json_and_markdown(call, fitted, tmp_path):
    done = call("conclude", fitted[1], "--cards", tmp_path / "cards")
    assert done.status == 0
    assert done.out.count("\nDecision\n") == ARMS - 1
    for ending in ("json", "md"):
        assert len([*(tmp_path / "cards").glob(f"*.{ending}")]) == ARMS - 1


def test_the_corrected_contrasts_are_near_the_truth(call, fitted, study, tmp_path):
    """z scores of the five declared contrasts of the panel; 5 of N(0, 1) have a mean square above 3.1 once in 100."""
    pairs = json.loads((study.parent / "truth.json").read_text())["contrasts"]
    truth = {f"{pair['treatment']} - {pair['comparator']}": pair["panel"] for pair in pairs}
    call("conclude", fitted[1], "--cards", tmp_path / "cards")
    squares = []
    for path in (tmp_path / "cards").glob("*.json"):
        card = json.loads(path.read_text())
        panel = next(part["corrected_pp"] for part in card["contrasts"] if part["prevalence"] == "panel")
        squares.append(((panel["mean"] - 100.0 * truth[card["contrast"]]) / panel["sd"]) ** 2)
    assert np.mean(squares) < 3.1


def test_fresh_machine_code_draws_as_the_cache_does(study, tmp_path):
    """Two processes, the first compiles: the same draws to the last digit."""
    script = (
        "import sys; from pathlib import Path; from drift.data.scorer_study import read_scorer_study\n"
        "from drift.jobs.job import Options, _draw; from drift.jobs.labels import label_jobs\n"
        "study, options = read_scorer_study(Path(sys.argv[1])), Options(out=Path(sys.argv[2]), draws=20)\n"
        "job = label_jobs(study, options)[0]\n"
        "draws = _draw(job.card, job.frame, job, show_progress=False)\n"
        "print(repr(draws['posterior']['fpr'].values.sum()))\n"
    )
    environment = os.environ | {"DRIFT_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", script, str(study), str(tmp_path)]
    first, second = (
        subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout for _ in range(2)
    )
    assert first == second


def test_labels_that_are_neither_0_nor_1_are_refused_by_line(call, study, tmp_path):
    table = pd.read_csv(study.parent / "labels.csv", dtype=str)
    table.loc[[3, 7], "flag"] = ["2", "maybe"]
    table.to_csv(tmp_path / "labels.csv", index=False)
    (tmp_path / "broken.toml").write_text(study.read_text())
    done = call("fit", tmp_path / "broken.toml", "--out", tmp_path / "posteriors")
    assert done.status == 2
    assert "line 5" in done.err
    assert "line 9" in done.err
    assert not (tmp_path / "posteriors").exists()


def test_a_limit_that_no_gate_has_is_refused_before_any_draw(call, study, tmp_path):
    (tmp_path / "study.toml").write_text(study.read_text() + GATES.replace("same_keys", "same_keyz"))
    (tmp_path / "labels.csv").write_bytes((study.parent / "labels.csv").read_bytes())
    done = call("fit", tmp_path / "study.toml", "--out", tmp_path / "posteriors")
    assert done.status == 2
    assert "same_keyz" in done.err
    assert not (tmp_path / "posteriors").exists()


def test_a_card_for_ratings_is_refused(call, study, tmp_path):
    done = call("fit", study, "--model", "ordinal", "--out", tmp_path / "posteriors")
    assert done.status == 2
    assert "needs ratings" in done.err


def test_a_fit_whose_checks_fail_draws_no_conclusion(call, study, tmp_path):
    done = call("fit", study, "--draws", "20", "--tune", "50", "--chains", "2", "--out", tmp_path / "posteriors")
    assert done.status == 1
    assert "No conclusion is drawn" in done.out
    assert not (tmp_path / "posteriors" / "contrast-cards").exists()


def test_scores_on_three_labels_give_corrected_deviations(call, tmp_path):
    """SIMULATED: arm b is 20 points worse; the judge hides half of it. The corrected contrast covers the truth."""
    rng, n = np.random.default_rng(2), 400
    truth = np.concatenate([rng.choice(3, n, p=[0.2, 0.3, 0.5]), rng.choice(3, n, p=[0.4, 0.3, 0.3])])
    arm = np.repeat(["a", "b"], n)
    lenient = (arm == "b") & (rng.random(2 * n) < 0.3)
    judge = np.clip(truth + lenient, 0, 2)
    ann = np.where(rng.random(2 * n) < 0.97, truth, np.clip(truth + 1, 0, 2))
    audited = rng.random(2 * n) < 0.3
    table = pd.DataFrame({"item": np.tile(np.arange(n), 2), "prompt": arm, "judge": judge + 1})
    table["ann"] = pd.Series(ann + 1).where(audited).astype("Int64")
    table.to_csv(tmp_path / "labels.csv", index=False)
    (tmp_path / "scores.toml").write_text(ORDINAL)
    done = call("fit", tmp_path / "scores.toml", "--out", tmp_path / "posteriors", "--json")
    assert done.status == 0
    (contrast,) = done.json["conclusions"][0]["contrasts"]
    deviation = 100 * (2 - truth) / 2
    true = deviation[arm == "b"].mean() - deviation[arm == "a"].mean()
    assert contrast["lower"] <= true <= contrast["upper"]
    assert contrast["automatic"] < contrast["lower"]
