"""How few changed labels, or how small an error of each prevalence, take a raw reference contrast away.

Counts and fractions, exactly: .07 of 300 is 21, which a product of floating-point numbers, rounded up, makes 22.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from scipy.special import betainc, betaincinv

from drift.data.scorer_declaration import ScorerContrast
from drift.errors import DriftError
from drift.estimands.quadrature import Floats
from drift.estimands.scored import Scored
from drift.estimands.terms import Ints

JEFFREYS = Fraction(1, 2)
N_NODES = 200  # of a smooth integral over (0, 1): 1e-6 for counts up to 10,000


class NoReferenceError(DriftError):
    """A raw reference contrast was asked of a rater who has no label in one of its arms."""


@dataclass(frozen=True)
class Counts:
    """Labels 1 among labels of each arm of a contrast: numbers of rows, positive numbers of labels."""

    positive: int
    labels: int
    comparator_positive: int
    comparator_labels: int

    def __post_init__(self) -> None:
        arms = ((self.positive, self.labels), (self.comparator_positive, self.comparator_labels))
        if not all(0 <= positive <= labels and labels > 0 for positive, labels in arms):
            raise ValueError(f"{self}: an arm has at least one label, and no more positives than labels")

    @property
    def difference(self) -> Fraction:
        """Share of label 1 in the treatment arm minus that in the comparator arm."""
        return Fraction(self.positive, self.labels) - Fraction(self.comparator_positive, self.comparator_labels)

    def reversed(self) -> "Counts":
        """The two arms exchanged."""
        return Counts(self.comparator_positive, self.comparator_labels, self.positive, self.labels)

    def flipped(self, treatment: int, comparator: int) -> "Counts":
        """With so many positives of the treatment arm made negative and negatives of the other arm made positive."""
        return Counts(
            self.positive - treatment,
            self.labels,
            self.comparator_positive + comparator,
            self.comparator_labels,
        )


@dataclass(frozen=True)
class Fragility:
    """What it takes to undo a raw reference contrast, in numbers of single labels; nothing where it is zero already.

    flips_to_zero: fewest changes, each towards a smaller contrast, after which it is zero or of the other sign.
    flips_to_doubt: fewest after which the sign has less probability than gamma. breakpoint: error of each arm's
    prevalence, in the adverse direction, from which the sign is lost: half the contrast.
    """

    counts: Counts
    sign_probability: float
    flips_to_zero: int
    flips_to_doubt: int
    breakpoint: Fraction


def fragility(counts: Counts, gamma: float) -> Fragility:
    """The flip test and the breakpoint of a contrast."""
    return Fragility(
        counts,
        sign_probability(_positive(counts)),
        flips_to_zero(counts),
        flips_to_doubt(counts, gamma),
        breakpoint_of(counts.difference),
    )


def reference_fragility(
    scored: Scored, contrasts: Sequence[ScorerContrast], rater: str, gamma: float
) -> list[Fragility]:
    """`fragility` of every contrast of one rater's raw labels in the target, each row counted once, as it is.

    Raises `NoReferenceError` naming every arm in which the rater has no label.
    """
    positive, labels = reference_counts(scored, rater)
    code = {name: place for place, name in enumerate(scored.levels["arm"])}
    arms = dict.fromkeys(arm for contrast in contrasts for arm in (contrast.treatment, contrast.comparator))
    absent = [arm for arm in arms if labels[code[arm]] == 0]
    if absent:
        raise NoReferenceError(f"{rater} has no label in the target's arms {', '.join(absent)}")
    found = []
    for contrast in contrasts:
        sides = code[contrast.treatment], code[contrast.comparator]
        numbers = [int(count[side]) for side in sides for count in (positive, labels)]
        found.append(fragility(Counts(*numbers), gamma))
    return found


def reference_counts(scored: Scored, rater: str) -> tuple[Ints, Ints]:
    """(arm,) labels 1, and labels, of one rater in the target population."""
    seen = scored.pattern_label[:, 1 + scored.levels["rater"].index(rater)]
    arm, n_arms = scored.cell_arm[scored.pattern_cell], len(scored.levels["arm"])
    count, inside = scored.pattern_count, scored.pattern_target
    marks = (inside & (seen == 1), inside & (seen >= 0))
    positive, labels = (np.bincount(arm[mark], count[mark], n_arms).astype(np.int64) for mark in marks)
    return positive, labels


def flips_to_zero(counts: Counts) -> int:
    """Fewest single-label changes, each shrinking the contrast, that bring it to zero or past it.

    One change moves the arm's share by 1 / labels, so those of the smaller arm go first.
    """
    towards = _positive(counts)
    left = towards.positive * towards.comparator_labels - towards.comparator_positive * towards.labels
    steps = sorted(
        [
            (towards.comparator_labels, towards.positive),  # what a change of the treatment arm takes off `left`
            (towards.labels, towards.comparator_labels - towards.comparator_positive),
        ],
        reverse=True,
    )
    flips = 0
    for step, available in steps:
        made = min(available, -(-left // step))
        flips, left = flips + made, left - made * step
        if left <= 0:
            break
    return flips


def flips_to_doubt(counts: Counts, gamma: float) -> int:
    """Fewest single-label changes, each shrinking the contrast, after which `sign_probability` is below gamma.

    0 if it is below already. Of all ways to share the changes between the arms, the one that counts most is taken.
    """
    towards = _positive(counts)
    low, high = 0, flips_to_zero(counts)  # at `high` the shares are equal or reversed
    while _least(towards, high) >= gamma:  # equal shares of unequal arms may still be skewed
        high += 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _least(towards, middle) < gamma else (middle + 1, high)
    return low


def flips_for(difference: Fraction, labels: int) -> int:
    """Changes that bring a contrast of two arms of so many labels each to zero: Fraction("0.07") of 300 is 21."""
    return math.ceil(abs(difference) * labels)


def sign_probability(counts: Counts) -> float:
    """P(treatment prevalence > comparator prevalence), independent Jeffreys priors Beta(1/2, 1/2)."""
    return float(_superiority(counts, np.zeros(1, np.int64), np.zeros(1, np.int64))[0])


def breakpoint_of(difference: Fraction) -> Fraction:
    """Error of each arm's prevalence, in the adverse direction, from which a contrast's sign is lost."""
    return abs(difference) / 2


def sign_survives(difference: Fraction, error: Fraction) -> bool:
    """Whether a contrast keeps its sign if each arm's prevalence may be off by `error`: |difference| > 2 error."""
    return abs(difference) > 2 * error


