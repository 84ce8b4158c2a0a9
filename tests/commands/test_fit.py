"""`drift fit` on a small SIMULATED study: what it writes and prints, and that it refuses before it draws."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from drift.inference.store import read_posterior

CARDS = ("ordinal", "narrow")
FEW = ("--draws", "30", "--tune", "50")  # a check fails for certain: 120 draws have no 400 effective ones
HELP_SECONDS = 2.0  # found: .05; one second is required, and is tested apart from other work in tests/house
CELLS = """\
title = "SIMULATED cells"
simulated = true
models = ["cell-means"]
seed = 1
[cells]
file = "cells.csv"
raters = 10
[columns]
question = "q"
model = "m"
deviation = "d"
[scale]
labels = [1, 2, 3, 4, 5]
"""


def files(folder):
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def edit(study, *, old="", new=""):
    """The study file with a text replaced, or lines added before everything else."""
    text = study.read_text()
    assert old in text
    study.write_text(text.replace(old, new, 1) if old else f"{new}\n{text}")


def edit_ratings(study, change):
    path = study.parent / "ratings.csv"
    change(pd.read_csv(path, dtype=str)).to_csv(path, index=False)


class TestAFitThatPasses:
    def test_exits_0(self, fitted):
        assert fitted.done.status == 0

    def test_leaves_a_file_and_a_record_a_card_and_an_index(self, fitted):
        kept = {f"small-{card}{ending}" for card in CARDS for ending in (".nc", ".json")}
        assert files(fitted.folder) == {*kept, "index.csv"}

    def test_records_that_the_checks_passed(self, fitted):
        assert json.loads(fitted.posterior().with_suffix(".json").read_text())["checks_passed"] is True

    def test_prints_progress_to_standard_error_only(self, fitted):
        lines = fitted.done.err.splitlines()
        assert [line for line in lines if not line.startswith("  ")] == [
            f"small, card {card}: 360 ratings (SIMULATED)" for card in CARDS
        ]
        assert not [line for line in lines if line in fitted.done.out]

    @pytest.mark.parametrize(
        "title",
        [
            "Deviation (percent; 0 = always the best label, 100 = always the worst; 95% interval) and rank",
            "Probability of each tier",
            "Probability of each rank",
            "Equivalence of pairs (95% HDI against the margin, 5 pp; ",
            "All models of the declared set within the margin of each other",
            "Contrasts (percentage points of deviation; ",
            "Variance shares (95% interval)",
        ],
    )
    def test_prints_the_tables_to_standard_output(self, fitted, title):
        assert f"\n{title}" in fitted.done.out

    def test_says_that_the_data_are_simulated(self, fitted):
        assert fitted.done.out.count("SIMULATED DATA: nothing below is a finding about the models named") == len(CARDS)


class TestAFitAgain:
    """One card, into a folder that holds its posterior, in a process that has fitted other things since."""

    @pytest.fixture(scope="class")
    @staticmethod
    def again(fitted, call, sound, tmp_path_factory):
        folder = tmp_path_factory.mktemp("again")
        shutil.copy(fitted.posterior(), folder)
        return folder, call("fit", fitted.study, "--model", "ordinal", "--out", folder, "--json", *sound)

    def test_of_equal_inputs_is_no_refusal(self, again):
        assert again[1].status == 0

    def test_gives_the_same_draws(self, again, fitted):
        one, two = (read_posterior(path) for path in (fitted.posterior(), again[0] / "small-ordinal.nc"))
        assert one["posterior"].to_dataset().identical(two["posterior"].to_dataset())

    def test_json_is_all_of_standard_output(self, again):
        assert [found["card"] for found in again[1].json["conclusions"]] == ["ordinal"]

    def test_with_another_seed_gives_other_draws(self, call, study, tmp_path):
        for seed in (1, 2):
            edit(study, old="\nseed = ", new=f"\nseed = {seed}")
            assert call("fit", study, "--model", "ordinal", "--out", tmp_path / str(seed), *FEW).status == 1
        one, two = (read_posterior(tmp_path / str(seed) / "small-ordinal.nc") for seed in (1, 2))
        assert not np.any(one["posterior"]["cutpoints"].values == two["posterior"]["cutpoints"].values)


class TestAFailedCheck:
    @pytest.fixture(scope="class")
    @staticmethod
    def failed(fitted, call, tmp_path_factory):
        folder = tmp_path_factory.mktemp("failed")
        return folder, call("fit", fitted.study, "--out", folder, *FEW)

    def test_exits_1(self, failed):
        assert failed[1].status == 1

    @pytest.mark.parametrize("card", CARDS)
    def test_saves_the_posterior(self, failed, card):
        assert read_posterior(failed[0] / f"small-{card}.nc")["posterior"].sizes["draw"] == 30

    @pytest.mark.parametrize("card", CARDS)
    def test_is_named_in_the_record_with_advice(self, failed, card):
        record = json.loads((failed[0] / f"small-{card}.json").read_text())
        found = {check["name"]: check["advice"] for check in record["checks"] if not check["passed"]}
        assert record["checks_passed"] is False
        assert found["ess_bulk"].endswith("raise --draws")

    def test_is_named_in_the_index(self, failed):
        assert not pd.read_csv(failed[0] / "index.csv")["checks_passed"].any()

    def test_is_named_on_standard_output_with_advice(self, failed):
        assert "- ess_bulk = " in failed[1].out
        assert "too few effective draws for a mean: raise --draws" in failed[1].out

    def test_nothing_is_concluded(self, failed):
        """A heading a card, one sentence a failed check: no table."""
        assert failed[1].out.count("No conclusion is drawn: convergence checks failed.") == len(CARDS)
        assert "Deviation (" not in failed[1].out
        assert "Posteriors compared" not in failed[1].out

    def test_json_says_the_same(self, call, failed):
        done = call("conclude", *sorted(failed[0].glob("*.nc")), "--json")
        assert done.status == 1
        assert [(c["withheld"], c["tables"], c["remarks"]) for c in done.json["conclusions"]] == [(True, {}, [])] * 2

    def test_no_csv_is_written(self, call, failed, tmp_path):
        assert call("conclude", failed[0] / "small-ordinal.nc", "--csv", tmp_path / "tables").status == 1
        assert not (tmp_path / "tables").exists()

    def test_one_card_of_two_withholds_its_own_only(self, call, failed, fitted):
        done = call("conclude", failed[0] / "small-ordinal.nc", fitted.posterior("narrow"))
        assert done.status == 1
        assert done.out.count("No conclusion is drawn") == 1
        assert done.out.count("Probability of each rank") == 1
        assert "Posteriors compared" not in done.out


class TestRefused:
    """Exit 2, one message, nothing on standard output, and no folder."""

    @pytest.fixture
    def refused(self, call, tmp_path):
        def fit(study, *words, out=tmp_path / "refused"):
            before = files(out)
            done = call("fit", study, *words, "--out", out)
            assert (done.status, done.out) == (2, "")
            assert done.err.startswith("error: ")
            assert files(out) == before
            assert before or not out.exists()
            return done.err

        return fit

    def test_no_such_study(self, refused):
        assert "neither a bundled study nor a file (did you mean 'frontier-cells'?)" in refused("frontier-cell")

    def test_every_bad_row_in_one_message(self, refused, study):
        edit_ratings(study, lambda table: table.assign(score=table["score"].where(table.index.values > 1, "9")))
        message = refused(study)
        assert "line 2: rating '9' is not on the scale" in message
        assert "line 3: rating '9' is not on the scale" in message

    def test_an_unknown_card(self, refused, study):
        message = refused(study, "--model", "ordinal", "--model", "ordinal-interactions")
        assert "no such model card (did you mean 'ordinal-interaction'?)" in message

    def test_a_prior_that_the_second_card_does_not_have(self, refused, study):
        path = study.parent / "models" / "narrow.md"
        path.write_text(path.read_text().replace("sd_participant", "sd_person"))
        assert "[priors] has no 'sd_person'" in refused(study)

    def test_a_spread_that_is_fixed_and_asked_about(self, refused, study):
        path = study.parent / "models" / "narrow.md"
        path.write_text(path.read_text().replace("half_normal", "fixed"))
        message = refused(study)
        assert "[priors] sd_participant is fixed, so nothing is learned about a new participant" in message
        assert 'or [target] participants = "these"' in message

    def test_an_ordinal_card_on_cell_means(self, refused, tmp_path):
        (tmp_path / "study.toml").write_text(CELLS)
        rows = [f"q{q},{m},{20 + 3 * q + 5 * (m == 'A')}" for q in range(5) for m in "AB"]
        (tmp_path / "cells.csv").write_text("\n".join(["q,m,d", *rows]))
        message = refused(tmp_path / "study.toml", "--model", "ordinal")
        assert "card ordinal needs ratings, and this study has cell means: use cell-means" in message

    def test_a_left_out_term_that_no_card_has(self, refused, study):
        edit(study, old="[design]", new='[design]\nleave_out = ["model:question"]')
        message = refused(study, "--model", "ordinal")
        assert "[design] leave_out has model:question, which no card of this fit has" in message

    def test_a_term_that_the_design_cannot_tell(self, refused, study):
        edit_ratings(study, lambda table: table.assign(domain="one"))
        message = refused(study)
        assert "domain: " in message
        assert 'leave_out = ["domain", "model:domain"]' in message

    def test_a_posterior_of_other_inputs(self, refused, study, fitted, sound, tmp_path):
        out = tmp_path / "kept"
        out.mkdir()
        shutil.copy(fitted.posterior(), out)
        before = (out / "small-ordinal.nc").read_bytes()
        message = refused(study, "--model", "ordinal", "--draws", "40", *sound[2:], out=out)
        assert "holds the posterior of other inputs (settings differ" in message
        assert (out / "small-ordinal.nc").read_bytes() == before

    def test_of_the_second_card_leaves_nothing_of_the_first(self, refused, study, fitted, tmp_path):
        """Every refusal comes before any draw."""
        out = tmp_path / "kept"
        out.mkdir()
        shutil.copy(fitted.posterior("narrow"), out)
        message = refused(study, *FEW, out=out)
        assert "small-narrow.nc holds the posterior of other inputs" in message

    def test_a_file_where_the_folder_should_be(self, call, study, tmp_path):
        (tmp_path / "file").write_text("mine")
        done = call("fit", study, "--out", tmp_path / "file")
        assert done == type(done)(2, "", f"error: Not a directory: {tmp_path / 'file'}\n")

    def test_a_foreign_file_in_the_way(self, refused, study, tmp_path):
        out = tmp_path / "kept"
        out.mkdir()
        (out / "small-ordinal.nc").write_text("mine")
        assert "is in the way and is no readable posterior" in refused(study, out=out)

    @pytest.mark.parametrize("words", [("--draws", "3"), ("--chains", "1"), ("--target-accept", "1"), ("--tune", "x")])
    def test_settings_out_of_range(self, call, study, words):
        with pytest.raises(SystemExit) as ended:
            call("fit", study, *words)
        assert ended.value.code == 2


def test_replace_overwrites_a_posterior_of_other_inputs(call, fitted, study, tmp_path):
    shutil.copy(fitted.posterior(), tmp_path / "small-ordinal.nc")
    assert call("fit", study, "--model", "ordinal", *FEW, "--out", tmp_path, "--replace").status == 1
    assert read_posterior(tmp_path / "small-ordinal.nc")["posterior"].sizes["draw"] == 30


def declined(table):
    chosen = table.index.isin(table.index[table["system"] == "Claude"][:2])
    return table.assign(refused=np.where(chosen, "1", "0"), score=table["score"].where(~chosen, "1"))


class TestRefusals:
    """Two responses of Claude declined, coded as the lowest label and, beside, as missing."""

    @pytest.fixture(scope="class")
    @staticmethod
    def both(fitted, call, sound, tmp_path_factory):
        place = tmp_path_factory.mktemp("refusals") / "small"
        shutil.copytree(fitted.study.parent, place)
        edit_ratings(place / "study.toml", declined)
        return place, call("fit", place / "study.toml", "--model", "ordinal", "--out", place / "p", *sound)

    def test_json_has_the_comparison_that_is_printed(self, both, call):
        done = call("conclude", *sorted((both[0] / "p").glob("*.nc")), "--json")
        (sentence,) = done.json["compared"]
        assert sentence in " ".join(both[1].out.split())

    def test_both_codings_are_fitted(self, both):
        place, done = both
        assert done.status == 0
        assert {path.stem for path in (place / "p").glob("*.nc")} == {"small-ordinal", "small-ordinal-refusals-missing"}

    def test_the_declared_one_is_concluded_from(self, both):
        assert both[1].out.count("Probability of each rank") == 1
        assert "- Refusals: 2 counted as the lowest label, as declared." in both[1].out

    def test_the_other_one_is_compared(self, both):
        assert "- Refusals coded missing instead of lowest, card ordinal: deviations move by at most" in both[1].out

    def test_the_other_one_alone_says_that_it_is_not_declared(self, both, call):
        done = call("conclude", both[0] / "p" / "small-ordinal-refusals-missing.nc")
        assert done.out.startswith("small, card ordinal, refusals missing\n")
        assert "- Refusals: 2 left out, which is not the declared coding." in done.out

    def test_a_failed_check_of_the_other_one_is_said(self, both, call):
        place, _ = both
        words = ("fit", place / "study.toml", "--model", "ordinal", "--out", place / "few", *FEW)
        assert call(*words).status == 1
        done = call("conclude", place / "p" / "small-ordinal.nc", place / "few" / "small-ordinal-refusals-missing.nc")
        assert done.status == 1
        assert "small, card ordinal, refusals missing\n" in done.out
        assert "No conclusion is drawn" in done.out


def test_no_refusal_is_no_second_fit_and_no_remark(fitted):
    """The small study declares a column of refusals that holds none."""
    assert "Refusals" not in fitted.done.out


def test_an_interrupt_exits_130_and_leaves_no_file(study, tmp_path):
    """Draws for many minutes; the code is compiled by the time, for the fixture of other tests compiles it too."""
    out = tmp_path / "interrupted"
    words = ["fit", str(study), "--model", "ordinal", "--out", str(out), "--draws", "200000", "--target-accept", ".99"]
    process = subprocess.Popen(
        [sys.executable, "-m", "drift", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        assert any("compiled in" in line for line in process.stderr)
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert (stdout, stderr) == ("", "interrupted: nothing was written for the fit in progress\n")
    assert not out.exists()


def test_an_interrupt_that_a_finaliser_swallows_is_not_lost():
    code = (
        "import os, signal, sys, time\n"
        "from drift.command import run\n"
        "class Swallows:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(0.1)\n"
        "def action():\n"
        "    Swallows()\n"
        "    time.sleep(60)\n"
        "    return 0\n"
        "sys.exit(run(action))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=30)
    assert done.returncode == 130
    assert "KeyboardInterrupt" in done.stderr  # it was swallowed once
    assert done.stderr.endswith("interrupted: nothing was written for the fit in progress\n")


def test_help_answers_at_once():
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "drift.fit", "--help"], check=True, capture_output=True)
    assert time.perf_counter() - start < HELP_SECONDS


def test_help_imports_no_library():
    code = (
        "import contextlib, sys, drift.fit\n"
        "with contextlib.suppress(SystemExit): drift.fit.main(['--help'])\n"
        "print({'numpy', 'pandas', 'xarray', 'numba', 'pymc'} & {*sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr == "set()\n"
