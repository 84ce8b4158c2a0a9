import csv
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from drift.data.labels import KeyMatches, Labels, key_matches, mask_raters, rater_arm_counts, read_labels
from drift.data.patterns import collapse
from drift.data.scorer_declaration import ScorerStudy
from drift.data.scorer_study import parse_scorer_study, read_scorer_study
from drift.errors import (
    AuditOutsideTargetError,
    DuplicateLabelsError,
    EmptyCellsError,
    InputError,
    StudyFileError,
    UnknownColumnError,
    UnknownLevelError,
    UnusableRowsError,
)
from drift.scale import Scale

DECLARED = """
title = "Toy"
labels = "{file}"
seed = 7
models = ["misclassification"]
{top}
[outcome]
name = "unsupported claim"
[columns]
{columns}
{tables}
"""
LEAST = 'key = "item"\narm = "prompt"\nscorer = "flag"\n'
COLUMNS = LEAST + 'raters = ["anna", "ben"]\n'
GOOD = """item,prompt,flag,anna,ben
Q1,plain,1,1,
Q10,plain,0,,
Q2,plain,0,0,1
Q1,certain,1,,1
Q2,certain,1,,
"""
SYSTEMS = """item,prompt,system,set,flag,anna
Q1,plain,gpt,panel,1,1
Q1,plain,gpt,new,1,
Q1,plain,llama,new,0,
Q1,certain,gpt,new,1,0
Q1,certain,llama,new,0,0
"""
SETS = LEAST + 'model = "system"\nraters = ["anna"]\npopulation = "set"\n'
AUDITS = '[audits.stress]\ndesign = "stress"\nsampled_on = ["scorer"]\n[audits.panel]\ndesign = "paired"\n'

Toy = Callable[..., ScorerStudy]


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    """Write data and their study file; the study that is then read."""

    def write(
        data: str | bytes, *, columns: str = COLUMNS, tables: str = "", top: str = "", file: str = "labels.csv"
    ) -> ScorerStudy:
        (tmp_path / file).write_bytes(data.encode() if isinstance(data, str) else data)
        text = DECLARED.format(file=file, columns=columns, tables=tables, top=top)
        (tmp_path / "toy.toml").write_text(text, encoding="utf-8")
        return read_scorer_study(tmp_path / "toy.toml")

    return write


def refusal(study: ScorerStudy, kind: type[InputError] = UnusableRowsError) -> str:
    with pytest.raises(kind) as caught:
        read_labels(study)
    assert caught.value.exit_code == 2
    return str(caught.value)


def flagged(*values: str) -> str:
    """A file with one row for each scorer label."""
    return "\n".join(["item,prompt,flag", *(f"Q{place},plain,{value}" for place, value in enumerate(values))])


def names(labels: Labels, factor: str) -> list[str]:
    """(row,) name of each row's level."""
    return [labels.levels[factor][code] for code in labels.codes[factor]]


def contrast(treatment: str, comparator: str) -> str:
    return f'[[contrasts]]\nname = "C"\ntreatment = "{treatment}"\ncomparator = "{comparator}"\ntolerance_pp = 5\n'


# ---- what is read


def test_scorer_labels(toy: Toy) -> None:
    assert read_labels(toy(GOOD)).scorer.tolist() == [1, 0, 0, 1, 1]


def test_an_empty_rating_means_not_rated(toy: Toy) -> None:
    assert read_labels(toy(GOOD)).rating.tolist() == [[1, -1], [-1, -1], [0, 1], [-1, 1], [-1, -1]]


def test_rows_know_their_lines(toy: Toy) -> None:
    assert read_labels(toy(GOOD)).line.tolist() == [2, 3, 4, 5, 6]


def test_levels_are_in_natural_order(toy: Toy) -> None:
    assert read_labels(toy(GOOD)).levels["key"] == ("Q1", "Q2", "Q10")


def test_codes_name_the_level_of_each_row(toy: Toy) -> None:
    assert names(read_labels(toy(GOOD)), "key") == ["Q1", "Q10", "Q2", "Q1", "Q2"]


@pytest.mark.parametrize("factor", ["model", "stratum", "population"])
def test_a_factor_without_a_column_has_one_level(toy: Toy, factor: str) -> None:
    labels = read_labels(toy(GOOD))
    assert labels.levels[factor] == ("all",) and labels.codes[factor].tolist() == [0] * 5


