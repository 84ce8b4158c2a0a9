"""Model cards: what a header may say, and the one message that says what is wrong with it."""

import pytest

from drift.errors import CardFileError
from drift.models.cards import build_model, card_names, default_priors, parse_card, read_card
from drift.models.priors import Spread

BUNDLED = ("cell-means", "ordinal", "ordinal-interaction")


def test_bundled_cards():
    assert set(BUNDLED) <= set(card_names())


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_cards_change_no_prior(name):
    assert read_card(name).priors == {}


def test_priors_of_a_card(card_text):
    card = card_text('builder = "ordinal"', "[priors]", "sd_model = {half_normal = 2.5}", "sd_domain = {fixed = 10}")
    priors = default_priors(card)
    assert priors.sd_model == Spread(2.5, "half_normal")
    assert priors.sd_domain == Spread(10.0, "fixed")
    assert priors.sd_question == Spread(1.0)


def test_a_fixed_spread_has_no_variable(card_text, frame_of):
    card = card_text('builder = "ordinal"', "[priors]", "sd_model = {fixed = 2.0}")
    names = build_model(card, frame_of(card)).named_vars
    assert "sd_model" not in names
    assert "sd_domain" in names


def test_a_fixed_spread_of_answers_is_refused(card_text, frame_of):
    card = card_text('builder = "ordinal-interaction"', "[priors]", "sd_model_question = {fixed = 0.5}")
    with pytest.raises(CardFileError, match="estimated for each model"):
        build_model(card, frame_of(card))


def test_every_unusable_prior_is_in_one_message(card_text, frame_of):
    card = card_text(
        'builder = "ordinal"', "[priors]", "sd_modell = {fixed = 1.0}", "sd_domain = 3.0", "label = -1.0", name="mine"
    )
    with pytest.raises(CardFileError) as error:
        build_model(card, frame_of(card))
    assert len(error.value.rows) == 3
    assert "mine.md" in str(error.value)
    assert "no 'sd_modell': there are label, sd_model" in str(error.value)


@pytest.mark.parametrize("value", ["{half_normal = -1.0}", "{fixed = true}", "{normal = 1.0}", "{}", "'wide'", "[1.0]"])
def test_a_spread_of_another_form_is_refused(card_text, value):
    with pytest.raises(CardFileError):
        default_priors(card_text('builder = "ordinal"', "[priors]", f"sd_model = {value}"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# no header\n", "TOML header"),
        ("+++\nbuilder = \n+++\n", "not valid TOML"),
        ('+++\nbuilder = "linear"\n+++\n', "write one of ordinal, ordinal-interaction, cell-means"),
        ('+++\nbuilder = "ordinal"\nprior = 1\n+++\n', "'prior' is not a key"),
        ('+++\nbuilder = "ordinal"\npriors = 1\n+++\n', "write [priors]"),
    ],
)
def test_unusable_headers(text, said):
    with pytest.raises(CardFileError) as error:
        parse_card(text, "mine")
    assert said in str(error.value)


def test_an_unknown_card_names_its_nearest():
    with pytest.raises(CardFileError, match="did you mean 'ordinal'"):
        read_card("ordinall")


@pytest.fixture
def own_card(tmp_path):
    def write(name):
        (tmp_path / "models").mkdir()
        text = '+++\nbuilder = "ordinal"\n[priors]\nlabel = 2.0\n+++\n'
        (tmp_path / "models" / f"{name}.md").write_text(text, encoding="utf-8")
        return tmp_path

    return write


def test_a_study_may_bring_a_card_of_its_own(own_card):
    assert read_card("mine", own_card("mine")).priors == {"label": 2.0}


def test_a_bundled_name_stands_for_the_bundled_model(own_card):
    with pytest.raises(CardFileError, match="name of a bundled card"):
        read_card("ordinal", own_card("ordinal"))


def test_digest_is_of_the_header_alone(card_text):
    one = parse_card('+++\nbuilder = "ordinal"\n+++\nprose\n', "mine")
    assert one.digest == parse_card('+++\nbuilder = "ordinal"\n+++\nother prose\n', "mine").digest
    assert one.digest != card_text('builder = "ordinal-interaction"').digest
