"""A posterior of two models, three questions and a dozen ratings, built by hand."""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

from drift.inference.diagnostics import Check
from drift.inference.store import Inputs, assemble

STUDY = "title = 'tiny'\n"
PASSED = Check("rhat", 1.004, 1.01, "sd_question", passed=True, advice="")


def inputs_of(**changes: Any) -> Inputs:
    given = {
        "study": "tiny",
        "title": "[SIMULATED] a title that begins like a list",
        "study_toml": STUDY,
        "study_digest": hashlib.sha256(STUDY.encode()).hexdigest(),
        "data_source": "ratings.csv",
        "data_digest": "2" * 64,
        "simulated": True,
        "card": "ordinal",
        "card_text": "+++\nbuilder = 'ordinal'\n+++\n",
        "card_digest": "3" * 64,
        "kind": "ratings",
        "terms": ("question",),
        "left_out": ("participant",),
        "refusals": "",
        "other_coding": False,
        "seed": 20260724,
        "settings": {"draws": 5, "tune": 50, "chains": 2, "target_accept": 0.8},
    }
    return Inputs(**given | changes)


def tree_of(inputs: Inputs | None = None, checks: tuple[Check, ...] = (PASSED,)) -> xr.DataTree:
    rng = np.random.default_rng(1)
    sample = {"chain": [0, 1], "draw": np.arange(5)}
    levels = {"model": ["A", "Ä"], "question": ["Q1", "Q2", "Q3"]}
    posterior = xr.Dataset(
        {
            "model_effect": (("chain", "draw", "model"), rng.normal(size=(2, 5, 2))),
            "sd_question": (("chain", "draw"), rng.random((2, 5))),
        },
        {**sample, "model": levels["model"]},
    )
    stats = xr.Dataset(
        {
            "diverging": (("chain", "draw"), np.zeros((2, 5), bool)),
            "energy": (("chain", "draw"), rng.normal(size=(2, 5))),
            "unwanted": (("chain", "draw"), rng.normal(size=(2, 5))),
        },
        sample,
    )
    data = xr.Dataset(
        {
            "rating": ("row", np.arange(12) % 5),
            "model_index": ("row", np.arange(12) % 2),
            "question_index": ("row", np.arange(12) % 3),
        },
        {**levels, "label": ["1", "2", "3", "4", "5"], "row": np.arange(2, 14)},
    )
    draws = xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats})
    return assemble(draws, data, inputs or inputs_of(), [check.as_dict() for check in checks])


@pytest.fixture
def make_inputs() -> Callable[..., Inputs]:
    return inputs_of


@pytest.fixture
def make_tree() -> Callable[..., xr.DataTree]:
    return tree_of
