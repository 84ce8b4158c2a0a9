"""The fused cumulative-logit likelihood on plain arrays: value and gradient in one pass over the rows.

    P(R <= k) = expit(cutpoint_k - eta),   eta_n = outer[outer_n] + inner[inner_n]

With k the label of a row, c_k the cutpoint above it and c_{k-1} the one below,

    log P(R = k) = log expit(c_k - eta) + log expit(eta - c_{k-1}) + log(1 - exp(c_{k-1} - c_k)),

which loses nothing where a difference of two logistic functions underflows. The last term depends on the label
alone, and exp(eta - c) is a product of one exponential per level: rows only multiply and divide.
"""

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.integer]
Ints = NDArray[np.int64]

GROUP = 8  # rows whose factors are multiplied before the running product is looked at; 2 where they are large
LANES = 32  # a segment is padded to a multiple: the widest vector loop that compilers make of it has no remainder
LARGEST_EXPONENT = 320.0  # of the product of one such group: exp(320) * 1e150 is still a float64
FULL_PRODUCT = 1e150  # a running product above this is turned into its logarithm


@dataclass(frozen=True)
class Layout:
    """Rows sorted by outer level, then label: what the kernel loops over.

    end: (outer levels, labels) one past the last row of each outer level and label. index: (rows,) inner level of each
    row. above: (inner levels,) number of its rows whose label is not the lowest. order: (rows,) their places before.
    """

    end: Ints
    index: Ints
    above: Ints
    order: Ints


def layout(outer: Codes, inner: Codes, label: Codes, n_outer: int, n_inner: int, n_labels: int) -> Layout:
    """Sort rows for the kernel. outer, inner, label: (rows,) codes from 0. Few outer levels make long, fast loops."""
    order = np.lexsort((inner, label, outer))
    counts = np.bincount(np.asarray(outer, np.int64) * n_labels + label, minlength=n_outer * n_labels)
    above = np.bincount(inner, weights=label > 0, minlength=n_inner)
    return Layout(
        end=np.cumsum(counts).reshape(n_outer, n_labels).astype(np.int64),
        index=np.asarray(inner, np.int64)[order],
        above=above.astype(np.int64),
        order=order.astype(np.int64),
    )


@numba.njit(cache=True, nogil=True)
def _largest_exponent(outer, inner, cutpoints):
    high = outer.max() + inner.max() - cutpoints.min()
    low = cutpoints.max() - outer.min() - inner.min()
    return max(high, low)


