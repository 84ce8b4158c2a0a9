"""Counts of audited rows by hand: confusion, audits, what no audit could choose from, identical keys; SIMULATED."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from drift.conclusions.audited import (
    arm_audit,
    arm_rows,
    audit_parts,
    audit_records,
    counted,
    paired,
    prompts,
    rate,
    unsampled,
)
from drift.data.labels import Labels
from drift.data.scorer_declaration import Audit
from drift.data.scorer_study import parse_scorer_study
from drift.frequentist.audit_table import Confusion

STUDY = """\
title = "SIMULATED"
labels = "labels.csv"
seed = 1
models = ["misclassification"]
simulated = true
[outcome]
name = "claim"
[columns]
key = "item"
arm = "arm"
model = "model"
route = "route"
scorer = "flag"
raters = ["r1", "r2"]
audit = "audit"
[audits.main]
design = "representative"
[[contrasts]]
name = "a - b"
treatment = "a"
comparator = "b"
tolerance_pp = 5
same_construct = true
"""


def study(**audits):
    """The study with these audits (name -> (design, sampled on)); one representative audit where none are named."""
    found = parse_scorer_study(STUDY, Path("study.toml"))
    made = tuple(Audit(name, design, on) for name, (design, on) in audits.items())
    return replace(found, audits=made or found.audits)


CONTRAST = study().contrasts[0]


def labels(rows, audits=("main",)):
    """Labels of (key, arm, model, route, scorer, r1, r2, audit, population) rows; -1 where there is none."""
    key, arm, model, route, scorer, first, second, audit, population = map(np.array, zip(*rows, strict=True))
    codes = {"key": key, "arm": arm, "model": model, "stratum": route, "population": population}
    names = {"key": "k", "model": "m", "stratum": "route ", "population": "p"}
    levels = {n: tuple(f"{short}{i}" for i in range(codes[n].max() + 1)) for n, short in names.items()}
    return Labels(
        scorer=scorer.astype(np.int8),
        rating=np.column_stack([first, second]).astype(np.int8),
        codes=codes,
        levels=levels | {"arm": ("a", "b", "c")},
        raters=("r1", "r2"),
        audit=audit,
        audits=audits,
        inclusion=np.where(audit >= 0, 0.25, np.nan),
        line=np.arange(2, len(rows) + 2),
        source="simulated",
        digest="",
        dropped={},
        target=0,
        unrated={"main": 1},
    )


def row(key=0, arm=0, model=0, route=0, scorer=0, r1=-1, r2=-1, population=0, audit=None):
    number = (0 if max(r1, r2) >= 0 else -1) if audit is None else audit
    return (key, arm, model, route, scorer, r1, r2, number, population)


def table(counts):
    return counts.tp, counts.fp, counts.fn, counts.tn


def test_confusion_is_counted_against_the_first_rater_who_gave_a_label():
    rows = [row(scorer=1, r1=1), row(scorer=1, r1=0, r2=1), row(scorer=0, r2=1), row(scorer=0, r1=0), row(scorer=1)]
    found = labels(rows)
    assert table(counted(found, arm_rows(found, "a"))) == (1, 1, 1, 1)


def test_a_rater_taken_for_the_truth_is_asked_first():
    found = labels([row(scorer=1, r1=0, r2=1), row(scorer=1, r1=0)])
    assert table(counted(found, arm_rows(found, "a"), "r2")) == (1, 1, 0, 0)


def test_an_arm_audit_names_the_rater_who_is_absent():
    found = arm_audit(labels([row(r1=1), row(r1=0), row(r1=0), row(arm=1, r2=1)]), "a")
    assert (found.positives, found.negatives, found.absent) == (1, 2, ("r2",))


def test_an_interval_of_a_share_is_exact():
    """7 of 21: the beta quantiles of Clopper and Pearson, printed by R's binom.test."""
    found = rate(Confusion(tp=26, fp=7, fn=1, tn=14, rows=180), "fpr")
    assert (found.lower, found.upper) == pytest.approx((0.1459, 0.5697), abs=5e-5)  # four printed digits


def test_a_share_of_no_rows_has_no_interval():
    found = rate(Confusion(tp=0, fp=7, fn=0, tn=14, rows=180), "fnr")
    assert (found.rows, found.lower, found.upper) == (0, None, None)


def test_audits_are_listed_with_their_rows_by_arm_and_their_inclusion():
    rows = [row(r1=1), row(arm=1, r1=0), row(arm=2, r2=0), row(arm=2)]
    part = audit_parts(labels(rows), study(), CONTRAST)[0]
    assert (part.rows, part.rows_treatment, part.rows_comparator, part.unrated) == (3, 1, 1, 1)
    assert (part.inclusion_smallest, part.inclusion_largest) == (0.25, 0.25)


def test_an_audit_of_another_population_lies_outside_the_target():
    rows = [row(), row(r1=1, population=1), row(population=1)]
    assert audit_records(labels(rows), study())[0].outside
    assert audit_records(labels(rows), study())[0].pool_known


def test_the_pool_of_an_audit_is_unknown_where_every_row_of_its_population_is_audited():
    rows = [row(), row(r1=1, population=1), row(r1=0, population=1)]
    assert not audit_records(labels(rows), study())[0].pool_known


