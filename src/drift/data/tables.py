"""Reading csv, parquet and xlsx into raw texts, each row with its line in the file."""

import csv
import gzip
import hashlib
import io
import math
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from drift.errors import Row, UnreadableFileError
from drift.scale import IntArray, label_text

MOST_BYTES = 2**30  # of a data file once decompressed: a compressed bomb ends here
MOST_CELLS = 200_000_000
DELIMITERS = ",;\t"

TextArray = NDArray[np.object_]
Record = tuple[int, Sequence[str]]  # line in the file, one text a field


@dataclass(frozen=True)
class Table:
    """A data file as texts. A missing cell is the empty text; outer blanks are gone; 7.0 in a typed file is "7".

    `cells`: (row, column) texts. `line`: (row,) where each row begins in the file, from 1. `place`: what a line is
    called there. `digest`: SHA-256 of the file's bytes. `uneven`: rows left out for not having the header's fields.
    """

    cells: pd.DataFrame
    line: IntArray
    place: str
    source: str
    digest: str
    uneven: tuple[Row, ...] = ()


def read_table(path: Path, sheet: str | None = None) -> Table:
    """The data file as texts, by its suffix: .csv, .tsv, .txt (also .gz), .parquet or .xlsx.

    Raises `UnreadableFileError` for a file that is absent, empty, damaged, too large or of another kind.
    """
    content = _bytes(path)
    kind = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if kind in ("csv", "tsv", "txt"):
        return _from_csv(content, path)
    if kind in ("parquet", "pq"):
        return _from_parquet(content, path)
    if kind == "xlsx":
        return _from_xlsx(content, path, sheet)
    raise UnreadableFileError(path.name, "unknown kind of file", advice="write .csv, .csv.gz, .tsv, .parquet or .xlsx")


def _bytes(path: Path) -> bytes:
    if not path.is_file():
        raise UnreadableFileError(path.name, f"there is no such file in {path.parent.resolve()}")
    if path.stat().st_size > MOST_BYTES:
        raise UnreadableFileError(path.name, f"larger than {MOST_BYTES} bytes")
    content = path.read_bytes()
    if not content.strip():
        raise UnreadableFileError(path.name, "the file is empty")
    return content


def _unzipped(content: bytes, path: Path) -> bytes:
    if not path.name.lower().endswith(".gz"):
        return content
    try:
        with gzip.open(io.BytesIO(content)) as stream:
            plain = stream.read(MOST_BYTES + 1)
    except (OSError, EOFError) as error:
        raise UnreadableFileError(path.name, f"damaged gzip file: {error}") from error
    if len(plain) > MOST_BYTES:
        raise UnreadableFileError(path.name, f"larger than {MOST_BYTES} bytes once decompressed")
    return plain


def _text(content: bytes, path: Path) -> str:
    """UTF-8 with or without a byte order mark, or UTF-16 with one."""
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        rows: list[Row] = [(line, f"byte {content[error.start]:#04x} is not valid {encoding.removesuffix('-sig')}")]
        raise UnreadableFileError(path.name, "not UTF-8 text", rows, advice="save the file as UTF-8") from error
    if "\0" in text:
        row = (text[: text.index("\0")].count("\n") + 1, "a NUL byte")
        raise UnreadableFileError(path.name, "not UTF-8 text", [row], advice="save the file as UTF-8")
    return text


def _from_csv(content: bytes, path: Path) -> Table:
    """A record's line is where it begins, also after quoted line breaks."""
    text = _text(_unzipped(content, path), path)
    first = next((line for line in text.splitlines() if line.strip()), "")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(first), strict=True)
    records: list[Record] = []
    line = 1
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                records.append((line, fields))
            line = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableFileError(path.name, "quotes do not match", [(line, f"{error}")]) from error
    return _table(records, content, path, "line")


def _delimiter(header: str) -> str:
    return max(DELIMITERS, key=lambda mark: len(next(csv.reader([header], delimiter=mark), [])))


