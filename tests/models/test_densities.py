"""Each card's log density against a slow twin written without PyTensor, and against PyMC's own likelihood."""

from dataclasses import replace

import numpy as np
import pymc as pm
import pytest
from scipy import stats
from scipy.special import expit, softmax

import drift.models.ordinal
import drift.models.ordinal_interaction
from drift.likelihood.reference import log_probability
from drift.models import effects
from drift.models.cards import build_model, default_priors, read_card
from drift.models.priors import Spread

TWIN = 1e-11  # relative, of the change between two points: some hundred terms, added in another order
CONSTANT = 1e-6  # absolute: PyTensor casts the half-normal's normalising constant to single precision, 2e-8 each
GRADIENT = 1e-9  # relative to the largest component
N_POINTS = 5
ORDINAL = ("ordinal", "ordinal-interaction")
CARDS = (*ORDINAL, "cell-means")
CHOICES = {
    "all terms": None,
    "participants only": ("participant",),
    "no participant": ("domain", "question"),
    "models only": (),
}
MODULES = {"ordinal": drift.models.ordinal, "ordinal-interaction": drift.models.ordinal_interaction}


def random_points(model):
    start = model.initial_point()
    for seed in range(N_POINTS):
        rng = np.random.default_rng(seed)
        yield {name: value + rng.normal(scale=0.7, size=value.shape) for name, value in start.items()}


# --- the twin: transforms, priors and likelihood by hand


def zero_sum(free, groups):
    """(levels,) from (levels - groups,), group by group."""
    effects, taken = np.empty(groups.size), 0
    for level in range(groups.size):
        own = np.flatnonzero(groups == groups[level])
        if level != own[-1]:
            effects[level] = free[taken]
            taken += 1
    for g in np.unique(groups):
        *body, last = np.flatnonzero(groups == g)
        n, total = len(body) + 1, sum(effects[body])
        effects[body] -= total / (n + np.sqrt(n))
        effects[last] = -total / np.sqrt(n)
    return effects


class Twin:
    """Adds up a log density while it reads a point of the unconstrained space."""

    def __init__(self, point, data, frame, priors):
        self.point, self.data, self.terms, self.priors, self.value = point, data, frame.terms, priors, 0.0
        self.rich, self.centring = frame.centred, frame.arrays.get("centring")  # which coordinates the sampler sees

    def positive(self, name, prior):
        """A half-normal number that the sampler sees as its logarithm."""
        x = np.exp(self.point[f"{name}_log__"])
        self.value += np.sum(stats.halfnorm.logpdf(x, scale=prior) + np.log(x))
        return x

    def sd(self, name, spread):
        return spread.scale if spread.kind == "fixed" else self.positive(f"sd_{name}", spread.scale)

    def groups(self, factor):
        if factor == "question" and "domain" in self.terms:
            return np.array([self.data.codes["domain"][self.data.codes["question"] == q][0] for q in range(6)])
        return np.zeros(len(self.data.levels[factor]), int)

    def effect(self, *factors, spread=None):
        """(rows,) of one term."""
        name, term = "_".join(factors), ":".join(factors)
        if term not in (*self.terms, "model"):
            return 0.0
        sd = self.sd(name, spread or getattr(self.priors, f"sd_{name}"))
        free = self.point[f"{name}_free"]
        centred = term in self.rich
        self.value += stats.norm.logpdf(free, scale=sd if centred else 1.0).sum()
        effects = np.apply_along_axis(zero_sum, 0, free, self.groups(factors[0]))
        if len(factors) == 2:
            effects = np.apply_along_axis(zero_sum, 1, effects, self.groups(factors[1]))
        return (1.0 if centred else sd) * effects[tuple(self.data.codes[factor] for factor in factors)]

    def answers(self):
        """(rows,) model:question: a model's answers scatter by its own sd, zero-sum over the questions of a domain."""
        own = self.positive("sd_model_question", self.priors.sd_model_question.scale)[:, None]
        centred = self.centring[:, None] == 1.0
        free = self.point["model_question_free"]
        self.value += stats.norm.logpdf(free, scale=np.where(centred, own, 1.0)).sum()
        effects = np.apply_along_axis(zero_sum, 1, np.where(centred, free, own * free), self.groups("question"))
        return effects[self.data.codes["model"], self.data.codes["question"]]

    def cutpoints(self):
        free = self.point["label_share_simplex__"]
        share = softmax(np.append(free, -free.sum()))
        k = len(share)
        slopes = (
            np.diag(share[:-1]) - np.outer(share[:-1], share[:-1]) + np.outer(share[:-1], np.full(k - 1, share[-1]))
        )
        self.value += stats.dirichlet.logpdf(share, np.full(k, self.priors.label)) + np.linalg.slogdet(slopes)[1]
        return np.log(np.cumsum(share)[:-1]) - np.log1p(-np.cumsum(share)[:-1])


