"""Effects that sum to zero within groups: the map from free numbers, and its transpose, on plain arrays."""

import numba
import numpy as np


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
def adjoint(effects, group, size):
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
