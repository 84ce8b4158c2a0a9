"""The parts of contrast cards that stand beside the model: counts by route, raters, other methods, fragility, rank."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import xarray as xr

from drift.conclusions.audited import CI_PROB, arm_rows, confidence, confidence_pp, counted, paired, rate
from drift.conclusions.contrast_parts import (
    AgreementPart,
    ComparatorPart,
    ConfusionPart,
    Estimate,
    FragilityPart,
    IdentificationPart,
    RaterPart,
    TargetPart,
)
from drift.conclusions.posterior_parts import Posterior, estimate
from drift.data.label_rows import NOT_RATED, BoolArray
from drift.data.labels import rater_arm_counts
from drift.data.scorer_declaration import UNDECLARED, ScorerContrast
from drift.estimands.fragility import NoReferenceError, reference_fragility
from drift.estimands.identification import Identification, Setting
from drift.estimands.prevalence import model_weights, row_counts, target_rows
from drift.frequentist.agreement import agreement
from drift.frequentist.comparators import comparators

MARGIN = 1e-3  # of singular values, below which parameters are identified in name only
MOST_NAMES = 6  # of parameters that are listed


def target_part(posterior: Posterior, contrast: ScorerContrast) -> TargetPart:
    """The target population, the weights of its models, and its rows in both arms."""
    count = row_counts(posterior.scored, target_rows(posterior.scored))
    weight = model_weights(posterior.scored, posterior.target.models, count)
    arms, models = (posterior.scored.levels[factor] for factor in ("arm", "model"))
    both = (contrast.treatment, contrast.comparator)
    return TargetPart(
        prevalence=posterior.target.prevalence,
        population=posterior.target.population or UNDECLARED,
        weights={arm: dict(zip(models, map(float, weight[arms.index(arm)]), strict=True)) for arm in both},
        rows_treatment=int(count[arms.index(contrast.treatment)].sum()),
        rows_comparator=int(count[arms.index(contrast.comparator)].sum()),
    )


def confusion_parts(posterior: Posterior, contrast: ScorerContrast) -> tuple[ConfusionPart, ...]:
    """Both arms, and below each its routes where there are several."""
    labels, strata = posterior.labels, posterior.labels.levels["stratum"]
    found = []
    for arm in (contrast.treatment, contrast.comparator):
        rows = arm_rows(labels, arm)
        found.append(_confusion(posterior, arm, UNDECLARED, rows, posterior.rates.sel(arm=arm)))
        for code, stratum in enumerate(strata if len(strata) > 1 else ()):
            inside = rows & (labels.codes["stratum"] == code)
            if inside.any():
                found.append(_confusion(posterior, arm, stratum, inside, _stratum_rates(posterior, arm, stratum)))
    return tuple(found)


def _stratum_rates(posterior: Posterior, arm: str, stratum: str) -> xr.Dataset | None:
    """Error rates in one route of one arm; None where the target has no such row."""
    rates = posterior.stratum_rates
    place = np.flatnonzero((rates["arm"].values == arm) & (rates["stratum"].values == stratum))
    return rates.isel(group=int(place[0])) if place.size else None


def _confusion(
    posterior: Posterior, arm: str, stratum: str, rows: BoolArray, rates: xr.Dataset | None
) -> ConfusionPart:
    counts = counted(posterior.labels, rows, posterior.reference)
    return ConfusionPart(
        arm=arm,
        stratum=stratum,
        tp=counts.tp,
        fp=counts.fp,
        fn=counts.fn,
        tn=counts.tn,
        fpr_counted=rate(counts, "fpr"),
        fnr_counted=rate(counts, "fnr"),
        fpr=None if rates is None else estimate(1.0 - rates["specificity"]),
        fnr=None if rates is None else estimate(1.0 - rates["sensitivity"]),
    )


def rater_part(posterior: Posterior, contrast: ScorerContrast) -> RaterPart:
    """Who labelled how much, how far they agree, and what each alone would say."""
    labels, both = posterior.labels, (contrast.treatment, contrast.comparator)
    count, arms = rater_arm_counts(labels), labels.levels["arm"]
    labelled = {
        rater: {arm: int(count[arms.index(arm), place]) for arm in both} for place, rater in enumerate(labels.raters)
    }
    found = [
        _agreement(posterior, pair, arm)
        for pair in combinations(range(len(labels.raters)), 2)
        for arm in (*both, UNDECLARED)
    ]
    part = target_part(posterior, contrast)
    mean = np.mean([list(part.weights[arm].values()) for arm in both], axis=0)
    wanted = {code: float(weight) for code, weight in enumerate(mean)}
    return RaterPart(labelled, posterior.reference, tuple(found), paired(labels, contrast, wanted))


def _agreement(posterior: Posterior, pair: tuple[int, int], arm: str) -> AgreementPart:
    labels = posterior.labels
    rows = np.ones(labels.n_rows, dtype=bool) if arm == UNDECLARED else arm_rows(labels, arm)
    first, second = (labels.rating[rows, rater] for rater in pair)
    found = agreement(first, second, CI_PROB)
    names = tuple(labels.raters[rater] for rater in pair)
    return AgreementPart(
        raters=names,
        arm=arm,
        rows=found.n,
        agreement=confidence(found.percent),
        modelled=_modelled(posterior, arm, names),
        kappa=confidence(found.kappa),
    )


def _modelled(posterior: Posterior, arm: str, names: tuple[str, ...]) -> Estimate | None:
    """The agreement that the model expects; None where nobody saw the labels of both."""
    draws = posterior.agreement["agreement"].sel(arm=arm, pair=", ".join(names))
    return estimate(draws) if bool(np.isfinite(draws).all()) else None


def comparator_parts(posterior: Posterior, contrast: ScorerContrast) -> tuple[ComparatorPart, ...]:
    """The contrast by every other method, the truth being the reference rater, else the first; none without raters."""
    labels = posterior.labels
    if not labels.raters:
        return ()
    rater = labels.raters.index(posterior.reference) if posterior.reference else 0
    found = comparators(labels, contrast.treatment, contrast.comparator, rater, models=posterior.target.models)
    truth = labels.raters[rater]
    return tuple(ComparatorPart(one.method, confidence_pp(one), one.n, truth, one.note) for one in found)


def fragility_parts(posterior: Posterior, contrast: ScorerContrast, gamma: float) -> tuple[FragilityPart, ...]:
    """The flip test of each rater's labels in the target; raters without a label in one arm are passed over."""
    found = []
    for rater in posterior.labels.raters:
        try:
            one = reference_fragility(posterior.scored, [contrast], rater, gamma)[0]
        except NoReferenceError:
            continue
        part = FragilityPart(
            rater=rater,
            rows=one.counts.labels + one.counts.comparator_labels,
            rated_pp=float(100 * one.counts.difference),
            flips_to_zero=one.flips_to_zero,
            flips_to_doubt=one.flips_to_doubt,
            error_budget_pp=float(100 * one.breakpoint),
        )
        found.append(part)
    return tuple(found)