@pytest.mark.parametrize(
    ("text", "label"),
    [(text, 1) for text in ("1", "1.0", "1.00", "true", "TRUE", "True", "t", "yes", "Y")]
    + [(text, 0) for text in ("0", "0.0", "-0", "false", "FALSE", "f", "no", "N")],
)
def test_every_way_to_write_a_label(toy: Toy, text: str, label: int) -> None:
    assert read_labels(toy(flagged(text), columns=LEAST)).scorer.tolist() == [label]


def test_booleans_and_gaps_of_a_typed_file(toy: Toy, tmp_path: Path) -> None:
    frame = pd.DataFrame({"item": ["a", "b"], "prompt": "p", "flag": [True, False], "anna": [1.0, None], "ben": [0, 1]})
    frame.to_parquet(tmp_path / "frame.parquet")
    labels = read_labels(toy((tmp_path / "frame.parquet").read_bytes(), file="labels.parquet"))
    assert labels.scorer.tolist() == [1, 0] and labels.rating.tolist() == [[1, 0], [-1, 1]]


def test_without_raters_no_row_is_audited(toy: Toy) -> None:
    labels = read_labels(toy(flagged("1", "0"), columns=LEAST))
    assert labels.rating.shape == (2, 0) and labels.audited.tolist() == [False, False]


def test_where_keeps_rows(toy: Toy) -> None:
    assert read_labels(toy(GOOD, tables='[where]\nprompt = "certain"')).line.tolist() == [5, 6]


def test_the_digest_is_of_the_data_file(toy: Toy) -> None:
    assert read_labels(toy(GOOD)).digest != read_labels(toy(GOOD + " ")).digest


# ---- strata

ROUTES = """item,prompt,flag,anna,path,band
Q1,plain,1,1,short,low
Q2,plain,0,,long,low
Q3,plain,0,,long,high
"""
ROUTED = LEAST + 'raters = ["anna"]\nroute = "path"\n'
BANDED = '[audits.x]\ndesign = "stress"\nsampled_on = ["scorer", "arm", "band"]\n'


def test_a_route_makes_strata(toy: Toy) -> None:
    assert names(read_labels(toy(ROUTES, columns=ROUTED)), "stratum") == ["short", "long", "long"]


def test_what_an_audit_was_sampled_on_makes_strata(toy: Toy) -> None:
    columns = LEAST + 'raters = ["anna"]\n'
    assert names(read_labels(toy(ROUTES, columns=columns, tables=BANDED)), "stratum") == ["low", "low", "high"]


def test_route_and_column_make_strata_together(toy: Toy) -> None:
    labels = read_labels(toy(ROUTES, columns=ROUTED, tables=BANDED))
    assert names(labels, "stratum") == ["short, low", "long, low", "long, high"]


def test_only_combinations_that_occur_are_strata(toy: Toy) -> None:
    labels = read_labels(toy(ROUTES, columns=ROUTED, tables=BANDED))
    assert labels.levels["stratum"] == ("long, high", "long, low", "short, low")


def test_roles_make_no_strata(toy: Toy) -> None:
    tables = '[audits.x]\ndesign = "stress"\nsampled_on = ["scorer", "arm", "key"]\n'
    assert read_labels(toy(GOOD, tables=tables)).levels["stratum"] == ("all",)


def test_an_empty_stratum_is_refused(toy: Toy) -> None:
    told = refusal(toy(ROUTES.replace("long,high", "long,"), columns=ROUTED, tables=BANDED))
    assert "line 4: [audits.x] sampled_on, band is empty" in told


def test_an_unknown_column_that_an_audit_was_sampled_on_is_refused(toy: Toy) -> None:
    told = refusal(toy(ROUTES, columns=ROUTED, tables=BANDED.replace('"band"', '"bands"')), UnknownColumnError)
    assert "[audits.x] sampled_on, bands: no column 'bands' (did you mean 'band'?)" in told


def test_an_unknown_rater_column_is_refused(toy: Toy) -> None:
    told = refusal(toy(GOOD, columns=COLUMNS.replace("anna", "ana")), UnknownColumnError)
    assert "[columns] raters, ana: no column 'ana' (did you mean 'anna'?)" in told


# ---- audits

