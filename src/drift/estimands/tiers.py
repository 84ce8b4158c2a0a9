"""The probability that a model's mean deviation lies in each declared tier."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import xarray as xr

from drift.data.declaration import Tier
from drift.estimands.quadrature import Floats
from drift.estimands.summary import probability

WORST = 100.0


def tier_probabilities(deviation: xr.DataArray, tiers: Sequence[Tier]) -> xr.Dataset:
    """`probability` and `mcse`, dims (model[, domain], tier), from draws of deviation in percent.

    A draw is in the first tier whose `below` exceeds it; a draw exactly on a bound is in the next tier, except on the
    last bound, which belongs to the last tier. Draws of the Gaussian card beyond 0 or 100 count as 0 or 100. Where the
    last bound is below 100, a tier "above NAME" holds what no declared tier does, so probabilities always add to 1.
    Coordinate `below`: the tier's upper bound. Raises `ValueError` for no tiers or bounds that do not rise.
    """
    complete = _complete(tiers)
    bounds = np.array([tier.below for tier in complete])
    code = xr.apply_ufunc(tier_codes, deviation, kwargs={"bounds": bounds})
    names = xr.DataArray([tier.name for tier in complete], dims="tier")
    event = (code == xr.DataArray(np.arange(len(complete)), dims="tier")).assign_coords(tier=names)
    return probability(event).assign_coords(below=("tier", bounds))


def tier_codes(values: Floats, bounds: Floats) -> np.ndarray:
    """Code of the tier of each value, shape as `values`. bounds: (tier,), rising."""
    return np.minimum(np.searchsorted(bounds, np.clip(values, 0.0, WORST), side="right"), len(bounds) - 1)


def _complete(tiers: Sequence[Tier]) -> tuple[Tier, ...]:
    """The declared tiers, and one above them where they stop short of 100."""
    if not tiers:
        raise ValueError("no tiers are declared")
    if any(upper.below <= lower.below for lower, upper in pairwise(tiers)):
        raise ValueError("the upper bounds of the tiers must rise: " + ", ".join(f"{t.name} {t.below}" for t in tiers))
    last = tiers[-1]
    return tuple(tiers) if last.below >= WORST else (*tiers, Tier(f"above {last.name}", WORST))
