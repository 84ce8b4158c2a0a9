"""What a reader must know beside the tables: each remark follows from the file, with its numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
        _refusals(tree, study),
        _interaction(tree, study),
        _weighting(tree, study),
        _straddling(tables),
    )
    return tuple(text for text in found if text)


def _left_out(tree: xr.DataTree) -> str:
    terms = json.loads(tree.attrs["left_out"])
    return f"Left out by declaration: {', '.join(terms)}." if terms else ""


def _refusals(tree: xr.DataTree, study: Study) -> str:
    data = tree["constant_data"].attrs
    if study.refusals is None:
        return ""
    refused = int(tree["constant_data"]["refused"].sum()) if "refused" in tree["constant_data"] else 0
    dropped = int(data.get("dropped_refused", 0))
    done = f"{refused} counted as the lowest label" if study.refusals.coding == "lowest" else f"{dropped} left out"
    return f"Refusals: {done}, as declared."


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
    if not changed:
        return (
            f"Weighting every {other} equally instead of every {study.target.weighting} changes no rank of the means."
        )
    return f"Weighting every {other} equally instead of every {study.target.weighting} changes ranks of the means: {', '.join(changed)}."


def _straddling(tables: Mapping[str, pd.DataFrame]) -> str:
    """Models that no tier holds with probability .95."""
    if "tiers" not in tables:
        return ""
    best = tables["tiers"].groupby("model", sort=False)["probability"].max()
    unsure = [f"{model} ({p:.2f})" for model, p in best.items() if p < 0.95]
    return f"No tier holds these with probability .95: {', '.join(unsure)}." if unsure else ""


def compare_cards(trees: Sequence[xr.DataTree], contrasts: Mapping[str, pd.DataFrame]) -> tuple[str, ...]:
    """Sentences on how the cards of one study differ in the intervals of its contrasts for new questions.

    contrasts: card -> its table of contrasts. Said for every contrast without a domain, of cards that differ in the
    model x question term.
    """
    with_term = [card for card in contrasts if "model:question" in _terms(trees, card)]
    without = [
        card
        for card in contrasts
        if "question" in _terms(trees, card) and card not in with_term and card.startswith("ordinal")
    ]
    found = []
    for rich in with_term:
        for plain in without:
            for name in contrasts[rich]["contrast"].unique():
                wide, narrow = (_width(contrasts[card], name) for card in (rich, plain))
                found.append(
                    f"{name}, new questions: the interval is {wide / narrow:.1f} times as wide under {rich} ({wide:.1f} pp) as under "
                    f"{plain} ({narrow:.1f} pp). {plain} is too certain: {CERTAIN}."
                )
    return tuple(found)


def _terms(trees: Sequence[xr.DataTree], card: str) -> list[str]:
    return next(json.loads(tree.attrs["terms"]) for tree in trees if tree.attrs["card"] == card)


def _width(table: pd.DataFrame, name: str) -> float:
    row = table[(table["contrast"] == name) & (table["questions"] == "new")].iloc[0]
    return float(row["upper"] - row["lower"])
