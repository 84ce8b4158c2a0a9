import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from drift.data.declaration import Layout
from drift.data.scorer_declaration import Audit, Outcome, ScorerColumns, ScorerContrast, ScorerStudy, ScorerTarget
from drift.data.scorer_study import is_scorer_study, parse_scorer_study, read_scorer_study
from drift.errors import StudyFileError, StudyNotFoundError

FULL = """
title = "Certainty"
labels = "sub/labels.csv"
seed = 20260801
models = ["misclassification", "misclassification-dependent"]
simulated = true
missing = "drop"
[outcome]
name = "unsupported claim"
rubric = "asserts what no source says"
[columns]
key = "item"
arm = "prompt"
model = "system"
route = "path"
scorer = "flag"
raters = ["anna", "ben"]
audit = "audit"
inclusion = "probability"
replicate = "repeat"
population = "set"
[layout]
sheet = "labels"
[where]
round = 1
[target]
models = {gpt = 0.25, llama = 0.75}
prevalence = "new-keys"
population = "factorial"
outside = "error-rates"
[audits.stress]
design = "stress"
sampled_on = ["scorer", "route", "band"]
versions = {scorer = "v1"}
[audits.panel]
design = "paired"
[versions]
scorer = "v2"
router = "r1"
[reference]
rater = "ben"
[gates]
min_positives = 8
[[contrasts]]
name = "Certainty - Existence"
treatment = "certainty"
comparator = "existence"
tolerance_pp = 5
success = "equivalence"
same_construct = true
[[contrasts]]
name = "Authority - Existence"
treatment = "authority"
comparator = "existence"
tolerance_pp = 2.5
"""
LEAST = """
title = "T"
labels = "l.csv"
seed = 1
models = ["misclassification"]
[outcome]
name = "refusal"
[columns]
key = "k"
arm = "a"
scorer = "s"
raters = ["r", "q"]
"""
CONTRAST = """
[[contrasts]]
name = "C"
treatment = "x"
comparator = "y"
tolerance_pp = 5
"""

Changed = Callable[[ScorerStudy], object]


def parsed(text: str, path: str = "studies/certainty.toml") -> ScorerStudy:
    return parse_scorer_study(text, Path(path))


def refusal(text: str) -> str:
    with pytest.raises(StudyFileError) as caught:
        parsed(text)
    return str(caught.value)


# ---- what is read


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "certainty"),
        ("title", "Certainty"),
        ("seed", 20260801),
        ("data", Path("studies/sub/labels.csv")),
        ("kind", "labels"),
        ("models", ("misclassification", "misclassification-dependent")),
        ("simulated", True),
        ("missing", "drop"),
        ("digest", hashlib.sha256(FULL.encode()).hexdigest()),
        ("outcome", Outcome("unsupported claim", "asserts what no source says")),
        ("layout", Layout(sheet="labels")),
        ("where", {"round": ("1",)}),
        ("target", ScorerTarget({"gpt": 0.25, "llama": 0.75}, "new-keys", "factorial", "error-rates")),
        (
            "audits",
            (
                Audit("stress", "stress", ("scorer", "route", "band"), {"scorer": "v1"}),
                Audit("panel", "paired"),
            ),
        ),
        ("versions", {"scorer": "v2", "router": "r1"}),
        ("reference", "ben"),
        ("gates", {"min_positives": 8.0}),
        (
            "contrasts",
            (
                ScorerContrast("Certainty - Existence", "certainty", "existence", 5.0, "equivalence", True),
                ScorerContrast("Authority - Existence", "authority", "existence", 2.5, "sign", None),
            ),
        ),
    ],
)
def test_a_full_file(field: str, value: object) -> None:
    assert getattr(parsed(FULL), field) == value


def test_columns_of_a_full_file() -> None:
    assert parsed(FULL).columns == ScorerColumns(
        key="item",
        arm="prompt",
        model="system",
        route="path",
        scorer="flag",
        raters=("anna", "ben"),
        audit="audit",
        inclusion="probability",
        replicate="repeat",
        population="set",
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("simulated", False),
        ("missing", "refuse"),
        ("outcome", Outcome("refusal", None)),
        ("columns", ScorerColumns("k", "a", "s", ("r", "q"))),
        ("target", ScorerTarget("equal", "panel", None, "refuse")),
        ("reference", None),
        ("contrasts", ()),
        ("gates", {}),
    ],
)
def test_the_least_file(field: str, value: object) -> None:
    assert getattr(parsed(LEAST), field) == value


