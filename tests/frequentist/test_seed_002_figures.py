"""Figures that seed 002 prints, each from the formula that gives it.

Arms of the representative audit are (TP, FP, FN, TN) of the scorer against the primary rater, 48 rows each, as in the
bundled study `scorer-audit`, which is simulated: the print fixes their totals and most of them, not all.
"""

import math

import pytest
from scipy.stats import chi2
from statsmodels.stats.power import NormalIndPower

from drift.data.labels import read_labels
from drift.data.scorer_study import read_scorer_study
from drift.frequentist.agreement import agreement, equal_agreement, kappa
from drift.frequentist.audit_table import Confusion
from drift.frequentist.comparators import comparators
from drift.frequentist.power import cohens_h, sample_size_per_arm
from drift.frequentist.rogan_gladen import Calibrated, bootstrap_contrast, delta_contrast
from drift.frequentist.share import Share, newcombe

THIRD = 5e-4  # rounding of a figure printed to three digits
REPRESENTATIVE = {
    "Neutral": Confusion(23, 1, 0, 24, 48),
    "Authority": Confusion(28, 1, 0, 19, 48),
    "Spontaneous": Confusion(27, 7, 0, 14, 48),
    "Soft cue": Confusion(6, 1, 3, 38, 48),
    "Confidence": Confusion(20, 5, 0, 23, 48),
    "Existence": Confusion(16, 3, 1, 28, 48),
}
TOTAL = Confusion(
    *(sum(getattr(arm, name) for arm in REPRESENTATIVE.values()) for name in ("tp", "fp", "fn", "tn")), 288
)
PRIMARY = {"Certainty-only - Neutral": 7, "Confidence - Neutral": 21, "Confidence - Existence x Directness": -50}
SECONDARY = {"Certainty-only - Neutral": 7, "Confidence - Neutral": 32, "Confidence - Existence x Directness": -57}
DISAGREE = (5, 15, 20, 17)  # of 300 in each of the four factorial arms


def of(count: int, n: int) -> Share:
    return Share(count / n, float(n), n)


def test_kappa_of_94_in_96_at_even_margins():
    """(94/96 - .5) / .5 = .958."""
    assert kappa([[47, 1], [1, 47]]).estimate == pytest.approx((94 / 96 - 0.5) / 0.5)
    assert kappa([[47, 1], [1, 47]]).estimate == pytest.approx(0.958, abs=THIRD)


def test_p_of_the_clustered_chi_square():
    """P(chi2(5) >= 9.10) = .1051; .1052 is that of 9.0985, which is printed as 9.10 too."""
    assert chi2.sf(9.10, 5) == pytest.approx(0.1051, abs=5e-5)
    assert chi2.sf(9.0985, 5) == pytest.approx(0.1052, abs=5e-5)


def test_292_rows_an_arm_by_cohens_h():
    """(1.960 + .842)^2 x 2 / h^2, h = 2 arcsin sqrt(.3) - 2 arcsin sqrt(.2) = .232."""
    assert sample_size_per_arm(0.20, 0.30) == 292
    assert math.ceil(2 * (1.959964 + 0.841621) ** 2 / cohens_h(0.30, 0.20) ** 2) == 292


def test_wald_and_pooled_sample_sizes_are_others():
    """Wald 291: both quantiles times the same standard error. Pooled 294: the first times that of the mean share."""
    apart, mean = 0.2 * 0.8 + 0.3 * 0.7, 2 * 0.25 * 0.75
    unpooled = (1.959964 + 0.841621) ** 2 * apart / 0.1**2
    pooled = (1.959964 * math.sqrt(mean) + 0.841621 * math.sqrt(apart)) ** 2 / 0.1**2
    assert (math.ceil(unpooled), math.ceil(pooled)) == (291, 294)


def test_292_rows_reach_the_power_and_291_do_not():
    power = [NormalIndPower().power(cohens_h(0.3, 0.2), n, 0.05) for n in (291, 292)]
    assert power[0] < 0.8 <= power[1]


@pytest.mark.parametrize(
    ("flips", "printed"),
    [(28, 0.093), (34, 0.113), (7, 0.023), (21, 0.070), (32, 0.107), (-50, -0.167), (-57, -0.190)],
)
def test_contrasts_are_counts_of_300_keys(flips, printed):
    assert newcombe(of(150 + flips, 300), of(150, 300)).estimate == pytest.approx(printed, abs=THIRD)


def test_15_in_100_pairs_for_authority_less_existence():
    assert newcombe(of(55, 100), of(40, 100)).estimate == pytest.approx(0.150)


def test_disagreement_by_arm_sums_to_57_in_1200():
    assert sum(DISAGREE) / 1200 == 0.0475
    assert (min(DISAGREE) / 300, max(DISAGREE) / 300) == pytest.approx((0.017, 0.067), abs=THIRD)


