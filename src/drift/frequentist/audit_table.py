"""Counts of the scorer against a rater, by arm and stratum, with the rates that follow from them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drift.frequentist.estimate import LEVEL, Estimate
from drift.frequentist.share import UNAUDITED, Share, clopper_pearson, wilson

Interval = Literal["wilson", "clopper-pearson"]
INTERVALS: Mapping[Interval, Callable[[Share, float, str], Estimate]] = {
    "wilson": wilson,
    "clopper-pearson": clopper_pearson,
}
ALL = "all"


@dataclass(frozen=True)
class Confusion:
    """Audited rows by scorer label and truth. `rows`: all of them, also those that were not audited."""

    tp: int
    fp: int
    fn: int
    tn: int
    rows: int

    @property
    def audited(self) -> int:
        return self.tp + self.fp + self.fn + self.tn

    @property
    def f1(self) -> float:
        """2 TP / (2 TP + FP + FN); 1 where nothing is positive by either, for then nothing is wrong."""
        scored = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / scored if scored else 1.0

    @property
    def bias(self) -> float:
        """(FP - FN) / audited: share by the scorer minus share in truth; NaN where nothing was audited."""
        return (self.fp - self.fn) / self.audited if self.audited else float("nan")

    def rate(self, name: str, interval: Interval = "wilson", level: float = LEVEL) -> Estimate:
        """One of `RATES` with its interval: undefined, with 0 and 1 as limits, where its denominator is 0."""
        count, n = RATES[name](self)
        of = Share(count / n if n else float("nan"), float(n), n)
        return INTERVALS[interval](of, level, f"{name} ({interval})")


RATES: Mapping[str, Callable[[Confusion], tuple[int, int]]] = {  # name -> count, out of
    "sensitivity": lambda of: (of.tp, of.tp + of.fn),
    "specificity": lambda of: (of.tn, of.tn + of.fp),
    "fpr": lambda of: (of.fp, of.tn + of.fp),
    "fnr": lambda of: (of.fn, of.tp + of.fn),
    "precision": lambda of: (of.tp, of.tp + of.fp),
    "prevalence": lambda of: (of.tp + of.fn, of.audited),
    "accuracy": lambda of: (of.tp + of.tn, of.audited),
}


@dataclass(frozen=True)
class AuditRow:
    """One arm's counts, in one stratum or in all."""

    arm: str
    stratum: str
    counts: Confusion


def confusion(scorer: ArrayLike, truth: ArrayLike) -> Confusion:
    """Counts from (row,) scorer labels 0 or 1 and truth 0, 1, or -1 where not audited."""
    scorer, truth = np.asarray(scorer), np.asarray(truth)
    seen = truth != UNAUDITED
    tp, fp, fn, tn = (
        int(((scorer[seen] == label) & (truth[seen] == true)).sum()) for label, true in ((1, 1), (1, 0), (0, 1), (0, 0))
    )
    return Confusion(tp, fp, fn, tn, len(scorer))


def audit_table(
    scorer: ArrayLike,
    truth: ArrayLike,
    arm: ArrayLike,
    arms: Sequence[str],
    stratum: ArrayLike | None = None,
    strata: Sequence[str] = (),
) -> tuple[AuditRow, ...]:
    """Every arm, and below it its strata that have rows where `stratum` gives codes into `strata`.

    `scorer`, `truth`, `arm`, `stratum`: (row,), as in `confusion` and as codes.
    """
    scorer, truth, arm = np.asarray(scorer), np.asarray(truth), np.asarray(arm)
    rows: list[AuditRow] = []
    for code, name in enumerate(arms):
        in_arm = arm == code
        rows.append(AuditRow(name, ALL, confusion(scorer[in_arm], truth[in_arm])))
        for place, label in enumerate(strata if stratum is not None else ()):
            inside = in_arm & (np.asarray(stratum) == place)
            if inside.any():
                rows.append(AuditRow(name, label, confusion(scorer[inside], truth[inside])))
    return tuple(rows)


def majority(rating: ArrayLike) -> NDArray[np.int8]:
    """(row,) label that most raters gave: 0 or 1; -1 where nobody labelled the row or as many said 0 as 1.

    `rating`: (row, rater) 0, 1, or -1 where that rater did not label it.
    """
    rating = np.asarray(rating)
    lead = (rating == 1).sum(axis=1) - (rating == 0).sum(axis=1)
    return np.where(lead > 0, 1, np.where(lead < 0, 0, UNAUDITED)).astype(np.int8)
