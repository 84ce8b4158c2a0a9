"""The benchmark: its peers are the same model, and its page says what was measured. Nothing here is timed."""

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from drift.data.simulate import simulate
from drift.inference.compiled import pack

SCRIPTS = Path(__file__).parents[2] / "scripts"
SAME = 1e-9  # relative: two orders of summation of a few hundred terms
RESULTS = {
    "machine": dict.fromkeys(("processor", "memory", "python", "packages", "date"), "x"),
    "ours": {"gradient_us": 50.0, "ess_per_s": 900.0},
    "stock": {"gradient_us": 1500.0, "ess_per_s": 20.0},
    "bambi": {"unfinished": "not finished in 500 s"},
}


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    return importlib.import_module


def test_help_names_the_page():
    done = subprocess.run(
        [sys.executable, SCRIPTS / "benchmark.py", "--help"], capture_output=True, text=True, check=True
    )
    assert "docs/benchmark.md" in done.stdout


def test_ratios_come_first(script):
    text = script("benchmark_page").page(RESULTS)
    assert "- gradients a second: 30.0 times same model, `pm.OrderedLogistic`, nutpie" in text
    assert "- effective draws a second of sampling: 45 times same model, `pm.OrderedLogistic`, nutpie" in text
    assert "not finished in 500 s" in text


def test_the_stock_twin_has_our_density(script, tmp_path):
    """On SIMULATED ratings of 3 models x 6 questions x 5 participants, at one point of the sampler's coordinates."""
    peers = script("benchmark_peers")
    made = simulate("Radd", 5, 6, 3, 1, effects="normal")
    made.table.to_csv(tmp_path / "ratings.csv", index=False)
    ratings = peers.read_ratings(peers._study(tmp_path))
    frame = peers.our_frame(ratings)
    ours, model = peers.our_model(frame), peers.stock_model(ratings)
    point = ours.center + 0.3 * np.random.default_rng(1).normal(size=ours.center.size)
    out, value = np.empty(point.size), np.empty(1)
    words = pack(frame.arrays, ours.inputs)
    call = peers.C_DENSITY(ours.log_density.address)
    assert call(point.size, *(array.ctypes.data for array in (point, out, value, words))) == 0
    start, sizes = model.initial_point(), np.cumsum([v.size for v in model.initial_point().values()])
    parts = np.split(point, sizes[:-1])
    named = {name: part.reshape(start[name].shape) for name, part in zip(start, parts, strict=True)}
    assert value[0] == pytest.approx(float(model.compile_logp()(named)), rel=SAME)
