"""The whole list for one contrast, on labels built here and on real ones."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from drift.frequentist.arm import target_arm
from drift.frequentist.audit_table import Confusion, confusion
from drift.frequentist.comparators import comparators, prevalence_comparators
from drift.frequentist.paired import exact_mcnemar, pairs
from drift.frequentist.prediction_powered import ppi_contrast

METHODS = [
    "naive (Newcombe)",
    "audited rows alone (Newcombe)",
    "design-weighted (Hajek)",
    "Rogan-Gladen (delta)",
    "Rogan-Gladen (bootstrap)",
    "Lang-Reiczigel (MOVER)",
    "Rogan-Gladen weighted (bootstrap)",
    "PPI",
    "PPI++",
    "PPI++ weighted (Hajek)",
    "post-stratified (delta)",
    "post-stratified (Jeffreys)",
    "paired scorer (clustered by key)",
    "paired truth (clustered by key)",
]
OUTSIDE = ["Rogan-Gladen (delta)", "Rogan-Gladen (bootstrap)", "Lang-Reiczigel (MOVER)"]
WITHOUT_AUDIT = [
    "naive (Newcombe)",
    "Rogan-Gladen (bootstrap)",  # by the prior, which its note says
    "Rogan-Gladen weighted (bootstrap)",  # likewise
    "post-stratified (Jeffreys)",  # likewise
    "paired scorer (clustered by key)",
]
MODELS = ["gpt4", "llama2new", "llama2orig", "mistralguard", "mistralinstruct"]
GPT4_COUNTS = [(16, 0, 5, 229), (40, 0, 34, 176), (88, 2, 61, 99), (24, 0, 23, 203), (0, 0, 4, 246)]  # as published
STRING_MATCH_COUNTS = [(17, 16, 4, 213), (58, 9, 16, 167), (113, 8, 36, 93), (29, 9, 18, 194), (2, 2, 2, 244)]
FEW = 500  # draws, where limits do not matter


def by_method(found) -> dict:
    return {estimate.method: estimate for estimate in found}


def two_arms(rng, n, share=0.3):
    """SIMULATED: n keys in two arms, a scorer wrong in one row of ten, about `share` of rows audited by two raters."""
    truth = (rng.random(2 * n) < np.repeat([0.5, 0.3], n)).astype(int)
    scorer = np.where(rng.random(2 * n) < 0.9, truth, 1 - truth)
    seen = rng.random(2 * n) < share
    rating = np.where(seen[:, None], np.column_stack([truth, truth]), -1)
    return scorer, rating, {"key": [*range(n)] * 2, "arm": ["a"] * n + ["b"] * n}


@pytest.fixture(scope="module")
def labels(build):
    scorer, rating, factors = two_arms(np.random.default_rng(8), 200)
    return build(scorer, rating, **factors)


@pytest.fixture(scope="module")
def xstest(shared_data, build):
    """Safe prompts of XSTest, models as arms, any refusal as label 1: (scorer column) -> labels, audited throughout."""
    table = pd.read_csv(shared_data / "xstest" / "safe_prompts.csv")

    def refused(column: str) -> np.ndarray:
        return (~table[column].str.startswith("1")).to_numpy().astype(int)

    factors = {"key": list(table["id"]), "arm": list(table["model"])}
    return lambda column: build(refused(column), refused("final_label"), **factors)


def test_the_list_is_always_the_same(labels):
    assert [found.method for found in comparators(labels, "a", "b", draws=FEW)] == METHODS


def test_no_audit_leaves_the_list_with_reasons(build):
    none = build([1, 0, 1, 0], [-1] * 4, key=[1, 2, 1, 2], arm=["a", "a", "b", "b"])
    found = by_method(comparators(none, "a", "b", draws=FEW))
    assert [*found] == METHODS
    assert [name for name in METHODS if found[name].defined] == WITHOUT_AUDIT
    assert all(found[name].note and found[name].width == 2.0 for name in METHODS if name not in WITHOUT_AUDIT)


def test_corrected_contrasts_hold_the_simulated_truth(labels):
    """Of .5 - .3 in expectation: every correction's interval holds the contrast that these rows have."""
    found = by_method(comparators(labels, "a", "b"))
    assert all(found[name].covers(0.2) for name in METHODS if name != "naive (Newcombe)")


