"""The probability of a label pattern, spelled out: the readable definition, which also takes many draws at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]
Whole = NDArray[np.integer[Any]]


def joint_probability(
    prevalence: Floats,
    scorer: Floats,
    rater: Floats,
    dependence: Floats,
    cell_rater: Whole,
    pattern_cell: Whole,
    pattern_label: Whole,
    reference: Whole,
    shares: Whole,
    node: Floats,
    weight: Floats,
) -> Floats:
    """(..., 2, pattern) P(truth = z and the pattern's labels | its cell), for z = 0 and 1.

    prevalence: (..., cell) probit. scorer: (..., 2, cell), rater: (..., 2, row, rater): probits of an error given
    truth 0 and 1. dependence: (..., 2). The rest as in `misclassification.misclassification`; weight: (node,), not its
    logarithm. Leading dimensions are draws, the same for all.
    """
    row, n_tests = cell_rater[pattern_cell], pattern_label.shape[1]
    found = []
    for z in (0, 1):
        truth = ndtr(prevalence if z else -prevalence)[..., pattern_cell]
        given = np.ones((*truth.shape, node.size))
        for test in range(n_tests):
            probit = scorer[..., z, :][..., pattern_cell] if test == 0 else rater[..., z, row, test - 1]
            error = _error(probit, dependence[..., z] if shares[test] else 0.0 * dependence[..., z], node)
            if test and reference[test - 1]:
                error = np.zeros_like(error)
            label = pattern_label[:, test][:, None]
            given = given * np.where(label < 0, 1.0, np.where(label == z, 1.0 - error, error))
        found.append(truth * (given @ weight))
    return np.stack(found, axis=-2)


def pattern_probability(*arguments: Any) -> Floats:
    """(..., pattern) P(the pattern's labels | its cell); arguments as for `joint_probability`."""
    return np.asarray(joint_probability(*arguments).sum(axis=-2))


def _error(probit: Floats, rho: Floats, node: Floats) -> Floats:
    """(..., pattern, node) probability of an error at each value of the shared factor."""
    share = np.asarray(rho)[..., None, None]
    return np.asarray(ndtr((probit[..., None] + np.sqrt(share) * node) / np.sqrt(1.0 - share)))
