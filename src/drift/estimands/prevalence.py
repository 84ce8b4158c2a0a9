"""Prevalence of truth 1 by arm, for the declared target: corrected, and as the automatic scorer has it.

Three targets, all from one fit. "panel": the rows themselves; the truth of each is imputed. "superpopulation": the
responses that the rows are a sample of, from the parameters. "new-keys": responses to other keys of the same kind; the
truth of each row is imputed and keys are weighted by Dirichlet(1) weights (Bayesian bootstrap, rubin1981).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from drift.data.scorer_declaration import ModelWeights, ScorerTarget
from drift.errors import EmptyCellsError
from drift.estimands.quadrature import Floats
from drift.estimands.scored import Flags, Scored
from drift.estimands.summary import ROWS
from drift.estimands.terms import Ints

IMPUTED, ROW_TRUTH, KEY_WEIGHTS, ROW_LABEL = range(11, 15)  # streams of random numbers, none that a fit uses


@dataclass(frozen=True)
class Shares:
    """Shares of the target's responses in each arm, models mixed as declared. (draw, arm) all, arms by code in `arm`.

    truth: prevalence. label: what the scorer calls 1. false_positive: label 1 and truth 0; false_negative: label 0 and
    truth 1. So label = truth + false_positive - false_negative.
    """

    arm: Ints
    truth: Floats
    label: Floats
    false_positive: Floats
    false_negative: Floats


def prevalence(scored: Scored, target: ScorerTarget) -> xr.DataArray:
    """Draws of the corrected prevalence of label 1, dims (chain, draw, arm), a proportion.

    Arms without a row in the target population are left out. Coordinate `n_rows`: rows of each arm in the target.
    Raises `EmptyCellsError` where a model with weight has no row in an arm.
    """
    return _by_arm(scored, target, "truth", "prevalence")


def automatic_prevalence(scored: Scored, target: ScorerTarget) -> xr.DataArray:
    """Draws of the share of the scorer's label 1, dims (chain, draw, arm): one number for the panel, known from it."""
    return _by_arm(scored, target, "label", "automatic_prevalence")


def target_shares(scored: Scored, target: ScorerTarget) -> Shares:
    """The shares that prevalences, biases and contrasts are made of. Raises `EmptyCellsError`."""
    count = row_counts(scored, target_rows(scored))
    weight = model_weights(scored, target.models, count)
    if target.prevalence == "panel":
        return _panel(scored, count, weight)
    if target.prevalence == "superpopulation":
        return _superpopulation(scored, count, weight)
    return key_shares(scored, target_rows(scored), weight, new=True)


def target_rows(scored: Scored) -> Flags:
    """(row,) whether it belongs to the target population."""
    return np.asarray(scored.row_population == scored.target)


def row_counts(scored: Scored, rows: Flags) -> Ints:
    """(arm, model) number of the rows marked."""
    count = np.zeros((len(scored.levels["arm"]), len(scored.levels["model"])), np.int64)
    np.add.at(count, (scored.row_arm[rows], scored.row_model[rows]), 1)
    return count


def model_weights(scored: Scored, models: ModelWeights, count: Ints) -> Floats:
    """(arm, model) weights, adding to 1 in every arm that has rows and zero in the others. count: (arm, model) rows.

    "equal": all models of the target alike; "rows": each by its rows in the arm; a table: as written.
    Raises `EmptyCellsError` listing the cells that get weight and have no row.
    """
    if models == "rows":
        return np.asarray(count / np.maximum(count.sum(axis=1, keepdims=True), 1))
    weight = (count > 0).any(axis=1)[:, None] * declared_weights(scored, models, count)
    arms, names = scored.levels["arm"], scored.levels["model"]
    empty = [f"arm {arms[a]!r}, model {names[m]!r}" for a, m in np.argwhere((weight > 0.0) & (count == 0))]
    if empty:
        raise EmptyCellsError(
            "posterior",
            f"{len(empty)} cells of arm and model have no row, and the target gives them weight",
            [(None, cell) for cell in empty],
            advice='keep models that have rows in every arm, or write in the study file:\n[target]\nmodels = "rows"',
        )
    return np.asarray(weight)


