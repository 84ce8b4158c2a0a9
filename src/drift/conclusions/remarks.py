"""What a reader must know beside the tables: each remark follows from the file, with its numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
import xarray as xr

from drift.data.declaration import Study, Weighting
from drift.estimands import deviation

CERTAIN = "it has no model x question term, so it takes all models to find the same questions hard"


def remarks(tree: xr.DataTree, study: Study, tables: Mapping[str, pd.DataFrame]) -> tuple[str, ...]:
    """Remarks on one posterior."""
    found = (
        _left_out(tree),
        _missing(tree),
        _refusals(tree, study),
        _held_fixed(tree, study),
        _interaction(tree, study),
        _weighting(tree, study),
        _straddling(tables),
    )
    return tuple(text for text in found if text)


def _left_out(tree: xr.DataTree) -> str:
    terms = json.loads(tree.attrs["left_out"])
    return f"Left out by declaration: {', '.join(terms)}." if terms else ""


def _missing(tree: xr.DataTree) -> str:
    count = int(tree["constant_data"].attrs.get("dropped_missing", 0))
    return f"Missing: {count} rows without a rating are left out, as declared." if count else ""


def _held_fixed(tree: xr.DataTree, study: Study) -> str:
    """A target of new participants or questions, of a card that says nothing about how they differ."""
    terms = json.loads(tree.attrs["terms"])
    new = {"participant": study.target.participants == "new", "question": study.target.questions == "new"}
    without = [factor for factor, wanted in new.items() if wanted and factor not in terms]
    if not without:
        return ""
    return (
        f"The target is new {' and new '.join(f'{factor}s' for factor in without)}, and this fit has no "
        f"{' and no '.join(without)} term: its intervals do not include how others would differ."
    )


def _refusals(tree: xr.DataTree, study: Study) -> str:
    if study.refusals is None or "refused" not in tree["constant_data"]:
        return ""
    declared = "as declared" if tree.attrs["other_coding"] == "false" else "which is not the declared coding"
    if tree.attrs["refusals"] == "lowest":
        count, coded = int(tree["constant_data"]["refused"].sum()), "counted as the lowest label"
    else:
        count, coded = int(tree["constant_data"].attrs["dropped_refused"]), "left out"
    return f"Refusals: {count} {coded}, {declared}." if count else ""


def _interaction(tree: xr.DataTree, study: Study) -> str:
    terms = json.loads(tree.attrs["terms"])
    if (
        study.target.questions == "these"
        or "model:question" in terms
        or "question" not in terms
        or "cutpoints" not in tree["posterior"]
    ):
        return ""
    return (
        f"The target is new questions and card {tree.attrs['card']} is too certain about them: {CERTAIN}. "
        "Read contrasts and equivalence from ordinal-interaction."
    )


def _weighting(tree: xr.DataTree, study: Study) -> str:
    if "domain" not in tree["constant_data"].coords:
        return ""
    other: Weighting = "domain" if study.target.weighting == "question" else "question"
    mine = deviation(tree, study.target).mean(("chain", "draw")).to_series().rank()
    theirs = deviation(tree, replace(study.target, weighting=other)).mean(("chain", "draw")).to_series().rank()
    changed = [
        f"{model} {mine[model]:.0f} -> {theirs[model]:.0f}" for model in mine.index if mine[model] != theirs[model]
    ]
    lead = f"Weighting every {other} equally instead of every {study.target.weighting} changes"
    return f"{lead} ranks of the means: {', '.join(changed)}." if changed else f"{lead} no rank of the means."


def _straddling(tables: Mapping[str, pd.DataFrame]) -> str:
    """Models that no tier holds with probability .95."""
    if "tiers" not in tables:
        return ""
    best = tables["tiers"].groupby("model", sort=False)["probability"].max()
    unsure = [f"{model} ({p:.2f})" for model, p in best.items() if p < 0.95]
    return f"No tier holds these with probability .95: {', '.join(unsure)}." if unsure else ""
