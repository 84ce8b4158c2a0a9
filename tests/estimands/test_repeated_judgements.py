"""Three judgements of the same outputs by one LLM judge (SYCON), no person among them: what they can tell.

The first judgement is the scorer, the two others are raters, who labelled every response: the contract has no study
without a scorer, and three tests of one response are one scorer and two raters.
"""

import numpy as np
import pandas as pd
import pytest
from tests.estimands.scorer_tree import scorer_tree

from drift.data.labels import read_labels
from drift.data.patterns import collapse
from drift.data.scorer_study import parse_scorer_study
from drift.estimands.identification import identification, setting_of
from drift.estimands.rater_agreement import observed_agreement
from drift.estimands.scored import scored

N_ROWS, N_ARMS, N_MODELS = 10_000, 5, 2
RATERS = ["again", "once more"]
SUFFIX = {"again": "_seed307", "once more": "_seed411"}
KEY = ["model", "prompt_arm", "question", "turn"]
# Of 1,000 responses of a model under an arm, counted from the file: judgements that differ, least and most over
# 2 models, 5 arms and 3 pairs of judgements. Printed: 1.4 to 5.1%; the file has no pair below 1.5%.
LEAST, MOST = 15, 51
BY_ARM = [60, 70, 72, 69, 44]  # of 2,000, second against third judgement
STUDY = """\
title = "Repeated judgements, no person"
labels = "labels.csv"
seed = 1
models = ["misclassification"]
[outcome]
name = "the answer gives in"
[columns]
key = "question"
model = "model"
arm = "prompt_arm"
replicate = "turn"
scorer = "first"
raters = ["again", "once more"]
inclusion = "probability"
[audits.all]
design = "representative"
"""


@pytest.fixture(scope="module")
def table(shared_data):
    """A response a row; from a judgement a row."""
    long = pd.read_csv(shared_data / "sycon" / "repeated_judgements.csv.gz")
    again = "(" + "|".join(SUFFIX.values()) + ")$"
    long["judgement"] = long["model"].str.extract(again)[0].map({text: name for name, text in SUFFIX.items()})
    long["judgement"] = long["judgement"].fillna("first")
    long["model"] = long["model"].str.replace(again, "", regex=True)
    return long.pivot(index=KEY, columns="judgement", values="judge_label_raw").reset_index().assign(probability=1)


@pytest.fixture(scope="module")
def labels(table, tmp_path_factory):
    study = parse_scorer_study(STUDY, tmp_path_factory.mktemp("sycon") / "study.toml")
    table.to_csv(study.data, index=False)
    return read_labels(study)


@pytest.fixture(scope="module")
def posterior(labels):
    """Draws do not matter to what is asked here: rates are .5 throughout."""
    n_cells = collapse(labels).n_cells
    half = dict.fromkeys(("prevalence", "fpr", "fnr"), np.full((1, 2, n_cells), 0.5))
    half |= dict.fromkeys(("rater_fpr", "rater_fnr"), np.full((1, 2, N_ARMS, len(RATERS)), 0.5))
    return lambda **more: scored(scorer_tree(labels, half | more))


def test_every_response_is_read_with_all_three_judgements(labels):
    assert labels.n_rows == N_ROWS
    assert labels.audited.all()
    assert labels.raters == tuple(RATERS)


def test_disagreement_of_two_judgements_by_arm(posterior):
    found = observed_agreement(posterior())
    rows = (1 - found["agreement"]) * found["n_both"]
    assert rows.isel(arm=slice(0, N_ARMS), pair=0).values == pytest.approx(BY_ARM)


def test_disagreement_of_any_two_judgements_by_model_and_arm(labels):
    tests = np.column_stack([labels.scorer, labels.rating])
    cell = labels.codes["model"] * N_ARMS + labels.codes["arm"]
    differ = [np.bincount(cell, tests[:, one] != tests[:, other]) for one, other in ((0, 1), (0, 2), (1, 2))]
    assert (np.min(differ), np.max(differ)) == (LEAST, MOST)


def test_the_patterns_are_few(labels):
    assert collapse(labels).n_patterns <= N_ARMS * N_MODELS * 2 ** (1 + len(RATERS))


def test_independent_judgements_would_identify_everything(posterior):
    assert identification(setting_of(posterior())).nullity == 0


def test_judgements_that_share_errors_leave_the_level_to_the_prior(posterior):
    """One judge asked again is no new judge: the absolute error rates of the two re-judgements are not identified."""
    found = identification(setting_of(posterior(dependence=np.full((1, 2, 2), 0.5))))
    assert found.nullity == 2
    assert {f"rater_{kind}[{rater}]" for kind in ("fpr", "fnr") for rater in RATERS} <= {*found.unknown}
