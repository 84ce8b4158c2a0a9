import gzip
import io
import re
import time
from collections.abc import Callable

import numpy as np
import openpyxl
import pandas as pd
import pytest
import xarray as xr

from drift.data.declaration import Study
from drift.data.levels import coded
from drift.data.ratings import Ratings, read_ratings
from drift.errors import (
    DuplicateRatingsError,
    InputError,
    QuestionInTwoDomainsError,
    UnknownColumnError,
    UnknownLevelError,
    UnusableRowsError,
)

Toy = Callable[..., Study]

GOOD = """rater,item,system,area,score,refused
R1,Q1,Beta,Safety,1,0
R1,Q10,Beta,Coding,2,0
R1,Q2,alpha,Safety,3,0
R2,Q1,alpha,Safety,4,1
R2,Q2,Beta,Safety,5,0
"""
DOMAIN = """
participant = "rater"
question = "item"
model = "system"
domain = "area"
rating = "score"
"""
REFUSED = DOMAIN + 'refused = "refused"\n'
BARE = 'model = "system"\nrating = "score"\n'


def refusal(study: Study, kind: type[InputError] = UnusableRowsError) -> str:
    with pytest.raises(kind) as caught:
        read_ratings(study)
    return str(caught.value)


def scores(*values: str, header: str = "system,score") -> str:
    return "\n".join([header, *(f"M{place % 2},{value}" for place, value in enumerate(values))])


# ---- what is read


def test_codes_count_from_the_worst_label(toy: Toy) -> None:
    assert read_ratings(toy(GOOD)).rating.tolist() == [0, 1, 2, 3, 4]


def test_rows_know_their_lines(toy: Toy) -> None:
    assert read_ratings(toy(GOOD)).line.tolist() == [2, 3, 4, 5, 6]


def test_levels_are_in_natural_order(toy: Toy) -> None:
    assert read_ratings(toy(GOOD)).levels["question"] == ("Q1", "Q2", "Q10")


def test_codes_name_the_level_of_each_row(toy: Toy) -> None:
    ratings = read_ratings(toy(GOOD))
    named = [ratings.levels["question"][code] for code in ratings.codes["question"]]
    assert named == ["Q1", "Q10", "Q2", "Q1", "Q2"]


def test_only_declared_factors_appear(toy: Toy) -> None:
    assert set(read_ratings(toy(GOOD, columns=BARE)).codes) == {"model"}


def test_the_domain_of_each_question(toy: Toy) -> None:
    ratings = read_ratings(toy(GOOD, columns=DOMAIN))
    assert [ratings.levels["domain"][code] for code in ratings.question_domain] == ["Safety", "Safety", "Coding"]


def test_without_a_domain_column_questions_have_none(toy: Toy) -> None:
    assert read_ratings(toy(GOOD)).question_domain is None


def test_natural_order_keeps_case_and_leading_zeros_apart() -> None:
    _, levels = coded(np.array(["q10", "Q2", "007", "7", "q2", "1" * 5000], dtype=object))
    assert levels == ("007", "7", "1" * 5000, "Q2", "q2", "q10")


def test_identifiers_stay_as_written(toy: Toy) -> None:
    assert read_ratings(toy(GOOD.replace("R1", "007").replace("R2", "7"))).levels["participant"] == ("007", "7")


def test_words_as_labels(toy: Toy) -> None:
    study = toy(scores("Good", "Poor", "Fair"), columns=BARE, labels='["Poor", "Fair", "Good"]')
    assert read_ratings(study).rating.tolist() == [2, 0, 1]


def test_two_labels_are_enough(toy: Toy) -> None:
    assert read_ratings(toy(scores("0", "1"), columns=BARE, labels="[0, 1]")).rating.tolist() == [0, 1]


def test_unused_labels_are_kept(toy: Toy) -> None:
    ratings = read_ratings(toy(scores("4", "6"), columns=BARE, labels="[0, 1, 2, 3, 4, 5, 6, 7, 8]"))
    assert (ratings.rating.tolist(), ratings.scale.n_labels) == ([4, 6], 9)


def test_half_points_where_declared(toy: Toy) -> None:
    assert read_ratings(toy(scores("1.5", "2.0"), columns=BARE, labels="[1, 1.5, 2]")).rating.tolist() == [1, 2]