def declared_weights(scored: Scored, models: ModelWeights, count: Ints) -> Floats:
    """(model,) weights, adding to 1. count: (arm, model) rows; with "rows" each model by its rows in all arms."""
    if models == "equal":
        weight = (count > 0).any(axis=0).astype(np.float64)
    elif models == "rows":
        weight = count.sum(axis=0).astype(np.float64)
    else:
        weight = np.array([models.get(name, 0.0) for name in scored.levels["model"]])
    return np.asarray(weight / weight.sum())


def key_shares(scored: Scored, rows: Flags, weight: Floats, *, new: bool) -> Shares:
    """Shares over the keys of the rows marked, every key alike however many rows it has.

    weight: (arm, model). `new`: keys weighted by Dirichlet(1), the same in all arms and models, so that arms stay
    paired; otherwise these keys, evenly. The truth of each row is imputed, in blocks of draws: nothing of all rows x
    draws is held.
    """
    groups = _grouped(scored, np.flatnonzero(rows))
    arms = np.unique(groups.cell_arm)
    to_arm = _to_arm(weight, groups.cell_arm, groups.cell_model, arms)
    found, rng, n_keys = np.empty((3, scored.n_draws, len(arms))), scored.rng(KEY_WEIGHTS), len(scored.levels["key"])
    for block, truth, label in _imputed_rows(scored, groups.row):
        size = (len(truth), n_keys)
        key_weight = rng.standard_exponential(size) if new else np.ones(size)
        parts = (truth, label, truth & label)
        found[:, block] = np.stack([_key_means(groups, part, key_weight) @ to_arm for part in parts])
    positive, flagged, both = found
    return Shares(arms, positive, flagged, flagged - both, positive - both)


@dataclass(frozen=True)
class _Grouped:
    """Rows sorted by arm, model and key. row: (row,) places in the file. key: (group,), start: (group,) first row.

    cell_start: (cell,) first group of each arm x model, whose codes are cell_arm and cell_model.
    """

    row: Ints
    key: Ints
    start: Ints
    cell_start: Ints
    cell_arm: Ints
    cell_model: Ints


def _grouped(scored: Scored, rows: Ints) -> _Grouped:
    row = rows[np.lexsort([scored.row_key[rows], scored.row_model[rows], scored.row_arm[rows]])]
    code = np.stack([scored.row_arm[row], scored.row_model[row], scored.row_key[row]])
    start = np.flatnonzero(np.r_[True, (code[:, 1:] != code[:, :-1]).any(axis=0)])
    arm, model, key = code[:, start]
    cell_start = np.flatnonzero(np.r_[True, (arm[1:] != arm[:-1]) | (model[1:] != model[:-1])])
    return _Grouped(row, key, start, cell_start, arm[cell_start], model[cell_start])


def _key_means(groups: _Grouped, part: Flags, key_weight: Floats) -> Floats:
    """(draw, cell) weighted mean over keys of each key's mean over its rows. part: (draw or 1, row)."""
    size = np.diff(np.r_[groups.start, len(groups.row)])
    of_key = np.add.reduceat(part, groups.start, axis=1, dtype=np.float64) / size
    weight = key_weight[:, groups.key]
    total = np.add.reduceat(weight, groups.cell_start, axis=1)
    return np.asarray(np.add.reduceat(weight * of_key, groups.cell_start, axis=1) / total)


