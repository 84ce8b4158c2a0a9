"""Sample sizes by Cohen's h; the printed figure of seed 002 is in test_seed_002_figures.py."""

from math import asin, sin, sqrt

import pytest

from drift.frequentist.power import cohens_h, sample_size_per_arm


@pytest.mark.parametrize(("effect", "n"), [(0.20, 393), (0.50, 63), (0.80, 25)])
def test_small_medium_and_large_effects(effect, n):
    """2 (1.95996 + .84162)^2 / h^2 = 392.4, 62.8 and 24.5, rounded up."""
    second = sin(asin(sqrt(0.3)) + effect / 2) ** 2
    assert cohens_h(second, 0.3) == pytest.approx(effect)
    assert sample_size_per_arm(0.3, second) == n


def test_order_does_not_matter():
    assert sample_size_per_arm(0.2, 0.3) == sample_size_per_arm(0.3, 0.2)


@pytest.mark.parametrize("shares", [(0.2, 0.2), (-0.1, 0.2), (0.2, 1.1)])
def test_impossible_shares_are_refused(shares):
    with pytest.raises(ValueError, match="shares"):
        sample_size_per_arm(*shares)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_impossible_power_is_refused(power):
    with pytest.raises(ValueError, match="power"):
        sample_size_per_arm(0.2, 0.3, power)
