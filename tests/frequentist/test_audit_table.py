"""Counts of the scorer against a rater."""

import numpy as np
import pytest

from drift.frequentist.audit_table import AuditRow, Confusion, audit_table, confusion, majority
from drift.frequentist.share import Share, clopper_pearson

SCORER, TRUTH = [1, 1, 1, 0, 0, 0, 1], [1, 1, 0, 1, 0, 0, -1]
COUNTS = Confusion(tp=2, fp=1, fn=1, tn=2, rows=7)


def test_counts_leave_out_unaudited_rows():
    assert confusion(SCORER, TRUTH) == COUNTS


@pytest.mark.parametrize(
    ("rate", "value"),
    [
        ("sensitivity", 2 / 3),
        ("specificity", 2 / 3),
        ("fpr", 1 / 3),
        ("fnr", 1 / 3),
        ("precision", 2 / 3),
        ("prevalence", 1 / 2),
        ("accuracy", 2 / 3),
    ],
)
def test_rates(rate, value):
    assert COUNTS.rate(rate).estimate == pytest.approx(value)


def test_exact_interval_on_demand():
    expected = clopper_pearson(Share(2 / 3, 3.0, 3))
    found = COUNTS.rate("sensitivity", "clopper-pearson")
    assert (found.lower, found.upper) == (expected.lower, expected.upper)


def test_a_rate_without_rows_is_undefined_with_everything_possible():
    found = Confusion(0, 3, 0, 5, 8).rate("sensitivity")
    assert np.isnan(found.estimate) and (found.lower, found.upper) == (0.0, 1.0)


def test_f1_and_bias():
    counts = Confusion(8, 3, 1, 4, 16)
    assert (counts.f1, counts.bias) == pytest.approx((16 / 20, 2 / 16))


def test_f1_of_no_positives_at_all_is_1():
    assert Confusion(0, 0, 0, 5, 5).f1 == 1.0


def test_arms_come_with_their_strata_that_have_rows():
    found = audit_table(SCORER, TRUTH, [0, 0, 0, 0, 1, 1, 1], ("a", "b"), [0, 0, 1, 1, 1, 1, 1], ("x", "y"))
    assert found == (
        AuditRow("a", "all", Confusion(2, 1, 1, 0, 4)),
        AuditRow("a", "x", Confusion(2, 0, 0, 0, 2)),
        AuditRow("a", "y", Confusion(0, 1, 1, 0, 2)),
        AuditRow("b", "all", Confusion(0, 0, 0, 2, 3)),
        AuditRow("b", "y", Confusion(0, 0, 0, 2, 3)),
    )


def test_majority_of_raters():
    rating = [[1, 1, 0], [0, -1, 0], [1, -1, -1], [1, 0, -1], [-1, -1, -1]]
    assert majority(rating).tolist() == [1, 0, 1, -1, -1]
