"""Ratings: every row validated, coded by level, and still knowing its line in the file."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from drift.data.declaration import Study
from drift.data.levels import Codes, Levels, factor_variables, factors_from, level_coords, question_domains
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
from drift.data.tables import TextArray
from drift.errors import DuplicateRatingsError, Row, UnusableRowsError
from drift.scale import OFF_SCALE, IntArray, Scale

BoolArray = NDArray[np.bool_]

TRUE = ("1", "1.0", "true", "t", "yes", "y")
FALSE = ("0", "0.0", "false", "f", "no", "n", *(text.lower() for text in MISSING))
MOST_LABELS_SHOWN = 12


@dataclass(frozen=True)
class Ratings:
    """Validated ratings.

    `rating`: (row,) label codes, 0 the worst. `codes`: factor -> (row,) level codes, factors among participant,
    question, model, domain. `levels`: factor -> level names in natural order. `line`: (row,) line in the source file.
    `refused`: (row,) whether the response was declined. `dropped`: reason -> rows left out. `digest`: its SHA-256.
    """

    rating: IntArray
    codes: Codes
    levels: Levels
    line: IntArray
    refused: BoolArray
    scale: Scale
    source: str
    digest: str
    dropped: Mapping[str, int]

    @property
    def n_rows(self) -> int:
        return len(self.rating)

    @property
    def question_domain(self) -> IntArray | None:
        """(question,) domain code of each question; None where the data have no questions or no domains."""
        return question_domains(self.codes, self.levels)

    def to_dataset(self) -> xr.Dataset:
        """The ratings as a dataset that NetCDF takes: `rating`, `<factor>_index` and `refused` along `row`."""
        variables: dict[str, tuple[str, NDArray[Any]]] = {
            "rating": ("row", self.rating.astype(np.int32)),
            **factor_variables(self.codes, "row"),
            "refused": ("row", self.refused.astype(np.int8)),
        }
        if self.question_domain is not None:
            variables["question_domain"] = ("question", self.question_domain.astype(np.int32))
        coords = {"row": self.line, **level_coords(self.levels), "label": np.array(self.scale.labels, dtype=np.str_)}
        dropped = {f"dropped_{reason}": count for reason, count in self.dropped.items()}
        return xr.Dataset(variables, coords, {"source": self.source, "source_digest": self.digest, **dropped})

    @classmethod
    def from_dataset(cls, data: xr.Dataset, scale: Scale) -> "Ratings":
        """The ratings that `to_dataset` wrote."""
        codes, levels = factors_from(data)
        counts = {
            str(name).removeprefix("dropped_"): int(data.attrs[name]) for name in data.attrs if "dropped_" in name
        }
        return cls(
            rating=data["rating"].to_numpy().astype(np.int64),
            codes=codes,
            levels=levels,
            line=data["row"].to_numpy().astype(np.int64),
            refused=data["refused"].to_numpy().astype(bool),
            scale=scale,
            source=str(data.attrs["source"]),
            digest=str(data.attrs["source_digest"]),
            dropped=counts,
        )


def read_ratings(study: Study) -> Ratings:
    """The study's ratings, validated. Raises one `InputError` that lists every bad row.

    Refused responses are coded as declared and may have an empty rating; other empty ratings are refused unless the
    study declares `missing = "drop"`.
    """
    rows = read_rows(study)
    refused, doubtful = _refused(rows, study)
    empty = _empty(rows.values["rating"], study.scale) & ~refused
    code = study.scale.code(rows.values["rating"])
    rows.refuse([*doubtful, *empty_names(rows, study.factors()), *_off_scale(rows, study, code, refused, empty)])
    keep = ~empty & ~(refused & _left_out(study))
    if not keep.any():
        raise UnusableRowsError(rows.source, f"no rating is left of {len(rows)}: all are missing or refused")
    kept = rows.kept(keep)
    _check_duplicates(kept, study)
    check_question_domains(kept)
    codes, levels = coded_factors(kept, study)
    check_named_levels(study, levels)
    return Ratings(
        rating=np.where(refused, 0, code)[keep],
        codes=codes,
        levels=levels,
        line=kept.line,
        refused=refused[keep],
        scale=study.scale,
        source=rows.source,
        digest=rows.digest,
        dropped={"missing": int(empty.sum()), "refused": int((refused & ~keep).sum())},
    )


def _left_out(study: Study) -> bool:
    return study.refusals is not None and study.refusals.coding == "missing"


def _refused(rows: Rows, study: Study) -> tuple[BoolArray, list[Bad]]:
    """Which rows are refusals, and the rows where the refusal column says neither yes nor no."""
    markers = study.refusals.values if study.refusals else ()
    marked = np.isin(rows.values["rating"].astype(str), markers)
    if "refused" not in rows.values:
        return marked, []
    said = pd.Series(rows.values["refused"], dtype=object).str.lower()
    unclear = np.flatnonzero(~said.isin(TRUE + FALSE).to_numpy(dtype=bool))
    bad = [
        (int(place), f"refused is {rows.values['refused'][place]!r}: write 1 or 0, true or false") for place in unclear
    ]
    return marked | said.isin(TRUE).to_numpy(dtype=bool), bad


def _empty(rating: TextArray, scale: Scale) -> BoolArray:
    """Cells with no rating. A label that reads like a missing value is a label."""
    return np.isin(rating.astype(str), [text for text in MISSING if text not in scale.labels])


def _off_scale(rows: Rows, study: Study, code: IntArray, refused: BoolArray, empty: BoolArray) -> list[Bad]:
    bad = (code == OFF_SCALE) & ~refused & ~(empty & (study.missing == "drop"))
    shown = scale_text(study.scale)
    return [(int(place), _off_scale_text(rows.values["rating"][place], shown)) for place in np.flatnonzero(bad)]


def _off_scale_text(text: str, scale: str) -> str:
    if text in MISSING:
        return 'rating is empty (declare missing = "drop" in the study file to fit without it)'
    if re.fullmatch(r"[+-]?\d+,\d+", text):
        return f"rating {text!r} has a decimal comma: write {text.replace(',', '.')}"
    if re.match(r"n/?a\b|refus|declin", text.casefold()):
        return f"rating {text!r} is not on the scale {scale} (a refusal? then list it under [refusals] values)"
    return f"rating {text!r} is not on the scale {scale}"


def scale_text(scale: Scale) -> str:
    """The labels in one line, the middle of a long scale left out."""
    labels = scale.labels
    return ", ".join(labels if len(labels) <= MOST_LABELS_SHOWN else (*labels[:3], "...", *labels[-2:]))


def _check_duplicates(rows: Rows, study: Study) -> None:
    """Raise `DuplicateRatingsError` where a participant rated one response twice and nothing tells the two apart."""
    key = [role for role in ("participant", "question", "model", "replicate") if role in rows.values]
    if study.repeats == "allowed" or not {"participant", "replicate"} & {*key}:
        return
    frame = pd.DataFrame({role: pd.factorize(rows.values[role])[0] for role in key})
    again = np.flatnonzero(frame.duplicated().to_numpy())
    if not len(again):
        return
    first = pd.Series(frame.index).groupby([frame[role] for role in key]).transform("min").to_numpy()
    told: list[Row] = [(int(rows.line[i]), _again_text(rows, key, int(i), int(first[i]))) for i in again]
    advice = (
        'name the column that tells repeats apart ([columns] replicate = "..."), '
        'or declare [design] repeats = "allowed"'
    )
    headline = f"{len(told)} repeated rating{'s' * (len(told) > 1)} of the same {' x '.join(key)}"
    raise DuplicateRatingsError(rows.source, headline, told, place=rows.place, advice=advice)


def _again_text(rows: Rows, key: list[str], place: int, first: int) -> str:
    named = ", ".join(f"{role} {rows.values[role][place]!r}" for role in key)
    return f"{named}: rated on {rows.place} {rows.line[first]} already"
