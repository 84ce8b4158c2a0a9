"""Posteriors on disk: complete or absent, readable without us, and never silently those of other inputs."""

import csv
import json
import math
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import h5netcdf
import h5py
import numpy as np
import pytest
import xarray as xr

from drift.command import run
from drift.errors import CorruptPosteriorError, PosteriorExistsError
from drift.inference.diagnostics import Check
from drift.inference.store import (
    GROUPS,
    SCHEMA,
    posterior_path,
    read_attributes,
    read_posterior,
    refuse_other_inputs,
    refuse_unwritable,
    write_index,
    write_posterior,
)

GONE = 2**22 + 1  # a process id above the largest that Linux gives
COUNT_INDEX_COLUMNS = 11
FAILED = Check("rhat", 1.3, 1.01, "sd_question", passed=False, advice="draw more")
STALLED = """\
import sys, time
from pathlib import Path
import xarray as xr
from drift.inference.store import read_posterior, write_posterior
tree = read_posterior(Path(sys.argv[1]))
def stall(self, path, **options):
    Path(path).write_bytes(b"half a file")
    print("writing", flush=True)
    time.sleep(60)
xr.DataTree.to_netcdf = stall
write_posterior(tree, Path(sys.argv[2]))
"""


@pytest.fixture
def path(make_tree, tmp_path):
    return write_posterior(make_tree(), tmp_path / "posteriors" / "tiny-ordinal.nc")


@pytest.fixture
def record(path):
    return json.loads(path.with_suffix(".json").read_text("utf-8"))


