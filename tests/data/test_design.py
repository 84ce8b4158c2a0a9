from collections.abc import Callable, Iterator

import pytest

from drift.data.declaration import Study
from drift.data.design import check_design
from drift.data.ratings import read_ratings
from drift.errors import (
    AnonymousSlotsError,
    DisconnectedDesignError,
    InputError,
    StudyFileError,
    UnidentifiedTermError,
)

Toy = Callable[..., Study]

ORDINAL = ("domain", "model:domain", "participant", "question")
INTERACTION = (*ORDINAL, "model:question")
COLUMNS = """
participant = "rater"
question = "item"
model = "system"
domain = "area"
rating = "score"
"""
NO_DOMAIN = COLUMNS.replace('domain = "area"\n', "")
CROSSED = [(rater, item, system) for rater in "pqr" for item in range(4) for system in "AB"]


def data(rows: list[tuple[str, int, str]], area: Callable[[int], str] = lambda item: f"d{item % 2}") -> str:
    lines = [f"{rater},i{item},{system},{area(item)},{1 + item % 5}" for rater, item, system in rows]
    return "\n".join(["rater,item,system,area,score", *lines])


def kept(study: Study, terms: tuple[str, ...] = INTERACTION) -> tuple[str, ...]:
    return check_design(read_ratings(study), terms, study)


def refusal(study: Study, terms: tuple[str, ...] = INTERACTION, kind: type[InputError] = UnidentifiedTermError) -> str:
    with pytest.raises(kind) as caught:
        kept(study, terms)
    return str(caught.value)


def left_out(*terms: str) -> str:
    return f"[design]\nleave_out = {list(terms)}"


def test_a_crossed_design_identifies_every_term(toy: Toy) -> None:
    assert kept(toy(data(CROSSED), columns=COLUMNS)) == INTERACTION


def test_declared_terms_are_left_out_in_the_cards_order(toy: Toy) -> None:
    study = toy(data(CROSSED), columns=COLUMNS, tables=left_out("model:question", "model:domain"))
    assert kept(study) == ("domain", "participant", "question")


def test_a_main_effect_is_not_left_out_of_its_interaction(toy: Toy) -> None:
    study = toy(data(CROSSED), columns=COLUMNS, tables=left_out("question"))
    assert "has 'question' and keeps 'model:question', which contains it" in refusal(study, INTERACTION, StudyFileError)


def test_a_term_without_a_column_is_refused(toy: Toy) -> None:
    message = refusal(toy(data(CROSSED), columns=NO_DOMAIN))
    assert "  domain: no domain column is declared\n  model:domain: no domain column is declared\n" in message


def test_the_message_says_what_to_write(toy: Toy) -> None:
    message = refusal(toy(data(CROSSED), columns=NO_DOMAIN, tables=left_out("model:question")))
    assert message.endswith('leave_out = ["domain", "model:domain", "model:question"]')


def test_what_it_says_to_write_is_accepted(toy: Toy) -> None:
    study = toy(data(CROSSED), columns=NO_DOMAIN, tables=left_out("domain", "model:domain"))
    assert kept(study) == ("participant", "question", "model:question")


def test_leaving_out_a_term_that_the_card_lacks_is_refused(toy: Toy) -> None:
    study = toy(data(CROSSED), columns=COLUMNS, tables=left_out("model:question"))
    assert "'model:question', which this card does not have" in refusal(study, ORDINAL, StudyFileError)


@pytest.mark.parametrize("names", ["123", "012"])
def test_counted_participants_look_like_slots(toy: Toy, names: str) -> None:
    rows = [(names["pqr".index(rater)], item, system) for rater, item, system in CROSSED]
    message = refusal(toy(data(rows), columns=COLUMNS), kind=AnonymousSlotsError)
    assert f"participant: the names {', '.join(names)} look like slot numbers, not persons" in message


def test_counted_participants_are_persons_where_declared(toy: Toy) -> None:
    rows = [(str("pqr".index(rater)), item, system) for rater, item, system in CROSSED]
    study = toy(data(rows), columns=COLUMNS, tables='[design]\nparticipants_are = "persons"')
    assert kept(study) == INTERACTION


def test_eleven_counted_participants_are_persons(toy: Toy) -> None:
    rows = [(str(rater), item, system) for rater in range(11) for item in range(4) for system in "AB"]
    assert kept(toy(data(rows), columns=COLUMNS)) == INTERACTION


def test_uncounted_numbers_are_persons(toy: Toy) -> None:
    rows = [("147"["pqr".index(rater)], item, system) for rater, item, system in CROSSED]
    assert kept(toy(data(rows), columns=COLUMNS)) == INTERACTION


def test_declared_slots_have_no_participant_term(toy: Toy) -> None:
    study = toy(data(CROSSED), columns=COLUMNS, tables='[design]\nparticipants_are = "slots"')
    assert "participant: participants are declared slots" in refusal(study)


def test_declared_slots_fit_without_the_participant_term(toy: Toy) -> None:
    tables = left_out("participant") + '\nparticipants_are = "slots"'
    assert "participant" not in kept(toy(data(CROSSED), columns=COLUMNS, tables=tables))


def test_one_domain_is_no_effect(toy: Toy) -> None:
    message = refusal(toy(data(CROSSED, lambda _: "only"), columns=COLUMNS))
    assert "domain: there is one domain, only\n  model:domain: there is one domain, only" in message


