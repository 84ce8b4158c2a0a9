"""Labels and draws here are simulated; draws of parameters play no part in these bounds but for their number."""

import numpy as np
import pytest
from tests.estimands.scorer_tree import jittered, labels_of, scorer_tree

from drift.data.scorer_declaration import ScorerContrast, ScorerTarget
from drift.estimands.label_bounds import contrast_bounds, label_bounds
from drift.estimands.scored import scored

PANEL = ScorerTarget()
CONTRAST = ScorerContrast("one - zero", "arm 1", "arm 0", tolerance_pp=5.0)


def posterior(labels, n_draws=4):
    return scored(scorer_tree(labels, jittered(labels, n_chains=1, n_draws=n_draws)))


def test_a_panel_that_all_audited_is_bounded_by_its_disagreements():
    # of four rows: one positive by both, one negative by both, one disputed, one positive by the only rater who saw it
    labels = labels_of([1, 0, 1, 0], [(1, 1), (0, 0), (1, 0), (-1, 1)])
    np.testing.assert_array_equal(label_bounds(posterior(labels), PANEL)[0, :, 0], [[0.5, 0.75]] * 4)


def test_a_post_stratum_without_an_audited_row_is_bounded_by_nothing():
    # label 1: one row, audited, positive; label 0: three rows, none audited
    labels = labels_of([1, 0, 0, 0], [(1,), (-1,), (-1,), (-1,)])
    found = label_bounds(posterior(labels), PANEL)
    np.testing.assert_array_equal(found[0, 0, 0], [0.25, 1.0])
    assert found["unbounded"].item() == 0.75


def test_audited_rows_stand_for_their_post_stratum():
    # label 1: 8 of 10 audited rows positive, 90 more rows. Beta(8.5, 2.5) and binomial: mean (8 + 90 x 8.5 / 11) / 100
    labels = labels_of([1] * 100, [[1]] * 8 + [[0]] * 2 + [[-1]] * 90)
    found = label_bounds(posterior(labels, n_draws=4000), PANEL)
    mean, p = (8 + 90 * 8.5 / 11) / 100, 8.5 / 11
    sd = np.sqrt(90 * p * (1 - p) * (90 + 11) / (11 + 1)) / 100  # of a beta-binomial
    assert found[..., 0].mean().item() == pytest.approx(mean, abs=4 * sd / np.sqrt(4000))
    assert found[..., 0].std().item() == pytest.approx(sd, rel=4 / np.sqrt(8000))
    np.testing.assert_array_equal(found[..., 0], found[..., 1])  # one rater cannot disagree with himself


def test_the_scorers_label_makes_strata():
    # audit of label 1 alone says nothing about label 0, whatever the shares among audited rows
    labels = labels_of([1, 1, 0, 0], [[1], [1], [0], [-1]])
    found = label_bounds(posterior(labels, n_draws=200), PANEL)
    assert found[..., 0].min().item() == 0.5  # the two of label 1, and none or one of label 0
    assert set(np.unique(found)) == {0.5, 0.75}


def test_models_are_mixed_equally():
    labels = labels_of([1, 1, 1, 1], [[1], [1], [1], [0]], model=[0, 0, 0, 1])
    np.testing.assert_array_equal(label_bounds(posterior(labels), PANEL)[0, 0, 0], [0.5, 0.5])


def test_audits_outside_the_target_bound_nothing():
    labels = labels_of([1, 1], [[-1], [1]], population=[0, 1])
    np.testing.assert_array_equal(label_bounds(posterior(labels), PANEL)[0, 0, 0], [0.0, 1.0])


def test_bounds_of_a_contrast_are_the_extreme_combinations():
    both = [(1, 1), (1, 0), (0, 0), (0, 0)], [(1, 1), (1, 1), (1, 0), (0, 0)]  # arms in [.25, .5] and [.5, .75]
    labels = labels_of([1] * 8, [*both[0], *both[1]], arm=[0] * 4 + [1] * 4)
    found = contrast_bounds(posterior(labels), PANEL, [CONTRAST])
    np.testing.assert_array_equal(found[0, 0, 0], [0.0, 0.5])


def test_audited_rows_are_counted():
    labels = labels_of([1, 0, 1], [[1], [-1], [0]], arm=[0, 0, 1])
    assert label_bounds(posterior(labels), PANEL)["n_audited"].values.tolist() == [1, 1]


def test_the_same_file_gives_the_same_numbers():
    labels = labels_of([1] * 20, [[1]] * 3 + [[0]] * 3 + [[-1]] * 14)
    np.testing.assert_array_equal(label_bounds(posterior(labels), PANEL), label_bounds(posterior(labels), PANEL))
