"""Labels and draws here are simulated."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import norm
from tests.estimands.scorer_tree import jittered, labels_of, scorer_tree, simulate_labels

import drift.estimands.scored as scored_module
from drift.estimands.scored import (
    NoVariantError,
    label_probability,
    prior_scored,
    scored,
    truth_probability,
    variants,
)

# one arm, one cell; patterns (scorer, rater 1, rater 2), -1 not rated
PATTERNS = [(1, -1, -1), (0, 1, -1), (1, 1, 0), (0, 0, 0), (1, -1, 1)]
PI, FPR, FNR = 0.3, 0.2, 0.1
RATER_FPR, RATER_FNR = (0.02, 0.05), (0.04, 0.01)


def one_cell(**extra):
    """A file with one draw, one cell and a row of every pattern."""
    labels = labels_of([p[0] for p in PATTERNS], [p[1:] for p in PATTERNS])
    draws = {
        "prevalence": [[[PI]]],
        "fpr": [[[FPR]]],
        "fnr": [[[FNR]]],
        "rater_fpr": [[[RATER_FPR]]],
        "rater_fnr": [[[RATER_FNR]]],
    }
    settings = {name: extra.pop(name) for name in ("reference", "shares") if name in extra}
    return scored(scorer_tree(labels, draws | extra, **settings))


def errors(truth):
    """Probability of label 1 of scorer and raters, given the truth."""
    return [1 - FNR, *(1 - np.array(RATER_FNR))] if truth else [FPR, *RATER_FPR]


def enumerated(pattern, vector_probability):
    """P(truth 1 | pattern): a sum over all complete label vectors that the pattern allows."""
    total = np.zeros(2)
    for truth in (0, 1):
        for vector in itertools.product((0, 1), repeat=3):
            if all(seen in (-1, label) for seen, label in zip(pattern, vector, strict=True)):
                total[truth] += (PI if truth else 1 - PI) * vector_probability(vector, truth)
    return total[1] / total.sum()


def independent(vector, truth):
    return np.prod([p if label else 1 - p for label, p in zip(vector, errors(truth), strict=True)])


def shared(rho, shares):
    """Twin with a shared normal factor, integrated adaptively instead of by Gauss-Hermite."""

    def probability(vector, truth):
        def at(x):
            product = norm.pdf(x)
            for label, p, common in zip(vector, errors(truth), shares, strict=True):
                wrong = 1 - p if truth else p
                if common:
                    wrong = ndtr((ndtri(wrong) + np.sqrt(rho[truth]) * x) / np.sqrt(1 - rho[truth]))
                product *= wrong if label != truth else 1 - wrong
            return product

        return quad(at, -12, 12, epsabs=1e-13, limit=200)[0]

    return probability


def by_pattern(found):
    """The answers in the order of PATTERNS."""
    return truth_probability(found)[0][found.row_pattern]


def test_truth_probability_is_the_sum_over_complete_label_vectors():
    expected = [enumerated(pattern, independent) for pattern in PATTERNS]
    np.testing.assert_allclose(by_pattern(one_cell()), expected, rtol=1e-12)  # the same products, another order


@pytest.mark.parametrize("shares", [(0, 1, 1), (1, 1, 1)])
def test_truth_probability_with_dependence_against_adaptive_quadrature(shares):
    rho = (0.3, 0.5)
    found = one_cell(dependence=[[rho]], shares=shares)
    expected = [enumerated(pattern, shared(rho, shares)) for pattern in PATTERNS]
    np.testing.assert_allclose(by_pattern(found), expected, atol=3e-5)  # 15 nodes leave 1e-5 at rho = .5


def test_raters_share_the_factor_where_the_file_does_not_say():
    np.testing.assert_array_equal(
        truth_probability(one_cell(dependence=[[(0.3, 0.5)]])),
        truth_probability(one_cell(dependence=[[(0.3, 0.5)]], shares=(0, 1, 1))),
    )


def test_without_correlation_dependence_changes_nothing():
    np.testing.assert_allclose(
        truth_probability(one_cell(dependence=[[(0.0, 0.0)]])), truth_probability(one_cell()), rtol=1e-12
    )


def test_a_reference_rater_decides_alone():
    found = by_pattern(one_cell(reference="rater 0", rater_fpr=[[[[0.0, 0.05]]]], rater_fnr=[[[[0.0, 0.01]]]]))
    assert [p for p, pattern in zip(found, PATTERNS, strict=True) if pattern[1] >= 0] == [1.0, 1.0, 0.0]


def test_rows_without_the_reference_rest_on_the_scorer():
    found = by_pattern(one_cell(reference="rater 0", rater_fpr=[[[[0.0, 0.05]]]], rater_fnr=[[[[0.0, 0.01]]]]))
    assert found[0] == pytest.approx(PI * (1 - FNR) / (PI * (1 - FNR) + (1 - PI) * FPR), rel=1e-12)  # Bayes


def test_label_probabilities_of_complete_patterns_add_to_one():
    vectors = np.array(list(itertools.product((0, 1), repeat=3)), np.int8)
    asked = replace(one_cell(), pattern_label=vectors, pattern_cell=np.zeros(8, np.int64))
    assert label_probability(asked).sum() == pytest.approx(1.0, rel=1e-12)


def test_an_impossible_pattern_answers_with_the_prevalence():
    certain = one_cell(fpr=[[[0.0]]], prevalence=[[[0.0]]])  # truth 1 never, scorer 1 never
    assert truth_probability(certain)[0, certain.row_pattern[0]] == 0.0


def test_blocks_of_draws_do_not_change_the_answer(monkeypatch):
    labels = simulate_labels().labels
    found = scored(scorer_tree(labels, jittered(labels)))
    whole = truth_probability(found)
    monkeypatch.setattr(scored_module, "BLOCK", 3 * whole.shape[1])  # three draws at a time
    np.testing.assert_array_equal(truth_probability(found), whole)


def test_draws_are_chain_major():
    labels = simulate_labels().labels
    draws = jittered(labels, n_chains=2, n_draws=5)
    np.testing.assert_array_equal(scored(scorer_tree(labels, draws)).fpr[7], draws["fpr"][1, 2])


def test_a_variant_has_its_own_draws_patterns_and_reference():
    labels = simulate_labels(n_raters=1).labels
    draws, other = jittered(labels), jittered(labels, seed=9)
    alone = replace(labels, rating=np.full_like(labels.rating, -1))
    tree = scorer_tree(labels, draws, variants={"no_rater": (alone, other, "rater 0")})
    found = scored(tree, "no_rater")
    assert found.reference.tolist() == [True]
    assert (found.pattern_label[:, 1] == -1).all()
    np.testing.assert_array_equal(found.prevalence, other["prevalence"].reshape(400, -1))


def test_variants_are_listed_with_their_titles():
    labels = simulate_labels().labels
    draws = jittered(labels)
    assert variants(scorer_tree(labels, draws, variants={"wide": (labels, draws, None)})) == {"wide": "variant wide"}


def test_an_unknown_variant_is_refused_by_name():
    labels = simulate_labels().labels
    with pytest.raises(NoVariantError, match="no variant is called 'nobody'; there are: none"):
        scored(scorer_tree(labels, jittered(labels)), "nobody")


def test_before_any_label_the_truth_has_its_prevalence():
    labels = simulate_labels().labels
    prior = prior_scored(scorer_tree(labels, jittered(labels)))
    np.testing.assert_allclose(truth_probability(prior), prior.prevalence[:, prior.pattern_cell], rtol=1e-12)


def test_the_target_is_read_from_the_file():
    labels = simulate_labels(n_populations=2).labels
    found = scored(scorer_tree(replace(labels, target=1), jittered(labels)))
    assert found.pattern_count[found.pattern_target].sum() == (labels.codes["population"] == 1).sum()


def test_a_study_without_raters_is_read():
    labels = labels_of([0, 1, 1], np.empty((3, 0)))
    draws = {"prevalence": [[[PI]]], "fpr": [[[FPR]]], "fnr": [[[FNR]]]}
    raters = {"rater_fpr": np.empty((1, 1, 1, 0)), "rater_fnr": np.empty((1, 1, 1, 0))}
    found = scored(scorer_tree(labels, draws | raters, prior=draws | raters))
    assert truth_probability(found)[0, 0] == pytest.approx(PI * FNR / (PI * FNR + (1 - PI) * (1 - FPR)), rel=1e-12)