AUDITED = """item,prompt,flag,anna,ben,audit,p
Q1,plain,1,1,,stress,0.5
Q2,plain,0,,,,
Q3,plain,0,0,1,panel,1
Q4,plain,0,,,panel,.25
"""
AUDIT = COLUMNS + 'audit = "audit"\n'
CHANCE = AUDIT + 'inclusion = "p"\n'


def test_audits_are_coded_in_the_order_of_their_tables(toy: Toy) -> None:
    labels = read_labels(toy(AUDITED, columns=AUDIT, tables=AUDITS))
    assert labels.audits == ("stress", "panel") and labels.audit.tolist() == [0, -1, 1, -1]


def test_rows_of_an_audit_that_nobody_labelled_are_counted(toy: Toy) -> None:
    assert read_labels(toy(AUDITED, columns=AUDIT, tables=AUDITS)).unrated == {"panel": 1}


def test_without_an_audit_column_labelled_rows_are_of_the_one_audit(toy: Toy) -> None:
    assert read_labels(toy(GOOD)).audit.tolist() == [0, -1, 0, 0, -1]


def test_one_declared_audit_takes_labelled_rows_without_an_audit(toy: Toy) -> None:
    data = AUDITED.replace("panel", "")
    labels = read_labels(toy(data, columns=AUDIT, tables='[audits.stress]\ndesign = "representative"'))
    assert labels.audit.tolist() == [0, -1, 0, -1]


def test_a_labelled_row_of_no_audit_is_refused_where_there_are_several(toy: Toy) -> None:
    told = refusal(toy(AUDITED.replace("1,panel,1", "1,,1"), columns=AUDIT, tables=AUDITS))
    assert "line 4: a rater labelled it, but audit is empty: which of stress, panel does it belong to?" in told


def test_an_audit_that_is_not_declared_is_refused(toy: Toy) -> None:
    told = refusal(toy(AUDITED.replace("1,,stress", "1,,stres"), columns=AUDIT, tables=AUDITS))
    assert "line 2: audit 'stres' has no [audits] table (did you mean 'stress'?)" in told


def test_inclusion_is_unknown_where_it_is_empty(toy: Toy) -> None:
    inclusion = read_labels(toy(AUDITED, columns=CHANCE, tables=AUDITS)).inclusion
    assert np.array_equal(inclusion, [0.5, np.nan, 1.0, 0.25], equal_nan=True)


@pytest.mark.parametrize("text", ["0", "1.01", "-0.5", "half", "50%", "inf"])
def test_an_inclusion_that_is_no_probability_is_refused(toy: Toy, text: str) -> None:
    told = refusal(toy(AUDITED.replace("stress,0.5", f"stress,{text}"), columns=CHANCE, tables=AUDITS))
    assert f"line 2: inclusion is '{text}': write a probability above 0, at most 1" in told


def test_an_audited_row_without_its_inclusion_is_refused(toy: Toy) -> None:
    told = refusal(toy(AUDITED.replace("stress,0.5", "stress,"), columns=CHANCE, tables=AUDITS))
    assert "line 2: inclusion is empty, but a rater labelled the row" in told


def test_audited_rows_outside_the_target_are_refused(toy: Toy) -> None:
    told = refusal(toy(SYSTEMS, columns=SETS, tables='[target]\npopulation = "new"'), AuditOutsideTargetError)
    assert "1 audited row outside the target population 'new'" in told
    assert "line 2: audited, but set is 'panel'" in told
    assert 'outside = "error-rates"' in told


def test_audited_rows_outside_the_target_may_inform_error_rates(toy: Toy) -> None:
    tables = '[target]\npopulation = "new"\noutside = "error-rates"'
    labels = read_labels(toy(SYSTEMS, columns=SETS, tables=tables))
    assert labels.in_target.tolist() == [False, True, True, True, True]
    assert labels.audited.tolist() == [True, False, False, True, True]


def test_the_target_is_the_code_of_its_population(toy: Toy) -> None:
    tables = '[target]\npopulation = "panel"\nmodels = "rows"\noutside = "error-rates"'
    labels = read_labels(toy(SYSTEMS, columns=SETS, tables=tables))
    assert labels.levels["population"][labels.target] == "panel"


# ---- an ordered scale

