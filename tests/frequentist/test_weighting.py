"""Weights of rows, worked by hand."""

import numpy as np
import pytest

from drift.frequentist.weighting import (
    collapsed_cells,
    hajek,
    hajek_contrast,
    mixture_weight,
    post_stratified_weight,
    sampling_weight,
    weighted_share,
)


def test_equal_mixture_gives_every_model_the_same_weight():
    assert mixture_weight([0, 0, 0, 1]) == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])


def test_a_declared_mixture_is_kept():
    weight = mixture_weight([0, 0, 1, 2], {0: 0.5, 1: 0.2, 2: 0.3})
    assert weight == pytest.approx([0.25, 0.25, 0.2, 0.3])


def test_a_model_without_rows_leaves_its_weight_to_the_others():
    assert mixture_weight([0, 1], {0: 0.4, 1: 0.4, 2: 0.2}) == pytest.approx([0.5, 0.5])


def test_a_mixture_of_absent_models_is_refused():
    with pytest.raises(ValueError, match="no row"):
        mixture_weight([0, 0], {1: 1.0})


def test_sampling_weight_is_target_weight_over_inclusion():
    assert sampling_weight([0.5, 0.1], [0.2, 0.3]) == pytest.approx([0.4, 3.0])


def test_post_stratified_weights_give_each_cell_its_part_of_the_target():
    cell, audited = [0, 0, 0, 1, 1], [True, False, False, True, True]
    weight, missed = post_stratified_weight(cell, audited, np.full(5, 0.2))
    assert weight == pytest.approx([0.6, 0, 0, 0.2, 0.2]) and missed == 0.0


def test_post_stratified_weights_say_what_they_leave_out():
    weight, missed = post_stratified_weight([0, 0, 1], [True, True, False], np.full(3, 1 / 3))
    assert weight == pytest.approx([1 / 3, 1 / 3, 0]) and missed == pytest.approx(1 / 3)


def test_only_coarse_cells_with_an_unaudited_fine_cell_are_united():
    fine, coarse = [0, 0, 1, 2, 3], [0, 0, 0, 1, 1]
    code, empty = collapsed_cells(fine, coarse, [True, False, False, True, True])
    assert (code[0] == code[1] == code[2], len(np.unique(code)), empty) == (True, 3, 1)


def test_equal_weights_make_hajeks_share_the_mean_with_its_usual_error():
    found = weighted_share([1, 1, 0, 0, 0], np.full(5, 2.0))
    assert (found.value, found.error) == pytest.approx((0.4, np.sqrt(0.4 * 0.6 / 4)))  # s^2/n with divisor n - 1


def test_hajeks_share_worked_by_hand():
    """Weights 3 and 1, labels 1 and 0: mean .75, residuals .75 x .25 and .25 x .75, twice their squares' sum."""
    found = weighted_share([1, 0], [3.0, 1.0])
    assert (found.value, found.error) == pytest.approx((0.75, np.sqrt(2 * 2 * (0.1875) ** 2)))


def test_contrast_adds_variances_also_where_an_arms_interval_is_clipped():
    near_0, other = weighted_share([1] + [0] * 19, np.ones(20)), weighted_share([1, 0] * 10, np.ones(20))
    found = hajek_contrast(near_0, other)
    assert hajek(near_0).lower == 0.0
    assert found.width == pytest.approx(2 * 1.959964 * np.hypot(near_0.error, other.error), abs=1e-6)


def test_one_audited_row_has_no_error():
    found = hajek(weighted_share([1], [1.0]))
    assert np.isnan(found.estimate) and (found.lower, found.upper) == (0.0, 1.0)
