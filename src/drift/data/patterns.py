"""Rows collapsed to counts of label patterns: what the likelihood of a scorer study is computed on."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import xarray as xr

from drift.data.label_rows import LabelArray
from drift.data.labels import Labels
from drift.scale import IntArray

CELL_FACTORS = ("population", "arm", "model", "stratum")  # the order in which cells are sorted
LARGEST = 2**62  # packed numbers stay below it, so that 64 bits never overflow


@dataclass(frozen=True)
class Patterns:
    """Counts of label patterns by cell; a cell is a combination of population, arm, model and stratum that occurs.

    `cell_<factor>`: (cell,) level codes, cells sorted by population, arm, model, stratum. `pattern_cell`: (pattern,)
    cell of each pattern. `pattern_label`: (pattern, test) labels 0 or 1, -1 not rated; test 0 is the scorer, then the
    raters. `pattern_count`: (pattern,) rows with it, at least 1; they sum to the number of rows. Patterns are sorted by
    cell and then by label. `row_pattern`: (row,) pattern of each row.
    """

    cell_arm: IntArray
    cell_model: IntArray
    cell_stratum: IntArray
    cell_population: IntArray
    pattern_cell: IntArray
    pattern_label: LabelArray
    pattern_count: IntArray
    row_pattern: IntArray

    @property
    def n_cells(self) -> int:
        return len(self.cell_arm)

    @property
    def n_patterns(self) -> int:
        return len(self.pattern_count)

    def to_dataset(self) -> xr.Dataset:
        """The patterns as a dataset that NetCDF takes: `pattern_count` as int64, codes as int32, labels as int8."""
        cells = {
            f"cell_{factor}": ("cell", getattr(self, f"cell_{factor}").astype(np.int32)) for factor in CELL_FACTORS
        }
        return xr.Dataset(
            {
                **cells,
                "pattern_cell": ("pattern", self.pattern_cell.astype(np.int32)),
                "pattern_label": (("pattern", "test"), self.pattern_label),
                "pattern_count": ("pattern", self.pattern_count),
                "row_pattern": ("row", self.row_pattern.astype(np.int32)),
            }
        )


def collapse(labels: Labels) -> Patterns:
    """The rows as counts of patterns. Cost: a sort of one number a row; what follows grows with patterns only."""
    factors = [labels.codes[factor] for factor in CELL_FACTORS]
    first_row, row_cell, _ = _distinct(factors, labels.n_rows)
    tests = np.column_stack([labels.scorer, labels.rating]).astype(np.int8)
    example, row_pattern, count = _distinct([row_cell, *(tests.T.astype(np.int64) + 1)], labels.n_rows)
    cells = {f"cell_{factor}": code[first_row] for factor, code in zip(CELL_FACTORS, factors, strict=True)}
    return Patterns(
        **cells,
        pattern_cell=row_cell[example],
        pattern_label=tests[example],
        pattern_count=count,
        row_pattern=row_pattern,
    )


def _distinct(columns: Iterable[IntArray], n_rows: int) -> tuple[IntArray, IntArray, IntArray]:
    """Distinct combinations of codes (at least 0) in lexical order: first row, number of each row, rows with each."""
    packed, size = np.zeros(n_rows, dtype=np.int64), 1
    for column in columns:
        n_codes = int(column.max(initial=0)) + 1
        if size * n_codes > LARGEST:  # number the combinations so far from 0; their order stays
            packed = np.unique(packed, return_inverse=True)[1].astype(np.int64)
            size = int(packed.max(initial=0)) + 1
        packed, size = packed * n_codes + column, size * n_codes
    _, first, number, count = np.unique(packed, return_index=True, return_inverse=True, return_counts=True)
    return first.astype(np.int64), number.astype(np.int64), count.astype(np.int64)
