"""The contrast card: its JSON against the published schema, and every section in Markdown and text."""

import copy
import importlib.util
import json
from dataclasses import fields, replace

import pytest

from drift.conclusions import contrast_parts as parts
from drift.conclusions.contrast_card import ContrastCard
from drift.conclusions.contrast_content import SCHEMA
from drift.conclusions.contrast_schema import DOCUMENT_FILE, SCHEMA_FILE, documentation, json_schema
from drift.conclusions.disposition import Disposition
from drift.conclusions.gates import Gate, Limits
from drift.inference.store import strict_json

AGAIN = "make it again with: python -m drift.conclusions.contrast_schema"
SECTIONS = (
    *("Decision", "Contrast", "Outcome and prompts", "Target and versions", "Sampling", "Errors by arm and route"),
    *("Arms", "Paired effects", "Rater evidence", "Sensitivity", "Other methods", "What the data can tell"),
    *("Fragility", "Gates", "Remarks", "Prohibited extrapolations", "What would change the decision"),
)
PP_ESTIMATE = parts.Estimate(2.3, 1.5, -0.6, 5.2, 0.02)
SHARE_ESTIMATE = parts.Estimate(0.123, 0.02, 0.08, 0.17, None)


WEIGHTS = {arm: {"gpt": 0.5, "llama": 0.5} for arm in ("certainty", "neutral")}
UNDEFINED = parts.ConfidenceInterval(None, None, None)


def confusion(arm: str) -> parts.ConfusionPart:
    rates = parts.Rate(7, 21, 0.146, 0.57), parts.Rate(0, 0, None, None)
    return parts.ConfusionPart(arm, "all", 26, 7, 1, 14, *rates, SHARE_ESTIMATE, SHARE_ESTIMATE)


def card(**changed: object) -> ContrastCard:
    """A card with every part filled in, and a null wherever one is allowed."""
    made = ContrastCard(
        schema=SCHEMA,
        study="study",
        title="SIMULATED | labels",
        contrast="certainty - neutral",
        model_card="misclassification",
        simulated=True,
        success="sign",
        limits=Limits(),
        outcome=parts.OutcomePart("unsupported claim", None),
        prompts=parts.PromptPart("certainty", "neutral", "item", 300, 2, 1, 1700),
        target=parts.TargetPart("panel", "factorial", WEIGHTS, 1800, 1750),
        versions={"scorer": "v2"},
        dropped={"neutral": 3},
        audits=(
            parts.AuditPart("main", "stress", ("scorer",), False, 96, 48, 48, 2, 0.04, 0.2, {"scorer": "v2"}),
            parts.AuditPart("other", "representative", (), True, 40, 20, 20, 0, None, None, {}),
        ),
        confusion=(confusion("certainty"), confusion("neutral")),
        arms=(
            parts.ArmPart("certainty", 0.4, SHARE_ESTIMATE, PP_ESTIMATE, 0.0),
            parts.ArmPart("neutral", 0.3, SHARE_ESTIMATE, PP_ESTIMATE, 1.0),
        ),
        contrasts=(
            parts.ContrastPart("panel", True, 9.3, PP_ESTIMATE, 0.931, 0.069),
            parts.ContrastPart("superpopulation", False, 9.3, PP_ESTIMATE, 0.9, 0.1),
            parts.ContrastPart("new-keys", False, 9.3, PP_ESTIMATE, 0.88, 0.12),
        ),
        bias=parts.BiasPart(PP_ESTIMATE, 5.0, 0.2, PP_ESTIMATE, PP_ESTIMATE, PP_ESTIMATE, None),
        same_key=(
            parts.SameKeyPart("these", 1700, 300, 1.0, 9.3, PP_ESTIMATE, PP_ESTIMATE, 0.93, 0.07),
            parts.SameKeyPart("new", 1700, 300, 0.5, 9.3, PP_ESTIMATE, PP_ESTIMATE, 0.9, 0.1),
        ),
        raters=parts.RaterPart(
            labelled={"rater_1": {"certainty": 48, "neutral": 48}},
            reference=None,
            agreement=(
                parts.AgreementPart(
                    ("rater_1", "rater_2"), "all", 96, parts.ConfidenceInterval(0.979, 0.93, 0.994), None, UNDEFINED
                ),
            ),
            paired=(parts.PairedPart("rater_1", 300, 50, 20, 13, 9.3, parts.ConfidenceInterval(2.3, -5.9, 5.3)),),
        ),
        sensitivity=(
            parts.SensitivityPart("", "the model itself", False, PP_ESTIMATE, 0.931, PP_ESTIMATE),
            parts.SensitivityPart("truth_is_rater_1", "rater_1 is the truth", True, None, None, None),
        ),
        comparators=(
            parts.ComparatorPart(
                "PPI++", parts.ConfidenceInterval(2.5, -7.1, 12.0), 96, "rater_1", "weights 1 / inclusion probability"
            ),
            parts.ComparatorPart("Rogan-Gladen, delta", UNDEFINED, 96, "rater_1", "an arm has no audited positive"),
        ),
        prior=(parts.PriorPart("corrected contrast", 0.31, False, True),),
        identification=(
            parts.IdentificationPart(
                "raters err independently", 30, 30, 0, (), 0.01, "the labels identify every error rate"
            ),
        ),
        bounds=(
            parts.BoundsPart(replace(PP_ESTIMATE, mean=-80.0), replace(PP_ESTIMATE, mean=85.0), "no rater assumption"),
        ),
        fragility=(parts.FragilityPart("rater_1", 600, 2.3, 7, 0, 1.15),),
        remarks=("both raters",),
        gates=(
            Gate("construct", True, "declared"),
            Gate("observation", False, "4 | 5", "more rows"),
            Gate("transport", None, "nobody can tell", "tell"),
            Gate("same key", True, "300 keys"),
        ),
        disposition=Disposition("qualify", ("the sign is not established",), ("more audited rows",)),
        prohibited=("nothing follows for other models",),
    )
    return replace(made, **changed)


