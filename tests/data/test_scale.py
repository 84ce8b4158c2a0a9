import decimal

import numpy as np
import pandas as pd
import pytest

from drift.scale import Scale

LIKERT = Scale(("1", "2", "3", "4", "5"))
WORDS = Scale(("Unfaithful", "Partly faithful", "Mostly faithful"))
HALVES = Scale(("1", "1.5", "2"))


@pytest.mark.parametrize(
    "value", ["4", " 4 ", "4.0", "4.", "04", "4e0", 4, 4.0, np.float32(4), decimal.Decimal("4.00")]
)
def test_the_same_number_is_the_label(value: object) -> None:
    assert LIKERT.code([value]).tolist() == [3]


@pytest.mark.parametrize("value", ["3.5", 3.5, "6", "0", "", "nan", "inf", "4_0", "four", "4,0", None, True, False])
def test_anything_else_is_off_the_scale(value: object) -> None:
    assert LIKERT.code([value]).tolist() == [-1]


@pytest.mark.parametrize("dtype", ["Int64", "category", "float64", "int8", "string"])
def test_column_types_do_not_matter(dtype: str) -> None:
    assert LIKERT.code(pd.Series([5, 1, 3]).astype(dtype)).tolist() == [4, 0, 2]


def test_a_missing_value_has_no_code() -> None:
    assert LIKERT.code(pd.Series([1, None, 3], dtype="Int64")).tolist() == [0, -1, 2]


def test_words_are_matched_as_written() -> None:
    assert WORDS.code(["Mostly faithful", " Unfaithful ", "mostly faithful"]).tolist() == [2, 0, -1]


def test_half_points_are_labels_where_declared() -> None:
    assert HALVES.code(["1.5", 1.5, "1.50", "2.0", "2.5"]).tolist() == [1, 1, 1, 2, -1]


def test_booleans_are_labels_only_where_declared() -> None:
    assert Scale(("false", "true")).code([True, "True", False, 1]).tolist() == [1, 1, 0, -1]


def test_unused_labels_keep_their_places() -> None:
    assert Scale(tuple(map(str, range(11)))).code(["4", "8"]).tolist() == [4, 8]


def test_numbers_past_the_precision_of_floats_stay_apart() -> None:
    scale = Scale(("9007199254740992", "9007199254740993"))
    assert scale.code(["9007199254740993"]).tolist() == [1]


def test_no_values_have_no_codes() -> None:
    assert LIKERT.code([]).tolist() == []


def test_deviation_is_percent_of_the_scale_from_the_best() -> None:
    assert LIKERT.deviation([0, 1, 4]).tolist() == [100.0, 75.0, 0.0]


def test_two_labels_are_a_scale() -> None:
    assert Scale(("no", "yes")).deviation([0, 1]).tolist() == [100.0, 0.0]


@pytest.mark.parametrize(
    "labels", [(), ("1",), ("1", "1"), ("1", "1.0"), ("a", " a"), ("a", ""), tuple(map(str, range(1001)))]
)
def test_what_is_no_scale_is_refused(labels: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"scale has|twice|empty"):
        Scale(labels)
