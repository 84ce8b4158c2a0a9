"""What every frequentist method returns: an estimate, its confidence interval, and what to know about it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm

from drift.scale import FloatArray

LEVEL = 0.95
SHARE, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)  # what a prevalence and a contrast of two can be
ROUNDING = 1e-12
COLLAPSED = "interval of width 0: normal theory says nothing at a share of 0 or 1"


@dataclass(frozen=True)
class Estimate:
    """A prevalence (0..1) or a contrast of two (-1..1, treatment minus comparator) with its confidence interval.

    `level`: of the interval, such as .95. `n`: rows, audited rows of a method that corrects by an audit. `note`: what
    limits it, or empty. Where the data leave it undefined the estimate is NaN, the interval is everything that is
    possible, and `note` says why.
    """

    estimate: float
    lower: float
    upper: float
    level: float
    method: str
    n: int
    note: str = ""

    @property
    def width(self) -> float:
        return self.upper - self.lower

    @property
    def defined(self) -> bool:
        return not np.isnan(self.estimate)

    def covers(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    def noted(self, *notes: str) -> "Estimate":
        """The same with these notes behind its own; empty ones add nothing."""
        return replace(self, note=joined([self.note, *notes]))


def joined(notes: Iterable[str]) -> str:
    """Notes as one text: each once, in order, without empty ones."""
    return "; ".join(dict.fromkeys(note for note in notes if note))


def critical(level: float) -> float:
    """The normal quantile of a two-sided interval: 1.96 for .95. Raises `ValueError` for a level outside (0, 1)."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"a confidence level lies between 0 and 1, not at {level}")
    return float(norm.ppf(0.5 + level / 2.0))


def clipped(value: float, bounds: tuple[float, float]) -> float:
    return float(np.clip(value, *bounds))


def bounded(
    value: float, limits: tuple[float, float], bounds: tuple[float, float], level: float, method: str, n: int, note: str
) -> Estimate:
    """The estimate with itself and both limits kept within what is possible."""
    lower, upper = (clipped(limit, bounds) for limit in limits)
    return Estimate(clipped(value, bounds), lower, upper, level, method, n, note)


def normal_interval(
    value: float, error: float, bounds: tuple[float, float], level: float, method: str, n: int, note: str = ""
) -> Estimate:
    """Estimate -/+ critical value x standard error, clipped to `bounds`; a standard error of 0 is noted."""
    half = critical(level) * error
    notes = joined([note, collapsed(error)])
    return bounded(value, (value - half, value + half), bounds, level, method, n, notes)


def collapsed(error: float) -> str:
    """The note that a standard error of 0, but for rounding, deserves; empty for any other."""
    return COLLAPSED if error < ROUNDING else ""


def undefined(bounds: tuple[float, float], level: float, method: str, n: int, why: str) -> Estimate:
    """No estimate: NaN with every possible value between the limits."""
    return Estimate(float("nan"), *bounds, level, method, n, why)


def from_draws(
    value: float, draws: FloatArray, bounds: tuple[float, float], level: float, method: str, n: int, note: str = ""
) -> Estimate:
    """Equal-tailed percentile interval of (draw,) values around `value`."""
    tail = (1.0 - level) / 2.0
    lower, upper = np.quantile(draws, [tail, 1.0 - tail])
    return bounded(value, (float(lower), float(upper)), bounds, level, method, n, note)


def mover(treatment: Estimate, comparator: Estimate, method: str) -> Estimate:
    """Difference of two independent estimates from their intervals, which need not be symmetric (zou2008).

    The method of variance estimates recovery: from d, down by sqrt((p1 - l1)^2 + (u2 - p2)^2) and up by
    sqrt((u1 - p1)^2 + (p2 - l2)^2). Of two Wilson intervals this is Newcombe's interval.
    """
    if not (treatment.defined and comparator.defined):
        return _undefined_contrast(treatment, comparator, method)
    value = treatment.estimate - comparator.estimate
    down = np.hypot(_below(treatment), _above(comparator))
    up = np.hypot(_above(treatment), _below(comparator))
    limits = (value - float(down), value + float(up))
    return bounded(value, limits, DIFFERENCE, treatment.level, method, *_of_both(treatment, comparator))


def _below(estimate: Estimate) -> float:
    return max(estimate.estimate - estimate.lower, 0.0)


def _above(estimate: Estimate) -> float:
    return max(estimate.upper - estimate.estimate, 0.0)


def _undefined_contrast(treatment: Estimate, comparator: Estimate, method: str) -> Estimate:
    n, note = _of_both(treatment, comparator)
    return undefined(DIFFERENCE, treatment.level, method, n, note)


def _of_both(treatment: Estimate, comparator: Estimate) -> tuple[int, str]:
    """Rows of both arms, and the notes of both by arm."""
    return treatment.n + comparator.n, by_arm(treatment.note, comparator.note)


def by_arm(treatment: str, comparator: str) -> str:
    """Notes on two arms as one text."""
    if treatment == comparator:
        return treatment
    named = (("treatment", treatment), ("comparator", comparator))
    return "; ".join(f"{arm}: {note}" for arm, note in named if note)
