"""Shares of label 1 under target weights, and the naive estimates that take the scorer's labels for the truth."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from drift.frequentist.estimate import DIFFERENCE, LEVEL, SHARE, Estimate, bounded, by_arm, undefined
from drift.scale import FloatArray

UNAUDITED = -1
UNEVEN = "rows weigh unequally: n is Kish's effective number"


@dataclass(frozen=True)
class Share:
    """A share of label 1 as if from `n` independent rows.

    `value`: 0..1, NaN where there is no row. `n`: rows, or where they weigh unequally Kish's effective number
    (sum w)^2 / sum w^2 (kish1965). `rows`: how many there are. `note`: says so where the two differ.
    """

    value: float
    n: float
    rows: int

    @property
    def count(self) -> float:
        """Rows with label 1; a whole number where all weigh alike."""
        return 0.0 if self.rows == 0 else self.value * self.n

    @property
    def variance(self) -> float:
        """Binomial variance of `value`; NaN where there is no row."""
        return self.value * (1.0 - self.value) / self.n if self.n else float("nan")

    @property
    def note(self) -> str:
        return "" if np.isclose(self.n, self.rows, rtol=1e-9) else UNEVEN


def share(label: ArrayLike, weight: ArrayLike | None = None) -> Share:
    """Share of label 1 among (row,) labels 0 or 1, each weighing 1 or its (row,) `weight`, at least 0.

    Rows of weight 0 are left out. Raises `ValueError` for other labels, or a negative or infinite weight.
    """
    label = np.asarray(label)
    if not np.isin(label, (0, 1)).all():
        raise ValueError("labels are 0 or 1")
    weight = weights_of(label.shape, weight)
    rows = int((weight > 0).sum())
    if rows == 0:
        return Share(float("nan"), 0.0, 0)
    total, square = float(weight.sum()), float((weight**2).sum())
    n = float(rows) if np.ptp(weight[weight > 0]) == 0.0 else total**2 / square
    return Share(float((weight * label).sum()) / total, n, rows)


def weights_of(shape: tuple[int, ...], weight: ArrayLike | None) -> FloatArray:
    """The weights as floats, all 1 where there are none. Raises `ValueError` for what cannot be a weight."""
    if weight is None:
        return np.ones(shape)
    checked = np.asarray(weight, dtype=np.float64)
    if checked.shape != shape or not (np.isfinite(checked) & (checked >= 0)).all():
        raise ValueError("weights are finite, at least 0, and one a row")
    return checked


def wilson(of: Share, level: float = LEVEL, method: str = "naive (Wilson)") -> Estimate:
    """The share with Wilson's score interval (wilson1927)."""
    if of.rows == 0:
        return undefined(SHARE, level, method, 0, "no rows")
    limits = proportion_confint(of.count, of.n, alpha=1.0 - level, method="wilson")
    return bounded(of.value, limits, SHARE, level, method, of.rows, of.note)


def clopper_pearson(of: Share, level: float = LEVEL, method: str = "naive (Clopper-Pearson)") -> Estimate:
    """The share with the exact interval (clopper1934)."""
    if of.rows == 0:
        return undefined(SHARE, level, method, 0, "no rows")
    limits = proportion_confint(of.count, of.n, alpha=1.0 - level, method="beta")
    return bounded(of.value, limits, SHARE, level, method, of.rows, of.note)


def newcombe(treatment: Share, comparator: Share, level: float = LEVEL, method: str = "naive (Newcombe)") -> Estimate:
    """Difference of two independent shares with Newcombe's hybrid score interval (newcombe1998, method 10)."""
    return _contrast(treatment, comparator, level, method, "newcomb")


def wald(treatment: Share, comparator: Share, level: float = LEVEL, method: str = "naive (Wald)") -> Estimate:
    """Difference of two independent shares with the normal interval; of width 0 where both shares are 0 or 1."""
    return _contrast(treatment, comparator, level, method, "wald")


def _contrast(treatment: Share, comparator: Share, level: float, method: str, kind: str) -> Estimate:
    n = treatment.rows + comparator.rows
    if not (treatment.rows and comparator.rows):
        return undefined(DIFFERENCE, level, method, n, "an arm has no rows")
    limits = confint_proportions_2indep(
        treatment.count, treatment.n, comparator.count, comparator.n, method=kind, compare="diff", alpha=1.0 - level
    )
    note = by_arm(treatment.note, comparator.note)
    return bounded(treatment.value - comparator.value, limits, DIFFERENCE, level, method, n, note)