def _imputed_rows(scored: Scored, row: Ints) -> Iterator[tuple[slice, Flags, Flags]]:
    """Blocks of draws: which, truth (draw, row) and the scorer's label (1, row); (draw, row) where it is not known."""
    pattern, label = scored.row_pattern[row], scored.row_label[row] == 1
    cell = scored.pattern_cell[pattern]
    rng, label_rng = scored.rng(ROW_TRUTH), scored.rng(ROW_LABEL)
    for block in scored.blocks(len(row)):
        size = (block.stop - block.start, len(row))
        truth = rng.random(size) < scored.truth[block][:, pattern]
        if scored.is_prior:
            share = np.where(truth, 1.0 - scored.fnr[block][:, cell], scored.fpr[block][:, cell])
            yield block, truth, label_rng.random(size) < share
        else:
            yield block, truth, label[None]


def _panel(scored: Scored, count: Ints, weight: Floats) -> Shares:
    """The truth of the n rows with a pattern: Binomial(n, P(truth = 1 | pattern)), draw by draw."""
    inside = scored.pattern_target
    cell, n, label = scored.pattern_cell[inside], scored.pattern_count[inside], scored.pattern_label[inside, 0]
    arms = np.flatnonzero(count.any(axis=1))
    each = weight / np.maximum(count, 1)
    to_arm = _to_arm(each, scored.cell_arm[cell], scored.cell_model[cell], arms)
    rng = scored.rng(IMPUTED)
    truth = rng.binomial(n, scored.truth[:, inside])
    if scored.is_prior:
        false_positive = rng.binomial(n - truth, scored.fpr[:, cell])
        false_negative = rng.binomial(truth, scored.fnr[:, cell])
        flagged = (truth + false_positive - false_negative) @ to_arm
    else:
        false_positive, false_negative = (n - truth) * label, truth * (1 - label)
        flagged = np.broadcast_to((n * label) @ to_arm, (len(truth), len(arms)))
    return Shares(arms, truth @ to_arm, flagged, false_positive @ to_arm, false_negative @ to_arm)


def _superpopulation(scored: Scored, count: Ints, weight: Floats) -> Shares:
    """Shares from the parameters; the strata of an arm and model weigh as their rows do in the target."""
    inside = np.flatnonzero(scored.cell_population == scored.target)
    n = np.bincount(scored.pattern_cell, scored.pattern_count, len(scored.cell_arm))[inside]
    arm, model = scored.cell_arm[inside], scored.cell_model[inside]
    arms = np.flatnonzero(count.any(axis=1))
    to_arm = n[:, None] * _to_arm(weight / np.maximum(count, 1), arm, model, arms)
    truth = scored.prevalence[:, inside]
    false_positive, false_negative = (1.0 - truth) * scored.fpr[:, inside], truth * scored.fnr[:, inside]
    parts = (truth, truth + false_positive - false_negative, false_positive, false_negative)
    return Shares(arms, *(part @ to_arm for part in parts))


def _to_arm(weight: Floats, arm: Ints, model: Ints, arms: Ints) -> Floats:
    """(unit, arm) matrix that adds up units of the arms and models given. weight: (arm, model) of one unit."""
    return np.asarray((arm[:, None] == arms) * weight[arm, model][:, None])


def _by_arm(scored: Scored, target: ScorerTarget, part: str, name: str) -> xr.DataArray:
    shares = target_shares(scored, target)
    return arm_draws(scored, target, shares.arm, getattr(shares, part), name)


def arm_draws(scored: Scored, target: ScorerTarget, arms: Ints, values: Floats, name: str) -> xr.DataArray:
    """(draw, arm) values with the names of arms, the rows behind them, and the target."""
    rows = row_counts(scored, target_rows(scored)).sum(axis=1)
    coords = {"arm": [scored.levels["arm"][arm] for arm in arms], ROWS: ("arm", rows[arms])}
    return scored.draws(values, ("arm",), coords, name, unit="proportion", target=target.prevalence)


def ratio(part: Floats, whole: Floats) -> Floats:
    """The part over the whole, 0 where the whole is 0: the rate of errors of a class that nothing belongs to."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0.0)
