"""Random ratings for the likelihood's tests, and the shared real data."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from drift.likelihood import kernel

R_ORDINAL = Path(__file__).parents[3] / "shared" / "data" / "r_ordinal"

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """Rows (cell, participant, label), and a point (cell effects, participant effects, cutpoints)."""

    code_cell: NDArray[np.int64]
    code_participant: NDArray[np.int64]
    label: NDArray[np.int64]
    cell: Array
    participant: Array
    cutpoints: Array

    @property
    def eta(self) -> Array:
        return self.cell[self.code_cell] + self.participant[self.code_participant]

    @property
    def point(self) -> tuple[Array, Array, Array]:
        return self.cell, self.participant, self.cutpoints

    @property
    def layout(self) -> kernel.Layout:
        sizes = self.cell.size, self.participant.size, self.cutpoints.size + 1
        return kernel.layout(self.code_cell, self.code_participant, self.label, *sizes)

    def fused(self, point: tuple[Array, Array, Array] | None = None) -> tuple[float, Array, Array, Array]:
        rows = self.layout
        return kernel.cumulative_logit(*(point or self.point), rows.end, rows.index, rows.above)


@pytest.fixture
def draw() -> Callable[..., Case]:
    """A random case; `labels` restricts which labels occur, but `n_labels` are declared."""

    def make(
        seed: int,
        n_labels: int,
        n_rows: int = 200,
        n_cells: int = 6,
        n_participants: int = 9,
        labels: tuple[int, ...] = (),
        unbalanced: bool = False,
        scale: float = 1.5,
    ) -> Case:
        rng = np.random.default_rng(seed)
        weights = rng.dirichlet(np.full(n_participants, 0.3)) if unbalanced else None
        return Case(
            rng.integers(n_cells, size=n_rows) ** (2 if unbalanced else 1) % n_cells,
            rng.choice(n_participants, size=n_rows, p=weights),
            rng.choice(labels or range(n_labels), size=n_rows),
            rng.normal(scale=scale, size=n_cells),
            rng.normal(scale=scale, size=n_participants) if n_participants > 1 else np.zeros(1),
            np.sort(rng.normal(scale=scale, size=n_labels - 1)),
        )

    return make


@pytest.fixture
def r_ordinal() -> Path:
    """Data of the R package ordinal, which nobody here wrote."""
    if not R_ORDINAL.is_dir():
        pytest.skip("the folder ../shared/data is absent")
    return R_ORDINAL
