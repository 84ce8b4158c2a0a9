"""What priors are written with. Nothing here imports PyMC, which takes seconds."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Spread:
    """Prior of the standard deviation of a set of effects: half-normal with this scale, or fixed at it (no pooling)."""

    scale: float
    kind: Literal["half_normal", "fixed"] = "half_normal"