def ordinal_twin(point, ratings, card, frame):
    twin = Twin(point, ratings, frame, default_priors(card))
    cutpoints = twin.cutpoints()
    eta = np.zeros(ratings.n_rows)
    for term in ("model", *frame.terms):
        eta = eta + (twin.answers() if term == "model:question" else twin.effect(*term.split(":")))
    return twin.value + log_probability(ratings.rating, eta, cutpoints).sum()


def cell_means_twin(point, cells, card, frame):
    priors = default_priors(card)
    twin = Twin(point, cells, frame, priors)
    codes, means = cells.codes, point["means_free"]
    twin.value += stats.norm.logpdf(means, priors.mean, priors.mean_sd).sum()
    mean = means[codes["model"], codes["domain"] if "model:domain" in frame.terms else 0]
    if "domain" in frame.terms and "model:domain" not in frame.terms:
        mean = mean + twin.effect("domain", spread=Spread(priors.mean_sd, "fixed"))
    mean = mean + twin.effect("question")
    residual = twin.positive("sd_residual", priors.sd_residual)
    share = expit(point["noise_share_logodds__"])
    twin.value += stats.beta.logpdf(share, *priors.noise_share) + np.log(share * (1 - share))
    low, high = cells.noise_bounds()
    sd = np.sqrt(residual[cells.codes["model"]] ** 2 + low + share * (high - low))
    return twin.value + stats.norm.logpdf(cells.deviation, mean, sd).sum()


def assert_equal_densities(model, twin):
    density = model.compile_logp(mode="FAST_COMPILE")
    points = list(random_points(model))
    found, expected = np.array([density(point) for point in points]), np.array([twin(point) for point in points])
    np.testing.assert_allclose(found, expected, rtol=0, atol=CONSTANT)
    np.testing.assert_allclose(found[1:] - found[0], expected[1:] - expected[0], rtol=0, atol=TWIN * abs(found).max())


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", ORDINAL)
def test_ordinal_cards_equal_their_slow_twin(name, choice, built, ratings, frame_of):
    card, frame = read_card(name), frame_of(read_card(name), CHOICES[choice])
    assert_equal_densities(built(name, CHOICES[choice]), lambda point: ordinal_twin(point, ratings, card, frame))


@pytest.mark.parametrize("centring", [0.0, 1.0])
def test_other_coordinates_equal_the_slow_twin_too(centring, ratings, frame_of):
    card = read_card("ordinal-interaction")
    frame = frame_of(card)
    arrays = {**frame.arrays, "centring": np.full(3, centring)}
    frame = replace(frame, arrays=arrays, centred=frozenset(("model", *card.terms) if centring else ()))
    assert_equal_densities(build_model(card, frame), lambda point: ordinal_twin(point, ratings, card, frame))


