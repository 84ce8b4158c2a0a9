"""What ratings the priors imply: draws come from the model itself."""

import numpy as np
import pymc as pm
import pytest

from drift.models.cards import build_model

N_DRAWS = 1500
SDS = ("sd_model", "sd_domain", "sd_model_domain", "sd_question", "sd_participant")
NO_EFFECTS = [f"{name} = {{fixed = 0.001}}" for name in SDS]


def predicted(model, name):
    """Prior predictive draws. FAST_COMPILE because numba warns that it has to call Python for the random ratings."""
    mode = {"mode": "FAST_COMPILE"}
    draws = pm.sample_prior_predictive(N_DRAWS, model, var_names=[name], random_seed=3, compile_kwargs=mode)
    return draws.prior_predictive[name].to_numpy()


def label_shares(model):
    """(draws, 5) share of each label among a draw's ratings."""
    rating = predicted(model, "rating")[0]
    return np.stack([(rating == k).mean(axis=1) for k in range(5)], axis=1)


@pytest.fixture(scope="module")
def with_effects(built):
    return label_shares(built("ordinal"))


@pytest.fixture(scope="module")
def without_effects(card_text, frame_of):
    card = card_text('builder = "ordinal"', "[priors]", *NO_EFFECTS)
    return label_shares(build_model(card, frame_of(card)))


def z_scores(shares, expected):
    return (shares.mean(axis=0) - expected) / (shares.std(axis=0) / np.sqrt(N_DRAWS))


def test_labels_are_equally_likely_where_effects_are_none(without_effects):
    assert (np.abs(z_scores(without_effects, 0.2)) < 4).all()


def test_shares_vary_as_a_dirichlet_where_effects_are_none(without_effects):
    """Dirichlet(1) over 5 labels: sd of a share sqrt(.2 x .8 / 6) = .1633, and 144 ratings' own scatter."""
    expected = np.sqrt(0.2 * 0.8 / 6 + (0.2 - 0.2 * 0.8 / 6 - 0.04) / 144)
    assert without_effects.std(axis=0) == pytest.approx(expected, rel=4 / np.sqrt(N_DRAWS))


def test_no_end_of_the_scale_is_preferred(with_effects):
    assert (np.abs(z_scores((with_effects - with_effects[:, ::-1])[:, :2], 0.0)) < 4).all()


def test_effects_push_ratings_to_the_ends(with_effects):
    assert z_scores(with_effects, 0.2)[0] > 4
    assert z_scores(with_effects, 0.2)[4] > 4


def test_no_label_is_ruled_out(with_effects):
    assert (with_effects.mean(axis=0) > 0.1).all()


def test_cell_means_are_spread_far_beyond_the_scale_both_ways(built):
    """No pooling: the prior of a mean is N(50, 100), whose share on the scale is P(|Z| < .5) = .38."""
    deviation = predicted(built("cell-means"), "deviation")
    assert ((deviation >= 0) & (deviation <= 100)).mean() == pytest.approx(0.38, abs=0.02)
    assert (deviation < 0).mean() == pytest.approx((deviation > 100).mean(), abs=0.03)