def test_an_audit_that_nobody_declared_has_an_unrecorded_design() -> None:
    assert parsed(LEAST).audits == (Audit("audit", "unrecorded"),)


def test_without_raters_there_is_no_audit() -> None:
    assert parsed(LEAST.replace('raters = ["r", "q"]', "")).audits == ()


def test_a_study_is_called_after_its_folder_where_the_file_is_study_toml() -> None:
    assert parsed(LEAST, "studies/certainty/study.toml").name == "certainty"


def test_a_file_is_read_as_its_text_is(tmp_path: Path) -> None:
    (tmp_path / "certainty.toml").write_bytes(b"\xef\xbb\xbf" + FULL.encode())  # with a byte order mark
    assert read_scorer_study(tmp_path / "certainty.toml") == parsed(FULL, str(tmp_path / "certainty.toml"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StudyNotFoundError):
        read_scorer_study(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "answer"),
    [(LEAST, True), ('ratings = "r.csv"', False), ('[x]\nlabels = "l.csv"', False), ("labels = ", False)],
)
def test_labels_make_a_scorer_study(text: str, answer: bool) -> None:
    assert is_scorer_study(text) is answer


def test_strata_come_from_other_columns_that_audits_were_sampled_on() -> None:
    assert parsed(FULL).sampled_columns() == {"[audits.stress] sampled_on, band": "band"}


def test_a_role_by_its_column_name_makes_no_stratum() -> None:
    assert parsed(LEAST + '[audits.x]\ndesign = "stress"\nsampled_on = ["s", "a", "r"]').sampled_columns() == {}


def test_a_replicate_that_an_audit_was_sampled_on_makes_strata() -> None:
    text = LEAST + 'replicate = "n"\n[audits.x]\ndesign = "paired"\nsampled_on = ["n"]'
    assert parsed(text).sampled_columns() == {"[audits.x] sampled_on, n": "n"}


def test_weights_in_thirds_sum_to_one_within_their_digits() -> None:
    text = LEAST + 'model = "m"\n[target]\nmodels = {x = 0.3333333, y = 0.3333333, z = 0.3333333}'
    assert parsed(text).target.models == {"x": 0.3333333, "y": 0.3333333, "z": 0.3333333}


# ---- what is refused


def weights(table: str) -> str:
    return LEAST + f'model = "m"\n[target]\nmodels = {table}'


