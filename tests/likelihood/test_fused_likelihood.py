"""The fused kernel against the readable definition, PyMC's own likelihood, and 50-digit arithmetic."""

from collections.abc import Callable

import mpmath
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

from drift.likelihood import kernel
from drift.likelihood.reference import log_probability

# At eta 0: two labels about a cutpoint 0 have probability 1/2 each; three about -log 3 and log 3 have 1/4 1/2 1/4.
LOG_HALF = -0.6931471805599453
LOG_QUARTER = -1.3862943611198906

VALUE = 1e-10  # relative, required by issue 2; what is found is under 1e-13
GRADIENT = 1e-7  # relative to the largest component, required by issue 2; what is found is under 1e-12
DIFFERENCES = (
    1e-6  # central differences, step 1e-5: (step / gap between cutpoints)^2 of the slope, and 1e-13 / 1e-5 of rounding
)
EXACT = 1e-12  # of the sum, against 50 digits
PADDED = 1e-14  # up to 31 rows of padding, each rounded at 1, are taken off a segment's sums
ROUNDING = 2e-14  # a row: eta - c up to 160 is added and subtracted again in the factorised branches

N_LABELS = (2, 3, 5, 11)
DESIGNS = {
    "crossed": {},
    "unbalanced": {"unbalanced": True},
    "one row": {"n_rows": 1, "n_cells": 1, "n_participants": 1},
    "no participant": {"n_participants": 1},
    "one cell": {"n_cells": 1},
    "more levels than rows": {"n_rows": 5, "n_cells": 20, "n_participants": 20},
}


@pytest.fixture(scope="module")
def stock() -> Callable[..., list]:
    """(point, codes, label) -> PyMC's OrderedLogistic log likelihood and PyTensor's gradient of it."""
    point = [pt.dvector(name) for name in ("cell", "participant", "cutpoints")]
    codes = [pt.lvector(name) for name in ("code_cell", "code_participant", "label")]
    eta = point[0][codes[0]] + point[1][codes[1]]
    rating = pm.OrderedLogistic.dist(eta=eta, cutpoints=point[2], compute_p=False)
    value = pm.logp(rating, codes[2]).sum()
    return pytensor.function([*point, *codes], [value, *pytensor.grad(value, point)], mode="FAST_COMPILE")


def assert_as_stock(case, stock):
    value, *gradient = case.fused()
    expected, *slopes = stock(*case.point, case.code_cell, case.code_participant, case.label)
    assert value == pytest.approx(expected, rel=VALUE)
    for ours, theirs in zip(gradient, slopes, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=GRADIENT, atol=GRADIENT * np.abs(theirs).max(initial=1e-3))


# --- known answers


@pytest.mark.parametrize("label", [0, 1])
def test_two_labels_at_their_cutpoint_are_even(label):
    rows = kernel.layout(np.array([0]), np.array([0]), np.array([label]), 1, 1, 2)
    assert (
        kernel.cumulative_logit(np.zeros(1), np.zeros(1), np.zeros(1), rows.end, rows.index, rows.above)[0] == LOG_HALF
    )


@pytest.mark.parametrize(("label", "expected"), [(0, LOG_QUARTER), (1, LOG_HALF), (2, LOG_QUARTER)])
def test_three_labels(label, expected):
    rows = kernel.layout(np.array([0]), np.array([0]), np.array([label]), 1, 1, 3)
    cutpoints = np.array([-np.log(3.0), np.log(3.0)])
    value = kernel.cumulative_logit(np.zeros(1), np.zeros(1), cutpoints, rows.end, rows.index, rows.above)[0]
    assert value == pytest.approx(expected, rel=1e-15)


def test_ratings_go_up_with_eta():
    rows = kernel.layout(np.array([0]), np.array([0]), np.array([4]), 1, 1, 5)
    _, d_cell, d_participant, _ = kernel.cumulative_logit(
        np.zeros(1), np.zeros(1), np.arange(4.0), rows.end, rows.index, rows.above
    )
    assert d_cell[0] > 0
    assert d_participant[0] > 0


# --- the twins


@pytest.mark.parametrize("n_labels", N_LABELS)
@pytest.mark.parametrize("design", DESIGNS)
def test_value_equals_the_reference(draw, n_labels, design):
    for seed in range(5):
        case = draw(seed, n_labels, **DESIGNS[design])
        expected = log_probability(case.label, case.eta, case.cutpoints).sum()
        assert case.fused()[0] == pytest.approx(expected, rel=VALUE)


