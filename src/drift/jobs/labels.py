"""The cards of a scorer study: the latent misclassification model, and the same under other assumptions beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from drift.jobs.job import Job, Options, Variant, inputs_of, reserved_path

if TYPE_CHECKING:
    from drift.data.labels import Labels
    from drift.data.scorer_declaration import ScorerStudy
    from drift.models.cards import Card
    from drift.models.frame import Frame

PRIOR_DRAWS = 2000
ORDINAL = "misclassification-ordinal"
NEVER = 1e-30  # odds of a mistake of a rater who is the truth: 1 less it is 1 in doubles
WIDE_NEIGHBOUR, WIDE_RATER_SD = 0.2, 1.0  # of ordered labels: median odds .2 of a neighbour instead of .08, sd 1 not .6
WIDE_RATER_MEDIAN, WIDE_RATER_SPREAD = 0.055, 0.5  # probits -1.6 and .5: errors of .01 to .27 instead of .003 to .087


def label_jobs(study: ScorerStudy, options: Options) -> list[Job]:
    """Every card of the study. Raises an `InputError` for anything that can be refused, before the first draw."""
    from drift.data.labels import read_labels

    cards = _cards(study, options.cards)
    labels = read_labels(study)
    return [_job(study, card, labels, options) for card in cards]


def _cards(study: ScorerStudy, names: Sequence[str]) -> list[Card]:
    from drift.data.scorer_declaration import BINARY
    from drift.errors import StudyFileError
    from drift.models.cards import read_card

    cards = [read_card(name, study.path.parent) for name in names or study.models]
    for card in cards:
        if card.kind != "labels":
            raise StudyFileError(
                study.path.name, f"card {card.name} needs {card.kind}, and this study has an automatic scorer's labels"
            )
        if card.builder != ORDINAL and study.scale != BINARY:
            raise StudyFileError(
                study.path.name, f"card {card.name} takes labels 0 and 1: use {ORDINAL} for the declared scale"
            )
        if card.builder == "misclassification-reference" and study.reference is None:
            raise StudyFileError(
                study.path.name, f'card {card.name} needs a rater who is the truth: write [reference] rater = "..."'
            )
    return cards


def _job(study: ScorerStudy, card: Card, labels: Labels, options: Options) -> Job:
    from drift.conclusions.gates import limits
    from drift.inference.sampling import Settings

    limits(study.gates)  # refuses a limit that no gate has
    ordinal = card.builder == ORDINAL
    frame, prior = _ordinal(card, labels, study.seed) if ordinal else _binary(card, labels, study)
    settings = options.settings(Settings.for_labels())
    inputs = inputs_of(
        study,
        card,
        settings,
        data_source=labels.source,
        data_digest=labels.digest,
        kind=card.kind,
        terms=frame.terms,
        left_out=(),
        refusals="",
        other_coding=False,
    )
    simulated = " (SIMULATED)" if study.simulated else ""
    return Job(
        heading=(
            f"{study.name}, card {card.name}: {labels.n_rows:,} labels, {labels.audited.sum():,} audited{simulated}"
        ),
        card=card,
        frame=frame,
        settings=settings,
        inputs=inputs,
        path=reserved_path(inputs, options),
        data=stored_labels(labels, frame),
        estimands=partial(_ordinal_estimands if ordinal else _estimands, study=study),
        prior=prior,
        variants=tuple(_ordinal_variants(card, labels) if ordinal else _variants(study, card, labels)),
        predictive=_ordinal_predictive if ordinal else _predictive,
    )


def _binary(card: Card, labels: Labels, study: ScorerStudy) -> tuple[Frame, xr.Dataset]:
    """The frame, and draws of the prior."""
    from drift.models.label_frame import labels_frame
    from drift.models.misclassification_priors import prior_draws
    from drift.models.rater_assumptions import label_priors, rater_assumptions

    frame = labels_frame(labels, rater_assumptions(card, labels, study.reference))
    dims = {"rater_fpr": ("arm", "rater"), "rater_fnr": ("arm", "rater"), "dependence": ("truth",)}
    draws = prior_draws(frame, label_priors(card), PRIOR_DRAWS, np.random.default_rng([study.seed, 1]))
    return frame, _prior(draws, dims)


def _ordinal(card: Card, labels: Labels, seed: int) -> tuple[Frame, xr.Dataset]:
    """The frame, and draws of the prior."""
    from drift.models.cards import card_priors
    from drift.models.misclassification_ordinal_frame import ordinal_labels_frame
    from drift.models.misclassification_ordinal_priors import OrdinalScorerPriors, prior_draws, rater_prior

    priors = card_priors(card, OrdinalScorerPriors)
    frame = ordinal_labels_frame(labels, rater_prior(priors))
    dims = {
        "class_share": ("cell", "truth"),
        "scorer_confusion": ("cell", "truth", "label"),
        "rater_confusion": ("rater", "truth", "label"),
    }
    return frame, _prior(prior_draws(frame, priors, PRIOR_DRAWS, np.random.default_rng([seed, 1])), dims)


def _prior(draws: Mapping[str, Any], dims: Mapping[str, tuple[str, ...]]) -> xr.Dataset:
    return xr.Dataset(
        {
            name: (("chain", "draw", *dims.get(name, ("cell",))), values[None].astype(np.float32))
            for name, values in draws.items()
        }
    )


def _variants(study: ScorerStudy, card: Card, labels: Labels) -> list[Variant]:
    """Other assumptions, one at a time: what the raters share, how good they are, who of them is asked or believed."""
    from dataclasses import replace

    from scipy.special import ndtri

    from drift.data.labels import mask_raters
    from drift.models.cards import read_card
    from drift.models.rater_assumptions import DEPENDENT, rater_assumptions

    own = rater_assumptions(card, labels, study.reference)
    wide = replace(own, rater_prior=np.array([ndtri(WIDE_RATER_MEDIAN), WIDE_RATER_SPREAD]))
    found = [("wide_rater_prior", "raters may err much more (wide prior)", card, labels, wide)]
    if card.builder != DEPENDENT and len(labels.raters) > 1:
        dependent = read_card(DEPENDENT)
        shared = rater_assumptions(dependent, labels, study.reference)
        found.append(("dependence", "raters may share errors", dependent, labels, shared))
    if len(labels.raters) > 1:
        found += [
            (f"only_{rater}", f"{rater} alone", card, mask_raters(labels, [rater]), own) for rater in labels.raters
        ]
    for rater in labels.raters if own.reference is None else ():
        truth = replace(own, reference=rater, shares="none" if len(labels.raters) < 3 else own.shares)
        found.append((f"truth_is_{rater}", f"{rater} is the truth", card, labels, truth))
    return [_variant(*parts) for parts in found if parts[3].rating.max(initial=-1) >= 0]


def _variant(name: str, title: str, card: Card, labels: Labels, assumed: Any) -> Variant:
    from drift.models.label_frame import labels_frame

    frame = labels_frame(labels, assumed)
    return Variant(name, title, card, frame, _patterns(labels, frame))


def _ordinal_variants(card: Card, labels: Labels) -> list[Variant]:
    """As `_variants`, of ordered labels: how good the people are, who of them is asked, who is believed.

    A person who is believed is asked alone and errs with odds of `NEVER`: the truth is then that person's label.
    """
    from drift.data.labels import mask_raters
    from drift.models.cards import card_priors
    from drift.models.misclassification_ordinal_frame import ordinal_labels_frame
    from drift.models.misclassification_ordinal_priors import OrdinalScorerPriors, rater_prior

    own = rater_prior(card_priors(card, OrdinalScorerPriors))
    wide, never = np.array([np.log(WIDE_NEIGHBOUR), own[1], WIDE_RATER_SD]), np.array([np.log(NEVER), own[1], own[2]])
    found = [("wide_rater_prior", "raters may err much more (wide prior)", labels, wide)]
    alone = {rater: mask_raters(labels, [rater]) for rater in labels.raters}
    if len(labels.raters) > 1:
        found += [(f"only_{rater}", f"{rater} alone", one, own) for rater, one in alone.items()]
    found += [(f"truth_is_{rater}", f"{rater} is the truth", one, never) for rater, one in alone.items()]
    return [
        Variant(name, title, card, frame, _patterns(masked, frame))
        for name, title, masked, prior in found
        if masked.rating.max(initial=-1) >= 0
        for frame in [ordinal_labels_frame(masked, prior)]
    ]


def stored_labels(labels: Labels, frame: Frame) -> xr.Dataset:
    """The rows as coded, and the cells and patterns that the likelihood saw."""
    cells = {
        f"cell_{factor}": ("cell", frame.arrays[f"cell_{factor}"].astype(np.int32))
        for factor in ("arm", "model", "stratum", "population")
    }
    return labels.to_dataset().merge(_patterns(labels, frame)).assign(cells)


def _patterns(labels: Labels, frame: Frame) -> xr.Dataset:
    from drift.data.patterns import collapse

    patterns = collapse(labels)
    return xr.Dataset(
        {
            "pattern_cell": ("pattern", patterns.pattern_cell.astype(np.int32)),
            "pattern_label": (("pattern", "test"), patterns.pattern_label.astype(np.int8)),
            "pattern_count": ("pattern", patterns.pattern_count.astype(np.int64)),
            "row_pattern": ("row", patterns.row_pattern.astype(np.int32)),
            "reference": ("rater", frame.arrays["reference"].astype(np.int8)),
            "shares": ("test", frame.arrays["shares"].astype(np.int8)),
        }
    )


def _estimands(tree: xr.DataTree, study: ScorerStudy) -> dict[str, xr.DataArray]:
    """Prevalence by arm and the declared contrasts, of the population that the responses are a sample of."""
    from dataclasses import replace

    from drift.estimands.prevalence import prevalence
    from drift.estimands.scored import scored

    by_arm = prevalence(scored(tree), replace(study.target, prevalence="superpopulation"))
    found = {"prevalence by arm": by_arm}
    for contrast in study.contrasts:
        treatment, comparator = (by_arm.sel(arm=arm, drop=True) for arm in (contrast.treatment, contrast.comparator))
        found[f"contrast {contrast.name}"] = treatment - comparator
    return found


def _predictive(tree: xr.DataTree) -> dict[str, float]:
    from drift.estimands.predictive_check import predictive_p
    from drift.estimands.scored import scored

    return predictive_p(scored(tree))


def _ordinal_predictive(tree: xr.DataTree) -> dict[str, float]:
    from drift.estimands.ordinal_scorer import ordinal_scored
    from drift.estimands.predictive_check import ordinal_predictive_p

    return ordinal_predictive_p(ordinal_scored(tree))


def _ordinal_estimands(tree: xr.DataTree, study: ScorerStudy) -> dict[str, xr.DataArray]:
    """Mean deviation by arm and the declared contrasts, of the population that the responses are a sample of."""
    from dataclasses import replace

    from drift.estimands.ordinal_scorer import deviation_contrasts, mean_deviation, ordinal_scored

    scored, target = ordinal_scored(tree), replace(study.target, prevalence="superpopulation")
    found = {"mean deviation by arm": mean_deviation(scored, target)}
    if study.contrasts:
        found["contrasts"] = deviation_contrasts(scored, target, study.contrasts)["corrected"]
    return found