@pytest.mark.parametrize("values", [[4, 5], [4.0, 5.0], ["4", "5"]])
def test_parquet_numbers_and_digit_strings_are_the_same(toy: Toy, values: list[object]) -> None:
    stream = io.BytesIO()
    pd.DataFrame({"system": ["M0", "M1"], "score": values}).to_parquet(stream)
    assert read_ratings(toy(stream.getvalue(), file="r.parquet", columns=BARE)).rating.tolist() == [3, 4]


def test_a_sheet_is_read_with_its_rows(toy: Toy) -> None:
    made, stream = openpyxl.Workbook(), io.BytesIO()
    for row in (["system", "score"], ["M0", 4], ["M1", 7]):
        made.active.append(row)
    made.save(stream)
    assert "row 3: rating '7' is not on the scale" in refusal(toy(stream.getvalue(), file="r.xlsx", columns=BARE))


def test_gzip_is_read(toy: Toy) -> None:
    assert read_ratings(toy(gzip.compress(GOOD.encode()), file="r.csv.gz")).n_rows == 5


# ---- bad rows, all at once


def test_every_bad_row_is_named_by_line(toy: Toy) -> None:
    study = toy(scores("6", "1", "", "3.5", "3,5".join('""'), "x"), columns=BARE)
    assert refusal(study) == (
        "ratings.csv: 5 unusable rows\n"
        "  line 2: rating '6' is not on the scale 1, 2, 3, 4, 5\n"
        '  line 4: rating is empty (declare missing = "drop" in the study file to fit without it)\n'
        "  line 5: rating '3.5' is not on the scale 1, 2, 3, 4, 5\n"
        "  line 6: rating '3,5' has a decimal comma: write 3.5\n"
        "  line 7: rating 'x' is not on the scale 1, 2, 3, 4, 5"
    )


def test_uneven_lines_come_in_the_same_message(toy: Toy) -> None:
    assert refusal(toy("system,score\nM0,9\nM1\nM1,2\n", columns=BARE)).startswith("ratings.csv: 2 unusable rows")


def test_a_file_of_nothing_but_uneven_lines_is_refused_by_line(toy: Toy) -> None:
    assert "  line 2: 1 fields, but the header has 2" in refusal(toy("system,score\nM0\n", columns=BARE))


def test_empty_names_are_bad_rows(toy: Toy) -> None:
    assert "line 3: question is empty" in refusal(toy(GOOD.replace("Q10", "  ")))


def test_a_refusal_in_brackets_is_explained(toy: Toy) -> None:
    assert "line 2: rating 'N/A (declined)' is not on the scale 1, 2, 3, 4, 5 (a refusal?" in refusal(
        toy(scores("N/A (declined)", "2"), columns=BARE)
    )


def test_a_long_scale_is_shortened_in_messages(toy: Toy) -> None:
    study = toy(scores("101", "2"), columns=BARE, labels=str(list(range(101))))
    assert "is not on the scale 0, 1, 2, ..., 99, 100" in refusal(study)


@pytest.mark.parametrize("text", ["", "NA", "NaN", "null"])
def test_missing_ratings_are_dropped_where_declared(toy: Toy, text: str) -> None:
    ratings = read_ratings(toy(scores("1", text, "3"), columns=BARE, top='missing = "drop"'))
    assert (ratings.rating.tolist(), ratings.line.tolist(), ratings.dropped["missing"]) == ([0, 2], [2, 4], 1)


def test_dropping_missing_ratings_does_not_excuse_others(toy: Toy) -> None:
    assert refusal(toy(scores("1", "", "9"), columns=BARE, top='missing = "drop"')).startswith(
        "ratings.csv: 1 unusable"
    )


def test_a_level_that_only_missing_ratings_had_is_gone(toy: Toy) -> None:
    ratings = read_ratings(toy("system,score\nA,1\nB,2\nC,\n", columns=BARE, top='missing = "drop"'))
    assert ratings.levels["model"] == ("A", "B")


def test_a_label_that_reads_like_a_missing_value_is_a_label(toy: Toy) -> None:
    assert read_ratings(toy(scores("NA", "1"), columns=BARE, labels='["NA", 1]')).rating.tolist() == [0, 1]


def test_nothing_left_is_refused(toy: Toy) -> None:
    assert "no rating is left of 2" in refusal(toy(scores("", ""), columns=BARE, top='missing = "drop"'))


