"""Posterior predictive checks of label cards: raters' labels, given the scorer's, against labels that the model draws.

Rows that somebody rated are drawn again, draw by draw, each with the scorer label that it has and the raters that it
had: under an audit that was sampled on the scorer's label, anything else would be another design. What is compared is
Pearson's X2 of a set of tables against their expectation under the same draw: p is the probability that drawn labels
lie as far from it as those that were seen (gelman1996). Where the model holds it is near .5 and seldom small, for the
labels have been used for the fit.

Raters who make all their errors together look like raters who are right: no check of fit can tell.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from drift.estimands.ordinal_scorer import TINY, OrdinalScored
from drift.estimands.quadrature import Floats
from drift.estimands.scored import BLOCK, Labels, Scored, label_probability
from drift.estimands.terms import Ints
from drift.likelihood.ordinal_pattern import joint_log_probability

REPLICATED = 21  # stream of random numbers
MOST_COMBINATIONS = 1024  # of the labels of one row; rows of so many raters that there are more are passed over
LEAST = 1e-9  # rows expected of what a draw takes to be impossible
TABLES = "rater-by-scorer tables by arm and model"
AGREEMENT = "agreement of raters by arm"

Probability = Callable[[slice, Ints, Labels], Floats]  # draws, (pattern,) cell, (pattern, test) -> (draw, pattern)


@dataclass(frozen=True)
class Rated:
    """Every combination of labels that the raters of a rated row could have given, by cell, scorer label and raters.

    cell, count (rows seen), n_rows (of its cell, scorer label and raters): (pattern,). label: (pattern, test).
    `pieces`: runs of patterns that belong to sets of raters of one size, with the combinations of each set.
    """

    cell: Ints
    label: Labels
    count: Ints
    n_rows: Ints
    pieces: tuple[tuple[slice, int], ...]


def predictive_p(scored: Scored) -> dict[str, float]:
    """Name of each check -> its posterior predictive p, of a card for labels 0 and 1.

    `TABLES`: each rater's labels by the scorer's, in every arm x model. `AGREEMENT`: of every two raters on the rows
    that both labelled, by arm. A check without a row is left out. Rows of all populations count.
    """

    def probability(block: slice, cell: Ints, label: Labels) -> Floats:
        names = ("prevalence", "fpr", "fnr", "rater_fpr", "rater_fnr")
        part = {name: getattr(scored, name)[block] for name in names}
        shared = None if scored.dependence is None else scored.dependence[block]
        return label_probability(replace(scored, **part, dependence=shared, pattern_cell=cell, pattern_label=label))

    return _p(scored, 2, scored.n_draws, probability)


def ordinal_predictive_p(scored: OrdinalScored) -> dict[str, float]:
    """As `predictive_p`, of a card for ordered labels."""

    def probability(block: slice, cell: Ints, label: Labels) -> Floats:
        tables = (scored.class_share, scored.scorer_confusion, scored.rater_confusion)
        share, scorer, rater = (np.log(np.maximum(table[block], TINY)) for table in tables)
        joint = joint_log_probability(share, scorer, rater, scored.column_rater, cell, label)
        return np.asarray(np.exp(logsumexp(joint, axis=-1)))

    return _p(scored, scored.n_labels, len(scored.class_share), probability)


def _p(scored: Scored | OrdinalScored, n_labels: int, n_draws: int, probability: Probability) -> dict[str, float]:
    rated = _rated(scored, n_labels)
    members = {name: member for name, member in _members(scored, rated, n_labels).items() if member.nnz}
    if not members:
        return {}
    rng, beyond = np.random.default_rng([scored.seed, REPLICATED]), dict.fromkeys(members, 0)
    for block in _blocks(n_draws, len(rated.cell) * n_labels):
        share = _shares(rated, probability(block, rated.cell, rated.label))
        drawn = _drawn(rated, share, rng)
        for name, member in members.items():
            expected = np.maximum((share * rated.n_rows) @ member, LEAST)
            seen, again = (((count @ member - expected) ** 2 / expected).sum(axis=1) for count in (rated.count, drawn))
            beyond[name] += int((again >= seen).sum())
    return {name: count / n_draws for name, count in beyond.items()}


def _rated(scored: Scored | OrdinalScored, n_labels: int) -> Rated:
    label = scored.pattern_label.astype(np.int64)
    asked = label[:, 1:] >= 0
    parts, start, pieces = [], 0, []
    for raters in np.unique(asked[asked.any(axis=1)], axis=0):
        if n_labels ** int(raters.sum()) > MOST_COMBINATIONS:
            continue
        one = _completed(scored, np.flatnonzero((asked == raters).all(axis=1)), raters, n_labels)
        parts.append(one)
        pieces.append((slice(start, start + len(one[0])), n_labels ** int(raters.sum())))
        start += len(one[0])
    empty = (np.zeros(0, np.int64), label[:0], np.zeros(0, np.int64), np.zeros(0, np.int64))
    cell, completed, count, n_rows = (np.concatenate(column) for column in zip(empty, *parts, strict=True))
    return Rated(cell, completed.astype(np.int8), count, n_rows, tuple(pieces))


def _completed(
    scored: Scored | OrdinalScored, seen: Ints, raters: Ints, n_labels: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """Cell, label, count and n_rows of all combinations of one set of raters. seen: the patterns that have this set."""
    given = scored.pattern_label[seen].astype(np.int64)
    groups, which = np.unique(np.column_stack([scored.pattern_cell[seen], given[:, 0]]), axis=0, return_inverse=True)
    combinations = np.array(list(itertools.product(range(n_labels), repeat=int(raters.sum()))))
    label = np.full((len(groups), len(combinations), given.shape[1]), -1)
    label[:, :, 0] = groups[:, 1:]
    label[:, :, 1 + np.flatnonzero(raters)] = combinations
    place = np.ravel_multi_index(tuple(given[:, 1:][:, raters].T), (n_labels,) * int(raters.sum()))
    count = np.zeros((len(groups), len(combinations)), np.int64)
    np.add.at(count, (which.ravel(), place), scored.pattern_count[seen])
    cell, n_rows = (np.repeat(values, len(combinations)) for values in (groups[:, 0], count.sum(axis=1)))
    return cell, label.reshape(-1, given.shape[1]), count.ravel(), n_rows


def _members(scored: Scored | OrdinalScored, rated: Rated, n_labels: int) -> dict[str, csr_array]:
    """Check -> (pattern, table cell) which patterns count in which cells of its tables."""
    arm, model = scored.cell_arm[rated.cell], scored.cell_model[rated.cell]
    n_models, n_raters = len(scored.levels["model"]), rated.label.shape[1] - 1
    table = ((arm * n_models + model) * n_labels + rated.label[:, 0]) * n_raters
    by_rater = [(table + rater, rated.label[:, [1 + rater]]) for rater in range(n_raters)]
    pairs = list(itertools.combinations(range(n_raters), 2))
    by_pair = [(arm * len(pairs) + place, rated.label[:, [1 + r for r in pair]]) for place, pair in enumerate(pairs)]
    return {
        TABLES: _member(by_rater, lambda label: label[:, 0], n_labels),
        AGREEMENT: _member(by_pair, lambda label: (label[:, 0] == label[:, 1]).astype(np.int8), 2),
    }


def _member(tables: list[tuple[Ints, Labels]], value: Callable[[Labels], Labels], n_values: int) -> csr_array:
    """From (pattern,) table and (pattern, rater) labels, for each rater or pair; a missing label counts nowhere."""
    rows = [np.flatnonzero((label >= 0).all(axis=1)) for _, label in tables]
    cells = [table[some] * n_values + value(label[some]) for (table, label), some in zip(tables, rows, strict=True)]
    row, cell = (np.concatenate([np.zeros(0, np.int64), *part]) for part in (rows, cells))
    used, column = np.unique(cell, return_inverse=True)
    shape = (len(tables[0][0]) if tables else 0, len(used))
    return csr_array((np.ones(len(row)), (row, column.ravel())), shape)


def _shares(rated: Rated, probability: Floats) -> Floats:
    """(draw, pattern) of the rows with a pattern's cell, scorer label and raters."""
    share = np.empty_like(probability)
    for piece, n_combinations in rated.pieces:
        part = probability[:, piece].reshape(len(probability), -1, n_combinations)
        total, alike = part.sum(axis=2, keepdims=True), np.full_like(part, 1.0 / n_combinations)
        share[:, piece] = np.divide(part, total, out=alike, where=total > 0.0).reshape(len(probability), -1)
    return share


def _drawn(rated: Rated, share: Floats, rng: np.random.Generator) -> Ints:
    """(draw, pattern) counts drawn again."""
    drawn = np.empty(share.shape, np.int64)
    for piece, n_combinations in rated.pieces:
        part = share[:, piece].reshape(len(share), -1, n_combinations)
        drawn[:, piece] = rng.multinomial(rated.n_rows[piece][::n_combinations], part).reshape(len(share), -1)
    return drawn


def _blocks(n_draws: int, width: int) -> Iterator[slice]:
    size = max(1, BLOCK // max(1, width))
    return (slice(start, min(start + size, n_draws)) for start in range(0, n_draws, size))
