"""The contrast card of an ordinal scorer: mean deviations, with gates and disposition by the rule for labels 0 and 1.

Every probability of the rule is of the corrected contrast of mean deviations. The observation gate counts, in each arm,
audited rows above the worst label and rows below the best: the scorer may have been too harsh on the first and too
lenient on the second. With two labels these are the positives and the negatives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from drift.conclusions.audited import arm_rows, audit_parts, audit_records, first_rating, prompts, unsampled
from drift.conclusions.contrast_parts import AuditPart, Estimate, PriorPart, PromptPart, SensitivityPart
from drift.conclusions.disposition import Disposition, dispose
from drift.conclusions.gates import (
    ArmAudit,
    Evidence,
    Gate,
    Limits,
    construct_gate,
    evidence,
    limits,
    observation_gate,
    same_key_gate,
    transport_gate,
)
from drift.conclusions.posterior_parts import ITSELF, TRUTH_IS, estimate
from drift.conclusions.prior_parts import PRIOR_DECIDES, dominated
from drift.conclusions.prohibited import prohibited
from drift.conclusions.scorer import predictive, turned
from drift.data.label_rows import NOT_RATED
from drift.data.labels import Labels
from drift.data.scorer_declaration import ScorerContrast, ScorerStudy, Success
from drift.estimands.error_rates import prior_dominance
from drift.estimands.ordinal_scorer import (
    deviation_contrasts,
    mean_deviation,
    ordinal_prior_scored,
    ordinal_scored,
)
from drift.estimands.scored import variants
from drift.scale import FloatArray

KINDS = ("above the worst label", "below the best")
NOT_HERE = (
    "a variant in which raters share errors",
    "the rank of what the data identify: look at the wide rater prior and at each rater alone",
    "the contrast on identical keys alone, and on new keys",
    "other methods, bounds without an assumption on raters, flip test and error budget",
    "the split of the bias by kind of error",
)


@dataclass(frozen=True)
class OrdinalContrastCard:
    """One corrected contrast of mean deviations, percentage points; positive: the treatment is worse.

    `within`: P(|bias| < tolerance). `audited`: arm -> label of the first rater who gave one -> rows. `not_here`: what a
    card of labels 0 and 1 has besides.
    """

    contrast: str
    success: Success
    tolerance_pp: float
    limits: Limits
    prompts: PromptPart
    audits: tuple[AuditPart, ...]
    audited: Mapping[str, Mapping[str, int]]
    automatic_pp: float
    corrected_pp: Estimate
    bias_pp: Estimate
    within: float
    sensitivity: tuple[SensitivityPart, ...]
    prior: tuple[PriorPart, ...]
    remarks: tuple[str, ...]
    gates: tuple[Gate, ...]
    disposition: Disposition
    prohibited: tuple[str, ...]
    not_here: tuple[str, ...] = NOT_HERE


def ordinal_cards(tree: xr.DataTree, study: ScorerStudy) -> tuple[OrdinalContrastCard, ...]:
    """A card for every declared contrast. Raises `StudyFileError` for limits of gates that there are not."""
    if not study.contrasts:
        return ()
    labels = Labels.from_dataset(tree["constant_data"].to_dataset())
    draws = {"": deviation_contrasts(ordinal_scored(tree), study.target, study.contrasts)}
    for name in variants(tree):
        if tree["variants"][name].attrs["checks_passed"] == "true":
            draws[name] = deviation_contrasts(ordinal_scored(tree, name), study.target, study.contrasts)
    return tuple(_card(tree, study, labels, draws, contrast) for contrast in study.contrasts)


def _card(
    tree: xr.DataTree, study: ScorerStudy, labels: Labels, draws: Mapping[str, xr.Dataset], contrast: ScorerContrast
) -> OrdinalContrastCard:
    limit = limits(study.gates)
    own = {name: every.sel(contrast=contrast.name) for name, every in draws.items()}
    automatic = _automatic(tree, study, contrast)
    bias = _flat(own[""]["bias"])
    found = evidence(automatic, _references(labels, own), bias, contrast.tolerance_pp)
    gates = _gates(tree, study, labels, contrast, found, limit)
    prior = _prior(tree, study, contrast)
    disposition = dispose(gates, found, contrast.success, dominated(prior), limit)
    sensitivity = tuple(_sensitivity(tree, own, name, found.direction) for name in ("", *variants(tree)))
    return OrdinalContrastCard(
        contrast=contrast.name,
        success=contrast.success,
        tolerance_pp=contrast.tolerance_pp,
        limits=limit,
        prompts=prompts(labels, study, contrast),
        audits=audit_parts(labels, study, contrast),
        audited={arm: _counted(labels, arm) for arm in (contrast.treatment, contrast.comparator)},
        automatic_pp=100.0 * automatic,
        corrected_pp=estimate(own[""]["corrected"]),
        bias_pp=estimate(own[""]["bias"]),
        within=found.within,
        sensitivity=sensitivity,
        prior=prior,
        remarks=turned(sensitivity),
        gates=gates,
        disposition=disposition,
        prohibited=prohibited(study, contrast, disposition.decision),
    )


def _automatic(tree: xr.DataTree, study: ScorerStudy, contrast: ScorerContrast) -> float:
    """The contrast of the scorer's own labels in the panel, a share of the scale: what would be published."""
    panel = deviation_contrasts(ordinal_scored(tree), replace(study.target, prevalence="panel"), [contrast])
    return float(panel["automatic"].mean()) / 100.0


