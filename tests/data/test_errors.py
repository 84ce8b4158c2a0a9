import pickle

import pytest

from drift.errors import AnonymousSlotsError, DriftError, InputError, PosteriorExistsError, UnusableRowsError

ROWS = [(7, "rating '6' is not on the scale 1, 2"), (9, "rating is empty")]


def test_every_row_is_printed_under_the_headline() -> None:
    error = UnusableRowsError("ratings.csv", "2 unusable rows", ROWS)
    assert str(error) == (
        "ratings.csv: 2 unusable rows\n  line 7: rating '6' is not on the scale 1, 2\n  line 9: rating is empty"
    )


def test_rows_are_kept_as_data() -> None:
    assert UnusableRowsError("ratings.csv", "2 unusable rows", ROWS).rows == tuple(ROWS)


def test_a_thousand_rows_are_all_printed() -> None:
    error = UnusableRowsError("a.csv", "many", [(line, "bad") for line in range(1000)])
    assert str(error).count("\n") == 1000


def test_rows_of_a_sheet_are_called_rows() -> None:
    assert "  row 3: bad" in str(InputError("a.xlsx", "1 unusable row", [(3, "bad")], place="row"))


def test_advice_comes_last() -> None:
    assert str(InputError("a.toml", "wrong", advice="write\n[design]")) == "a.toml: wrong\n  write\n  [design]"


def test_an_error_survives_a_trip_between_processes() -> None:
    error = AnonymousSlotsError("a.csv", "slots", [(None, "1, 2, 3")], place="row", advice="declare")
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back), back.rows) == (AnonymousSlotsError, str(error), error.rows)


@pytest.mark.parametrize("kind", [InputError, PosteriorExistsError])
def test_commands_end_with_2(kind: type[DriftError]) -> None:
    assert kind.exit_code == 2
