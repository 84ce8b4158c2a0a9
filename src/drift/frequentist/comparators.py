"""Every frequentist answer to one contrast of a scorer study, to stand beside the model's."""

from collections.abc import Iterator

from drift.data.label_rows import LabelArray
from drift.data.labels import Labels
from drift.data.scorer_declaration import ModelWeights
from drift.frequentist import post_stratified, rogan_gladen
from drift.frequentist.arm import Arm, Rater, outside_arm, target_arm
from drift.frequentist.estimate import LEVEL, Estimate, by_arm
from drift.frequentist.paired import paired_difference, pairs
from drift.frequentist.prediction_powered import ppi, ppi_contrast
from drift.frequentist.rogan_gladen import DRAWS, Calibrated, calibrated
from drift.frequentist.share import newcombe, wilson
from drift.frequentist.weighting import hajek, hajek_contrast

SEED = 20260801
SEEN = "audited rows alone"
AS_DRAWN = "takes the audit for a random sample of each model's rows"


def comparators(
    labels: Labels,
    treatment: str,
    comparator: str,
    rater: Rater = 0,
    *,
    models: ModelWeights = "equal",
    level: float = LEVEL,
    seed: int = SEED,
    draws: int = DRAWS,
) -> tuple[Estimate, ...]:
    """Prevalence in the `treatment` arm minus that in the `comparator` arm, by every method; always the same list.

    Of the target's rows, models weighing as in `models`, the truth being one rater's labels (its place) or the
    majority's. First the naive contrast, then what the audit within the target says of it unweighted and weighted,
    then the contrast on the same keys, then Rogan and Gladen's correction with each audit outside the target that has
    rows of both arms. A method that the data do not allow is there, undefined, with the reason as its note.
    """
    one, other = (target_arm(labels, arm, rater, models) for arm in (treatment, comparator))
    return (
        newcombe(one.apparent, other.apparent, level),
        newcombe(one.seen, other.seen, level, f"{SEEN} (Newcombe)").noted(AS_DRAWN),
        hajek_contrast(one.weighted, other.weighted, level).noted(_weighting(one, other)),
        *_rogan_gladen_contrasts(_calibrated(one), _calibrated(other), level, seed, draws, "", AS_DRAWN),
        _weighted_bootstrap(one, other, level, seed, draws),
        *_prediction_powered_contrasts(one, other, level),
        *_post_stratified_contrasts(one, other, level, seed, draws),
        _paired(one, other, level, "scorer"),
        _paired(one, other, level, "truth"),
        *_outside(labels, treatment, comparator, (one, other), rater, level, seed, draws),
    )


def prevalence_comparators(
    labels: Labels,
    arm: str,
    rater: Rater = 0,
    *,
    models: ModelWeights = "equal",
    level: float = LEVEL,
    seed: int = SEED,
    draws: int = DRAWS,
) -> tuple[Estimate, ...]:
    """The prevalence in one arm by every method that has one; arguments as in `comparators`."""
    of = target_arm(labels, arm, rater, models)
    drawn, values = _calibrated(of), of.predictive_values()
    weighted = of.calibrated(of.by_design)
    return (
        wilson(of.apparent, level),
        wilson(of.seen, level, f"{SEEN} (Wilson)").noted(AS_DRAWN),
        hajek(of.weighted, level).noted(of.weighting),
        rogan_gladen.delta(drawn, level).noted(AS_DRAWN),
        rogan_gladen.bootstrap(drawn, seed, level, draws).noted(AS_DRAWN),
        rogan_gladen.lang_reiczigel(drawn, level).noted(AS_DRAWN),
        rogan_gladen.bootstrap(weighted, seed, level, draws, "Rogan-Gladen weighted (bootstrap)").noted(of.weighting),
        ppi(of.predicted(), tuned=False, level=level).noted(AS_DRAWN),
        ppi(of.predicted(), level=level).noted(AS_DRAWN),
        ppi(of.predicted_weighted(), level=level, method="PPI++ weighted (Hajek)").noted(of.weighting),
        post_stratified.delta(values, level),
        post_stratified.jeffreys(values, seed, level, draws),
    )