def identification_parts(posterior: Posterior) -> tuple[IdentificationPart, ...]:
    """What the data identify under the assumptions made, and, where raters err independently, if they did not."""
    return tuple(_identified(*one) for one in posterior.identified)


def _identified(setting: Setting, found: Identification) -> IdentificationPart:
    assumption = _assumption(setting)
    return IdentificationPart(
        assumption=assumption,
        parameters=found.n_parameters,
        rank=found.rank,
        nullity=found.nullity,
        unknown=found.unknown,
        margin=found.margin,
        statement=f"{assumption}: {_told(found)}",
    )


def _assumption(setting: Setting) -> str:
    if not setting.raters:
        return "no rater"
    if setting.reference:
        return f"{setting.reference} is the truth"
    if len(setting.raters) == 1:
        return f"one fallible rater ({setting.raters[0]}), errors common to all arms and independent of the scorer's"
    if setting.dependence == "none":
        return f"{len(setting.raters)} fallible raters, errors common to all arms and independent given the truth"
    who = "the raters" if setting.dependence == "raters" else "scorer and raters"
    return f"{len(setting.raters)} fallible raters, errors common to all arms; {who} share an error factor"


def _told(found: Identification) -> str:
    """What is left to the prior, in words."""
    if found.nullity:
        listed = ", ".join(found.unknown[:MOST_NAMES])
        rest = len(found.unknown) - MOST_NAMES
        more = f" and {rest} more" if rest > 0 else ""
        return (
            f"the labels leave {found.nullity} of {found.n_parameters} directions to the prior, whatever their number; "
            f"they move {listed}{more}"
        )
    weak = f", in name only (margin {found.margin:.1g})" if found.margin < MARGIN else ""
    return f"the labels identify all {found.n_parameters} parameters{weak}"


def absent(posterior: Posterior, contrast: ScorerContrast) -> tuple[str, ...]:
    """Raters who labelled nothing in one of the arms."""
    labels = posterior.labels
    return tuple(
        f"{rater} labelled nothing in {arm}: its error rates there are those of the other arms"
        for arm in (contrast.treatment, contrast.comparator)
        for place, rater in enumerate(labels.raters)
        if not (labels.rating[arm_rows(labels, arm), place] != NOT_RATED).any()
    )
