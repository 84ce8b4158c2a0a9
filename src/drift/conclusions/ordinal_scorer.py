"""Conclusions of one posterior of an ordinal scorer: corrected mean deviation by arm and corrected contrasts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from drift.conclusions.contrast_text import SIMULATED
from drift.conclusions.ratings import CI_PROB
from drift.conclusions.scorer import stored_scorer_study
from drift.conclusions.text import bullet
from drift.data.scorer_declaration import ScorerStudy
from drift.estimands.ordinal_scorer import (
    automatic_deviation,
    deviation_contrasts,
    mean_deviation,
    ordinal_scored,
    within_tolerance,
)
from drift.estimands.summary import summarise

DECIDES = "Gates and dispositions are defined for labels 0 and 1; what is printed here decides nothing by itself."


@dataclass(frozen=True)
class OrdinalScorerConclusions:
    """`deviation` by arm, percent, and `contrasts`, percentage points; empty where a convergence check failed."""

    study: str
    title: str
    card: str
    simulated: bool
    target: str
    checks: tuple[Mapping[str, Any], ...]
    deviation: tuple[Mapping[str, Any], ...]
    contrasts: tuple[Mapping[str, Any], ...]

    @property
    def withheld(self) -> bool:
        return not all(check["passed"] for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def as_text(self) -> str:
        head = [f"{self.study}, card {self.card}", self.title, *([SIMULATED] if self.simulated else [])]
        if self.withheld:
            failed = [bullet(f"{check['name']}: {check['advice']}") for check in self.checks if not check["passed"]]
            return "\n".join([*head, "", "No conclusion is drawn: convergence checks failed.", *failed])
        parts = ["\n".join([*head, f"target: {self.target}"])]
        interval = f"{CI_PROB:.0%} interval"
        parts.append(f"Mean deviation by arm (percent; {interval})\n{_table(self.deviation)}")
        if self.contrasts:
            title = f"Contrasts (percentage points; {interval}; positive = the treatment is worse)"
            parts.append(f"{title}\n{_table(self.contrasts)}")
        return "\n\n".join([*parts, DECIDES])


def _table(rows: tuple[Mapping[str, Any], ...]) -> str:
    return pd.DataFrame(rows).to_string(index=False, float_format="{:.2f}".format)


def conclude_ordinal_scorer(tree: xr.DataTree) -> OrdinalScorerConclusions:
    """The tables of a stored posterior; none where its checks failed."""
    study, good = stored_scorer_study(tree), tree.attrs["checks_passed"] == "true"
    return OrdinalScorerConclusions(
        study=study.name,
        title=study.title,
        card=tree.attrs["card"],
        simulated=study.simulated,
        target=study.target.prevalence,
        checks=tuple(json.loads(tree.attrs["checks"])),
        deviation=_deviation(tree, study) if good else (),
        contrasts=_contrasts(tree, study) if good and study.contrasts else (),
    )


def _deviation(tree: xr.DataTree, study: ScorerStudy) -> tuple[dict[str, Any], ...]:
    found = ordinal_scored(tree)
    table = summarise(mean_deviation(found, study.target), ci_prob=CI_PROB, ci_kind="eti")
    automatic = automatic_deviation(found, study.target).mean(["chain", "draw"])
    return tuple(
        {"arm": str(arm), "automatic": float(automatic.sel(arm=arm)), **_numbers(table.sel(arm=arm))}
        for arm in table["arm"].values
    )


def _contrasts(tree: xr.DataTree, study: ScorerStudy) -> tuple[dict[str, Any], ...]:
    draws = deviation_contrasts(ordinal_scored(tree), study.target, study.contrasts)
    table = summarise(draws["corrected"], ci_prob=CI_PROB, ci_kind="eti")
    inside = within_tolerance(draws, study.contrasts)["probability"]
    rows = []
    for place, contrast in enumerate(study.contrasts):
        one = draws.isel(contrast=place)
        row = {"contrast": contrast.name, "automatic": float(one["automatic"].mean())}
        row |= _numbers(table.isel(contrast=place)) | {"P(> 0)": float(np.mean(one["corrected"].values > 0.0))}
        rows.append(row | {f"P(|bias| < {contrast.tolerance_pp:g})": float(inside.isel(contrast=place))})
    return tuple(rows)


def _numbers(row: xr.Dataset) -> dict[str, float]:
    names = {"corrected": "mean", "lower": "lower", "upper": "upper", "mcse": "mcse_mean"}
    return {label: float(row[name]) for label, name in names.items()}