def test_disagreement_differs_by_arm():
    """Pearson's chi-square of 5, 15, 20, 17 in 300: sum (o - 14.25)^2 / 14.25 x 1200 / 1143."""
    first = [1] * 1200
    second = [0 if place < count else 1 for count in DISAGREE for place in range(300)]
    arm = [code for code in range(4) for _ in range(300)]
    expected = sum((count - 14.25) ** 2 for count in DISAGREE) / 14.25 * 1200 / 1143
    assert equal_agreement(first, second, arm).statistic == pytest.approx(expected)
    assert agreement(first, second).disagreements == 57


def test_pooled_f1():
    """2 x 120 / (2 x 120 + 18 + 4) = .916."""
    assert (TOTAL.tp, TOTAL.fp, TOTAL.fn) == (120, 18, 4)
    assert pytest.approx(0.916, abs=THIRD) == TOTAL.f1


def test_negatives_are_164_and_false_positive_rates_span_026_to_333():
    rates = [arm.rate("fpr").estimate for arm in REPRESENTATIVE.values()]
    assert TOTAL.fp + TOTAL.tn == 164
    assert (min(rates), max(rates)) == pytest.approx((0.026, 0.333), abs=THIRD)  # 1/39, 7/21


@pytest.mark.parametrize(("arm", "printed"), [("Neutral", 0.958), ("Authority", 0.966), ("Spontaneous", 0.794)])
def test_precision(arm, printed):
    assert REPRESENTATIVE[arm].rate("precision").estimate == pytest.approx(printed, abs=THIRD)


def test_arm_bias_spans_minus_042_to_146():
    """(FP - FN) / 48: -2/48 of Soft cue, 7/48 of Spontaneous."""
    bias = [arm.bias for arm in REPRESENTATIVE.values()]
    assert (min(bias), max(bias)) == pytest.approx((-0.042, 0.146), abs=THIRD)


@pytest.mark.parametrize(
    ("treatment", "comparator", "printed"), [("Confidence", "Neutral", 0.083), ("Authority", "Existence", -0.021)]
)
def test_bias_difference(treatment, comparator, printed):
    found = REPRESENTATIVE[treatment].bias - REPRESENTATIVE[comparator].bias
    assert found == pytest.approx(printed, abs=THIRD)


def test_five_points_an_arm_leave_the_sign_of_one_contrast_under_the_primary_rater():
    """The sign survives an error of e in each arm if and only if |RD| > 2 e; 2 x .05 x 300 keys = 30."""
    assert [name for name, count in PRIMARY.items() if abs(count) > 30] == ["Confidence - Existence x Directness"]


def test_five_points_an_arm_leave_the_sign_of_two_contrasts_under_the_secondary_rater():
    kept = [name for name, count in SECONDARY.items() if abs(count) > 30]
    assert kept == ["Confidence - Neutral", "Confidence - Existence x Directness"]


def transported(arm: str, count: int) -> Calibrated:
    counts = REPRESENTATIVE[arm]
    positive, negative = counts.tp + counts.fn, counts.fp + counts.tn
    return Calibrated(of(count, 300), of(counts.tp, positive), of(counts.tn, negative))


CONFIDENCE, NEUTRAL = transported("Confidence", 153), transported("Neutral", 119)


def test_rogan_gladen_corrected_contrast():
    """(153/300 - 5/28) / (23/28) - (119/300 - 1/25) / (24/25) = .0320."""
    expected = (153 / 300 - 5 / 28) / (23 / 28) - (119 / 300 - 1 / 25) / (24 / 25)
    assert delta_contrast(CONFIDENCE, NEUTRAL).estimate == pytest.approx(expected)
    assert expected == pytest.approx(0.032, abs=THIRD)


def test_rogan_gladen_interval_is_the_jeffreys_monte_carlos():
    """Printed [-.146, .197]; 24 million draws gave [-.1472, .1965], of a million a limit's standard error is .0005.

    Tolerance of the print: half a digit, and .0018, the standard error of the lower limit from 20,000 draws; how many
    the print rests on is not said.
    """
    found = bootstrap_contrast(CONFIDENCE, NEUTRAL, seed=1, draws=1_000_000)
    assert (found.lower, found.upper) == pytest.approx((-0.1472, 0.1965), abs=3 * 0.0005)
    assert (found.lower, found.upper) == pytest.approx((-0.146, 0.197), abs=THIRD + 0.0018)


def test_the_delta_method_does_not_give_the_printed_interval():
    """It takes both sensitivities of 1 for known: width .29 instead of .34."""
    assert delta_contrast(CONFIDENCE, NEUTRAL).width == pytest.approx(0.291, abs=THIRD)


def test_the_bundled_study_has_the_corrected_contrast_beside_the_others(project):
    """SIMULATED labels: the factorial panel corrected with the error rates of the representative audit outside it."""
    study = read_scorer_study(project / "src" / "drift" / "studies" / "scorer-audit" / "study.toml")
    found = {each.method: each for each in comparators(read_labels(study), "Confidence", "Neutral", draws=500)}
    assert found["naive (Newcombe)"].estimate == pytest.approx(34 / 300)
    assert found["paired truth (clustered by key)"].estimate == pytest.approx(21 / 300)
    assert found["Rogan-Gladen (bootstrap), audit representative"].estimate == pytest.approx(0.032, abs=THIRD)