def problems(value: object, schema: dict, root: dict, at: str = "card") -> list[str]:
    """Where a value misses the part of JSON Schema that the cards use. `jsonschema` is asked too where it is there."""
    if "$ref" in schema:
        return problems(value, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, at)
    if "anyOf" in schema:
        tried = [problems(value, one, root, at) for one in schema["anyOf"]]
        return [] if [] in tried else min(tried, key=len)
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{at}: {value!r}"]
    if not TYPES[schema["type"]](value):
        return [f"{at} is no {schema['type']}"]
    if isinstance(value, list):
        return [p for i, one in enumerate(value) for p in problems(one, schema["items"], root, f"{at}[{i}]")]
    if isinstance(value, dict) and "properties" in schema:
        wrong = [f"{at}: {name}" for name in {*value} ^ {*schema["required"]}]
        known = {name: inner for name, inner in value.items() if name in schema["properties"]}
        return wrong + [p for n, v in known.items() for p in problems(v, schema["properties"][n], root, f"{at}.{n}")]
    if isinstance(value, dict):
        return [p for n, v in value.items() for p in problems(v, schema["additionalProperties"], root, f"{at}.{n}")]
    return []


TYPES = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def schema_problems(value: object) -> list[str]:
    schema = json.loads(SCHEMA_FILE.read_text("utf-8"))
    found = problems(value, schema, schema)
    if importlib.util.find_spec("jsonschema"):
        import jsonschema

        assert bool(list(jsonschema.Draft202012Validator(schema).iter_errors(value))) == bool(found)
    return found


def test_the_published_schema_is_current():
    assert json.loads(SCHEMA_FILE.read_text("utf-8")) == json_schema(), AGAIN


def test_the_published_page_is_current():
    assert DOCUMENT_FILE.read_text("utf-8") == documentation(), AGAIN


def test_the_page_has_every_key_of_the_schema():
    schema = json_schema()
    keys = {name for part in (schema, *schema["$defs"].values()) for name in part["properties"]}
    page = documentation()
    assert [key for key in sorted(keys) if f"| `{key}` |" not in page] == []