@numba.njit(cache=True, nogil=True)
def _gap_terms(rows_of_label, cutpoints, d_cutpoints):
    """Sum over interior labels of n_k log(1 - exp(-(c_k - c_{k-1}))); its gradient is added in place."""
    value = 0.0
    for k in range(1, cutpoints.size):
        gap = cutpoints[k] - cutpoints[k - 1]
        if not gap >= 0.0 or (gap == 0.0 and rows_of_label[k] > 0):
            return -np.inf
        if rows_of_label[k] > 0:
            value += rows_of_label[k] * np.log(-np.expm1(-gap))
            slope = rows_of_label[k] / np.expm1(gap)
            d_cutpoints[k] += slope
            d_cutpoints[k - 1] -= slope
    return value


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})
def _segment(level, above, below, none_below, factor, slope):
    """Rows of one outer level and label, a multiple of `LANES`: factors, slopes, and two sums.

    level: exp(inner) of each row, 0 in padding. With a = above * level and b = below * level: factor is (1 + a)(1 + b),
    multiplied over the pair of rows r and r + half; slope d loglik / d eta = 1 / (1 + b) - none_below - a / (1 + a), of
    which the two parts are summed. none_below: 1 for the lowest label, which has no cutpoint below it (b is 0), else 0.
    """
    sum_above = 0.0
    sum_below = 0.0
    half = level.size // 2
    for r in range(half):  # two rows share a division
        a = above * level[r]
        a_too = above * level[r + half]
        one_a, one_b = 1.0 + a, 1.0 + below * level[r]
        one_a_too, one_b_too = 1.0 + a_too, 1.0 + below * level[r + half]
        product, product_too = one_a * one_b, one_a_too * one_b_too
        both = product * product_too
        inverse = 1.0 / both
        inverse_too = inverse * product
        inverse *= product_too
        upper, lower = a * (one_b * inverse), one_a * inverse - none_below
        upper_too, lower_too = a_too * (one_b_too * inverse_too), one_a_too * inverse_too - none_below
        factor[r] = both
        slope[r] = lower - upper
        slope[r + half] = lower_too - upper_too
        sum_above += upper + upper_too
        sum_below += lower + lower_too
    return sum_above, sum_below


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _log_product(factor, size, group, product):
    """Sum of log(factor[:size]), a logarithm only when the running product is about to leave the floats.

    factor: one of each pair of rows, so that `group` rows are group // 2 factors.
    Returns what was turned into logarithms, and the product that was not.
    """
    value = 0.0
    if group == GROUP:
        for r in range(0, size, GROUP // 2):
            product *= (factor[r] * factor[r + 1]) * (factor[r + 2] * factor[r + 3])
            if product > FULL_PRODUCT:
                value += np.log(product)
                product = 1.0
    else:
        for r in range(size):
            product *= factor[r]
            if product > FULL_PRODUCT:
                value += np.log(product)
                product = 1.0
    return value, product


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _padded(n):
    return (n + LANES - 1) // LANES * LANES


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _most_rows(end):
    """Rows of the largest outer level, each of its segments padded."""
    most = 0
    previous = 0
    for i in range(end.shape[0]):
        rows = 0
        for k in range(end.shape[1]):
            rows += _padded(end[i, k] - previous)
            previous = end[i, k]
        most = max(most, rows)
    return most


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _fast(outer, inner, cutpoints, end, index, above_lowest, group, d_outer, d_inner, d_cutpoints):
    """Level by level of `outer`: gather, compute, multiply up, scatter, so that the processor overlaps segments."""
    n_outer, n_labels = end.shape
    exp_inner = np.exp(inner)
    exp_cut = np.exp(-cutpoints)
    most = _most_rows(end)
    level, slope = np.empty(most), np.empty(most)  # of one outer level: they stay in cache
    factor = np.empty(most // 2)
    value = (above_lowest * inner).sum()
    product = 1.0
    start = 0
    for i in range(n_outer):
        exp_outer = np.exp(outer[i])
        first, last = start, 0
        for k in range(n_labels):
            n = end[i, k] - first
            rows, levels = index[first : first + n], level[last : last + _padded(n)]
            for r in range(n):
                levels[r] = exp_inner[rows[r]]
            for r in range(n, levels.size):
                levels[r] = 0.0
            first += n
            last += _padded(n)
        first, last = start, 0
        for k in range(n_labels):
            n = end[i, k] - first
            size = _padded(n)
            above = exp_outer * exp_cut[k] if k < n_labels - 1 else 0.0
            below = exp_outer * exp_cut[k - 1] if k > 0 else 0.0
            none_below = 0.0 if k > 0 else 1.0
            part = slice(last, last + size)
            pairs = factor[last // 2 : (last + size) // 2]
            up, down = _segment(level[part], above, below, none_below, pairs, slope[part])
            down -= (size - n) * (1.0 - none_below)  # padding: its a and b are 0
            d_outer[i] += down - up
            if k < n_labels - 1:
                d_cutpoints[k] += up
            if k > 0:
                d_cutpoints[k - 1] -= down
                value += n * (outer[i] - cutpoints[k - 1])
            first += n
            last += size
        logs, product = _log_product(factor, last // 2, group, product)
        value -= logs
        first, last = start, 0
        for k in range(n_labels):
            n = end[i, k] - first
            rows, slopes = index[first : first + n], slope[last : last + n]
            for r in range(n):
                d_inner[rows[r]] += slopes[r]
            first += n
            last += _padded(n)
        start = first
    return value - np.log(product)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _log_expit(x):
    return -np.log1p(np.exp(-x)) if x > 0.0 else x - np.log1p(np.exp(x))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _expit(x):
    if x > 0.0:
        return 1.0 / (1.0 + np.exp(-x))
    z = np.exp(x)
    return z / (1.0 + z)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _plain(outer, inner, cutpoints, end, index, d_outer, d_inner, d_cutpoints):
    """The same sums without exponentials per level: any finite argument, four transcendental calls a row."""
    n_outer, n_labels = end.shape
    value = 0.0
    start = 0
    for i in range(n_outer):
        for k in range(n_labels):
            stop = end[i, k]
            for r in range(start, stop):
                eta = outer[i] + inner[index[r]]
                slope = 0.0
                if k < n_labels - 1:
                    upper = _expit(eta - cutpoints[k])
                    value += _log_expit(cutpoints[k] - eta)
                    d_cutpoints[k] += upper
                    slope -= upper
                if k > 0:
                    lower = _expit(cutpoints[k - 1] - eta)
                    value += _log_expit(eta - cutpoints[k - 1])
                    d_cutpoints[k - 1] -= lower
                    slope += lower
                d_outer[i] += slope
                d_inner[index[r]] += slope
            start = stop
    return value


@numba.njit(cache=True, nogil=True, error_model="numpy")
def cumulative_logit(outer, inner, cutpoints, end, index, above):
    """Log likelihood of all rows and its gradient.

    outer, inner: (levels,) effects in logits, up when ratings go up. cutpoints: (K - 1,) increasing. end, index, above:
    as `layout` made them. Returns the log likelihood (nats) and its derivatives with respect to outer, inner and
    cutpoints; -inf where cutpoints do not increase. Source of the model: mccullagh1980.
    """
    d_outer = np.zeros(outer.size)
    d_inner = np.zeros(inner.size)
    d_cutpoints = np.zeros(cutpoints.size)
    exponent = 2.0 * max(_largest_exponent(outer, inner, cutpoints), 1.0)  # of one row's two factors
    if exponent * GROUP < LARGEST_EXPONENT:
        value = _fast(outer, inner, cutpoints, end, index, above, GROUP, d_outer, d_inner, d_cutpoints)
    elif exponent * 2 < LARGEST_EXPONENT:
        value = _fast(outer, inner, cutpoints, end, index, above, 2, d_outer, d_inner, d_cutpoints)
    else:
        value = _plain(outer, inner, cutpoints, end, index, d_outer, d_inner, d_cutpoints)
    rows_of_label = np.zeros(end.shape[1])
    previous = 0
    for i in range(end.shape[0]):
        for k in range(end.shape[1]):
            rows_of_label[k] += end[i, k] - previous
            previous = end[i, k]
    return value + _gap_terms(rows_of_label, cutpoints, d_cutpoints), d_outer, d_inner, d_cutpoints
