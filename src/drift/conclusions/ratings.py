"""Conclusions of one posterior of ratings or cell means: every declared table, from the file alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from drift.conclusions.remarks import remarks
from drift.data.declaration import TERMS, Population, Study, Target
from drift.data.study import parse_study
from drift.estimands import (
    IntervalKind,
    contrast_draws,
    contrast_table,
    deviation,
    equivalence_curve,
    equivalence_table,
    icc,
    joint_equivalence,
    largest_equivalent_set,
    participant_leniency,
    probability_better,
    question_difficulty,
    rank_probabilities,
    rank_table,
    summarise,
    tier_probabilities,
    variance_shares,
)

CI_PROB = 0.95  # of every interval, and of the HDI that is held against the margin (kruschke2018)
CI_KIND: IntervalKind = "eti"
JOINT_PROB = 0.95  # that a set called jointly equivalent has at least
CURVE_PP = tuple(float(margin) for margin in np.arange(0.5, 15.01, 0.5))


@dataclass(frozen=True)
class Conclusions:
    """One posterior's conclusions. `tables` is empty where a convergence check failed; `checks` then says which."""

    study: str
    title: str
    card: str
    refusals: str  # their coding where it is not the declared one, else ""
    simulated: bool
    target: Target
    withheld: bool
    checks: tuple[Mapping[str, object], ...]
    tables: Mapping[str, pd.DataFrame]
    remarks: tuple[str, ...]

    @property
    def name(self) -> str:
        """That of the posterior's file."""
        return f"{self.study}-{self.card}" + (f"-refusals-{self.refusals}" if self.refusals else "")

    def as_dict(self) -> dict[str, object]:
        """Everything, as JSON takes it; the tables as lists of records."""
        tables = {name: json.loads(table.to_json(orient="records")) for name, table in self.tables.items()}
        return {**asdict(replace(self, tables={})), "tables": tables}


def conclude(tree: xr.DataTree) -> Conclusions:
    """The conclusions of a stored posterior: for the declared target, and where it matters for the others beside it."""
    study = stored_study(tree)
    checks = tuple(json.loads(tree.attrs["checks"]))
    good = tree.attrs["checks_passed"] == "true"
    tables = _tables(tree, study) if good else {}
    return Conclusions(
        study=study.name,
        title=study.title,
        card=tree.attrs["card"],
        refusals=tree.attrs["refusals"] if tree.attrs["other_coding"] == "true" else "",
        simulated=study.simulated,
        target=study.target,
        withheld=not good,
        checks=checks,
        tables=tables,
        remarks=remarks(tree, study, tables) if good else (),
    )


def stored_study(tree: xr.DataTree) -> Study:
    """The declaration that the posterior was made under, from the file itself."""
    return replace(parse_study(tree.attrs["study_toml"], Path("study.toml")), name=tree.attrs["study"])


def _tables(tree: xr.DataTree, study: Study) -> dict[str, pd.DataFrame]:
    draws = deviation(tree, study.target)
    tables = {"deviation": _frame(summarise(draws, ci_prob=CI_PROB, ci_kind=CI_KIND)).sort_values("mean")}
    tables |= _by_domain(tree, study)
    if study.tiers:
        tables["tiers"] = _frame(tier_probabilities(draws, study.tiers))
    tables["ranks"] = _frame(rank_table(draws, ci_prob=CI_PROB, ci_kind=CI_KIND)).sort_values("mean")
    tables["rank_probabilities"] = _frame(rank_probabilities(draws))
    tables["better"] = _frame(probability_better(draws)).query("model != other")
    tables |= _equivalence(tree, study, draws)
    if study.contrasts:
        tables["contrasts"] = _contrasts(tree, study)
    return {name: table.reset_index(drop=True) for name, table in (tables | _effects(tree)).items()}


def _by_domain(tree: xr.DataTree, study: Study) -> dict[str, pd.DataFrame]:
    if "domain" not in tree["constant_data"].coords:
        return {}
    draws = deviation(tree, study.target, by="model_domain")
    tables = {"deviation_by_domain": _frame(summarise(draws, ci_prob=CI_PROB, ci_kind=CI_KIND))}
    if study.tiers:
        tables["tiers_by_domain"] = _frame(tier_probabilities(draws, study.tiers))
    return tables


