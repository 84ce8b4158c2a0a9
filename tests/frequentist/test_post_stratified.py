"""Predictive values: hand-worked, and what an audit sampled on the scorer's label leaves alone."""

import numpy as np
import pytest
from scipy.stats import beta

from drift.frequentist.post_stratified import (
    PredictiveValues,
    delta,
    delta_contrast,
    jeffreys,
    jeffreys_contrast,
    predictive_values,
)

EXACT = 1e-12  # the same number by another order of operations
# 10 rows scored 1, of which 4 audited (3 of truth 1); 30 scored 0, of which 5 audited (1 of truth 1)
SCORER = np.repeat([1, 0], [10, 30])
TRUTH = np.concatenate([[1, 1, 1, 0], [-1] * 6, [1, 0, 0, 0, 0], [-1] * 25])
PREVALENCE = 0.25 * 3 / 4 + 0.75 * 1 / 5
VARIANCE = 0.25**2 * (3 / 4 * 1 / 4) / 4 + 0.75**2 * (1 / 5 * 4 / 5) / 5


def test_prevalence_and_variance_worked_by_hand():
    found = delta(predictive_values(SCORER, TRUTH))
    assert (found.estimate, found.upper) == pytest.approx((PREVALENCE, PREVALENCE + 1.959964 * VARIANCE**0.5), abs=1e-6)


def test_contrast_adds_the_arms_variances():
    arm, known = predictive_values(SCORER, TRUTH), predictive_values([1, 0], [1, 0])
    found = delta_contrast(arm, known)
    assert found.estimate == pytest.approx(PREVALENCE - 0.5, abs=EXACT)
    assert found.width == pytest.approx(2 * 1.959964 * VARIANCE**0.5, abs=1e-6)


def test_auditing_more_of_one_label_leaves_the_estimate_alone():
    more = TRUTH.copy()
    more[4:8] = [1, 1, 1, 0]  # the same share of truth 1 among twice as many audited rows of label 1
    assert delta(predictive_values(SCORER, more)).estimate == pytest.approx(PREVALENCE, abs=EXACT)


def test_jeffreys_mean_is_that_of_the_betas():
    expected = 0.25 * 3.5 / 5 + 0.75 * 1.5 / 6
    found = jeffreys(predictive_values(SCORER, TRUTH), seed=1, draws=40_000)
    assert found.estimate == pytest.approx(expected, abs=4 * 0.13 / 200)  # 4 standard errors, sd of a draw below .13


def test_jeffreys_interval_of_one_cell_is_that_of_its_beta():
    found = jeffreys(PredictiveValues(np.ones(1), np.array([3]), np.array([20])), seed=1, draws=200_000)
    expected = beta.ppf([0.025, 0.975], 3.5, 17.5)
    assert (found.lower, found.upper) == pytest.approx(expected, abs=4 * 2.7 * 0.08 / 447)  # 2.7 sd / sqrt(draws)


def test_jeffreys_repeats_with_its_seed():
    arm = predictive_values(SCORER, TRUTH)
    assert jeffreys_contrast(arm, arm, seed=4, draws=100) == jeffreys_contrast(arm, arm, seed=4, draws=100)


def test_strata_have_their_own_predictive_values():
    scorer, stratum, truth = [1, 1, 1, 1], [0, 0, 1, 1], [1, -1, 0, -1]
    assert delta(predictive_values(scorer, truth, stratum)).estimate == pytest.approx(0.5, abs=EXACT)


def test_a_stratum_without_audited_rows_is_united_with_the_others_of_its_label():
    scorer, stratum, truth = [1] * 6, [0, 0, 1, 1, 2, 2], [1, -1, 0, -1, -1, -1]
    found = delta(predictive_values(scorer, truth, stratum))
    assert found.estimate == pytest.approx(0.5, abs=EXACT) and found.note.endswith("united with others: 1")


def test_a_label_without_audited_rows_is_undefined_and_says_how_much_that_is():
    found = delta(predictive_values(SCORER, np.where(SCORER == 1, TRUTH, -1)))
    assert np.isnan(found.estimate) and found.note.startswith("75.0% of the target")


def test_a_label_without_audited_rows_has_a_jeffreys_answer_marked_as_the_priors():
    found = jeffreys(predictive_values(SCORER, np.where(SCORER == 1, TRUTH, -1)), seed=1, draws=1000)
    assert 0.0 < found.estimate < 1.0 and "the prior alone" in found.note


def test_target_weights_weigh_the_cells():
    weight = np.where(SCORER == 1, 3.0, 1.0)  # 30 of 60
    expected = 0.5 * 3 / 4 + 0.5 * 1 / 5
    assert delta(predictive_values(SCORER, TRUTH, weight=weight)).estimate == pytest.approx(expected, abs=EXACT)


def test_no_target_rows_are_undefined():
    assert np.isnan(jeffreys(predictive_values([], []), seed=1).estimate)
