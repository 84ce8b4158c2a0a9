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

GROUP = 8  # rows whose factors are multiplied before the running product is looked at
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
def _segment(level, above, below, none_below, start, stop, factor, slope):
    """Rows of one outer level and label: (1 + a)(1 + b) and d loglik / d eta, with the sums for the two cutpoints.

    level: exp(inner) of each row. none_below: 1 for the lowest label, which has no cutpoint below it (b is 0), else 0.
    """
    sum_above = 0.0
    sum_below = 0.0
    for r in range(start, stop):
        a = 1.0 + above * level[r]
        b = 1.0 + below * level[r]
        both = a * b
        inverse = 1.0 / both
        upper = (a - 1.0) * b * inverse
        lower = a * inverse - none_below
        factor[r] = both
        slope[r] = lower - upper
        sum_above += upper
        sum_below += lower
    return sum_above, sum_below


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _log_product(factor, size, group):
    """Sum of log(factor[:size]), a logarithm only when the running product is about to leave the floats."""
    value = 0.0
    product = 1.0
    whole = size - size % 8 if group == 8 else 0
    for r in range(0, whole, 8):
        low = (factor[r] * factor[r + 1]) * (factor[r + 2] * factor[r + 3])
        high = (factor[r + 4] * factor[r + 5]) * (factor[r + 6] * factor[r + 7])
        product *= low * high
        if product > FULL_PRODUCT:
            value += np.log(product)
            product = 1.0
    for r in range(whole, size):
        product *= factor[r]
        if product > FULL_PRODUCT:
            value += np.log(product)
            product = 1.0
    return value + np.log(product)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _fast(outer, inner, cutpoints, end, index, above_lowest, group, d_outer, d_inner, d_cutpoints):
    n_outer, n_labels = end.shape
    exp_inner = np.exp(inner)
    exp_cut = np.exp(-cutpoints)
    most = end[0, -1]
    for i in range(1, n_outer):
        most = max(most, end[i, -1] - end[i - 1, -1])
    level, factor, slope = np.empty(most), np.empty(most), np.empty(most)  # of one outer level: they stay in cache
    value = (above_lowest * inner).sum()
    first = 0
    for i in range(n_outer):
        size = end[i, -1] - first
        for r in range(size):
            level[r] = exp_inner[index[first + r]]
        exp_outer = np.exp(outer[i])
        start = 0
        for k in range(n_labels):
            stop = end[i, k] - first
            if stop == start:
                continue
            above = exp_outer * exp_cut[k] if k < n_labels - 1 else 0.0
            below = exp_outer * exp_cut[k - 1] if k > 0 else 0.0
            up, down = _segment(level, above, below, 1.0 if k == 0 else 0.0, start, stop, factor, slope)
            d_outer[i] += down - up
            if k < n_labels - 1:
                d_cutpoints[k] += up
            if k > 0:
                d_cutpoints[k - 1] -= down
                value += (stop - start) * (outer[i] - cutpoints[k - 1])
            start = stop
        value -= _log_product(factor, size, group)
        for r in range(size):
            d_inner[index[first + r]] += slope[r]
        first += size
    return value


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
    elif exponent < LARGEST_EXPONENT:
        value = _fast(outer, inner, cutpoints, end, index, above, 1, d_outer, d_inner, d_cutpoints)
    else:
        value = _plain(outer, inner, cutpoints, end, index, d_outer, d_inner, d_cutpoints)
    rows_of_label = np.zeros(end.shape[1])
    previous = 0
    for i in range(end.shape[0]):
        for k in range(end.shape[1]):
            rows_of_label[k] += end[i, k] - previous
            previous = end[i, k]
    return value + _gap_terms(rows_of_label, cutpoints, d_cutpoints), d_outer, d_inner, d_cutpoints


@numba.njit(cache=True, nogil=True, error_model="numpy")
def zero_sum(free, group, size):
    """Effects that sum to zero within each group, from as many free numbers as there are degrees of freedom.

    free: (rows, levels - groups). group: (levels,) group of each level; size: (groups,) its number of levels.
    Returns (rows, levels). The map is an isometry: iid normal free numbers give a zero-sum normal vector.
    """
    n_rows, n_levels = free.shape[0], group.size
    effects = np.empty((n_rows, n_levels))
    for r in range(n_rows):
        total = np.zeros(size.size)
        seen = np.zeros(size.size, np.int64)
        position = 0
        for level in range(n_levels):
            g = group[level]
            seen[g] += 1
            if seen[g] < size[g]:
                effects[r, level] = free[r, position]
                total[g] += free[r, position]
                position += 1
        seen[:] = 0
        for level in range(n_levels):
            g = group[level]
            seen[g] += 1
            root = np.sqrt(size[g])
            if seen[g] < size[g]:
                effects[r, level] -= total[g] / (size[g] + root)
            else:
                effects[r, level] = -total[g] / root
    return effects


@numba.njit(cache=True, nogil=True, error_model="numpy")
def zero_sum_adjoint(effects, group, size):
    """The transpose of `zero_sum`: (rows, levels) -> (rows, levels - groups)."""
    n_rows, n_levels = effects.shape
    free = np.empty((n_rows, n_levels - size.size))
    for r in range(n_rows):
        shift = np.zeros(size.size)
        seen = np.zeros(size.size, np.int64)
        for level in range(n_levels):
            g = group[level]
            seen[g] += 1
            root = np.sqrt(size[g])
            shift[g] += effects[r, level] / (size[g] + root if seen[g] < size[g] else root)
        seen[:] = 0
        position = 0
        for level in range(n_levels):
            g = group[level]
            seen[g] += 1
            if seen[g] < size[g]:
                free[r, position] = effects[r, level] - shift[g]
                position += 1
    return free