def _flat(draws: xr.DataArray) -> FloatArray:
    """(draw,) shares of the scale from percentage points."""
    return np.asarray(draws.values, dtype=np.float64).ravel() / 100.0


def _references(labels: Labels, own: Mapping[str, xr.Dataset]) -> dict[str, FloatArray | None]:
    """Reference -> (draw,) corrected contrast: the model itself, then each rater alone and taken for the truth."""
    found: dict[str, FloatArray | None] = {ITSELF: _flat(own[""]["corrected"])}
    for place, rater in enumerate(labels.raters):
        if (labels.rating[:, place] != NOT_RATED).any():
            draws = own.get(f"{TRUTH_IS}{rater}")
            found[f"{rater} is the truth"] = None if draws is None else _flat(draws["corrected"])
    return found


def _gates(
    tree: xr.DataTree, study: ScorerStudy, labels: Labels, contrast: ScorerContrast, found: Evidence, limit: Limits
) -> tuple[Gate, ...]:
    audits = {arm: _arm_audit(labels, arm) for arm in (contrast.treatment, contrast.comparator)}
    left_out = unsampled(labels, study, contrast)
    records = audit_records(labels, study)
    return (
        construct_gate(contrast.same_construct, contrast.treatment, contrast.comparator, "every label of the scale"),
        observation_gate(audits, limit, KINDS),
        transport_gate(records, study.versions, left_out, predictive(tree), limit),
        same_key_gate(prompts(labels, study, contrast).keys_both, found, limit),
    )


def _arm_audit(labels: Labels, arm: str) -> ArmAudit:
    rows = arm_rows(labels, arm)
    given = first_rating(labels)[rows]
    best = labels.scale.n_labels - 1
    rated = (labels.rating[rows] != NOT_RATED).any(axis=0)
    absent = tuple(rater for rater, there in zip(labels.raters, rated, strict=True) if not there)
    return ArmAudit(int((given > 0).sum()), int(((given != NOT_RATED) & (given < best)).sum()), absent)


def _counted(labels: Labels, arm: str) -> dict[str, int]:
    """Label of the first rater who gave one -> audited rows of the arm."""
    given = first_rating(labels)[arm_rows(labels, arm)]
    return {name: int((given == code).sum()) for code, name in enumerate(labels.scale.labels)}


def _prior(tree: xr.DataTree, study: ScorerStudy, contrast: ScorerContrast) -> tuple[PriorPart, ...]:
    """Of what the disposition rests on: the contrast, its bias, both mean deviations."""
    both = (ordinal_scored(tree), ordinal_prior_scored(tree))
    contrasts = [deviation_contrasts(one, study.target, [contrast]).isel(contrast=0) for one in both]
    arms = [mean_deviation(one, study.target) for one in both]
    pairs = {
        "corrected contrast": [draws["corrected"] for draws in contrasts],
        "contrast bias": [draws["bias"] for draws in contrasts],
        **{
            f"mean deviation, {arm}": [draws.sel(arm=arm) for draws in arms]
            for arm in (contrast.treatment, contrast.comparator)
        },
    }
    ratios = {name: float(prior_dominance(after, before)) for name, (after, before) in pairs.items()}
    return tuple(PriorPart(name, ratio, ratio > PRIOR_DECIDES, decides=True) for name, ratio in ratios.items())


def _sensitivity(tree: xr.DataTree, own: Mapping[str, xr.Dataset], name: str, direction: int) -> SensitivityPart:
    title = variants(tree)[name] if name else ITSELF
    if name not in own:
        return SensitivityPart(name, title, True, None, None, None)
    corrected = own[name]["corrected"]
    kept = float((np.sign(corrected) * direction > 0).mean()) if direction else None
    return SensitivityPart(name, title, False, estimate(corrected), kept, estimate(own[name]["bias"]))
