"""What ppi_py is given and what comes back, against the published formulas."""

import numpy as np
import pytest
from scipy.stats import norm

from drift.frequentist.prediction_powered import Predicted, ppi, ppi_contrast, predicted

Z = norm.ppf(0.975)
EXACT = 1e-12  # the same number by another order of operations
RNG = np.random.default_rng(5)
TRUTH = (RNG.random(60) < 0.4).astype(int)
SCORER = np.where(RNG.random(60) < 0.85, TRUTH, 1 - TRUTH)
PANEL = (RNG.random(400) < 0.5).astype(int)
INCLUSION = np.where(SCORER == 1, 0.3, 0.1)


def by_formula(arm: Predicted, tuning: float) -> tuple[float, float]:
    """Prediction-powered mean and its standard error, equal weights (angelopoulos2024, section 2)."""
    rectifier = arm.truth - tuning * arm.scorer
    value = tuning * arm.panel.mean() + rectifier.mean()
    return value, float(np.sqrt(tuning**2 * arm.panel.var() / len(arm.panel) + rectifier.var() / arm.audited))


def best_tuning(arm: Predicted) -> float:
    """cov(truth, scorer) / ((1 + n/N) var(scorer)), the variance that of all scorer labels, kept within 0..1."""
    n, rest = arm.audited, len(arm.panel)
    covariance = np.cov(arm.truth, arm.scorer, ddof=0)[0, 1]
    variance = np.concatenate([arm.scorer, arm.panel]).var(ddof=1)
    return float(np.clip(covariance / (1 + n / rest) / variance, 0.0, 1.0))


@pytest.mark.parametrize("tuned", [True, False])
def test_estimate_and_interval_are_the_published_ones(tuned):
    arm = predicted(TRUTH, SCORER, PANEL)
    value, error = by_formula(arm, best_tuning(arm) if tuned else 1.0)
    found = ppi(arm, tuned=tuned)
    # ppi_py centres gradients at the PPI estimate, which drops out of a covariance: rounding only
    assert (found.estimate, found.width) == pytest.approx((value, 2 * Z * error), abs=EXACT)


def test_perfect_labels_leave_the_panels_mean_and_its_error():
    """The rectifier is 0, so PPI is the scorer's share of the panel with its binomial interval."""
    found = ppi(predicted(TRUTH, TRUTH, PANEL), tuned=False)
    error = np.sqrt(PANEL.mean() * (1 - PANEL.mean()) / 400)
    assert (found.estimate, found.width) == pytest.approx((PANEL.mean(), 2 * Z * error), abs=EXACT)


def test_labels_that_know_nothing_get_no_weight():
    """Truth and scorer uncorrelated: the tuning weight is 0, so PPI++ is the mean truth of the audit."""
    truth, scorer = np.tile([0, 1], 20), np.repeat([0, 1], 20)
    assert ppi(predicted(truth, scorer, PANEL)).estimate == pytest.approx(0.5, abs=EXACT)


def test_contrast_adds_the_arms_variances():
    one, other = predicted(TRUTH, SCORER, PANEL), predicted(TRUTH[::-1], SCORER, PANEL[:300])
    parts, found = [ppi(arm, tuned=False) for arm in (one, other)], ppi_contrast(one, other, tuned=False)
    assert found.estimate == pytest.approx(parts[0].estimate - parts[1].estimate, abs=EXACT)
    assert found.width == pytest.approx(np.hypot(parts[0].width, parts[1].width), abs=EXACT)


def test_equal_weights_change_nothing():
    plain, weighted = predicted(TRUTH, SCORER, PANEL), predicted(TRUTH, SCORER, PANEL, [7.0] * 60, [0.1] * 400)
    assert ppi(weighted).estimate == pytest.approx(ppi(plain).estimate, abs=EXACT)
    assert ppi(weighted).width == pytest.approx(ppi(plain).width, abs=EXACT)


def test_hajek_divides_by_the_sum_of_the_weights():
    weight = 1 / INCLUSION
    expected = PANEL.mean() + (weight * (TRUTH - SCORER)).sum() / weight.sum()
    assert ppi(predicted(TRUTH, SCORER, PANEL, weight), tuned=False).estimate == pytest.approx(expected, abs=EXACT)


def test_a_constant_scorer_leaves_the_mean_truth_and_says_so():
    found = ppi(predicted(TRUTH, np.ones(60), np.ones(400)))
    assert found.estimate == pytest.approx(TRUTH.mean(), abs=EXACT) and "constant" in found.note


def test_a_target_that_is_audited_throughout_is_its_mean_truth():
    found = ppi(predicted(TRUTH, SCORER, []))
    error = np.sqrt(TRUTH.var() / 60)
    assert (found.estimate, found.width) == pytest.approx((TRUTH.mean(), 2 * Z * error), abs=EXACT)


def test_an_interval_that_collapses_is_noted():
    assert "width 0" in ppi(predicted(np.zeros(40), np.zeros(40), np.zeros(100))).note


def test_an_arm_whose_interval_collapses_is_named_in_the_contrast():
    nothing = predicted(np.zeros(40), np.zeros(40), np.zeros(100))
    assert "comparator: the scorer is constant" in ppi_contrast(predicted(TRUTH, SCORER, PANEL), nothing).note
    assert "width 0" in ppi_contrast(predicted(TRUTH, SCORER, PANEL), nothing).note


@pytest.mark.parametrize("audited", [0, 1])
def test_too_few_audited_rows_are_undefined_with_everything_possible(audited):
    arm = predicted(TRUTH[:audited], SCORER[:audited], PANEL)
    found = ppi_contrast(arm, predicted(TRUTH, SCORER, PANEL))
    assert np.isnan(found.estimate) and (found.lower, found.upper) == (-1.0, 1.0) and "treatment" in found.note


def test_unaudited_rows_are_refused():
    with pytest.raises(ValueError, match="leave out rows"):
        predicted([-1, 1], [1, 1], PANEL)
