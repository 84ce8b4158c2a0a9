"""Counts are seed 002's where it prints them, else made up."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta
from tests.estimands.scorer_tree import jittered, labels_of, scorer_tree

from drift.data.scorer_declaration import ScorerContrast
from drift.estimands.fragility import (
    Counts,
    NoReferenceError,
    breakpoint_of,
    flips_for,
    flips_to_doubt,
    flips_to_zero,
    fragility,
    reference_fragility,
    sign_probability,
    sign_survives,
)
from drift.estimands.scored import scored


def integrated(counts):
    """Slow twin of `sign_probability`."""
    p = beta(0.5 + counts.positive, 0.5 + counts.labels - counts.positive)
    q = beta(0.5 + counts.comparator_positive, 0.5 + counts.comparator_labels - counts.comparator_positive)
    return quad(lambda u: q.cdf(p.ppf(u)), 0.0, 1.0, epsabs=1e-10, limit=500)[0]


def averaged(counts, n=1000):
    """The same to 1e-5, quickly: an average over evenly spaced quantiles."""
    quantile = beta.ppf((np.arange(n) + 0.5) / n, 0.5 + counts.positive, 0.5 + counts.labels - counts.positive)
    rest = counts.comparator_labels - counts.comparator_positive
    return beta.cdf(quantile, 0.5 + counts.comparator_positive, 0.5 + rest).mean()


def fewest(counts, undone):
    """Slow twin of the flip tests: every number of changes in every split, the first that undoes the contrast."""
    towards = counts if counts.difference >= 0 else counts.reversed()
    free = towards.comparator_labels - towards.comparator_positive
    for flips in itertools.count():
        for treatment in range(flips + 1):
            possible = treatment <= towards.positive and flips - treatment <= free
            if possible and undone(towards.flipped(treatment, flips - treatment)):
                return flips
    raise AssertionError


@pytest.mark.parametrize(
    ("positive", "comparator", "flips"),
    [(100, 93, 7), (121, 100, 21), (132, 100, 32), (60, 110, 50), (53, 110, 57), (80, 80, 0)],
)
def test_flips_of_equal_arms_are_the_difference_of_positives(positive, comparator, flips):
    assert flips_to_zero(Counts(positive, 300, comparator, 300)) == flips


@pytest.mark.parametrize(("printed", "flips"), [("0.023", 7), ("0.07", 21), ("0.09", 27), ("-0.07", 21)])
def test_flips_of_a_printed_difference_are_exact(printed, flips):
    assert flips_for(Fraction(printed), 300) == flips  # ceil(.07 * 300) in floating point is 22


def test_floating_point_would_have_been_wrong():
    assert np.ceil(0.07 * 300) == 22


@pytest.mark.parametrize(
    "counts",
    [Counts(9, 10, 3, 25), Counts(3, 25, 9, 10), Counts(5, 7, 2, 11), Counts(10, 10, 0, 40), Counts(1, 3, 1, 4)],
)
def test_flips_of_unequal_arms_against_trying_all(counts):
    assert flips_to_zero(counts) == fewest(counts, lambda now: now.difference <= 0)


@pytest.mark.parametrize("counts", [Counts(9, 10, 3, 25), Counts(3, 25, 9, 10), Counts(20, 30, 4, 30)])
@pytest.mark.parametrize("gamma", [0.9, 0.95])
def test_flips_to_doubt_against_trying_all(counts, gamma):
    assert flips_to_doubt(counts, gamma) == fewest(counts, lambda now: averaged(now) < gamma)


def test_a_contrast_that_is_in_doubt_needs_no_flip():
    assert flips_to_doubt(Counts(28, 300, 21, 300), 0.95) == 0


@pytest.mark.parametrize(
    "counts", [Counts(0, 20, 0, 300), Counts(20, 20, 3, 5), Counts(28, 300, 7, 300), Counts(4000, 10000, 3900, 10000)]
)
def test_sign_probability_against_adaptive_quadrature(counts):
    assert sign_probability(counts) == pytest.approx(integrated(counts), abs=1e-6)  # 200 fixed nodes


def test_sign_probability_of_exchanged_arms_is_the_complement():
    counts = Counts(7, 20, 9, 45)
    assert sign_probability(counts) + sign_probability(counts.reversed()) == pytest.approx(1.0, abs=1e-6)  # 200 nodes


def test_sign_probability_of_equal_arms_is_one_half():
    assert sign_probability(Counts(7, 20, 7, 20)) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(
    ("difference", "survives"),
    [("0.070", False), ("0.107", True), ("-0.167", True), ("-0.190", True), ("0.023", False), ("0.100", False)],
)
def test_five_points_an_arm_leave_what_exceeds_ten(difference, survives):
    assert sign_survives(Fraction(difference), Fraction("0.05")) is survives


def test_the_breakpoint_is_half_the_contrast_an_arm():
    assert breakpoint_of(Fraction(-50, 300)) == Fraction(1, 12)


def test_at_the_breakpoint_the_sign_is_lost():
    difference = Fraction(28, 300)
    assert not sign_survives(difference, breakpoint_of(difference))


def test_negative_contrasts_are_judged_in_their_own_direction():
    there, back = (fragility(counts, 0.95) for counts in (Counts(60, 300, 110, 300), Counts(110, 300, 60, 300)))
    assert there.sign_probability == back.sign_probability > 0.99
    assert (there.flips_to_zero, there.flips_to_doubt) == (back.flips_to_zero, back.flips_to_doubt)


@pytest.mark.parametrize("wrong", [(3, 2, 0, 1), (0, 0, 0, 1), (0, 1, -1, 1)])
def test_impossible_counts_are_refused(wrong):
    with pytest.raises(ValueError, match="at least one label"):
        Counts(*wrong)


def posterior(labels):
    return scored(scorer_tree(labels, jittered(labels, n_draws=2)))


CONTRAST = ScorerContrast("one - zero", "arm 1", "arm 0", tolerance_pp=5.0)


def test_reference_counts_are_one_raters_in_the_target():
    rating = [(1, 0), (0, 0), (-1, 1), (1, 0), (1, -1), (1, 1)]
    labels = labels_of([0] * 6, rating, arm=[0, 0, 0, 1, 1, 1], population=[0, 0, 0, 0, 0, 1])
    found = reference_fragility(posterior(labels), [CONTRAST], "rater 0", 0.95)
    assert found[0].counts == Counts(2, 2, 1, 2)


def test_an_arm_that_a_rater_never_saw_is_refused_by_name():
    labels = labels_of([0, 1], [[1], [-1]], arm=[0, 1])
    with pytest.raises(NoReferenceError, match="rater 0 has no label in the target's arms arm 1"):
        reference_fragility(posterior(labels), [CONTRAST], "rater 0", 0.95)
