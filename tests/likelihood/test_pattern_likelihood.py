"""The fused misclassification likelihood against the same sum written row by row, its gradient against differences."""

import itertools

import mpmath
import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.stats import norm

from drift.likelihood.misclassification import both_tails, misclassification
from drift.likelihood.pattern_probability import joint_probability, pattern_probability

VALUE = 3e-12  # relative: sums of some hundred logarithms, each good to 1e-15
N_CELLS, N_ROWS, N_RATERS = 5, 3, 2
CELL_ROW = np.array([0, 0, 1, 2, 2])
NONE = (np.zeros(1), np.zeros(1))


def every_pattern(n_raters=N_RATERS):
    """All label vectors with and without each rater, in every cell."""
    one = [(s, *r) for s in (0, 1) for r in itertools.product((-1, 0, 1), repeat=n_raters)]
    cell = np.repeat(np.arange(N_CELLS), len(one))
    return cell, np.array(one * N_CELLS)


def nodes(n):
    x, w = np.polynomial.hermite_e.hermegauss(n)
    return x, np.log(w / w.sum())


def draw(seed, scale=0.8):
    rng = np.random.default_rng(seed)
    return {
        "prevalence": rng.normal(0, scale, N_CELLS),
        "scorer": rng.normal(-1, scale, (2, N_CELLS)),
        "rater": rng.normal(-2, scale, (2, N_ROWS, N_RATERS)),
        "dependence": rng.uniform(0.05, 0.6, 2),
    }


def fused(point, counts, *, shares=(0, 0, 0), reference=(0, 0), quadrature=NONE):
    cell, label = every_pattern()
    return misclassification(
        *point.values(), CELL_ROW, cell, label, counts, np.array(reference), np.array(shares), *quadrature
    )


def row_by_row(point, counts, shares, reference, node, log_weight):
    """One row at a time, one truth at a time, one node at a time, one test at a time."""
    cell, label = every_pattern()
    total = 0.0
    for i, v, n in zip(cell, label, counts, strict=True):
        p = 0.0
        for z in (0, 1):
            given = 0.0
            for x, lw in zip(node, log_weight, strict=True):
                product = np.exp(lw)
                for t, seen in enumerate(v):
                    if seen < 0:
                        continue
                    c = point["scorer"][z, i] if t == 0 else point["rater"][z, CELL_ROW[i], t - 1]
                    rho = point["dependence"][z] if shares[t] else 0.0
                    wrong = norm.cdf((c + np.sqrt(rho) * x) / np.sqrt(1 - rho))
                    if t > 0 and reference[t - 1]:
                        wrong = 0.0
                    product *= wrong if seen != z else 1 - wrong
                given += product
            p += norm.cdf(point["prevalence"][i] if z else -point["prevalence"][i]) * given
        total += n * np.log(p) if n else 0.0
    return total


SETTINGS = {
    "independent": ((0, 0, 0), (0, 0), NONE),
    "raters share": ((0, 1, 1), (0, 0), nodes(15)),
    "all share": ((1, 1, 1), (0, 0), nodes(15)),
}


@pytest.fixture(params=SETTINGS)
def setting(request):
    return SETTINGS[request.param]


@pytest.fixture(params=range(3))
def point(request):
    return draw(request.param)


@pytest.fixture
def counts():
    return np.random.default_rng(9).poisson(3.0, len(every_pattern()[0]))


def test_value_is_that_of_the_row_form(point, counts, setting):
    shares, reference, quadrature = setting
    expected = row_by_row(point, counts, shares, reference, *quadrature)
    found = fused(point, counts, shares=shares, reference=reference, quadrature=quadrature)[0]
    assert found == pytest.approx(expected, rel=VALUE)


def test_value_with_a_rater_who_is_the_truth(point, counts):
    expected = row_by_row(point, counts, (0, 0, 0), (1, 0), *NONE)
    assert fused(point, counts, reference=(1, 0))[0] == pytest.approx(expected, rel=VALUE)


def test_gradient_is_that_of_differences(point, counts, setting):
    shares, reference, quadrature = setting

    def unpacked(x):
        parts = np.split(x, np.cumsum([v.size for v in point.values()])[:-1])
        return {k: part.reshape(v.shape) for (k, v), part in zip(point.items(), parts, strict=True)}

    def call(x):
        return fused(unpacked(x), counts, shares=shares, reference=reference, quadrature=quadrature)

    x = np.concatenate([v.ravel() for v in point.values()])
    slope = np.concatenate([np.ravel(part) for part in call(x)[1:]])
    error = check_grad(lambda y: call(y)[0], lambda _: slope, x)
    assert error < 1e-5 * np.linalg.norm(slope) + 1e-3  # forward differences of a sum near -2,000: 1e-8 * 2e3 / 1e-8


def test_probabilities_of_all_complete_patterns_add_to_one(point, setting):
    shares, reference, (node, log_weight) = setting
    cell, label = every_pattern()
    probability = pattern_probability(
        *point.values(), CELL_ROW, cell, label, np.array(reference), np.array(shares), node, np.exp(log_weight)
    )
    complete = (label >= 0).all(axis=1)
    totals = np.bincount(cell[complete], weights=probability[complete])
    np.testing.assert_allclose(totals, 1.0, rtol=1e-13)


def test_a_pattern_without_ratings_has_the_scorers_margin(point, setting):
    shares, reference, (node, log_weight) = setting
    cell, label = every_pattern()
    joint = joint_probability(
        *point.values(), CELL_ROW, cell, label, np.array(reference), np.array(shares), node, np.exp(log_weight)
    )
    unrated = (label[:, 1:] < 0).all(axis=1) & (label[:, 0] == 1)
    expected = norm.cdf(point["prevalence"]) * norm.cdf(-point["scorer"][1])
    # the factor keeps the margin: 15 nodes are exact to 1e-6 for rho < .6 (measured: 4e-7)
    np.testing.assert_allclose(joint[1, unrated], expected, rtol=2e-5 if node.size > 1 else 1e-13)


def test_impossible_counts_have_no_likelihood(point, counts):
    """Two raters who are both the truth and disagree."""
    assert fused(point, counts, reference=(1, 1))[0] == -np.inf


def test_counts_of_zero_cost_nothing_and_say_nothing(point, counts):
    """A pattern that is impossible and did not occur changes nothing."""
    _, label = every_pattern()
    disagree = (label[:, 1] >= 0) & (label[:, 2] >= 0) & (label[:, 1] != label[:, 2])
    possible = np.where(disagree, 0, counts)
    assert np.isfinite(fused(point, possible, reference=(1, 1))[0])


@pytest.mark.parametrize("x", [-1e4, -300.0, -40.0, -25.1, -24.9, -8.0, -1.0, 0.0, 1.0, 8.0, 24.0])
def test_both_tails_of_the_normal_distribution(x):
    below, above, slope_below, slope_above = both_tails(x)
    with mpmath.workdps(400):
        p, density = mpmath.ncdf(x), mpmath.npdf(x)
        expected = [mpmath.log(p), mpmath.log(1 - p), density / p, -density / (1 - p)]
    found = [below, above, slope_below, slope_above]
    np.testing.assert_allclose(
        found, [float(value) for value in expected], rtol=1e-12, atol=1e-136
    )  # beyond 25 the other tail is 0


def test_extreme_probits_keep_value_and_gradient_finite(counts):
    point = {name: 12.0 * value for name, value in draw(0).items() if name != "dependence"}
    found = fused(point | {"dependence": np.zeros(2)}, counts)
    assert all(np.isfinite(part).all() for part in found)
