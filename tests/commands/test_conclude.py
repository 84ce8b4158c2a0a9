"""`drift conclude`: the same numbers in every form of output, from the file alone."""

import json
import shutil
import subprocess
import sys

import pandas as pd
import pytest

MODELS = ["Claude", "Gemini", "Llama"]
CARDS = ("ordinal", "narrow")
PRINTED = 0.5e-2  # half a unit of the second decimal


@pytest.fixture(scope="module")
def both_forms(call, fitted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("csv") / "tables"
    done = call("conclude", *(fitted.posterior(card) for card in CARDS), "--json", "--csv", folder)
    assert (done.status, done.err) == (0, "")
    return done.json, folder


@pytest.fixture(scope="module")
def as_json(both_forms):
    return both_forms[0]


@pytest.fixture(scope="module")
def csv(both_forms):
    return both_forms[1]


def printed(text, title):
    """Rows of the first table under a title, as lists of words."""
    lines = text[text.index(title) :].splitlines()[1:]
    return [line.split() for line in lines[: lines.index("")]]


def test_the_files_alone_give_the_bytes_that_the_fit_printed(fitted, tmp_path):
    """In a new process, in a folder with nothing else, under other names."""
    copies = [shutil.copy(fitted.posterior(card), tmp_path / f"{place}.nc") for place, card in enumerate(CARDS)]
    words = [sys.executable, "-m", "drift.conclude", *copies]
    done = subprocess.run(words, check=True, capture_output=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (fitted.done.out.encode(), b"")


class TestEveryForm:
    @pytest.mark.parametrize("card", CARDS)
    def test_csv_has_the_tables_of_json(self, as_json, csv, card):
        (found,) = [c for c in as_json["conclusions"] if c["card"] == card]
        assert {path.stem for path in (csv / f"small-{card}").iterdir()} == set(found["tables"])

    @pytest.mark.parametrize("name", ["deviation", "tiers", "ranks", "equivalence", "joint_equivalence", "contrasts"])
    def test_csv_has_the_numbers_of_json(self, as_json, csv, name):
        """JSON is written with 10 decimals."""
        records = pd.DataFrame(as_json["conclusions"][0]["tables"][name])
        table = pd.read_csv(csv / "small-ordinal" / f"{name}.csv")
        pd.testing.assert_frame_equal(table, records, check_dtype=False, atol=1e-9, rtol=0)

    def test_text_has_the_deviations_of_json(self, as_json, fitted):
        rows = printed(fitted.done.out, "Deviation (percent")[1:]
        table = {row["model"]: row for row in as_json["conclusions"][0]["tables"]["deviation"]}
        for model, *numbers in rows:
            expected = [table[model][name] for name in ("mean", "sd", "lower", "upper")]
            assert [float(number) for number in numbers[:4]] == pytest.approx(expected, abs=PRINTED)

    def test_text_has_the_contrasts_of_json(self, as_json, fitted):
        row = as_json["conclusions"][0]["tables"]["contrasts"][0]
        words = printed(fitted.done.out, "Contrasts (")[1]
        assert [float(word) for word in words[4:7]] == pytest.approx(
            [row[name] for name in ("mean", "lower", "upper")], abs=PRINTED
        )

    def test_remarks_are_the_same(self, as_json, fitted):
        text = " ".join(fitted.done.out.split())
        assert all(remark in text for found in as_json["conclusions"] for remark in found["remarks"])

    @pytest.mark.parametrize("card", CARDS)
    def test_simulated_data_are_labelled(self, as_json, fitted, card):
        (found,) = [c for c in as_json["conclusions"] if c["card"] == card]
        record = json.loads(fitted.posterior(card).with_suffix(".json").read_text())
        assert (found["simulated"], record["simulated"]) == (True, True)


class TestBadInput:
    def test_a_damaged_file_is_one_line(self, call, fitted, tmp_path):
        (tmp_path / "cut.nc").write_bytes(fitted.posterior().read_bytes()[:5000])
        done = call("conclude", fitted.posterior(), tmp_path / "cut.nc")
        assert (done.status, done.out) == (2, "")
        assert done.err == f"error: {tmp_path / 'cut.nc'} cannot be read: it is damaged or no NetCDF file\n"

    def test_no_file_is_one_line(self, call, tmp_path):
        done = call("conclude", tmp_path / "none.nc")
        assert (done.status, done.out) == (2, "")
        assert done.err == f"error: {tmp_path / 'none.nc'} cannot be read: there is no such file\n"

    def test_a_file_where_the_tables_should_be(self, call, fitted, tmp_path):
        (tmp_path / "tables").write_text("mine")
        done = call("conclude", fitted.posterior(), "--csv", tmp_path / "tables")
        assert (done.status, done.out) == (2, "")
        assert done.err.count("\n") == 1
