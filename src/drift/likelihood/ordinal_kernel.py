"""The likelihood of patterns of ordered labels: value and gradient in one pass, and the PyTensor operation of it.

Written out in `ordinal_pattern`. Fused because a graph of it takes PyTensor a minute to compile, not for its speed.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.graph import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key

from drift.likelihood.operations import Fused

SOURCE = int(hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:15], 16)  # of the code that PyTensor keeps


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _normalise(logits: Any) -> Any:
    """(row, K) log probabilities of logits, each row by itself."""
    found = np.empty_like(logits)
    for i in range(logits.shape[0]):
        largest = logits[i].max()
        found[i] = logits[i] - largest - math.log(np.exp(logits[i] - largest).sum())
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _to_logits(slope: Any, log_p: Any) -> Any:
    """(row, K) derivatives by logits from those by log probabilities."""
    found = np.empty_like(slope)
    for i in range(slope.shape[0]):
        found[i] = slope[i] - np.exp(log_p[i]) * slope[i].sum()
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _by_truth(share: Any, scorer: Any, rater: Any, column_rater: Any, cell: Any, label: Any, out: Any) -> None:
    """Fill `out`, (K,), with log P(truth and labels) of one pattern."""
    n = out.size
    for k in range(n):
        out[k] = share[cell, k]
        if label[0] >= 0:
            out[k] += scorer[cell * n + k, label[0]]
        for column in range(column_rater.size):
            if label[1 + column] >= 0:
                out[k] += rater[column_rater[column] * n + k, label[1 + column]]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def ordinal_patterns(
    share_logit: Any,
    scorer_logit: Any,
    rater_logit: Any,
    column_rater: Any,
    pattern_cell: Any,
    pattern_label: Any,
    pattern_count: Any,
) -> Any:
    """Log likelihood (nats, multinomial constants left out) of the counts of label patterns, and its gradient.

    share_logit: (cell, K). scorer_logit: (cell, K, K), rater_logit: (rater, K, K); rows are the true class.
    The rest as in `ordinal_pattern.joint_log_probability`; pattern_count: (pattern,). Returns the value and the
    derivatives with respect to the three. Source of the model: dawid1979.
    """
    n = share_logit.shape[1]
    share = _normalise(share_logit)
    scorer = _normalise(np.ascontiguousarray(scorer_logit).reshape(-1, n))
    rater = _normalise(np.ascontiguousarray(rater_logit).reshape(-1, n))
    d_share, d_scorer, d_rater = np.zeros_like(share), np.zeros_like(scorer), np.zeros_like(rater)
    log_p, value = np.empty(n), 0.0
    for p in range(pattern_cell.size):
        cell, label, count = pattern_cell[p], pattern_label[p], float(pattern_count[p])
        _by_truth(share, scorer, rater, column_rater, cell, label, log_p)
        largest = log_p.max()
        total = largest + math.log(np.exp(log_p - largest).sum())
        value += count * total
        for k in range(n):
            weight = count * math.exp(log_p[k] - total)
            d_share[cell, k] += weight
            if label[0] >= 0:
                d_scorer[cell * n + k, label[0]] += weight
            for column in range(column_rater.size):
                if label[1 + column] >= 0:
                    d_rater[column_rater[column] * n + k, label[1 + column]] += weight
    return (
        value,
        _to_logits(d_share, share),
        _to_logits(d_scorer, scorer).reshape(scorer_logit.shape),
        _to_logits(d_rater, rater).reshape(rater_logit.shape),
    )


class OrdinalPatternLikelihood(Fused):
    """The arguments of `ordinal_patterns` -> log likelihood and its gradient."""

    function = staticmethod(ordinal_patterns)
    derivatives = (pt.dmatrix, pt.dtensor3, pt.dtensor3)


@register_funcify_default_op_cache_key(OrdinalPatternLikelihood)
def _ordinal_patterns(op: Op, **kwargs: Any) -> Any:  # noqa: ARG001  # PyTensor's dispatch fixes the signature
    @numba_njit
    def likelihood(*inputs):  # type: ignore[no-untyped-def]
        value, d_share, d_scorer, d_rater = ordinal_patterns(*inputs)
        return np.asarray(value), d_share, d_scorer, d_rater

    return likelihood, SOURCE