def contrast(before: str, after: str) -> str:
    assert before in CONTRAST
    return LEAST + CONTRAST.replace(before, after)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (LEAST.replace('scorer = "s"', ""), '[columns] scorer is missing: write scorer = "the column\'s name"'),
        (LEAST.replace('"refusal"', "3"), "[outcome] name is 3: write a text in quotes"),
        (LEAST.replace("[outcome]\nname", "[outcome]\nnames"), "names is unknown (did you mean 'name'?)"),
        (LEAST.replace('models = ["mis', 'models = []\nx = ["mis'), "models names no model card"),
        (
            LEAST.replace('models = ["misclassification"]', ""),
            'models is missing: write models = ["misclassification"]',
        ),
        (LEAST.replace("seed = 1", "seed = -1"), "seed is -1"),
        (LEAST.replace('raters = ["r", "q"]', 'raters = ["r", "r"]'), "[columns] raters names 'r' twice"),
        (LEAST.replace('raters = ["r", "q"]', 'raters = ["r", "s"]'), "[columns] gives column 's' two roles"),
        (LEAST + 'model = "a"', "[columns] gives column 'a' two roles"),
        (LEAST.replace('raters = ["r", "q"]', 'inclusion = "p"'), "[columns] inclusion is declared without raters"),
        (LEAST + 'audit = "u"', "no audit is declared: write a table [audits.NAME] for each"),
        (
            LEAST + '[audits.x]\ndesign = "paired"\n[audits.y]\ndesign = "paired"',
            "[audits] declares 2 audits: name the column that tells them apart",
        ),
        (LEAST.replace('raters = ["r", "q"]', '[audits.x]\ndesign = "paired"'), "[columns] names no raters"),
        (LEAST + "[audits.x]", "[audits.x] design is missing"),
        (LEAST + '[audits.x]\ndesign = "stressed"', "[audits.x] design is 'stressed'"),
        (LEAST + '[audits.x]\ndesign = "stress"', "[audits.x] sampled_on is missing"),
        (
            LEAST + '[audits.x]\ndesign = "stress"\nsampled_on = ["route"]',
            "[audits.x] sampled_on has 'route', but [columns] declares no route",
        ),
        (
            LEAST + 'inclusion = "p"\n[audits.x]\ndesign = "stress"\nsampled_on = ["p"]',
            "[audits.x] sampled_on has 'p', the inclusion: name what that depended on",
        ),
        (LEAST + "[audits]\nx = 3", "[audits] x is 3: write it as a table, [audits.x]"),
        (LEAST + '[audits.x]\ndesign = "paired"\nversions = {scorers = "1"}', "[audits.x.versions] scorers is unknown"),
        (LEAST + "[versions]\nscorer = 2", "[versions] scorer is 2: write a text in quotes"),
        (weights("{x = 0.5, y = 0.4}"), "[target] models: the weights sum to 0.9, not to 1"),
        (weights("{x = 1.5, y = -0.5}"), "[target] models, weight of 'y': write a number of at least 0"),
        (weights('{x = "half", y = 0.5}'), "[target] models, weight of 'x': write a number of at least 0"),
        (weights('"even"'), '[target] models is \'even\': write "equal" or "rows"'),
        (LEAST + "[target]\nmodels = {x = 1}", "gives weights, but [columns] declares no model"),
        (LEAST + 'population = "set"', "[target] population is missing"),
        (LEAST + '[target]\npopulation = "f"', "[target] population is declared, but [columns] declares no population"),
        (LEAST + '[target]\noutside = "error-rates"', "[target] outside is declared, but [columns] declares no"),
        (LEAST + '[target]\nprevalence = "new"', "[target] prevalence is 'new'"),
        (LEAST + '[reference]\nrater = "R"', "[reference] rater 'R' is no rater (did you mean 'r'?); raters are r, q"),
        (LEAST + "[reference]", "[reference] rater is missing"),
        (LEAST + '[gates]\ngamma = "high"', "[gates] gamma is 'high': write a number"),
        (contrast("tolerance_pp = 5", ""), "tolerance_pp is missing: write tolerance_pp = 5; there is no default"),
        (contrast("tolerance_pp = 5", "tolerance_pp = 0"), "tolerance_pp is 0: write percentage points"),
        (contrast("tolerance_pp = 5", "tolerance_pp = true"), "tolerance_pp is True: write percentage points"),
        (contrast('comparator = "y"', 'comparator = "x"'), "comparator is 'x', which is the treatment too"),
        (contrast('comparator = "y"', ""), "[[contrasts]] 1, comparator is missing"),
        (contrast('name = "C"', 'name = "C"\nsuccess = "size"'), "success is 'size': write \"sign\" or"),
        (contrast('name = "C"', 'name = "C"\nsame_construct = "yes"'), "same_construct is 'yes': write true or false"),
        (LEAST + CONTRAST + CONTRAST, "two [[contrasts]] are called 'C'"),
        (LEAST + '[layout]\nform = "wide"', "[layout] form is unknown"),
        ("labels = ", "not valid TOML"),
    ],
)
def test_a_refusal_says_where_and_what_to_write(text: str, told: str) -> None:
    assert told in refusal(text)


def test_every_problem_is_told_at_once() -> None:
    text = contrast("tolerance_pp = 5", "").replace("seed = 1", "").replace('name = "refusal"', "")
    assert refusal(text).splitlines()[0] == "certainty.toml: 3 problems in the study file"


def test_one_problem_is_told_once() -> None:
    assert refusal(contrast("tolerance_pp = 5", "")).splitlines()[0] == "certainty.toml: 1 problem in the study file"
