"""Agreement of pairs of raters by arm: as observed, and as the model has it for the same rows."""

import itertools
from dataclasses import replace

import numpy as np
import xarray as xr

from drift.estimands.quadrature import Floats
from drift.estimands.scored import Labels, Scored, label_probability
from drift.estimands.terms import Ints

BOTH = np.array([(0, 0), (0, 1), (1, 0), (1, 1)])  # labels of the two raters of a pair
MEASURES = ("agreement", "kappa", "kappa_lower", "kappa_upper")
POOLED = "all"  # the arm that stands for all of them together
Pair = tuple[int, int]


def observed_agreement(scored: Scored) -> xr.Dataset:
    """Agreement of every pair of raters on the rows that both labelled, dims (arm, pair); arm "all" pools the arms.

    `n_both` rows, `agreement` (share), Cohen's `kappa` with its asymptotic interval of 95%, cut at -1 and 1
    (statsmodels; fleiss1969).
    NaN where there is no such row, and kappa where both raters gave one and the same label throughout: chance alone
    would then agree always. Rows of all populations count.
    """
    pairs, arms = _pairs(scored), (*scored.levels["arm"], POOLED)
    tables = np.stack([_observed_table(scored, pair) for pair in pairs], axis=1) if pairs else np.zeros((len(arms), 0))
    found = np.array([[_measures(tables[a, p]) for p in range(len(pairs))] for a in range(len(arms))])
    found = found.reshape(len(arms), len(pairs), len(MEASURES))
    total = tables.sum(axis=(2, 3)) if pairs else tables
    numbers = {name: (("arm", "pair"), found[..., place]) for place, name in enumerate(MEASURES)}
    return xr.Dataset(
        {"n_both": (("arm", "pair"), total.astype(np.int64)), **numbers},
        {"arm": list(arms), "pair": _names(scored, pairs)},
    )


def model_agreement(scored: Scored) -> xr.Dataset:
    """Draws of `agreement` and `kappa` of every pair of raters as the model has them, dims (chain, draw, arm, pair).

    Of the rows that both labelled, given the scorer's label of each: what an audit that was sampled on the scorer's
    label would show, to be laid beside `observed_agreement`. NaN in arms without such a row.
    """
    pairs = _pairs(scored)
    shape = (scored.n_draws, len(scored.levels["arm"]) + 1, len(pairs))
    table = np.full((*shape, 2, 2), np.nan)
    for place, pair in enumerate(pairs):
        table[:, :, place] = _model_table(scored, pair)
    agreement = table[..., 0, 0] + table[..., 1, 1]
    chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1)
    kappa = np.divide(agreement - chance, 1.0 - chance, out=np.full(shape, np.nan), where=chance < 1.0)
    coords = {"arm": [*scored.levels["arm"], POOLED], "pair": _names(scored, pairs)}
    numbers = {"agreement": agreement, "kappa": kappa}
    return xr.Dataset({name: scored.draws(value, ("arm", "pair"), coords, name) for name, value in numbers.items()})


def _pairs(scored: Scored) -> list[Pair]:
    return list(itertools.combinations(range(len(scored.levels["rater"])), 2))


def _names(scored: Scored, pairs: list[Pair]) -> list[str]:
    raters = scored.levels["rater"]
    return [f"{raters[one]}, {raters[other]}" for one, other in pairs]


def _observed_table(scored: Scored, pair: Pair) -> Ints:
    """(arm or all, 2, 2) rows by the labels of both raters."""
    label = scored.pattern_label[:, 1 + np.array(pair)]
    arm, n_arms = scored.cell_arm[scored.pattern_cell], len(scored.levels["arm"])
    table = np.zeros((n_arms + 1, 2, 2), np.int64)
    both = (label >= 0).all(axis=1)
    np.add.at(table, (arm[both], label[both, 0], label[both, 1]), scored.pattern_count[both])
    table[-1] = table[:-1].sum(axis=0)
    return table


def _measures(table: Ints) -> tuple[float, float, float, float]:
    from statsmodels.stats.inter_rater import cohens_kappa  # late: it takes a second

    total = table.sum()
    if total == 0:
        return (np.nan, np.nan, np.nan, np.nan)
    agreement = float(np.trace(table) / total)
    if np.count_nonzero(table) == 1 and agreement == 1.0:
        return (agreement, np.nan, np.nan, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):  # its z value where a rater never varies; not used here
        found = cohens_kappa(table)
    return agreement, float(found.kappa), max(-1.0, float(found.kappa_low)), min(1.0, float(found.kappa_upp))


def _model_table(scored: Scored, pair: Pair) -> Floats:
    """(draw, arm or all, 2, 2) probabilities of the labels of both raters on the rows that both labelled."""
    seen = (scored.pattern_label[:, 1 + np.array(pair)] >= 0).all(axis=1)
    given = np.stack([scored.pattern_cell[seen], scored.pattern_label[seen, 0]], axis=1)
    groups, which = np.unique(given, axis=0, return_inverse=True)
    rows = np.bincount(which.ravel(), scored.pattern_count[seen], len(groups))
    asked = replace(scored, pattern_cell=np.repeat(groups[:, 0], 4), pattern_label=_asked(scored, groups[:, 1], pair))
    joint = label_probability(asked).reshape(scored.n_draws, len(groups), 4)
    joint /= joint.sum(axis=2, keepdims=True)
    arm = scored.cell_arm[groups[:, 0]]
    weight = rows[:, None] * np.column_stack([arm[:, None] == np.arange(len(scored.levels["arm"])), np.ones(len(arm))])
    total = weight.sum(axis=0)
    weight = np.divide(weight, total, out=np.full_like(weight, np.nan), where=total > 0.0)
    table = np.einsum("dgv,ga->dav", joint, weight)
    return np.asarray(table.reshape(scored.n_draws, weight.shape[1], 2, 2))


def _asked(scored: Scored, scorer: Ints, pair: Pair) -> Labels:
    """(4 x group, test) patterns: each scorer label with every combination of the two raters' labels."""
    label = np.full((4 * len(scorer), scored.pattern_label.shape[1]), -1, np.int8)
    label[:, 0] = np.repeat(scorer, 4)
    label[:, 1 + np.array(pair)] = np.tile(BOTH, (len(scorer), 1))
    return label
