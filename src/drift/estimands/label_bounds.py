"""Bounds on prevalence and contrasts that assume nothing about how raters err, only how they disagree.

Rows are post-stratified by arm, model, stratum and scorer label; audited rows stand for the others of their
post-stratum. Lower bound: a row is positive if every rater who saw it said so; upper bound: if any did (manski2003).
A post-stratum without an audited row is bounded by nothing: all of it negative, all of it positive.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from drift.data.scorer_declaration import ScorerContrast, ScorerTarget
from drift.estimands.prevalence import model_weights, row_counts, target_rows
from drift.estimands.quadrature import Floats
from drift.estimands.scored import Scored
from drift.estimands.scorer_contrasts import arm_codes
from drift.estimands.terms import Ints

BOUNDS = ("lower", "upper")
PRIOR_ROWS = (
    1.0  # prior weight of a post-stratum, in audited rows, split evenly over what can be seen there (perks1947)
)
UNAUDITED = 15  # stream of random numbers


@dataclass(frozen=True)
class _Strata:
    """Post-strata of the target: codes and numbers of rows, (stratum,).

    seen: (stratum, 3) audited rows that every rater called 1, that raters differ on, that every rater called 0.
    can_differ: whether any row has two raters.
    """

    arm: Ints
    model: Ints
    rows: Ints
    seen: Ints
    can_differ: bool


def label_bounds(scored: Scored, target: ScorerTarget) -> xr.DataArray:
    """Draws of the bounds on each arm's prevalence in the panel, dims (chain, draw, arm, bound), proportions.

    Draws vary by what was not audited alone: shares of a post-stratum are Dirichlet given its audited rows, the labels
    of its other rows multinomial. Coordinates: `n_audited` rows of each arm, and `unbounded`, the share of the arm in
    post-strata without an audited row. Raises `EmptyCellsError` as `prevalence` does.
    """
    strata = _strata(scored)
    count = row_counts(scored, target_rows(scored))
    arms = np.flatnonzero(count.any(axis=1))
    each = (model_weights(scored, target.models, count) / np.maximum(count, 1))[strata.arm, strata.model]
    to_arm = each[:, None] * (strata.arm[:, None] == arms)
    values = np.stack([counts @ to_arm for counts in _drawn(scored, strata)], axis=-1)
    audited = strata.seen.sum(axis=1)
    coords = {
        "arm": [scored.levels["arm"][arm] for arm in arms],
        "bound": list(BOUNDS),
        "n_audited": ("arm", audited @ (strata.arm[:, None] == arms)),
        "unbounded": ("arm", (strata.rows * (audited == 0)) @ to_arm),
    }
    return scored.draws(values, ("arm", "bound"), coords, "label_bounds", unit="proportion", target="panel")


def contrast_bounds(scored: Scored, target: ScorerTarget, contrasts: Sequence[ScorerContrast]) -> xr.DataArray:
    """Draws of the bounds on each contrast, dims (chain, draw, contrast, bound): the extreme combinations of the arms'.

    lower = treatment's lower - comparator's upper, upper the other way round. Raises `UnknownLevelError`.
    """
    names = scored.levels["arm"]
    sides = [(names[treatment], names[comparator]) for treatment, comparator in arm_codes(scored, contrasts)]
    bounds = label_bounds(scored, target)
    arms = [bounds.sel(arm=[side[place] for side in sides]).values for place in (0, 1)]
    values = arms[0] - arms[1][..., ::-1]
    coords = {"contrast": [contrast.name for contrast in contrasts], "bound": list(BOUNDS)}
    flat = values.reshape(-1, *values.shape[2:])
    return scored.draws(flat, ("contrast", "bound"), coords, "contrast_bounds", unit="proportion", target="panel")


def _strata(scored: Scored) -> _Strata:
    inside = scored.pattern_target
    cell, count, label = scored.pattern_cell[inside], scored.pattern_count[inside], scored.pattern_label[inside]
    scorer = label[:, 0].astype(np.int64)
    codes = np.stack([scored.cell_arm[cell], scored.cell_model[cell], scored.cell_stratum[cell], scorer], axis=1)
    found, which = np.unique(codes, axis=0, return_inverse=True)
    rated, said = (label[:, 1:] >= 0).sum(axis=1), (label[:, 1:] == 1).sum(axis=1)
    kinds = ((rated > 0) & (said == rated), (said > 0) & (said < rated), (rated > 0) & (said == 0))
    return _Strata(
        arm=found[:, 0],
        model=found[:, 1],
        rows=_counted(which, count, len(found)),
        seen=np.stack([_counted(which, count * kind, len(found)) for kind in kinds], axis=1),
        can_differ=bool((rated > 1).any()),
    )


def _counted(which: Ints, count: Ints, size: int) -> Ints:
    return np.asarray(np.bincount(which.ravel(), count, size).astype(np.int64))


def _drawn(scored: Scored, strata: _Strata) -> tuple[Floats, Floats]:
    """(draw, stratum) positives at the least and at the most among all rows of a post-stratum."""
    rng, audited = scored.rng(UNAUDITED), strata.seen.sum(axis=1)
    prior = PRIOR_ROWS * (np.array([1.0, 1.0, 1.0]) / 3.0 if strata.can_differ else np.array([0.5, 0.0, 0.5]))
    share = rng.standard_gamma(strata.seen + prior, (scored.n_draws, *strata.seen.shape))
    share /= share.sum(axis=2, keepdims=True)
    drawn = rng.multinomial(strata.rows - audited, share)
    least, differ = (strata.seen[:, kind] + drawn[:, :, kind] for kind in (0, 1))
    nobody = audited == 0
    most = np.where(nobody, strata.rows, least + differ)
    return np.where(nobody, 0, least).astype(np.float64), most.astype(np.float64)
