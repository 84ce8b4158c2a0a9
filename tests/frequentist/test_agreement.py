"""Agreement of raters: printed kappas, a twin of its standard error, and every edge that is defined."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import beta, chi2_contingency

from drift.frequentist.agreement import ChiSquare, agreement, equal_agreement, equal_shares, kappa

TEXTBOOK = np.array([[20, 5], [10, 15]])  # grant proposals read by two readers: kappa .40


def labels(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two raters' labels with this table."""
    rows = [(one, other) for one in (0, 1) for other in (0, 1) for _ in range(table[one][other])]
    first, second = np.array(rows).T
    return first, second


def test_textbook_kappa():
    """(35/50 - .5) / (1 - .5)."""
    assert kappa(TEXTBOOK).estimate == pytest.approx(0.4)


def test_kappas_error_is_the_delta_methods():
    """Finite differences of kappa as a function of the four shares, with the multinomial covariance."""

    def of(share: np.ndarray) -> float:
        grid = share.reshape(2, 2)
        by_chance = grid.sum(axis=0) @ grid.sum(axis=1)
        return (np.trace(grid) - by_chance) / (1 - by_chance)

    share = TEXTBOOK.ravel() / 50
    gradient = approx_fprime(share, of, 1e-7)
    error = np.sqrt(gradient @ (np.diag(share) - np.outer(share, share)) @ gradient / 50)
    assert kappa(TEXTBOOK).width == pytest.approx(2 * 1.959964 * error, rel=1e-5)  # forward differences: 1e-6


def test_counts_and_percent_from_labels():
    found = agreement(*labels(TEXTBOOK))
    assert found.table.tolist() == TEXTBOOK.tolist()
    assert (found.percent.estimate, found.n, found.disagreements) == (0.7, 50, 15)


def test_rows_that_one_rater_left_out_do_not_count():
    assert agreement([1, 0, -1, 1], [1, 0, 1, -1]).n == 2


def test_perfect_agreement_is_1_with_the_exact_limit_of_the_agreement():
    """Half and half, so chance is .5 and the limit is 2 x Clopper-Pearson's limit of 20 in 20 less 1."""
    found = kappa([[10, 0], [0, 10]])
    least = beta.ppf(0.025, 20, 1)
    assert (found.estimate, found.lower, found.upper) == pytest.approx((1.0, 2 * least - 1, 1.0))


@pytest.mark.parametrize("table", [[[12, 0], [0, 0]], [[0, 0], [0, 12]]])
def test_one_category_is_1_by_convention_with_every_value_possible(table):
    found = kappa(table)
    assert (found.estimate, found.lower, found.upper) == (1.0, -1.0, 1.0) and "0/0" in found.note


@pytest.mark.parametrize("table", [[[8, 4], [0, 0]], [[8, 0], [4, 0]]])
def test_a_rater_of_one_category_has_kappa_0_with_every_value_possible(table):
    found = kappa(table)
    assert (found.estimate, found.lower, found.upper) == (0.0, -1.0, 1.0) and "one category" in found.note


def test_total_disagreement_is_minus_1():
    assert kappa([[0, 6], [6, 0]]).estimate == pytest.approx(-1.0)


def test_raters_without_a_common_row_are_undefined():
    found = agreement([1, -1], [-1, 0])
    assert np.isnan(found.kappa.estimate) and found.n == 0


def test_chi_square_is_pearsons_without_correction():
    expected = chi2_contingency([[30, 20, 45], [10, 20, 5]], correction=False)
    found = equal_shares([30, 20, 45], [40, 40, 50])
    assert (found.statistic, found.df, found.p_value) == pytest.approx((expected[0], 2, expected[1]))


@pytest.mark.parametrize("count", [[0, 0], [10, 20]])
def test_the_same_share_of_0_or_1_everywhere_is_equal(count):
    assert equal_shares(count, [10, 20]) == ChiSquare(0.0, 1, 1.0)


def test_groups_without_rows_are_left_out_and_counted():
    found = equal_shares([5, 0, 8], [10, 0, 10])
    assert (found.df, found.note) == (1, "groups without rows left out: 1")


def test_one_group_has_nothing_to_be_equal_to():
    found = equal_shares([3], [10])
    assert (found.df, found.p_value) == (0, 1.0)


def test_agreement_by_arm_is_a_chi_square_of_agreements():
    first, second = np.tile([0, 1], 20), np.tile([0, 1], 20)
    second[:6] = 1 - second[:6]
    arm = np.repeat([0, 1], 20)
    assert equal_agreement(first, second, arm) == equal_shares([14, 20], [20, 20])