def test_every_key_says_what_it_means():
    schema = json_schema()
    silent = [name for part in (schema, *schema["$defs"].values()) for name, key in part["properties"].items()
              if not key["description"].strip()]  # fmt: skip
    assert silent == []


def test_json_is_valid_against_the_schema():
    assert schema_problems(json.loads(strict_json(card().as_dict()))) == []


def test_a_number_that_is_not_finite_is_null():
    found = card(bias=replace(card().bias, within=float("nan"))).as_dict()
    assert found["bias"]["within"] is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("success",), "maybe"),
        (("schema",), "1"),
        (("simulated",), 1),
        (("bias", "within"), None),
        (("bias", "tolerance"), 5.0),
        (("gates", 0, "passed"), "yes"),
        (("prompts", "pairs"), 2.5),
        (("target", "weights", "neutral", "gpt"), "half"),
        (("disposition", "decision"), "publish"),
    ],
)
def test_the_schema_refuses_what_is_no_card(path, value):
    """Each of these is one edit away from a valid card."""
    wrong = copy.deepcopy(card().as_dict())
    inner = wrong
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    assert schema_problems(wrong)


def test_the_schema_refuses_a_card_without_its_gates():
    wrong = card().as_dict()
    del wrong["gates"]
    assert schema_problems(wrong) == ["card: gates"]


def test_every_field_is_in_the_json_in_its_order():
    assert list(card().as_dict()) == [field.name for field in fields(ContrastCard)]


def test_markdown_has_every_section_once_and_in_order():
    found = [line.removeprefix("## ") for line in card().as_markdown().splitlines() if line.startswith("## ")]
    assert tuple(found) == SECTIONS


def test_text_has_every_section_in_order():
    lines = card().as_text().splitlines()
    assert [line for line in lines if line in SECTIONS] == list(SECTIONS)


def test_a_card_with_nothing_to_list_has_every_section():
    names = (
        "audits",
        "same_key",
        "confusion",
        "sensitivity",
        "comparators",
        "prior",
        "identification",
        "bounds",
        "fragility",
    )
    empty = card(**dict.fromkeys(names, ()), prohibited=(), remarks=(), raters=parts.RaterPart({}, None, (), ()))
    assert [line[3:] for line in empty.as_markdown().splitlines() if line.startswith("## ")] == list(SECTIONS)


def test_tables_of_markdown_have_as_many_cells_in_every_row():
    """A vertical bar within a text, as in the reason of the second gate, ends no cell."""
    tables = [line.replace(r"\|", "") for line in card().as_markdown().splitlines() if line.startswith("|")]
    blocks = card().as_markdown().replace(r"\|", "").split("\n\n")
    widths = [{line.count("|") for line in block.splitlines()} for block in blocks if block.startswith("|")]
    assert tables and all(len(width) == 1 for width in widths)


@pytest.mark.parametrize(
    "said",
    [
        "QUALIFY: the corrected contrast may be published",
        "SIMULATED DATA: nothing below is a finding",
        "+2.3 [-0.6, +5.2]",
        "P(|bias| < 5) = 0.200",
        "withheld: its checks failed",
        "rows left out for want of a scorer label: neutral 3",
        "nothing follows for other models",
        "300 keys in both arms",
        "observation fails: 4 | 5",
        "Rogan-Gladen, delta: an arm has no audited positive",
        "no rater assumption: the contrast lies above -80.0 [-0.6, +5.2] and below +85.0 [-0.6, +5.2] pp",
    ],
)
def test_markdown_and_text_say(said):
    assert said in card().as_markdown()
    assert said in " ".join(card().as_text().split())


def test_only_simulated_data_are_called_simulated():
    real = card(simulated=False, title="labels")
    assert "SIMULATED" not in real.as_markdown()
    assert "SIMULATED" not in real.as_text()


def test_a_probability_of_draws_is_not_printed_as_certain():
    lines = [
        line
        for line in card().as_markdown().splitlines()
        if line.startswith(("| certainty | 0.400", "| neutral | 0.3"))
    ]
    assert [line.split(" | ")[-1].strip(" |") for line in lines] == ["<.001", ">.999"]


def test_the_declared_target_decides():
    assert card().declared.prevalence == "panel"