def index_rows(folder):
    with (folder / "index.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def change_root(path, **attrs):
    """Root attributes set, or removed where None."""
    with h5netcdf.File(path, "a") as file:
        for name, value in attrs.items():
            if value is None:
                del file.attrs[name]
            else:
                file.attrs[name] = value


class TestWhatIsKept:
    def test_the_groups(self, path):
        assert set(read_posterior(path).children) == set(GROUPS)

    def test_the_draws(self, path, make_tree):
        kept, made = (tree["posterior"].to_dataset() for tree in (read_posterior(path), make_tree()))
        xr.testing.assert_identical(kept, made)

    def test_draws_have_single_precision(self, path):
        assert read_posterior(path)["posterior"]["model_effect"].dtype == np.float32

    def test_the_data_as_coded(self, path):
        tree = read_posterior(path)
        assert tree["observed_data"]["rating"].values.tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
        assert tree["constant_data"]["model_index"].values.tolist() == [0, 1] * 6

    def test_a_row_keeps_its_line(self, path):
        assert read_posterior(path)["observed_data"]["row"].values.tolist() == list(range(2, 14))

    def test_labels_beyond_ascii(self, path):
        assert read_posterior(path)["posterior"]["model"].values.tolist() == ["A", "Ä"]

    def test_statistics_that_nobody_reads_are_not(self, path):
        assert set(read_posterior(path)["sample_stats"].data_vars) == {"diverging", "energy"}

    def test_the_declaration_whole(self, path, make_inputs):
        assert read_attributes(path)["study_toml"] == make_inputs().study_toml

    def test_attributes_of_memory_and_file_are_equal(self, path):
        assert read_posterior(path).attrs == read_attributes(path)

    @pytest.mark.parametrize("checks", [(FAILED,), ()])
    def test_checks_that_failed_or_were_not_made_have_not_passed(self, make_tree, checks):
        assert make_tree(checks=checks).attrs["checks_passed"] == "false"


class TestOtherReaders:
    def test_xarray(self, path):
        with xr.open_datatree(path) as tree:
            assert tree["posterior"]["sd_question"].shape == (2, 5)

    def test_arviz(self, path):
        """ArviZ 1.3 returns a DataTree of the groups."""
        import arviz

        tree = arviz.from_netcdf(path)
        assert isinstance(tree, xr.DataTree)
        assert arviz.summary(tree, var_names="sd_question", ci_prob=0.9, ci_kind="eti").shape[0] == 1

    def test_every_number_is_compressed(self, path):
        with h5netcdf.File(path, "r") as file:
            found = {
                f"{group}/{name}": variable.compression
                for group in GROUPS
                for name, variable in file[group].variables.items()
                if variable.ndim and variable.dtype.kind in "iuf"
            }
        assert set(found.values()) == {"gzip"}


class TestRecord:
    @pytest.mark.parametrize("name", ["study", "title", "card", "seed", "inputs_digest", "refusals", "created"])
    def test_says_what_the_file_says(self, path, record, name):
        assert record[name] == read_attributes(path)[name]

    @pytest.mark.parametrize(
        "name", ["terms", "left_out", "settings", "checks", "versions", "simulated", "other_coding"]
    )
    def test_has_lists_and_flags_as_such(self, path, record, name):
        assert record[name] == json.loads(read_attributes(path)[name])

    def test_counts(self, record):
        assert (record["rows"], record["draws"]) == (12, 10)

    def test_has_no_long_text(self, record):
        assert not {"study_toml", "card_text"} & set(record)

    def test_a_check_without_a_value_is_null(self, make_tree, tmp_path):
        """Strict JSON has no NaN; R-hat of draws that never move is one."""
        stuck = Check("rhat", math.nan, 1.01, "sd_question", passed=False, advice="draw more")
        path = write_posterior(make_tree(checks=(stuck,)), tmp_path / "stuck.nc")
        text = path.with_suffix(".json").read_text("utf-8")
        assert json.loads(text, parse_constant=pytest.fail)["checks"][0]["value"] is None


class TestIndex:
    def test_has_a_line_a_posterior_sorted_by_file(self, path, make_tree):
        for name in ("zz.nc", "aa.nc"):
            write_posterior(make_tree(), path.with_name(name))
        assert [row["file"] for row in index_rows(path.parent)] == ["aa.nc", "tiny-ordinal.nc", "zz.nc"]

    def test_says_what_the_record_says(self, path, record):
        (row,) = index_rows(path.parent)
        assert len(row) == COUNT_INDEX_COLUMNS
        assert row == {name: str(record[name]) for name in row}

    def test_forgets_a_record_that_is_gone(self, path, make_tree):
        path.with_suffix(".json").unlink()
        write_posterior(make_tree(), path.with_name("aa.nc"))
        assert [row["file"] for row in index_rows(path.parent)] == ["aa.nc"]

    @pytest.mark.parametrize("text", ["[1, 2]", '{"a": 1}', "no JSON", "", "\ufffe"])
    def test_passes_over_foreign_files(self, path, text):
        (path.parent / "foreign.json").write_text(text, encoding="utf-16")
        (path.parent / "other.json").write_text(text, encoding="utf-8")
        write_index(path.parent)
        assert [row["file"] for row in index_rows(path.parent)] == ["tiny-ordinal.nc"]


class TestOtherInputs:
    def test_nothing_there_is_no_refusal(self, make_inputs, tmp_path):
        refuse_other_inputs(tmp_path / "absent.nc", make_inputs(), replace=False)

    def test_equal_inputs_pass(self, path, make_inputs):
        refuse_other_inputs(path, make_inputs(), replace=False)

    def test_a_new_title_of_the_package_is_no_input(self, path, make_inputs):
        """Digests count, not the texts that are stored for readers."""
        refuse_other_inputs(path, make_inputs(card_text="+++\n+++\nnew prose"), replace=False)

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            ({"study_digest": "x"}, "study file"),
            ({"data_digest": "x"}, "data file"),
            ({"card_digest": "x"}, "card"),
            ({"seed": 1}, "seed"),
            ({"settings": {"draws": 6}}, "settings"),
            ({"data_digest": "x", "seed": 1}, "data file, seed"),
        ],
    )
    def test_what_differs_is_named(self, path, make_inputs, change, named):
        with pytest.raises(PosteriorExistsError, match=rf"other inputs \({named} differ"):
            refuse_other_inputs(path, make_inputs(**change), replace=False)

    def test_the_message_says_what_to_write(self, path, make_inputs):
        with pytest.raises(PosteriorExistsError, match=r"pass --replace to overwrite it, or --out FOLDER"):
            refuse_other_inputs(path, make_inputs(seed=1), replace=False)

    def test_replace_passes(self, path, make_inputs):
        refuse_other_inputs(path, make_inputs(seed=1), replace=True)

    def test_a_posterior_whose_checks_failed_is_in_nobodys_way(self, make_tree, make_inputs, tmp_path):
        """Nothing was concluded from it, and its advice is to draw again with other settings."""
        path = write_posterior(make_tree(checks=(FAILED,)), tmp_path / "failed.nc")
        refuse_other_inputs(path, make_inputs(settings={"draws": 6}), replace=False)

    def test_an_unreadable_file_is_not_overwritten(self, make_inputs, tmp_path):
        (tmp_path / "notes.nc").write_text("mine")
        with pytest.raises(PosteriorExistsError, match="is in the way and is no readable posterior"):
            refuse_other_inputs(tmp_path / "notes.nc", make_inputs(), replace=False)

    def test_refusals_coded_the_other_way_have_a_name_of_their_own(self, make_inputs):
        other = make_inputs(refusals="missing", other_coding=True)
        assert posterior_path(Path("p"), other) == Path("p/tiny-ordinal-refusals-missing.nc")


