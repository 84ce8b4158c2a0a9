"""Labels and draws here are simulated."""

from dataclasses import replace

import numpy as np
import pytest
from tests.estimands.scorer_tree import jittered, labels_of, scorer_tree, simulate_labels

from drift.data.scorer_declaration import ScorerContrast, ScorerTarget
from drift.errors import UnknownLevelError
from drift.estimands.prevalence import automatic_prevalence, prevalence
from drift.estimands.scored import scored
from drift.estimands.scorer_contrasts import (
    PARTS,
    NoPairsError,
    arm_bias,
    contrast_draws,
    contrast_table,
    same_key_draws,
    same_key_pairs,
    sign_probability,
    within_tolerance,
)

PANEL, SUPER, NEW = (ScorerTarget(prevalence=kind) for kind in ("panel", "superpopulation", "new-keys"))
CONTRAST = ScorerContrast("one - zero", "arm 1", "arm 0", tolerance_pp=5.0)


def fixed(labels, prevalence=(0.3, 0.5), fpr=(0.1, 0.2), fnr=(0.05, 0.15), n_draws=1, rater_error=0.0):
    """A file whose draws are all the same; values by arm."""
    draws = jittered(labels, prevalence, fpr, fnr, spread=0.0, n_chains=1, n_draws=n_draws, rater_error=0.5)
    raters = {name: np.full_like(draws[name], rater_error) for name in ("rater_fpr", "rater_fnr")}
    return scored(scorer_tree(labels, draws | raters))


def known(truth, scorer, **codes):
    """Every row audited by a rater who never errs."""
    return labels_of(scorer, np.asarray(truth)[:, None], **codes)


@pytest.fixture(scope="module")
def jittery():
    labels = simulate_labels(n_strata=2).labels
    return scored(scorer_tree(labels, jittered(labels)))


def test_the_parts_of_the_bias_in_numbers():
    # pi .3, .5; fpr .1, .2; fnr .05, .15: pi_bar .4, fpr_bar .15, fnr_bar .1
    found = contrast_draws(fixed(labels_of([0, 1], arm=[0, 1])), SUPER, [CONTRAST]).squeeze()
    automatic = (0.5 * 0.85 + 0.5 * 0.2) - (0.3 * 0.95 + 0.7 * 0.1)
    expected = {
        "automatic": automatic,
        "corrected": 0.2,
        "bias": automatic - 0.2,
        "bias_fpr": 0.1 * 0.6,
        "bias_fnr": -0.1 * 0.4,
        "bias_prevalence": -0.2 * 0.25,
        "attenuation": 0.2 / automatic,
    }
    assert {name: found[name].item() for name in PARTS} == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("target", [PANEL, SUPER, NEW], ids=lambda target: target.prevalence)
def test_the_parts_add_up_to_the_bias(jittery, target):
    found = contrast_draws(jittery, target, [CONTRAST])
    parts = found["bias_fpr"] + found["bias_fnr"] + found["bias_prevalence"]
    np.testing.assert_allclose(parts, found["bias"], rtol=0, atol=1e-12)  # an identity; what is left is rounding


def test_an_arm_without_positives_still_adds_up():
    labels = known([0, 0, 1, 0], [1, 0, 1, 1], arm=[0, 0, 1, 1])
    found = contrast_draws(fixed(labels), PANEL, [CONTRAST])
    parts = found["bias_fpr"] + found["bias_fnr"] + found["bias_prevalence"]
    np.testing.assert_allclose(parts, found["bias"], atol=1e-12)


def test_equal_error_rates_leave_a_bias_where_prevalence_differs():
    labels = labels_of([0, 1], arm=[0, 1])
    found = contrast_draws(fixed(labels, fpr=(0.1, 0.1), fnr=(0.2, 0.2)), SUPER, [CONTRAST])
    assert found["bias"].item() == pytest.approx(-0.2 * 0.3, rel=1e-12)  # - dpi (fpr + fnr)


