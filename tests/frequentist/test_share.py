"""Naive shares and contrasts, against printed intervals."""

import numpy as np
import pytest

from drift.frequentist.estimate import Estimate, critical, mover
from drift.frequentist.share import Share, clopper_pearson, newcombe, share, wald, wilson

PRINTED = 5e-5  # four printed digits


def of(count: int, n: int) -> Share:
    return Share(count / n, float(n), n)


def limits(estimate: Estimate) -> tuple[float, float]:
    return estimate.lower, estimate.upper


def test_wilson_of_81_in_263_as_newcombe_1998_prints_it():
    assert limits(wilson(of(81, 263))) == pytest.approx((0.2553, 0.3662), abs=PRINTED)


def test_clopper_pearson_of_81_in_263_as_newcombe_1998_prints_it():
    assert limits(clopper_pearson(of(81, 263))) == pytest.approx((0.2527, 0.3676), abs=PRINTED)


def test_newcombe_of_56_in_70_less_48_in_80_as_newcombe_1998_prints_it():
    assert limits(newcombe(of(56, 70), of(48, 80))) == pytest.approx((0.0524, 0.3339), abs=PRINTED)


def test_wald_of_56_in_70_less_48_in_80_as_newcombe_1998_prints_it():
    assert limits(wald(of(56, 70), of(48, 80))) == pytest.approx((0.0575, 0.3425), abs=PRINTED)


def test_contrast_is_treatment_minus_comparator():
    assert newcombe(of(56, 70), of(48, 80)).estimate == pytest.approx(0.8 - 0.6)


def test_mover_of_two_wilson_intervals_is_newcombes_interval():
    one, other = of(56, 70), of(48, 80)
    recovered = mover(wilson(one), wilson(other), "MOVER")
    assert limits(recovered) == pytest.approx(limits(newcombe(one, other)), abs=1e-12)  # same formula, rounding only


def test_wald_of_two_zero_shares_has_no_width_and_newcombe_has():
    assert wald(of(0, 20), of(0, 20)).width == 0.0 < newcombe(of(0, 20), of(0, 20)).width


def test_equal_weights_leave_count_and_number_whole():
    assert share([1, 0, 0, 1], [0.3] * 4) == Share(0.5, 4.0, 4)


def test_kish_number_of_unequal_weights():
    found = share([1, 0, 0], [2.0, 1.0, 1.0])
    assert (found.value, found.n) == pytest.approx((0.5, 16 / 6))  # (2 + 1 + 1)^2 / (4 + 1 + 1)


def test_unequal_weights_are_noted():
    assert "effective number" in wilson(share([1, 0, 0], [2.0, 1.0, 1.0])).note


def test_rows_of_weight_0_do_not_count():
    assert share([1, 0, 1], [1.0, 1.0, 0.0]) == Share(0.5, 2.0, 2)


def test_no_rows_are_undefined_with_everything_possible():
    found = wilson(share([]))
    assert np.isnan(found.estimate) and limits(found) == (0.0, 1.0) and found.note == "no rows"


def test_contrast_with_an_empty_arm_is_undefined_with_everything_possible():
    found = newcombe(of(1, 2), share([]))
    assert np.isnan(found.estimate) and limits(found) == (-1.0, 1.0)


@pytest.mark.parametrize("label", [[2], [-1], [0.5]])
def test_other_labels_are_refused(label):
    with pytest.raises(ValueError, match="0 or 1"):
        share(label)


@pytest.mark.parametrize("weight", [[-1.0], [np.nan], [np.inf], [1.0, 1.0]])
def test_impossible_weights_are_refused(weight):
    with pytest.raises(ValueError, match="weights"):
        share([1], weight)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_impossible_levels_are_refused(level):
    with pytest.raises(ValueError, match="level"):
        critical(level)
