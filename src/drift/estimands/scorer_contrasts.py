"""Contrasts between arms as the scorer has them and corrected, the bias between the two, and where it comes from.

In an arm with prevalence pi, the scorer's share of label 1 is off by b = fpr (1 - pi) - fnr pi. The bias of a contrast
is B = b_treatment - b_comparator = automatic - corrected; with means (bar) and differences (d) of the two arms it is

    B = dfpr (1 - pi_bar) - dfnr pi_bar - dpi (fpr_bar + fnr_bar)

exactly: the last part is there even when both arms have the same error rates.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from drift.data.scorer_declaration import ScorerContrast, ScorerTarget
from drift.errors import DriftError, UnknownLevelError
from drift.estimands.prevalence import (
    Shares,
    arm_draws,
    declared_weights,
    key_shares,
    ratio,
    row_counts,
    target_rows,
    target_shares,
)
from drift.estimands.quadrature import Floats
from drift.estimands.scored import Flags, Scored
from drift.estimands.summary import IntervalKind, probability, summarise

PARTS = ("automatic", "corrected", "bias", "bias_fpr", "bias_fnr", "bias_prevalence", "attenuation")


class NoPairsError(DriftError):
    """A same-key contrast was asked of arms that have no key in common."""


@dataclass(frozen=True)
class Pairs:
    """Same-key rows of a contrast in the target: key x model in both arms, their keys, and what only one arm has.

    `rows`: (row,) rows of the pairs. `weight`: (model,) the target's, spread over the models that have pairs; with
    "rows" each by its pairs. `covered`: share of the target's weights that has pairs.
    """

    rows: Flags
    weight: Floats
    n_pairs: int
    n_keys: int
    only_treatment: int
    only_comparator: int
    covered: float


def contrast_draws(scored: Scored, target: ScorerTarget, contrasts: Sequence[ScorerContrast]) -> xr.Dataset:
    """Draws of every contrast, dims (chain, draw, contrast), treatment minus comparator, as proportions.

    `automatic` (of the scorer's labels), `corrected` (of the truth), `bias` = automatic - corrected and its three
    exact parts `bias_fpr`, `bias_fnr`, `bias_prevalence`; `attenuation` = corrected / automatic, NaN in every draw
    unless all draws of the automatic contrast have one sign (a ratio to what may be zero has no distribution to use).
    Raises `UnknownLevelError` naming arms that the target does not have, `EmptyCellsError` as `prevalence` does.
    """
    sides, shares = arm_codes(scored, contrasts), target_shares(scored, target)
    parts = [_parts(_side(shares, treatment), _side(shares, comparator)) for treatment, comparator in sides]
    return _labelled(scored, target.prevalence, contrasts, parts)


def arm_bias(scored: Scored, target: ScorerTarget) -> xr.DataArray:
    """Draws of b = share of the scorer's label 1 minus prevalence, dims (chain, draw, arm), a proportion."""
    shares = target_shares(scored, target)
    bias = shares.false_positive - shares.false_negative
    return arm_draws(scored, target, shares.arm, bias, "arm_bias")


def same_key_draws(
    scored: Scored, target: ScorerTarget, contrasts: Sequence[ScorerContrast], *, new: bool
) -> xr.Dataset:
    """As `contrast_draws`, from the keys alone that a model has in both arms: these keys, or `new` ones like them.

    Coordinates `n_pairs` (key x model), `n_keys`, `only_treatment`, `only_comparator` (left out, one arm only), and
    `covered`, the share of the target's model weights that has pairs; the weights are then spread over those models.
    Raises `NoPairsError` naming every contrast that has no pair: `same_key_pairs` tells beforehand.
    """
    found = [same_key_pairs(scored, target, contrast) for contrast in contrasts]
    empty = [contrast.name for contrast, pairs in zip(contrasts, found, strict=True) if not pairs.n_pairs]
    if empty:
        raise NoPairsError(f"no key in both arms: {', '.join(empty)}")
    parts = [_same_key(scored, contrast, pairs, new=new) for contrast, pairs in zip(contrasts, found, strict=True)]
    counts = ("n_pairs", "n_keys", "only_treatment", "only_comparator", "covered")
    coords = {name: ("contrast", [getattr(pairs, name) for pairs in found]) for name in counts}
    return _labelled(scored, "new-keys" if new else "same-keys", contrasts, parts).assign_coords(coords)


def same_key_pairs(scored: Scored, target: ScorerTarget, contrast: ScorerContrast) -> Pairs:
    """The key x model combinations of the target that both arms of a contrast have. Raises `UnknownLevelError`."""
    treatment, comparator = arm_codes(scored, [contrast])[0]
    inside, n_keys = target_rows(scored), len(scored.levels["key"])
    unit = scored.row_model * n_keys + scored.row_key
    here, there = (np.unique(unit[inside & (scored.row_arm == arm)]) for arm in (treatment, comparator))
    both = np.intersect1d(here, there)
    of_model = np.bincount(both // n_keys, minlength=len(scored.levels["model"]))
    count = of_model[None] if target.models == "rows" else row_counts(scored, inside)
    weight = declared_weights(scored, target.models, count) * (of_model > 0) if len(both) else np.zeros(len(of_model))
    return Pairs(
        rows=inside & np.isin(scored.row_arm, (treatment, comparator)) & np.isin(unit, both),
        weight=weight / max(weight.sum(), np.finfo(float).tiny),
        n_pairs=len(both),
        n_keys=len(np.unique(both % n_keys)),
        only_treatment=len(here) - len(both),
        only_comparator=len(there) - len(both),
        covered=float(weight.sum()),
    )


def sign_probability(draws: xr.Dataset) -> xr.Dataset:
    """`probability` that the corrected contrast has the sign of the automatic one's mean, and its `mcse`.

    Draws of exactly zero count half. NaN where the automatic contrast is zero: nothing is to be kept then.
    """
    direction = np.sign(draws["automatic"].mean(["chain", "draw"]))
    kept = draws["corrected"].copy(data=np.sign(draws["corrected"].values))
    return probability(0.5 * (1.0 + kept * direction)).where(direction != 0.0)


def within_tolerance(draws: xr.Dataset, contrasts: Sequence[ScorerContrast]) -> xr.Dataset:
    """`probability` that the contrast bias is smaller than the declared tolerance, and its `mcse`, dim contrast."""
    tolerance = xr.DataArray([contrast.tolerance_pp / 100.0 for contrast in contrasts], dims="contrast")
    return probability(abs(draws["bias"]) < tolerance)


def contrast_table(draws: xr.Dataset, *, ci_prob: float, ci_kind: IntervalKind) -> xr.Dataset:
    """Summary of `contrast_draws` or `same_key_draws`: mean, sd, ... along the dims (quantity, contrast).

    A `quantity` that is undefined for any contrast (attenuation) is left out of the table.
    """
    defined = [name for name in PARTS if np.isfinite(draws[name].values).all()]
    stacked = draws[defined].to_dataarray("quantity")
    return summarise(stacked, ci_prob=ci_prob, ci_kind=ci_kind)


@dataclass(frozen=True)
class _Side:
    """One arm: (draw,) prevalence, automatic share and error rates."""

    truth: Floats
    label: Floats
    fpr: Floats
    fnr: Floats


def _side(shares: Shares, arm: int) -> _Side:
    """Error rates are those of the same responses; a rate of a class that a draw leaves empty is 0, and has no part."""
    column = int(np.flatnonzero(shares.arm == arm)[0])
    truth, label = shares.truth[:, column], shares.label[:, column]
    return _Side(
        truth,
        label,
        fpr=ratio(shares.false_positive[:, column], 1.0 - truth),
        fnr=ratio(shares.false_negative[:, column], truth),
    )


def _parts(treatment: _Side, comparator: _Side) -> dict[str, Floats]:
    """Every quantity of `contrast_draws`, (draw,)."""
    automatic, corrected = treatment.label - comparator.label, treatment.truth - comparator.truth
    middle = 0.5 * (treatment.truth + comparator.truth)
    errors = 0.5 * (treatment.fpr + comparator.fpr + treatment.fnr + comparator.fnr)
    one_sign = bool((automatic > 0.0).all() or (automatic < 0.0).all())
    return {
        "automatic": automatic,
        "corrected": corrected,
        "bias": automatic - corrected,
        "bias_fpr": (treatment.fpr - comparator.fpr) * (1.0 - middle),
        "bias_fnr": -(treatment.fnr - comparator.fnr) * middle,
        "bias_prevalence": -corrected * errors,
        "attenuation": corrected / automatic if one_sign else np.full_like(corrected, np.nan),
    }


def _same_key(scored: Scored, contrast: ScorerContrast, pairs: Pairs, *, new: bool) -> dict[str, Floats]:
    weight = np.broadcast_to(pairs.weight, (len(scored.levels["arm"]), len(pairs.weight)))
    shares = key_shares(scored, pairs.rows, weight, new=new)
    treatment, comparator = arm_codes(scored, [contrast])[0]
    return _parts(_side(shares, treatment), _side(shares, comparator))


def arm_codes(scored: Scored, contrasts: Sequence[ScorerContrast]) -> list[tuple[int, int]]:
    """Arm codes of treatment and comparator. Raises `UnknownLevelError` listing all that have no row in the target."""
    inside = np.unique(scored.row_arm[target_rows(scored)])
    known = {scored.levels["arm"][arm]: int(arm) for arm in inside}
    problems: list[tuple[int | None, str]] = [
        (None, f"contrast {contrast.name!r}: arm {arm!r} has no row in the target")
        for contrast in contrasts
        for arm in (contrast.treatment, contrast.comparator)
        if arm not in known
    ]
    if problems:
        headline = f"{len(problems)} problem{'s' * (len(problems) > 1)} with the contrasts"
        raise UnknownLevelError("study", headline, problems, advice="arms: " + ", ".join(known))
    return [(known[contrast.treatment], known[contrast.comparator]) for contrast in contrasts]


def _labelled(
    scored: Scored, target: str, contrasts: Sequence[ScorerContrast], parts: Sequence[dict[str, Floats]]
) -> xr.Dataset:
    coords = {"contrast": [contrast.name for contrast in contrasts]}
    draws = {
        name: scored.draws(np.stack([part[name] for part in parts], axis=1), ("contrast",), coords, name)
        for name in PARTS
    }
    return xr.Dataset(draws, attrs={"target": target, "unit": "proportion"})
