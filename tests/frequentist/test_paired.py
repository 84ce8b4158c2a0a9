"""Contrasts on the same keys."""

import numpy as np
import pytest
from scipy.stats import binom, t

from drift.frequentist.paired import Pairs, exact_mcnemar, paired_difference, pairs

EXACT = 1e-12  # the same number by another order of operations


def rows(label, key, model=None):
    return {"label": label, "key": key, "model": [0] * len(key) if model is None else model}


def of(treatment, comparator, key=None, model=None) -> Pairs:
    n = len(treatment)
    key, model = (np.arange(n) if given is None and spread else np.asarray([0] * n if given is None else given)
                  for given, spread in ((key, True), (model, False)))  # fmt: skip
    return Pairs(np.array(treatment, float), np.array(comparator, float), key, model, 0, 0)


def approval() -> Pairs:
    """Agresti's approval of the prime minister in two surveys: 794 yes-yes, 150 yes-no, 86 no-yes, 570 no-no."""
    first, second = np.repeat([[1, 1, 0, 0], [1, 0, 1, 0]], [794, 150, 86, 570], axis=1)
    return of(second, first)


def by_hand(of: Pairs, weight: np.ndarray) -> tuple[float, float]:
    """Weighted mean difference and its error, key by key."""
    weight = weight / weight.sum()
    each = of.treatment - of.comparator
    mean = float(sum(weight * each))
    totals = [sum(weight[i] * (each[i] - mean) for i in range(of.n) if of.key[i] == key) for key in set(of.key)]
    n = len(totals)
    return mean, float(np.sqrt(n / (n - 1) * sum(total**2 for total in totals)))


def test_agrestis_approval_ratings():
    """-.04 with standard error .0095 (Categorical Data Analysis, section 10.1); here 1600/1599 in the variance."""
    found = paired_difference(approval())
    assert found.estimate == pytest.approx(-0.04, abs=EXACT)
    assert found.width / 2 / t.ppf(0.975, 1599) == pytest.approx(0.0095, abs=5.5e-5)


def test_mcnemar_of_agrestis_approval_ratings():
    found = exact_mcnemar(approval())
    assert (found.treatment_only, found.comparator_only) == (86, 150)
    assert found.p_value == pytest.approx(2 * binom.cdf(86, 236, 0.5), rel=1e-9)


def test_standard_error_is_clustered_by_key():
    rng = np.random.default_rng(2)
    both = of(rng.integers(0, 2, 60), rng.integers(0, 2, 60), np.repeat(np.arange(20), 3), np.tile([0, 1, 2], 20))
    mean, error = by_hand(both, np.ones(60))
    found = paired_difference(both)
    assert (found.estimate, found.width) == pytest.approx((mean, 2 * t.ppf(0.975, 19) * error), abs=EXACT)


def test_models_weigh_alike_whatever_their_rows():
    both = of([1, 1, 1, 0], [0, 0, 0, 0], [0, 1, 2, 3], [0, 0, 0, 1])
    assert paired_difference(both).estimate == pytest.approx(0.5 * 1 + 0.5 * 0, abs=EXACT)


def test_declared_model_weights_are_kept_in_the_error_too():
    rng = np.random.default_rng(3)
    both = of(rng.integers(0, 2, 40), rng.integers(0, 2, 40), np.repeat(np.arange(20), 2), np.tile([0, 1], 20))
    mean, error = by_hand(both, np.tile([0.8, 0.2], 20))
    found = paired_difference(both, {0: 0.8, 1: 0.2})
    assert (found.estimate, found.width) == pytest.approx((mean, 2 * t.ppf(0.975, 19) * error), abs=EXACT)


def test_responses_are_paired_by_key_and_model_whatever_their_order():
    both = pairs(rows([1, 0, 1], [5, 7, 5], [0, 0, 1]), rows([0, 1, 0], [5, 5, 7], [1, 0, 0]))
    assert list(zip(both.key, both.model, both.treatment, both.comparator, strict=True)) == [
        (5, 0, 1.0, 1.0),
        (5, 1, 1.0, 0.0),
        (7, 0, 0.0, 0.0),
    ]


def test_keys_of_one_arm_alone_are_counted_and_not_used():
    both = pairs(rows([1, 0, 1], [1, 2, 3]), rows([0, 1, 1, 0], [2, 3, 4, 5]))
    assert (both.n, both.treatment_only, both.comparator_only) == (2, 1, 2)
    assert both.note == "not in both arms: 1 of the treatment, 2 of the comparator"
    assert paired_difference(both).note.startswith(both.note)


def test_rows_without_a_label_make_no_pair():
    assert pairs(rows([1, -1], [1, 2]), rows([0, 0], [1, 2])).n == 1


def test_replicates_are_averaged():
    assert pairs(rows([1, 0], [1, 1]), rows([0], [1])).treatment == pytest.approx([0.5])


def test_mcnemar_leaves_out_replicates_that_differ_and_says_so():
    found = exact_mcnemar(of([0.5, 1, 1], [0, 0, 1]))
    assert (found.treatment_only, found.n) == (1, 2) and "left out: 1" in found.note


def test_no_pair_that_differs_has_p_1():
    assert exact_mcnemar(of([1, 0], [1, 0])).p_value == 1.0


def test_equal_numbers_either_way_have_p_1():
    assert exact_mcnemar(of([1, 0], [0, 1])).p_value == 1.0


def test_pairs_that_all_differ_alike_have_a_point_and_a_note():
    found = paired_difference(of([1, 1], [0, 0]))
    assert (found.estimate, found.width) == (1.0, 0.0) and "width 0" in found.note


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_keys_are_undefined_with_everything_possible(n):
    found = paired_difference(of([1] * n, [0] * n))
    assert np.isnan(found.estimate) and (found.lower, found.upper) == (-1.0, 1.0)