@pytest.mark.parametrize("terms", [None, ("domain",), ("domain", "model:domain"), ("question",), ()])
def test_cell_means_equals_its_slow_twin(terms, built, cells, frame_of):
    card, frame = read_card("cell-means"), frame_of(read_card("cell-means"), terms)
    assert_equal_densities(built("cell-means", terms), lambda point: cell_means_twin(point, cells, card, frame))


# --- PyMC's own likelihood in the same model


def outer_of(frame):
    """(row,) code of each sorted row's outer level."""
    return np.repeat(np.arange(len(frame.arrays["end"])), np.diff(frame.arrays["end"][:, -1], prepend=0))


def stock_likelihood(name, cell, participant, cutpoints, frame):
    outer, inner = (participant, cell) if frame.outer == "participant" else (cell, participant)
    eta = outer[outer_of(frame)] + inner[frame.arrays["index"]]
    pm.OrderedLogistic(name, eta=eta, cutpoints=cutpoints, compute_p=False, observed=frame.arrays["rating_sorted"])


@pytest.mark.parametrize("name", ORDINAL)
def test_fused_model_equals_the_same_model_with_stock_likelihood(name, built, frame_of, monkeypatch):
    card = read_card(name)
    monkeypatch.setattr(MODULES[name], "cumulative_logit", stock_likelihood)
    stock = build_model(card, frame_of(card))
    value = [m.compile_logp(mode="FAST_COMPILE") for m in (built(name), stock)]
    slopes = [m.compile_dlogp(mode="FAST_COMPILE") for m in (built(name), stock)]
    for point in random_points(stock):
        assert value[0](point) == pytest.approx(value[1](point), rel=TWIN)
        ours, theirs = (slope(point) for slope in slopes)
        np.testing.assert_allclose(ours, theirs, atol=GRADIENT * np.abs(theirs).max())


# --- left out is absent


@pytest.mark.parametrize("name", CARDS)
@pytest.mark.parametrize("left_out", ["domain", "model:domain", "question"])
def test_a_term_left_out_has_no_variable(name, left_out, built):
    kept = tuple(term for term in read_card(name).terms if term not in (left_out, f"model:{left_out}"))
    names = {variable for variable in built(name, kept).named_vars if not variable.startswith("cell_")}
    prefix = left_out.replace(":", "_")
    assert not {f"{prefix}_effect", f"{prefix}_free", f"sd_{prefix}"} & names
    assert "model_effect" in names


def test_a_participant_left_out_has_no_variable(built):
    assert not {name for name in built("ordinal", ("domain", "question")).named_vars if "participant" in name}


@pytest.mark.parametrize("name", CARDS)
def test_all_terms_have_their_variable(name, built):
    wanted = {f"{term.replace(':', '_')}_effect" for term in read_card(name).terms}
    assert wanted <= set(built(name).named_vars)


# --- what the priors imply


def test_random_ratings_have_the_probabilities_of_the_definition(frame_of):
    """Draws of the observed variable at one point, row by row: chi-square over rows x labels."""
    n_draws, frame = 2000, frame_of(read_card("ordinal"))
    assert frame.outer == "participant"
    participant, cell, cutpoints = np.linspace(-1, 1, 8), np.linspace(-2, 2, 18), np.array([-2.0, -0.5, 0.5, 1.5])
    arguments = (participant, cell, cutpoints, *(frame.arrays[name] for name in ("end", "index", "above")))
    rng = np.random.default_rng(1)
    draws = np.stack([effects._draw_ratings(*arguments, rng=rng) for _ in range(n_draws)])
    eta = participant[outer_of(frame)] + cell[frame.arrays["index"]]
    probability = np.exp(log_probability(np.arange(5), eta[:, None], cutpoints))
    counts = np.stack([(draws == k).sum(axis=0) for k in range(5)], axis=1)
    statistic = ((counts - n_draws * probability) ** 2 / (n_draws * probability)).sum()
    assert 0.001 < stats.chi2.cdf(statistic, df=4 * eta.size) < 0.999