def test_both_directions_are_opposites(labels):
    one, other = (by_method(comparators(labels, *arms, draws=FEW)) for arms in (("a", "b"), ("b", "a")))
    fixed = [name for name in METHODS if "Jeffreys" not in name]
    assert [one[name].estimate for name in fixed] == pytest.approx([-other[name].estimate for name in fixed])


def test_the_list_repeats_with_its_seed(labels):
    assert comparators(labels, "a", "b", seed=4, draws=FEW) == comparators(labels, "a", "b", seed=4, draws=FEW)


def test_every_prevalence_is_the_contrast_with_an_arm_of_prevalence_0(build):
    """The other arm is audited throughout with neither scorer nor rater ever saying 1."""
    scorer, rating, factors = two_arms(np.random.default_rng(9), 100)
    scorer[100:], rating[100:] = 0, 0
    labels = build(scorer, rating, **factors)
    contrast = by_method(comparators(labels, "a", "b", draws=FEW))
    alone = by_method(prevalence_comparators(labels, "a", draws=FEW))
    names = ["PPI", "PPI++", "PPI++ weighted (Hajek)", "design-weighted (Hajek)", "post-stratified (delta)"]
    assert [contrast[name].estimate for name in names] == pytest.approx([alone[name].estimate for name in names])


def test_models_weigh_alike_by_default(build):
    """Model x has three rows an arm, model y one: (1/3 + 1) / 2 - (0 + 0) / 2."""
    arms, models = ["a"] * 4 + ["b"] * 4, ["x", "x", "x", "y"] * 2
    labels = build([1, 0, 0, 1, 0, 0, 0, 0], [-1] * 8, key=[1, 2, 3, 1] * 2, arm=arms, model=models)
    naive = comparators(labels, "a", "b", draws=FEW)[0]
    assert naive.estimate == pytest.approx(2 / 3) and "effective number" in naive.note


@pytest.mark.parametrize(("models", "expected"), [("rows", 2 / 4), ({"x": 0.9, "y": 0.1}, 0.9 / 3 + 0.1)])
def test_other_mixtures_of_models(build, models, expected):
    arms, names = ["a"] * 4 + ["b"] * 4, ["x", "x", "x", "y"] * 2
    labels = build([1, 0, 0, 1, 0, 0, 0, 0], [-1] * 8, key=[1, 2, 3, 1] * 2, arm=arms, model=names)
    assert comparators(labels, "a", "b", models=models, draws=FEW)[0].estimate == pytest.approx(expected)


def test_the_mixture_weighs_audited_rows_too(build):
    """Model x: 2 of 2 audited have truth 1; y: 0 of 4. Alike: .5, whatever the audit took of each."""
    rating = [1, 1, 0, 0, 0, 0]
    labels = build([1, 1, 1, 0, 0, 0], rating, key=range(6), arm=["a"] * 6, model=["x"] * 2 + ["y"] * 4)
    found = by_method(prevalence_comparators(labels, "a", draws=FEW))
    names = ["audited rows alone (Wilson)", "design-weighted (Hajek)", "PPI++ weighted (Hajek)"]
    assert [found[name].estimate for name in names] == pytest.approx([0.5] * 3)


def test_strata_have_their_own_predictive_values(build):
    """Label 1 is right in stratum x and wrong in y, where one row in four is audited instead of one in two."""
    labels = build(
        [1] * 8, [1, 1, -1, -1, 0, -1, -1, -1], key=range(8), arm=["a"] * 8, stratum=["x"] * 4 + ["y"] * 4
    )  # fmt: skip
    assert by_method(prevalence_comparators(labels, "a", draws=FEW))["post-stratified (delta)"].estimate == 0.5


