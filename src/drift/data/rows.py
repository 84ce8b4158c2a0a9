"""One rating or cell a row, whatever the file's layout, under our names for the columns; and the checks both share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd

from drift.data.declaration import Layout, Study
from drift.data.levels import Codes, Levels, coded
from drift.data.sections import did_you_mean
from drift.data.tables import Table, TextArray, read_table
from drift.errors import QuestionInTwoDomainsError, Row, UnknownColumnError, UnknownLevelError, UnusableRowsError
from drift.scale import IntArray, value_key

MOST_SHOWN = 20  # values of a column that a message shows

Bad = tuple[int, str]  # (index of a row, what is wrong with it)

MISSING = ("", "NA", "NaN", "nan", "<NA>", "null", "NULL")  # what R, pandas and databases write for no value


class Roles(Protocol):
    """The user's own column names by role."""

    def declared(self) -> dict[str, str]: ...


class Declared(Protocol):
    """What any study declares about its data file."""

    @property
    def data(self) -> Path: ...
    @property
    def kind(self) -> str: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def where(self) -> Mapping[str, tuple[str, ...]]: ...
    @property
    def columns(self) -> Roles: ...


@dataclass(frozen=True)
class Rows:
    """Texts by role, one rating a row.

    `values`: role -> (row,) texts, "" where empty. `line`: (row,). `header`: (row,) name of the column that holds the
    rating in a wide file, else "". `uneven`: rows of the file that could not be split into its columns.
    """

    values: Mapping[str, TextArray]
    line: IntArray
    header: TextArray
    place: str
    source: str
    digest: str
    uneven: tuple[Row, ...] = ()

    def __len__(self) -> int:
        return len(self.line)

    def kept(self, keep: np.ndarray) -> "Rows":
        """The rows where `keep` is true."""
        values = {role: texts[keep] for role, texts in self.values.items()}
        return replace(self, values=values, line=self.line[keep], header=self.header[keep])

    def refuse(self, bad: Iterable[Bad]) -> None:
        """Raise one `UnusableRowsError` for all that is wrong, in file order, if anything is."""
        told = [(int(self.line[place]), self._where(place) + message) for place, message in sorted(bad)]
        rows = sorted([*self.uneven, *told], key=lambda row: row[0] or 0)
        if rows:
            headline = f"{len(rows)} unusable row{'s' * (len(rows) > 1)}"
            raise UnusableRowsError(self.source, headline, rows, place=self.place)

    def _where(self, place: int) -> str:
        return f"column {self.header[place]}: " if self.header[place] else ""


def read_rows(study: Declared, more: Mapping[str, str] | None = None) -> Rows:
    """The declared rows and columns of the study's data file.

    `more`: further columns of a long file by the place where the study file names them, which is then their role.
    Raises `UnreadableFileError`, `UnknownColumnError`, or `UnknownLevelError` where `[where]` keeps no row.
    """
    table = read_table(study.data, study.layout.sheet)
    _check_columns(table, study, more or {})
    selected = _selected(table, study)
    return _wide(selected, study) if study.layout.form == "wide" else _long(selected, study, more or {})


def empty_names(rows: Rows, roles: Iterable[str]) -> list[Bad]:
    """Rows whose participant, question, model or domain is empty, or says that it is not known."""
    return [
        (int(place), f"{role} is {rows.values[role][place] or 'empty'}: a row needs one to be used")
        for role in roles
        for place in np.flatnonzero(np.isin(rows.values[role].astype(str), MISSING))
    ]


def coded_factors(rows: Rows, study: Study) -> tuple[Codes, Levels]:
    """Codes and levels of every declared factor."""
    both = {factor: coded(rows.values[factor]) for factor in study.factors()}
    return {factor: code for factor, (code, _) in both.items()}, {factor: names for factor, (_, names) in both.items()}


def check_question_domains(rows: Rows) -> None:
    """Raise `QuestionInTwoDomainsError` listing every row whose domain is not its question's usual one."""
    if "question" not in rows.values or "domain" not in rows.values:
        return
    frame = pd.DataFrame({"question": rows.values["question"], "domain": rows.values["domain"]})
    frame["count"] = frame.groupby(["question", "domain"])["domain"].transform("size")
    most = frame.sort_values("count", kind="stable", ascending=False).drop_duplicates("question")
    expected = frame["question"].map(most.set_index("question")["domain"])
    odd: list[Row] = [
        (int(line), f"question {question!r} is in domain {domain!r}, elsewhere in {usual!r}")
        for line, question, domain, usual in zip(rows.line, frame["question"], frame["domain"], expected, strict=True)
        if domain != usual
    ]
    if odd:
        advice = "a question has one domain: correct the rows, or give the two questions different names"
        headline = f"{len(odd)} row{'s' * (len(odd) > 1)} with a question in a second domain"
        raise QuestionInTwoDomainsError(rows.source, headline, odd, place=rows.place, advice=advice)


