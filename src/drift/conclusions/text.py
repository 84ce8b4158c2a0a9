"""Conclusions as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import pandas as pd

from drift.conclusions.ratings import CI_PROB, Conclusions

WIDTH = 110
UNIT = "percent; 0 = always the best label, 100 = always the worst"
PP = "percentage points of deviation; negative = the first has the lower deviation"


def as_text(found: Conclusions) -> str:
    """Everything that a reader decides on; tables by domain, question and participant are in --json and --csv."""
    parts = [_head(found), *([_withheld(found)] if found.withheld else _said(found))]
    return "\n\n".join(part for part in parts if part)


def bullet(text: str) -> str:
    """A sentence as an item of a list, wrapped."""
    return textwrap.fill(text, WIDTH, initial_indent="- ", subsequent_indent="  ")


def _head(found: Conclusions) -> str:
    target, weighting = found.target, found.target.weighting
    lines = [
        f"{found.study}, card {found.card}",
        found.title,
        "SIMULATED DATA: nothing below is a finding about the models named" if found.simulated else "",
        f"target: {target.questions} questions, {target.participants} participants, every {weighting} weighs the same",
    ]
    return "\n".join(line for line in lines if line)


def _withheld(found: Conclusions) -> str:
    failed = [check for check in found.checks if not check["passed"]]
    lines = [f"  {c['name']} = {c['value']:.4g} at {c['at']} (limit {c['limit']}): {c['advice']}" for c in failed]
    return "\n".join(["No conclusion is drawn: convergence checks failed.", *lines])


def _said(found: Conclusions) -> list[str]:
    tables = found.tables
    interval = f"{CI_PROB:.0%} interval"
    return [
        _section(f"Deviation ({UNIT}; {interval}) and rank", _deviation(tables)),
        _section("Probability of each tier", _wide(tables.get("tiers"), "tier")),
        _section("Probability of each rank", _wide(tables["rank_probabilities"], "rank")),
        _section(f"Equivalence of pairs (95% HDI against the margin; {PP})", _pairs(tables)),
        _section("All pairs of the declared set within the margin", tables.get("joint_equivalence")),
        _largest(tables),
        _section(f"Contrasts ({PP}; {interval})", _contrasts(tables)),
        _section("Variance shares", _shares(tables.get("variance_shares"), "term")),
        _section("Reliability of one rating (intraclass correlation)", _shares(tables.get("icc"), "icc")),
        "\n".join(map(bullet, found.remarks)),
        _checks(found),
    ]


def _section(title: str, table: pd.DataFrame | None) -> str:
    if table is None or table.empty:
        return ""
    return title + "\n" + textwrap.indent(table.to_string(index=False, float_format=_number), "  ")


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def _deviation(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    table = tables["deviation"][["model", "mean", "sd", "lower", "upper", "mcse_mean", "n_rows"]]
    ranks = tables["ranks"][["model", "mean", "lower", "upper", "best"]]
    renamed = ranks.rename(columns={"mean": "rank", "lower": "rank_lower", "upper": "rank_upper", "best": "P(best)"})
    return table.merge(renamed, on="model")


def _wide(table: pd.DataFrame | None, column: str) -> pd.DataFrame | None:
    if table is None:
        return None
    order = table["model"].unique()
    return (
        table.pivot(index="model", columns=column, values="probability")
        .loc[order, table[column].unique()]
        .reset_index()
    )


def _pairs(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame | None:
    if "equivalence" not in tables:
        return None
    table = tables["equivalence"]
    undecided = table[table["decision"] != "different"]
    kept = undecided[["pair", "mean", "lower", "upper", "probability", "mcse", "interval_inside", "decision"]]
    return kept.rename(columns={"probability": f"P(|diff| < {table['margin_pp'].iloc[0]:g})"})


def _largest(tables: Mapping[str, pd.DataFrame]) -> str:
    if "largest_equivalent_set" not in tables:
        return ""
    row = tables["largest_equivalent_set"].iloc[0]
    lead = (
        "Largest set of models that are all"
        if row["reached"]
        else "No two models are equivalent that surely; nearest pair"
    )
    return textwrap.fill(
        f"{lead} within {row['margin_pp']:g} pp of each other: {row['models']} (probability {row['probability']:.3f})",
        WIDTH,
    )


def _contrasts(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame | None:
    if "contrasts" not in tables:
        return None
    columns = [
        "contrast",
        "questions",
        "mean",
        "lower",
        "upper",
        "mcse_mean",
        "below_zero",
        "effect_size_mean",
        "n_rows",
    ]
    table = tables["contrasts"]
    return table[[column for column in columns if column in table]].rename(columns={"below_zero": "P(< 0)"})


def _shares(table: pd.DataFrame | None, label: str) -> pd.DataFrame | None:
    return None if table is None else table[["scale", label, "mean", "lower", "upper", "mcse_mean"]]


def _checks(found: Conclusions) -> str:
    listed = ", ".join(f"{c['name']} {c['value']:.4g} ({c['at']})" for c in found.checks)
    return textwrap.fill(f"Checks passed; the worst of each: {listed}.", WIDTH)
