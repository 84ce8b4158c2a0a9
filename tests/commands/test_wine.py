"""A study file of one's own on real data: the wine ratings of the R package `ordinal`, through the commands."""

import pytest

# data README, clmm: wine rated warm is rated higher than cold, and with contact of the skins higher than without.
WINE = """\
title = "Bitterness of wine (Randall 1989)"
ratings = "{folder}/r_ordinal/wine.csv"
models = ["ordinal"]
seed = 1
[columns]
participant = "judge"
model = "temp"
domain = "contact"
rating = "rating"
[scale]
labels = [1, 2, 3, 4, 5]
[target]
questions = "these"
participants = "these"
[design]
participants_are = "persons"
leave_out = ["question"]
repeats = "allowed"
[tiers]
Bitter = 50
Mild = 100
[[contrasts]]
name = "warm against cold"
treatment = ["warm"]
comparator = ["cold"]
"""
SETTINGS = ("--draws", "1500", "--tune", "600", "--target-accept", "0.95")  # 72 ratings leave the sds wide
OBSERVED = 29.17  # mean deviation of cold less that of warm, percentage points, from the 72 ratings
SHRUNK_AT_MOST = 4.0  # towards 0, by the priors on 72 ratings; measured 2.4
CERTAIN = 0.999  # the published estimate is 5 standard errors from 0


@pytest.fixture(scope="module")
def wine(call, shared_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wine")
    (folder / "wine.toml").write_text(WINE.format(folder=shared_data.resolve()), encoding="utf-8")
    return folder, call("fit", folder / "wine.toml", "--out", folder / "posteriors", "--json", *SETTINGS)


@pytest.fixture(scope="module")
def contrast(wine):
    return wine[1].json["conclusions"][0]["tables"]["contrasts"][0]


def test_every_check_passes(wine):
    assert wine[1].status == 0, wine[1].out + wine[1].err


def test_the_posterior_has_the_name_of_the_study_file(wine):
    assert {path.name for path in (wine[0] / "posteriors").glob("*.nc")} == {"wine-ordinal.nc"}


def test_nothing_is_called_simulated(wine):
    assert "SIMULATED" not in wine[1].out + wine[1].err


def test_warm_is_rated_higher_for_certain(contrast):
    assert contrast["below_zero"] > CERTAIN


def test_the_contrast_is_that_of_the_means(contrast):
    assert -OBSERVED - 1.0 < contrast["mean"] < -OBSERVED + SHRUNK_AT_MOST
