"""Conclusions of one posterior of a scorer study: a card a contrast, from the file alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from drift.conclusions import evidence_parts, posterior_parts
from drift.conclusions.audited import arm_audit, arm_rows, audit_parts, audit_records, prompts, unsampled
from drift.conclusions.contrast_card import ContrastCard
from drift.conclusions.contrast_content import SCHEMA
from drift.conclusions.contrast_parts import (
    ArmPart,
    ComparatorPart,
    ContrastPart,
    OutcomePart,
    PriorPart,
    SensitivityPart,
)
from drift.conclusions.contrast_text import SIMULATED
from drift.conclusions.disposition import Disposition, dispose
from drift.conclusions.gates import (
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
from drift.conclusions.posterior_parts import Posterior
from drift.conclusions.prior_parts import dominated, prior_parts
from drift.conclusions.prohibited import prohibited
from drift.conclusions.text import bullet
from drift.data.scorer_declaration import ScorerContrast, ScorerStudy
from drift.data.scorer_study import parse_scorer_study
from drift.inference.store import strict_json

POST_STRATIFIED = "post-stratified (Jeffreys)"  # the method whose interval is held against the model's


@dataclass(frozen=True)
class ScorerConclusions:
    """One posterior's cards. `cards` is empty where a convergence check failed; `checks` then says which."""

    study: str
    title: str
    card: str
    simulated: bool
    withheld: bool
    checks: tuple[Mapping[str, object], ...]
    cards: tuple[ContrastCard, ...]

    @property
    def name(self) -> str:
        """That of the posterior's file."""
        return f"{self.study}-{self.card}"

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON takes it."""
        return {**asdict(replace(self, cards=())), "cards": [card.as_dict() for card in self.cards]}

    def as_text(self) -> str:
        """Every card for a terminal, or which checks failed: then without any number."""
        if self.withheld:
            return f"{self._head()}\n\n{_withheld(self.checks)}"
        if not self.cards:
            return f"{self._head()}\n\nThe study declares no contrast, so nothing is concluded."
        return "\n\n\n".join(card.as_text() for card in self.cards)

    def as_markdown(self) -> str:
        """Every card as Markdown, or which checks failed."""
        if self.withheld:
            return f"# {self.title}\n\n{_withheld(self.checks)}\n"
        return "\n".join(card.as_markdown() for card in self.cards)

    def card_files(self) -> dict[str, str]:
        """File name -> text: each card as JSON and as Markdown, numbered in the order of the study file."""
        found = {}
        for place, card in enumerate(self.cards, 1):
            stem = f"{self.name}-{place}-{re.sub('[^a-z0-9]+', '-', card.contrast.lower()).strip('-')}"
            found[f"{stem}.json"] = strict_json(card.as_dict()) + "\n"
            found[f"{stem}.md"] = card.as_markdown()
        return found

    def _head(self) -> str:
        lines = [f"{self.study}, card {self.card}", self.title, *([SIMULATED] if self.simulated else [])]
        return "\n".join(lines)


def _withheld(checks: tuple[Mapping[str, object], ...]) -> str:
    """Which checks failed and what to do. Their values are in the JSON."""
    failed = [bullet(f"{check['name']}: {check['advice']}") for check in checks if not check["passed"]]
    return "\n".join(["No conclusion is drawn: convergence checks failed.", *failed])


def conclude_scorer(tree: xr.DataTree) -> ScorerConclusions:
    """The cards of a stored posterior; none where its checks failed.

    Raises `StudyFileError` where the study declares limits of gates that there are not.
    """
    study = stored_scorer_study(tree)
    good = tree.attrs["checks_passed"] == "true"
    posterior = Posterior(tree, study)
    return ScorerConclusions(
        study=study.name,
        title=study.title,
        card=tree.attrs["card"],
        simulated=study.simulated,
        withheld=not good,
        checks=tuple(json.loads(tree.attrs["checks"])),
        cards=tuple(_card(posterior, contrast) for contrast in study.contrasts) if good else (),
    )


def stored_scorer_study(tree: xr.DataTree) -> ScorerStudy:
    """The declaration that the posterior was made under, from the file itself."""
    return replace(parse_scorer_study(tree.attrs["study_toml"], Path("study.toml")), name=tree.attrs["study"])


@dataclass(frozen=True)
class Decided:
    """The disposition of one contrast, and what it follows from."""

    found: Evidence
    gates: tuple[Gate, ...]
    prior: tuple[PriorPart, ...]
    disposition: Disposition


def decided(posterior: Posterior, contrast: ScorerContrast) -> Decided:
    """What may be done with a contrast, from draws and declarations alone. Raises `StudyFileError` as `limits`."""
    limit = limits(posterior.study.gates)
    automatic = posterior_parts.automatic_contrast(posterior, contrast)
    references = posterior_parts.references(posterior, contrast)
    found = evidence(automatic, references, posterior_parts.bias_draws(posterior, contrast), contrast.tolerance_pp)
    gates, prior = _gates(posterior, contrast, found, limit), prior_parts(posterior, contrast)
    return Decided(found, gates, prior, dispose(gates, found, contrast.success, dominated(prior), limit))


def _card(posterior: Posterior, contrast: ScorerContrast) -> ContrastCard:
    study, labels = posterior.study, posterior.labels
    limit, decision = limits(study.gates), decided(posterior, contrast)
    found, disposition = decision.found, decision.disposition
    arms = posterior_parts.arm_parts(posterior, contrast)
    contrasts = posterior_parts.contrast_parts(posterior, contrast)
    sensitivity = posterior_parts.sensitivity_parts(posterior, contrast, found.direction)
    comparators = evidence_parts.comparator_parts(posterior, contrast)
    return ContrastCard(
        schema=SCHEMA,
        study=study.name,
        title=study.title,
        contrast=contrast.name,
        model_card=posterior.tree.attrs["card"],
        simulated=study.simulated,
        success=contrast.success,
        limits=limit,
        outcome=OutcomePart(study.outcome.name, study.outcome.rubric),
        prompts=prompts(labels, study, contrast),
        target=evidence_parts.target_part(posterior, contrast),
        versions=dict(study.versions),
        dropped=dict(labels.dropped),
        audits=audit_parts(labels, study, contrast),
        confusion=evidence_parts.confusion_parts(posterior, contrast),
        arms=arms,
        contrasts=contrasts,
        bias=posterior_parts.bias_part(posterior, contrast, found.within),
        same_key=posterior_parts.same_key_parts(posterior, contrast),
        raters=evidence_parts.rater_part(posterior, contrast),
        sensitivity=sensitivity,
        comparators=comparators,
        prior=decision.prior,
        identification=evidence_parts.identification_parts(posterior),
        bounds=posterior_parts.bounds_parts(posterior, contrast),
        fragility=evidence_parts.fragility_parts(posterior, contrast, limit.gamma),
        remarks=(
            *_inverted(arms),
            *_constant(posterior, contrast),
            *evidence_parts.absent(posterior, contrast),
            *_disagreement(contrasts, comparators),
            *turned(sensitivity),
        ),
        gates=decision.gates,
        disposition=disposition,
        prohibited=prohibited(study, contrast, disposition.decision),
    )


def _gates(posterior: Posterior, contrast: ScorerContrast, found: Evidence, limit: Limits) -> tuple[Gate, ...]:
    study, labels = posterior.study, posterior.labels
    audits = {arm: arm_audit(labels, arm, posterior.reference) for arm in (contrast.treatment, contrast.comparator)}
    return (
        construct_gate(contrast.same_construct, contrast.treatment, contrast.comparator),
        observation_gate(audits, limit),
        transport_gate(
            audit_records(labels, study),
            study.versions,
            unsampled(labels, study, contrast),
            predictive(posterior.tree),
            limit,
        ),
        same_key_gate(prompts(labels, study, contrast).keys_both, found, limit),
    )


def predictive(tree: xr.DataTree) -> dict[str, float] | None:
    """Posterior predictive p by check, where the file has them."""
    return json.loads(tree.attrs["predictive"]) if "predictive" in tree.attrs else None


def _inverted(arms: tuple[ArmPart, ...]) -> tuple[str, ...]:
    """Arms whose labels more likely than not point the wrong way."""
    return tuple(
        f"the scorer's labels in {part.arm} point the wrong way: P(sensitivity + specificity < 1) = {part.inverted:.3f}"
        for part in arms
        if part.inverted > 0.5
    )


def _constant(posterior: Posterior, contrast: ScorerContrast) -> tuple[str, ...]:
    """Arms in which the scorer gives one label only."""
    labels = posterior.labels
    given = {
        arm: np.unique(labels.scorer[labels.in_target & arm_rows(labels, arm)])
        for arm in (contrast.treatment, contrast.comparator)
    }
    return tuple(
        f"the scorer labels every response in {arm} {label[0]}" for arm, label in given.items() if label.size == 1
    )


def _disagreement(contrasts: tuple[ContrastPart, ...], comparators: tuple[ComparatorPart, ...]) -> tuple[str, ...]:
    """Where the post-stratified estimate lies outside the model's interval; by chance alone, at most once in twenty."""
    model = next(part.corrected_pp for part in contrasts if part.declared)
    return tuple(
        f"the {part.method} estimate {value:+.1f} pp lies outside the model's interval [{model.lower:+.1f}, "
        f"{model.upper:+.1f}]: the scorer's errors may differ where the model takes them for equal"
        for part in comparators
        if part.method == POST_STRATIFIED
        for value in [part.contrast_pp.estimate]
        if value is not None and not model.lower <= value <= model.upper
    )


def turned(sensitivity: tuple[SensitivityPart, ...]) -> tuple[str, ...]:
    """Variants whose mean has the other sign than the model's."""
    own = sensitivity[0].corrected_pp
    return tuple(
        f"the corrected contrast changes its sign, to {part.corrected_pp.mean:+.1f} pp, if {part.title}"
        for part in sensitivity[1:]
        if own is not None and part.corrected_pp is not None and own.mean * part.corrected_pp.mean < 0
    )
