"""Conclusions of one posterior of an ordinal scorer: mean deviation by arm, corrected contrasts, a card for each."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from drift.conclusions.contrast_card import plain
from drift.conclusions.contrast_numbers import UNKNOWN, estimate_pp, share
from drift.conclusions.contrast_parts import SensitivityPart
from drift.conclusions.contrast_sections import VERDICTS
from drift.conclusions.contrast_text import SIMULATED
from drift.conclusions.ordinal_card import OrdinalContrastCard, ordinal_cards
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

NOT_DECLARED = "The study declares no contrast, so nothing is decided."


@dataclass(frozen=True)
class OrdinalScorerConclusions:
    """`deviation` by arm, percent, `contrasts`, percentage points, and a card for each contrast.

    All are empty where a convergence check failed.
    """

    study: str
    title: str
    card: str
    simulated: bool
    target: str
    checks: tuple[Mapping[str, Any], ...]
    deviation: tuple[Mapping[str, Any], ...]
    contrasts: tuple[Mapping[str, Any], ...]
    cards: tuple[OrdinalContrastCard, ...]

    @property
    def withheld(self) -> bool:
        return not all(check["passed"] for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON takes it."""
        found: dict[str, Any] = plain(self)
        return found

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
        return "\n\n".join([*parts, *(map(_card, self.cards) if self.cards else [NOT_DECLARED])])


def _table(rows: tuple[Mapping[str, Any], ...]) -> str:
    return pd.DataFrame(rows).to_string(index=False, float_format="{:.2f}".format)


def _card(card: OrdinalContrastCard) -> str:
    """What was decided on a contrast and why, its gates, and the same under other assumptions."""
    decision = card.disposition.decision
    states = {True: "holds", False: "fails", None: "cannot be told"}
    lines = [
        f"{decision.upper()}: {VERDICTS[decision]}",
        *card.disposition.reasons,
        *(f"{gate.name} {states[gate.passed]}: {gate.reason}" for gate in card.gates),
        *card.remarks,
    ]
    changes = [f"what would change it: {change}" for change in card.disposition.changes]
    absent = f"not on this card: {'; '.join(card.not_here)}"
    rows = pd.DataFrame([_sensitivity(part) for part in card.sensitivity]).to_string(index=False)
    decided = "\n".join(map(bullet, [*lines, *changes, absent]))
    return f"{card.contrast}\n{decided}\n{textwrap.indent(rows, '  ')}"


def _sensitivity(part: SensitivityPart) -> dict[str, str]:
    return {
        "assumption": part.title,
        "corrected (pp)": estimate_pp(part.corrected_pp) if part.corrected_pp else "withheld: its checks failed",
        "P(sign)": UNKNOWN if part.sign_probability is None else share(part.sign_probability),
        "bias (pp)": estimate_pp(part.bias_pp) if part.bias_pp else UNKNOWN,
    }


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
        cards=ordinal_cards(tree, study) if good else (),
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
