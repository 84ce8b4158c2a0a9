"""Posterior predictive checks of labels: against single rows drawn one by one, and on SIMULATED panels that misfit."""

from dataclasses import replace

import numpy as np
import pytest
from tests.estimands.scorer_tree import jittered, labels_of, scorer_tree, simulate_labels

from drift.data.labels import read_labels
from drift.data.scorer_study import parse_scorer_study
from drift.data.simulate_audits import AuditPlan
from drift.data.simulate_labels import PanelSetting, Rater, simulate_panel
from drift.estimands.ordinal_scorer import OrdinalScored
from drift.estimands.predictive_check import AGREEMENT, TABLES, ordinal_predictive_p, predictive_p
from drift.estimands.scored import scored
from drift.inference.compiled import compile_model, structure_key
from drift.inference.sampling import Settings, sample
from drift.jobs.labels import stored_labels
from drift.models.cards import build_model, parse_card
from drift.models.label_frame import labels_frame
from drift.models.rater_assumptions import rater_assumptions

PREVALENCE, RATE = (0.3, 0.5), (0.1, 0.2)
GATE = 0.01  # the limit of the transport gate
FINE = 0.05  # well-specified panels seldom lie below it: the check is conservative


# ---- made-up draws


def scored_of(labels, **setting):
    draws = jittered(labels, PREVALENCE, RATE, RATE, **setting)
    return scored(scorer_tree(labels, draws))


def row_by_row(of, rng):
    """The slow twin: each rated row's truth, then its ratings, one at a time; X2 of every table, one at a time."""
    beyond = {TABLES: 0, AGREEMENT: 0}
    rows = [p for p, n in enumerate(of.pattern_count) for _ in range(n) if (of.pattern_label[p, 1:] >= 0).any()]
    for draw in range(of.n_draws):
        expected, seen, again = {}, {}, {}
        for p in rows:
            cell, label = of.pattern_cell[p], of.pattern_label[p]
            arm, model = of.cell_arm[cell], of.cell_model[cell]
            one = of.prevalence[draw, cell] * (of.fnr[draw, cell] if label[0] == 0 else 1 - of.fnr[draw, cell])
            none = 1 - of.prevalence[draw, cell]
            none *= of.fpr[draw, cell] if label[0] == 1 else 1 - of.fpr[draw, cell]
            chance = one / (one + none)
            truth = rng.random() < chance
            alarm, miss = of.rater_fpr[draw, arm], of.rater_fnr[draw, arm]
            drawn = rng.random(len(alarm)) < np.where(truth, 1 - miss, alarm)
            for r in np.flatnonzero(label[1:] >= 0):
                p_one = chance * (1 - miss[r]) + (1 - chance) * alarm[r]
                for v in (0, 1):
                    key = (TABLES, arm, model, label[0], r, v)
                    expected[key] = expected.get(key, 0) + (p_one if v else 1 - p_one)
                    seen[key] = seen.get(key, 0) + (label[1 + r] == v)
                    again[key] = again.get(key, 0) + (drawn[r] == v)
            if (label[1:] >= 0).all():
                same = chance * ((1 - miss).prod() + miss.prod()) + (1 - chance) * ((1 - alarm).prod() + alarm.prod())
                for v in (0, 1):
                    key = (AGREEMENT, arm, v)
                    expected[key] = expected.get(key, 0) + (same if v else 1 - same)
                    seen[key] = seen.get(key, 0) + ((label[1] == label[2]) == v)
                    again[key] = again.get(key, 0) + ((drawn[0] == drawn[1]) == v)
        for name in beyond:
            x2 = [sum((n[k] - e) ** 2 / e for k, e in expected.items() if k[0] == name) for n in (seen, again)]
            beyond[name] += x2[1] >= x2[0]
    return {name: count / of.n_draws for name, count in beyond.items()}


@pytest.mark.parametrize("seed", [1, 2])
def test_p_is_that_of_rows_drawn_one_by_one(seed):
    """1,000 draws each: a difference of two shares has a standard error of at most .022; four of them."""
    labels = simulate_labels(PREVALENCE, RATE, RATE, n_audited=15, rater_error=0.05, seed=seed).labels
    rating = labels.rating.copy()
    rating[::3, 1] = -1  # the second rater has gaps
    of = scored_of(replace(labels, rating=rating), n_draws=500, rater_error=0.05)
    expected = row_by_row(of, np.random.default_rng(seed))
    assert predictive_p(of) == pytest.approx(expected, abs=0.09)


def test_labels_unlike_the_draws_have_a_small_p():
    """The raters say 1 of most rows that the scorer called 0."""
    labels = simulate_labels(PREVALENCE, RATE, RATE).labels
    turned = np.where(labels.rating >= 0, 1 - labels.rating, -1).astype(np.int8)
    assert predictive_p(scored_of(replace(labels, rating=turned)))[TABLES] < 1 / 400


def test_raters_who_always_agree_differ_from_raters_who_err():
    labels = simulate_labels(PREVALENCE, RATE, RATE, n_audited=60, n_keys=60, rater_error=1e-9).labels
    assert predictive_p(scored_of(labels, rater_error=0.2))[AGREEMENT] < GATE