LIKERT = "[scale]\nlabels = [1, 2, 3, 4, 5]\n"
SCORES = """item,prompt,flag,anna,ben
Q1,plain,1,2,
Q2,plain,5.0,,
Q3,plain,3,5,4
"""


def test_labels_of_a_scale_are_codes_from_the_worst(toy: Toy) -> None:
    labels = read_labels(toy(SCORES, tables=LIKERT))
    assert labels.scorer.tolist() == [0, 4, 2] and labels.rating.tolist() == [[1, -1], [-1, -1], [4, 3]]


def test_a_scale_may_be_declared_from_best_to_worst_as_written(toy: Toy) -> None:
    """The first label is the worst, whatever its number."""
    assert read_labels(toy(SCORES, tables="[scale]\nlabels = [5, 4, 3, 2, 1]")).scorer.tolist() == [4, 0, 2]


def test_labels_know_their_scale(toy: Toy) -> None:
    assert read_labels(toy(SCORES, tables=LIKERT)).scale == Scale(("1", "2", "3", "4", "5"))


def test_without_a_scale_labels_are_0_and_1(toy: Toy) -> None:
    assert read_labels(toy(GOOD)).scale == Scale(("0", "1"))


def test_a_scale_of_0_and_1_is_the_usual_one(toy: Toy) -> None:
    told = toy(flagged("yes", "0"), columns=LEAST, tables="[scale]\nlabels = [0, 1]")
    assert read_labels(told).scorer.tolist() == [1, 0]


def test_words_are_labels(toy: Toy) -> None:
    told = toy(flagged("good", "bad"), columns=LEAST, tables='[scale]\nlabels = ["bad", "fair", "good"]')
    assert read_labels(told).scorer.tolist() == [2, 0]


def test_a_declared_label_is_one_though_it_reads_like_an_empty_cell(toy: Toy) -> None:
    told = toy(flagged("NA", "fine"), columns=LEAST, tables='[scale]\nlabels = ["NA", "fine"]')
    assert read_labels(told).scorer.tolist() == [0, 1]


@pytest.mark.parametrize("text", ["0", "6", "2.5", "true", "good"])
def test_a_score_that_is_not_on_the_scale_is_refused(toy: Toy, text: str) -> None:
    told = refusal(toy(flagged("1", text), columns=LEAST, tables=LIKERT))
    assert f"line 3: scorer label is {text!r}: write one of 1, 2, 3, 4, 5" in told


def test_a_rating_that_is_not_on_the_scale_is_refused(toy: Toy) -> None:
    told = refusal(toy(SCORES.replace("5,4", "5,9"), tables=LIKERT))
    assert "line 4: ben is '9': write one of 1, 2, 3, 4, 5, or leave it empty" in told


def test_a_missing_score_is_refused(toy: Toy) -> None:
    assert "line 2: scorer label is empty" in refusal(toy(flagged("NA", "1"), columns=LEAST, tables=LIKERT))


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("[scale]", "[scale] labels is missing: write labels = [1, 2, 3, 4, 5], worst to best"),
        ("[scale]\nlabels = [1]", "a scale has 2 to 1000 labels, this one has 1"),
        ("[scale]\nlabels = [1, 2, 3, 4, 5, 6, 7, 8]", "a scorer's scale has at most 7 labels, this one has 8"),
        ("[scale]\nlabels = [1, 2, 1.0]", "label '1' is there twice"),
        ("[scale]\nlevels = [1, 2]", "[scale] levels is unknown (did you mean 'labels'?)"),
    ],
)
def test_an_unusable_scale_is_refused(toy: Toy, table: str, problem: str) -> None:
    with pytest.raises(StudyFileError) as caught:
        toy(SCORES, tables=table)
    assert problem in str(caught.value)


def test_patterns_of_a_scale_hold_its_codes(toy: Toy) -> None:
    patterns = collapse(read_labels(toy(SCORES, tables=LIKERT)))
    assert patterns.pattern_label.tolist() == [[0, 1, -1], [2, 4, 3], [4, -1, -1]]


def test_a_scale_comes_back_from_a_file(toy: Toy) -> None:
    labels = read_labels(toy(SCORES, tables=LIKERT))
    assert Labels.from_dataset(labels.to_dataset()).scale == labels.scale


# ---- rows that cannot be used


