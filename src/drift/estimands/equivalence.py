"""Which models are practically the same: differences in percentage points against a declared margin."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import xarray as xr

from drift.estimands.quadrature import Floats
from drift.estimands.summary import ROWS, IntervalKind, probability, summarise
from drift.estimands.terms import SAMPLE

EQUIVALENT, DIFFERENT, UNDECIDED = "equivalent", "different", "undecided"


def pair_differences(deviation: xr.DataArray) -> xr.DataArray:
    """Draws of deviation of `model_a` minus that of `model_b`, percentage points, dims (chain, draw[, domain], pair).

    Positive: `model_a` is worse. Every pair of models once, in the order of the models; the label of a pair is "a - b".
    `n_rows`: rows behind the two models together.
    """
    sampled = deviation.transpose(*SAMPLE, ..., "model")
    first, second = _pairs(sampled.sizes["model"])
    names = sampled["model"].values.astype(str)
    rest = {name: coord for name, coord in sampled.coords.items() if "model" not in coord.dims}
    pairs = {"pair": [f"{names[a]} - {names[b]}" for a, b in zip(first, second, strict=True)]}
    labels = {"model_a": ("pair", names[first]), "model_b": ("pair", names[second])}
    values = sampled.values[..., first] - sampled.values[..., second]
    found = xr.DataArray(values, {**rest, **pairs, **labels}, [*sampled.dims[:-1], "pair"], name="difference")
    return _with_rows(found.assign_attrs(unit="percentage points"), sampled, first, second)


def equivalence_table(
    deviation: xr.DataArray, margin_pp: float, *, ci_prob: float, ci_kind: IntervalKind = "hdi"
) -> xr.Dataset:
    """Every pair against the margin: the summary of its difference and, over the same dims ([domain,] pair), a verdict.

    `probability`, `mcse`: P(|difference| < margin), a posterior probability;
    `interval_inside`: the share of the *interval's length* inside the margin, which is another number;
    `decision` (kruschke2018): "equivalent" if the whole interval is inside the margin, "different" if none of it is,
    else "undecided". kruschke2018 uses the 95% HDI: `ci_prob` is always stated.
    Raises `ValueError` for a margin that is not positive.
    """
    margin = _positive(margin_pp)
    difference = pair_differences(deviation)
    table = summarise(difference, ci_prob=ci_prob, ci_kind=ci_kind).assign_attrs(margin_pp=margin)
    inside = probability(abs(difference) < margin)
    ends = table["lower"], table["upper"]
    return table.assign(
        probability=inside["probability"],
        mcse=inside["mcse"],
        interval_inside=xr.apply_ufunc(share_inside, *ends, margin),
        decision=xr.apply_ufunc(decide, *ends, margin),
    )


def decide(lower: Floats, upper: Floats, margin: float) -> np.ndarray:
    """HDI + ROPE decision for intervals [lower, upper] and the region (-margin, margin), as text (kruschke2018)."""
    inside = (lower > -margin) & (upper < margin)
    outside = (lower >= margin) | (upper <= -margin)
    return np.where(inside, EQUIVALENT, np.where(outside, DIFFERENT, UNDECIDED))


def share_inside(lower: Floats, upper: Floats, margin: float) -> Floats:
    """Share, 0..1, of the length of [lower, upper] that lies inside [-margin, margin]; of a point, 0 or 1."""
    length, common = upper - lower, np.minimum(upper, margin) - np.maximum(lower, -margin)
    point = (np.abs(lower) < margin).astype(np.float64)
    return np.where(length > 0.0, np.clip(common, 0.0, None) / np.where(length > 0.0, length, 1.0), point)


def range_draws(deviation: xr.DataArray, models: Sequence[str] = ()) -> xr.DataArray:
    """Draws of the largest minus the smallest deviation among `models` (all if none are named), percentage points.

    Dims (chain, draw[, domain]). All pairs are within a margin exactly when this is.
    Raises `KeyError` for an unknown model.
    """
    chosen = deviation.sel(model=list(models)) if models else deviation
    spread = (chosen.max("model") - chosen.min("model")).rename("range")
    return spread.assign_coords({ROWS: chosen[ROWS].sum("model")}) if ROWS in chosen.coords else spread


def joint_equivalence(deviation: xr.DataArray, margin_pp: float, models: Sequence[str] = ()) -> xr.Dataset:
    """P(all pairs of `models` are within the margin of each other), `probability` and `mcse`. All models if none named.

    Never above the smallest of the pairs' own probabilities. Dims ([domain]).
    """
    return probability(range_draws(deviation, models) < _positive(margin_pp)).assign_attrs(margin_pp=margin_pp)


def equivalence_curve(deviation: xr.DataArray, margins_pp: Sequence[float], models: Sequence[str] = ()) -> xr.Dataset:
    """How the probabilities grow with the margin, dims (margin[, domain][, pair]).

    `joint`, `joint_mcse`, `n_rows`: of all `models` (every model if none are named); `pairwise`, `pairwise_mcse`,
    `pairwise_n_rows`: of each pair. Raises `ValueError` for a margin that is not positive.
    """
    chosen = deviation.sel(model=list(models)) if models else deviation
    spread, distance = range_draws(chosen), abs(pair_differences(chosen))
    tables = []
    for margin in map(_positive, margins_pp):
        joint, pairwise = probability(spread < margin), probability(distance < margin)
        named = {"probability": "pairwise", "mcse": "pairwise_mcse", ROWS: f"pairwise_{ROWS}"}
        pairwise = pairwise.rename({name: new for name, new in named.items() if name in pairwise})
        tables.append(joint.rename(probability="joint", mcse="joint_mcse").merge(pairwise))
    margins = xr.DataArray(
        np.asarray(margins_pp, float), dims="margin", name="margin", attrs={"unit": "percentage points"}
    )
    curve = xr.concat(tables, margins, data_vars="all", coords="minimal", compat="override", join="exact")
    same = [name for name in (ROWS, f"pairwise_{ROWS}") if name in curve]
    return curve.assign({name: curve[name].isel(margin=0, drop=True) for name in same})


def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    found = np.array(list(combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _with_rows(difference: xr.DataArray, sampled: xr.DataArray, first: np.ndarray, second: np.ndarray) -> xr.DataArray:
    if ROWS not in sampled.coords:
        return difference
    rows = sampled[ROWS].transpose(..., "model")
    both = rows.values[..., first] + rows.values[..., second]
    return difference.assign_coords({ROWS: ((*rows.dims[:-1], "pair"), both)})


def _positive(margin_pp: float) -> float:
    if not margin_pp > 0.0:
        raise ValueError(f"an equivalence margin is above zero percentage points; {margin_pp} is not")
    return float(margin_pp)
