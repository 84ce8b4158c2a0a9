"""Labels and draws here are simulated."""

import numpy as np
import pytest
from tests.estimands.scorer_tree import jittered, labels_of, scorer_tree, simulate_labels

from drift.data.scorer_declaration import ScorerTarget
from drift.estimands.error_rates import error_rates, inverted_probability, prior_dominance, stratum_error_rates
from drift.estimands.prevalence import automatic_prevalence, prevalence
from drift.estimands.scored import prior_scored, scored

SUPER = ScorerTarget(prevalence="superpopulation")


def by_cell(labels, n_draws=1, **rates):
    """A file whose draws are all the same; `rates` by cell."""
    raters = np.zeros((1, n_draws, len(labels.levels["arm"]), 1))
    draws = {name: np.broadcast_to(value, (1, n_draws, len(value))) for name, value in rates.items()}
    return scored(scorer_tree(labels, draws | {"rater_fpr": raters, "rater_fnr": raters}))


@pytest.fixture(scope="module")
def two_models():
    """One arm; model 0 has four rows and model 1 one row."""
    labels = labels_of([0, 1, 0, 1, 1], model=[0, 0, 0, 0, 1])
    return by_cell(labels, prevalence=[0.2, 0.6], fpr=[0.1, 0.3], fnr=[0.4, 0.05])


def test_sensitivity_is_of_the_positives_that_models_contribute(two_models):
    found = error_rates(two_models, ScorerTarget())["sensitivity"].item()
    assert found == pytest.approx((0.2 * 0.6 + 0.6 * 0.95) / 0.8, rel=1e-12)  # models alike, each by its positives


def test_specificity_is_of_the_negatives_that_models_contribute(two_models):
    found = error_rates(two_models, ScorerTarget(models="rows"))["specificity"].item()
    assert found == pytest.approx((4 * 0.8 * 0.9 + 0.4 * 0.7) / (4 * 0.8 + 0.4), rel=1e-12)


def test_rates_and_prevalence_give_the_automatic_share():
    labels = simulate_labels(n_strata=2).labels
    found = scored(scorer_tree(labels, jittered(labels)))
    rates, pi = error_rates(found, SUPER), prevalence(found, SUPER)
    expected = rates["sensitivity"] * pi + (1 - rates["specificity"]) * (1 - pi)
    np.testing.assert_allclose(automatic_prevalence(found, SUPER), expected, rtol=1e-12)


def test_rates_by_stratum_are_of_the_strata_that_occur():
    labels = labels_of([0, 1, 1], arm=[0, 0, 1], stratum=[0, 1, 0])
    found = stratum_error_rates(by_cell(labels, prevalence=[0.5] * 3, fpr=[0.1, 0.2, 0.3], fnr=[0.4, 0.5, 0.6]), SUPER)
    assert list(zip(found["arm"].values, found["stratum"].values, strict=True)) == [
        ("arm 0", "stratum 0"),
        ("arm 0", "stratum 1"),
        ("arm 1", "stratum 0"),
    ]
    np.testing.assert_allclose(found["sensitivity"].squeeze(), [0.6, 0.5, 0.4], rtol=1e-12)


def test_only_the_target_population_counts():
    labels = labels_of([0, 1], population=[0, 1])
    found = error_rates(by_cell(labels, prevalence=[0.5, 0.5], fpr=[0.1, 0.9], fnr=[0.2, 0.9]), SUPER)
    assert found["sensitivity"].item() == pytest.approx(0.8, rel=1e-12)


def test_inverted_labels_are_found():
    labels = labels_of([0, 1], arm=[0, 1])
    found = by_cell(labels, n_draws=10, prevalence=[0.4, 0.4], fpr=[0.1, 0.7], fnr=[0.1, 0.6])
    assert inverted_probability(error_rates(found, SUPER))["probability"].values.tolist() == [0.0, 1.0]


def test_prior_dominance_is_the_ratio_of_spreads():
    labels = labels_of([0, 1])
    rng = np.random.default_rng(1)
    raters = {name: np.zeros((1, 500, 1, 1)) for name in ("rater_fpr", "rater_fnr")}
    prior = {name: rng.random((1, 500, 1)) for name in ("prevalence", "fpr", "fnr")} | raters
    posterior = prior | {"prevalence": 0.4 + 0.2 * prior["prevalence"]}  # a fifth of the prior's spread
    tree = scorer_tree(labels, posterior, prior=prior)
    found = prior_dominance(prevalence(scored(tree), SUPER), prevalence(prior_scored(tree), SUPER))
    assert found.item() == pytest.approx(0.2, rel=1e-10)


def test_prior_dominance_is_at_most_one():
    labels = simulate_labels().labels
    found = prevalence(scored(scorer_tree(labels, jittered(labels))), SUPER)
    assert (prior_dominance(3.0 * found, found) == 1.0).all()


def test_an_assumption_without_spread_dominates():
    labels = simulate_labels().labels
    found = prevalence(scored(scorer_tree(labels, jittered(labels))), SUPER)
    assert (prior_dominance(0.0 * found, 0.0 * found) == 1.0).all()