def test_a_study_without_raters_has_no_check():
    labels = labels_of([0, 1, 1, 0], np.zeros((4, 0)), arm=[0, 0, 1, 1], raters=())
    assert predictive_p(scored_of(labels)) == {}


def test_one_rater_has_no_agreement():
    assert {*predictive_p(scored_of(simulate_labels(PREVALENCE, RATE, RATE, n_raters=1).labels))} == {TABLES}


def test_p_is_the_same_whenever_it_is_computed():
    of = scored_of(simulate_labels(PREVALENCE, RATE, RATE).labels)
    assert predictive_p(of) == predictive_p(of)


def test_two_ordered_labels_are_labels_0_and_1():
    of = scored_of(simulate_labels(PREVALENCE, RATE, RATE).labels)

    def tables(fpr, fnr):
        return np.stack([np.stack([1 - fpr, fpr], axis=-1), np.stack([fnr, 1 - fnr], axis=-1)], axis=-2)

    alike = {
        name: getattr(of, name) for name in ("row_arm", "row_model", "row_population", "target", "n_chains", "seed")
    }
    alike |= {f"pattern_{name}": getattr(of, f"pattern_{name}") for name in ("cell", "label", "count")}
    alike |= {f"cell_{name}": getattr(of, f"cell_{name}") for name in ("arm", "model", "population")}
    ordinal = OrdinalScored(
        class_share=np.stack([1 - of.prevalence, of.prevalence], axis=-1),
        scorer_confusion=tables(of.fpr, of.fnr),
        rater_confusion=tables(of.rater_fpr[:, 0], of.rater_fnr[:, 0]),
        column_rater=np.arange(2),
        levels=of.levels,
        labels=("0", "1"),
        **alike,
    )
    by_arm = replace(of, **{k: np.repeat(getattr(of, k)[:, :1], 2, axis=1) for k in ("rater_fpr", "rater_fnr")})
    assert ordinal_predictive_p(ordinal) == pytest.approx(predictive_p(by_arm), abs=1e-2)  # the same random numbers


# ---- fits: three SIMULATED panels of one structure, and a card that takes errors to be alike in all models

IGNORES = """\
+++
builder = "misclassification"
[priors]
sd_fpr_model = {fixed = 0.001}
sd_fnr_model = {fixed = 0.001}
sd_fpr_arm_model = {fixed = 0.001}
sd_fnr_arm_model = {fixed = 0.001}
+++
"""
PANEL = PanelSetting(
    arms=("a", "b", "c"),
    prevalence=(0.5, 0.4, 0.3),
    fpr=(0.05, 0.1, 0.2),
    fnr=(0.05, 0.05, 0.1),
    n_models=4,
    n_keys=100,
    audits=(AuditPlan("random", size=200),),
)
ONE_ARM = Rater(fpr=(0.02, 0.02, 0.25), fnr=(0.03, 0.03, 0.25))
PLANTED = {
    "as the card has it": PANEL,
    "errors of the scorer differ by model": replace(PANEL, error_arm_model_sd=1.0),
    "raters share errors in one arm": replace(PANEL, raters=(ONE_ARM, ONE_ARM), dependence=(0.5, 0.5)),
}
STUDY = """\
title = "SIMULATED"
labels = "labels.csv"
simulated = true
seed = 1
models = ["misclassification"]
[outcome]
name = "label 1"
[columns]
key = "item"
arm = "arm"
model = "model"
scorer = "flag"
raters = ["rater_1", "rater_2"]
audit = "audit"
[audits.random]
design = "representative"
sampled_on = ["arm", "model"]
"""


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    found = {}
    for name, setting in PLANTED.items():
        study = parse_scorer_study(STUDY, tmp_path_factory.mktemp("panel") / "study.toml")
        simulate_panel(setting, 7).table.to_csv(study.data, index=False)
        labels, card = read_labels(study), parse_card(IGNORES, "ignores")
        frame = labels_frame(labels, rater_assumptions(card, labels, None))
        key = structure_key({"card": card.digest, **frame.structure()})
        compiled = compile_model(lambda frame=frame, card=card: build_model(card, frame), key)
        settings = Settings(draws=500, tune=400, chains=2, target_accept=0.9)
        tree = sample(compiled, frame.arrays, frame.coords, settings, 7, cores=1, progress=False)
        data = stored_labels(labels, frame)
        tree["constant_data"], tree["observed_data"] = data.drop_vars("pattern_count"), data[["pattern_count"]]
        tree.attrs["seed"] = 7
        found[name] = predictive_p(scored(tree))
    return found


def test_a_panel_as_the_card_has_it_has_no_small_p(fitted):
    assert min(fitted["as the card has it"].values()) > FINE


def test_errors_that_differ_by_model_and_are_ignored_show_in_the_tables(fitted):
    found = fitted["errors of the scorer differ by model"]
    assert found[TABLES] < GATE
    assert found[AGREEMENT] > FINE


def test_errors_that_raters_share_in_one_arm_show_in_their_agreement(fitted):
    assert fitted["raters share errors in one arm"][AGREEMENT] < GATE