@pytest.mark.parametrize(("content", "told"), [("", "empty"), ("system,score\n", "a header but no row")])
def test_an_empty_file_is_refused(toy: Toy, content: str, told: str) -> None:
    assert told in refusal(toy(content, columns=BARE), InputError)


# ---- refusals


def test_refusals_are_coded_lowest_where_declared(toy: Toy) -> None:
    ratings = read_ratings(toy(GOOD, columns=REFUSED, tables='[refusals]\ncoding = "lowest"'))
    assert (ratings.rating.tolist(), ratings.refused.tolist()) == ([0, 1, 2, 0, 4], [False] * 3 + [True, False])


def test_refusals_are_left_out_where_declared_missing(toy: Toy) -> None:
    ratings = read_ratings(toy(GOOD, columns=REFUSED, tables='[refusals]\ncoding = "missing"'))
    assert (ratings.line.tolist(), ratings.dropped) == ([2, 3, 4, 6], {"missing": 0, "refused": 1})


@pytest.mark.parametrize("rating", ["", "NA", "declined"])
def test_a_refused_row_needs_no_rating(toy: Toy, rating: str) -> None:
    study = toy(
        GOOD.replace("Safety,4,1", f"Safety,{rating},1"), columns=REFUSED, tables='[refusals]\ncoding = "lowest"'
    )
    assert read_ratings(study).rating.tolist() == [0, 1, 2, 0, 4]


@pytest.mark.parametrize("yes", ["1", "true", "True", "TRUE", "yes", "1.0"])
def test_ways_of_saying_yes(toy: Toy, yes: str) -> None:
    study = toy(GOOD.replace("4,1\n", f"4,{yes}\n"), columns=REFUSED, tables='[refusals]\ncoding = "lowest"')
    assert read_ratings(study).refused.sum() == 1


def test_a_doubtful_refusal_is_a_bad_row(toy: Toy) -> None:
    study = toy(GOOD.replace("4,1\n", "4,maybe\n"), columns=REFUSED, tables='[refusals]\ncoding = "lowest"')
    assert "line 5: refused is 'maybe': write 1 or 0" in refusal(study)


def test_markers_in_the_rating_column_are_refusals(toy: Toy) -> None:
    study = toy(scores("N/A", "2"), columns=BARE, tables='[refusals]\ncoding = "lowest"\nvalues = ["N/A"]')
    assert (read_ratings(study).rating.tolist(), read_ratings(study).refused.tolist()) == ([0, 1], [True, False])


# ---- duplicates, domains, names


def test_duplicates_are_refused_by_line(toy: Toy) -> None:
    message = refusal(toy(GOOD + "R1,Q1,Beta,Safety,2,0\nR1,Q1,Beta,Safety,2,0\n"), DuplicateRatingsError)
    told = "participant 'R1', question 'Q1', model 'Beta': rated on line 2 already"
    assert f"  line 7: {told}\n  line 8: {told}\n" in message


def test_a_replicate_column_tells_repeats_apart(toy: Toy) -> None:
    text = "rater,item,system,score,again\nR1,Q1,A,1,1\nR1,Q1,A,2,2\n"
    columns = 'participant = "rater"\nquestion = "item"\nmodel = "system"\nrating = "score"\nreplicate = "again"'
    assert read_ratings(toy(text, columns=columns)).n_rows == 2


def test_the_same_replicate_twice_is_a_duplicate(toy: Toy) -> None:
    text = "item,system,score,again\nQ1,A,1,1\nQ1,A,2,1\n"
    columns = 'question = "item"\nmodel = "system"\nrating = "score"\nreplicate = "again"'
    assert "line 3" in refusal(toy(text, columns=columns), DuplicateRatingsError)


def test_without_participants_repeats_cannot_be_told(toy: Toy) -> None:
    assert read_ratings(toy("system,score\nA,1\nA,1\n", columns=BARE)).n_rows == 2


def test_repeats_are_allowed_where_declared(toy: Toy) -> None:
    study = toy(GOOD + "R1,Q1,Beta,Safety,2,0\n", tables='[design]\nrepeats = "allowed"')
    assert read_ratings(study).n_rows == 6