@pytest.mark.parametrize("text", ["2", "0.5", "maybe", "-1", "1 0", "N/A"])
def test_a_scorer_label_that_is_not_0_or_1_is_refused(toy: Toy, text: str) -> None:
    assert f"line 3: scorer label is {text!r}: write 1 or 0" in refusal(toy(flagged("1", text), columns=LEAST))


def test_a_rating_that_is_not_0_or_1_is_refused(toy: Toy) -> None:
    told = refusal(toy(GOOD.replace("0,0,1", "0,0,3")))
    assert "line 4: ben is '3': write 1 or 0, true or false, or leave it empty" in told


@pytest.mark.parametrize("text", ["", "NA", "null"])
def test_a_missing_scorer_label_is_refused(toy: Toy, text: str) -> None:
    assert "line 2: scorer label is empty" in refusal(toy(flagged(text, "1"), columns=LEAST))


def test_declared_missing_labels_are_dropped_and_counted_by_arm(toy: Toy) -> None:
    data = GOOD.replace("Q10,plain,0", "Q10,plain,").replace("Q1,certain,1", "Q1,certain,NA")
    labels = read_labels(toy(data, top='missing = "drop"'))
    assert labels.dropped == {"certain": 1, "plain": 1} and labels.line.tolist() == [2, 4, 6]


def test_nothing_dropped_is_nothing_counted(toy: Toy) -> None:
    assert read_labels(toy(GOOD, top='missing = "drop"')).dropped == {}


def test_rows_that_are_all_missing_are_refused(toy: Toy) -> None:
    told = refusal(toy(flagged("NA", "NA"), columns=LEAST, top='missing = "drop"'))
    assert "no row is left of 2" in told


@pytest.mark.parametrize(("line", "role"), [(",plain,1", "key"), ("Q3,,1", "arm")])
def test_an_empty_name_is_refused(toy: Toy, line: str, role: str) -> None:
    assert f"line 2: {role} is empty" in refusal(toy(f"item,prompt,flag\n{line}", columns=LEAST))


def test_every_bad_row_is_told_at_once(toy: Toy) -> None:
    data = GOOD.replace("Q1,plain,1,1", "Q1,plain,7,1").replace("0,0,1", "0,x,1").replace("Q2,certain", "Q2,") + "Q7,x"
    assert [row.split(":")[0] for row in refusal(toy(data)).splitlines()] == [
        "labels.csv",
        "  line 2",
        "  line 4",
        "  line 6",
        "  line 7",
    ]


def test_a_repeated_response_is_refused(toy: Toy) -> None:
    told = refusal(toy(GOOD + "Q1,certain,0,,\n"), DuplicateLabelsError)
    assert "line 7: key 'Q1', arm 'certain': there on line 5 already" in told
    assert '[columns] replicate = "..."' in told


def test_the_same_key_and_arm_of_another_model_or_population_is_no_repeat(toy: Toy) -> None:
    tables = '[target]\npopulation = "new"\noutside = "error-rates"'
    assert read_labels(toy(SYSTEMS, columns=SETS, tables=tables)).n_rows == 5


REPEATS = "item,prompt,flag,n\nQ1,plain,1,1\nQ1,plain,0,2\n"


def test_a_replicate_column_tells_repeats_apart(toy: Toy) -> None:
    assert read_labels(toy(REPEATS, columns=LEAST + 'replicate = "n"')).scorer.tolist() == [1, 0]


def test_a_repeat_of_the_same_replicate_is_refused(toy: Toy) -> None:
    told = refusal(toy(REPEATS.replace("0,2", "0,1"), columns=LEAST + 'replicate = "n"'), DuplicateLabelsError)
    assert "line 3: key 'Q1', arm 'plain', replicate '1': there on line 2 already" in told


CELLS = {  # cells of a column, and whether they say something usable or nothing
    "flag": {"1": True, "no": True, "TRUE": True, "2": False, "": False, "NA": False, "x": False},
    "anna": {"0": True, "1.0": True, "": True, "NA": True, "3": False, "?": False},
    "audit": {"stress": True, "panel": True, "": True, "none": False},
    "p": {"0.5": True, "1": True, "": True, "0": False, "2": False, "half": False},
}
EMPTY = ("", "NA")


