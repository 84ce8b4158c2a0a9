"""The bundled studies, each fitted once with its own settings, and concluded from the files."""

import json
from pathlib import Path

import pytest

from drift.fit import main
from drift.inference.store import read_posterior


@pytest.fixture(scope="session")
def posteriors(tmp_path_factory):
    return tmp_path_factory.mktemp("bundled")


@pytest.fixture(scope="session")
def fit(posteriors):
    """Fit a bundled study through the command; returns the exit status."""

    def run(study: str) -> int:
        return main([study, "--out", str(posteriors), "--quiet", "--json"])

    return run


@pytest.fixture(scope="session")
def cells(fit, posteriors):
    assert fit("frontier-cells") == 0
    return read_posterior(posteriors / "frontier-cells-cell-means.nc")


@pytest.fixture(scope="session")
def ratings(fit, posteriors) -> dict[str, Path]:
    """The posteriors of the SIMULATED ratings by card, refusals as declared and the other way."""
    assert fit("frontier-ratings") == 0
    records = [json.loads(path.read_text(encoding="utf-8")) for path in posteriors.glob("frontier-ratings*.json")]
    return {
        record["file"].removeprefix("frontier-ratings-").removesuffix(".nc"): posteriors / record["file"]
        for record in records
    }
