"""Cards follow the file: what is decided, shown and withheld, from SIMULATED labels and made-up draws. No sampler."""

import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import xarray as xr

from drift.conclusions.scorer import ScorerConclusions, conclude_scorer
from drift.data.scorer_study import parse_scorer_study
from drift.errors import StudyFileError
from drift.estimands.prevalence import prevalence
from drift.estimands.scored import scored
from drift.inference.store import strict_json

STUDY = """\
title = "SIMULATED labels"
labels = "labels.csv"
seed = 1
models = ["misclassification"]
simulated = true
[outcome]
name = "unsupported claim"
[columns]
key = "item"
arm = "arm"
model = "model"
scorer = "flag"
raters = ["rater 0", "rater 1"]
[audits.audit]
design = "representative"
[[contrasts]]
name = "treated - control"
treatment = "treated"
comparator = "control"
tolerance_pp = 5
same_construct = true
"""
PREVALENCE = (0.6, 0.3)
RATE = (0.1, 0.1)
ARMS = ("treated", "control")


def beside(*path: str) -> ModuleType:
    """Another module of the tests."""
    spec = importlib.util.spec_from_file_location(
        path[-1], Path(__file__).parents[1].joinpath(*path[:-1], f"{path[-1]}.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


trees = beside("estimands", "scorer_tree")
schema_problems = beside("conclusions", "test_contrast_card").schema_problems


def simulated(**setting):
    found = trees.simulate_labels(PREVALENCE, RATE, RATE, **({"n_keys": 60, "n_audited": 60} | setting)).labels
    return replace(found, levels=dict(found.levels) | {"arm": ARMS})


def draws_of(labels, truth=PREVALENCE, **setting):
    return trees.jittered(labels, truth, RATE, RATE, **({"spread": 0.1} | setting))


def tree_of(labels, draws=None, *, study=STUDY, without=(), **attrs) -> xr.DataTree:
    """A posterior file with a variant for each rater as the truth, but for those in `without`."""
    draws = draws_of(labels) if draws is None else draws
    variants = {f"truth_is_{rater}": (labels, draws, rater) for rater in labels.raters if rater not in without}
    given = {"study_toml": study, "checks_passed": "true", "checks": "[]", "card": "misclassification"} | attrs
    return trees.scorer_tree(labels, draws, variants=variants, **given)


def study_with(*changes: tuple[str, str]) -> str:
    """The study with texts replaced, each of which must be there."""
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def card_of(labels=None, draws=None, **setting):
    return conclude_scorer(tree_of(simulated() if labels is None else labels, draws, **setting)).cards[0]


@pytest.fixture(scope="module")
def labels():
    return simulated()


@pytest.fixture(scope="module")
def tree(labels):
    return tree_of(labels)


@pytest.fixture(scope="module")
def concluded(tree) -> ScorerConclusions:
    return conclude_scorer(tree)


@pytest.fixture(scope="module")
def card(concluded):
    return concluded.cards[0]


def gate(card, name):
    return next(one for one in card.gates if one.name == name)


def test_a_clear_contrast_whose_gates_hold_is_retained(card):
    assert (card.disposition.decision, [one.passed for one in card.gates]) == ("retain", [True] * 4)


def test_json_is_valid_against_the_schema(card):
    assert schema_problems(json.loads(strict_json(card.as_dict()))) == []


def test_the_numbers_are_those_of_the_estimands(tree, card):
    target = parse_scorer_study(STUDY, Path("study.toml")).target
    by_arm = prevalence(scored(tree), target)
    difference = 100 * (by_arm.sel(arm="treated") - by_arm.sel(arm="control"))
    found = card.declared.corrected_pp
    assert found.mean == pytest.approx(float(difference.mean()))
    assert (found.lower, found.upper) == pytest.approx(np.quantile(difference, [0.025, 0.975]), abs=1e-9)
    assert card.arms[0].corrected.mean == pytest.approx(float(by_arm.sel(arm="treated").mean()))


def test_the_automatic_contrast_is_counted(labels, card):
    counted = [labels.scorer[labels.codes["arm"] == arm].mean() for arm in (0, 1)]
    assert card.declared.automatic_pp == pytest.approx(100 * (counted[0] - counted[1]))


def test_bias_is_automatic_minus_corrected_and_the_sum_of_its_parts(card):
    bias = card.bias
    assert bias.bias_pp.mean == pytest.approx(card.declared.automatic_pp - card.declared.corrected_pp.mean)
    split = bias.from_fpr_pp.mean + bias.from_fnr_pp.mean + bias.from_prevalence_pp.mean
    assert split == pytest.approx(bias.bias_pp.mean)


def test_three_targets_of_which_the_declared_one_is_marked(card):
    assert [(part.prevalence, part.declared) for part in card.contrasts] == [
        ("panel", True),
        ("superpopulation", False),
        ("new-keys", False),
    ]


def test_the_declared_target_is_the_one_decided_on(labels):
    found = card_of(labels, study=study_with(("[audits.audit]", '[target]\nprevalence = "new-keys"\n[audits.audit]')))
    assert found.declared.prevalence == found.target.prevalence == "new-keys"
    assert found.sensitivity[0].corrected_pp == found.declared.corrected_pp


def test_weights_of_the_target_sum_to_one(card):
    assert [sum(weights.values()) for weights in card.target.weights.values()] == pytest.approx([1.0, 1.0])


def test_counts_of_an_arm_are_its_audited_rows(labels, card):
    part = card.confusion[0]
    assert part.tp + part.fp + part.fn + part.tn == int((labels.audited & (labels.codes["arm"] == 0)).sum())


def test_routes_are_listed_below_their_arm():
    found = card_of(simulated(n_strata=2))
    assert [(part.arm, part.stratum) for part in found.confusion] == [
        (arm, stratum) for arm in ARMS for stratum in ("all", "stratum 0", "stratum 1")
    ]
    for whole, *routes in (found.confusion[:3], found.confusion[3:]):
        assert whole.tp == sum(part.tp for part in routes)


def test_the_sensitivity_rows_are_the_model_and_every_variant(card):
    assert [row.name for row in card.sensitivity] == ["", "truth_is_rater 0", "truth_is_rater 1"]


def test_every_card_has_a_file_of_each_kind(concluded, card):
    files = concluded.card_files()
    stem = "simulated-misclassification-1-treated-control"
    assert list(files) == [f"{stem}.json", f"{stem}.md"]
    assert json.loads(files[f"{stem}.json"])["disposition"]["decision"] == "retain"
    assert files[f"{stem}.md"] == card.as_markdown()


def test_a_file_read_again_concludes_the_same(tree, concluded, tmp_path):
    tree.to_netcdf(tmp_path / "posterior.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "posterior.nc", engine="h5netcdf") as read:
        assert conclude_scorer(read.load()).as_dict() == concluded.as_dict()


# What is withheld


FAILED = json.dumps(
    [
        {"name": "rhat", "value": 1.234, "limit": 1.01, "at": "prevalence", "passed": False, "advice": "draw more"},
        {"name": "divergences", "value": 0, "limit": 0, "at": "all chains", "passed": True, "advice": ""},
    ]
)


@pytest.fixture(scope="module")
def withheld(labels):
    return conclude_scorer(tree_of(labels, checks_passed="false", checks=FAILED))


def test_nothing_is_concluded_where_checks_failed(withheld):
    assert withheld.withheld
    assert withheld.as_dict()["cards"] == []


@pytest.mark.parametrize("form", ["as_text", "as_markdown"])
def test_what_is_withheld_has_no_number(withheld, form):
    assert re.findall(r"\d", getattr(withheld, form)()) == []


def test_a_failed_check_is_named_with_its_advice(withheld):
    assert "rhat: draw more" in withheld.as_text()
    assert "divergences" not in withheld.as_text()


@pytest.fixture(scope="module")
def one_withheld(tree):
    changed = tree.copy()
    changed["variants"]["truth_is_rater 1"].attrs["checks_passed"] = "false"
    return conclude_scorer(changed).cards[0]


def test_a_variant_whose_checks_failed_has_no_number(one_withheld):
    row = one_withheld.sensitivity[2]
    assert row.withheld
    assert (row.corrected_pp, row.sign_probability, row.bias_pp) == (None, None, None)
    assert "withheld: its checks failed" in one_withheld.as_text()


def test_a_variant_whose_checks_failed_leaves_the_decision_open(one_withheld):
    assert gate(one_withheld, "same key").passed is None
    assert one_withheld.disposition.decision == "qualify"


def test_json_of_a_withheld_variant_is_valid(one_withheld):
    assert schema_problems(json.loads(strict_json(one_withheld.as_dict()))) == []


def test_a_rater_who_was_never_taken_for_the_truth_leaves_the_decision_open(labels):
    assert gate(card_of(labels, without=("rater 0",)), "same key").passed is None


# What decides


@pytest.mark.parametrize(
    ("change", "decision"),
    [
        (("same_construct = true", "same_construct = false"), "quarantine"),
        (("same_construct = true\n", ""), "undecided"),
        (('design = "representative"', 'design = "unrecorded"'), "quarantine"),
        (
            (
                'design = "representative"',
                'design = "representative"\nversions = {scorer = "1"}\n[versions]\nscorer = "2"',
            ),
            "quarantine",
        ),
        (("[[contrasts]]", "[gates]\nsame_keys = 61\n[[contrasts]]"), "qualify"),
        (("[[contrasts]]", "[gates]\nsame_keys = 60\n[[contrasts]]"), "retain"),
        (("[[contrasts]]", "[gates]\npositives = 500\n[[contrasts]]"), "qualify"),
    ],
)
def test_declarations_decide(labels, change, decision):
    assert card_of(labels, study=study_with(change)).disposition.decision == decision


def test_a_poor_predictive_check_quarantines(labels):
    found = card_of(labels, predictive=json.dumps({"agreement by arm": 0.004}))
    assert found.disposition.decision == "quarantine"
    assert "agreement by arm = 0.004" in gate(found, "transport").reason


def test_limits_that_cannot_be_are_refused(labels):
    with pytest.raises(StudyFileError, match="gama is unknown"):
        card_of(labels, study=study_with(("[[contrasts]]", "[gates]\ngama = 0.9\n[[contrasts]]")))


def test_a_contrast_that_truth_reverses_is_rejected():
    """Every row audited: the truth imputed is what the raters said, and they say the opposite of the scorer."""
    every = simulated(n_audited=200)
    turned = replace(every, scorer=(1 - every.scorer).astype(np.int8))
    found = card_of(turned, trees.jittered(turned, PREVALENCE, (0.9, 0.9), (0.9, 0.9), spread=0.1))
    assert found.disposition.decision == "reject"
    assert "every reference reverses the sign" in found.disposition.reasons[0]


def test_inverted_labels_are_remarked_on():
    turned = simulated()
    turned = replace(turned, scorer=(1 - turned.scorer).astype(np.int8))
    found = card_of(turned, trees.jittered(turned, PREVALENCE, (0.9, 0.9), (0.9, 0.9), spread=0.1))
    assert found.arms[0].inverted == 1.0
    assert any("point the wrong way" in remark for remark in found.remarks)


def test_a_zero_automatic_contrast_decides_nothing(labels):
    same = replace(labels, scorer=(np.arange(labels.n_rows) % 2).astype(np.int8))
    found = card_of(same)
    assert found.declared.automatic_pp == 0.0
    assert found.disposition.decision == "undecided"


def test_an_arm_with_one_label_is_remarked_on(labels):
    constant = np.where(labels.codes["arm"] == 0, 1, labels.scorer).astype(np.int8)
    found = card_of(replace(labels, scorer=constant))
    assert "the scorer labels every response in treated 1" in found.remarks


def test_an_arm_without_audited_positives_has_an_answer_and_no_retain(labels):
    none = np.where((labels.codes["arm"] == 1)[:, None] & (labels.rating == 1), 0, labels.rating).astype(np.int8)
    found = card_of(replace(labels, rating=none))
    assert gate(found, "observation").passed is False
    assert found.disposition.decision == "qualify"
    assert found.confusion[1].fnr_counted.rows == 0


def test_an_estimate_that_the_prior_decides_is_no_retain(labels):
    """The prior is what the posterior is: the data have said nothing."""
    draws = draws_of(labels)
    study = study_with(("[audits.audit]", '[target]\nprevalence = "superpopulation"\n[audits.audit]'))
    attrs = {"study_toml": study, "checks_passed": "true", "checks": "[]", "card": "misclassification"}
    prior = {name: values.reshape(1, -1, *values.shape[2:]) for name, values in draws.items()}
    variants = {f"truth_is_{rater}": (labels, draws, rater) for rater in labels.raters}
    found = conclude_scorer(trees.scorer_tree(labels, draws, prior=prior, variants=variants, **attrs)).cards[0]
    assert [part.sd_ratio for part in found.prior] == pytest.approx([1.0] * len(found.prior))
    assert found.disposition.decision == "qualify"
    assert found.disposition.reasons[0].startswith("rests on the prior: corrected contrast")


def test_a_post_stratified_estimate_far_from_the_model_is_remarked_on(labels):
    """The draws say 95% and 5%, the audited rows about 60% and 30%."""
    found = card_of(labels, draws_of(labels, (0.95, 0.05)))
    assert any("post-stratified (Jeffreys) estimate" in remark for remark in found.remarks)


# What the raters can tell


def test_independent_raters_identify_and_raters_who_share_errors_do_not(card):
    assert [part.nullity for part in card.identification] == [0, 2]


def test_one_fallible_rater_leaves_two_directions_to_the_prior():
    study = study_with(('raters = ["rater 0", "rater 1"]', 'raters = ["rater 0"]'))
    found = card_of(simulated(n_raters=1), study=study)
    assert [part.nullity for part in found.identification] == [2]
    assert "whatever their number" in found.as_text()


def test_a_reference_leaves_nothing_open_and_needs_no_other(labels):
    draws = draws_of(labels)
    attrs = {"study_toml": STUDY, "checks_passed": "true", "checks": "[]", "card": "misclassification-reference"}
    found = conclude_scorer(trees.scorer_tree(labels, draws, reference="rater 1", **attrs)).cards[0]
    assert found.raters.reference == "rater 1"
    assert [part.nullity for part in found.identification] == [0]
    assert gate(found, "same key").passed is True


def test_a_study_without_raters_has_a_card_and_no_retain():
    plain = simulated()
    bare = replace(
        plain,
        raters=(),
        rating=np.zeros((plain.n_rows, 0), np.int8),
        audit=np.full(plain.n_rows, -1),
        audits=(),
    )
    study = study_with(('raters = ["rater 0", "rater 1"]\n', ""), ('[audits.audit]\ndesign = "representative"\n', ""))
    found = card_of(bare, study=study)
    assert found.disposition.decision == "quarantine"
    assert schema_problems(json.loads(strict_json(found.as_dict()))) == []


def test_a_rater_absent_from_an_arm_is_remarked_on(labels):
    rating = labels.rating.copy()
    rating[labels.codes["arm"] == 1, 1] = -1
    found = card_of(replace(labels, rating=rating))
    assert "rater 1 labelled nothing in control: its error rates there are those of the other arms" in found.remarks


def test_other_methods_say_whose_labels_they_take(card):
    assert {part.truth for part in card.comparators} == {"rater 0"}
    assert "taken for the truth: rater 0" in card.as_text()


def test_flips_are_whole_numbers_of_the_labels_there(card):
    assert [part.rater for part in card.fragility] == ["rater 0", "rater 1"]
    assert all(0 < part.flips_to_doubt <= part.flips_to_zero < part.rows for part in card.fragility)


def test_simulated_data_are_called_simulated_everywhere(card):
    assert "SIMULATED" in card.as_text()
    assert "SIMULATED" in card.as_markdown()
    assert "the data are simulated: nothing follows for any model or prompt" in card.prohibited


def test_a_quarantined_contrast_prohibits_every_statement_on_it(labels):
    found = card_of(labels, study=study_with(("same_construct = true", "same_construct = false")))
    assert (
        "no statement on treated - control: neither its sign nor its size, automatic or corrected" in found.prohibited
    )


def test_a_study_without_contrasts_concludes_nothing(labels):
    study = STUDY[: STUDY.index("[[contrasts]]")]
    assert "no contrast" in conclude_scorer(tree_of(labels, study=study)).as_text()