def usable(flag: str, anna: str, audit: str, p: str) -> bool:
    """The slow twin: whether one row can be used where two audits and an inclusion probability are declared."""
    written = {"flag": flag, "anna": anna, "audit": audit, "p": p}
    complete = anna in EMPTY or (audit not in EMPTY and p not in EMPTY)
    return complete and all(CELLS[name][text] for name, text in written.items())


@settings(deadline=None)
@given(st.lists(st.tuples(*(st.sampled_from(list(cells)) for cells in CELLS.values())), min_size=1, max_size=12))
def test_exactly_the_rows_that_cannot_be_used_are_told(rows: list[tuple[str, str, str, str]]) -> None:
    lines = [",".join((f"Q{place}", "plain", *row)) for place, row in enumerate(rows)]
    bad = {line for line, row in enumerate(rows, 2) if not usable(*row)}
    columns = LEAST + 'raters = ["anna"]\naudit = "audit"\ninclusion = "p"\n'
    text = DECLARED.format(file="labels.csv", columns=columns, tables=AUDITS, top="")
    with tempfile.TemporaryDirectory() as folder:
        study = parse_scorer_study(text, Path(folder) / "toy.toml")
        study.data.write_text("\n".join(["item,prompt,flag,anna,audit,p", *lines]), encoding="utf-8")
        try:
            told = {*read_labels(study).line.tolist()} - {*range(2, len(rows) + 2)}
        except UnusableRowsError as error:
            told = {line for line, _ in error.rows}
    assert told == bad


# ---- names that the study file and the data do not share


@pytest.mark.parametrize(("treatment", "comparator"), [("certian", "plain"), ("plain", "certian")])
def test_a_contrast_of_an_unknown_arm_is_refused(toy: Toy, treatment: str, comparator: str) -> None:
    told = refusal(toy(GOOD, tables=contrast(treatment, comparator)), UnknownLevelError)
    assert "'certian' has no row in the target (did you mean 'certain'?); arms there: certain, plain" in told


def test_an_arm_with_rows_only_outside_the_target_is_refused_in_a_contrast(toy: Toy) -> None:
    data = SYSTEMS + "Q1,strict,gpt,panel,1,\n"
    tables = '[target]\npopulation = "new"\noutside = "error-rates"\n' + contrast("strict", "plain")
    assert "treatment 'strict' has no row in the target" in refusal(
        toy(data, columns=SETS, tables=tables), UnknownLevelError
    )


def test_an_unknown_target_population_is_refused(toy: Toy) -> None:
    told = refusal(toy(SYSTEMS, columns=SETS, tables='[target]\npopulation = "panels"'), UnknownLevelError)
    assert "[target] population 'panels' does not occur (did you mean 'panel'?); there are new, panel" in told


ONE_SET = LEAST + 'model = "system"\nraters = ["anna"]\n[where]\nset = "new"\n'


def test_a_weight_of_an_unknown_model_is_refused(toy: Toy) -> None:
    tables = "[target]\nmodels = {gpt = 0.5, llama = 0.3, lama = 0.2}"
    told = refusal(toy(SYSTEMS, columns=ONE_SET, tables=tables), UnknownLevelError)
    assert "[target] models weights 'lama' (did you mean 'llama'?); models there: gpt, llama" in told


def test_a_model_without_a_weight_is_refused(toy: Toy) -> None:
    told = refusal(toy(SYSTEMS, columns=ONE_SET, tables="[target]\nmodels = {gpt = 1}"), UnknownLevelError)
    assert "[target] models gives model 'llama' no weight" in told


GAP = SYSTEMS.replace("Q1,plain,llama,new,0,\n", "")


@pytest.mark.parametrize("weights", ['"equal"', "{gpt = 0.5, llama = 0.5}"])
def test_an_empty_cell_of_arm_and_model_is_refused(toy: Toy, weights: str) -> None:
    told = refusal(toy(GAP, columns=ONE_SET, tables=f"[target]\nmodels = {weights}"), EmptyCellsError)
    assert "1 of 4 cells of arm and model have no row" in told and "arm 'plain', model 'llama'" in told


@pytest.mark.parametrize("weights", ['"rows"', "{gpt = 1, llama = 0}"])
def test_an_empty_cell_without_weight_is_allowed(toy: Toy, weights: str) -> None:
    assert read_labels(toy(GAP, columns=ONE_SET, tables=f"[target]\nmodels = {weights}")).n_rows == 3