def test_an_audit_without_rows_is_no_evidence():
    two = labels([row(r1=1), row()], ("main", "never"))
    assert [record.name for record in audit_records(two, study(main=("paired", ()), never=("unrecorded", ())))] == [
        "main"
    ]


def panel(chosen, n=40):
    """`n` rows of each arm and scorer label; `chosen(scorer, place)` are audited."""
    return labels(
        [
            row(key=place, arm=arm, scorer=scorer, r1=scorer if chosen(scorer, place) else -1)
            for arm in (0, 1)
            for scorer in (0, 1)
            for place in range(n)
        ]
    )


def only_positives(scorer, place):
    return scorer == 1 and place < 20


def test_predicted_negatives_that_no_stress_audit_chose_are_unsampled():
    found = unsampled(panel(only_positives), study(main=("stress", ("scorer",))), CONTRAST)
    assert found == ("arm a, scorer label 0 (40 rows)", "arm b, scorer label 0 (40 rows)")


def test_the_same_rows_of_an_audit_that_was_not_sampled_on_the_scorer_are_chance():
    assert unsampled(panel(only_positives), study(main=("representative", ())), CONTRAST) == ()


def test_a_second_audit_that_chooses_from_everything_leaves_nothing_unsampled():
    rows = panel(only_positives)
    extra = labels([row(key=0, arm=0, r1=0, audit=1)], ("main", "small"))
    codes = {name: np.append(code, extra.codes[name]) for name, code in rows.codes.items()}
    both = replace(
        rows,
        codes=codes,
        scorer=np.append(rows.scorer, extra.scorer),
        rating=np.vstack([rows.rating, extra.rating]),
        audit=np.append(rows.audit, 1),
        audits=("main", "small"),
    )
    declared = study(main=("stress", ("scorer",)), small=("representative", ()))
    assert unsampled(both, declared, CONTRAST) == ()


def test_a_column_name_means_its_role():
    found = unsampled(panel(only_positives), study(main=("stress", ("flag",))), CONTRAST)
    assert len(found) == 2


@pytest.mark.parametrize(("n_negative", "n_found"), [(6, 0), (8, 1)])
def test_a_combination_is_unsampled_only_where_three_audited_rows_were_due(n_negative, n_found):
    """20 of 40 positives of one arm are audited: of 6 negatives 20 / 46 * 6 = 2.6 were due, of 8 negatives 3.3."""
    rows = [row(key=i, scorer=1, r1=1 if i < 20 else -1) for i in range(40)] + [row(key=i) for i in range(n_negative)]
    assert len(unsampled(labels(rows), study(main=("stress", ("scorer",))), CONTRAST)) == n_found


def test_an_audit_outside_the_target_cannot_choose_what_is_not_there():
    inside = [row(key=i, route=i % 2) for i in range(4)]
    outside = [row(key=i, r1=i % 2, population=1) for i in range(4)]
    found = unsampled(labels(inside + outside), study(main=("stress", ("route",))), CONTRAST)
    assert found == ("arm a, route 1, scorer label 0 (2 rows)",)


def test_identical_keys_have_a_response_of_one_model_in_both_arms():
    rows = [row(key=0), row(key=0, arm=1), row(key=1), row(key=2, arm=1), row(key=3), row(key=3, arm=1, model=1)]
    found = prompts(labels(rows), study(), CONTRAST)
    assert (found.keys_both, found.keys_treatment_only, found.keys_comparator_only, found.pairs) == (1, 2, 2, 1)


def test_keys_of_another_population_are_not_counted():
    found = prompts(labels([row(), row(arm=1, population=1)]), study(), CONTRAST)
    assert found.keys_both == 0


def test_paired_effects_are_of_pairs_labelled_in_both_arms():
    """Four pairs; rater 1 labels three of them in both arms: differences 1, 0, -1 and the scorer's 1, 1, 0."""
    given = [(1, 0, 1, 0), (1, 0, 1, 1), (0, 0, 0, 1), (1, 1, 1, -1)]  # scorer a, scorer b, rater a, rater b
    rows = [r for k, (sa, sb, ra, rb) in enumerate(given)
            for r in (row(key=k, scorer=sa, r1=ra), row(key=k, arm=1, scorer=sb, r1=rb))]  # fmt: skip
    first, second = paired(labels(rows), CONTRAST)
    assert (first.pairs, first.keys, first.only_treatment, first.only_comparator) == (3, 3, 1, 1)
    assert (first.automatic_pp, first.rated_pp.estimate) == pytest.approx((200 / 3, 0.0))
    assert (second.pairs, second.rated_pp.estimate, second.rated_pp.lower) == (0, None, None)


def test_replicates_of_a_response_count_as_one():
    rows = [row(r1=1), row(r1=0), row(arm=1, r1=0), row(key=1, r1=1), row(key=1, arm=1, r1=0)]
    assert paired(labels(rows), CONTRAST)[0].rated_pp.estimate == pytest.approx(75.0)  # (.5 - 0 + 1 - 0) / 2


def test_models_of_pairs_weigh_as_wanted():
    """Model 0 has difference 1, model 1 has -1: weights .75 and .25 give .5."""
    rows = [
        row(key=key, arm=arm, model=model, r1=int(model != arm))
        for key in (0, 1) for arm in (0, 1) for model in (0, 1)
    ]  # fmt: skip
    assert paired(labels(rows), CONTRAST, {0: 0.75, 1: 0.25})[0].rated_pp.estimate == pytest.approx(-50.0)
