"""The ordinal scorer model: density against single rows, K = 2 against two classes, priors, published data."""

import csv
from dataclasses import dataclass, replace

import numpy as np
import pymc as pm
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logsumexp, ndtri, softmax
from scipy.stats import chisquare, ks_2samp

from drift.data.labels import Labels
from drift.likelihood.misclassification import misclassification
from drift.likelihood.ordinal_kernel import ordinal_patterns
from drift.likelihood.ordinal_pattern import joint_log_probability
from drift.models.misclassification_ordinal import draw_counts, misclassification_ordinal
from drift.models.misclassification_ordinal_frame import distances, off_diagonal, ordinal_labels_frame, zero_sum_basis
from drift.models.misclassification_ordinal_priors import OrdinalScorerPriors, prior_draws, rater_prior
from drift.scale import Scale

PRIORS = OrdinalScorerPriors()
VALUE = 1e-10  # relative: sums of some hundred logarithms in another order
SLOPE = 1e-6  # central differences at 1e-5 of a function that is good to 1e-13 relative, times about 500
N_PRIOR = 3000
SAME_LAW = 1e-3  # p value below which two samples are of different laws; 8 quantities are compared
FACTORS = ("population", "arm", "model", "stratum")


def simulated(n_labels, n_rows=300, seed=3, n_raters=2, arms=3, models=2, strata=2, populations=2):
    """SIMULATED labels that need not fit any model: every term of the model has levels to act on."""
    rng = np.random.default_rng(seed)
    sizes = {"population": populations, "arm": arms, "model": models, "stratum": strata}
    codes = {factor: rng.integers(0, size, n_rows) for factor, size in sizes.items()} | {"key": np.arange(n_rows)}
    rating = rng.integers(0, n_labels, (n_rows, n_raters))
    rating[rng.random((n_rows, n_raters)) < 0.5] = -1
    return labels_of(rng.integers(0, n_labels, n_rows), rating, n_labels, codes)


def labels_of(scorer, rating, n_labels, codes):
    levels = {name: tuple(f"{name} {i + 1}" for i in range(code.max() + 1)) for name, code in codes.items()}
    n_rows = len(scorer)
    return Labels(
        scorer=np.asarray(scorer, np.int8),
        rating=np.asarray(rating, np.int8),
        codes=codes,
        levels=levels,
        raters=tuple(f"rater {i + 1}" for i in range(rating.shape[1])),
        audit=np.where((rating >= 0).any(axis=1), 0, -1),
        audits=("audit",),
        inclusion=np.full(n_rows, np.nan),
        line=np.arange(2, n_rows + 2),
        source="simulated",
        digest="",
        dropped={},
        target=0,
        unrated={},
        scale=Scale(tuple(str(i + 1) for i in range(n_labels))),
    )


@pytest.fixture(scope="module")
def labels():
    return simulated(4)


@pytest.fixture(scope="module")
def frame(labels):
    return ordinal_labels_frame(labels, rater_prior(PRIORS))


@pytest.fixture(scope="module")
def model(frame):
    return misclassification_ordinal(frame, PRIORS)


def value_of(model, name, point):
    """A reported variable at a point of the sampled values."""
    variable = next(variable for variable in model.unobserved_value_vars if variable.name == name)
    return model.compile_fn(variable, inputs=model.value_vars, mode="FAST_COMPILE", on_unused_input="ignore")(point)


# ---- the likelihood


def test_the_density_of_the_labels_is_that_of_single_rows(labels, model):
    """Row by row and class by class, from what the model reports."""
    rng = np.random.default_rng(1)
    point = {name: value + 0.3 * rng.normal(size=value.shape) for name, value in model.initial_point().items()}
    share, scorer, rater = (
        value_of(model, name, point) for name in ("class_share", "scorer_confusion", "rater_confusion")
    )
    rows = list(zip(*(labels.codes[factor] for factor in FACTORS), strict=True))
    cells = {cell: number for number, cell in enumerate(sorted(set(rows)))}
    total = 0.0
    for cell, label, ratings in zip(rows, labels.scorer, labels.rating, strict=True):
        row = 0.0
        for k in range(4):
            given = share[cells[cell], k] * scorer[cells[cell], k, label]
            for r, rating in enumerate(ratings):
                given *= rater[r, k, rating] if rating >= 0 else 1.0
            row += given
        total += np.log(row)
    found = model.compile_logp(vars=model["labels"], mode="FAST_COMPILE")(point)
    assert found == pytest.approx(total, rel=VALUE)