@pytest.mark.parametrize("n_labels", N_LABELS)
@pytest.mark.parametrize("design", DESIGNS)
def test_value_and_gradient_equal_stock_pymc(draw, stock, n_labels, design):
    for seed in range(5):
        assert_as_stock(draw(seed, n_labels, **DESIGNS[design]), stock)


@pytest.mark.parametrize("labels", [(1, 2, 3, 4), (0, 1, 2, 3), (0, 2, 4), (2,), (0,), (4,)])
def test_labels_that_nobody_used(draw, stock, labels):
    for seed in range(3):
        assert_as_stock(draw(seed, 5, labels=labels), stock)


@pytest.mark.parametrize("n_labels", N_LABELS)
def test_gradient_equals_central_differences(draw, n_labels):
    case, step = draw(11, n_labels, n_rows=60), 1e-5
    _, *gradient = case.fused()
    for which, slopes in enumerate(gradient):
        for i, slope in enumerate(slopes):
            values = []
            for sign in (1, -1):
                point = [part.copy() for part in case.point]
                point[which][i] += sign * step
                values.append(case.fused(tuple(point))[0])
            assert (values[0] - values[1]) / (2 * step) == pytest.approx(slope, rel=DIFFERENCES, abs=DIFFERENCES)


def test_order_of_rows_does_not_matter(draw):
    case = draw(3, 5)
    shuffled = np.random.default_rng(0).permutation(case.label.size)
    again = type(case)(case.code_cell[shuffled], case.code_participant[shuffled], case.label[shuffled], *case.point)
    assert again.fused()[0] == case.fused()[0]


# --- the three branches


def branch(name, case):
    rows = case.layout
    slopes = [np.zeros(part.size) for part in case.point]
    counts = np.bincount(case.label, minlength=case.cutpoints.size + 1)
    if name == "plain":
        value = kernel._plain(*case.point, rows.end, rows.index, *slopes)
    else:
        group = {"groups of 8": kernel.GROUP, "groups of 1": 1}[name]
        value = kernel._fast(*case.point, rows.end, rows.index, rows.above, group, *slopes)
    return value + kernel._gap_terms(counts, case.cutpoints, slopes[2]), slopes


@pytest.mark.parametrize("other", ["groups of 8", "groups of 1"])
@pytest.mark.parametrize("n_labels", N_LABELS)
def test_branches_agree_where_they_overlap(draw, n_labels, other):
    case = draw(5, n_labels, unbalanced=True, scale=2.0)
    value, slopes = branch("plain", case)
    found, gradient = branch(other, case)
    assert found == pytest.approx(value, rel=EXACT)
    for ours, theirs in zip(gradient, slopes, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=EXACT, atol=EXACT)


@pytest.mark.parametrize("spread", [15.0, 19.9, 20.1, 40.0, 79.0, 81.0, 159.0, 161.0])
def test_nothing_jumps_where_the_branch_changes(spread):
    """Guards at 2 x 8 x 20 = 320 (groups of 8) and 2 x 160 = 320 (groups of 1): eta - c on either side."""
    code = np.zeros(40, np.int64)
    label = np.arange(40) % 5
    cell, cutpoints = np.array([spread - 3.0]), np.array([-3.0, -1.0, 1.0, 3.0])
    rows = kernel.layout(code, code, label, 1, 1, 5)
    value, *_ = kernel.cumulative_logit(cell, np.zeros(1), cutpoints, rows.end, rows.index, rows.above)
    assert value == pytest.approx(log_probability(label, np.full(40, cell[0]), cutpoints).sum(), rel=EXACT)


# --- extremes, against 50 digits


@pytest.fixture
def case_of(draw):
    return type(draw(0, 2))


def exactly(label, eta, cutpoints):
    """log P(R = label) in 50-digit arithmetic, by the naive difference of logistic functions, and its slope in eta."""
    with mpmath.workdps(800):  # the difference of two numbers within e-700 of 1 needs more than 300 digits itself

        def below(k, x):
            if k in (-1, len(cutpoints)):
                return mpmath.mpf(k > 0)
            return 1 / (1 + mpmath.exp(x - cutpoints[k]))

        high, low = below(label, mpmath.mpf(eta)), below(label - 1, mpmath.mpf(eta))
        slope = -(high * (1 - high) - low * (1 - low)) / (high - low)
        return mpmath.log(high - low), slope


