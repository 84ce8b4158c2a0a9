"""Intervals cover the truth of SIMULATED data as often as they say, and the truth is known: the generator's.

Both ways of being wrong fail: intervals that are too narrow miss too often, and z-scores that scatter too little show
intervals that are too wide.
"""

import importlib
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
NOMINAL = 0.90
BAND = (0.84, 0.96)  # of the coverage over 50 data sets
Z_SD = (0.75, 1.3)  # 1 if posterior sds are right; 50 data sets know it to about .1
FEW = 5  # data sets in the fast run: 30 deviations, correlated within a data set
FEW_COVER = 0.70  # fewer than 21 of 30 has probability below 1e-3 at .90, and below .05 with 10 effective intervals
CARDS = ("ordinal", "ordinal-interaction")


@pytest.fixture(scope="module")
def recovery():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPTS)
        yield importlib.import_module("recovery")


@pytest.fixture(scope="module")
def few(recovery, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recovery")
    return folder, recovery.run("ordinal", range(1, FEW + 1), folder)


def test_a_few_data_sets_are_recovered(few, recovery):
    table = recovery.summary(few[1]).set_index("quantity")
    row = table.loc["deviation, these questions and these participants"]
    assert row["coverage"] >= FEW_COVER
    assert abs(row["z_mean"]) < 4 * row["z_se"] + 0.3
    assert 0.5 < row["z_sd"] < 1.7


def test_a_killed_run_goes_on_and_ends_alike(few, recovery, monkeypatch):
    folder, rows = few
    path = folder / f"ordinal-{FEW}.json"
    kept = path.read_text(encoding="utf-8")
    path.unlink()
    fitted = []
    one = recovery.one
    monkeypatch.setattr(recovery, "one", lambda card, seed: fitted.append(seed) or one(card, seed))
    again = recovery.run("ordinal", range(1, FEW + 1), folder)
    assert fitted == [FEW]
    assert path.read_text(encoding="utf-8") == kept
    assert again.equals(rows)


def test_the_true_cutpoints_are_those_of_centred_effects(recovery):
    """Adding a constant to every eta and to the cutpoints is the same model: centred cutpoints do not move."""
    truth = recovery.simulate("Radd", **recovery.SIZE, seed=1, effects="normal").truth
    moved = recovery.Truth(**{**vars(truth), "eta": truth.eta + 0.7, "cutpoints": truth.cutpoints + 0.7})
    np.testing.assert_allclose(recovery.centred_cutpoints(moved), recovery.centred_cutpoints(truth), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("card", CARDS)
def test_fifty_data_sets_are_recovered(card, recovery, tmp_path):
    table = recovery.summary(recovery.run(card, range(1, 51), tmp_path))
    for row in table.itertuples():
        assert BAND[0] <= row.coverage <= BAND[1] or abs(row.coverage - NOMINAL) < 2 * row.coverage_se, row
        assert abs(row.z_mean) < 3 * row.z_se, row
        assert Z_SD[0] < row.z_sd < Z_SD[1], row