@dataclass(frozen=True)
class Point:
    """Random logits for a frame, and the rest of the likelihood's arguments."""

    logits: tuple[np.ndarray, np.ndarray, np.ndarray]
    rest: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, labels, seed=5):
        rng, arrays = np.random.default_rng(seed), ordinal_labels_frame(labels, rater_prior(PRIORS)).arrays
        n, n_cells, n_raters = labels.scale.n_labels, len(arrays["cell_arm"]), len(labels.raters)
        logits = tuple(rng.normal(size=shape) for shape in ((n_cells, n), (n_cells, n, n), (n_raters, n, n)))
        return cls(logits, tuple(arrays[name] for name in ("column_rater", "seen_cell", "seen_label", "seen_count")))


@pytest.mark.parametrize("n_labels", [2, 3, 7])
def test_the_fused_likelihood_is_the_one_that_is_spelled_out(n_labels):
    point = Point.of(simulated(n_labels))
    *where, count = point.rest
    joint = joint_log_probability(*(log_softmax(x, axis=-1) for x in point.logits), *where)
    assert ordinal_patterns(*point.logits, *point.rest)[0] == pytest.approx(
        count @ logsumexp(joint, axis=-1), rel=VALUE
    )


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_gradient_is_that_of_differences(which):
    point = Point.of(simulated(3, n_rows=80, models=1, strata=1, populations=1))
    gradient = ordinal_patterns(*point.logits, *point.rest)[1 + which]
    for place in np.ndindex(gradient.shape):
        values = []
        for step in (1e-5, -1e-5):
            moved = [x.copy() for x in point.logits]
            moved[which][place] += step
            values.append(ordinal_patterns(*moved, *point.rest)[0])
        assert gradient[place] == pytest.approx((values[0] - values[1]) / 2e-5, abs=SLOPE)


def test_two_labels_are_the_two_class_formula():
    """The binary card's likelihood of the same rates: truth 1 is the second class, errors are the off-diagonal."""
    labels = simulated(2)
    point = Point.of(labels)
    share, scorer, rater = (softmax(x, axis=-1) for x in point.logits)
    _, cell, label, count = point.rest
    n_cells, n_raters = len(share), len(rater)
    binary, *_ = misclassification(
        ndtri(share[:, 1]),
        ndtri(np.stack([scorer[:, 0, 1], scorer[:, 1, 0]])),
        ndtri(np.stack([rater[None, :, 0, 1], rater[None, :, 1, 0]])),
        np.zeros(2),
        np.zeros(n_cells, np.int64),
        cell,
        label,
        count,
        np.zeros(n_raters, np.int64),
        np.zeros(1 + n_raters, np.int64),
        np.zeros(1),
        np.zeros(1),
    )
    assert ordinal_patterns(*point.logits, *point.rest)[0] == pytest.approx(binary, rel=VALUE)


# ---- the priors


@pytest.fixture(scope="module")
def prior(frame):
    return prior_draws(frame, PRIORS, N_PRIOR, np.random.default_rng(11))


@pytest.fixture(scope="module")
def graph_prior(model):
    names = ("class_share", "scorer_confusion", "rater_confusion")
    drawn = pm.draw([model[name] for name in names], draws=N_PRIOR, random_seed=12, mode="FAST_COMPILE")
    return dict(zip(names, drawn, strict=True))


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("class_share", (0, 0)),
        ("class_share", (5, 2)),
        ("scorer_confusion", (0, 0, 0)),
        ("scorer_confusion", (3, 1, 3)),
        ("scorer_confusion", (7, 2, 1)),
        ("rater_confusion", (0, 0, 1)),
        ("rater_confusion", (1, 3, 0)),
        ("rater_confusion", (1, 2, 2)),
    ],
)
def test_prior_draws_are_of_the_models_priors(prior, graph_prior, name, place):
    here = (slice(None), *place)
    assert ks_2samp(prior[name][here], graph_prior[name][here]).pvalue > SAME_LAW


def test_cells_differ_in_the_prior_as_they_do_in_the_model(prior, graph_prior):
    """The spread of a share between cells of one arm, which comes from models and strata alone."""
    twin, model = (draws["class_share"][:, 0, 0] - draws["class_share"][:, 1, 0] for draws in (prior, graph_prior))
    assert ks_2samp(twin, model).pvalue > SAME_LAW


def test_a_raters_most_probable_label_is_the_true_class(prior):
    assert (prior["rater_confusion"].argmax(axis=-1) == np.arange(4)).all()


def test_a_scorer_is_not_kept_near_the_truth(prior):
    """A scorer whose most probable label for the worst class is the best one has a prior probability that is not 0."""
    wrong = prior["scorer_confusion"][:, 0, 0].argmax(axis=-1) == 3
    assert 0.005 < wrong.mean() < 0.2


