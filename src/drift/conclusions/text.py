"""Conclusions as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from drift.conclusions.ratings import CI_PROB, Conclusions

WIDTH = 110
MOST_PAIRS = 20  # that are listed; every pair is in --json and --csv
MOST_RANKS = 15  # models beyond which a table of every rank is too wide to read
ROUNDING = 1e-9  # below it a number is the arithmetic's rounding
UNIT = "percent; 0 = always the best label, 100 = always the worst"
PP = "percentage points of deviation; negative = the first has the lower deviation"
DECISIONS = ("undecided", "equivalent", "different")  # those that a reader must look at come first


def as_text(found: Conclusions) -> str:
    """Everything that a reader decides on; tables by domain, question and participant are in --json and --csv."""
    parts = [_head(found), *([_withheld(found)] if found.withheld else _said(found))]
    return "\n\n".join(part for part in parts if part)


def bullet(text: str) -> str:
    """A sentence as an item of a list, wrapped."""
    return textwrap.fill(text, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)


def _head(found: Conclusions) -> str:
    target, weighting = found.target, found.target.weighting
    lines = [
        f"{found.study}, card {found.card}" + (f", refusals {found.refusals}" if found.refusals else ""),
        found.title,
        "SIMULATED DATA: nothing below is a finding about the models named" if found.simulated else "",
        f"target: {target.questions} questions, {target.participants} participants, every {weighting} weighs the same",
    ]
    return "\n".join(line for line in lines if line)


def _withheld(found: Conclusions) -> str:
    failed = [check for check in found.checks if not check["passed"]]
    lines = [bullet(f"{c['name']} = {c['value']:.4g} at {c['at']} (limit {c['limit']}): {c['advice']}") for c in failed]
    return "\n".join(["No conclusion is drawn: convergence checks failed.", *lines])


def _said(found: Conclusions) -> list[str]:
    tables = found.tables
    order = tables["deviation"]["model"].tolist()
    interval = f"{CI_PROB:.0%} interval"
    return [
        _section(f"Deviation ({UNIT}; {interval}) and rank", _deviation(tables)),
        _section("Probability of each tier", _wide(tables.get("tiers"), "tier", order)),
        _section("Probability of each rank", _ranks(tables["rank_probabilities"], order)),
        _pairs(tables, order),
        _section("All models of the declared set within the margin of each other", _joint(tables)),
        _largest(tables),
        _section(f"Contrasts ({PP}; {interval})", _contrasts(tables)),
        _section(f"Variance shares ({interval})", _shares(tables.get("variance_shares"), "term")),
        _section(f"Reliability of one rating (intraclass correlation; {interval})", _shares(tables.get("icc"), "icc")),
        "\n".join(map(bullet, found.remarks)),
        _checks(found),
    ]


def _section(title: str, table: pd.DataFrame | None) -> str:
    if table is None or table.empty:
        return ""
    return title + "\n" + textwrap.indent(table.to_string(index=False), "  ")


def _number(value: float) -> str:
    return f"{value:.2f}"


def _share(value: float) -> str:
    """A probability or a share. What is not exactly 0 or 1 is not printed as 0 or 1, and neither is an estimate."""
    return "<.001" if value < 0.001 else ">.999" if value > 0.999 else f"{value:.3f}"


def _error(value: float) -> str:
    """A Monte Carlo standard error, to one digit."""
    return np.format_float_positional(value, precision=1, fractional=False, trim="-") if value > ROUNDING else "0"


def _columns(table: pd.DataFrame, **columns: tuple[str, Callable[[float], str] | None]) -> pd.DataFrame:
    """The columns to print: name in the table -> (heading, how a value is written). Absent ones are passed over."""
    return pd.DataFrame(
        {
            heading: table[name].map(write) if write else table[name]
            for name, (heading, write) in columns.items()
            if name in table
        }
    )


SUMMARY = {
    "mean": ("mean", _number),
    "sd": ("sd", _number),
    "lower": ("lower", _number),
    "upper": ("upper", _number),
    "mcse_mean": ("mcse", _error),
}


def _deviation(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    ranks = tables["ranks"][["model", "mean", "lower", "upper", "best"]]
    table = tables["deviation"].merge(ranks, on="model", suffixes=("", "_rank"))
    table["rank"] = [
        f"{mean:.1f} [{low:.0f}, {high:.0f}]"
        for mean, low, high in zip(table["mean_rank"], table["lower_rank"], table["upper_rank"], strict=True)
    ]
    rest = {"n_rows": ("rows", _count), "rank": ("rank", None), "best": ("P(best)", _share)}
    return _columns(table, model=("model", None), **SUMMARY, **rest)


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _ranks(table: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame | None:
    return _wide(table, "rank", order) if len(order) <= MOST_RANKS else None


def _wide(table: pd.DataFrame | None, column: str, order: Sequence[str]) -> pd.DataFrame | None:
    """A row a model, in this order; a column a tier or a rank."""
    if table is None:
        return None
    wide = table.pivot(index="model", columns=column, values="probability")
    return wide.reindex(index=list(order), columns=list(table[column].unique())).map(_share).reset_index()


def _pairs(tables: Mapping[str, pd.DataFrame], order: Sequence[str]) -> str:
    """The pairs on which least is decided, each with the model of lower deviation first, and how many there are."""
    if "equivalence" not in tables or tables["equivalence"].empty:
        return ""
    table = _low_first(tables["equivalence"], order)
    margin = table["margin_pp"].iloc[0]
    found = table["decision"].value_counts()
    counted = ", ".join(f"{found.get(decision, 0)} {decision}" for decision in DECISIONS)
    keys = table.assign(place=table["decision"].map(DECISIONS.index), distance=-table["mean"].abs())
    unclear = keys.sort_values(["place", "probability", "distance"], kind="stable")
    listed = unclear[unclear["decision"] != "different"].head(MOST_PAIRS)
    shown = _columns(
        listed,
        pair=("pair", None),
        **{name: SUMMARY[name] for name in ("mean", "lower", "upper")},
        probability=(f"P(|diff| < {margin:g})", _share),
        mcse=("mcse", _error),
        interval_inside=("HDI inside", _share_of_length),
        decision=("decision", None),
    )
    title = f"Equivalence of pairs ({CI_PROB:.0%} HDI against the margin, {margin:g} pp; {PP})"
    note = f"  {len(table)} pairs: {counted}{_omitted(len(listed), len(table))}"
    return (_section(title, shown) or title) + "\n" + note


def _omitted(listed: int, all_: int) -> str:
    if listed == all_:
        return ""
    return f"; the {listed} least clear are listed, all are in --json and --csv" if listed else ""


def _share_of_length(value: float) -> str:
    return f"{value:.0%}"


def _low_first(table: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """The table of pairs with each pair turned so that the model of lower deviation is the first."""
    turn = table["model_a"].map(order.index) > table["model_b"].map(order.index)
    first, second = table["model_a"].where(~turn, table["model_b"]), table["model_b"].where(~turn, table["model_a"])
    sign = 1.0 - 2.0 * turn
    low, high = table["lower"].where(~turn, table["upper"]), table["upper"].where(~turn, table["lower"])
    return table.assign(pair=first + " - " + second, mean=sign * table["mean"], lower=sign * low, upper=sign * high)


def _joint(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame | None:
    if "joint_equivalence" not in tables:
        return None
    return _columns(
        tables["joint_equivalence"],
        questions=("questions", None),
        participants=("participants", None),
        models=("models", None),
        margin_pp=("margin (pp)", "{:g}".format),
        probability=("probability", _share),
        mcse=("mcse", _error),
    )


def _largest(tables: Mapping[str, pd.DataFrame]) -> str:
    if "largest_equivalent_set" not in tables:
        return ""
    row = tables["largest_equivalent_set"].iloc[0]
    lead = (
        "Largest set of models that are all"
        if row["reached"]
        else "No two models are equivalent that surely; nearest pair"
    )
    return _filled(
        f"{lead} within {row['margin_pp']:g} pp of each other: {row['models']} (probability "
        f"{_share(row['probability'])})"
    )


def _filled(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)


def _contrasts(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame | None:
    if "contrasts" not in tables:
        return None
    return _columns(
        tables["contrasts"],
        contrast=("contrast", None),
        questions=("questions", None),
        **{name: SUMMARY[name] for name in ("mean", "lower", "upper", "mcse_mean")},
        below_zero=("P(< 0)", _share),
        effect_size_mean=("effect size", _number),
        n_rows=("rows", _count),
    )


def _shares(table: pd.DataFrame | None, label: str) -> pd.DataFrame | None:
    if table is None:
        return None
    numbers = {name: (heading, "{:.3f}".format) for name, (heading, _) in SUMMARY.items() if name != "sd"}
    return _columns(
        table, scale=("scale", None), **{label: (label, None)}, **numbers | {"mcse_mean": SUMMARY["mcse_mean"]}
    )


def _checks(found: Conclusions) -> str:
    listed = ", ".join(f"{c['name']} {c['value']:.4g} ({c['at']})" for c in found.checks)
    return _filled(f"Checks passed; the worst of each: {listed}.")