class TestDamage:
    @pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999])
    def test_a_file_cut_short(self, path, share):
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
        with pytest.raises(CorruptPosteriorError, match=r"damaged"):
            read_posterior(path)

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of h5netcdf: it closes what it
    @pytest.mark.parametrize("seed", range(30))  # could not open once more, when it is collected
    def test_overwritten_bytes_raise_nothing_else(self, path, seed):
        """64 random bytes in a row: they may hit nothing that is read."""
        content, rng = bytearray(path.read_bytes()), np.random.default_rng(seed)
        place = int(rng.integers(len(content) - 64))
        content[place : place + 64] = rng.bytes(64)
        path.write_bytes(content)
        with suppress(CorruptPosteriorError):
            read_posterior(path)

    def test_a_text_file(self, tmp_path):
        (tmp_path / "a.nc").write_text("model,rating\n")
        with pytest.raises(CorruptPosteriorError, match="damaged or no NetCDF file"):
            read_posterior(tmp_path / "a.nc")

    def test_no_file(self, tmp_path):
        with pytest.raises(CorruptPosteriorError, match="there is no such file"):
            read_posterior(tmp_path / "a.nc")

    def test_a_folder(self, tmp_path):
        with pytest.raises(CorruptPosteriorError, match="damaged or no NetCDF file"):
            read_posterior(tmp_path)

    def test_a_foreign_netcdf_file(self, tmp_path):
        xr.Dataset({"x": ("y", [1.0])}).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
        with pytest.raises(CorruptPosteriorError, match="was not written by drift"):
            read_posterior(tmp_path / "a.nc")

    @pytest.mark.parametrize("schema", [SCHEMA + 1, "two", 1.5])
    def test_a_newer_schema(self, path, schema):
        change_root(path, drift_schema=schema)
        with pytest.raises(CorruptPosteriorError, match=rf"newer drift \(schema {schema}; this one reads {SCHEMA}\)"):
            read_posterior(path)

    def test_a_missing_attribute(self, path):
        change_root(path, study_toml=None)
        with pytest.raises(CorruptPosteriorError, match="lacks the attribute study_toml: make it again"):
            read_posterior(path)

    @pytest.mark.parametrize("change", [{"study_toml": "title = 'other'\n"}, {"study_digest": "1" * 64}])
    def test_a_study_changed_after_the_fit(self, path, change):
        change_root(path, **change)
        with pytest.raises(CorruptPosteriorError, match=r"the study in .* was changed after the fit: make it again"):
            read_posterior(path)

    @pytest.mark.parametrize("change", [{"checks_passed": "false"}, {"checks": "[]"}])
    def test_checks_changed_after_the_fit(self, path, change):
        change_root(path, **change)
        with pytest.raises(CorruptPosteriorError, match=r"the checks in .* were changed after the fit: make it again"):
            read_posterior(path)

    def test_a_list_that_is_no_json(self, path):
        change_root(path, terms="question, participant")
        with pytest.raises(CorruptPosteriorError, match="attributes are no JSON"):
            read_posterior(path)

    def test_lost_draws(self, path):
        with h5py.File(path, "a") as file:
            del file["posterior/sd_question"]
        with pytest.raises(CorruptPosteriorError, match="has lost the draws of sd_question: make it again"):
            read_posterior(path)

    def test_a_missing_group(self, path):
        with h5py.File(path, "a") as file:
            del file["observed_data"]
        with pytest.raises(CorruptPosteriorError, match="lacks the group observed_data: make it again"):
            read_posterior(path)