def _calibrated(arm: Arm) -> Calibrated:
    return arm.calibrated(arm.as_drawn)


def _rogan_gladen_contrasts(
    one: Calibrated, other: Calibrated, level: float, seed: int, draws: int, suffix: str, note: str
) -> Iterator[Estimate]:
    """By the delta method, by bootstrap, and after Lang and Reiczigel."""
    named = {kind: f"{kind}{suffix}" for kind in ("Rogan-Gladen (delta)", "Rogan-Gladen (bootstrap)")}
    yield rogan_gladen.delta_contrast(one, other, level, named["Rogan-Gladen (delta)"]).noted(note)
    bootstrap = named["Rogan-Gladen (bootstrap)"]
    yield rogan_gladen.bootstrap_contrast(one, other, seed, level, draws, bootstrap).noted(note)
    yield rogan_gladen.lang_reiczigel_contrast(one, other, level, f"Lang-Reiczigel (MOVER){suffix}").noted(note)


def _weighted_bootstrap(one: Arm, other: Arm, level: float, seed: int, draws: int) -> Estimate:
    weighted = one.calibrated(one.by_design), other.calibrated(other.by_design)
    method = "Rogan-Gladen weighted (bootstrap)"
    return rogan_gladen.bootstrap_contrast(*weighted, seed, level, draws, method).noted(_weighting(one, other))


def _prediction_powered_contrasts(one: Arm, other: Arm, level: float) -> Iterator[Estimate]:
    """PPI and PPI++ with the audit as drawn, then PPI++ with it weighted."""
    drawn = one.predicted(), other.predicted()
    yield ppi_contrast(*drawn, tuned=False, level=level).noted(AS_DRAWN)
    yield ppi_contrast(*drawn, level=level).noted(AS_DRAWN)
    weighted = one.predicted_weighted(), other.predicted_weighted()
    yield ppi_contrast(*weighted, level=level, method="PPI++ weighted (Hajek)").noted(_weighting(one, other))


def _post_stratified_contrasts(one: Arm, other: Arm, level: float, seed: int, draws: int) -> Iterator[Estimate]:
    values = one.predictive_values(), other.predictive_values()
    yield post_stratified.delta_contrast(*values, level)
    yield post_stratified.jeffreys_contrast(*values, seed, level, draws)


def _paired(one: Arm, other: Arm, level: float, name: str) -> Estimate:
    """The contrast of the scorer's labels, or of the truth, on the keys that both arms have it for."""
    rows, other_rows = ({"label": getattr(arm, name), "key": arm.key, "model": arm.model} for arm in (one, other))
    return paired_difference(pairs(rows, other_rows), one.wanted, level, f"paired {name} (clustered by key)")


def _outside(
    labels: Labels,
    treatment: str,
    comparator: str,
    arms: tuple[Arm, Arm],
    rater: Rater,
    level: float,
    seed: int,
    draws: int,
) -> Iterator[Estimate]:
    """Rogan and Gladen's correction of the target with the error rates of each audit outside it."""
    note = "takes its error rates for those of the target"
    for audit in labels.audits:
        seen, other_seen = (outside_arm(labels, arm, audit, rater) for arm in (treatment, comparator))
        if len(seen[0]) and len(other_seen[0]):
            both = _transported(arms[0], seen), _transported(arms[1], other_seen)
            yield from _rogan_gladen_contrasts(*both, level, seed, draws, f", audit {audit}", note)


def _transported(arm: Arm, audit: tuple[LabelArray, LabelArray]) -> Calibrated:
    """The arm's target with error rates from an audit's (scorer labels, truth)."""
    found = calibrated(arm.scorer, *audit)
    return Calibrated(arm.apparent, found.sensitivity, found.specificity)


def _weighting(one: Arm, other: Arm) -> str:
    return by_arm(one.weighting, other.weighting)
