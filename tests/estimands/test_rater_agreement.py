"""Labels and draws here are simulated."""

import numpy as np
import pytest
from tests.estimands.scorer_tree import jittered, labels_of, scorer_tree, simulate_labels

from drift.estimands.rater_agreement import model_agreement, observed_agreement
from drift.estimands.scored import scored

PI, FPR, FNR, RATER_FPR, RATER_FNR = 0.4, 0.2, 0.1, 0.03, 0.06


def posterior(labels, **extra):
    draws = jittered(labels, [PI] * 3, [FPR] * 3, [FNR] * 3, spread=0.0, n_chains=1, n_draws=2)
    raters = {
        "rater_fpr": np.full_like(draws["rater_fpr"], RATER_FPR),
        "rater_fnr": np.full_like(draws["rater_fnr"], RATER_FNR),
    }
    return scored(scorer_tree(labels, draws | raters | extra))


def rated(both, **codes):
    """Rows with the two raters' labels; the scorer says 1 throughout."""
    return labels_of([1] * len(both), both, **codes)


def test_seed_002s_kappa_follows_from_94_of_96_and_even_margins():
    found = observed_agreement(posterior(rated([(0, 0)] * 47 + [(1, 1)] * 47 + [(0, 1), (1, 0)])))
    assert found["agreement"].sel(arm="arm 0").item() == pytest.approx(94 / 96, rel=1e-12)
    assert found["kappa"].sel(arm="arm 0").item() == pytest.approx((94 / 96 - 0.5) / 0.5, rel=1e-12)  # .958 printed


def test_arms_are_told_apart_and_pooled():
    found = observed_agreement(posterior(rated([(0, 0), (0, 1), (1, 1), (1, 1)], arm=[0, 0, 1, 1])))
    assert found["agreement"].squeeze().values.tolist() == [0.5, 1.0, 0.75]
    assert found["n_both"].squeeze().values.tolist() == [2, 2, 4]


def test_rows_that_one_rater_left_out_do_not_count():
    found = observed_agreement(posterior(rated([(0, 0), (0, -1), (-1, 1)])))
    assert found["n_both"].sel(arm="all").item() == 1


def test_an_arm_without_a_common_row_has_no_agreement():
    found = observed_agreement(posterior(rated([(0, 0), (1, -1)], arm=[0, 1])))
    assert np.isnan(found["agreement"].sel(arm="arm 1").item())


def test_kappa_is_undefined_where_both_always_said_the_same():
    found = observed_agreement(posterior(rated([(1, 1)] * 5)))
    assert found["agreement"].sel(arm="all").item() == 1.0
    assert np.isnan(found["kappa"].sel(arm="all").item())


def test_raters_who_never_agree_have_a_kappa():
    found = observed_agreement(posterior(rated([(0, 1), (1, 0)])))
    assert found["kappa"].sel(arm="all").item() == pytest.approx(-1.0, rel=1e-12)  # (0 - .5) / (1 - .5)


def test_model_agreement_is_of_rows_with_the_scorers_label():
    # all audited rows have label 1: P(truth 1 | label 1) = pi (1 - fnr) / (...)
    p = PI * (1 - FNR) / (PI * (1 - FNR) + (1 - PI) * FPR)
    given_1, given_0 = RATER_FNR**2 + (1 - RATER_FNR) ** 2, RATER_FPR**2 + (1 - RATER_FPR) ** 2
    found = model_agreement(posterior(rated([(0, 0), (1, 1)])))
    np.testing.assert_allclose(found["agreement"].sel(arm="all"), p * given_1 + (1 - p) * given_0, rtol=1e-12)


def test_model_kappa_from_its_table():
    p = PI * (1 - FNR) / (PI * (1 - FNR) + (1 - PI) * FPR)
    ones = p * (1 - RATER_FNR) + (1 - p) * RATER_FPR
    both = p * (1 - RATER_FNR) ** 2 + (1 - p) * RATER_FPR**2
    agreement, chance = 1 - 2 * (ones - both), ones**2 + (1 - ones) ** 2
    found = model_agreement(posterior(rated([(0, 0), (1, 1)])))
    np.testing.assert_allclose(found["kappa"].sel(arm="all"), (agreement - chance) / (1 - chance), rtol=1e-12)


def test_a_shared_error_factor_raises_agreement():
    labels = rated([(0, 0), (1, 1)])
    alone, together = (
        model_agreement(posterior(labels, **extra))["agreement"].sel(arm="all").mean().item()
        for extra in ({}, {"dependence": np.full((1, 2, 2), 0.5)})
    )
    assert together > alone


def test_observed_agreement_scatters_about_the_models():
    labels = simulate_labels((0.3, 0.5), n_keys=2000, n_audited=4000, rater_error=0.1).labels
    found = scored(scorer_tree(labels, jittered(labels, rater_error=0.1, spread=0.0, n_draws=2)))
    observed, model = (measure(found)["agreement"].sel(arm="all") for measure in (observed_agreement, model_agreement))
    assert observed.item() == pytest.approx(
        model.mean().item(), abs=4 * np.sqrt(0.82 * 0.18 / 8000)
    )  # 4 standard errors


def test_every_pair_of_raters_has_its_place():
    labels = labels_of([1, 0], [(0, 0, 1), (1, 1, 1)])
    assert observed_agreement(posterior(labels))["pair"].values.tolist() == [
        "rater 0, rater 1",
        "rater 0, rater 2",
        "rater 1, rater 2",
    ]


def test_a_single_rater_has_no_pair():
    found = posterior(labels_of([1, 0], [(0,), (1,)]))
    assert observed_agreement(found).sizes["pair"] == model_agreement(found).sizes["pair"] == 0
