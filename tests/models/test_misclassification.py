"""The misclassification model: its density against a textbook form, its priors, its draws, published results."""

import numpy as np
import pymc as pm
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import beta, ks_2samp

from drift.data.labels import read_labels
from drift.data.scorer_study import read_scorer_study
from drift.likelihood.pattern_probability import pattern_probability
from drift.models.cards import build_model, default_priors, parse_card, read_card
from drift.models.label_frame import labels_frame
from drift.models.misclassification import draw_counts
from drift.models.misclassification_priors import prior_draws
from drift.models.rater_assumptions import label_priors, rater_assumptions
from drift.simulate import main

CARDS = (
    "misclassification",
    "misclassification-dependent",
    "misclassification-unpooled",
    "misclassification-reference",
)
VALUE = 1e-11  # relative: some hundred logarithms of rates, each good to 1e-14 or better
N_PRIOR = 3000
SAME_LAW = 1e-3  # p value below which two samples are of different laws; 5 quantities a card are compared


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    """SIMULATED: three models, thirty items, routes with errors of their own."""
    folder = tmp_path_factory.mktemp("panel") / "routed"
    main([str(folder), "--labels", "routed", "--models", "3", "--questions", "30", "--audited", "30", "--seed", "3"])
    return read_labels(read_scorer_study(folder / "study.toml"))


@pytest.fixture(scope="module", params=CARDS)
def built(request, labels):
    card = read_card(request.param)
    frame = labels_frame(labels, rater_assumptions(card, labels, "rater_1"))
    return card, frame, build_model(card, frame)


def value_of(model, name, point):
    """A reported variable at a point of the sampled values."""
    variable = next(variable for variable in model.unobserved_value_vars if variable.name == name)
    return model.compile_fn(variable, inputs=model.value_vars, mode="FAST_COMPILE", on_unused_input="ignore")(point)


def moved(model, seed):
    rng = np.random.default_rng(seed)
    return {name: value + 0.3 * rng.normal(size=value.shape) for name, value in model.initial_point().items()}


def test_the_density_of_the_labels_is_that_of_single_rows(built, labels):
    """Row by row: log of the sum over truths of prevalence times error rates, from what the model reports."""
    card, _, model = built
    if card.name == "misclassification-dependent":
        pytest.skip("its rows are not independent given reported rates; tests/likelihood covers the shared factor")
    point = moved(model, 1)
    prevalence, fpr, fnr = (value_of(model, name, point) for name in ("prevalence", "fpr", "fnr"))
    rater_fpr, rater_fnr = (value_of(model, name, point) for name in ("rater_fpr", "rater_fnr"))
    factors = [labels.codes[factor] for factor in ("population", "arm", "model", "stratum")]
    rows = list(zip(*factors, strict=True))
    cells = {cell: number for number, cell in enumerate(sorted(set(rows)))}
    total = 0.0
    for cell, scorer, ratings in zip(rows, labels.scorer, labels.rating, strict=True):
        i, arm = cells[cell], cell[1]
        one = prevalence[i] * (1 - fnr[i] if scorer else fnr[i])
        none = (1 - prevalence[i]) * (fpr[i] if scorer else 1 - fpr[i])
        for r in np.flatnonzero(ratings >= 0):
            one *= 1 - rater_fnr[arm, r] if ratings[r] else rater_fnr[arm, r]
            none *= rater_fpr[arm, r] if ratings[r] else 1 - rater_fpr[arm, r]
        total += np.log(one + none)
    found = model.compile_logp(vars=model["labels"], mode="FAST_COMPILE")(point)
    assert found == pytest.approx(total, rel=VALUE)


@pytest.mark.parametrize("name", ["prevalence", "fpr", "fnr", "rater_fpr", "rater_fnr", "dependence"])
def test_prior_draws_are_of_the_models_priors(built, name):
    card, frame, model = built
    drawn = prior_draws(frame, label_priors(card), N_PRIOR, np.random.default_rng(1))
    if name not in drawn:
        assert name not in model.named_vars
        return
    expected = pm.draw(model[name], draws=N_PRIOR, random_seed=2, mode="FAST_COMPILE")
    first, last = expected.reshape(N_PRIOR, -1)[:, 0], expected.reshape(N_PRIOR, -1)[:, -1]
    ours = drawn[name].reshape(N_PRIOR, -1)
    assert ks_2samp(ours[:, 0], first).pvalue > SAME_LAW
    assert ks_2samp(ours[:, -1], last).pvalue > SAME_LAW
    assert ks_2samp(ours[:, 0] - ours[:, -1], first - last).pvalue > SAME_LAW  # of two cells: what they share


def test_what_the_priors_imply(labels):
    """Quantiles 2.5, 50, 97.5% as the model's design states them; 3,000 draws have errors below a tenth of each."""
    card = read_card("misclassification")
    frame = labels_frame(labels, rater_assumptions(card, labels, None))
    drawn = prior_draws(frame, label_priors(card), 20_000, np.random.default_rng(1))
    error = np.quantile(drawn["rater_fpr"][:, 0, 0], [0.025, 0.5, 0.975])
    np.testing.assert_allclose(error, [0.003, 0.020, 0.087], atol=0.003)  # printed digits, and the Monte Carlo error
    assert np.median(drawn["prevalence"][:, 0]) == pytest.approx(0.5, abs=0.02)
    low, high = np.quantile(drawn["prevalence"][:, 0], [0.025, 0.975])
    assert low < 0.03
    assert high > 0.97