def test_one_model_has_no_interactions(toy: Toy) -> None:
    rows = [row for row in CROSSED if row[2] == "A"]
    message = refusal(toy(data(rows), columns=COLUMNS))
    assert "model:domain: there is one model, A\n  model:question: there is one model, A" in message


def fresh() -> Iterator[str]:
    return (f"person{number}" for number in range(1000))


def test_participants_with_one_rating_each_are_the_residual(toy: Toy) -> None:
    names = fresh()
    rows = [(next(names), item, system) for _, item, system in CROSSED]
    message = refusal(toy(data(rows), columns=COLUMNS))
    assert "participant: each of the 24 participants has one rating" in message


def test_one_participant_with_two_ratings_is_enough_not_to_be_the_residual(toy: Toy) -> None:
    names = fresh()
    rows = [(next(names), item, system) for _, item, system in CROSSED[1:]] + [("person0", 0, "A")]
    assert "participant" in kept(toy(data(rows), columns=COLUMNS))


def test_cells_with_one_rating_each_have_no_interaction(toy: Toy) -> None:
    rows = [("pqr"[item % 3], item, system) for item in range(6) for system in "AB"]
    message = refusal(toy(data(rows), columns=COLUMNS))
    assert "model:question: each of the 12 model:question cells has one rating" in message


def test_cells_with_one_rating_do_not_matter_to_a_card_without_the_interaction(toy: Toy) -> None:
    rows = [("pqr"[item % 3], item, system) for item in range(6) for system in "AB"]
    assert kept(toy(data(rows), columns=COLUMNS), ORDINAL) == ORDINAL


def test_a_question_for_each_domain_confounds_the_two(toy: Toy) -> None:
    message = refusal(toy(data(CROSSED, lambda item: f"d{item}"), columns=COLUMNS), ORDINAL)
    assert "domain: its 4 levels split the ratings exactly as question does" in message


def test_questions_of_one_model_each_leave_no_interaction(toy: Toy) -> None:
    rows = [(rater, item, "AB"[item % 2]) for rater in "pqr" for item in range(8)]
    message = refusal(toy(data(rows, lambda item: f"d{item // 4}"), columns=COLUMNS))
    assert "model:question: its 8 levels split the ratings exactly as question does" in message


def test_a_participant_for_each_question_confounds_the_two(toy: Toy) -> None:
    rows = [("pqrs"[item], item, system) for item in range(4) for system in "AB"]
    message = refusal(toy(data(rows), columns=COLUMNS), ORDINAL)
    assert "participant: its 4 levels split the ratings exactly as question does" in message


def test_an_empty_model_by_domain_cell_is_named(toy: Toy) -> None:
    rows = [row for row in CROSSED if not (row[2] == "B" and row[1] % 2)]
    message = refusal(toy(data(rows), columns=COLUMNS))
    assert "model:domain: 1 of 4 cells have no rating: B in d1" in message


def test_models_that_share_nothing_are_disconnected(toy: Toy) -> None:
    message = refusal(toy(apart(), columns=COLUMNS), ORDINAL, DisconnectedDesignError)
    assert "models fall into 2 sets that share no question and no participant\n  A, B\n  C" in message


def test_one_shared_question_connects_models(toy: Toy) -> None:
    assert kept(toy(apart() + "\np,i8,A,d0,1", columns=COLUMNS), ORDINAL) == ORDINAL


def test_one_shared_participant_connects_models(toy: Toy) -> None:
    assert kept(toy(apart() + "\nx,i0,A,d0,1", columns=COLUMNS), ORDINAL) == ORDINAL


def test_a_shared_slot_connects_nothing(toy: Toy) -> None:
    study = toy(apart() + "\nx,i0,A,d0,1", columns=COLUMNS, tables=left_out("participant"))
    assert "share no question\n" in refusal(study, ORDINAL, DisconnectedDesignError)


def test_exchangeable_sets_are_fitted_where_declared(toy: Toy) -> None:
    assert kept(toy(apart(), columns=COLUMNS, tables='[design]\ndisconnected = "exchangeable"'), ORDINAL) == ORDINAL


def test_without_questions_or_participants_nothing_has_to_connect(toy: Toy) -> None:
    study = toy(apart(), columns=COLUMNS, tables=left_out("participant", "question"))
    assert kept(study, ORDINAL) == ("domain", "model:domain")


def apart() -> str:
    """Models A and B on questions 0-3 by p, q, r; model C on questions 8-11 by x, y, z."""
    other = [(rater, item, "C") for rater in "xyz" for item in range(8, 12)]
    return data([*CROSSED, *other])


def test_hanna_slots_are_refused(toy: Toy, shared: object) -> None:
    columns = 'model = "system"\nquestion = "prompt"\nparticipant = "rater_slot"\nrating = "rating"'
    study = toy(None, file=f"{shared}/hanna/ratings.csv", columns=columns, tables='[where]\ncriterion = "Relevance"')
    message = refusal(study, ("participant", "question"), AnonymousSlotsError)
    assert "the names 1, 2, 3 look like slot numbers, not persons" in message


def test_lecturers_belong_to_one_department(toy: Toy, shared: object) -> None:
    columns = 'model = "dept"\nquestion = "d"\nparticipant = "s"\nrating = "y"'
    study = toy(None, file=f"{shared}/r_ordinal/InstEval.csv", columns=columns)
    assert kept(study, ("participant", "question")) == ("participant", "question")
