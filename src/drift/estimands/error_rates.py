"""Sensitivity and specificity of the scorer in each arm of the target, and how much of an estimate is its prior."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from drift.data.scorer_declaration import ScorerTarget
from drift.estimands.prevalence import model_weights, ratio, row_counts, target_rows
from drift.estimands.quadrature import Floats
from drift.estimands.scored import Flags, Scored
from drift.estimands.summary import ROWS, probability
from drift.estimands.terms import SAMPLE, Ints

RATES = ("sensitivity", "specificity")


def error_rates(scored: Scored, target: ScorerTarget) -> xr.Dataset:
    """Draws of `sensitivity` P(scorer 1 | truth 1) and `specificity` P(scorer 0 | truth 0), dims (chain, draw, arm).

    Of the target's responses, models mixed as declared and strata as they occur: a model counts by the share of the
    class that it contributes, so that b = (1 - specificity)(1 - prevalence) - (1 - sensitivity) prevalence holds.
    Coordinate `n_rows`: rows of each arm in the target. Raises `EmptyCellsError` as `prevalence` does.
    """
    cells, weight = _weighted_cells(scored, target)
    arms = np.unique(scored.cell_arm[cells])
    member = scored.cell_arm[cells][:, None] == arms
    coords = {"arm": [scored.levels["arm"][arm] for arm in arms], ROWS: ("arm", _rows(scored, cells) @ member)}
    return _rates(scored, cells, weight, member, "arm", coords)


def stratum_error_rates(scored: Scored, target: ScorerTarget) -> xr.Dataset:
    """As `error_rates`, by arm x stratum: dim `group`, coordinates `arm`, `stratum`, `n_rows`, those that occur."""
    cells, weight = _weighted_cells(scored, target)
    both = np.stack([scored.cell_arm[cells], scored.cell_stratum[cells]], axis=1)
    groups, which = np.unique(both, axis=0, return_inverse=True)
    member = which.ravel()[:, None] == np.arange(len(groups))
    coords = {
        "arm": ("group", [scored.levels["arm"][arm] for arm in groups[:, 0]]),
        "stratum": ("group", [scored.levels["stratum"][stratum] for stratum in groups[:, 1]]),
        ROWS: ("group", _rows(scored, cells) @ member),
    }
    return _rates(scored, cells, weight, member, "group", coords)


def inverted_probability(rates: xr.Dataset) -> xr.Dataset:
    """`probability` that sensitivity + specificity < 1, and its `mcse`: that the labels say the opposite on average."""
    return probability(rates["sensitivity"] + rates["specificity"] < 1.0)


def prior_dominance(posterior: xr.DataArray, prior: xr.DataArray) -> xr.DataArray:
    """Posterior sd over prior sd of the same estimand, capped at 1: near 1 the data have said nothing about it.

    `prior`: the estimand of `prior_scored`. 1 where the prior has no spread: the assumption decides alone.
    """
    after, before = (draws.std(SAMPLE, ddof=1) for draws in (posterior, prior))
    share = (after / before.where(before > 0.0)).fillna(1.0)
    return share.clip(max=1.0).rename("prior_dominance")


def _weighted_cells(scored: Scored, target: ScorerTarget) -> tuple[Ints, Floats]:
    """Cells of the target, and the weight of each within its arm, (cell,)."""
    count = row_counts(scored, target_rows(scored))
    each = model_weights(scored, target.models, count) / np.maximum(count, 1)
    cells = np.flatnonzero(scored.cell_population == scored.target)
    return cells, each[scored.cell_arm[cells], scored.cell_model[cells]] * _rows(scored, cells)


def _rows(scored: Scored, cells: Ints) -> Ints:
    count = np.bincount(scored.pattern_cell, scored.pattern_count, len(scored.cell_arm))
    return np.asarray(count[cells].astype(np.int64))


def _rates(
    scored: Scored, cells: Ints, weight: Floats, member: Flags, dim: str, coords: Mapping[str, Any]
) -> xr.Dataset:
    """member: (cell, group)."""
    share = weight[:, None] * member
    found = {}
    for name, error, truth in (("sensitivity", scored.fnr, 1), ("specificity", scored.fpr, 0)):
        of_class = scored.prevalence[:, cells] if truth else 1.0 - scored.prevalence[:, cells]
        values = 1.0 - ratio((of_class * error[:, cells]) @ share, of_class @ share)
        found[name] = scored.draws(values, (dim,), coords, name, unit="proportion")
    return xr.Dataset(found)