def test_a_question_in_two_domains_is_refused_by_line(toy: Toy) -> None:
    message = refusal(toy(GOOD + "R3,Q1,Beta,Coding,2,0\n", columns=DOMAIN), QuestionInTwoDomainsError)
    assert "  line 7: question 'Q1' is in domain 'Coding', elsewhere in 'Safety'" in message


def test_an_unknown_column_is_named_with_the_nearest(toy: Toy) -> None:
    message = refusal(toy(GOOD, columns=DOMAIN.replace('"rater"', '"ratr"')), UnknownColumnError)
    assert "[columns] participant: no column 'ratr' (did you mean 'rater'?)" in message


def test_an_unknown_model_is_named_with_the_nearest(toy: Toy) -> None:
    study = toy(GOOD, tables='[equivalence]\nmargin_pp = 5\nset = ["Betta", "alpha"]')
    assert "model 'Betta' (did you mean 'Beta'?)" in refusal(study, UnknownLevelError)


def test_an_unknown_domain_of_a_contrast_is_named(toy: Toy) -> None:
    contrast = '[[contrasts]]\nname = "c"\ntreatment = ["alpha"]\ncomparator = ["Beta"]\ndomain = "Saftey"'
    assert "domain 'Saftey' (did you mean 'Safety'?)" in refusal(
        toy(GOOD, columns=DOMAIN, tables=contrast), UnknownLevelError
    )


# ---- selection and layout


def test_rows_outside_the_selection_are_not_bad(toy: Toy) -> None:
    text = "system,score,what\nA,1,x\nA,99,y\nB,2,x\n"
    assert read_ratings(toy(text, columns=BARE, tables='[where]\nwhat = "x"')).line.tolist() == [2, 4]


def test_selection_compares_numbers_as_numbers(toy: Toy) -> None:
    text = "system,score,round\nA,1,1.0\nA,2,2\nB,2,1\n"
    assert read_ratings(toy(text, columns=BARE, tables="[where]\nround = 1")).line.tolist() == [2, 4]


def test_a_selection_that_keeps_nothing_shows_what_is_there(toy: Toy) -> None:
    study = toy("system,score,what\nA,1,x\n", columns=BARE, tables='[where]\nwhat = "z"')
    assert "what: x" in refusal(study, UnknownLevelError)


WIDE_RATERS = "system,item,rater_1,rater_2\nA,Q1,1,2\nB,Q1,3,4\n"
WIDE_COLUMNS = 'model = "system"\nquestion = "item"\n'


def test_one_column_a_rater(toy: Toy) -> None:
    layout = '[layout]\nform = "wide"\nnames_to = "participant"\ncolumns_prefix = "rater_"'
    ratings = read_ratings(toy(WIDE_RATERS, columns=WIDE_COLUMNS, tables=layout))
    assert (ratings.rating.tolist(), ratings.line.tolist()) == ([0, 1, 2, 3], [2, 2, 3, 3])


def test_a_rater_is_called_what_follows_the_prefix(toy: Toy) -> None:
    layout = '[layout]\nform = "wide"\nnames_to = "participant"\ncolumns_prefix = "rater_"'
    ratings = read_ratings(toy(WIDE_RATERS, columns=WIDE_COLUMNS, tables=layout))
    assert ratings.levels["participant"] == ("1", "2")


def test_one_column_a_model(toy: Toy) -> None:
    layout = '[layout]\nform = "wide"\nnames_to = "model"\ncolumns = ["Gemini", "Claude"]'
    study = toy("item,Claude,Gemini\nQ1,1,2\nQ2,3,4\n", columns='question = "item"', tables=layout)
    ratings = read_ratings(study)
    named = [ratings.levels["model"][code] for code in ratings.codes["model"]]
    assert (named, ratings.rating.tolist()) == (["Gemini", "Claude"] * 2, [1, 0, 3, 2])


def test_a_bad_cell_of_a_wide_file_is_named_by_column(toy: Toy) -> None:
    layout = '[layout]\nform = "wide"\nnames_to = "participant"\ncolumns_prefix = "rater_"'
    study = toy(WIDE_RATERS.replace("3,4", "3,9"), columns=WIDE_COLUMNS, tables=layout)
    assert "line 3: column rater_2: rating '9' is not on the scale" in refusal(study)


def test_a_prefix_that_no_column_has_is_refused(toy: Toy) -> None:
    layout = '[layout]\nform = "wide"\nnames_to = "participant"\ncolumns_prefix = "judge_"'
    assert "no column begins with 'judge_'" in refusal(
        toy(WIDE_RATERS, columns=WIDE_COLUMNS, tables=layout), UnknownColumnError
    )