def _table(records: list[Record], content: bytes, path: Path, place: str) -> Table:
    """The table of records whose first is the header."""
    if not records:
        raise UnreadableFileError(path.name, "the file is empty")
    names = [name.strip() for name in records[0][1]]
    even = [(line, fields) for line, fields in records[1:] if len(fields) == len(names)]
    uneven = [
        (line, f"{len(fields)} fields, but the header has {len(names)}")
        for line, fields in records[1:]
        if len(fields) != len(names)
    ]
    columns = list(zip(*(fields for _, fields in even), strict=True)) or [()] * len(names)
    return Table(
        cells=_frame(names, [np.array([text.strip() for text in column], dtype=object) for column in columns], path),
        line=np.array([line for line, _ in even], dtype=np.int64),
        place=place,
        source=path.name,
        digest=_digest(content),
        uneven=tuple(uneven),
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _frame(names: Sequence[str], columns: Sequence[TextArray], path: Path) -> pd.DataFrame:
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise UnreadableFileError(path.name, f"columns named twice: {', '.join(map(repr, twice))}")
    return pd.DataFrame(dict(zip(names, columns, strict=True)), dtype=object)


def _from_parquet(content: bytes, path: Path) -> Table:
    try:
        file = pq.ParquetFile(io.BytesIO(content))
        if file.metadata.num_rows * file.metadata.num_columns > MOST_CELLS:
            raise UnreadableFileError(path.name, f"more than {MOST_CELLS} cells")
        table = file.read()
    except pa.ArrowException as error:
        raise UnreadableFileError(path.name, f"damaged parquet file: {error}") from error
    flat = [name for name in table.column_names if not pa.types.is_nested(table.schema.field(name).type)]
    frame = _frame(flat, [_arrow_texts(table[name]) for name in flat], path)
    return Table(frame, np.arange(1, len(frame) + 1, dtype=np.int64), "row", path.name, _digest(content))


def _arrow_texts(column: pa.ChunkedArray) -> TextArray:
    """(row,) texts of one column, by way of its distinct values."""
    values = column.combine_chunks()
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    texts = np.array([*map(_cell_text, coded.dictionary.to_pylist()), ""], dtype=object)
    position: IntArray = coded.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False).astype(np.int64)
    return texts[position]


def _from_xlsx(content: bytes, path: Path, sheet: str | None) -> Table:
    from openpyxl import load_workbook  # a fifth of a second that only a sheet needs

    try:
        if sum(part.file_size for part in zipfile.ZipFile(io.BytesIO(content)).infolist()) > MOST_BYTES:
            raise UnreadableFileError(path.name, f"larger than {MOST_BYTES} bytes once decompressed")
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        rows = book[_sheet_name(book.sheetnames, sheet, path)].iter_rows(values_only=True)
        texts = [(place, [_cell_text(value) for value in row]) for place, row in enumerate(rows, 1)]
    except UnreadableFileError:
        raise
    except Exception as error:  # openpyxl raises another type for each kind of damage
        raise UnreadableFileError(path.name, f"damaged xlsx file: {error}") from error
    return _table(_squared([(place, row) for place, row in texts if any(row)]), content, path, "row")


def _squared(records: list[Record]) -> list[Record]:
    """Sheet rows cut or filled to the header's width where what is cut or filled is empty."""
    width = max((place for place, name in enumerate(records[0][1], 1) if name), default=0) if records else 0
    filled = ((line, [*row, *[""] * (width - len(row))]) for line, row in records)
    return [(line, row if any(row[width:]) else row[:width]) for line, row in filled]


def _sheet_name(names: list[str], sheet: str | None, path: Path) -> str:
    if sheet is None and len(names) == 1:
        return names[0]
    if sheet is None or sheet not in names:
        asked = "" if sheet is None else f"no sheet {sheet!r}; "
        advice = 'write sheet = "..." under [layout] in the study file'
        raise UnreadableFileError(path.name, f"{asked}sheets are {', '.join(map(repr, names))}", advice=advice)
    return sheet


def _cell_text(value: object) -> str:
    """The text of a typed cell: None and NaN are empty, 7.0 is 7, True is true."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return value.strip() if isinstance(value, str) else label_text(value)
