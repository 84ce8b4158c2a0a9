"""The zero-sum map: sums, isometry, adjoint, and the law that it gives iid normal numbers."""

import numpy as np
import pymc as pm
import pytest

from drift.likelihood import zero_sum

ROUNDING = 1e-13  # sums of some tens of numbers near 1
GROUPINGS = {
    "one group": [0] * 7,
    "blocks": [0] * 4 + [1] * 3 + [2] * 5,
    "scattered": [2, 0, 1, 0, 2, 2, 1, 0, 0],
    "a group of one": [0, 0, 1, 0, 2, 2],
    "groups of one only": [0, 1, 2],
    "two levels": [0, 0],
}


@pytest.fixture(params=GROUPINGS)
def grouping(request):
    group = np.array(GROUPINGS[request.param], np.int64)
    return group, np.bincount(group).astype(np.int64)


@pytest.fixture
def free(grouping):
    group, size = grouping
    return np.random.default_rng(1).normal(size=(4, group.size - size.size))


def test_three_levels_by_hand():
    """Two free numbers a, b and n = 3: a - (a + b)/(3 + sqrt 3), b - (a + b)/(3 + sqrt 3), -(a + b)/sqrt 3."""
    found = zero_sum.zero_sum(np.array([[1.0, 2.0]]), np.zeros(3, np.int64), np.array([3]))
    np.testing.assert_allclose(found, [[0.3660254037844386, 1.3660254037844386, -1.7320508075688772]], rtol=1e-15)


def test_sums_to_zero_within_each_group(grouping, free):
    group, size = grouping
    effects = zero_sum.zero_sum(free, group, size)
    for g in range(size.size):
        np.testing.assert_allclose(effects[:, group == g].sum(axis=1), 0.0, atol=ROUNDING)


def test_isometry(grouping, free):
    effects = zero_sum.zero_sum(free, *grouping)
    np.testing.assert_allclose((effects**2).sum(axis=1), (free**2).sum(axis=1), rtol=ROUNDING)


def test_adjoint_identity(grouping, free):
    other = np.random.default_rng(2).normal(size=(4, grouping[0].size))
    one = (other * zero_sum.zero_sum(free, *grouping)).sum()
    assert (zero_sum.adjoint(other, *grouping) * free).sum() == pytest.approx(one, abs=ROUNDING)


def test_adjoint_is_the_inverse_on_zero_sum_effects(grouping, free):
    effects = zero_sum.zero_sum(free, *grouping)
    np.testing.assert_allclose(zero_sum.adjoint(effects, *grouping), free, atol=ROUNDING)


def test_the_only_level_of_a_group_has_no_effect():
    group = np.array(GROUPINGS["a group of one"])
    free = np.random.default_rng(3).normal(size=(2, 3))
    assert (zero_sum.zero_sum(free, group, np.bincount(group))[:, 2] == 0.0).all()


def test_one_group_has_the_law_of_pymc():
    free = np.random.default_rng(4).normal(size=(1, 6))
    effects = zero_sum.zero_sum(free, np.zeros(7, np.int64), np.array([7]))[0]
    theirs = pm.logp(pm.ZeroSumNormal.dist(sigma=1.7, shape=7), effects).eval()
    ours = pm.logp(pm.Normal.dist(0.0, 1.7, shape=6), free[0]).sum().eval()
    assert ours == pytest.approx(float(theirs), rel=1e-13)


def test_law_is_that_of_iid_effects_less_their_means():
    """Covariance of the map's image is the centring matrix I - 11'/n: exactly that of iid effects less their mean."""
    n = 5
    basis = zero_sum.zero_sum(np.eye(n - 1), np.zeros(n, np.int64), np.array([n]))
    np.testing.assert_allclose(basis.T @ basis, np.eye(n) - 1.0 / n, atol=ROUNDING)
