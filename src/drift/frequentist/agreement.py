"""How far two raters agree: share of agreement, Cohen's kappa, and whether agreement is the same in every arm."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint, proportions_chisquare

from drift.frequentist.estimate import LEVEL, Estimate, bounded, normal_interval, undefined
from drift.frequentist.share import UNAUDITED, share, wilson
from drift.scale import IntArray

KAPPA = (-1.0, 1.0)


@dataclass(frozen=True)
class Agreement:
    """Of two raters on the rows that both labelled. `table`: (rater 1's label, rater 2's label) counts."""

    table: IntArray
    percent: Estimate
    kappa: Estimate

    @property
    def n(self) -> int:
        return int(self.table.sum())

    @property
    def disagreements(self) -> int:
        return int(self.table[0, 1] + self.table[1, 0])


@dataclass(frozen=True)
class ChiSquare:
    """Pearson's chi-square test that a share is the same in every group. `note`: what is special, or empty."""

    statistic: float
    df: int
    p_value: float
    note: str = ""


def agreement(first: ArrayLike, second: ArrayLike, level: float = LEVEL) -> Agreement:
    """Agreement of two raters' (row,) labels 0, 1, or -1 where a rater did not label; the share has Wilson's interval.

    Kappa has the normal interval of fleiss1969. Where that fails it is defined as follows. All agree, in both
    categories: kappa 1, its lower limit that of the agreement (Clopper-Pearson) at the margins that were seen. All
    agree, in one category: 0/0, taken as 1, with every value of kappa between the limits. One rater used one category:
    0, with every value between the limits. No row: NaN.
    """
    first, second = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    both = (first != UNAUDITED) & (second != UNAUDITED)
    table = np.zeros((2, 2), dtype=np.int64)
    np.add.at(table, (first[both], second[both]), 1)
    percent = wilson(share((first == second)[both].astype(np.int64)), level, "agreement (Wilson)")
    return Agreement(table, percent, kappa(table, level))


def kappa(table: ArrayLike, level: float = LEVEL) -> Estimate:
    """Cohen's kappa of a (2, 2) table of counts, with its interval; edge cases as in `agreement`."""
    counts = np.asarray(table, dtype=np.int64)
    n, method = int(counts.sum()), "Cohen's kappa (normal)"
    if n == 0:
        return undefined(KAPPA, level, method, 0, "no row was labelled by both raters")
    products = int(counts.sum(axis=0) @ counts.sum(axis=1))
    by_chance = products / n**2
    if products == n**2:
        why = "both raters used one and the same category: kappa is 0/0, taken as 1; nothing is known of it"
        return Estimate(1.0, *KAPPA, level, method, n, why)
    if 0 in counts.sum(axis=0) or 0 in counts.sum(axis=1):
        why = "a rater used one category only: kappa is 0 whatever the other said; nothing is known of it"
        return Estimate(0.0, *KAPPA, level, method, n, why)
    if np.trace(counts) == n:
        least = float(proportion_confint(n, n, alpha=1.0 - level, method="beta")[0])
        lower = (least - by_chance) / (1.0 - by_chance)
        return bounded(1.0, (lower, 1.0), KAPPA, level, method, n, "all agree: lower limit by Clopper-Pearson")
    with np.errstate(invalid="ignore"):  # it takes the root of a variance that rounding can leave at -1e-17
        found = cohens_kappa(counts)
    return normal_interval(float(found.kappa), float(np.sqrt(max(found.var_kappa, 0.0))), KAPPA, level, method, n)


def equal_agreement(first: ArrayLike, second: ArrayLike, arm: ArrayLike) -> ChiSquare:
    """Test that two raters agree equally often in every arm; arms without a row that both labelled are left out."""
    first, second, arm = (np.asarray(values, dtype=np.int64) for values in (first, second, arm))
    both = (first != UNAUDITED) & (second != UNAUDITED)
    n_arms = int(arm.max(initial=-1)) + 1
    n = np.bincount(arm[both], minlength=n_arms)
    return equal_shares(np.bincount(arm[both & (first == second)], minlength=n_arms), n)


def equal_shares(count: ArrayLike, n: ArrayLike) -> ChiSquare:
    """Pearson's chi-square that `count` in `n`, both (group,), has the same share in every group.

    Groups with n = 0 are left out. Where every row counts, or none, the shares are equal: statistic 0, p 1.
    """
    count, n = np.asarray(count, dtype=np.int64), np.asarray(n, dtype=np.int64)
    used = n > 0
    left_out = f"groups without rows left out: {int((~used).sum())}" if not used.all() else ""
    df = max(int(used.sum()) - 1, 0)
    if df == 0:
        return ChiSquare(0.0, 0, 1.0, "fewer than 2 groups have rows")
    if count[used].sum() in (0, n[used].sum()):
        return ChiSquare(0.0, df, 1.0, left_out)
    statistic, p_value, _ = proportions_chisquare(count[used], n[used])
    return ChiSquare(float(statistic), df, float(p_value), left_out)
