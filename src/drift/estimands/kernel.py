"""Expected deviation averaged over questions and participants: one pass over the draws, on plain arrays.

With eta = base[m, d] + scale[m] level[j] + interaction[m, j] + person[p] and P(R <= k) = expit(cutpoint_k - eta), the
expected deviation of a rating, as a fraction of the scale, is the mean of P(R <= k) over the K - 1 cutpoints. Its
average over participants is a smooth function of x = eta - person, so where a design has many cells it is evaluated at
Chebyshev nodes only and interpolated; memory is never cells x participants.
"""

import numba
import numpy as np

from drift.estimands.quadrature import Floats, chebyshev_degree, cosines

LARGEST_EXPONENT = 300.0  # a product of two exponentials stays a float64; what is cut off is below 1e-130
NO_INTERACTION = np.zeros((0, 0, 0))


@numba.njit(cache=True, nogil=True)
def bounded_exp(x):  # type: ignore[no-untyped-def]  # compiled
    return np.exp(min(max(x, -LARGEST_EXPONENT), LARGEST_EXPONENT))


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _mean_fraction(x, odds, weight):  # type: ignore[no-untyped-def]  # compiled
    """sum_i weight_i / (1 + odds_i exp(x)), with odds_i = exp(person - cutpoint)."""
    odds_of_x = bounded_exp(x)
    total = 0.0
    for i in range(odds.size):
        total += weight[i] / (1.0 + odds[i] * odds_of_x)
    return total


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _clenshaw(t, coefficient):  # type: ignore[no-untyped-def]  # compiled
    after, after_next = 0.0, 0.0
    for i in range(coefficient.size - 1, 0, -1):
        after, after_next = coefficient[i] + 2.0 * t * after - after_next, after
    return coefficient[0] + t * after - after_next


@numba.njit(cache=True, nogil=True)
def _average(  # type: ignore[no-untyped-def]  # compiled
    base, level, scale, interaction, domain_of, group_of, weight, row_of, row_weight,
    person, person_weight, cutpoints, to_coefficients, out,
):  # fmt: skip
    """Add to out (draw, row, group). `to_coefficients` (n, n): interpolate from n nodes; (0, 0): every cell as is."""
    n_draws, n_models, _ = base.shape
    n_levels, n_people, n_cuts, n = level.shape[1], person.shape[1], cutpoints.shape[1], to_coefficients.shape[0]
    x = np.empty((n_models, n_levels))
    odds, odds_weight = np.empty(n_people * n_cuts), np.empty(n_people * n_cuts)
    at_node, coefficient = np.empty(n), np.empty(n)
    for s in range(n_draws):
        for p in range(n_people):
            for k in range(n_cuts):
                odds[p * n_cuts + k] = bounded_exp(person[s, p] - cutpoints[s, k])
                odds_weight[p * n_cuts + k] = person_weight[p] / n_cuts
        for m in range(n_models):
            for j in range(n_levels):
                x[m, j] = base[s, m, domain_of[j]] + scale[s, m] * level[s, j]
                if interaction.size > 0:
                    x[m, j] += interaction[s, m, j]
        low, high = x.min(), x.max()
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        interpolate = n > 0 and half > 1e-9
        if interpolate:
            for i in range(n):
                at_node[i] = _mean_fraction(middle + half * np.cos(np.pi * (i + 0.5) / n), odds, odds_weight)
            for i in range(n):
                coefficient[i] = 0.0
                for j in range(n):
                    coefficient[i] += to_coefficients[i, j] * at_node[j]
        for m in range(n_models):
            for j in range(n_levels):
                if interpolate:
                    value = _clenshaw((x[m, j] - middle) / half, coefficient)
                else:
                    value = _mean_fraction(x[m, j], odds, odds_weight)
                out[s, row_of[m], group_of[j]] += row_weight[m] * weight[j] * value


def average_fraction(
    base: Floats,
    level: Floats,
    domain_of: np.ndarray,
    weight: Floats,
    person: Floats,
    person_weight: Floats,
    cutpoints: Floats,
    *,
    interaction: Floats | None = None,
    scale: Floats | None = None,
    group_of: np.ndarray | None = None,
    pool_models: bool = False,
) -> Floats:
    """Expected deviation, 0 (best) to 1, averaged over levels within groups and over persons. (draw, model, group).

    base: (draw, model, domain) logits. level: (draw, level), multiplied by scale (draw, model) if there is one, and
    interaction: (draw, model, level), are added for each level. domain_of, group_of: (level,) codes; a level's domain
    is its group unless said otherwise. weight: (level,), adding to 1 within a group. person: (draw, person) logits,
    with weights (person,). cutpoints: (draw, K - 1).
    `pool_models`: average over models too; the result is then (draw, 1, group).
    Absolute error below 1e-9 (tests/estimands/test_deviation.py has the slow twin).
    """
    n_models = base.shape[1]
    group = np.asarray(domain_of if group_of is None else group_of, dtype=np.int64)
    row = np.zeros(n_models, np.int64) if pool_models else np.arange(n_models)
    out = np.zeros((base.shape[0], int(row.max()) + 1, int(group.max()) + 1))
    added = NO_INTERACTION if interaction is None else interaction
    times = np.ones(base.shape[:2]) if scale is None else scale
    width = _widest(base) + times.max() * _widest(level) + (_widest(added) if added.size else 0.0)
    matrix = _interpolation(width, n_models * level.shape[1], person.shape[1] * cutpoints.shape[1])
    row_weight = np.full(n_models, 1.0 / n_models if pool_models else 1.0)
    domain = np.asarray(domain_of, dtype=np.int64)
    _average(
        base, level, times, added, domain, group, weight, row, row_weight,
        person, person_weight, cutpoints, matrix, out,
    )  # fmt: skip
    return out


def _interpolation(width: float, n_cells: int, n_terms: int) -> Floats:
    """The matrix of `cosines` where interpolating costs less than every cell; an empty one where it does not."""
    n = chebyshev_degree(width)
    cost = n * n_terms + n * n + n * n_cells
    return cosines(n) if cost < n_cells * n_terms else np.zeros((0, 0))


def _widest(part: Floats) -> float:
    """The largest range within one draw."""
    by_draw = part.reshape(part.shape[0], -1)
    return float((by_draw.max(axis=1) - by_draw.min(axis=1)).max())
