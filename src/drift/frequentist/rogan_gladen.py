"""Prevalence corrected for the scorer's sensitivity and specificity (rogan1978), with three kinds of interval.

All three treat the target's labels and the audit as independent: exact for an audit elsewhere, an approximation for
one that lies within the target. All assume error rates of the audit that are those of the target, which an audit that
was sampled on the scorer's label does not have unless it is weighted.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from drift.frequentist.estimate import (
    DIFFERENCE,
    LEVEL,
    SHARE,
    Estimate,
    bounded,
    by_arm,
    critical,
    from_draws,
    joined,
    mover,
    normal_interval,
    undefined,
)
from drift.frequentist.share import UNAUDITED, Share, share, weights_of
from drift.scale import FloatArray

DRAWS = 100_000  # Monte Carlo error of a 95% limit is then below 1% of the interval's width
CERTAIN = "sensitivity or specificity estimated as 1 or 0: the delta method takes it as known"


@dataclass(frozen=True)
class Calibrated:
    """What Rogan and Gladen's correction of one arm needs: three shares.

    `apparent`: of scorer label 1 in the target. `sensitivity`: of scorer label 1 among audited rows of truth 1.
    `specificity`: of scorer label 0 among audited rows of truth 0.
    """

    apparent: Share
    sensitivity: Share
    specificity: Share

    @property
    def audited(self) -> int:
        return self.sensitivity.rows + self.specificity.rows

    @property
    def informedness(self) -> float:
        """Sensitivity + specificity - 1; NaN where either is unknown."""
        return self.sensitivity.value + self.specificity.value - 1.0

    @property
    def plug_in(self) -> float:
        """The corrected prevalence, not clipped; NaN where it is not defined."""
        return float(corrected(self.apparent.value, self.sensitivity.value, self.specificity.value))

    @property
    def problem(self) -> str:
        """Why there is no plug-in estimate; empty if there is one."""
        absent = [("target rows", self.apparent), ("audited positives", self.sensitivity)]
        absent += [("audited negatives", self.specificity)]
        lacking = [name for name, found in absent if found.rows == 0]
        if lacking:
            return f"no {' and no '.join(lacking)}"
        return "sensitivity + specificity = 1: the scorer's labels carry nothing" if np.isnan(self.plug_in) else ""

    @property
    def note(self) -> str:
        """What to know about the plug-in estimate."""
        if self.problem:
            return self.problem
        total = self.informedness + 1.0
        inverted = f"sensitivity + specificity = {total:.3f} <= 1" if self.informedness < 0.0 else ""
        outside = "" if 0.0 <= self.plug_in <= 1.0 else f"{self.plug_in:.3f} before it was clipped to 0..1"
        return joined([inverted, outside, self.apparent.note])


def calibrated(scorer: ArrayLike, scored: ArrayLike, truth: ArrayLike, weight: ArrayLike | None = None) -> Calibrated:
    """An arm from its (target row,) scorer labels, and an audit's (row,) scorer labels and truth, -1 not audited.

    `weight`: (row,) of the audit's rows, for an audit whose rows stand for unequal parts of the target.
    """
    scored, truth = np.asarray(scored), np.asarray(truth)
    weight = weights_of(scored.shape, weight)
    positive, negative = truth == 1, truth == 0
    if not (positive | negative | (truth == UNAUDITED)).all():
        raise ValueError("truth is 0, 1 or -1")
    return Calibrated(
        share(scorer), share(scored[positive], weight[positive]), share(1 - scored[negative], weight[negative])
    )


def corrected(apparent: ArrayLike, sensitivity: ArrayLike, specificity: ArrayLike) -> FloatArray:
    """(apparent + specificity - 1) / (sensitivity + specificity - 1), not clipped; NaN where the divisor is 0."""
    gain = np.asarray(sensitivity, np.float64) + np.asarray(specificity, np.float64) - 1.0
    flat = np.abs(gain) < 1e-12  # .7 + .3 - 1 is -1e-16
    above = np.asarray(apparent, np.float64) + np.asarray(specificity, np.float64) - 1.0
    return np.asarray(np.where(flat, np.nan, above / np.where(flat, 1.0, gain)))


def delta(arm: Calibrated, level: float = LEVEL, method: str = "Rogan-Gladen (delta)") -> Estimate:
    """The normal interval by the delta method (rogan1978, equation for the variance with both rates estimated).

    Variance = (p(1-p)/n + prevalence^2 se(1-se)/n1 + (1-prevalence)^2 sp(1-sp)/n0) / (se + sp - 1)^2.
    """
    if arm.problem:
        return undefined(SHARE, level, method, arm.audited, arm.problem)
    error = float(np.sqrt(_variance(arm)))
    return normal_interval(arm.plug_in, error, SHARE, level, method, arm.audited, joined([arm.note, _certain(arm)]))


def delta_contrast(
    treatment: Calibrated, comparator: Calibrated, level: float = LEVEL, method: str = "Rogan-Gladen (delta)"
) -> Estimate:
    """Difference of two corrected prevalences, each clipped to 0..1; the variances of the two arms add."""
    n, problem = treatment.audited + comparator.audited, by_arm(treatment.problem, comparator.problem)
    if problem:
        return undefined(DIFFERENCE, level, method, n, problem)
    notes = by_arm(*(joined([arm.note, _certain(arm)]) for arm in (treatment, comparator)))
    error = float(np.sqrt(_variance(treatment) + _variance(comparator)))
    return normal_interval(_plug_in(treatment, comparator), error, DIFFERENCE, level, method, n, notes)


def bootstrap(
    arm: Calibrated, seed: int, level: float = LEVEL, draws: int = DRAWS, method: str = "Rogan-Gladen (bootstrap)"
) -> Estimate:
    """The percentile interval of draws, around the clipped plug-in estimate.

    The three shares are drawn from their Jeffreys posteriors and each corrected prevalence is clipped to 0..1. Where
    audited positives or negatives are absent there is no plug-in: the median of the draws stands for it.
    """
    value, inverted = corrected_draws(arm, np.random.default_rng(seed), draws)
    centre, note = _centre(arm.plug_in, value, arm.problem)
    return from_draws(centre, value, SHARE, level, method, arm.audited, joined([arm.note, inverted, note]))


def bootstrap_contrast(
    treatment: Calibrated,
    comparator: Calibrated,
    seed: int,
    level: float = LEVEL,
    draws: int = DRAWS,
    method: str = "Rogan-Gladen (bootstrap)",
) -> Estimate:
    """The percentile interval of differences of draws from both arms, around the difference of clipped plug-ins."""
    rng = np.random.default_rng(seed)
    of_treatment, inverted_treatment = corrected_draws(treatment, rng, draws)
    of_comparator, inverted_comparator = corrected_draws(comparator, rng, draws)
    value = of_treatment - of_comparator
    centre, note = _centre(_plug_in(treatment, comparator), value, by_arm(treatment.problem, comparator.problem))
    notes = by_arm(joined([treatment.note, inverted_treatment]), joined([comparator.note, inverted_comparator]))
    n = treatment.audited + comparator.audited
    return from_draws(centre, value, DIFFERENCE, level, method, n, joined([notes, note]))


def corrected_draws(arm: Calibrated, rng: np.random.Generator, draws: int) -> tuple[FloatArray, str]:
    """(draw,) corrected prevalences clipped to 0..1, and a note on draws in which the scorer's labels are inverted.

    A share of k in n is drawn from Beta(k + 1/2, n - k + 1/2); of nothing at all from Beta(1/2, 1/2).
    """
    apparent, se, sp = (
        jeffreys_draws(found.count, found.n, rng, draws) for found in (arm.apparent, arm.sensitivity, arm.specificity)
    )
    inverted = float(np.mean(se + sp <= 1.0))
    note = f"sensitivity + specificity <= 1 in {inverted:.1%} of draws" if inverted >= 0.001 else ""
    return np.clip(np.nan_to_num(corrected(apparent, se, sp), nan=0.5), 0.0, 1.0), note


def jeffreys_draws(count: float, n: float, rng: np.random.Generator, draws: int) -> FloatArray:
    """(draw,) from Beta(count + 1/2, n - count + 1/2)."""
    return rng.beta(count + 0.5, n - count + 0.5, draws)


def lang_reiczigel(arm: Calibrated, level: float = LEVEL, method: str = "Lang-Reiczigel") -> Estimate:
    """The adjusted interval of Lang and Reiczigel (lang2014, equations 6, 7, 16 and 17) around the clipped plug-in.

    Agresti-Coull's adjustment of the apparent prevalence (z^2 rows), one success and one failure added to sensitivity
    and specificity, and a shift for their skewness. Meant for sensitivity and specificity of at least .5.
    """
    if arm.problem:
        return undefined(SHARE, level, method, arm.audited, arm.problem)
    z = critical(level)
    apparent, n = _added(arm.apparent, z**2)
    sensitivity, n_positive = _added(arm.sensitivity, 2.0)
    specificity, n_negative = _added(arm.specificity, 2.0)
    centre = float(corrected(apparent, sensitivity, specificity))
    if np.isnan(centre):
        why = "adjusted sensitivity + specificity = 1: the scorer's labels carry nothing"
        return undefined(SHARE, level, method, arm.audited, why)
    of_positive = sensitivity * (1.0 - sensitivity) / n_positive
    of_negative = specificity * (1.0 - specificity) / n_negative
    shift = 2.0 * z**2 * (centre * of_positive - (1.0 - centre) * of_negative)
    variance = apparent * (1.0 - apparent) / n + centre**2 * of_positive + (1.0 - centre) ** 2 * of_negative
    half = z * float(np.sqrt(variance)) / abs(sensitivity + specificity - 1.0)
    limits = (centre + shift - half, centre + shift + half)
    return bounded(arm.plug_in, limits, SHARE, level, method, arm.audited, arm.note)


def lang_reiczigel_contrast(
    treatment: Calibrated, comparator: Calibrated, level: float = LEVEL, method: str = "Lang-Reiczigel (MOVER)"
) -> Estimate:
    """Difference of two arms, recovered from their Lang-Reiczigel intervals by MOVER (zou2008)."""
    return mover(lang_reiczigel(treatment, level), lang_reiczigel(comparator, level), method)


def _added(of: Share, rows: float) -> tuple[float, float]:
    """The share and its number after `rows` rows more, half of them with label 1."""
    return (of.count + rows / 2.0) / (of.n + rows), of.n + rows


def _variance(arm: Calibrated) -> float:
    prevalence = arm.plug_in
    errors = prevalence**2 * arm.sensitivity.variance + (1.0 - prevalence) ** 2 * arm.specificity.variance
    return (arm.apparent.variance + errors) / arm.informedness**2


def _plug_in(treatment: Calibrated, comparator: Calibrated) -> float:
    return float(np.clip(treatment.plug_in, 0.0, 1.0) - np.clip(comparator.plug_in, 0.0, 1.0))


def _centre(plug_in: float, draws: FloatArray, problem: str) -> tuple[float, str]:
    if problem:
        return float(np.median(draws)), "median of Jeffreys draws: the prior decides what is absent"
    return plug_in, ""


def _certain(arm: Calibrated) -> str:
    return CERTAIN if {arm.sensitivity.value, arm.specificity.value} & {0.0, 1.0} else ""