def test_known_inclusion_probabilities_are_the_weights(build):
    """Weights 1/.5 of truth 1 and 1/.25 of truth 0: 2 / (2 + 4)."""
    rating, inclusion = [1, 0, -1, -1], [0.5, 0.25, np.nan, np.nan]
    labels = build([1, 1, 0, 0], rating, key=range(4), arm=["a"] * 4, inclusion=inclusion)
    arm = target_arm(labels, "a")
    assert arm.weighted.value == pytest.approx(1 / 3) and arm.weighting == "weights: 1 / inclusion probability"


def test_without_probabilities_rows_are_post_stratified_by_scorer_label(build):
    """Three quarters are scored 0, and the audited row of those has truth 0."""
    labels = build([1, 0, 0, 0], [1, 0, -1, -1], key=range(4), arm=["a"] * 4)
    assert target_arm(labels, "a").weighted.value == pytest.approx(0.25)


def test_probabilities_do_not_count_for_a_rater_who_left_out_audited_rows(build):
    rating = [[1, 1], [0, -1], [-1, -1], [-1, -1]]
    labels = build([1, 0, 0, 0], rating, key=range(4), arm=["a"] * 4, inclusion=[0.5, 0.5, np.nan, np.nan])
    known = [target_arm(labels, "a", rater).inclusion_known for rater in (0, 1)]
    assert known == [True, False]


def test_a_label_that_was_not_audited_is_named_in_the_weights(build):
    labels = build([1, 1, 0, 0], [1, 0, -1, -1], key=range(4), arm=["a"] * 4)
    assert target_arm(labels, "a").weighting.endswith("no audited row for 50.0% of the target")


def test_the_majority_can_be_the_truth(build):
    labels = build([1, 1], [[1, 1, 0], [0, 0, 1]], key=[1, 2], arm=["a", "a"])
    assert target_arm(labels, "a", "majority").truth.tolist() == [1, 0]


def test_an_audit_outside_the_target_lends_its_error_rates(build):
    """Panel rows give sensitivity 1 and specificity .5 in arm a; the target's 3/4 becomes (3/4 - 1/2) / (1/2) = 1/2."""
    scorer = [1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 0]
    rating = [-1, -1, -1, -1, 1, 0, 0, -1, -1, 1, 0]
    labels = build(
        scorer,
        rating,
        key=[1, 2, 3, 4, 5, 6, 7, 1, 2, 5, 6],
        arm=["a"] * 7 + ["b"] * 4,
        population=["new"] * 4 + ["panel"] * 3 + ["new"] * 2 + ["panel"] * 2,
    )
    found = by_method(comparators(labels, "a", "b", draws=FEW))
    assert [*found] == METHODS + [f"{method}, audit audit" for method in OUTSIDE]
    assert found["Rogan-Gladen (delta), audit audit"].estimate == pytest.approx(0.5)


def test_rows_outside_the_target_are_no_part_of_the_naive_contrast(build):
    labels = build([1, 0, 0, 0], [-1] * 4, key=[1, 2, 1, 2], arm=["a", "a", "b", "b"], population=["t", "o", "t", "o"])
    assert comparators(labels, "a", "b", draws=FEW)[0].estimate == 1.0


def test_models_without_weight_are_no_part_of_the_target(build):
    """Only model y is wanted, and only model x was audited: the naive contrast is y's, and nothing corrects it."""
    arms, names = ["a", "a", "b", "b"], ["x", "y"] * 2
    labels = build([1, 1, 1, 0], [1, -1, 1, -1], key=[1] * 4, arm=arms, model=names)
    found = by_method(comparators(labels, "a", "b", models={"x": 0.0, "y": 1.0}, draws=FEW))
    assert found["naive (Newcombe)"].estimate == 1.0 and not found["PPI++"].defined