def check_named_levels(study: Study, levels: Levels) -> None:
    """Raise `UnknownLevelError` for every model or domain that the study names and the data do not have."""
    models, domains = levels["model"], levels.get("domain", ())
    contrasted = [contrast.domain for contrast in study.contrasts if contrast.domain is not None]
    unknown = [_unknown("model", name, models) for name in study.models_named() if name not in models]
    unknown += [_unknown("domain", name, domains) for name in dict.fromkeys(contrasted) if name not in domains]
    if unknown:
        headline = f"names that do not occur in {study.data.name}"
        raise UnknownLevelError(study.path.name, headline, [(None, text) for text in unknown])


def _unknown(factor: str, name: str, known: Sequence[str]) -> str:
    listed = f"{factor}s there: {', '.join(known)}" if known else f"there is no {factor} column"
    return f"{factor} {name!r}{did_you_mean(name, known)}; {listed}"


def _check_columns(table: Table, study: Declared, more: Mapping[str, str]) -> None:
    present = [str(name) for name in table.cells.columns]
    asked = {f"[columns] {role}": name for role, name in study.columns.declared().items()}
    asked |= {f"[where] {name}": name for name in study.where}
    asked |= {f"[layout] columns, {name}": name for name in study.layout.columns}
    asked |= more
    unknown = [(key, name) for key, name in asked.items() if name not in present]
    if unknown:
        rows = [(None, f"{key}: no column {name!r}{did_you_mean(name, present)}") for key, name in unknown]
        advice = f"columns there: {', '.join(filter(None, present))}"
        raise UnknownColumnError(table.source, "columns that the study file names are absent", rows, advice=advice)


def _selected(table: Table, study: Declared) -> Table:
    """The rows that `[where]` keeps."""
    keep = np.ones(len(table.line), dtype=bool)
    for column, values in study.where.items():
        keep &= _among(table.cells[column], values)
    if not len(keep) and not table.uneven:
        raise UnusableRowsError(table.source, "there is a header but no row")
    if len(keep) and not keep.any():
        found = [f"{column}: {', '.join(sorted(set(table.cells[column]))[:MOST_SHOWN])}" for column in study.where]
        raise UnknownLevelError(table.source, "no row is left by [where]", [(None, text) for text in found])
    return replace(table, cells=table.cells[keep].reset_index(drop=True), line=table.line[keep])


def _among(column: pd.Series, values: Sequence[str]) -> np.ndarray:
    wanted = {value_key(value) for value in values}
    position, distinct = pd.factorize(column.to_numpy())
    return np.array([value_key(text) in wanted for text in distinct], dtype=bool)[position]


def _long(table: Table, study: Declared, more: Mapping[str, str]) -> Rows:
    values = {role: table.cells[name].to_numpy() for role, name in (study.columns.declared() | {**more}).items()}
    header = np.full(len(table.line), "", dtype=object)
    return Rows(values, table.line, header, table.place, table.source, table.digest, table.uneven)


def _wide(table: Table, study: Declared) -> Rows:
    """Each line of the file once for each rating column, in the order of the columns."""
    headers = np.array(_rating_columns(table, study), dtype=object)
    n_lines, n_columns = len(table.line), len(headers)
    names = [header.removeprefix(study.layout.columns_prefix or "") or header for header in headers]
    values = {
        role: np.repeat(table.cells[name].to_numpy(), n_columns) for role, name in study.columns.declared().items()
    }
    measured = "rating" if study.kind == "ratings" else "deviation"
    values[measured] = table.cells[list(headers)].to_numpy().ravel()
    values[str(study.layout.names_to)] = np.tile(np.array(names, dtype=object), n_lines)
    line = np.repeat(table.line, n_columns)
    return Rows(values, line, np.tile(headers, n_lines), table.place, table.source, table.digest, table.uneven)


def _rating_columns(table: Table, study: Declared) -> tuple[str, ...]:
    layout: Layout = study.layout
    if layout.columns_prefix is None:
        return layout.columns
    taken = study.columns.declared().values()
    found = tuple(str(name) for name in table.cells.columns if str(name).startswith(layout.columns_prefix))
    found = tuple(name for name in found if name not in taken)
    if not found:
        headline = f"no column begins with {layout.columns_prefix!r}"
        raise UnknownColumnError(
            table.source, headline, advice=f"columns there: {', '.join(map(str, table.cells.columns))}"
        )
    return found
