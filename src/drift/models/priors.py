"""What priors are written with. Nothing here imports PyMC, which takes seconds."""

from dataclasses import dataclass
from typing import Literal

SHAPE = 3.0  # of the gamma prior: 5% lies below .27 of its mean, 5% above 2.1 of it


@dataclass(frozen=True)
class Spread:
    """Prior of the standard deviation of a set of effects.

    Half-normal with this scale; gamma with this mean and shape `SHAPE`, which keeps away from 0; or fixed at it.
    """

    scale: float
    kind: Literal["half_normal", "gamma", "fixed"] = "half_normal"
