"""Nodes and weights for a normal average, and how many are enough."""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEWEST_NODES = 21
MOST_NODES = 201  # enough for a standard deviation of 6 logits
LEAST_WEIGHT = 1e-17  # of a node; a function in 0..1 does not notice
DIGITS = 7.0  # wanted of a deviation in 0..1; Monte Carlo error of 4,000 draws leaves about three


def n_nodes_for(sd: float, digits: float = DIGITS, fewest: int = FEWEST_NODES) -> int:
    """Gauss-Hermite nodes that average a logistic function over N(x, sd^2) to about `digits` digits. `sd` in logits.

    The logistic function has its poles pi from the real axis, pi / sd on the normal's own scale, so the error of n
    nodes falls as exp(-2 (pi / sd) sqrt(n)). Between `fewest` and 201.
    """
    wanted = (digits * math.log(10.0) * sd / (2.0 * math.pi)) ** 2
    return int(min(max(fewest, math.ceil(wanted)), MOST_NODES))


@cache
def normal_nodes(n: int) -> tuple[Floats, Floats]:
    """Gauss-Hermite nodes and weights of a standard normal average: sum(w * f(z)) is E f(Z), sum(w) = 1.

    Both (n,) less the nodes that weigh below `LEAST_WEIGHT`: with 201 nodes that is 6 in 10 of them.
    """
    from scipy.special import roots_hermitenorm

    nodes, weights = roots_hermitenorm(n)
    weights = weights / weights.sum()
    kept = weights > LEAST_WEIGHT
    return _read_only(nodes[kept]), _read_only(weights[kept])


def chebyshev_degree(width: float) -> int:
    """Chebyshev nodes that carry a mean of logistic functions over an interval of `width` logits to about 1e-11.

    The nearest pole is pi from the interval, so the error falls as exp(-n asinh(2 pi / width)).
    """
    rate = math.asinh(2.0 * math.pi / max(width, 0.1))
    return 6 + math.ceil(26.0 / rate)


@cache
def cosines(n: int) -> Floats:
    """(n, n) matrix that turns values at the n Chebyshev nodes cos(pi (j + 1/2) / n) into n coefficients."""
    angle = np.pi * np.outer(np.arange(n), np.arange(n) + 0.5) / n
    matrix = np.cos(angle) * (2.0 / n)
    matrix[0] /= 2.0
    return _read_only(matrix)


def _read_only(array: Floats) -> Floats:
    found = np.ascontiguousarray(array, dtype=np.float64)
    found.flags.writeable = False
    return found