def _positive(counts: Counts) -> Counts:
    return counts if counts.difference >= 0 else counts.reversed()


def _least(counts: Counts, flips: int) -> float:
    """Smallest sign probability that `flips` changes can bring about; 0 if there are not so many to make."""
    most, rest = counts.positive, counts.comparator_labels - counts.comparator_positive
    treatment = np.arange(max(0, flips - rest), min(flips, most) + 1)
    return float(_superiority(counts, treatment, flips - treatment).min(initial=1.0)) if treatment.size else 0.0


def _superiority(counts: Counts, treatment: Ints, comparator: Ints) -> Floats:
    """(way,) P(p > q) after so many flips in each arm: the mean over p's quantiles of P(q < p)."""
    half = float(JEFFREYS)
    node, weight = _nodes()
    a, b = half + counts.positive - treatment, half + counts.labels - counts.positive + treatment
    c = half + counts.comparator_positive + comparator
    d = half + counts.comparator_labels - counts.comparator_positive - comparator
    quantile = betaincinv(a[:, None], b[:, None], node)
    return np.asarray(betainc(c[:, None], d[:, None], quantile) @ weight, np.float64)


@cache
def _nodes() -> tuple[Floats, Floats]:
    node, weight = np.polynomial.legendre.leggauss(N_NODES)
    return 0.5 * (node + 1.0), 0.5 * weight
