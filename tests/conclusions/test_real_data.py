"""Real data that nobody here wrote, in their own column names: what must hold, and what must be refused."""

import json
import resource
import subprocess
import sys

import pytest

from drift.fit import main
from drift.inference.store import read_posterior

HANNA_ORDER = (  # systems by mean Relevance, best first: data README
    *("Human", "GPT-2", "GPT-2 (tag)", "RoBERTa", "CTRL", "TD-VAE"),
    *("BertGeneration", "GPT", "XLNet", "HINT", "Fusion"),
)
pytestmark = pytest.mark.timeout(600)  # each test fits, after compiling where the cache is cold

MOST_MEMORY_KB = 4 * 2**20
HANNA = """\
title = "HANNA, Relevance"
ratings = "{data}/hanna/ratings.csv"
models = ["ordinal"]
seed = 1
[where]
criterion = "Relevance"
[columns]
participant = "rater_slot"
question = "prompt"
model = "system"
rating = "rating"
[scale]
labels = [1, 2, 3, 4, 5]
[design]
participants_are = "slots"
leave_out = [{left_out}]
"""
JUDGE = """\
title = "HiBayES judge example, q1"
ratings = "{data}/hibayes_judge/q1.csv"
models = ["ordinal"]
seed = 1
[columns]
participant = "grader"
model = "LLM"
rating = "score"
[design]
leave_out = ["domain", "model:domain", "question"]
repeats = "allowed"
[scale]
labels = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
"""
INSTEVAL = """\
title = "InstEval"
ratings = "{data}/r_ordinal/InstEval.csv"
models = ["ordinal"]
seed = 1
[columns]
participant = "s"
question = "d"
model = "service"
rating = "y"
[design]
leave_out = ["domain", "model:domain"]
[scale]
labels = [1, 2, 3, 4, 5]
"""


@pytest.fixture
def study(shared_data, tmp_path):
    def write(name, text, **values):
        path = tmp_path / f"{name}.toml"
        path.write_text(text.format(data=shared_data.resolve(), **values), encoding="utf-8")
        return path

    return write


def fitted(path, *options):
    out = path.parent / "posteriors"
    return main([str(path), "--out", str(out), "--quiet", "--json", *options]), out / f"{path.stem}-ordinal.nc"


def test_a_slot_is_no_participant(study, capsys):
    path = study("hanna", HANNA, left_out='"domain", "model:domain"')
    assert main([str(path), "--out", str(path.parent / "posteriors")]) == 2
    said = capsys.readouterr().err
    assert "participant: participants are declared slots, so one name stands for several persons" in said
    assert 'leave_out = ["domain", "model:domain", "participant"]' in said
    assert not (path.parent / "posteriors").exists()


def test_hanna_ranks_the_human_first(study, capsys):
    status, _ = fitted(study("hanna", HANNA, left_out='"domain", "model:domain", "participant"'))
    tables = json.loads(capsys.readouterr().out)["conclusions"][0]["tables"]
    assert status == 0
    best = {row["model"]: row["best"] for row in tables["ranks"]}
    assert best["Human"] > 0.999
    assert tuple(row["model"] for row in tables["deviation"]) == HANNA_ORDER


def test_six_labels_that_nobody_used_are_kept(study, capsys):
    status, path = fitted(study("judge", JUDGE))
    share = read_posterior(path)["posterior"]["label_share"]
    assert status == 0
    assert capsys.readouterr().out
    assert share.sizes["label"] == 11
    unused = share.sel(label=["0", "1", "2", "3", "9", "10"]).mean(("chain", "draw"))
    assert ((unused > 0) & (unused < 0.02)).all()


@pytest.mark.slow
def test_insteval_fits_in_bounded_memory(study):
    path = study("insteval", INSTEVAL)
    command = [sys.executable, "-m", "drift.fit", str(path), "--out", str(path.parent / "posteriors"), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < MOST_MEMORY_KB
