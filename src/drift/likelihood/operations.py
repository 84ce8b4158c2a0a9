"""The compiled functions of `drift.likelihood` as PyTensor operations: what a model is written with."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph import Apply, Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key

from drift.likelihood import kernel, native, zero_sum

# PyTensor keeps compiled graphs on disk under a key of their operations: the functions' own source belongs to it.
SOURCES = b"".join(Path(str(module.__file__)).read_bytes() for module in (kernel, native, zero_sum))
SOURCE = int(hashlib.sha256(SOURCES).hexdigest()[:15], 16)


class CumulativeLogit(Op):
    """(outer, inner, cutpoints, end, index, above) -> log likelihood and its gradient; `kernel.cumulative_logit`."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        variables = [pt.as_tensor(x) for x in inputs]
        return Apply(self, variables, [pt.dscalar(), pt.dvector(), pt.dvector(), pt.dvector()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        for storage, result in zip(output_storage, kernel.cumulative_logit(*inputs), strict=True):
            storage[0] = np.asarray(result)

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        return [(), *shapes[:3]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True] * 4] * 3 + [[False] * 4] * 3

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        slope, *of_gradient = cotangents
        assert all(isinstance(g.type, DisconnectedType) for g in of_gradient), "second derivatives are not provided"
        return [slope * derivative for derivative in outputs[1:]] + [disconnected_type() for _ in range(3)]


class ZeroSum(Op):
    """(free, group, size) -> effects that sum to zero within each group; `zero_sum.zero_sum`."""

    __props__ = ()

    def make_node(self, free: Any, group: Any, size: Any) -> Apply:
        return Apply(self, [pt.as_tensor(free), pt.as_tensor(group), pt.as_tensor(size)], [pt.dmatrix()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = zero_sum.zero_sum(*inputs)

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        return [(shapes[0][0], shapes[1][0])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False], [False]]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        _, group, size = inputs
        return [ZeroSumAdjoint()(cotangents[0], group, size), disconnected_type(), disconnected_type()]


class ZeroSumAdjoint(Op):
    """The transpose of `ZeroSum`."""

    __props__ = ()

    def make_node(self, effects: Any, group: Any, size: Any) -> Apply:
        return Apply(self, [pt.as_tensor(effects), pt.as_tensor(group), pt.as_tensor(size)], [pt.dmatrix()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = zero_sum.adjoint(*inputs)

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        return [(shapes[0][0], shapes[0][1] - shapes[2][0])]


@register_funcify_default_op_cache_key(CumulativeLogit)
def _cumulative_logit(op: Op, **kwargs: Any) -> Any:
    return numba_njit(native.cumulative_logit), SOURCE


@register_funcify_default_op_cache_key(ZeroSum)
def _zero_sum(op: Op, **kwargs: Any) -> Any:
    return zero_sum.zero_sum, SOURCE


@register_funcify_default_op_cache_key(ZeroSumAdjoint)
def _zero_sum_adjoint(op: Op, **kwargs: Any) -> Any:
    return zero_sum.adjoint, SOURCE
