"""Prevalence from predictive values: how often truth is 1 given the scorer's label and the stratum, by arm.

An audit that was sampled on the scorer's label, the stratum, or both, leaves these shares alone, so that the estimate
holds for stress audits too (the direct estimator of tenenbein1970, after post-stratification by holt1979).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from drift.frequentist.estimate import (
    DIFFERENCE,
    LEVEL,
    SHARE,
    Estimate,
    by_arm,
    from_draws,
    joined,
    normal_interval,
    undefined,
)
from drift.frequentist.rogan_gladen import DRAWS, jeffreys_draws
from drift.frequentist.share import UNAUDITED, weights_of
from drift.frequentist.weighting import collapsed_cells
from drift.scale import FloatArray, IntArray


@dataclass(frozen=True)
class PredictiveValues:
    """Of one arm. `mass`: (cell,) the cell's part of the target, sum 1. `positive`, `audited`: (cell,) audited counts.

    A cell is a combination of scorer label and stratum that occurs in the target. `united`: how many cells had no
    audited row and were therefore united with the others of their scorer label.
    """

    mass: FloatArray
    positive: IntArray
    audited: IntArray
    united: int = 0

    @property
    def n(self) -> int:
        return int(self.audited.sum())

    @property
    def problem(self) -> str:
        """Why there is no plug-in estimate; empty if there is one."""
        if len(self.mass) == 0:
            return "no target rows"
        unseen = float(self.mass[self.audited == 0].sum())
        return f"{unseen:.1%} of the target has a scorer label of which no row was audited" if unseen else ""

    @property
    def note(self) -> str:
        united = f"cells of scorer label x stratum without an audited row united with others: {self.united}"
        return self.problem or (united if self.united else "")


def predictive_values(
    scorer: ArrayLike, truth: ArrayLike, stratum: ArrayLike | None = None, weight: ArrayLike | None = None
) -> PredictiveValues:
    """An arm's target: (row,) scorer labels, truth -1 where not audited, stratum codes, target weights."""
    scorer, truth = np.asarray(scorer, dtype=np.int64), np.asarray(truth, dtype=np.int64)
    weight = weights_of(scorer.shape, weight)
    stratum = np.zeros_like(scorer) if stratum is None else np.asarray(stratum, dtype=np.int64)
    audited = truth != UNAUDITED
    cell, united = collapsed_cells(stratum * 2 + scorer, scorer, audited)
    n_cells = int(cell.max(initial=-1)) + 1
    mass = np.bincount(cell, weight, n_cells)
    counts = (np.bincount(cell[chosen], minlength=n_cells).astype(np.int64) for chosen in (truth == 1, audited))
    positive, seen = counts
    still_empty = int((seen == 0).sum())
    return PredictiveValues(mass / mass.sum() if n_cells else mass, positive, seen, united - still_empty)


def delta(arm: PredictiveValues, level: float = LEVEL, method: str = "post-stratified (delta)") -> Estimate:
    """Sum of mass x predictive value; variance sum of mass^2 v (1 - v) / audited, the masses being known."""
    if arm.problem:
        return undefined(SHARE, level, method, arm.n, arm.problem)
    value, variance = _plug_in(arm)
    return normal_interval(value, float(np.sqrt(variance)), SHARE, level, method, arm.n, arm.note)


def delta_contrast(
    treatment: PredictiveValues,
    comparator: PredictiveValues,
    level: float = LEVEL,
    method: str = "post-stratified (delta)",
) -> Estimate:
    """Difference of two arms; their variances add."""
    n, problem = treatment.n + comparator.n, by_arm(treatment.problem, comparator.problem)
    if problem:
        return undefined(DIFFERENCE, level, method, n, problem)
    (value, variance), (other, other_variance) = _plug_in(treatment), _plug_in(comparator)
    error = float(np.sqrt(variance + other_variance))
    return normal_interval(value - other, error, DIFFERENCE, level, method, n, by_arm(treatment.note, comparator.note))


def jeffreys(
    arm: PredictiveValues, seed: int, level: float = LEVEL, draws: int = DRAWS,
    method: str = "post-stratified (Jeffreys)",
) -> Estimate:  # fmt: skip
    """Mean and percentile interval of draws: each predictive value from its Jeffreys posterior, the masses known."""
    if len(arm.mass) == 0:
        return undefined(SHARE, level, method, arm.n, arm.problem)
    value = prevalence_draws(arm, np.random.default_rng(seed), draws)
    return from_draws(float(value.mean()), value, SHARE, level, method, arm.n, _prior_note(arm))


def jeffreys_contrast(
    treatment: PredictiveValues, comparator: PredictiveValues, seed: int, level: float = LEVEL, draws: int = DRAWS,
    method: str = "post-stratified (Jeffreys)",
) -> Estimate:  # fmt: skip
    """Mean and percentile interval of differences of draws of two independent arms."""
    n = treatment.n + comparator.n
    if not (len(treatment.mass) and len(comparator.mass)):
        return undefined(DIFFERENCE, level, method, n, by_arm(treatment.problem, comparator.problem))
    rng = np.random.default_rng(seed)
    value = prevalence_draws(treatment, rng, draws) - prevalence_draws(comparator, rng, draws)
    note = by_arm(_prior_note(treatment), _prior_note(comparator))
    return from_draws(float(value.mean()), value, DIFFERENCE, level, method, n, note)


def prevalence_draws(arm: PredictiveValues, rng: np.random.Generator, draws: int) -> FloatArray:
    """(draw,) sums of mass x draw from Beta(positive + 1/2, audited - positive + 1/2)."""
    value = np.zeros(draws)
    for mass, positive, audited in zip(arm.mass, arm.positive, arm.audited, strict=True):
        value += mass * jeffreys_draws(float(positive), float(audited), rng, draws)
    return value


def _plug_in(arm: PredictiveValues) -> tuple[float, float]:
    value = arm.positive / arm.audited
    return float(arm.mass @ value), float((arm.mass**2 * value * (1.0 - value) / arm.audited).sum())


def _prior_note(arm: PredictiveValues) -> str:
    return joined([arm.note, "the prior alone stands for it" if arm.problem else ""])
