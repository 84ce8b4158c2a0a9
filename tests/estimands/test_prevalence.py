"""Labels and draws here are simulated."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.estimands.scorer_tree import jittered, labels_of, scorer_tree, simulate_labels

import drift.estimands.scored as scored_module
from drift.data.scorer_declaration import ScorerTarget
from drift.errors import EmptyCellsError
from drift.estimands.prevalence import automatic_prevalence, key_shares, model_weights, prevalence, target_shares
from drift.estimands.scored import prior_scored, scored

PANEL, SUPER, NEW = (ScorerTarget(prevalence=kind) for kind in ("panel", "superpopulation", "new-keys"))


def fixed(labels, n_draws=1, prevalence=0.3, fpr=0.2, fnr=0.1, rater_error=0.0):
    """A file whose draws are all the same; values by cell, or one for all."""
    n_cells = len(np.unique(np.stack([labels.codes[f] for f in ("population", "arm", "model", "stratum")]), axis=1).T)
    shape, raters = (1, n_draws), (1, n_draws, len(labels.levels["arm"]), len(labels.raters))
    by_cell = {"prevalence": prevalence, "fpr": fpr, "fnr": fnr}
    draws = {name: np.broadcast_to(value, (*shape, n_cells)) for name, value in by_cell.items()}
    return scored(scorer_tree(labels, draws | {k: np.full(raters, rater_error) for k in ("rater_fpr", "rater_fnr")}))


def certain(truth, scorer, **codes):
    """Every row is audited by a rater who never errs, so that the truth of each is known."""
    return labels_of(scorer, np.asarray(truth)[:, None], **codes)


@pytest.fixture(scope="module")
def jittery():
    labels = simulate_labels(n_strata=2).labels
    return scored(scorer_tree(labels, jittered(labels)))


def test_superpopulation_weighs_strata_by_their_rows_and_models_alike():
    # arm 0: model 0 has strata of 3 rows and 1 row, model 1 one row; prevalences .2, .6, .5 by cell
    labels = labels_of([0, 1, 0, 1, 1], model=[0, 0, 0, 0, 1], stratum=[0, 0, 0, 1, 0])
    found = prevalence(fixed(labels, prevalence=[0.2, 0.6, 0.5]), SUPER)
    assert found.item() == pytest.approx(0.5 * (0.75 * 0.2 + 0.25 * 0.6) + 0.5 * 0.5, rel=1e-12)


@pytest.mark.parametrize(
    ("models", "expected"),
    [("equal", (0.2 + 0.5) / 2), ("rows", (4 * 0.2 + 0.5) / 5), ({"model 0": 0.25, "model 1": 0.75}, 0.425)],
)
def test_models_are_mixed_as_declared_however_many_rows_they_have(models, expected):
    labels = labels_of([0, 1, 0, 1, 1], model=[0, 0, 0, 0, 1])
    found = prevalence(fixed(labels, prevalence=[0.2, 0.5]), ScorerTarget(models=models, prevalence="superpopulation"))
    assert found.item() == pytest.approx(expected, rel=1e-12)


def test_rows_weigh_models_by_the_rows_of_their_own_arm():
    labels = labels_of([0] * 6, arm=[0, 0, 0, 1, 1, 1], model=[0, 0, 1, 0, 1, 1])
    count = np.array([[2, 1], [1, 2]])
    np.testing.assert_allclose(model_weights(fixed(labels), "rows", count), [[2 / 3, 1 / 3], [1 / 3, 2 / 3]])


def test_automatic_superpopulation_follows_from_the_parameters():
    found = automatic_prevalence(fixed(labels_of([0, 1])), SUPER)
    assert found.item() == pytest.approx(0.3 * 0.9 + 0.7 * 0.2, rel=1e-12)  # true and false positives


def test_automatic_panel_is_a_number_without_spread(jittery):
    found = automatic_prevalence(jittery, PANEL)
    label = jittery.row_label
    counted = [
        np.mean([label[(jittery.row_arm == a) & (jittery.row_model == m)].mean() for m in (0, 1)]) for a in (0, 1)
    ]
    np.testing.assert_allclose(found.mean(["chain", "draw"]), counted, rtol=1e-12)
    assert (found == found[0, 0]).all()


def test_rows_whose_truth_is_certain_leave_the_panel_no_variance():
    truth = [1, 0, 0, 1, 1, 0]
    labels = certain(truth, [1, 1, 0, 0, 1, 0], arm=[0, 0, 0, 1, 1, 1])
    found = prevalence(fixed(labels, n_draws=50), PANEL)
    np.testing.assert_array_equal(found[0], np.broadcast_to([1 / 3, 2 / 3], (50, 2)))


def test_panel_imputes_each_pattern_from_its_truth_probability():
    # 400 unaudited rows with label 1: truth 1 with probability p = .3 x .9 / (.3 x .9 + .7 x .2)
    p, n_draws = 0.27 / 0.41, 4000
    found = prevalence(fixed(labels_of([1] * 400), n_draws=n_draws), PANEL).values.ravel()
    sd = np.sqrt(p * (1 - p) / 400)
    assert found.mean() == pytest.approx(p, abs=4 * sd / np.sqrt(n_draws))  # four Monte Carlo errors
    assert found.std() == pytest.approx(sd, rel=4 / np.sqrt(2 * n_draws))  # likewise


def test_new_keys_add_the_spread_of_a_bayesian_bootstrap():
    # truth known: 30 of 100 keys are 1. Dirichlet(1) weights: variance p (1 - p) / (n + 1), rubin1981
    truth, n_draws = np.arange(100) < 30, 4000
    labels = certain(truth.astype(int), truth.astype(int), key=np.arange(100))
    found = prevalence(fixed(labels, n_draws=n_draws), NEW).values.ravel()
    sd = np.sqrt(0.3 * 0.7 / 101)
    assert found.mean() == pytest.approx(0.3, abs=4 * sd / np.sqrt(n_draws))
    assert found.std() == pytest.approx(sd, rel=4 / np.sqrt(2 * n_draws))


def test_these_keys_against_a_table_grouped_by_hand():
    rng, n = np.random.default_rng(2), 300  # several rows a key, unequal numbers by arm and model
    table = pd.DataFrame(rng.integers(0, [2, 2, 30, 2, 2], (n, 5)), columns=["arm", "model", "key", "truth", "scorer"])
    labels = certain(table["truth"], table["scorer"], **{name: table[name] for name in ("arm", "model", "key")})
    shares = key_shares(fixed(labels), np.ones(n, bool), np.full((2, 2), 0.5), new=False)
    table = table.assign(false=(table["scorer"] > table["truth"]) * 1, missed=(table["scorer"] < table["truth"]) * 1)
    expected = table.groupby(["arm", "model", "key"]).mean().groupby(["arm", "model"]).mean().groupby("arm").mean()
    names = ["truth", "scorer", "false", "missed"]
    found = [shares.truth[0], shares.label[0], shares.false_positive[0], shares.false_negative[0]]
    np.testing.assert_allclose(np.transpose(found), expected[names], atol=1e-12)


def test_new_keys_keep_arms_paired():
    truth = np.tile(np.arange(50) < 20, 2).astype(int)
    labels = certain(truth, truth, key=np.tile(np.arange(50), 2), arm=np.repeat([0, 1], 50))
    found = prevalence(fixed(labels, n_draws=20), NEW)
    np.testing.assert_allclose(found[..., 0], found[..., 1], rtol=1e-12)  # the same keys, the same weights


def test_new_keys_count_a_key_once_however_many_rows_it_has():
    # key 0: three rows, all 1; key 1: one row, 0. In the mean over draws each key weighs one half
    labels = certain([1, 1, 1, 0], [1, 1, 1, 0], key=[0, 0, 0, 1])
    found = prevalence(fixed(labels, n_draws=4000), NEW).values
    assert found.mean() == pytest.approx(0.5, abs=4 * np.sqrt(1 / 12 / 4000))  # uniform on (0, 1)


def test_new_keys_mix_models_equally():
    # model 0 has one key, truth 1; model 1 has three, truth 0: whatever the keys' weights, the mixture is one half
    labels = certain([1, 0, 0, 0], [1, 0, 0, 0], model=[0, 1, 1, 1], key=[0, 0, 1, 2])
    np.testing.assert_allclose(prevalence(fixed(labels, n_draws=20), NEW), 0.5, rtol=1e-12)


def test_automatic_and_corrected_new_keys_share_their_weights():
    truth = (np.arange(40) < 15).astype(int)
    labels = certain(truth, truth, key=np.arange(40))
    found = fixed(labels, n_draws=20)
    np.testing.assert_allclose(prevalence(found, NEW), automatic_prevalence(found, NEW), rtol=1e-12)


@pytest.mark.parametrize("target", [PANEL, SUPER, NEW], ids=lambda target: target.prevalence)
def test_label_is_truth_plus_false_positives_minus_false_negatives(jittery, target):
    shares = target_shares(jittery, target)
    expected = shares.truth + shares.false_positive - shares.false_negative
    np.testing.assert_allclose(shares.label, expected, rtol=0, atol=1e-12)  # sums of the same rows


@pytest.mark.parametrize("target", [PANEL, NEW], ids=lambda target: target.prevalence)
def test_the_same_file_gives_the_same_numbers(jittery, target):
    again = replace(jittery)  # a copy that has kept nothing
    np.testing.assert_array_equal(prevalence(jittery, target), prevalence(again, target))


@pytest.mark.parametrize("target", [PANEL, NEW], ids=lambda target: target.prevalence)
def test_another_seed_gives_other_numbers(jittery, target):
    assert (prevalence(jittery, target) != prevalence(replace(jittery, seed=6), target)).any()


@pytest.mark.parametrize("target", [PANEL, NEW], ids=lambda target: target.prevalence)
def test_blocks_of_draws_do_not_change_the_answer(jittery, target, monkeypatch):
    whole = prevalence(jittery, target)
    monkeypatch.setattr(scored_module, "BLOCK", 7 * len(jittery.row_arm))  # seven draws at a time
    np.testing.assert_array_equal(whole, prevalence(replace(jittery), target))


def test_imputing_rows_never_holds_rows_times_draws(monkeypatch):
    import tracemalloc

    labels = simulate_labels(n_keys=500, n_raters=1, n_audited=5).labels  # 2,000 rows
    found = scored(scorer_tree(labels, jittered(labels, n_draws=1000)))  # and 2,000 draws: 32 MB as float64
    assert found.truth.shape[0] == 2000
    monkeypatch.setattr(scored_module, "BLOCK", 20_000)
    tracemalloc.start()
    prevalence(found, NEW)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6  # a quarter of rows x draws


def test_only_the_target_population_counts():
    labels = certain([1, 1, 0, 0], [1, 1, 0, 0], population=[0, 0, 1, 1])
    found = [prevalence(fixed(replace(labels, target=code)), PANEL).item() for code in (0, 1)]
    assert found == [1.0, 0.0]


def test_arms_without_a_row_in_the_target_are_left_out():
    labels = labels_of([0, 1, 1], arm=[0, 1, 2], population=[0, 1, 0])
    found = prevalence(fixed(labels), SUPER)
    assert found["arm"].values.tolist() == ["arm 0", "arm 2"]


def test_a_model_with_weight_and_no_row_in_an_arm_is_refused():
    labels = labels_of([0, 1, 1], arm=[0, 0, 1], model=[0, 1, 0])
    with pytest.raises(EmptyCellsError, match="arm 'arm 1', model 'model 1'"):
        prevalence(fixed(labels), PANEL)


def test_prevalence_carries_its_rows(jittery):
    assert prevalence(jittery, PANEL)["n_rows"].values.tolist() == [60, 60]  # 2 models x 30 keys


@pytest.mark.parametrize("target", [PANEL, SUPER, NEW], ids=lambda target: target.prevalence)
def test_all_targets_agree_on_the_mean(target):
    # 2,000 rows from one prevalence: targets differ by what they leave open, not in the middle
    labels = simulate_labels((0.3,), (0.2,), (0.1,), n_models=1, n_keys=2000, n_raters=1, n_audited=0).labels
    found = prevalence(fixed(labels, n_draws=500, prevalence=0.3), target)
    assert found.mean().item() == pytest.approx(0.3, abs=4 * np.sqrt(0.3 * 0.7 / 2000))  # four standard errors


def test_before_any_label_the_panel_is_binomial_about_its_prevalence():
    labels = labels_of([1] * 50)
    draws = {
        "prevalence": np.full((1, 2000, 1), 0.3),
        "fpr": np.full((1, 2000, 1), 0.2),
        "fnr": np.full((1, 2000, 1), 0.1),
    }
    draws |= {name: np.zeros((1, 2000, 1, 1)) for name in ("rater_fpr", "rater_fnr")}
    prior = prior_scored(scorer_tree(labels, draws, prior=draws))
    assert prevalence(prior, PANEL).std().item() == pytest.approx(np.sqrt(0.21 / 50), rel=4 / np.sqrt(4000))
    expected = np.sqrt(0.41 * 0.59 / 50)  # the scorer's labels are drawn too: P(label 1) = .3 x .9 + .7 x .2
    for target in (PANEL, NEW):
        found = automatic_prevalence(prior, target)
        assert found.mean().item() == pytest.approx(0.41, abs=4 * expected / np.sqrt(2000))