def _equivalence(tree: xr.DataTree, study: Study, draws: xr.DataArray) -> dict[str, pd.DataFrame]:
    declared = study.equivalence
    if declared is None:
        return {}
    chosen = list(declared.set)
    pairs = equivalence_table(draws, declared.margin_pp, ci_prob=CI_PROB, ci_kind="hdi")
    tables = {
        "equivalence": _frame(pairs).assign(margin_pp=declared.margin_pp),
        "joint_equivalence": pd.concat(
            [_joint(tree, study, populations, chosen) for populations in populations_beside(tree, study.target)]
        ),
        "equivalence_curve": _frame(equivalence_curve(draws, CURVE_PP, chosen)[["joint", "joint_mcse"]]),
    }
    if draws.sizes["model"] > 1:
        largest = asdict(largest_equivalent_set(draws, declared.margin_pp, JOINT_PROB))
        tables["largest_equivalent_set"] = pd.DataFrame([largest | {"models": ", ".join(largest["models"])}])
    return tables


def populations_beside(tree: xr.DataTree, target: Target) -> list[Target]:
    """The declared target, then the same with the other kind of questions where the card says something about them."""
    other: Population = "these" if target.questions == "new" else "new"
    return [target, replace(target, questions=other)] if other == "these" or knows_new_questions(tree) else [target]


def knows_new_questions(tree: xr.DataTree) -> bool:
    """Whether the spread of questions was estimated, not fixed by the card."""
    return _is_estimated(tree, "question")


def _is_estimated(tree: xr.DataTree, factor: str) -> bool:
    posterior = tree["posterior"].data_vars
    return f"{factor}_effect" not in posterior or f"sd_{factor}" in posterior


def _joint(tree: xr.DataTree, study: Study, target: Target, chosen: list[str]) -> pd.DataFrame:
    assert study.equivalence is not None
    draws = deviation(tree, target)
    margins = (study.equivalence.margin_pp, *study.equivalence.sensitivity_pp)
    rows = [joint_equivalence(draws, margin, chosen) for margin in margins]
    return pd.DataFrame(
        {
            "questions": target.questions,
            "participants": target.participants,
            "models": len(chosen) or draws.sizes["model"],
            "margin_pp": margins,
            "probability": [float(row["probability"]) for row in rows],
            "mcse": [float(row["mcse"]) for row in rows],
        }
    )


def _contrasts(tree: xr.DataTree, study: Study) -> pd.DataFrame:
    """Every declared contrast, for new and for these questions."""
    return pd.concat(
        [
            _frame(
                contrast_table(contrast_draws(tree, target, study.contrasts), ci_prob=CI_PROB, ci_kind=CI_KIND)
            ).assign(questions=target.questions, participants=target.participants)
            for target in populations_beside(tree, study.target)
        ]
    )


def _effects(tree: xr.DataTree) -> dict[str, pd.DataFrame]:
    """Variance shares, reliability, question difficulty and participant leniency, where the card has them."""
    posterior = tree["posterior"].data_vars
    tables = {}
    if "cutpoints" in posterior and _is_estimated(tree, "question") and _is_estimated(tree, "participant"):
        shares = _scales(variance_shares, tree)
        absent = {*TERMS} - {*json.loads(tree.attrs["terms"])}
        tables["variance_shares"] = shares[~shares["term"].isin(absent)]
        tables["icc"] = _scales(icc, tree)
    if "question" in tree["constant_data"].coords:
        difficulty = summarise(question_difficulty(tree), ci_prob=CI_PROB, ci_kind=CI_KIND, diagnostics=False)
        tables["question_difficulty"] = _frame(difficulty).sort_values("mean", ascending=False)
    if "participant_effect" in posterior:
        lenient = participant_leniency(tree)
        tables["participant_leniency"] = pd.concat(
            [
                _frame(summarise(lenient[name], ci_prob=CI_PROB, ci_kind=CI_KIND, diagnostics=False)).assign(
                    quantity=name
                )
                for name in ("leniency", "shift")
            ]
        )
    return tables


def _scales(estimand: object, tree: xr.DataTree) -> pd.DataFrame:
    assert callable(estimand)
    return pd.concat(
        [
            _frame(summarise(estimand(tree, scale), ci_prob=CI_PROB, ci_kind=CI_KIND)).assign(scale=scale)
            for scale in ("latent", "response")
        ]
    )


def _frame(table: xr.Dataset) -> pd.DataFrame:
    """A dataset of summaries as one row for each combination of its labels, with what its intervals are."""
    rows = table.to_dataframe().reset_index() if table.dims else pd.DataFrame([{k: v.item() for k, v in table.items()}])
    return rows.assign(**{name: table.attrs[name] for name in ("ci_prob", "ci_kind") if name in table.attrs})
