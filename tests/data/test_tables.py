import gzip
import io
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from drift.data.tables import Table, read_table
from drift.errors import UnreadableFileError


def table(tmp_path: Path, content: bytes | str, name: str = "t.csv", sheet: str | None = None) -> Table:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, sheet)


def book(rows: list[list[object]], *, sheets: tuple[str, ...] = ("Sheet",)) -> bytes:
    made = openpyxl.Workbook()
    made.active.title = sheets[0]
    for row in rows:
        made.active.append(row)
    for name in sheets[1:]:
        made.create_sheet(name)
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


def parquet(frame: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,x\n2,y\n",
        "a,b\r\n1,x\r\n2,y\r\n",
        "a,b\r1,x\r2,y",
        "\ufeffa,b\n1,x\n2,y",
        "a;b\n1;x\n2;y\n",
        "a\tb\n1\tx\n2\ty\n",
        '"a","b"\n"1","x"\n"2","y"\n',
        " a , b \n 1 , x \n2,y\n",
        "a,b\n1,x\n2,y\n".encode("utf-16"),
    ],
)
def test_the_same_table_in_other_clothes(tmp_path: Path, content: str | bytes) -> None:
    found = table(tmp_path, content)
    assert (found.cells.to_dict("list"), found.line.tolist()) == ({"a": ["1", "2"], "b": ["x", "y"]}, [2, 3])


def test_a_blank_line_counts_as_a_line(tmp_path: Path) -> None:
    assert table(tmp_path, "a,b\n\n1,x\n\n\n2,y\n").line.tolist() == [3, 6]


def test_a_record_is_where_it_begins_after_quoted_line_breaks(tmp_path: Path) -> None:
    found = table(tmp_path, 'a,b\n"1\n1\n1",x\n2,"y\r\ny"\n3,z\n')
    assert (found.line.tolist(), found.cells["b"].tolist()) == ([2, 5, 7], ["x", "y\r\ny", "z"])


def test_a_comma_in_quotes_is_text(tmp_path: Path) -> None:
    assert table(tmp_path, 'a,b\n"N/A (declined, twice)",x\n').cells["a"].tolist() == ["N/A (declined, twice)"]


def test_leading_zeros_and_missing_words_stay_as_written(tmp_path: Path) -> None:
    assert table(tmp_path, "a,b\n007,NA\n1.0,\n").cells.to_dict("list") == {"a": ["007", "1.0"], "b": ["NA", ""]}


def test_gzip_is_read_by_its_suffix(tmp_path: Path) -> None:
    assert table(tmp_path, gzip.compress(b"a,b\n1,x\n"), "t.csv.gz").cells["b"].tolist() == ["x"]


def test_lines_of_another_length_are_set_aside_by_line(tmp_path: Path) -> None:
    found = table(tmp_path, "a,b\n1,x\n2\n3,y,z\n")
    assert found.uneven == ((3, "1 fields, but the header has 2"), (4, "3 fields, but the header has 2"))


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    assert len(table(tmp_path, "a,b\n").line) == 0


def test_the_digest_is_of_the_bytes_on_disk(tmp_path: Path) -> None:
    # printf "a,b\\n1,x\\n" | sha256sum
    assert table(tmp_path, "a,b\n1,x\n").digest == "eccc6303d8ede5e5ec22d288b8350193f9eb907c93f49c78d5b1ff0af7ecd450"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("t.csv", b"", "the file is empty"),
        ("t.csv", b"\n\n", "the file is empty"),
        ("t.csv", b"a,a\n1,2\n", "columns named twice: 'a'"),
        ("t.csv", b'a,b\n1,"x\n2,y\n', "quotes do not match"),
        ("t.csv", b"a,b\n1,caf\xe9\n", "line 2: byte 0xe9 is not valid utf-8"),
        ("t.csv", "a,b\n1,x\n".encode("utf-16-le"), "line 1: a NUL byte"),
        ("t.csv.gz", b"a,b\n1,x\n", "damaged gzip"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,x\n")[:-6], "damaged gzip"),
        ("t.parquet", b"PAR1 not really", "damaged parquet"),
        ("t.xlsx", b"PK not really", "damaged xlsx"),
        ("t.json", b"{}", "unknown kind of file"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        table(tmp_path, content, name)
    assert told in str(caught.value)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match=r"nowhere\.csv: there is no such file"):
        read_table(tmp_path / "nowhere.csv")


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drift.data.tables.MOST_BYTES", 1000)
    with pytest.raises(UnreadableFileError, match="larger than 1000 bytes once decompressed"):
        table(tmp_path, gzip.compress(b"a,b\n" + b"1,x\n" * 1000), "t.csv.gz")


def test_parquet_numbers_are_texts_without_a_point(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "i": [7, 8],
            "f": [7.0, None],
            "h": [1.5, 2.5],
            "n": pd.array([1, None], dtype="Int64"),
            "c": pd.Categorical(["x", None]),
            "b": [True, False],
            "s": ["007", None],
        }
    )
    assert table(tmp_path, parquet(frame), "t.parquet").cells.to_dict("list") == {
        "i": ["7", "8"],
        "f": ["7", ""],
        "h": ["1.5", "2.5"],
        "n": ["1", ""],
        "c": ["x", ""],
        "b": ["true", "false"],
        "s": ["007", ""],
    }


def test_parquet_rows_are_numbered_from_1(tmp_path: Path) -> None:
    found = table(tmp_path, parquet(pd.DataFrame({"a": [1, 2]}, index=[10, 20])), "t.parquet")
    assert (found.place, found.line.tolist()) == ("row", [1, 2])


def test_xlsx_lines_are_sheet_rows(tmp_path: Path) -> None:
    found = table(tmp_path, book([["a", "b"], [7, "x"], [None, None], [8.5, None]]), "t.xlsx")
    assert (found.line.tolist(), found.cells.to_dict("list")) == ([2, 4], {"a": ["7", "8.5"], "b": ["x", ""]})


def test_one_of_several_sheets_is_taken_only_if_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="sheets are 'Data', 'Notes'"):
        table(tmp_path, book([["a", "b"], [1, 2]], sheets=("Data", "Notes")), "t.xlsx")


def test_the_named_sheet_is_read(tmp_path: Path) -> None:
    found = table(tmp_path, book([["a", "b"], [1, 2]], sheets=("Data", "Notes")), "t.xlsx", "Data")
    assert found.cells["b"].tolist() == ["2"]
