"""Contrast cards of an ordinal scorer: gates, disposition and sensitivity follow the file. SIMULATED; no sampler."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from drift.conclusions.audited import arm_audit
from drift.conclusions.gates import equals
from drift.conclusions.ordinal_card import _arm_audit
from drift.conclusions.ordinal_scorer import conclude_ordinal_scorer
from drift.data.labels import Labels, mask_raters
from drift.data.patterns import collapse
from drift.inference.store import strict_json
from drift.scale import Scale

STUDY = """\
title = "SIMULATED scores"
labels = "labels.csv"
simulated = true
seed = 1
models = ["misclassification-ordinal"]
[outcome]
name = "quality"
[scale]
labels = [1, 2, 3]
[columns]
key = "item"
arm = "arm"
scorer = "judge"
raters = ["ann", "bob"]
[audits.all]
design = "representative"
[[contrasts]]
name = "treated - control"
treatment = "treated"
comparator = "control"
tolerance_pp = 5
same_construct = true
"""
N_KEYS, N_AUDITED, DRAWS = 80, 40, (2, 200)
SHARE = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])  # treated, control
RIGHT = np.array([[0.9, 0.08, 0.02], [0.06, 0.88, 0.06], [0.02, 0.08, 0.9]])
RATERS = ("ann", "bob")


def labels_of(scorer=None, n_labels=3) -> Labels:
    """Every key in both arms; both raters label the first keys of each arm, and rightly."""
    rng = np.random.default_rng(3)
    arm, key = np.indices((2, N_KEYS)).reshape(2, -1)
    truth = (rng.random((arm.size, 1)) > SHARE.cumsum(axis=1)[arm][:, :-1]).sum(axis=1)
    truth = np.minimum(truth, n_labels - 1)
    said = (rng.random((arm.size, 1)) > RIGHT.cumsum(axis=1)[truth][:, :-1]).sum(axis=1)
    zero = np.zeros(arm.size, np.int64)
    audited = key < N_AUDITED
    return Labels(
        scorer=np.minimum(said if scorer is None else scorer(truth), n_labels - 1).astype(np.int8),
        rating=np.where(audited[:, None], truth[:, None], -1).repeat(2, axis=1).astype(np.int8),
        codes={"key": key, "arm": arm, "model": zero, "stratum": zero, "population": zero},
        levels={
            "key": tuple(map(str, range(N_KEYS))),
            "arm": ("treated", "control"),
            **dict.fromkeys(("model", "stratum", "population"), ("all",)),
        },
        raters=RATERS,
        audit=np.where(audited, 0, -1),
        audits=("all",),
        inclusion=np.full(arm.size, np.nan),
        line=np.arange(2, arm.size + 2),
        source="simulated",
        digest="",
        dropped={},
        target=0,
        unrated={},
        scale=Scale(tuple(str(place + 1) for place in range(n_labels))),
    )


def draws_of(share=SHARE, confusion=RIGHT, concentration=200.0, seed=1) -> xr.Dataset:
    """Dirichlet draws about the shares of arms; one confusion table of the scorer, and raters who are nearly right."""
    rng = np.random.default_rng(seed)
    shares = np.stack([rng.dirichlet(concentration * row, DRAWS) for row in share], axis=2)
    scorer = np.broadcast_to(confusion, (*DRAWS, 2, 3, 3))
    rater = np.broadcast_to(0.97 * np.eye(3) + 0.01, (*DRAWS, 2, 3, 3))
    dims = {"class_share": ("cell", "truth"), "scorer_confusion": ("cell", "truth", "label")}
    dims["rater_confusion"] = ("rater", "truth", "label")
    values = dict(zip(dims, (shares, scorer, rater), strict=True))
    names = ["1", "2", "3"]
    return xr.Dataset(
        {name: (("chain", "draw", *dims[name]), value) for name, value in values.items()},
        {"truth": names, "label": names},
    )


def tree_of(labels=None, posterior=None, *, study=STUDY, without=(), **attrs) -> xr.DataTree:
    """A posterior file with each rater as the truth, but for those in `without`, and the wide prior."""
    labels = labels_of() if labels is None else labels
    posterior = draws_of() if posterior is None else posterior
    patterns = collapse(labels).to_dataset()
    groups = {
        "posterior": posterior,
        "prior": draws_of(np.full((2, 3), 1 / 3), concentration=3.0),
        "constant_data": labels.to_dataset().merge(patterns.drop_vars("pattern_count")),
        "observed_data": patterns[["pattern_count"]],
    }
    masked = {f"truth_is_{rater}": mask_raters(labels, [rater]) for rater in RATERS if rater not in without}
    for name, some in {"wide_rater_prior": labels, **masked}.items():
        own = collapse(some).to_dataset().drop_vars([f"cell_{f}" for f in ("arm", "model", "stratum", "population")])
        groups[f"variants/{name}"] = posterior.merge(own).assign_attrs(title=name, checks_passed="true")
    tree = xr.DataTree.from_dict(groups)
    given = {"study": "scores", "study_toml": study, "checks_passed": "true", "checks": "[]", "seed": 5}
    tree.attrs = given | {"kind": "labels", "card": "misclassification-ordinal", "simulated": "true"} | attrs
    return tree


def card_of(*arguments, **setting):
    return conclude_ordinal_scorer(tree_of(*arguments, **setting)).cards[0]


def gate(card, name):
    return next(one for one in card.gates if one.name == name)


@pytest.fixture(scope="module")
def concluded():
    return conclude_ordinal_scorer(tree_of())


@pytest.fixture(scope="module")
def card(concluded):
    return concluded.cards[0]


def test_a_clear_contrast_whose_gates_hold_is_retained(card):
    assert (card.disposition.decision, [one.passed for one in card.gates]) == ("retain", [True] * 4)


def test_the_numbers_of_the_card_are_those_of_the_table(concluded, card):
    (row,) = concluded.contrasts
    assert card.corrected_pp.mean == pytest.approx(row["corrected"])
    assert card.automatic_pp == pytest.approx(row["automatic"])
    assert card.bias_pp.mean == pytest.approx(card.automatic_pp - card.corrected_pp.mean)
    assert card.within == pytest.approx(row["P(|bias| < 5)"])


def test_audited_rows_are_counted_by_label(card):
    assert {arm: sum(counts.values()) for arm, counts in card.audited.items()} == {
        "treated": N_AUDITED,
        "control": N_AUDITED,
    }


def test_with_two_labels_the_observation_gate_counts_positives_and_negatives():
    labels = labels_of(n_labels=2)
    for arm in ("treated", "control"):
        assert _arm_audit(labels, arm) == arm_audit(labels, arm)


def test_an_arm_where_everything_audited_is_of_the_best_label_has_no_retain():
    labels = labels_of()
    best = np.where((labels.codes["arm"] == 1)[:, None] & (labels.rating >= 0), 2, labels.rating).astype(np.int8)
    found = card_of(replace(labels, rating=best))
    assert gate(found, "observation").passed is False
    assert found.disposition.decision == "qualify"


@pytest.mark.parametrize(
    ("old", "new", "decision"),
    [
        ("same_construct = true", "same_construct = false", "quarantine"),
        ("same_construct = true\n", "", "undecided"),
        ('design = "representative"', 'design = "unrecorded"', "quarantine"),
        ("[[contrasts]]", f"[gates]\nsame_keys = {N_KEYS + 1}\n[[contrasts]]", "qualify"),
        ("[[contrasts]]", f"[gates]\nsame_keys = {N_KEYS}\n[[contrasts]]", "retain"),
    ],
)
def test_declarations_decide(old, new, decision):
    assert old in STUDY
    assert card_of(study=STUDY.replace(old, new)).disposition.decision == decision


def test_a_poor_predictive_check_quarantines():
    found = card_of(predictive=json.dumps({"agreement": 0.004}))
    assert found.disposition.decision == "quarantine"
    assert f"agreement {equals('0.004')}" in gate(found, "transport").reason


def test_a_contrast_that_every_reference_reverses_is_rejected():
    """The judge gives the opposite label; the draws say so."""
    turned = labels_of(lambda truth: 2 - truth)
    found = card_of(turned, draws_of(confusion=RIGHT[::-1]))
    assert found.disposition.decision == "reject"
    assert found.disposition.reasons[0].startswith("every reference reverses the sign")


def test_a_posterior_that_is_its_prior_is_no_retain():
    tree = tree_of(study=STUDY.replace("[audits.all]", '[target]\nprevalence = "superpopulation"\n[audits.all]'))
    tree["prior"] = tree["posterior"].to_dataset()
    found = conclude_ordinal_scorer(tree).cards[0]
    assert found.disposition.decision == "qualify"
    assert found.disposition.reasons[0].startswith("rests on the prior: corrected contrast")


def test_sensitivity_rows_are_the_model_and_every_variant(card):
    assert [row.name for row in card.sensitivity] == ["", "wide_rater_prior", "truth_is_ann", "truth_is_bob"]


def test_a_rater_who_was_never_taken_for_the_truth_leaves_the_decision_open():
    found = card_of(without=("bob",))
    assert gate(found, "same key").passed is None
    assert found.disposition.decision == "qualify"


def test_a_variant_whose_checks_failed_has_no_number():
    tree = tree_of()
    tree["variants"]["truth_is_bob"].attrs["checks_passed"] = "false"
    found = conclude_ordinal_scorer(tree)
    row = found.cards[0].sensitivity[-1]
    assert (row.withheld, row.corrected_pp, row.sign_probability) == (True, None, None)
    assert "withheld: its checks failed" in found.as_text()


def test_nothing_is_decided_where_checks_failed():
    failed = json.dumps([{"name": "rhat", "passed": False, "advice": "draw more"}])
    assert conclude_ordinal_scorer(tree_of(checks_passed="false", checks=failed)).cards == ()


def test_the_text_says_what_is_decided_and_what_is_not_here(concluded):
    text = concluded.as_text()
    assert "RETAIN: the automatic contrast may be published" in text
    assert "not on this card: a variant in which raters share errors" in text
    assert "SIMULATED" in text


def test_json_has_everything(concluded):
    found = json.loads(strict_json(concluded.as_dict()))
    assert found["cards"][0]["disposition"]["decision"] == "retain"
    assert found["cards"][0]["gates"][0]["name"] == "construct"
