"""Contrasts: sign, weighting, effect size, width for new questions."""

import numpy as np
import pytest

from drift.data.declaration import Contrast, Target
from drift.errors import UnknownLevelError
from drift.estimands import contrast_draws, contrast_table, deviation
from drift.estimands.terms import read_ordinal

PAIR = Contrast("first against the rest", ("model 0",), ("model 1", "model 2"))
IN_DOMAIN = Contrast("in a domain", ("model 0",), ("model 1",), "domain 1")


@pytest.mark.parametrize("weighting", ["question", "domain"])
def test_difference_is_treatment_minus_comparator(make_ordinal, weighting):
    tree, target = make_ordinal(), Target("new", "these", weighting)
    by_model, by_domain = deviation(tree, target), deviation(tree, target, "model_domain")
    found = contrast_draws(tree, target, [PAIR, IN_DOMAIN])
    np.testing.assert_allclose(
        found["difference"].values[..., 0], by_model.values[..., 0] - by_model.values[..., 1:].mean(axis=-1)
    )
    inside = by_domain.sel(domain="domain 1")
    np.testing.assert_allclose(found["difference"].values[..., 1], inside.values[..., 0] - inside.values[..., 1])


def test_effect_size_is_the_latent_difference_over_the_logistic_sd(make_ordinal):
    tree = make_ordinal(leave_out=("model_question",))
    t = read_ordinal(tree)
    expected = (t.base[:, 1, 1] - t.base[:, 0, 1]) / (np.pi / np.sqrt(3))
    found = contrast_draws(tree, Target("new", "new"), [IN_DOMAIN])["effect_size"].values.ravel()
    np.testing.assert_allclose(found, expected)  # the question offset is shared by all models


def test_better_treatment_is_negative_on_both_scales(make_ordinal):
    tree = make_ordinal(fixed=True)
    better = read_ordinal(tree).base[0].mean(axis=1)
    best, worst = f"model {better.argmax()}", f"model {better.argmin()}"
    found = contrast_draws(tree, Target("these", "these"), [Contrast("x", (best,), (worst,))])
    assert (found["difference"] < 0).all() and (found["effect_size"] < 0).all()


def test_table_has_rows_probability_and_both_scales(make_ordinal):
    tree = make_ordinal()
    table = contrast_table(contrast_draws(tree, Target(), [PAIR, IN_DOMAIN]), ci_prob=0.9, ci_kind="eti")
    np.testing.assert_array_equal(table["n_rows"], [96, 40])
    for name in (
        "mean",
        "sd",
        "lower",
        "upper",
        "mcse_mean",
        "below_zero",
        "below_zero_mcse",
        "effect_size_mean",
        "effect_size_lower",
    ):
        assert table[name].dims == ("contrast",)


def test_cell_means_have_no_effect_size(make_cells):
    draws = contrast_draws(make_cells(), Target("these"), [PAIR])
    assert set(draws.data_vars) == {"difference"}
    assert "below_zero" in contrast_table(draws, ci_prob=0.9, ci_kind="hdi")


def test_new_questions_widen_points_by_the_interaction(make_ordinal):
    """Fixed draws: these questions leave no spread; new ones have the two models' offsets over 16 questions."""
    tree = make_ordinal(n_chains=1, n_draws=4000, sizes=(8, 8), sd_model_question=0.4, fixed=True, unit=0.3)
    contrast = [Contrast("x", ("model 0",), ("model 1",))]
    these, new = (contrast_draws(tree, Target(q, "these"), contrast) for q in ("these", "new"))
    sd = np.sqrt((0.2**2 + 0.4**2) / 16) / (np.pi / np.sqrt(3))
    np.testing.assert_allclose(these["effect_size"].std(), 0.0, atol=1e-12)
    np.testing.assert_allclose(new["effect_size"].std(), sd, rtol=5 / np.sqrt(2 * 4000))


def test_every_unknown_name_is_reported(make_ordinal):
    wrong = [Contrast("x", ("GPT",), ("model 1",)), Contrast("y", ("model 0",), ("model 1",), "Law")]
    with pytest.raises(UnknownLevelError) as caught:
        contrast_draws(make_ordinal(), Target(), wrong)
    assert "GPT" in str(caught.value) and "Law" in str(caught.value)
