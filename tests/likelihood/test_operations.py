"""The PyTensor operations: gradients by PyTensor's own check, and the same numbers from Python and numba mode."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.gradient import verify_grad

from drift.likelihood.operations import CumulativeLogit, ZeroSum, ZeroSumAdjoint

GROUP = np.array([0, 0, 1, 0, 1, 2])
SIZE = np.array([3, 2, 1])
INLINED = 1e-13  # relative: the compiler may contract other products once the kernel is inlined
MODES = ("FAST_COMPILE", "NUMBA")  # `perform`, and the kernel inside the compiled graph


@pytest.fixture
def graph(draw):
    """(point variables, value, gradients) of one random case, and its point."""
    case = draw(2, 5, n_rows=50, n_cells=3, n_participants=4)
    point = [pt.dvector(name) for name in ("cell", "participant", "cutpoints")]
    rows = case.layout
    value, *_ = CumulativeLogit()(*point, rows.end, rows.index, rows.above)
    return case, point, value, pytensor.grad(value, point)


@pytest.mark.parametrize("mode", MODES)
def test_gradient_of_the_likelihood(draw, mode):
    case = draw(2, 5, n_rows=50, n_cells=3, n_participants=4)
    rows = case.layout
    verify_grad(
        lambda *point: CumulativeLogit()(*point, rows.end, rows.index, rows.above)[0],
        [*case.point],
        rng=np.random.default_rng(0),
        mode=mode,
    )


@pytest.mark.parametrize("mode", MODES)
def test_gradient_of_the_zero_sum_map(mode):
    free = np.random.default_rng(1).normal(size=(2, 3))
    verify_grad(lambda x: ZeroSum()(x, GROUP, SIZE), [free], rng=np.random.default_rng(0), mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_likelihood_equals_the_kernel(graph, mode):
    case, point, value, slopes = graph
    found = pytensor.function(point, [value, *slopes], mode=mode)(*case.point)
    for ours, expected in zip(found, case.fused(), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=INLINED)


@pytest.mark.parametrize("mode", MODES)
def test_zero_sum_there_and_back(mode):
    free = pt.dmatrix()
    back = ZeroSumAdjoint()(ZeroSum()(free, GROUP, SIZE), GROUP, SIZE)
    values = np.random.default_rng(1).normal(size=(2, 3))
    np.testing.assert_allclose(pytensor.function([free], back, mode=mode)(values), values, atol=1e-15)


def test_shapes_are_known_without_computing(graph):
    case, point, _, slopes = graph
    shapes = pytensor.function(point, [slope.shape for slope in slopes], on_unused_input="ignore")
    assert [tuple(shape) for shape in shapes(*case.point)] == [(3,), (4,), (4,)]
    assert "CumulativeLogit" not in str(shapes.maker.fgraph.toposort())


def test_second_derivatives_are_refused(graph):
    _, point, _, slopes = graph
    with pytest.raises(AssertionError, match="second derivatives"):
        pytensor.grad(slopes[0].sum(), point[0])
