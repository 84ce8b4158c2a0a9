"""Draws to numbers: mean, sd, interval, Monte Carlo error, effective sizes, and the rows behind them."""

from typing import Any, Literal

import numpy as np
import xarray as xr

from drift.estimands.quadrature import Floats
from drift.estimands.terms import SAMPLE, NoDomainError

By = Literal["model", "model_domain"]
IntervalKind = Literal["eti", "hdi"]
TAIL = (0.05, 0.95)  # quantiles of the tail effective size, vehtari2021
AXES = {"chain_axis": 0, "draw_axis": 1}
ROWS = "n_rows"


def summarise(draws: xr.DataArray, *, ci_prob: float, ci_kind: IntervalKind, diagnostics: bool = True) -> xr.Dataset:
    """Summary of draws (chain, draw, ...), over the other dims, in the draws' own unit.

    mean, sd, lower and upper (interval of probability `ci_prob`: "eti" has equal tails, "hdi" is the shortest),
    mcse_mean, n_rows where the draws carry it, and with `diagnostics` also ess_bulk, ess_tail and rhat
    (rank-normalised, vehtari2021; NaN for draws that never vary or a single chain). ArviZ takes quantities one by one:
    the diagnostics are 1.7 of 2 ms each (4,000 draws), so a table of thousands goes without them.
    Attributes: `ci_prob`, `ci_kind`. Raises `ValueError` for a probability outside (0, 1) or an unknown kind.
    """
    sampled = draws.transpose(*SAMPLE, ...)
    values = np.asarray(sampled.values, dtype=np.float64)
    lower, upper = interval(values, ci_prob, ci_kind)
    numbers = {
        "mean": values.mean(axis=(0, 1)),
        "sd": _sd(values),
        "lower": lower,
        "upper": upper,
        "mcse_mean": np.asarray(_arviz().mcse(values, method="mean", **AXES)),
        **(_diagnostics(values) if diagnostics else {}),
    }
    return labelled(sampled, numbers).assign_attrs(ci_prob=ci_prob, ci_kind=ci_kind)


def probability(event: xr.DataArray) -> xr.Dataset:
    """`probability` and `mcse` of an event from its indicator draws (chain, draw, ...), over the other dims.

    Indicators may be 1/2 (ties). An event that happened in every draw, or in none, has no sampling variance to
    estimate: its `mcse` is then the sd of Beta(1 + hits, 1 + misses), about 1 / draws, not zero.
    """
    sampled = event.transpose(*SAMPLE, ...)
    values = np.asarray(sampled.values, dtype=np.float64)
    return labelled(sampled, {"probability": values.mean(axis=(0, 1)), "mcse": probability_mcse(values)})


def interval(values: Floats, ci_prob: float, ci_kind: IntervalKind) -> tuple[Floats, Floats]:
    """Lower and upper ends, each (...), of the interval of draws (chain, draw, ...)."""
    if not 0.0 < ci_prob < 1.0:
        raise ValueError(f"ci_prob is {ci_prob}: an interval's probability lies between 0 and 1")
    if ci_kind not in ("eti", "hdi"):
        raise ValueError(f'ci_kind is {ci_kind!r}: write "eti" (equal tails) or "hdi" (shortest)')
    ends = getattr(_arviz(), ci_kind)(values, ci_prob, axis=(0, 1))
    return np.asarray(ends[..., 0]), np.asarray(ends[..., 1])


def probability_mcse(values: Floats) -> Floats:
    """(...) Monte Carlo standard error of the mean of indicators (chain, draw, ...)."""
    n = values.shape[0] * values.shape[1]
    error = np.asarray(_arviz().mcse(values, method="mean", **AXES))
    hits = values.sum(axis=(0, 1))
    unseen = np.sqrt((1.0 + hits) * (1.0 + n - hits) / ((n + 2.0) ** 2 * (n + 3.0)))
    return np.where((hits == 0.0) | (hits == n), unseen, error)


def n_rows(tree: xr.DataTree, by: By = "model") -> xr.DataArray:
    """Number of data rows (ratings, or cells) of each model, or of each model x domain. Dims (model[, domain])."""
    data = tree["constant_data"].to_dataset()
    model = np.asarray(data["model_index"].values, np.int64)
    n_models, coords = data.sizes["model"], {"model": data["model"].values}
    if by == "model":
        return xr.DataArray(np.bincount(model, minlength=n_models), coords, ["model"], name=ROWS)
    if "domain" not in data.coords:
        raise NoDomainError("this study has no domains: ask for results by model")
    domain, n_domains = np.asarray(data["domain_index"].values, np.int64), data.sizes["domain"]
    counts = np.bincount(model * n_domains + domain, minlength=n_models * n_domains).reshape(n_models, n_domains)
    return xr.DataArray(counts, {**coords, "domain": data["domain"].values}, ["model", "domain"], name=ROWS)


def labelled(sampled: xr.DataArray, numbers: dict[str, Any]) -> xr.Dataset:
    """Arrays over the dims of `sampled` (chain, draw, ...) beyond the sample, with its labels and `n_rows`."""
    dims = sampled.dims[2:]
    coords = {name: coord for name, coord in sampled.coords.items() if not set(coord.dims) & set(SAMPLE)}
    found = xr.Dataset({name: (dims, value) for name, value in numbers.items()}, coords=coords)
    return found.reset_coords(ROWS) if ROWS in coords else found


def _sd(values: Floats) -> Floats:
    return np.asarray(values.std(axis=(0, 1), ddof=1))


def _diagnostics(values: Floats) -> dict[str, Floats]:
    arviz = _arviz()
    with np.errstate(invalid="ignore", divide="ignore"):  # draws that never vary have no R-hat
        return {
            "ess_bulk": np.asarray(arviz.ess(values, method="bulk", **AXES)),
            "ess_tail": np.asarray(arviz.ess(values, method="tail", prob=TAIL, **AXES)),
            "rhat": np.asarray(arviz.rhat(values, method="rank", **AXES)),
        }


def _arviz() -> Any:
    """ArviZ's functions on plain arrays; imported late because that takes a second and a half."""
    from arviz_stats.base.array import array_stats

    return array_stats
