"""Tiers, ranks and summaries: known answers on drawn arrays."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from drift.data.declaration import Target, Tier
from drift.estimands import (
    deviation,
    n_rows,
    probability,
    probability_best,
    probability_better,
    probability_top,
    rank_draws,
    rank_probabilities,
    rank_table,
    summarise,
    tier_probabilities,
)

TIERS = (Tier("Good", 60), Tier("Moderate", 80), Tier("Poor", 100))
NAMES = ["a", "b", "c", "d"]


def drawn(values, names=None):
    """(chain, draw, model) DataArray; 2-D values are one chain."""
    values = np.asarray(values, float)
    values = values[None] if values.ndim == 2 else values
    names = NAMES[: values.shape[2]] if names is None else names
    coords = {"chain": range(values.shape[0]), "draw": range(values.shape[1]), "model": names}
    return xr.DataArray(values, coords, ["chain", "draw", "model"])


def normal_draws(means, sd=1.0, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    return drawn(np.asarray(means) + sd * rng.normal(size=(4, n, len(means))))


def test_tier_bounds():
    values = [0.0, 59.999, 60.0, 79.9, 80.0, 100.0]
    found = tier_probabilities(drawn(np.array(values)[None, :], list("abcdef")), TIERS)["probability"]
    expected = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]
    np.testing.assert_array_equal(found, expected)


def test_gaussian_draws_beyond_the_scale_are_in_the_end_tiers():
    found = tier_probabilities(drawn([[-3.0, 104.0]]), TIERS)["probability"]
    np.testing.assert_array_equal(found, [[1, 0, 0], [0, 0, 1]])


def test_tiers_that_stop_short_get_one_above():
    found = tier_probabilities(drawn([[50.0, 80.0]]), TIERS[:2])
    assert list(found["tier"].values) == ["Good", "Moderate", "above Moderate"]
    np.testing.assert_array_equal(found["probability"], [[1, 0, 0], [0, 0, 1]])


def test_tier_probability_of_a_model_that_straddles_a_bound():
    found = tier_probabilities(normal_draws([61.0], sd=2.0), TIERS).sel(tier="Good")
    assert abs(found["probability"].item() - norm.cdf(-0.5)) < 4 * found["mcse"].item()
    assert 0.5 < found["mcse"].item() / np.sqrt(norm.cdf(-0.5) * norm.cdf(0.5) / 8000) < 2


@pytest.mark.parametrize("tiers", [(), (Tier("a", 60), Tier("b", 60))])
def test_tiers_that_make_no_sense_are_refused(tiers):
    with pytest.raises(ValueError, match="tiers"):
        tier_probabilities(drawn([[1.0]]), tiers)


def test_ranks_start_at_the_lowest_deviation():
    np.testing.assert_array_equal(rank_draws(drawn([[30.0, 10.0, 20.0]])).values[0, 0], [3, 1, 2])


def test_tied_models_share_the_lowest_rank():
    np.testing.assert_array_equal(rank_draws(drawn([[10.0, 20.0, 10.0, 30.0]])).values[0, 0], [1, 3, 1, 4])


def test_pairwise_probability_has_its_closed_form():
    table = probability_better(normal_draws([0.0, 1.0]))
    expected = norm.cdf(1 / np.sqrt(2))
    found = table["probability"].sel(model="a", other="b").item()
    assert abs(found - expected) < 4 * table["mcse"].sel(model="a", other="b").item()
    np.testing.assert_allclose(table["probability"] + table["probability"].values.T, 1.0)
    np.testing.assert_array_equal(np.diag(table["probability"]), 0.5)


def test_best_and_top_agree_with_the_rank_distribution():
    draws = normal_draws([0.0, 0.5, 1.0, 1.5])
    table = rank_probabilities(draws)
    np.testing.assert_allclose(table["probability"].sel(rank=1), probability_best(draws)["probability"])
    np.testing.assert_allclose(table["top"].sel(rank=2), probability_top(draws, 2)["probability"])
    np.testing.assert_allclose(table["top"], table["probability"].cumsum("rank"))


def test_expected_rank_is_the_mean_of_the_rank_distribution():
    draws = normal_draws([0.0, 0.5, 1.0, 1.5])
    table, distribution = rank_table(draws, ci_prob=0.9, ci_kind="eti"), rank_probabilities(draws)
    np.testing.assert_allclose(table["mean"], (distribution["probability"] * distribution["rank"]).sum("rank"))
    np.testing.assert_allclose(table["best"], distribution["probability"].sel(rank=1))


def test_ranks_and_tiers_within_domains(make_ordinal):
    draws = deviation(make_ordinal(), Target(), "model_domain")
    assert rank_draws(draws).dims == draws.dims
    np.testing.assert_allclose(rank_probabilities(draws)["probability"].sum("rank"), 1.0)
    assert tier_probabilities(draws, TIERS)["n_rows"].dims == ("model", "domain")
    better = probability_better(draws)
    expected = (draws.sel(model="model 0") < draws.sel(model="model 1")).mean(("chain", "draw"))
    np.testing.assert_allclose(better["probability"].sel(model="model 0", other="model 1"), expected)


@settings(max_examples=30, deadline=None)
@given(means=st.lists(st.floats(0, 100), min_size=2, max_size=4), seed=st.integers(0, 50), order=st.randoms())
def test_probabilities_add_to_one_and_follow_the_models(means, seed, order):
    draws = normal_draws(means, sd=5.0, n=30, seed=seed)
    names = list(draws["model"].values)
    order.shuffle(names)
    turned = draws.sel(model=names)
    for table, dim in ((rank_probabilities(draws), "rank"), (tier_probabilities(draws, TIERS), "tier")):
        np.testing.assert_allclose(table["probability"].sum(dim), 1.0)
    xr.testing.assert_allclose(rank_probabilities(turned), rank_probabilities(draws).sel(model=names))
    xr.testing.assert_allclose(tier_probabilities(turned, TIERS), tier_probabilities(draws, TIERS).sel(model=names))


def test_summary_of_normal_draws():
    found = summarise(normal_draws([50.0], sd=2.0), ci_prob=0.9, ci_kind="eti")
    half = norm.ppf(0.95) * 2.0
    assert abs(found["mean"].item() - 50.0) < 4 * found["mcse_mean"].item()
    np.testing.assert_allclose(found["sd"], 2.0, rtol=0.05)
    np.testing.assert_allclose([found["lower"].item(), found["upper"].item()], [50 - half, 50 + half], atol=0.2)
    np.testing.assert_allclose(found["mcse_mean"], 2.0 / np.sqrt(8000), rtol=0.15)
    assert found["ess_bulk"].item() > 6000 and found["ess_tail"].item() > 5000
    assert abs(found["rhat"].item() - 1) < 0.01
    assert (found.attrs["ci_prob"], found.attrs["ci_kind"]) == (0.9, "eti")


def test_diagnostics_may_be_left_out_of_long_tables():
    draws = normal_draws([50.0, 51.0])
    whole, short = (summarise(draws, ci_prob=0.9, ci_kind="eti", diagnostics=wanted) for wanted in (True, False))
    assert set(whole) - set(short) == {"ess_bulk", "ess_tail", "rhat"}
    xr.testing.assert_identical(short, whole[list(short)])


def test_interval_kinds_differ_on_skewed_draws():
    draws = drawn(np.random.default_rng(0).exponential(size=(4, 5000, 1)))
    hdi, eti = (summarise(draws, ci_prob=0.8, ci_kind=kind) for kind in ("hdi", "eti"))
    np.testing.assert_allclose([hdi["lower"].item(), hdi["upper"].item()], [0.0, -np.log(0.2)], atol=0.06)
    np.testing.assert_allclose([eti["lower"].item(), eti["upper"].item()], [-np.log(0.9), -np.log(0.1)], atol=0.06)


def test_correlated_draws_have_a_larger_monte_carlo_error():
    rng, phi = np.random.default_rng(0), 0.9
    chain = rng.normal(size=(4, 5000))
    for i in range(1, 5000):
        chain[:, i] = phi * chain[:, i - 1] + np.sqrt(1 - phi**2) * chain[:, i]
    found = summarise(drawn(chain[..., None]), ci_prob=0.9, ci_kind="eti")["mcse_mean"].item()
    expected = np.sqrt((1 + phi) / (1 - phi) / 20_000)
    assert 0.75 < found / expected < 1.35


def test_draws_that_never_vary_are_summarised_without_a_warning():
    found = summarise(drawn(np.full((2, 50, 1), 7.0)), ci_prob=0.9, ci_kind="hdi")
    assert (found["mean"].item(), found["sd"].item(), found["mcse_mean"].item()) == (7.0, 0.0, 0.0)


def test_a_certain_event_still_has_a_monte_carlo_error():
    found = probability(drawn(np.ones((4, 250, 1))) > 0)
    assert found["probability"].item() == 1.0
    np.testing.assert_allclose(found["mcse"], 1e-3, rtol=0.01)


@pytest.mark.parametrize(("ci_prob", "ci_kind"), [(1.0, "eti"), (0.0, "hdi"), (0.9, "normal")])
def test_intervals_that_make_no_sense_are_refused(ci_prob, ci_kind):
    with pytest.raises(ValueError, match="ci_"):
        summarise(drawn([[1.0]] * 9), ci_prob=ci_prob, ci_kind=ci_kind)


def test_rows_of_an_unbalanced_design(make_cells):
    tree = make_cells(missing=((0, 0), (0, 1), (2, 9)))
    np.testing.assert_array_equal(n_rows(tree), [8, 10, 9])
    np.testing.assert_array_equal(n_rows(tree, "model_domain"), [[2, 6], [4, 6], [4, 5]])
    assert list(summarise(deviation(tree, Target()), ci_prob=0.9, ci_kind="eti")["n_rows"].values) == [8, 10, 9]