def test_arm_bias_is_automatic_minus_corrected(jittery):
    expected = automatic_prevalence(jittery, PANEL) - prevalence(jittery, PANEL)
    np.testing.assert_allclose(arm_bias(jittery, PANEL), expected, atol=1e-12)


def test_contrast_is_the_difference_of_the_same_imputed_panel(jittery):
    arms = prevalence(jittery, PANEL)
    expected = arms.sel(arm="arm 1") - arms.sel(arm="arm 0")
    np.testing.assert_allclose(contrast_draws(jittery, PANEL, [CONTRAST])["corrected"][..., 0], expected, atol=1e-12)


def test_the_automatic_contrast_of_a_panel_is_known(jittery):
    found = contrast_draws(jittery, PANEL, [CONTRAST])["automatic"]
    assert (found == found[0, 0]).all()


def test_attenuation_is_undefined_where_the_automatic_contrast_is_zero():
    labels = known([0, 1], [1, 1], arm=[0, 1])
    assert np.isnan(contrast_draws(fixed(labels), PANEL, [CONTRAST])["attenuation"]).all()


def test_attenuation_is_undefined_where_the_automatic_contrast_changes_sign():
    labels = labels_of([0, 1], arm=[0, 1])
    found = scored(scorer_tree(labels, jittered(labels, (0.4, 0.4), (0.1, 0.1), (0.1, 0.1))))
    assert np.isnan(contrast_draws(found, SUPER, [CONTRAST])["attenuation"]).all()


def test_same_keys_are_those_of_a_model_in_both_arms():
    # model 0: keys 0, 1 in arm 0, keys 1, 2 in arm 1; model 1: key 0 in both; key 3 of arm 2 is nobody's
    labels = known([0] * 7, [0] * 7, arm=[0, 0, 1, 1, 0, 1, 2], model=[0, 0, 0, 0, 1, 1, 0], key=[0, 1, 1, 2, 0, 0, 3])
    pairs = same_key_pairs(fixed(labels, (0.1,) * 3, (0.1,) * 3, (0.1,) * 3), ScorerTarget(), CONTRAST)
    assert (pairs.n_pairs, pairs.n_keys, pairs.only_treatment, pairs.only_comparator) == (2, 2, 1, 1)
    assert pairs.rows.tolist() == [False, True, True, False, True, True, False]


def test_these_keys_are_the_mean_of_paired_differences():
    # pairs of keys 0, 1: truth (1, 0) and (1, 1) as (treatment, comparator): mean difference 1/2. Key 2 is unmatched
    labels = known([0, 1, 1, 1, 0], [0, 1, 1, 1, 0], arm=[0, 0, 1, 1, 0], key=[0, 1, 0, 1, 2])
    found = same_key_draws(fixed(labels, n_draws=5), ScorerTarget(), [CONTRAST], new=False)
    np.testing.assert_allclose(found["corrected"], 0.5, rtol=1e-12)


def test_new_keys_are_wider_by_the_spread_of_paired_differences():
    # n paired differences d: Dirichlet(1) weights give variance var(d) / (n + 1), rubin1981
    rng, n, n_draws = np.random.default_rng(1), 80, 4000
    truth = np.concatenate([rng.random(n) < 0.3, rng.random(n) < 0.6]).astype(int)
    labels = known(truth, truth, arm=np.repeat([0, 1], n), key=np.tile(np.arange(n), 2))
    found = same_key_draws(fixed(labels, n_draws=n_draws), ScorerTarget(), [CONTRAST], new=True)["corrected"]
    expected = np.sqrt(np.var(truth[n:] - truth[:n]) / (n + 1))
    assert found.std().item() == pytest.approx(expected, rel=4 / np.sqrt(2 * n_draws))  # four Monte Carlo errors