def test_errors_fall_off_with_distance(prior):
    """Medians of the log odds against the diagonal: -2.5 for the neighbour, 1.2 less each further step."""
    odds = np.median(np.log(prior["rater_confusion"][:, 0, 0] / prior["rater_confusion"][:, 0, 0, :1]), axis=0)
    assert odds[1:] == pytest.approx(np.log(PRIORS.rater_neighbour) - 1.2 * np.arange(3), abs=0.06)  # 4 se of a median


def test_with_two_labels_shares_are_uniform():
    """As the binary card's prevalence: N(0, 1) on the probit scale."""
    labels = simulated(2, models=1, strata=1, populations=1)
    draws = prior_draws(ordinal_labels_frame(labels, rater_prior(PRIORS)), PRIORS, N_PRIOR, np.random.default_rng(2))
    assert ks_2samp(draws["class_share"][:, 0, 1], np.linspace(0, 1, 100_001)).pvalue > SAME_LAW


def test_with_two_labels_a_raters_error_is_a_truncated_normal_logit():
    labels = simulated(2, models=1, strata=1, populations=1)
    draws = prior_draws(ordinal_labels_frame(labels, rater_prior(PRIORS)), PRIORS, N_PRIOR, np.random.default_rng(2))
    normal = np.log(PRIORS.rater_neighbour) + PRIORS.rater_spread * np.random.default_rng(3).normal(size=N_PRIOR)
    assert ks_2samp(draws["rater_confusion"][:, 0, 0, 1], expit(normal[normal < 0])).pvalue > SAME_LAW


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_basis_of_centred_effects_is_orthonormal(n):
    basis = zero_sum_basis(n)
    assert basis.T @ basis == pytest.approx(np.eye(n - 1), abs=1e-14)
    assert basis.sum(axis=0) == pytest.approx(np.zeros(n - 1), abs=1e-14)


# ---- draws of labels


@pytest.fixture(scope="module")
def drawn(frame):
    """Counts drawn 400 times at one point, the probabilities they were drawn with, and the frame's arrays."""
    arrays, rng = frame.arrays, np.random.default_rng(6)
    n_cells = len(arrays["cell_arm"])
    logits = tuple(rng.normal(size=shape) for shape in ((n_cells, 4), (n_cells, 4, 4), (2, 4, 4)))
    names = ("column_rater", "seen_cell", "seen_label", "seen_count", "pattern_cell", "pattern_label", "pattern_count")
    counts = np.array([draw_counts(*logits, *(arrays[name] for name in names), rng) for _ in range(400)])
    where = (arrays[name] for name in ("column_rater", "pattern_cell", "pattern_label"))
    joint = joint_log_probability(*(log_softmax(x, axis=-1) for x in logits), *where)
    return counts, np.exp(logsumexp(joint, axis=-1)), arrays


def test_scorer_labels_are_drawn_for_all_rows_of_a_cell(drawn):
    counts, probability, arrays = drawn
    alone = (arrays["pattern_cell"] == 0) & (arrays["pattern_label"][:, 1:] < 0).all(axis=1)
    n_rows = arrays["pattern_count"][arrays["pattern_cell"] == 0].sum()
    assert (counts[:, alone].sum(axis=1) == n_rows).all()
    assert chisquare(counts[:, alone].sum(axis=0), 400 * n_rows * probability[alone]).pvalue > SAME_LAW


def test_ratings_are_drawn_given_the_scorer_label(drawn):
    """As many as the audit took of the cell, scorer label and raters; shares as the joint probability has them."""
    counts, probability, arrays = drawn
    label, seen = arrays["pattern_label"], np.flatnonzero((arrays["seen_label"][:, 1:] >= 0).all(axis=1))[0]
    cell, score = arrays["seen_cell"][seen], arrays["seen_label"][seen, 0]
    group = (arrays["pattern_cell"] == cell) & (label[:, 0] == score) & (label[:, 1:] >= 0).all(axis=1)
    n_rows = arrays["pattern_count"][group].sum()
    assert group.sum() == 16
    assert (counts[:, group].sum(axis=1) == n_rows).all()
    share = probability[group] / probability[group].sum()
    assert chisquare(counts[:, group].sum(axis=0), 400 * n_rows * share).pvalue > SAME_LAW


def test_the_observed_counts_are_those_of_a_draw(frame, labels):
    arrays = frame.arrays
    alone = (arrays["pattern_label"][:, 1:] < 0).all(axis=1)
    assert arrays["label_count"][alone].sum() == labels.n_rows
    assert arrays["label_count"][~alone].sum() == labels.audited.sum()


# ---- Dawid and Skene's anaesthesia data: 45 patients, 5 anaesthetists, no scorer

EM_SHARE = (0.4000, 0.4216, 0.1118, 0.0667)  # as the data's README prints them
EM_VALUE = -190.731


