"""Equivalence: pairs, joint, curve, largest set."""

from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from drift.data.declaration import Target
from drift.estimands import (
    deviation,
    equivalence_curve,
    equivalence_table,
    joint_equivalence,
    largest_equivalent_set,
    pair_differences,
)
from drift.estimands.equivalence import decide, share_inside


def drawn(values, names=None):
    values = np.asarray(values, float)
    values = values[None] if values.ndim == 2 else values
    names = [f"m{i:02d}" for i in range(values.shape[2])] if names is None else names
    coords = {"chain": range(values.shape[0]), "draw": range(values.shape[1]), "model": names}
    return xr.DataArray(values, coords, ["chain", "draw", "model"])


def normal_draws(means, sd=1.0, n=1000, seed=0):
    return drawn(np.asarray(means) + sd * np.random.default_rng(seed).normal(size=(4, n, len(means))))


def test_difference_is_first_minus_second():
    found = pair_differences(drawn([[10.0, 4.0, 1.0]]))
    assert list(found["pair"].values) == ["m00 - m01", "m00 - m02", "m01 - m02"]
    np.testing.assert_array_equal(found.values[0, 0], [6.0, 9.0, 3.0])


def test_pair_probability_has_its_closed_form():
    table = equivalence_table(normal_draws([50.0, 52.0]), 3.0, ci_prob=0.95)
    sd = np.sqrt(2)
    expected = norm.cdf((3 + 2) / sd) - norm.cdf((-3 + 2) / sd)
    assert abs(table["probability"].item() - expected) < 4 * table["mcse"].item()


@pytest.mark.parametrize(
    ("ends", "decision", "share"),
    [
        ((-2.0, 4.0), "equivalent", 1.0),
        ((6.0, 9.0), "different", 0.0),
        ((-9.0, -5.0), "different", 0.0),
        ((3.0, 7.0), "undecided", 0.5),
        ((-10.0, 10.0), "undecided", 0.5),
        ((-2.0, 5.0), "undecided", 1.0),
        ((1.0, 1.0), "equivalent", 1.0),
    ],
)
def test_decision_and_share_of_interval(ends, decision, share):
    lower, upper = np.array(ends[:1]), np.array(ends[1:])
    assert decide(lower, upper, 5.0)[0] == decision
    assert share_inside(lower, upper, 5.0)[0] == share


def test_share_of_interval_is_not_the_probability():
    table = equivalence_table(normal_draws([50.0, 54.0]), 5.0, ci_prob=0.95)
    assert abs(table["probability"].item() - table["interval_inside"].item()) > 0.05
    assert table["decision"].item() == "undecided"


def test_table_by_domain_carries_rows(make_ordinal):
    table = equivalence_table(deviation(make_ordinal(), Target(), "model_domain"), 5.0, ci_prob=0.9)
    assert table["decision"].dims == ("domain", "pair")
    np.testing.assert_array_equal(table["n_rows"].sel(domain="domain 1"), [40, 40, 40])


def test_joint_is_the_range():
    draws = drawn([[0.0, 4.0, 8.0], [0.0, 4.0, 4.5]])
    assert joint_equivalence(draws, 5.0)["probability"].item() == 0.5
    assert joint_equivalence(draws, 5.0, ["m00", "m01"])["probability"].item() == 1.0


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(2, 5), margin=st.floats(0.1, 8.0))
def test_joint_is_never_above_the_smallest_pair(seed, n, margin):
    rng = np.random.default_rng(seed)
    draws = normal_draws(rng.normal(size=n), n=25, seed=seed)
    table = equivalence_table(draws, margin, ci_prob=0.9)
    assert joint_equivalence(draws, margin)["probability"].item() <= table["probability"].min().item()


def test_curve_rises_from_nothing_to_certainty():
    margins = [1e-9, 0.5, 1.0, 2.0, 4.0, 40.0]
    draws = normal_draws([0.0, 0.5, 1.0])
    curve = equivalence_curve(draws, margins)
    assert curve["joint"].dims == ("margin",) and curve["pairwise"].dims == ("margin", "pair")
    assert (curve["joint"].diff("margin") >= 0).all() and (curve["pairwise"].diff("margin") >= 0).all()
    assert (curve["joint"].values[0], curve["joint"].values[-1]) == (0.0, 1.0)
    assert curve["joint"].sel(margin=2.0).item() == joint_equivalence(draws, 2.0)["probability"].item()


def slow_largest(draws, margin, wanted):
    """Every subset, largest first, then most probable, then by name."""
    values = draws.values.reshape(-1, draws.sizes["model"])
    names = list(draws["model"].values)
    sets = []
    for size in range(2, len(names) + 1):
        for members in combinations(range(len(names)), size):
            chosen = values[:, members]
            chance = float((chosen.max(axis=1) - chosen.min(axis=1) < margin).mean())
            if chance >= wanted:
                sets.append((-size, -chance, sorted(names[m] for m in members)))
    return min(sets)[2] if sets else None


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 7), wanted=st.sampled_from([0.5, 0.8, 0.95]))
def test_largest_set_agrees_with_every_subset(seed, n, wanted):
    rng = np.random.default_rng(seed)
    draws = drawn(3 * rng.normal(size=n) + rng.choice([0.2, 1.0, 3.0], n) * rng.normal(size=(1, 60, n)))
    found, twin = largest_equivalent_set(draws, 5.0, wanted), slow_largest(draws, 5.0, wanted)
    assert found.exact and found.reached == (twin is not None)
    if twin is not None:
        assert sorted(found.models) == twin
        assert found.size_at_most == len(twin)
    turned = largest_equivalent_set(draws.isel(model=rng.permutation(n)), 5.0, wanted)
    assert (sorted(turned.models), turned.probability) == (sorted(found.models), found.probability)


def test_largest_set_need_not_be_a_run_of_sorted_means():
    rng = np.random.default_rng(0)
    values = np.array([0.0, 1.0, 2.0]) + rng.normal(size=(500, 3)) * np.array([0.1, 30.0, 0.1])
    found = largest_equivalent_set(drawn(values), 5.0)
    assert found.models == ("m00", "m02")


def test_no_pair_reaches_it():
    found = largest_equivalent_set(normal_draws([0.0, 4.0, 40.0]), 4.0)
    assert (found.models, found.reached, found.size_at_most) == (("m00", "m01"), False, 1)
    assert 0.4 < found.probability < 0.6


def test_many_models_are_searched_greedily_with_a_bound():
    means = [0.0] * 9 + [50.0] * 6
    found = largest_equivalent_set(normal_draws(means, sd=0.1, n=100), 5.0)
    assert found.models == tuple(f"m{i:02d}" for i in range(9))
    assert (found.exact, found.size_at_most) == (False, 9)


@pytest.mark.parametrize("margin", [0.0, -1.0, float("nan")])
def test_margins_must_be_positive(margin):
    draws = normal_draws([0.0, 1.0], n=10)
    for statement in (
        lambda: equivalence_table(draws, margin, ci_prob=0.9),
        lambda: joint_equivalence(draws, margin),
        lambda: equivalence_curve(draws, [margin]),
        lambda: largest_equivalent_set(draws, margin),
    ):
        with pytest.raises(ValueError, match="above zero"):
            statement()