def test_priors_of_a_card_of_ones_own_are_read():
    card = parse_card('+++\nbuilder = "misclassification"\n[priors]\nrater_median = 0.05\n+++\n', "mine")
    assert default_priors(card).rater_median == 0.05


def test_draws_of_counts_keep_the_design(built):
    """As many rows in each cell, and as many rated rows of each cell, scorer label and set of raters."""
    _, frame, model = built
    drawn = pm.draw(model["labels"], random_seed=4, mode="FAST_COMPILE")
    label, cell = frame.arrays["pattern_label"], frame.arrays["pattern_cell"]
    rated = (label[:, 1:] >= 0).any(axis=1)
    observed = frame.arrays["label_count"]
    np.testing.assert_array_equal(
        np.bincount(cell[~rated], weights=drawn[~rated]), np.bincount(cell[~rated], weights=observed[~rated])
    )
    seen = [tuple(row) for row in np.column_stack([cell, label[:, 0], label[:, 1:] >= 0])[rated]]
    for group in set(seen):
        here = np.flatnonzero(rated)[[row == group for row in seen]]
        assert drawn[here].sum() == observed[here].sum()


def test_draws_of_counts_have_the_probabilities_of_the_patterns():
    """One cell, one rater: shares of 4,000 draws within 5 standard errors of the closed form."""
    prevalence, scorer, rater = (
        np.array([ndtri(0.3)]),
        ndtri(np.array([[0.2], [0.1]])),
        ndtri(np.array([[[0.05]], [[0.1]]])),
    )
    label = np.array([[0, -1], [0, 0], [0, 1], [1, -1], [1, 0], [1, 1]])
    count, zero = np.array([50, 6, 4, 20, 5, 15]), np.zeros(1, np.int64)
    fixed = (zero, np.zeros(6, np.int64), label, count, zero, np.zeros(2, np.int64), np.zeros(1), np.zeros(1))
    rng = np.random.default_rng(1)
    drawn = np.array([draw_counts(prevalence, scorer, rater, np.zeros(2), *fixed, rng) for _ in range(4000)])
    positive = 0.3 * 0.9 + 0.7 * 0.2
    assert drawn[:, 3].mean() == pytest.approx(100 * positive, abs=5 * np.sqrt(100 * 0.25 / 4000))
    given_one = (0.3 * 0.9 * 0.9 + 0.7 * 0.2 * 0.05) / positive
    assert drawn[:, 5].mean() == pytest.approx(20 * given_one, abs=5 * np.sqrt(20 * 0.25 / 4000))


def test_strongyloides_with_the_published_priors(shared_data):
    """Two tests, no gold standard (joseph1995): medians of an independent Gibbs run.

    Ours are those of 1,000,000 draws of the prior weighted by the likelihood, of which some thousand are effective:
    errors of the medians below .01.
    """
    counts = {}
    for line in (shared_data / "strongyloides" / "counts.csv").read_text().splitlines()[1:]:
        *labels, n = (int(x) for x in line.split(","))
        counts[tuple(labels)] = n
    rng, n_draws = np.random.default_rng(1), 1_000_000
    prevalence = rng.uniform(size=n_draws)
    stool_se, stool_sp = (
        beta(4.44, 13.31).rvs(n_draws, random_state=rng),
        beta(71.25, 3.75).rvs(n_draws, random_state=rng),
    )
    serology_se, serology_sp = (
        beta(21.96, 5.49).rvs(n_draws, random_state=rng),
        beta(4.1, 1.76).rvs(n_draws, random_state=rng),
    )
    scorer = ndtri(np.stack([1 - serology_sp, 1 - serology_se], axis=1))[:, :, None]
    rater = ndtri(np.stack([1 - stool_sp, 1 - stool_se], axis=1))[:, :, None, None]
    patterns, n = np.array(list(counts)), np.array(list(counts.values()))
    zero = np.zeros(len(n), np.int64)
    probability = pattern_probability(
        ndtri(prevalence)[:, None], scorer, rater, np.zeros((n_draws, 2)),
        np.zeros(1, np.int64), zero, patterns, np.zeros(1), np.zeros(2), np.zeros(1), np.ones(1),
    )  # fmt: skip
    log_weight = np.log(probability) @ n
    weight = np.exp(log_weight - log_weight.max())

    def median(values):
        order = np.argsort(values)
        return values[order][np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)]

    found = [median(x) for x in (prevalence, serology_se, serology_sp, stool_se, stool_sp)]
    np.testing.assert_allclose(found, [0.776, 0.887, 0.701, 0.304, 0.960], atol=0.02)


def test_a_probit_normal_of_one_is_uniform_on_the_probability():
    assert ks_2samp(ndtr(np.random.default_rng(1).normal(size=5000)), np.linspace(0, 1, 5000)).pvalue > SAME_LAW
