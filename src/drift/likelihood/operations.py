"""The compiled functions of `drift.likelihood` as PyTensor operations: what a model is written with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph import Apply, Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key

from drift.likelihood import kernel, misclassification, native, zero_sum

# PyTensor keeps compiled graphs on disk under a key of their operations: the functions' own source belongs to it.
SOURCES = b"".join(Path(str(module.__file__)).read_bytes() for module in (kernel, misclassification, native, zero_sum))
SOURCE = int(hashlib.sha256(SOURCES).hexdigest()[:15], 16)


class Fused(Op):
    """A compiled function that returns a value and its derivatives with respect to its first inputs."""

    __props__ = ()
    function: Callable[..., Any]
    derivatives: tuple[Any, ...]  # their PyTensor types

    def make_node(self, *inputs: Any) -> Apply:
        variables = [pt.as_tensor(x) for x in inputs]
        return Apply(self, variables, [pt.dscalar(), *(kind() for kind in self.derivatives)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        for storage, result in zip(output_storage, type(self).function(*inputs), strict=True):
            storage[0] = np.asarray(result)

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        return [(), *shapes[: len(self.derivatives)]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        n = len(self.derivatives)
        return [[place < n] * (n + 1) for place in range(len(node.inputs))]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        slope, *of_gradient = cotangents
        assert all(isinstance(g.type, DisconnectedType) for g in of_gradient), "second derivatives are not provided"
        rest = len(inputs) - len(self.derivatives)
        return [slope * derivative for derivative in outputs[1:]] + [disconnected_type() for _ in range(rest)]


class CumulativeLogit(Fused):
    """(outer, inner, cutpoints, end, index, above) -> log likelihood and its gradient; `kernel.cumulative_logit`."""

    function = staticmethod(kernel.cumulative_logit)
    derivatives = (pt.dvector, pt.dvector, pt.dvector)


class PatternLikelihood(Fused):
    """The arguments of `misclassification.misclassification` -> log likelihood and its gradient."""

    function = staticmethod(misclassification.misclassification)
    derivatives = (pt.dvector, pt.dmatrix, pt.dtensor3, pt.dvector)


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


@register_funcify_default_op_cache_key(PatternLikelihood)
def _pattern_likelihood(op: Op, **kwargs: Any) -> Any:
    fused = misclassification.misclassification

    @numba_njit
    def pattern_likelihood(*inputs):  # type: ignore[no-untyped-def]
        value, d_prevalence, d_scorer, d_rater, d_dependence = fused(*inputs)
        return np.asarray(value), d_prevalence, d_scorer, d_rater, d_dependence

    return pattern_likelihood, SOURCE


@register_funcify_default_op_cache_key(ZeroSum)
def _zero_sum(op: Op, **kwargs: Any) -> Any:
    return zero_sum.zero_sum, SOURCE


@register_funcify_default_op_cache_key(ZeroSumAdjoint)
def _zero_sum_adjoint(op: Op, **kwargs: Any) -> Any:
    return zero_sum.adjoint, SOURCE
