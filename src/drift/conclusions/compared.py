"""Posteriors of one study side by side: cards with and without a model x question term, refusals coded both ways."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import xarray as xr

from drift.conclusions.ratings import CI_KIND, CI_PROB, knows_new_questions, stored_study
from drift.conclusions.remarks import CERTAIN
from drift.data.declaration import Study
from drift.estimands import contrast_draws, contrast_table, deviation

WIDER = 1.1  # ratio of interval widths above which it is no Monte Carlo error


def compared(trees: Sequence[xr.DataTree]) -> tuple[str, ...]:
    """A sentence for each comparison that the posteriors allow. One whose checks failed is compared with nothing."""
    sound = [tree for tree in trees if tree.attrs["checks_passed"] == "true"]
    found: list[str] = []
    for one, two in combinations(sound, 2):
        if (
            one.attrs["study_digest"] == two.attrs["study_digest"]
            and one.attrs["data_digest"] == two.attrs["data_digest"]
        ):
            found += _pair(one, two, stored_study(one))
    return tuple(found)


def _pair(one: xr.DataTree, two: xr.DataTree, study: Study) -> list[str]:
    same_card = one.attrs["card"] == two.attrs["card"]
    if same_card and one.attrs["other_coding"] != two.attrs["other_coding"]:
        declared, other = (one, two) if one.attrs["other_coding"] == "false" else (two, one)
        return [_refusals(declared, other, study)]
    terms = [json.loads(tree.attrs["terms"]) for tree in (one, two)]
    has_term = ["model:question" in names for names in terms]
    both_plain = one.attrs["other_coding"] == two.attrs["other_coding"] == "false"
    if both_plain and has_term[0] != has_term[1] and all("participant" in names for names in terms):
        plain, rich = (one, two) if has_term[1] else (two, one)
        return _interaction(plain, rich, study)
    return []


def _interaction(plain: xr.DataTree, rich: xr.DataTree, study: Study) -> list[str]:
    """How much wider each contrast's interval for new questions is with the model x question term."""
    if not study.contrasts or not all(map(knows_new_questions, (plain, rich))):
        return []
    narrow, wide = (_widths(tree, study) for tree in (plain, rich))
    names = plain.attrs["card"], rich.attrs["card"]
    return [
        f"{contrast.name}, new questions: the interval is {b / a:.1f} times as wide under {names[1]} ({b:.1f} pp) as "
        f"under {names[0]} ({a:.1f} pp).{f' {names[0]} is too certain: {CERTAIN}.' if b > WIDER * a else ''}"
        for contrast, a, b in zip(study.contrasts, narrow, wide, strict=True)
    ]


def _widths(tree: xr.DataTree, study: Study) -> list[float]:
    """Width of the interval of each contrast, pp, for new questions."""
    draws = contrast_draws(tree, replace(study.target, questions="new"), study.contrasts)
    table = contrast_table(draws, ci_prob=CI_PROB, ci_kind=CI_KIND)
    return [float(width) for width in (table["upper"] - table["lower"]).values]


def _refusals(declared: xr.DataTree, other: xr.DataTree, study: Study) -> str:
    """How far the deviations of one card move when refusals are coded the other way."""
    one, two = (deviation(tree, study.target).mean(("chain", "draw")).to_series() for tree in (declared, other))
    model = str((two - one).abs().idxmax())
    moved = [name for name in one.index if one.rank()[name] != two.rank()[name]]
    order = f"ranks of the means change for {', '.join(moved)}" if moved else "no rank of the means changes"
    return (
        f"Refusals coded {other.attrs['refusals']} instead of {declared.attrs['refusals']}, card "
        f"{declared.attrs['card']}: deviations move by at most {abs(two[model] - one[model]):.2f} pp ({model} "
        f"{one[model]:.1f} -> {two[model]:.1f}), and {order}."
    )
