"""The fused likelihood as a symbol that compiled code calls by name.

A kernel that is compiled into each model's graph is optimised again with all that surrounds it, and comes out a third
slower. Here it is machine code of its own, kept on disk by numba; graphs and the code in the cache link to it.
"""

import hashlib
from pathlib import Path

import llvmlite.binding
import numba
import numpy as np
from numba import carray, types
from numba.extending import overload

from drift.likelihood import kernel

SOURCE = hashlib.sha256(Path(kernel.__file__).read_bytes()).hexdigest()[:15]

_floats, _ints, _size = types.CPointer(types.float64), types.CPointer(types.int64), types.int64
_signature = types.float64(
    _floats, _size, _floats, _size, _floats, _size, _ints, _ints, _size, _ints, _floats, _floats, _floats
)


@numba.cfunc(_signature, cache=True)
def _cumulative_logit(
    outer, n_outer, inner, n_inner, cutpoints, n_cutpoints, end, index, n_rows, above, d_outer, d_inner, d_cutpoints
):
    value, by_outer, by_inner, by_cutpoint = kernel.cumulative_logit(
        carray(outer, (n_outer,)),
        carray(inner, (n_inner,)),
        carray(cutpoints, (n_cutpoints,)),
        carray(end, (n_outer, n_cutpoints + 1)),
        carray(index, (n_rows,)),
        carray(above, (n_inner,)),
    )
    carray(d_outer, (n_outer,))[:] = by_outer
    carray(d_inner, (n_inner,))[:] = by_inner
    carray(d_cutpoints, (n_cutpoints,))[:] = by_cutpoint
    return value


_symbol = f"drift_cumulative_logit_{SOURCE}"
llvmlite.binding.add_symbol(_symbol, _cumulative_logit.address)
_linked = types.ExternalFunction(_symbol, _signature)


def _whole(array):
    """The array as 8-byte integers, itself where it has them: PyMC keeps small ones in 4 bytes."""
    return array.astype(np.int64, copy=False)


@overload(_whole)
def _compiled_whole(array):
    if array.dtype == types.int64:
        return lambda array: array
    return lambda array: array.astype(np.int64)


def cumulative_logit(outer, inner, cutpoints, end, index, above):
    """`kernel.cumulative_logit`, to be compiled into a caller: contiguous arrays in, value and gradient out."""
    outer, inner, cutpoints = outer + 0.0, inner + 0.0, cutpoints + 0.0  # a constant is read-only: it has no pointer
    end, index, above = _whole(end), _whole(index), _whole(above)
    d_outer, d_inner, d_cutpoints = np.empty(outer.size), np.empty(inner.size), np.empty(cutpoints.size)
    value = _linked(
        outer.ctypes,
        outer.size,
        inner.ctypes,
        inner.size,
        cutpoints.ctypes,
        cutpoints.size,
        end.ctypes,
        index.ctypes,
        index.size,
        above.ctypes,
        d_outer.ctypes,
        d_inner.ctypes,
        d_cutpoints.ctypes,
    )
    return np.asarray(value), d_outer, d_inner, d_cutpoints
