"""One row of a scorer study's file at a time: what its cells mean, and every way in which rows cannot be used."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from drift.data.levels import Codes, Levels, coded
from drift.data.rows import MISSING, Bad, Rows, empty_names, read_rows
from drift.data.scorer_declaration import BINARY, ScorerStudy, rater_role
from drift.data.sections import did_you_mean
from drift.data.tables import TextArray
from drift.errors import (
    AuditOutsideTargetError,
    DuplicateLabelsError,
    EmptyCellsError,
    Row,
    UnknownLevelError,
    UnusableRowsError,
)
from drift.scale import OFF_SCALE, FloatArray, IntArray, Scale, value_key

LabelArray = NDArray[np.int8]
BoolArray = NDArray[np.bool_]

YES = ("true", "t", "yes", "y")  # besides every way to write the number 1
NO = ("false", "f", "no", "n")  # besides every way to write the number 0
NOT_RATED, NO_LABEL = -1, -2  # an empty cell, a cell that is no label
NOT_AUDITED, NO_AUDIT = -1, -2  # an empty cell, a name that the study file does not declare


@dataclass(frozen=True)
class LabelRows:
    """The rows that have a scorer label, and what their cells mean.

    `scorer`: (row,) 0 or 1, or codes of the declared scale, 0 the worst. `rating`: (row, rater) likewise, -1 not rated.
    `audit`: (row,) code of the audit that the row belongs to, -1 none. `inclusion`: (row,) probability, NaN unknown.
    `dropped`: arm -> rows left out.
    """

    rows: Rows
    scorer: LabelArray
    rating: LabelArray
    audit: IntArray
    inclusion: FloatArray
    dropped: dict[str, int]

    @property
    def audited(self) -> BoolArray:
        """(row,) whether at least one rater labelled it."""
        return is_audited(self.rating)


def read_label_rows(study: ScorerStudy) -> LabelRows:
    """The rows of the data file. Raises one `UnusableRowsError` or `DuplicateLabelsError` that lists every bad row."""
    rows = read_rows(study, study.sampled_columns())
    scorer = _labels(rows.values["scorer"], study.scale)
    rating = _ratings(rows, study)
    audited = is_audited(rating)
    audit, inclusion = _audit(rows, study, audited), _inclusion(rows)
    rows.refuse(
        [
            *empty_names(rows, [role for role in ("key", "arm", "model", "population") if role in rows.values]),
            *empty_names(rows, stratum_roles(study)),
            *_bad_scorer(rows, study, scorer),
            *_bad_ratings(rows, study, rating),
            *_bad_audits(rows, study, audit, audited),
            *_bad_inclusion(rows, inclusion, audited),
        ]
    )
    keep = scorer != NOT_RATED
    if not keep.any():
        raise UnusableRowsError(rows.source, f"no row is left of {len(rows)}: none has a scorer label")
    kept = rows.kept(keep)
    _check_duplicates(kept)
    return LabelRows(kept, scorer[keep], rating[keep], audit[keep], inclusion[keep], _counts(rows.values["arm"][~keep]))


def is_audited(rating: LabelArray) -> BoolArray:
    """(row,) whether at least one rater labelled it. `rating`: (row, rater)."""
    return np.asarray((rating != NOT_RATED).any(axis=1))


def stratum_roles(study: ScorerStudy) -> list[str]:
    """The roles whose combinations are the strata: the route, and what audits were sampled on."""
    return [*(["route"] if study.columns.route else []), *study.sampled_columns()]


def check_names(study: ScorerStudy, codes: Codes, levels: Levels) -> None:
    """Raise `UnknownLevelError` for every arm, model or population that the study declares and the target lacks."""
    problems = [*_unknown_population(study, levels)]
    if not problems:
        present = _present(study, codes, levels)
        problems = [*_unknown_arms(study, present["arm"]), *_unknown_models(study, present["model"], levels["model"])]
    if problems:
        headline = f"names that do not agree with {study.data.name}"
        raise UnknownLevelError(study.path.name, headline, [(None, problem) for problem in problems])


def check_outside(study: ScorerStudy, rows: Rows, outside: BoolArray) -> None:
    """Raise `AuditOutsideTargetError` listing audited rows outside the target unless they may inform error rates."""
    if study.target.outside == "error-rates" or not outside.any():
        return
    told: list[Row] = [
        (int(rows.line[place]), f"audited, but {study.columns.population} is {rows.values['population'][place]!r}")
        for place in np.flatnonzero(outside)
    ]
    raise AuditOutsideTargetError(
        rows.source,
        f"{len(told)} audited row{'s' * (len(told) > 1)} outside the target population {study.target.population!r}",
        told,
        place=rows.place,
        advice=(
            "their error rates hold in the target only by assumption; to make it, write in "
            f'{study.path.name}:\n[target]\noutside = "error-rates"'
        ),
    )


def check_cells(study: ScorerStudy, codes: Codes, levels: Levels, in_target: BoolArray) -> None:
    """Raise `EmptyCellsError` listing arm x model cells that the declared weights of models need and that have no row.

    Arms without any row in the target are not asked for: no prevalence of theirs is defined.
    """
    weights = study.target.models
    if weights == "rows":
        return
    count = np.zeros((len(levels["arm"]), len(levels["model"])), dtype=np.int64)
    np.add.at(count, (codes["arm"][in_target], codes["model"][in_target]), 1)
    weighted = count.any(axis=0)
    if not isinstance(weights, str):
        weighted = np.array([weights.get(model, 0.0) > 0 for model in levels["model"]], dtype=bool)
    needed = count.any(axis=1)[:, None] & weighted
    empty = np.argwhere(needed & (count == 0))
    if len(empty):
        raise EmptyCellsError(
            study.data.name,
            f"{len(empty)} of {int(needed.sum())} cells of arm and model have no row, and the target gives them weight",
            [(None, f"arm {levels['arm'][arm]!r}, model {levels['model'][model]!r}") for arm, model in empty],
            advice=f"keep models that have rows in every arm with [where], or write in {study.path.name}:\n"
            '[target]\nmodels = "rows"',
        )


def _present(study: ScorerStudy, codes: Codes, levels: Levels) -> dict[str, tuple[str, ...]]:
    """The arms and the models that have rows in the target."""
    inside = slice(None)
    if study.target.population is not None:
        inside = codes["population"] == levels["population"].index(study.target.population)
    return {name: tuple(levels[name][code] for code in np.unique(codes[name][inside])) for name in ("arm", "model")}


def _unknown_population(study: ScorerStudy, levels: Levels) -> Iterator[str]:
    name, known = study.target.population, levels["population"]
    if name is not None and name not in known:
        yield f"[target] population {name!r} does not occur{did_you_mean(name, known)}; there are {', '.join(known)}"


def _unknown_arms(study: ScorerStudy, known: Sequence[str]) -> Iterator[str]:
    for contrast in study.contrasts:
        for side, name in (("treatment", contrast.treatment), ("comparator", contrast.comparator)):
            if name not in known:
                hint = did_you_mean(name, known)
                where = f"contrast {contrast.name!r}: {side} {name!r} has no row in the target"
                yield f"{where}{hint}; arms there: {', '.join(known)}"


def _unknown_models(study: ScorerStudy, present: Sequence[str], known: Sequence[str]) -> Iterator[str]:
    """Models that the declared weights name and the data lack, and models of the target without a weight."""
    weights = study.target.models
    if isinstance(weights, str):
        return
    for name in weights:
        if name not in known:
            yield f"[target] models weights {name!r}{did_you_mean(name, known)}; models there: {', '.join(known)}"
    for name in present:
        if name not in weights:
            yield f"[target] models gives model {name!r} no weight: write one, 0 if it is not to count"


def _check_duplicates(rows: Rows) -> None:
    """Raise `DuplicateLabelsError` where a response is there twice and no replicate column tells the two apart."""
    key = [role for role in ("key", "model", "arm", "population", "replicate") if role in rows.values]
    frame = pd.DataFrame({role: pd.factorize(rows.values[role])[0] for role in key})
    again = np.flatnonzero(frame.duplicated().to_numpy())
    if not len(again):
        return
    first = pd.Series(frame.index).groupby([frame[role] for role in key]).transform("min").to_numpy()
    told: list[Row] = [(int(rows.line[i]), _again_text(rows, key, int(i), int(first[i]))) for i in again]
    headline = f"{len(told)} repeated row{'s' * (len(told) > 1)} of the same {' x '.join(key)}"
    advice = 'name the column that tells repeats apart: [columns] replicate = "..."'
    raise DuplicateLabelsError(rows.source, headline, told, place=rows.place, advice=advice)


def _again_text(rows: Rows, key: list[str], place: int, first: int) -> str:
    named = ", ".join(f"{role} {rows.values[role][place]!r}" for role in key)
    return f"{named}: there on {rows.place} {rows.line[first]} already"


def _counts(values: TextArray) -> dict[str, int]:
    """Text -> how often it is there, in natural order."""
    code, names = coded(values)
    return dict(zip(names, np.bincount(code, minlength=len(names)).tolist(), strict=True))


def _labels(texts: TextArray, scale: Scale) -> LabelArray:
    """Codes of labels however written, -1 for an empty cell, -2 for anything else. Shape as `texts`."""
    position, distinct = pd.factorize(texts)
    return np.array([*(_label(text, scale) for text in distinct), NOT_RATED], dtype=np.int8)[position]


def _label(text: str, scale: Scale) -> int:
    """What is declared as a label is one, even where it reads like an empty cell."""
    if scale != BINARY:
        code = int(scale.code([text])[0])
        return code if code != OFF_SCALE else NOT_RATED if text in MISSING else NO_LABEL
    if text in MISSING:
        return NOT_RATED
    if text.lower() in YES or value_key(text) == 1:
        return 1
    return 0 if text.lower() in NO or value_key(text) == 0 else NO_LABEL


def _ratings(rows: Rows, study: ScorerStudy) -> LabelArray:
    """(row, rater) labels as `_labels` codes them."""
    columns = [_labels(rows.values[rater_role(rater)], study.scale) for rater in study.columns.raters]
    return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), dtype=np.int8)


def _audit(rows: Rows, study: ScorerStudy, audited: BoolArray) -> IntArray:
    """(row,) audit that a row belongs to: -1 none, -2 a name that is not declared."""
    if "audit" not in rows.values:
        return np.where(audited, 0, NOT_AUDITED)
    declared = {audit.name: code for code, audit in enumerate(study.audits)}
    declared |= dict.fromkeys(MISSING, NOT_AUDITED)
    position, distinct = pd.factorize(rows.values["audit"])
    code = np.array([*(declared.get(name, NO_AUDIT) for name in distinct), NOT_AUDITED], dtype=np.int64)[position]
    return np.where(audited & (code == NOT_AUDITED), 0, code) if len(study.audits) == 1 else code


def _inclusion(rows: Rows) -> FloatArray:
    """(row,) probability as written: NaN for an empty cell, infinite for what is no number."""
    if "inclusion" not in rows.values:
        return np.full(len(rows), np.nan)
    position, distinct = pd.factorize(rows.values["inclusion"])
    return np.array([*map(_number, distinct), np.nan], dtype=np.float64)[position]


def _number(text: str) -> float:
    number = value_key(text)
    return np.nan if text in MISSING else float(number) if isinstance(number, Decimal) else np.inf


def _bad_scorer(rows: Rows, study: ScorerStudy, scorer: LabelArray) -> list[Bad]:
    bad = (scorer == NO_LABEL) | ((scorer == NOT_RATED) & (study.missing == "refuse"))
    empty = 'scorer label is empty (declare missing = "drop" in the study file to go on without the row)'
    told = [f"scorer label is {text!r}: {_usable(study.scale)}" for text in rows.values["scorer"][bad]]
    places = np.flatnonzero(bad)
    return [(int(i), empty if scorer[i] == NOT_RATED else text) for i, text in zip(places, told, strict=True)]


def _usable(scale: Scale) -> str:
    """What to write as a label."""
    return "write 1 or 0, true or false" if scale == BINARY else f"write one of {', '.join(scale.labels)}"


def _bad_ratings(rows: Rows, study: ScorerStudy, rating: LabelArray) -> list[Bad]:
    advice = f"{_usable(study.scale)}, or leave it empty"
    return [
        (int(place), f"{name} is {rows.values[rater_role(name)][place]!r}: {advice}")
        for rater, name in enumerate(study.columns.raters)
        for place in np.flatnonzero(rating[:, rater] == NO_LABEL)
    ]


def _bad_audits(rows: Rows, study: ScorerStudy, audit: IntArray, audited: BoolArray) -> list[Bad]:
    names = [declared.name for declared in study.audits]
    unknown = [
        (int(place), _unknown_audit(rows.values["audit"][place], names)) for place in np.flatnonzero(audit == NO_AUDIT)
    ]
    message = f"a rater labelled it, but audit is empty: which of {', '.join(names)} does it belong to?"
    return unknown + [(int(place), message) for place in np.flatnonzero(audited & (audit == NOT_AUDITED))]


def _unknown_audit(name: str, known: Sequence[str]) -> str:
    hint = did_you_mean(name, known)
    return f"audit {name!r} has no [audits] table{hint}: declare it, or leave the cell empty where nobody audited"


def _bad_inclusion(rows: Rows, inclusion: FloatArray, audited: BoolArray) -> list[Bad]:
    if "inclusion" not in rows.values:
        return []
    off = np.flatnonzero(~np.isnan(inclusion) & ~((inclusion > 0) & (inclusion <= 1)))
    texts = rows.values["inclusion"]
    bad = [(int(place), f"inclusion is {texts[place]!r}: write a probability above 0, at most 1") for place in off]
    absent = np.flatnonzero(np.isnan(inclusion) & audited)
    return bad + [(int(place), "inclusion is empty, but a rater labelled the row") for place in absent]
