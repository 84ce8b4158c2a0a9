"""The probability of a pattern of ordered labels, spelled out: K true classes, a scorer and raters who mistake them.

    P(v | cell) = sum over k of share[cell, k] scorer[cell, k, v_0] product over raters of rater[r, k, v_r]

Source of the model: dawid1979; the scorer is a rater whose confusion matrix differs by cell.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.integer[Any]]


def joint_log_probability(
    log_share: Floats,
    log_scorer: Floats,
    log_rater: Floats,
    column_rater: Whole,
    pattern_cell: Whole,
    pattern_label: Whole,
) -> Floats:
    """(..., pattern, K) log P(truth = k and the pattern's labels | its cell), nats; -inf where it is impossible.

    log_share: (..., cell, K) of the true classes. log_scorer: (..., cell, K, K), log_rater: (..., rater, K, K): row the
    true class, column the label given. column_rater: (column,) whose matrix each column of raters' labels has.
    pattern_label: (pattern, 1 + column) label codes, 0 the worst, -1 where none was given; column 0 is the scorer's.
    Leading dimensions are draws, the same for all three.
    """
    found = log_share[..., pattern_cell, :].copy()
    for column, label in enumerate(np.asarray(pattern_label).T):
        made = np.flatnonzero(label >= 0)
        if column == 0:
            by_truth = np.moveaxis(log_scorer, -1, -2)[..., pattern_cell[made], label[made], :]
        else:
            by_truth = np.moveaxis(log_rater[..., column_rater[column - 1], :, :], -1, -2)[..., label[made], :]
        found[..., made, :] += by_truth
    return found