@pytest.mark.parametrize("seed", range(60))
def test_every_answer_to_a_tiny_study_lies_between_possible_limits_or_says_why_not(build, seed):
    """SIMULATED: up to eight rows an arm of two models and strata, most cells of them empty or constant."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    scorer = rng.random(2 * n) < rng.choice([0.0, 0.3, 1.0])
    rating = np.where(rng.random(2 * n) < rng.choice([0.2, 0.7, 1.0]), rng.random(2 * n) < rng.choice([0.0, 0.5]), -1)
    factors = {name: rng.integers(0, 2, 2 * n) for name in ("model", "stratum", "population")}
    labels = build(scorer, rating, key=[*range(n)] * 2, arm=["a"] * n + ["b"] * n, **factors)
    for found in comparators(labels, "a", "b", draws=50):
        assert -1.0 <= found.lower <= found.upper <= 1.0
        assert found.lower <= found.estimate <= found.upper if found.defined else found.note


@pytest.mark.parametrize(("name", "value"), [("rater", 5), ("models", {"z": 1.0})])
def test_what_there_is_not_is_refused(labels, name, value):
    with pytest.raises(ValueError, match=r"no (rater|model)"):
        comparators(labels, "a", "b", **{name: value})


def test_an_unknown_arm_is_refused_with_the_known_ones(labels):
    with pytest.raises(ValueError, match="no arm c; arms are a, b"):
        comparators(labels, "a", "c")


@pytest.mark.parametrize(
    ("column", "published"), [("gpt4_label_raw", GPT4_COUNTS), ("strmatch_label", STRING_MATCH_COUNTS)]
)
def test_xstest_counts_by_model(xstest, column, published):
    labels = xstest(column)
    arms = [target_arm(labels, model) for model in MODELS]
    assert [confusion(arm.scorer, arm.truth) for arm in arms] == [Confusion(*counts, 250) for counts in published]


@pytest.mark.parametrize(("column", "naive"), [("gpt4_label_raw", 0.200), ("strmatch_label", 0.216)])
def test_xstest_naive_contrast(xstest, column, naive):
    found = by_method(comparators(xstest(column), "llama2orig", "llama2new", draws=FEW))
    assert found["naive (Newcombe)"].estimate == pytest.approx(naive)


def test_xstest_human_contrast_by_every_correction(xstest):
    """Audited throughout, each method gives the human contrast, .300, but for the prior of Jeffreys' draws."""
    found = by_method(comparators(xstest("gpt4_label_raw"), "llama2orig", "llama2new", draws=FEW))
    corrected = [name for name in METHODS if name not in ("naive (Newcombe)", "paired scorer (clustered by key)")]
    exact = [name for name in corrected if "Jeffreys" not in name]
    assert [found[name].estimate for name in exact] == pytest.approx([0.300] * len(exact))
    assert found["post-stratified (Jeffreys)"].estimate == pytest.approx(0.300, abs=0.01)  # half a row of each 40


def test_xstest_pairs_are_the_250_prompts(xstest):
    one, other = (target_arm(xstest("gpt4_label_raw"), model) for model in ("llama2orig", "llama2new"))
    rows = [{"label": arm.truth, "key": arm.key, "model": arm.model} for arm in (one, other)]
    found = exact_mcnemar(pairs(*rows))
    assert (found.n, found.treatment_only - found.comparator_only) == (250, 75) and found.p_value < 1e-9


def test_xstest_ppi_covers_the_human_contrasts_when_48_a_model_are_audited(xstest):
    """60 audits of 48 prompts a model: 600 contrasts, which share audits, so the tolerance is that of about 200."""
    whole, rng, covered, width = xstest("gpt4_label_raw"), np.random.default_rng(4), [], []
    arms = [target_arm(whole, model) for model in MODELS]
    for _ in range(60):
        drawn = [audited(arm, rng) for arm in arms]
        for i in range(5):
            for j in range(i):
                found = ppi_contrast(drawn[i].predicted(), drawn[j].predicted())
                covered.append(found.covers(arms[i].truth.mean() - arms[j].truth.mean()))
                width.append(found.width)
    assert np.mean(covered) == pytest.approx(0.95, abs=3 * 0.0154)  # sqrt(.95 x .05 / 200)
    assert np.mean(width) == pytest.approx(0.233, abs=0.012)  # measured before with other draws of the audits


def audited(arm, rng):
    """The arm with its truth hidden outside a random audit of 48 rows."""
    chosen = np.isin(np.arange(250), rng.choice(250, 48, replace=False))
    return replace(arm, truth=np.where(chosen, arm.truth, -1).astype(np.int8))
