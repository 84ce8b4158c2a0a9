"""Rank draws, and what they say: rank 1 has the lowest deviation."""

import numpy as np
import xarray as xr

from drift.estimands.quadrature import Floats
from drift.estimands.summary import ROWS, IntervalKind, probability, summarise
from drift.estimands.terms import SAMPLE


def rank_draws(deviation: xr.DataArray) -> xr.DataArray:
    """Rank of each model in each draw, dims as `deviation`; 1 is the lowest deviation (best).

    Draws are continuous, so ties occur only where a posterior is degenerate; tied models then all take the lowest rank
    of the tie (`scipy.stats.rankdata(method="min")`), so that two equal best models are both best.
    """
    from scipy.stats import rankdata

    axis = deviation.get_axis_num("model")
    return deviation.copy(data=rankdata(deviation.values, method="min", axis=axis)).rename("rank").drop_attrs()


def rank_probabilities(deviation: xr.DataArray) -> xr.Dataset:
    """P(rank = r) and P(rank <= r), dims (model[, domain], rank).

    `probability`, `mcse`: of the rank itself. `top`, `top_mcse`: of being among the best r models.
    """
    ranks, r = rank_draws(deviation), _ranks_of(deviation)
    exact, top = probability(ranks == r), probability(ranks <= r)
    return exact.assign(top=top["probability"], top_mcse=top["mcse"])


def rank_table(deviation: xr.DataArray, *, ci_prob: float, ci_kind: IntervalKind) -> xr.Dataset:
    """Expected rank (`mean`) of each model with sd, interval and MCSE, and `best` = P(rank = 1) with `best_mcse`."""
    ranks = rank_draws(deviation)
    best = probability(ranks == 1)
    table = summarise(ranks, ci_prob=ci_prob, ci_kind=ci_kind)
    return table.assign(best=best["probability"], best_mcse=best["mcse"])


def probability_best(deviation: xr.DataArray) -> xr.Dataset:
    """P(a model has the lowest deviation of all), with `mcse`. Dims (model[, domain])."""
    return probability(rank_draws(deviation) == 1)


def probability_top(deviation: xr.DataArray, k: int) -> xr.Dataset:
    """P(a model is among the k lowest deviations), with `mcse`. Dims (model[, domain])."""
    return probability(rank_draws(deviation) <= k)


def probability_better(deviation: xr.DataArray) -> xr.Dataset:
    """P(`model` has a lower deviation than `other`), with `mcse`. Dims (model, other[, domain]).

    A tie counts half to each, so P(a, b) + P(b, a) = 1 and the diagonal is .5. `n_rows`: of the two together.
    """
    sampled = deviation.transpose(*SAMPLE, "model", ...)
    by_model = [_better(sampled.values[:, :, m, None], sampled.values) for m in range(sampled.sizes["model"])]
    rest = sampled.drop_vars([name for name, coord in sampled.coords.items() if "model" in coord.dims])
    tables = [probability(rest.copy(data=events).rename({"model": "other"})) for events in by_model]
    names = sampled["model"].values
    table = xr.concat(
        tables, "model", data_vars="all", coords="minimal", compat="override", join="exact"
    ).assign_coords(model=names, other=names)
    if ROWS not in sampled.coords:
        return table
    rows = sampled[ROWS]
    return table.assign({ROWS: rows + rows.rename(model="other")})


def _better(one: Floats, others: Floats) -> Floats:
    return np.asarray((one < others) + 0.5 * (one == others))


def _ranks_of(deviation: xr.DataArray) -> xr.DataArray:
    ranks = np.arange(1, deviation.sizes["model"] + 1)
    return xr.DataArray(ranks, {"rank": ranks}, ["rank"])