class TestInterruptedWriting:
    def test_an_error_leaves_no_file(self, make_tree, tmp_path, monkeypatch):
        def fail(_self, path, **_options):
            Path(path).write_bytes(b"half a file")
            raise OSError("No space left on device")

        monkeypatch.setattr(xr.DataTree, "to_netcdf", fail)
        with pytest.raises(OSError, match="No space left"):
            write_posterior(make_tree(), tmp_path / "a.nc")
        assert list(tmp_path.iterdir()) == []

    def test_an_error_leaves_the_posterior_that_was_there(self, path, make_tree, monkeypatch):
        def fail(*_arguments, **_options):
            raise KeyboardInterrupt

        before = path.read_bytes()
        monkeypatch.setattr(xr.DataTree, "to_netcdf", fail)
        with pytest.raises(KeyboardInterrupt):
            write_posterior(make_tree(), path)
        assert path.read_bytes() == before

    def test_a_killed_process_leaves_a_part_and_the_next_write_removes_it(self, path, make_tree, tmp_path):
        target = tmp_path / "killed" / "a.nc"
        words = [sys.executable, "-c", STALLED, str(path), str(target)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "writing\n"
            process.kill()
        assert [part.name for part in target.parent.iterdir()] == [f".a.nc.{process.pid}.part"]
        write_posterior(make_tree(), target.with_name("b.nc"))
        assert {part.name for part in target.parent.iterdir()} == {"b.nc", "b.json", "index.csv"}

    def test_the_part_of_a_running_process_is_kept(self, path, make_tree):
        """Process 1 runs always."""
        kept, orphan = (path.with_name(f".other.nc.{pid}.part") for pid in (1, GONE))
        kept.write_bytes(b"half a file")
        orphan.write_bytes(b"half a file")
        write_posterior(make_tree(), path)
        assert (kept.exists(), orphan.exists()) == (True, False)


class TestNowhereToWrite:
    def test_a_file_in_the_way_is_one_line_and_exit_2(self, make_tree, tmp_path, capsys):
        (tmp_path / "posteriors").write_text("a file")
        assert run(lambda: len(str(write_posterior(make_tree(), tmp_path / "posteriors" / "a.nc")))) == 2
        assert capsys.readouterr() == ("", f"error: File exists: {tmp_path / 'posteriors'}\n")

    def test_it_is_found_before_anything_is_drawn(self, tmp_path):
        (tmp_path / "posteriors").write_text("a file")
        with pytest.raises(NotADirectoryError):
            refuse_unwritable(tmp_path / "posteriors" / "deeper")

    def test_a_folder_that_does_not_exist_yet_is_fine(self, tmp_path):
        refuse_unwritable(tmp_path / "new" / "newer")
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_without_permission(self, tmp_path, monkeypatch):
        """Root may write anywhere, so the system's answer is replaced."""
        monkeypatch.setattr("os.access", lambda *_arguments: False)
        with pytest.raises(PermissionError):
            refuse_unwritable(tmp_path)
