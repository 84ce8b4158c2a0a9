"""Cell means: one deviation for each model and question, printed in a table or averaged from ratings."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from drift.data.declaration import Study
from drift.data.levels import Codes, Levels, factor_variables, factors_from, level_coords, question_domains
from drift.data.ratings import Ratings
from drift.data.rows import (
    MISSING,
    Bad,
    Rows,
    check_named_levels,
    check_question_domains,
    coded_factors,
    empty_names,
    read_rows,
)
from drift.errors import DuplicateRatingsError, Row, UnusableRowsError
from drift.scale import FloatArray, IntArray, Scale


@dataclass(frozen=True)
class Cells:
    """Mean deviation of each model x question cell.

    `deviation`: (cell,) percent, 0 the best label. `codes`: factor -> (cell,) level codes; `levels`: factor -> names.
    `line`: (cell,) line in the source file. `count`: (cell,) ratings behind each mean, 0 where unknown.
    `raters`: how many rated each cell, where the study declares it.
    """

    deviation: FloatArray
    codes: Codes
    levels: Levels
    line: IntArray
    count: IntArray
    scale: Scale
    source: str
    digest: str
    raters: int | None = None
    dropped: int = 0

    @property
    def n_rows(self) -> int:
        return len(self.deviation)

    @property
    def question_domain(self) -> IntArray | None:
        """(question,) domain code of each question; None where the data have no domains."""
        return question_domains(self.codes, self.levels)

    def noise_bounds(self) -> tuple[FloatArray, FloatArray]:
        """(cell,) least and greatest variance, in pp^2, of the mean of n ratings on the scale whose mean is the cell's.

        Least: every rating on one of the two labels next to the mean; greatest: every rating on an end label
        (bhatia2000). Both are 0 where the number of ratings is not known: the mean is then taken as exact.
        """
        step = 100.0 / (self.scale.n_labels - 1)
        above = self.deviation % step
        ratings = np.where(self.count > 0, self.count, np.inf)
        return above * (step - above) / ratings, self.deviation * (100.0 - self.deviation) / ratings

    def to_dataset(self) -> xr.Dataset:
        """The cells as a dataset that NetCDF takes: what is known of each along `cell`."""
        variables: dict[str, tuple[str, NDArray[Any]]] = {
            "deviation": ("cell", self.deviation),
            **factor_variables(self.codes, "cell"),
            "count": ("cell", self.count.astype(np.int32)),
            "noise_low": ("cell", self.noise_bounds()[0]),
            "noise_high": ("cell", self.noise_bounds()[1]),
        }
        if self.question_domain is not None:
            variables["question_domain"] = ("question", self.question_domain.astype(np.int32))
        coords = {"cell": self.line, **level_coords(self.levels), "label": np.array(self.scale.labels, dtype=np.str_)}
        raters = {} if self.raters is None else {"raters": self.raters}
        attrs = {"source": self.source, "source_digest": self.digest, "dropped_missing": self.dropped, **raters}
        return xr.Dataset(variables, coords, attrs)

    @classmethod
    def from_dataset(cls, data: xr.Dataset, scale: Scale) -> "Cells":
        """The cells that `to_dataset` wrote."""
        codes, levels = factors_from(data)
        return cls(
            deviation=data["deviation"].to_numpy().astype(np.float64),
            codes=codes,
            levels=levels,
            line=data["cell"].to_numpy().astype(np.int64),
            count=data["count"].to_numpy().astype(np.int64),
            scale=scale,
            source=str(data.attrs["source"]),
            digest=str(data.attrs["source_digest"]),
            raters=int(data.attrs["raters"]) if "raters" in data.attrs else None,
            dropped=int(data.attrs["dropped_missing"]),
        )


def read_cells(study: Study) -> Cells:
    """A published table of cell means, validated. Raises one `InputError` that lists every bad row."""
    rows = read_rows(study)
    empty = np.isin(rows.values["deviation"].astype(str), MISSING)
    deviation = pd.to_numeric(pd.Series(rows.values["deviation"], dtype=object), errors="coerce").to_numpy(np.float64)
    unusable = ~((deviation >= 0) & (deviation <= 100)) & ~(empty & (study.missing == "drop"))
    bad: list[Bad] = [
        (int(place), _deviation_text(rows.values["deviation"][place])) for place in np.flatnonzero(unusable)
    ]
    rows.refuse([*bad, *empty_names(rows, study.factors())])
    if empty.all():
        raise UnusableRowsError(rows.source, f"no cell is left of {len(rows)}: all are missing")
    kept = rows.kept(~empty)
    _check_once(kept)
    check_question_domains(kept)
    codes, levels = coded_factors(kept, study)
    check_named_levels(study, levels)
    return Cells(
        deviation=deviation[~empty],
        codes=codes,
        levels=levels,
        line=kept.line,
        count=np.full(len(kept), study.raters or 0, dtype=np.int64),
        scale=study.scale,
        source=rows.source,
        digest=rows.digest,
        raters=study.raters,
        dropped=int(empty.sum()),
    )


def cells_from_ratings(ratings: Ratings) -> Cells:
    """Mean deviation and number of ratings of every model x question cell that occurs, by model, then question.

    `line` is that of the cell's first rating. Raises `KeyError` where the ratings have no questions.
    """
    model, question = ratings.codes["model"], ratings.codes["question"]
    key = model * len(ratings.levels["question"]) + question
    _, first, cell, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    factors = [factor for factor in ratings.codes if factor != "participant"]
    return Cells(
        deviation=np.bincount(cell, weights=ratings.scale.deviation(ratings.rating)) / count,
        codes={factor: ratings.codes[factor][first] for factor in factors},
        levels={factor: ratings.levels[factor] for factor in factors},
        line=ratings.line[first],
        count=count.astype(np.int64),
        scale=ratings.scale,
        source=ratings.source,
        digest=ratings.digest,
    )


def _deviation_text(text: str) -> str:
    if text in MISSING:
        return 'deviation is empty (declare missing = "drop" in the study file to fit without it)'
    return f"deviation {text!r} is no percentage from 0 to 100 (a point for decimals, no percent sign)"


def _check_once(rows: Rows) -> None:
    """Raise `DuplicateRatingsError` where a model x question cell is given twice."""
    frame = pd.DataFrame({"model": rows.values["model"], "question": rows.values["question"]})
    again = np.flatnonzero(frame.duplicated().to_numpy())
    told: list[Row] = [
        (
            int(rows.line[place]),
            f"model {frame['model'][place]!r}, question {frame['question'][place]!r}: given already",
        )
        for place in again
    ]
    if told:
        raise DuplicateRatingsError(rows.source, "model x question cells given twice", told, place=rows.place)
