"""Random scales and files against slow, obvious twins."""

import csv
import io
import tempfile
from decimal import Decimal, InvalidOperation
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drift.data.levels import coded
from drift.data.ratings import read_ratings
from drift.data.rows import MISSING
from drift.data.study import parse_study
from drift.errors import UnusableRowsError
from drift.scale import Scale

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters='",;\n\t\r'), min_size=1, max_size=8)
IDS = NAMES.map(str.strip).filter(bool)
RATINGS = st.sampled_from(["1", "2", "3", "4.0", " 5 ", "6", "0", "", "NA", "x", "1.5", "1,5"])
DECLARED = """
title = "T"
ratings = "r.csv"
seed = 1
models = ["ordinal"]
[columns]
question = "question"
model = "model"
rating = "rating"
[scale]
labels = [1, 2, 3, 4, 5]
"""


def code_twin(labels: tuple[str, ...], value: str) -> int:
    """The first label that is the same text or the same number."""
    for code, label in enumerate(labels):
        try:
            same_number = "_" not in value + label and Decimal(value) == Decimal(label)
        except InvalidOperation:
            same_number = False
        if value.strip() == label.strip() or same_number:
            return code
    return -1


@given(
    st.lists(st.integers(-3, 12).map(str), min_size=2, unique=True),
    st.lists(st.one_of(RATINGS, st.floats(-3, 12).map(str), st.integers(-3, 12).map(str))),
)
def test_codes_are_those_of_the_twin(labels: list[str], values: list[str]) -> None:
    assert Scale(tuple(labels)).code(values).tolist() == [code_twin(tuple(labels), value) for value in values]


@given(st.lists(IDS, min_size=1))
def test_codes_name_their_levels(names: list[str]) -> None:
    codes, levels = coded(np.array(names, dtype=object))
    assert [levels[code] for code in codes] == names
    assert len(set(levels)) == len(levels)


@settings(deadline=None)
@given(
    st.lists(st.tuples(IDS, IDS, RATINGS, st.integers(0, 2)), min_size=1, max_size=12),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_a_file_is_read_back_by_line_or_refused_by_line(
    rows: list[tuple[str, str, str, int]], end: str, quoting: int
) -> None:
    """Identifiers with quotes, delimiters and line breaks, blank lines between records, good and bad ratings."""
    stream, begins = io.StringIO(newline=""), []
    writer = csv.writer(stream, lineterminator=end, quoting=quoting)
    writer.writerow(["question", "model", "rating"])
    for question, model, rating, blanks in rows:
        stream.write(end * blanks)
        begins.append(physical_lines(stream.getvalue()) + 1)
        writer.writerow([question, model, rating])
    named = [not {question, model} & {*MISSING} for question, model, _, _ in rows]
    good = [code_twin(tuple("12345"), row[2]) if whole else -1 for row, whole in zip(rows, named, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "r.csv").write_text(stream.getvalue(), encoding="utf-8", newline="")
        study = parse_study(DECLARED, Path(folder) / "s.toml")
        bad = [begin for begin, code in zip(begins, good, strict=True) if code < 0]
        if bad:
            with pytest.raises(UnusableRowsError) as refused:
                read_ratings(study)
            lines = [line for line, _ in refused.value.rows]
            assert lines == sorted(lines)
            assert [*dict.fromkeys(lines)] == bad  # a line may be bad for two reasons
            return
        ratings = read_ratings(study)
    assert (ratings.rating.tolist(), ratings.line.tolist()) == (good, begins)
    named = [ratings.levels["question"][code] for code in ratings.codes["question"]]
    assert named == [question for question, *_ in rows]


def physical_lines(text: str) -> int:
    """Line breaks in a text, however written."""
    return text.replace("\r\n", "\n").replace("\r", "\n").count("\n")
