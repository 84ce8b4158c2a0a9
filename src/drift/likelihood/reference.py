"""The cumulative-link log likelihood of single ratings: the readable definition, and the pointwise one.

P(R <= k) = F((cutpoint_k - eta) / exp(log_scale)),   F the standard logistic or normal distribution function
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit, log_ndtr

Floats = NDArray[np.float64]
Link = Literal["logit", "probit"]

NARROW = 1e-3  # below this gap x max(1, |midpoint|) the normal density's fourth-order term is under 1e-15
LOG_ROOT_2_PI = 0.5 * np.log(2.0 * np.pi)


def log_probability(
    label: ArrayLike, eta: ArrayLike, cutpoints: ArrayLike, link: Link = "logit", log_scale: ArrayLike = 0.0
) -> Floats:
    """(rows,) log P(R = label), in nats: log(F(upper) - F(lower)), lost to no underflow.

    label: (rows,) codes 0 (worst) to K - 1. eta: (rows,) latent means, up when ratings go up. cutpoints: (K - 1,)
    increasing, K >= 2. log_scale: (rows,) or a scalar, log of the latent scale. eta and log_scale may have leading
    dimensions (draws); the result then has them too. -inf where two cutpoints around a label do not increase.
    Source: mccullagh1980.
    """
    bounds = np.concatenate([[-np.inf], np.asarray(cutpoints, np.float64), [np.inf]])
    code, location, scale = np.asarray(label), np.asarray(eta, np.float64), np.exp(np.asarray(log_scale, np.float64))
    lower, upper = (bounds[code] - location) / scale, (bounds[code + 1] - location) / scale
    gap = (bounds[code + 1] - bounds[code]) / scale  # from the cutpoints themselves: upper - lower has lost digits
    with np.errstate(divide="ignore", invalid="ignore"):
        value = _log_logistic(lower, upper, gap) if link == "logit" else _log_normal(lower, upper, gap)
    return np.where(gap > 0.0, value, -np.inf)


def _log_logistic(lower: Floats, upper: Floats, gap: Floats) -> Floats:
    """log(expit(upper) - expit(lower)) = log expit(upper) + log expit(-lower) + log(1 - exp(-gap))."""
    return np.asarray(log_expit(upper) + log_expit(-lower) + np.log(-np.expm1(-gap)), np.float64)


def _log_normal(lower: Floats, upper: Floats, gap: Floats) -> Floats:
    """log(Phi(upper) - Phi(lower)), in the tail where neither is near 1; a narrow gap by the density at its middle."""
    mirrored = lower + upper > 0.0
    far, near = np.where(mirrored, -upper, lower), np.where(mirrored, -lower, upper)
    high = log_ndtr(near)
    wide = high + np.log1p(-np.exp(log_ndtr(far) - high))
    middle = 0.5 * (far + near)
    narrow = np.log(gap) - 0.5 * middle**2 - LOG_ROOT_2_PI + np.log1p((middle**2 - 1.0) * gap**2 / 24.0)
    return np.where(gap * np.maximum(1.0, np.abs(middle)) < NARROW, narrow, wide)
