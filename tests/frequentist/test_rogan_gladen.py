"""Rogan and Gladen's correction: closed forms, printed prevalences, and slow twins of the intervals."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import beta, norm
from statsmodels.stats.proportion import proportion_confint

from drift.frequentist.rogan_gladen import (
    Calibrated,
    bootstrap,
    bootstrap_contrast,
    calibrated,
    corrected,
    delta,
    delta_contrast,
    lang_reiczigel,
    lang_reiczigel_contrast,
)
from drift.frequentist.share import Share

EXACT = 1e-12  # the same number by another order of operations
Z = norm.ppf(0.975)


def of(count: float, n: int) -> Share:
    return Share(count / n if n else float("nan"), float(n), n)


def arm(apparent, sensitivity, specificity) -> Calibrated:
    return Calibrated(of(*apparent), of(*sensitivity), of(*specificity))


ONE, OTHER = arm((60, 120), (27, 30), (40, 50)), arm((30, 150), (17, 20), (57, 60))


def test_brucellosis_example_of_the_r_package_epir():
    """23 of 150 cows, sensitivity .96, specificity .89: 5.1 per 100 as its manual prints."""
    assert corrected(23 / 150, 0.96, 0.89) == pytest.approx(0.051, abs=5e-4)


def test_helicobacter_example_of_the_r_package_epir_is_clipped_to_0():
    """6 of 151 children, sensitivity .964, specificity .927: fewer positives than false positives alone would be."""
    assert delta(arm((6, 151), (964, 1000), (927, 1000))).estimate == 0.0


def test_correction_undoes_the_scorers_errors():
    prevalence, se, sp = 0.3, 0.8, 0.9
    assert corrected(prevalence * se + (1 - prevalence) * (1 - sp), se, sp) == pytest.approx(prevalence, abs=EXACT)


def test_correction_undoes_an_inverted_scorer_too():
    prevalence, se, sp = 0.3, 0.2, 0.4
    assert corrected(prevalence * se + (1 - prevalence) * (1 - sp), se, sp) == pytest.approx(prevalence, abs=EXACT)


def test_a_perfect_scorer_needs_no_correction():
    found = delta(arm((40, 120), (30, 30), (50, 50)))
    error = np.sqrt(1 / 3 * 2 / 3 / 120)
    assert (found.estimate, found.width) == pytest.approx((1 / 3, 2 * Z * error), abs=EXACT)


def test_delta_variance_is_the_gradients():
    """Finite differences of the corrected prevalence, times binomial variances."""
    point = np.array([60 / 120, 27 / 30, 40 / 50])
    gradient = approx_fprime(point, lambda at: float(corrected(*at)), 1e-7)
    error = np.sqrt((gradient**2 * point * (1 - point) / [120, 30, 50]).sum())
    assert delta(ONE).width == pytest.approx(2 * Z * error, rel=1e-5)  # forward differences are good to 1e-6


def test_delta_variances_of_the_arms_add():
    both = np.hypot(delta(ONE).width, delta(OTHER).width)
    assert delta_contrast(ONE, OTHER).width == pytest.approx(both, abs=EXACT)


def test_delta_says_that_it_takes_a_sensitivity_of_1_for_known():
    assert "takes it as known" in delta(arm((40, 120), (30, 30), (40, 50))).note


def test_counts_from_rows():
    scorer, truth = np.array([1, 1, 0, 0, 1, 1]), np.array([1, 0, 1, 0, -1, 1])
    found = calibrated(scorer, scorer, truth)
    assert found == Calibrated(of(4, 6), of(2, 3), of(1, 2))


def test_calibration_weights():
    found = calibrated([1], np.array([1, 0, 1, 0]), np.array([1, 1, 0, 0]), [3.0, 1.0, 1.0, 3.0])
    assert (found.sensitivity.value, found.specificity.value) == (0.75, 0.75)


def test_bootstrap_interval_is_that_of_jeffreys_betas():
    """With a perfect scorer of a million audited rows it is the Jeffreys interval of the apparent prevalence."""
    found = bootstrap(arm((40, 120), (10**6, 10**6), (10**6, 10**6)), seed=1, draws=200_000)
    jeffreys = beta.ppf([0.025, 0.975], 40.5, 80.5)
    # standard error of a 2.5% limit is 2.7 sd / sqrt(draws), here 2.7 x .043 / 447
    assert (found.lower, found.upper) == pytest.approx(jeffreys, abs=4 * 0.00026)


def test_bootstrap_centre_is_the_plug_in():
    assert bootstrap(ONE, seed=1, draws=100).estimate == pytest.approx(delta(ONE).estimate, abs=EXACT)


def test_bootstrap_repeats_with_its_seed():
    assert bootstrap_contrast(ONE, OTHER, seed=3, draws=500) == bootstrap_contrast(ONE, OTHER, seed=3, draws=500)


def test_bootstrap_without_audited_positives_answers_and_says_that_the_prior_decides():
    found = bootstrap(arm((40, 120), (0, 0), (40, 50)), seed=1, draws=20_000)
    assert 0.0 < found.estimate < 1.0 and "no audited positives" in found.note and "prior" in found.note


def test_delta_without_audited_positives_is_undefined_with_everything_possible():
    found = delta(arm((40, 120), (0, 0), (40, 50)))
    assert np.isnan(found.estimate) and (found.lower, found.upper) == (0.0, 1.0)


def test_contrast_names_the_arm_that_lacks_audited_negatives():
    found = delta_contrast(ONE, arm((40, 120), (20, 20), (0, 0)))
    assert (found.lower, found.upper) == (-1.0, 1.0) and found.note == "comparator: no audited negatives"


@pytest.mark.parametrize("method", [delta, lang_reiczigel])
def test_labels_that_carry_nothing_have_no_correction(method):
    found = method(arm((40, 120), (7, 10), (3, 10)))
    assert np.isnan(found.estimate) and "carry nothing" in found.note


def test_inverted_labels_are_corrected_and_noted():
    found = delta(arm((60, 120), (6, 30), (20, 50)))
    assert found.estimate == pytest.approx((0.5 + 0.4 - 1) / (0.2 + 0.4 - 1)) and "= 0.600 <= 1" in found.note


def test_bootstrap_says_how_often_labels_are_inverted():
    """se and sp from Beta(5.5, 5.5) each: their sum is symmetric about 1, so half of the draws."""
    note = bootstrap(arm((60, 120), (5, 10), (5, 10)), seed=1, draws=100_000).note
    share = float(note.split("<= 1 in ")[1].split("%")[0])
    assert share == pytest.approx(50.0, abs=4 * 0.16 + 0.05)  # 4 Monte Carlo standard errors and the rounding


def test_an_estimate_outside_0_to_1_is_noted_as_it_was():
    """(.10 + .80 - 1) / (.90 + .80 - 1) = -1/7."""
    assert "-0.143 before it was clipped" in delta(arm((10, 100), (90, 100), (80, 100))).note


def test_lang_reiczigel_of_a_known_perfect_scorer_is_agresti_coulls_interval():
    perfect = lang_reiczigel(arm((40, 120), (10**9, 10**9), (10**9, 10**9)))
    expected = proportion_confint(40, 120, method="agresti_coull")
    assert (perfect.lower, perfect.upper) == pytest.approx(expected, abs=1e-8)  # a billion rows are not infinitely many


def test_lang_reiczigel_by_its_equations_one_at_a_time():
    """Equations 6, 7, 16 and 17 of Lang and Reiczigel (2014), in numbers, as R's asht::prevSeSp has them."""
    n, n_se, n_sp = 120 + Z**2, 32, 52
    p, se, sp = (60 + Z**2 / 2) / n, 28 / n_se, 41 / n_sp
    prevalence = (p + sp - 1) / (se + sp - 1)
    shift = 2 * Z**2 * (prevalence * se * (1 - se) / n_se - (1 - prevalence) * sp * (1 - sp) / n_sp)
    terms = [p * (1 - p) / n, prevalence**2 * se * (1 - se) / n_se, (1 - prevalence) ** 2 * sp * (1 - sp) / n_sp]
    half = Z * np.sqrt(sum(terms) / (se + sp - 1) ** 2)
    found = lang_reiczigel(ONE)
    assert (found.lower, found.upper) == pytest.approx(
        (prevalence + shift - half, prevalence + shift + half), abs=EXACT
    )


def test_lang_reiczigel_keeps_its_width_where_the_delta_method_loses_it():
    """Apparent prevalence 0 with a perfect audit: the delta interval is a point."""
    nothing = arm((0, 120), (30, 30), (50, 50))
    assert delta(nothing).width == 0.0 < lang_reiczigel(nothing).width


def test_lang_reiczigel_contrast_recovers_variances_from_both_intervals():
    one, other = lang_reiczigel(ONE), lang_reiczigel(OTHER)
    found = lang_reiczigel_contrast(ONE, OTHER)
    down = np.hypot(one.estimate - one.lower, other.upper - other.estimate)
    assert found.lower == pytest.approx(one.estimate - other.estimate - down, abs=EXACT)


def test_other_truths_are_refused():
    with pytest.raises(ValueError, match="truth is 0, 1 or -1"):
        calibrated([1], [1], [2])
