from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from drift.data.cells import Cells, cells_from_ratings, read_cells
from drift.data.declaration import Study
from drift.data.ratings import read_ratings
from drift.data.study import parse_study
from drift.errors import DuplicateRatingsError, InputError, UnusableRowsError

DECLARED = """
title = "T"
seed = 1
models = ["cell-means"]
{top}
[cells]
file = "cells.csv"
raters = 47
[columns]
question = "q"
model = "m"
domain = "d"
deviation = "pct"
[scale]
labels = [1, 2, 3, 4, 5]
"""
TABLE = "q,d,m,pct\nQ1,Safety,A,23.0\nQ1,Safety,B,0\nQ2,Coding,A,100\nQ2,Coding,B,12.5\n"


def study(folder: Path, table: str, top: str = "") -> Study:
    (folder / "cells.csv").write_text(table, encoding="utf-8")
    return parse_study(DECLARED.format(top=top), folder / "c.toml")


def refusal(folder: Path, table: str, kind: type[InputError] = UnusableRowsError) -> str:
    with pytest.raises(kind) as caught:
        read_cells(study(folder, table))
    return str(caught.value)


def test_deviations_are_read_in_percent(tmp_path: Path) -> None:
    assert read_cells(study(tmp_path, TABLE)).deviation.tolist() == [23.0, 0.0, 100.0, 12.5]


def test_the_declared_raters_count_for_every_cell(tmp_path: Path) -> None:
    cells = read_cells(study(tmp_path, TABLE))
    assert (cells.raters, cells.count.tolist()) == (47, [47] * 4)


@pytest.mark.parametrize("text", ["-0.1", "100.1", "23%", '"23,5"', "x", "inf", "nan."])
def test_what_is_no_percentage_is_refused(tmp_path: Path, text: str) -> None:
    assert "line 2: deviation" in refusal(tmp_path, TABLE.replace("23.0", text))


def test_an_empty_cell_is_refused(tmp_path: Path) -> None:
    assert "line 5: deviation is empty" in refusal(tmp_path, TABLE.replace("12.5", ""))


def test_an_empty_cell_is_dropped_where_declared(tmp_path: Path) -> None:
    cells = read_cells(study(tmp_path, TABLE.replace("12.5", "NA"), 'missing = "drop"'))
    assert (cells.line.tolist(), cells.dropped) == ([2, 3, 4], 1)


def test_a_cell_given_twice_is_refused(tmp_path: Path) -> None:
    assert "line 6: model 'A', question 'Q1'" in refusal(tmp_path, TABLE + "Q1,Safety,A,1\n", DuplicateRatingsError)


def test_a_table_with_a_column_a_model(tmp_path: Path) -> None:
    wide = '[layout]\nform = "wide"\nnames_to = "model"\ncolumns = ["A", "B"]\n'
    (tmp_path / "cells.csv").write_text("q,d,A,B\nQ1,Safety,23.0,0\nQ2,Coding,100,12.5\n", encoding="utf-8")
    text = DECLARED.format(top="").replace('model = "m"\n', "").replace('deviation = "pct"\n', "") + wide
    cells = read_cells(parse_study(text, tmp_path / "c.toml"))
    assert (cells.deviation.tolist(), cells.line.tolist()) == ([23.0, 0.0, 100.0, 12.5], [2, 2, 3, 3])


def test_a_dataset_brings_the_cells_back(tmp_path: Path) -> None:
    cells = read_cells(study(tmp_path, TABLE))
    back = Cells.from_dataset(cells.to_dataset(), cells.scale)
    assert (back.deviation.tolist(), back.levels, back.line.tolist(), back.raters, back.digest) == (
        cells.deviation.tolist(),
        cells.levels,
        cells.line.tolist(),
        cells.raters,
        cells.digest,
    )


def test_the_dataset_holds_nothing_that_netcdf_refuses(tmp_path: Path) -> None:
    data = read_cells(study(tmp_path, TABLE)).to_dataset()
    assert {array.dtype.kind for array in data.variables.values()} == {"i", "f", "U"}


RATED = "rater,item,system,score\nR1,Q1,A,1\nR2,Q1,A,2\nR1,Q2,A,5\nR1,Q1,B,3\n"


def test_cells_of_ratings_are_mean_deviations(toy: Callable[..., Study]) -> None:
    assert cells_from_ratings(read_ratings(toy(RATED))).deviation.tolist() == [87.5, 0.0, 50.0]


def test_cells_of_ratings_count_their_ratings(toy: Callable[..., Study]) -> None:
    cells = cells_from_ratings(read_ratings(toy(RATED)))
    assert (cells.count.tolist(), cells.line.tolist()) == ([2, 1, 1], [2, 4, 5])


def test_a_cell_that_nobody_rated_does_not_occur(toy: Callable[..., Study]) -> None:
    cells = cells_from_ratings(read_ratings(toy(RATED)))
    assert np.stack([cells.codes["model"], cells.codes["question"]]).T.tolist() == [[0, 0], [0, 1], [1, 0]]