EXTREMES = {
    "eta 700": (700.0, [-3.0, -1.0, 1.0, 3.0]),
    "eta -700": (-700.0, [-3.0, -1.0, 1.0, 3.0]),
    "eta 150": (150.0, [-3.0, -1.0, 1.0, 3.0]),
    "eta - c = -40": (-37.0, [-3.0, 3.0]),
    "eta - c = 40": (37.0, [-3.0, 3.0]),
    "gap 1e-8": (0.3, [0.5, 0.5 + 1e-8]),
    "gap 1e-13": (0.3, [0.5, 0.5 + 1e-13]),
    "gap 1e-13 far away": (-40.0, [0.5, 0.5 + 1e-13]),
    "gap 600": (0.0, [-300.0, 300.0]),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_against_50_digits(name):
    eta, cutpoints = EXTREMES[name]
    for label in range(len(cutpoints) + 1):
        rows = kernel.layout(np.array([0]), np.array([0]), np.array([label]), 1, 1, len(cutpoints) + 1)
        value, d_cell, _, _ = kernel.cumulative_logit(
            np.array([eta]), np.zeros(1), np.array(cutpoints), rows.end, rows.index, rows.above
        )
        expected, slope = exactly(label, eta, cutpoints)
        assert value == pytest.approx(float(expected), rel=EXACT, abs=ROUNDING)
        assert d_cell[0] == pytest.approx(float(slope), rel=EXACT, abs=PADDED)


def allowed():
    """(branch, extreme) pairs that the guard lets through: twice the largest exponent, for each row of a group."""
    for which, group in {"groups of 8": 8, "groups of 1": 1, "plain": 0}.items():
        for name, (eta, cutpoints) in EXTREMES.items():
            if 2.0 * max(eta - min(cutpoints), max(cutpoints) - eta, 1.0) * group < kernel.LARGEST_EXPONENT:
                yield which, name


@pytest.mark.parametrize(("which", "name"), list(allowed()))
def test_each_branch_is_exact_where_its_guard_lets_it_run(which, name, case_of):
    eta, cutpoints = EXTREMES[name]
    label = np.arange(16) % (len(cutpoints) + 1)
    case = case_of(np.zeros(16, int), np.zeros(16, int), label, np.array([eta]), np.zeros(1), np.array(cutpoints))
    expected = sum(exactly(int(code), eta, cutpoints)[0] for code in label)
    assert branch(which, case)[0] == pytest.approx(float(expected), rel=EXACT, abs=label.size * ROUNDING)


@pytest.mark.parametrize("cutpoints", [[1.0, 0.0], [0.0, 0.0], [0.0, np.nan], [np.inf, -np.inf]])
@pytest.mark.parametrize("eta", [0.0, 30.0, 700.0])
def test_cutpoints_that_do_not_increase_have_no_density(cutpoints, eta):
    rows = kernel.layout(np.zeros(3, int), np.zeros(3, int), np.array([0, 1, 2]), 1, 1, 3)
    value, *_ = kernel.cumulative_logit(
        np.array([eta]), np.zeros(1), np.array(cutpoints), rows.end, rows.index, rows.above
    )
    assert not value > -np.inf


def test_crossed_cutpoints_around_an_unused_label_have_no_density():
    rows = kernel.layout(np.zeros(2, int), np.zeros(2, int), np.array([0, 2]), 1, 1, 3)
    crossed = np.array([1.0, 0.0])
    assert kernel.cumulative_logit(np.zeros(1), np.zeros(1), crossed, rows.end, rows.index, rows.above)[0] == -np.inf


def test_equal_cutpoints_around_an_unused_label_are_a_label_of_probability_zero():
    rows = kernel.layout(np.zeros(2, int), np.zeros(2, int), np.array([0, 2]), 1, 1, 3)
    value, *_ = kernel.cumulative_logit(np.zeros(1), np.zeros(1), np.zeros(2), rows.end, rows.index, rows.above)
    assert value == pytest.approx(2 * LOG_HALF, rel=1e-15)