def test_cells_are_asked_for_in_the_target_only(toy: Toy) -> None:
    tables = '[target]\npopulation = "new"\noutside = "error-rates"'
    data = SYSTEMS + "Q1,strict,gpt,panel,1,\nQ1,plain,qwen,panel,1,\n"
    assert read_labels(toy(data, columns=SETS, tables=tables)).n_rows == 7


# ---- raters and keys


def test_a_rater_absent_from_an_arm_is_allowed_and_counted(toy: Toy) -> None:
    labels = read_labels(toy(GOOD))
    assert labels.levels["arm"] == ("certain", "plain")
    assert rater_arm_counts(labels).tolist() == [[0, 1], [2, 1]]


def test_masked_raters_have_no_labels(toy: Toy) -> None:
    assert mask_raters(read_labels(toy(GOOD)), ["ben"]).rating.tolist() == [
        [-1, -1],
        [-1, -1],
        [-1, 1],
        [-1, 1],
        [-1, -1],
    ]


def test_rows_that_only_masked_raters_labelled_are_not_audited(toy: Toy) -> None:
    assert mask_raters(read_labels(toy(GOOD)), ["ben"]).audit.tolist() == [-1, -1, 0, 0, -1]


def test_masking_leaves_its_argument_alone(toy: Toy) -> None:
    labels = read_labels(toy(GOOD))
    mask_raters(labels, [])
    assert labels.rating.tolist() == read_labels(toy(GOOD)).rating.tolist()


def test_masking_all_but_an_unknown_rater_is_an_error(toy: Toy) -> None:
    with pytest.raises(ValueError, match="no rater carl; raters are anna, ben"):
        mask_raters(read_labels(toy(GOOD)), ["carl"])


def test_keys_of_two_arms(toy: Toy) -> None:
    assert key_matches(read_labels(toy(GOOD)), "plain", "certain") == KeyMatches(both=2, only_a=1, only_b=0)


def test_keys_of_an_unknown_arm(toy: Toy) -> None:
    with pytest.raises(ValueError, match="no arm plane; arms are certain, plain"):
        key_matches(read_labels(toy(GOOD)), "plane", "certain")


def test_keys_outside_the_target_do_not_match(toy: Toy) -> None:
    data = SYSTEMS + "Q9,plain,gpt,panel,1,\nQ9,certain,gpt,panel,1,\n"
    tables = '[target]\npopulation = "new"\noutside = "error-rates"'
    labels = read_labels(toy(data, columns=SETS, tables=tables))
    assert key_matches(labels, "plain", "certain") == KeyMatches(both=1, only_a=0, only_b=0)


# ---- kept in a file

FIELDS = ("scorer", "rating", "audit", "inclusion", "line")


