"""Card `cell-means`: Gaussian on the mean deviation of each model x question cell, for published tables."""

from dataclasses import dataclass

import pymc as pm
import pytensor.tensor as pt

from drift.models.effects import declare, effect, unpooled_means
from drift.models.frame import Frame
from drift.models.priors import Spread


@dataclass(frozen=True)
class CellMeansPriors:
    """Percentage points of deviation. `noise_share`: Beta, where between its bounds the rating noise lies."""

    mean: float = 50.0
    mean_sd: float = 100.0
    sd_question: Spread = Spread(10.0)
    sd_residual: float = 15.0
    noise_share: tuple[float, float] = (2.0, 6.0)


def cell_means(frame: Frame, priors: CellMeansPriors) -> pm.Model:
    """Mean deviation = model, domain and model:domain (no pooling) + question + own answer + rating noise."""
    with pm.Model(coords=frame.coords) as model:
        declare(frame)
        mean = unpooled_means(frame, priors.mean, priors.mean_sd) + effect(frame, "question", sd=priors.sd_question)
        sd_residual = pm.HalfNormal("sd_residual", priors.sd_residual, dims="model")
        noise_share = pm.Beta("noise_share", *priors.noise_share)
        noise = model["noise_low"] + noise_share * (model["noise_high"] - model["noise_low"])
        spread = pt.sqrt(sd_residual[model["cell_model"]] ** 2 + noise)
        pm.Normal("deviation", mean, spread, observed=model["observed"])
    return model