# ---- to and from a dataset


def same(one: Ratings, other: Ratings) -> bool:
    arrays = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("rating", "line", "refused"))
    codes = all(np.array_equal(code, other.codes[factor]) for factor, code in one.codes.items())
    rest = all(
        getattr(one, name) == getattr(other, name) for name in ("levels", "scale", "source", "digest", "dropped")
    )
    return arrays and codes and rest and list(one.codes) == list(other.codes)


def test_a_dataset_brings_the_ratings_back(toy: Toy) -> None:
    ratings = read_ratings(toy(GOOD, columns=REFUSED, tables='[refusals]\ncoding = "missing"'))
    assert same(Ratings.from_dataset(ratings.to_dataset(), ratings.scale), ratings)


def test_netcdf_brings_the_ratings_back(toy: Toy) -> None:
    study = toy(GOOD, columns=REFUSED, tables='[refusals]\ncoding = "lowest"')
    ratings = read_ratings(study)
    path = study.path.with_suffix(".nc")
    ratings.to_dataset().to_netcdf(path, engine="h5netcdf")
    with xr.open_dataset(path, engine="h5netcdf") as back:
        assert same(Ratings.from_dataset(back.load(), study.scale), ratings)


def test_the_dataset_holds_nothing_that_netcdf_refuses(toy: Toy) -> None:
    data = read_ratings(toy(GOOD, columns=DOMAIN)).to_dataset()
    assert {array.dtype.kind for array in data.variables.values()} == {"i", "U"}


# ---- real data


def test_hanna_means_are_the_published_ones(toy: Toy, shared: object) -> None:
    means = {
        "Human": 4.170, "GPT-2": 2.809, "GPT-2 (tag)": 2.667, "RoBERTa": 2.542, "CTRL": 2.538, "TD-VAE": 2.507,
        "BertGeneration": 2.458, "GPT": 2.403, "XLNet": 2.392, "HINT": 2.292, "Fusion": 2.094,
    }  # fmt: skip
    ratings = read_ratings(hanna(toy, shared))
    found = {
        model: round(float(1 + ratings.rating[ratings.codes["model"] == code].mean()), 3)
        for code, model in enumerate(ratings.levels["model"])
    }
    assert found == means


def hanna(toy: Toy, shared: object) -> Study:
    columns = 'model = "system"\nquestion = "prompt"\nparticipant = "rater_slot"\nrating = "rating"'
    file = f"{shared}/hanna/ratings.csv"
    return toy(None, file=file, columns=columns, tables='[where]\ncriterion = "Relevance"')


def test_the_judge_scores_keep_their_six_empty_labels(toy: Toy, shared: object) -> None:
    columns = 'model = "LLM"\nrating = "score"'
    study = toy(None, file=f"{shared}/hibayes_judge/q1.csv", columns=columns, labels=str(list(range(11))))
    assert np.flatnonzero(np.bincount(read_ratings(study).rating, minlength=11)).tolist() == [4, 5, 6, 7, 8]


def test_lecture_ratings_are_read_whole(toy: Toy, shared: object) -> None:
    columns = 'model = "dept"\nquestion = "d"\nparticipant = "s"\nrating = "y"'
    ratings = read_ratings(toy(None, file=f"{shared}/r_ordinal/InstEval.csv", columns=columns))
    sizes = {factor: len(names) for factor, names in ratings.levels.items()}
    assert (ratings.n_rows, sizes) == (73421, {"participant": 2972, "question": 1128, "model": 14})


def test_lecture_ratings_are_read_in_two_seconds(toy: Toy, shared: object) -> None:
    columns = 'model = "dept"\nquestion = "d"\nparticipant = "s"\nrating = "y"'
    study = toy(None, file=f"{shared}/r_ordinal/InstEval.csv", columns=columns)
    began = time.process_time()
    read_ratings(study)
    assert time.process_time() - began < 2  # measured: a quarter of a second


def test_a_message_of_many_rows_is_written_fast_and_whole(toy: Toy) -> None:
    study = toy(scores(*["9"] * 20000), columns=BARE)
    assert len(re.findall("^  line ", refusal(study), flags=re.MULTILINE)) == 20000