@pytest.fixture
def stored(toy: Toy, tmp_path: Path) -> tuple[Labels, Labels]:
    """Labels before they were written to a file, and after."""
    labels = read_labels(
        toy(AUDITED.replace("Q2,plain,0", "Q2,plain,"), columns=CHANCE, tables=AUDITS, top='missing = "drop"')
    )
    labels.to_dataset().to_netcdf(tmp_path / "labels.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "labels.nc", engine="h5netcdf") as data:
        return labels, Labels.from_dataset(data.load())


@pytest.mark.parametrize("field", FIELDS)
def test_arrays_come_back_from_a_file(stored: tuple[Labels, Labels], field: str) -> None:
    before, after = getattr(stored[0], field), getattr(stored[1], field)
    assert before.dtype == after.dtype and np.array_equal(before, after, equal_nan=before.dtype == np.float64)


@pytest.mark.parametrize("field", ["levels", "raters", "audits", "source", "digest", "dropped", "target", "unrated"])
def test_names_come_back_from_a_file(stored: tuple[Labels, Labels], field: str) -> None:
    assert getattr(stored[0], field) == getattr(stored[1], field)


def test_codes_come_back_from_a_file(stored: tuple[Labels, Labels]) -> None:
    before, after = stored[0].codes, stored[1].codes
    assert list(before) == list(after) and all(np.array_equal(before[name], after[name]) for name in before)


# ---- real labels

REFUSED = ("2_full_refusal", "3_partial_refusal")
SCORERS = {"gpt4_label_raw": 0, "strmatch_label": 1}
CONFUSION = {  # TP, FP, FN, TN against final_label: as the data's README prints them, GPT-4 and string match
    "gpt4": ((16, 0, 5, 229), (17, 16, 4, 213)),
    "llama2new": ((40, 0, 34, 176), (58, 9, 16, 167)),
    "llama2orig": ((88, 2, 61, 99), (113, 8, 36, 93)),
    "mistralguard": ((24, 0, 23, 203), (29, 9, 18, 194)),
    "mistralinstruct": ((0, 0, 4, 246), (2, 2, 2, 244)),
}
ACCEPTED = {  # exact match against people, likewise; one of FiD's 301 answers has neither question nor human label
    "NQ301_text-davinci-003_zeroshot": (38, 0, 176, 87),
    "NQ_FiD": (137, 7, 57, 99),
}


def confusion(labels: Labels) -> dict[str, tuple[int, ...]]:
    """Arm -> TP, FP, FN, TN of the scorer against the one rater, from the pattern counts."""
    patterns = collapse(labels)
    found = np.zeros((len(labels.levels["arm"]), 2, 2), dtype=np.int64)
    rated = patterns.pattern_label[:, 1] >= 0
    scorer, truth = patterns.pattern_label[rated].T
    np.add.at(found, (patterns.cell_arm[patterns.pattern_cell[rated]], scorer, truth), patterns.pattern_count[rated])
    return {
        arm: tuple(int(found[place][cell]) for cell in ((1, 1), (1, 0), (0, 1), (0, 0)))
        for place, arm in enumerate(labels.levels["arm"])
    }


@pytest.mark.parametrize("scorer", SCORERS)
def test_xstest_has_its_printed_confusion(toy: Toy, shared_data: Path, scorer: str) -> None:
    rows = pd.read_csv(shared_data / "xstest" / "safe_prompts.csv")
    rows["flag"] = rows[scorer].isin(REFUSED)  # True and False in the file
    rows["anna"] = rows["final_label"].isin(REFUSED).astype(int)
    columns = 'key = "id"\narm = "model"\nscorer = "flag"\nraters = ["anna"]'
    labels = read_labels(toy(rows.to_csv(index=False), columns=columns))
    assert confusion(labels) == {arm: printed[SCORERS[scorer]] for arm, printed in CONFUSION.items()}


def test_xstest_has_the_same_keys_in_every_arm(toy: Toy, shared_data: Path) -> None:
    rows = pd.read_csv(shared_data / "xstest" / "safe_prompts.csv").assign(flag=0)
    labels = read_labels(toy(rows.to_csv(index=False), columns='key = "id"\narm = "model"\nscorer = "flag"'))
    assert key_matches(labels, "llama2orig", "llama2new") == KeyMatches(both=250, only_a=0, only_b=0)


OPENQA = 'key = "question_id"\narm = "model"\nscorer = "em"\nraters = ["human_acceptable"]'


@pytest.fixture
def openqa(toy: Toy, shared_data: Path) -> Labels:
    """The answers whose question is known."""
    text = (shared_data / "openqa_eval" / "openqa_nq301_long.csv").read_text(encoding="utf-8")
    rows = list(csv.reader(text.splitlines()))
    known = "\n".join(",".join(row) for row in rows if row[0])
    return read_labels(toy(known, columns=OPENQA))


def test_openqa_rows_of_unknown_questions_are_refused_by_line(toy: Toy, shared_data: Path) -> None:
    told = refusal(toy((shared_data / "openqa_eval" / "openqa_nq301_long.csv").read_bytes(), columns=OPENQA))
    assert told.count("key is empty") == 48  # as counted with awk


@pytest.mark.parametrize("arm", ACCEPTED)
def test_openqa_has_its_printed_confusion(openqa: Labels, arm: str) -> None:
    assert confusion(openqa)[arm] == ACCEPTED[arm]


def test_openqa_keys_that_do_not_match_are_reported(openqa: Labels) -> None:
    """All 301 questions have a zero-shot answer; 27 of EMDR2's answers belong to no known question."""
    matches = key_matches(openqa, "NQ301_text-davinci-003_zeroshot", "NQ_EMDR2")
    assert matches == KeyMatches(both=274, only_a=27, only_b=0)
