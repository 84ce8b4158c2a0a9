"""How many rows an arm needs so that a difference of two shares is found."""

import math

from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_effectsize

from drift.frequentist.estimate import LEVEL


def cohens_h(first: float, second: float) -> float:
    """2 arcsin(sqrt(first)) - 2 arcsin(sqrt(second)) (cohen1988, ch. 6)."""
    return float(proportion_effectsize(first, second))


def sample_size_per_arm(first: float, second: float, power: float = 0.8, level: float = LEVEL) -> int:
    """Rows in each of two arms for a two-sided test of two independent shares, by Cohen's h, rounded up.

    Raises `ValueError` for two equal shares, a share outside 0..1, or power or level outside (0, 1).
    """
    if first == second or not all(0.0 <= value <= 1.0 for value in (first, second)):
        raise ValueError("two different shares between 0 and 1 are needed")
    if not all(0.0 < value < 1.0 for value in (power, level)):
        raise ValueError("power and level lie between 0 and 1")
    effect = abs(cohens_h(first, second))
    n = NormalIndPower().solve_power(effect_size=effect, power=power, alpha=1.0 - level, alternative="two-sided")
    return math.ceil(float(n))
