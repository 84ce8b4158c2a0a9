"""The latent misclassification likelihood on plain arrays: value and gradient in one pass over label patterns.

Truth z in {0, 1} is not seen. Test 0 is the scorer, the others are raters; -1 marks a test that was not made.

    P(v | cell) = sum over z of P(z | cell) sum over nodes of weight * product over tests of P(v_t | z, node)

A test errs for truth z with probability Phi(c). Tests that share a factor err, at node x of a normal factor, with
Phi((c + sqrt(rho) x) / sqrt(1 - rho)), which leaves the margin at Phi(c) (vasicek2002). Everything is added up as
logarithms.
"""

import math

import numba
import numpy as np

LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
SMALLEST = 1e-250  # probability of a pattern below which logarithms are added instead of probabilities multiplied
FAR_TAIL = 25.0  # above it the tail's asymptotic series is exact to 1e-13, below it erfc has not underflowed


@numba.njit(cache=True, nogil=True, error_model="numpy")
def both_tails(x):
    """Logarithms of Phi(x) and Phi(-x), to a relative 1e-12 at any finite x, and their derivatives by x."""
    y = abs(x)
    if y < FAR_TAIL:
        small = 0.5 * math.erfc(y / math.sqrt(2.0))
        log_small, log_large = math.log(small), math.log1p(-small)
        density = math.exp(-0.5 * x * x - LOG_SQRT_TWO_PI)
        slope_small, slope_large = density / small, density / (1.0 - small)
    else:
        z = 1.0 / (x * x)
        series = -z * (1.0 - z * (3.0 - z * (15.0 - z * (105.0 - z * 945.0))))
        log_small, log_large = -0.5 * x * x - math.log(y) - LOG_SQRT_TWO_PI + math.log1p(series), 0.0
        slope_small, slope_large = y / (1.0 + series), 0.0
    if x > 0.0:
        return log_large, log_small, slope_large, -slope_small
    return log_small, log_large, slope_small, -slope_large


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _tables(probit, rho, shares, node, log_p, slope, by_rho):
    """One test's log probabilities given one truth, and their derivatives, at every node.

    log_p, slope (by the probit), by_rho: (2, node), filled in place; row 0: the label is right, row 1: it is wrong.
    """
    root, rest = math.sqrt(rho), math.sqrt(1.0 - rho)
    for q in range(node.size):
        c, by_c, c_by_rho = probit, 1.0, 0.0
        if shares and rho > 0.0:
            c = (probit + root * node[q]) / rest
            by_c = 1.0 / rest
            c_by_rho = 0.5 * node[q] / (root * rest) + 0.5 * c / (1.0 - rho)
        log_p[1, q], log_p[0, q], by_wrong, by_right = both_tails(c)
        slope[1, q], slope[0, q] = by_wrong * by_c, by_right * by_c
        by_rho[1, q], by_rho[0, q] = by_wrong * c_by_rho, by_right * c_by_rho


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _test_tables(scorer, rater, dependence, shares, reference, node):
    """Tables of every test, each log probabilities, their slopes, and slopes by rho.

    Of the scorer: (3, 2 truths, cell, right/wrong, node). Of the raters: (3, 2 truths, row, rater, right/wrong, node).

    A reference rater is never wrong: log probability 0 and -inf, both without slope.
    """
    n_where, n_rows, n_raters = scorer.shape[1], rater.shape[1], rater.shape[2]
    of_scorer = np.empty((3, 2, n_where, 2, node.size))
    of_rater = np.zeros((3, 2, n_rows, n_raters, 2, node.size))
    for z in range(2):
        for i in range(n_where):
            t = of_scorer[:, z, i]
            _tables(scorer[z, i], dependence[z], shares[0] == 1, node, t[0], t[1], t[2])
        for a in range(n_rows):
            for r in range(n_raters):
                t = of_rater[:, z, a, r]
                if reference[r] == 1:
                    t[0, 1] = -np.inf
                else:
                    _tables(rater[z, a, r], dependence[z], shares[1 + r] == 1, node, t[0], t[1], t[2])
    return of_scorer, of_rater


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _shares(label, scorer, rater, truth, weight, share):
    """Log probability of one pattern; its part of each truth and node, a share of the whole, goes into `share`.

    scorer: (2 truths, right/wrong, node), rater: (2, rater, right/wrong, node), truth: (2,), weight: (node,), all
    logarithms. share: (2, node), filled in place.
    """
    n_nodes = weight.size
    for z in range(2):
        wrong = 1 if label[0] != z else 0
        for q in range(n_nodes):
            share[z, q] = truth[z] + weight[q] + scorer[z, wrong, q]
        for t in range(1, label.size):
            if label[t] >= 0:
                wrong = 1 if label[t] != z else 0
                for q in range(n_nodes):
                    share[z, q] += rater[z, t - 1, wrong, q]
    largest = share.max()
    if largest == -np.inf:
        return -np.inf
    total = 0.0
    for z in range(2):
        for q in range(n_nodes):
            share[z, q] = math.exp(share[z, q] - largest)
            total += share[z, q]
    for z in range(2):
        for q in range(n_nodes):
            share[z, q] /= total
    return largest + math.log(total)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _shares_of_products(label, scorer, rater, truth, weight, share):
    """As `_shares`, of probabilities instead of logarithms: no exponential, one logarithm. 0 where it underflows."""
    n_nodes, total = weight.size, 0.0
    for z in range(2):
        wrong = 1 if label[0] != z else 0
        for q in range(n_nodes):
            share[z, q] = truth[z] * weight[q] * scorer[z, wrong, q]
        for t in range(1, label.size):
            if label[t] >= 0:
                wrong = 1 if label[t] != z else 0
                for q in range(n_nodes):
                    share[z, q] *= rater[z, t - 1, wrong, q]
        for q in range(n_nodes):
            total += share[z, q]
    if total < SMALLEST:
        return 0.0
    inverse = 1.0 / total
    for z in range(2):
        for q in range(n_nodes):
            share[z, q] *= inverse
    return math.log(total)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def misclassification(
    prevalence, scorer, rater, dependence, cell_rater, pattern_cell, pattern_label, pattern_count, reference, shares,
    node, log_weight,
):  # fmt: skip
    """Log likelihood of the counts of label patterns, multinomial constants left out, and its gradient.

    prevalence: (cell,) probit of P(z = 1). scorer: (2, cell), rater: (2, row, rater) probits of an error given truth 0
    (false positive) and truth 1 (false negative). dependence: (2,) rho of the shared factor. cell_rater: (cell,) which
    row of the raters' errors a cell has.
    pattern_cell, pattern_count: (pattern,). pattern_label: (pattern, 1 + rater), -1 where not made. reference: (rater,)
    1 for a rater who is the truth. shares: (1 + rater,) 1 for the tests that share the factor. node, log_weight: its
    quadrature; one node at 0 for no dependence. Returns the value (nats; -inf for impossible counts) and the
    derivatives with respect to prevalence, scorer, rater and dependence. Source of the model: hui1980, qu1996.
    """
    of_scorer, of_rater = _test_tables(scorer, rater, dependence, shares, reference, node)
    p_scorer, p_rater, weight = np.exp(of_scorer[0]), np.exp(of_rater[0]), np.exp(log_weight)
    d_prevalence, d_dependence = np.zeros(prevalence.size), np.zeros(2)
    d_scorer, d_rater = np.zeros(scorer.shape), np.zeros(rater.shape)
    n_nodes, n_tests = node.size, pattern_label.shape[1]
    share = np.empty((2, n_nodes))
    log_truth, slope_truth = np.empty((prevalence.size, 2)), np.empty((prevalence.size, 2))
    for i in range(prevalence.size):
        log_truth[i, 1], log_truth[i, 0], slope_truth[i, 1], slope_truth[i, 0] = both_tails(prevalence[i])
    p_truth = np.exp(log_truth)
    value = 0.0
    for p in range(pattern_cell.size):
        if pattern_count[p] == 0:
            continue
        i, count, label = pattern_cell[p], float(pattern_count[p]), pattern_label[p]
        a, s = cell_rater[i], pattern_label[p, 0]
        log_p = _shares_of_products(label, p_scorer[:, i], p_rater[:, a], p_truth[i], weight, share)
        if log_p == 0.0:
            log_p = _shares(label, of_scorer[0, :, i], of_rater[0, :, a], log_truth[i], log_weight, share)
        if log_p == -np.inf:
            return -np.inf, d_prevalence, d_scorer, d_rater, d_dependence
        value += count * log_p
        for z in range(2):
            whole = 0.0
            for q in range(n_nodes):
                part = count * share[z, q]
                whole += part
                wrong = 1 if s != z else 0
                d_scorer[z, i] += part * of_scorer[1, z, i, wrong, q]
                d_dependence[z] += part * of_scorer[2, z, i, wrong, q]
                for t in range(1, n_tests):
                    if label[t] >= 0:
                        wrong = 1 if label[t] != z else 0
                        d_rater[z, a, t - 1] += part * of_rater[1, z, a, t - 1, wrong, q]
                        d_dependence[z] += part * of_rater[2, z, a, t - 1, wrong, q]
            d_prevalence[i] += whole * slope_truth[i, z]
    return value, d_prevalence, d_scorer, d_rater, d_dependence