@dataclass(frozen=True)
class Anaesthesia:
    """The frame, and the likelihood of class logits and raters' logits: there is no scorer, so its factor is 1."""

    frame: object

    def arguments(self, share, rater):
        arrays = self.frame.arrays
        names = ("column_rater", "seen_cell", "seen_label", "seen_count")
        return (share, np.zeros((1, 4, 4)), rater, *(arrays[name] for name in names))

    def em(self):
        """Class shares, confusion matrices and log likelihood after EM from the shares of votes."""
        column_rater, cell, label, count = self.arguments(None, None)[3:]
        truth = np.stack([(label[:, 1:] == k).sum(axis=1) for k in range(4)], axis=1) / 7.0
        for _ in range(500):
            weight = truth * count[:, None]
            share, rater = weight.sum(axis=0) / weight.sum(), np.zeros((5, 4, 4))
            for column, person in enumerate(column_rater):
                np.add.at(rater[person].T, label[:, 1 + column], weight)
            rater /= rater.sum(axis=-1, keepdims=True)
            with np.errstate(divide="ignore"):
                tables = np.log(share)[None], np.zeros((1, 4, 4)), np.log(rater)
            joint = joint_log_probability(*tables, column_rater, cell, label)
            truth = softmax(joint, axis=1)
        return share, rater, count @ logsumexp(joint, axis=1)

    def posterior_mode(self, start, spread):
        """Class shares at the mode of the card's density of shares and mistakes' logits, mistakes at most 0."""
        share, rater, _ = start
        place = off_diagonal(4)
        location = self.frame.arrays["rater_prior"][0] - 1.2 * (place @ distances(4).ravel() - 1.0)
        logits = np.log(np.clip(rater, 1e-4, None))
        mistakes = (logits - np.diagonal(logits, axis1=1, axis2=2)[..., None]).reshape(5, 16) @ place.T

        def negative(x):
            off = x[4:].reshape(5, 12)
            value, by_share, _, by_rater = ordinal_patterns(
                *self.arguments(x[None, :4], (off @ place).reshape(5, 4, 4))
            )
            away = (off - location) / spread
            slope = by_rater.reshape(5, 16) @ place.T - away / spread
            return 0.5 * (away**2).sum() - value, -np.concatenate([by_share[0], slope.ravel()])

        at = np.concatenate([np.log(share), np.minimum(mistakes, -0.01).ravel()])
        bounds = [(None, None)] * 4 + [(None, 0.0)] * 60
        options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-13}
        found = minimize(negative, at, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        return softmax(found.x[:4])


@pytest.fixture(scope="module")
def anaesthesia(shared_data):
    """Rater 1's three repeats are three labels by one person, independent given the patient's class."""
    with (shared_data / "dawid_skene" / "anesthesia.csv").open(encoding="utf-8") as file:
        rows = [tuple(int(float(row[name])) for name in ("item", "rater", "rating")) for row in csv.DictReader(file)]
    columns = {1: [0, 1, 2], 2: [3], 3: [4], 4: [5], 5: [6]}
    rating, filled = np.full((45, 7), -1), dict.fromkeys(((item, rater) for item, rater, _ in rows), 0)
    for item, rater, label in rows:
        rating[item - 1, columns[rater][filled[item, rater]]] = label - 1
        filled[item, rater] += 1
    codes = {factor: np.zeros(45, np.int64) for factor in FACTORS} | {"key": np.arange(45)}
    labels = labels_of(np.full(45, -1), rating, 4, codes)
    weak = replace(PRIORS, rater_spread=10.0)
    return Anaesthesia(ordinal_labels_frame(labels, rater_prior(weak), same=["1", "1", "1", "2", "3", "4", "5"]))


def test_repeats_have_the_confusion_matrix_of_their_rater(anaesthesia):
    assert anaesthesia.frame.arrays["column_rater"].tolist() == [0, 0, 0, 1, 2, 3, 4]


def test_em_on_this_likelihood_is_dawid_and_skenes(anaesthesia):
    share, _, value = anaesthesia.em()
    assert value == pytest.approx(EM_VALUE, abs=5e-4)  # printed with three decimals
    assert share == pytest.approx(EM_SHARE, abs=5e-5)  # printed with four


def test_the_anchor_excludes_the_em_point(anaesthesia):
    """There, two anaesthetists' most probable label for a class is another one: the mode below is not the EM point."""
    _, rater, _ = anaesthesia.em()
    off = [(r + 1, k + 1) for r, k in np.argwhere(rater.argmax(axis=-1) != np.arange(4))]
    assert off == [(1, 4), (3, 3), (3, 4)]


def test_the_posterior_mode_under_weak_priors_has_the_class_shares_of_em(anaesthesia):
    share = anaesthesia.posterior_mode(anaesthesia.em(), spread=10.0)
    assert share == pytest.approx(EM_SHARE, abs=0.01)  # as the project asks
