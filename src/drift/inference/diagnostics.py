"""Checks that decide whether anything is said: convergence of every parameter and of the estimands themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import xarray as xr

RHAT_BELOW = 1.01  # vehtari2021
ESS_AT_LEAST = 400  # vehtari2021: 100 a chain with four chains
EBFMI_AT_LEAST = 0.3  # betancourt2016
DIVERGENCES_AT_MOST = 0  # betancourt2017

ADVICE = {
    "rhat": "the chains disagree: draw more (--draws, --tune); if it stays, this design may not identify a term",
    "ess_bulk": "too few effective draws for a mean: raise --draws",
    "ess_tail": "too few effective draws in the tails, which intervals and tier probabilities need: raise --draws",
    "divergences": "the sampler missed part of the posterior: raise --target-accept towards .95",
    "ebfmi": "the energy mixes slowly: raise --tune, or give a small group a tighter prior in a card of your own",
}


@dataclass(frozen=True)
class Check:
    """One check: its outcome and what to do about it are one object.

    `value` is the worst found, `at` where, `limit` what it is held against; `advice` is empty where it passed.
    """

    name: str
    value: float
    limit: float
    at: str
    passed: bool
    advice: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def checks_made(tree: xr.DataTree, estimands: Mapping[str, xr.DataArray]) -> tuple[Check, ...]:
    """Convergence checks of the free parameters in `tree["posterior"]` and of the estimands' draws.

    tree: groups `posterior` and `sample_stats`, (chain, draw, ...). estimands: draws by name, (chain, draw, ...).
    R-hat, bulk and tail ESS (vehtari2021) are the worst over both; divergences and E-BFMI are the sampler's.
    """
    draws = {**{str(name): v for name, v in tree["posterior"].data_vars.items()}, **estimands}
    stats = tree["sample_stats"].to_dataset()
    divergent = float(stats["diverging"].sum())
    energy, chain = _worst_ebfmi(stats["energy"])
    return (
        *(_worst(draws, name) for name in ("rhat", "ess_bulk", "ess_tail")),
        _check("divergences", divergent, DIVERGENCES_AT_MOST, divergent <= DIVERGENCES_AT_MOST, "all chains"),
        _check("ebfmi", energy, EBFMI_AT_LEAST, energy >= EBFMI_AT_LEAST, chain),
    )


def passed(checks: tuple[Check, ...]) -> bool:
    return all(check.passed for check in checks)


def _worst(draws: Mapping[str, xr.DataArray], name: str) -> Check:
    """The worst value over all quantities. Where it is undefined, as for draws that never move, that is the worst."""
    high_is_bad, limit = (True, RHAT_BELOW) if name == "rhat" else (False, ESS_AT_LEAST)
    found = [(key, *_extreme(array, name, high_is_bad)) for key, array in draws.items()]
    key, value, place = max(found, key=lambda row: _badness(row[1], high_is_bad))
    good = bool(np.isfinite(value) and (value < limit if high_is_bad else value >= limit))
    return _check(name, value, limit, good, f"{key}{place}")


def _extreme(draws: xr.DataArray, name: str, high_is_bad: bool) -> tuple[float, str]:
    """The worst element of one quantity, and its labels. An effect that a zero-sum constraint fixes at 0 is no draw."""
    values = np.asarray(_diagnostic(draws, name))
    values = np.where((draws == 0).all(("chain", "draw")), 1.0 if high_is_bad else np.inf, values)
    position = np.unravel_index(int(np.argmax(_badness(values, high_is_bad))), values.shape)
    dims = [dim for dim in draws.dims if dim not in ("chain", "draw")]
    labels = [
        str(draws[dim].values[i]) if dim in draws.coords else str(i) for dim, i in zip(dims, position, strict=True)
    ]
    return float(values[position]), f"[{', '.join(labels)}]" if labels else ""


def _badness(value: Any, high_is_bad: bool) -> Any:
    return np.where(np.isnan(value), np.inf, value if high_is_bad else -np.asarray(value))


def _diagnostic(draws: xr.DataArray, name: str) -> xr.DataArray:
    import arviz_stats

    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 for draws that never move: NaN, which fails the check
        if name == "rhat":
            return arviz_stats.rhat(draws, method="rank")
        return arviz_stats.ess(draws, method=name.removeprefix("ess_"))


def _worst_ebfmi(energy: xr.DataArray) -> tuple[float, str]:
    import arviz_stats

    values = np.ravel(arviz_stats.bfmi(xr.Dataset({"energy": energy}))["energy"])
    i = int(np.argmin(values))
    return float(values[i]), f"chain {i}"


def _check(name: str, value: float, limit: float, good: bool, at: str) -> Check:
    return Check(name, value, limit, at, good, "" if good else ADVICE[name])
