"""What a misclassification model is built on: cells, label patterns and their counts, as plain arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray
from scipy.stats import chi2_contingency
from scipy.stats.contingency import expected_freq

from drift.data.labels import Labels
from drift.data.patterns import Patterns, collapse
from drift.models.frame import Frame

N_NODES = 15  # of the shared factor: exact to 1e-6 for rho up to .8
CLEAR = 4.0  # chi-square a degree of freedom from which the arms' error rates surely differ
RARE = 2.0  # errors expected in an arm below which chi-square says little
MOST_COMPLETED = 6  # raters of one row up to which unseen combinations of their labels get a count of 0

Array = NDArray[Any]


@dataclass(frozen=True)
class Assumptions:
    """What a card takes for granted about the raters.

    rater_prior: (2,) location and spread of their error probits. reference: the rater who is the truth, or None.
    shares: which tests share an error factor: none, the raters, or the scorer too.
    """

    rater_prior: Array
    reference: str | None = None
    shares: str = "none"


def label_terms(labels: Labels) -> tuple[str, ...]:
    """The terms that the data can tell: a factor with one level has none."""
    several = {factor: len(labels.levels[factor]) > 1 for factor in ("arm", "model", "stratum")}
    terms = [factor for factor in ("arm", "model", "stratum") if several[factor]]
    terms += [f"arm:{factor}" for factor in ("model", "stratum") if several["arm"] and several[factor]]
    return tuple(terms)


def labels_frame(labels: Labels, assumptions: Assumptions) -> Frame:
    """The arrays of the likelihood and of the priors, and the names of all levels."""
    patterns = collapse(labels)
    cell, label, count = _completed(patterns)
    n_raters, n_arms = len(labels.raters), len(labels.levels["arm"])
    side, population = patterns.cell_population * n_arms + patterns.cell_arm, len(labels.levels["population"])
    dependent = assumptions.shares != "none"
    node, weight = hermegauss(N_NODES) if dependent else (np.zeros(1), np.ones(1))
    arrays: dict[str, Array] = {
        "cell_arm": patterns.cell_arm,
        "cell_model": patterns.cell_model,
        "cell_stratum": patterns.cell_stratum,
        "cell_population": patterns.cell_population,
        "cell_side": side,
        "cell_rater": np.zeros_like(side),
        "pattern_cell": cell,
        "pattern_label": label.astype(np.int64),
        "pattern_count": count,
        "label_count": _as_drawn(cell, label, count),
        "reference": np.array([rater == assumptions.reference for rater in labels.raters], np.int64),
        "shares": np.array([assumptions.shares == "scorer and raters"] + [dependent] * n_raters, np.int64),
        "node": node,
        "log_weight": np.log(weight / weight.sum()),
        "rater_prior": np.asarray(assumptions.rater_prior, np.float64),
    }
    groups = {
        "side": np.repeat(np.arange(population), n_arms),
        "population": np.zeros(population, np.int64),
        **{factor: np.zeros(len(labels.levels[factor]), np.int64) for factor in ("arm", "model", "stratum")},
    }
    for factor, group in groups.items():
        arrays[f"{factor}_group"] = group
        arrays[f"{factor}_size"] = np.bincount(group).astype(np.int64)
    coords = {factor: np.array(labels.levels[factor]) for factor in ("arm", "model", "stratum", "population")}
    coords |= {"rater": np.array(labels.raters), "truth": np.array(["0", "1"]), "cell": np.arange(side.size)}
    return Frame(label_terms(labels), coords, arrays, _told_apart(labels))


def _told_apart(labels: Labels) -> frozenset[str]:
    """{"fnr"} where the audit plainly tells the arms' false negative rates apart, else nothing.

    Plainly: Pearson's chi-square of scorer errors by arm, against the raters' majority, is above `CLEAR` a degree of
    freedom, with `RARE` errors or more expected in every arm. Where the spread over arms may be near 0, a centred
    effect makes a funnel. It chooses coordinates for the sampler and touches no posterior.
    """
    seen = labels.rating >= 0
    positive = np.where(seen, labels.rating, 0).sum(axis=1) > seen.sum(axis=1) / 2.0
    table = np.zeros((2, len(labels.levels["arm"])))
    np.add.at(table, ((labels.scorer[positive] == 0).astype(int), labels.codes["arm"][positive]), 1)
    if table.shape[1] == 1 or expected_freq(table).min() < RARE:
        return frozenset()
    test = chi2_contingency(table, correction=False)
    return frozenset({"fnr"}) if test.statistic > CLEAR * test.dof else frozenset()


def _completed(patterns: Patterns) -> tuple[Array, Array, Array]:
    """Patterns with those added, count 0, that a draw of the same design may give; sorted by cell."""
    n_raters = patterns.pattern_label.shape[1] - 1
    unrated = np.full(n_raters, -1)
    added = [(cell, s, *unrated) for cell in range(patterns.cell_arm.size) for s in (0, 1)]
    for cell, s, *ratings in np.column_stack([patterns.pattern_cell, patterns.pattern_label]):
        made = np.flatnonzero(np.array(ratings) >= 0)
        if 0 < made.size <= MOST_COMPLETED:
            for bits in np.ndindex(*[2] * made.size):
                row = unrated.copy()
                row[made] = bits
                added.append((cell, s, *row))
    seen = np.column_stack([patterns.pattern_cell, patterns.pattern_label])
    every, where = np.unique(np.concatenate([seen, np.array(added)]), axis=0, return_inverse=True)
    count = np.zeros(len(every), np.int64)
    np.add.at(count, where.ravel()[: len(seen)], patterns.pattern_count)
    return every[:, 0].astype(np.int64), every[:, 1:], count


def _as_drawn(cell: Array, label: Array, count: Array) -> Array:
    """Counts as `misclassification.draw_counts` gives them: of an unrated pattern, all rows with its scorer label."""
    found = count.copy()
    unrated = (label[:, 1:] < 0).all(axis=1)
    key = 2 * cell + label[:, 0]
    found[unrated] = np.bincount(key, weights=count)[key[unrated]].astype(np.int64)
    return found