def test_same_keys_mix_models_equally_with_unbalanced_pairs():
    # model 0: three pairs, differences 1, 1, 1; model 1: one pair, difference 0
    truth = [0, 0, 0, 0, 1, 1, 1, 0]
    labels = known(truth, truth, arm=[0] * 4 + [1] * 4, model=[0, 0, 0, 1] * 2, key=[0, 1, 2, 0] * 2)
    posterior = fixed(labels)
    found = [
        same_key_draws(posterior, ScorerTarget(models=models), [CONTRAST], new=False)["corrected"].item()
        for models in ("equal", "rows", {"model 0": 0.1, "model 1": 0.9})
    ]
    assert found == pytest.approx([1 / 2, 3 / 4, 0.1], rel=1e-12)


def test_a_model_without_pairs_is_told_and_its_weight_spread():
    labels = known([0, 1, 0, 0], [0, 1, 0, 0], arm=[0, 1, 0, 1], model=[0, 0, 1, 1], key=[0, 0, 1, 2])
    found = same_key_draws(fixed(labels), ScorerTarget(), [CONTRAST], new=False)
    assert found["covered"].item() == 0.5
    assert found["corrected"].item() == 1.0


def test_no_common_key_is_refused_by_name():
    labels = known([0, 1], [0, 1], arm=[0, 1], key=[0, 1])
    with pytest.raises(NoPairsError, match="no key in both arms: one - zero"):
        same_key_draws(fixed(labels), ScorerTarget(), [CONTRAST], new=False)


def test_same_keys_of_the_target_population_alone():
    labels = known([0, 1, 0, 0], [0, 1, 0, 0], arm=[0, 1, 0, 1], population=[0, 0, 1, 1])
    found = [
        same_key_draws(fixed(replace(labels, target=code)), ScorerTarget(), [CONTRAST], new=False)["corrected"].item()
        for code in (0, 1)
    ]
    assert found == [1.0, 0.0]


def test_unknown_arms_are_all_named():
    wrong = [replace(CONTRAST, treatment="nobody"), replace(CONTRAST, comparator="nothing")]
    with pytest.raises(UnknownLevelError, match=r"'nobody'[\s\S]*'nothing'"):
        contrast_draws(fixed(labels_of([0, 1], arm=[0, 1])), SUPER, wrong)


def signed(corrected, automatic):
    """Draws of one contrast, written out."""
    labels = labels_of([0, 1], arm=[0, 1])
    draws = contrast_draws(fixed(labels, n_draws=len(corrected)), SUPER, [CONTRAST])
    return draws.assign(
        corrected=draws["corrected"].copy(data=np.reshape(corrected, (1, -1, 1))),
        automatic=draws["automatic"].copy(data=np.full((1, len(corrected), 1), automatic)),
    )


@pytest.mark.parametrize(("automatic", "expected"), [(0.1, 0.625), (-0.1, 0.375)])
def test_sign_probability_counts_draws_that_keep_the_automatic_sign(automatic, expected):
    found = sign_probability(signed([0.2, 0.1, -0.1, 0.0], automatic))  # a draw of zero counts half
    assert found["probability"].item() == expected


def test_no_sign_is_kept_of_a_zero_contrast():
    assert np.isnan(sign_probability(signed([0.1, 0.2], 0.0))["probability"].item())


def test_within_tolerance_counts_small_biases():
    draws = signed([0.1] * 4, 0.1)
    draws["bias"] = draws["bias"].copy(data=np.reshape([0.01, -0.04, 0.06, -0.07], (1, 4, 1)))
    assert within_tolerance(draws, [CONTRAST])["probability"].item() == 0.5


def test_table_summarises_every_quantity(jittery):
    draws = contrast_draws(jittery, SUPER, [CONTRAST])
    table = contrast_table(draws, ci_prob=0.9, ci_kind="eti")
    found = table["mean"].sel(quantity="corrected").item()
    assert found == pytest.approx(draws["corrected"].mean().item(), rel=1e-12)
