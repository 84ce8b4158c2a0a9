"""How far the data moved each estimate of a contrast card from its prior, and what the prior therefore decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr

from drift.conclusions.contrast_parts import PriorPart
from drift.conclusions.posterior_parts import Posterior
from drift.data.scorer_declaration import ScorerContrast
from drift.estimands.error_rates import prior_dominance
from drift.estimands.scored import Scored

PRIOR_DECIDES = 0.71  # sd ratio, sqrt(1/2): the data have taken away less than half of the prior's variance

Pair = tuple[xr.DataArray, xr.DataArray]  # draws of the posterior, of the prior


def prior_parts(posterior: Posterior, contrast: ScorerContrast) -> tuple[PriorPart, ...]:
    """What the disposition rests on (contrast, bias, both prevalences), then error rates of scorer and raters."""
    deciding = [_part(name, pair, decides=True) for name, pair in _deciding(posterior, contrast)]
    return (*deciding, *(_part(name, pair, decides=False) for name, pair in _error_rates(posterior, contrast)))


def dominated(parts: Sequence[PriorPart]) -> tuple[str, ...]:
    """The estimates that the prior decides and the disposition looks at, in words with their numbers."""
    return tuple(
        f"{part.quantity}, whose standard deviation is {part.sd_ratio:.2f} of its prior's (limit {PRIOR_DECIDES:g})"
        for part in parts
        if part.dominated and part.decides
    )


def _part(quantity: str, pair: Pair, *, decides: bool) -> PriorPart:
    ratio = float(prior_dominance(*pair))
    return PriorPart(quantity, ratio, ratio > PRIOR_DECIDES, decides)


def _deciding(posterior: Posterior, contrast: ScorerContrast) -> Iterator[tuple[str, Pair]]:
    after, before = (draws.sel(contrast=contrast.name) for draws in (posterior.declared, posterior.prior_contrasts))
    yield "corrected contrast", (after["corrected"], before["corrected"])
    yield "contrast bias", (after["bias"], before["bias"])
    for arm in (contrast.treatment, contrast.comparator):
        yield f"prevalence, {arm}", (posterior.arms["truth"].sel(arm=arm), posterior.prior_arms["truth"].sel(arm=arm))


def _error_rates(posterior: Posterior, contrast: ScorerContrast) -> Iterator[tuple[str, Pair]]:
    for arm in (contrast.treatment, contrast.comparator):
        for name in ("sensitivity", "specificity"):
            yield f"{name}, {arm}", (posterior.rates[name].sel(arm=arm), posterior.prior_rates[name].sel(arm=arm))
    for place, rater in enumerate(posterior.labels.raters):
        if rater != posterior.reference:
            for kind in ("fpr", "fnr"):
                pair = (_rater(of, kind, place, contrast) for of in (posterior.scored, posterior.prior))
                yield f"{kind} of {rater}, mean of both arms", (next(pair), next(pair))


def _rater(of: Scored, kind: str, rater: int, contrast: ScorerContrast) -> xr.DataArray:
    """Draws of a rater's error rate."""
    arms = [of.levels["arm"].index(arm) for arm in (contrast.treatment, contrast.comparator)]
    values = np.asarray(getattr(of, f"rater_{kind}")[:, arms, rater].mean(axis=1), dtype=np.float64)
    return of.draws(values, (), {}, kind)
