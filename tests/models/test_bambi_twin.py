"""The same card as a Bambi formula: same posterior where both define a quantity in the same way."""

import arviz_stats
import numpy as np
import pytest
import xarray as xr
from scipy import stats
from scipy.special import expit

from drift.inference.compiled import compile_model, structure_key
from drift.inference.sampling import Settings, sample
from drift.models.cards import build_model, default_priors, read_card
from drift.models.formula import _log_induced_dirichlet, bambi_formula, bambi_model
from drift.models.frame import ratings_frame
from drift.models.ordinal import OrdinalPriors
from drift.models.ordinal_interaction import OrdinalInteractionPriors

TERMS = ("question", "participant")
SIZES = {"n_models": 8, "n_questions": 10, "n_participants": 25, "n_domains": 1, "seed": 5}  # 2,000 rows, simulated
MOST_MCSE = 4.0  # issue 2; of about 30 quantities with R-hat near 1, the largest of normal z-scores is 2 to 3


def test_formula():
    assert bambi_formula(("domain", "model:domain", "question", "participant")) == (
        "rating ~ 0 + (1|model) + (1|domain) + (1|model:domain) + (1|question) + (1|participant)"
    )


def test_formula_of_answers_that_scatter_by_model():
    assert bambi_formula(("question", "model:question")) == "rating ~ 0 + (1|model) + (1|question) + (0 + model|answer)"


def test_thresholds_have_the_prior_of_the_card():
    """Against the Dirichlet density of label shares and a Jacobian by central differences."""
    cutpoints, concentration, step = np.array([-1.5, 0.2, 1.0, 2.5]), 1.7, 1e-5

    def shares(c):
        return np.diff(np.concatenate([[0.0], expit(c), [1.0]]))

    slopes = [(shares(cutpoints + step * e) - shares(cutpoints - step * e))[:-1] / (2 * step) for e in np.eye(4)]
    expected = stats.dirichlet.logpdf(shares(cutpoints), np.full(5, concentration)) + np.linalg.slogdet(slopes)[1]
    assert _log_induced_dirichlet(cutpoints, concentration).eval() == pytest.approx(expected, rel=1e-8)


def test_every_prior_is_the_cards(ratings):
    model = bambi_model(ratings, ("domain", "question", "participant"), OrdinalPriors(label=0.5))
    text = str(model)
    for term, scale in (("1|model", 1.5), ("1|domain", 1.0), ("1|question", 1.0), ("1|participant", 1.0)):
        assert f"{term} ~ Normal(mu: 0.0, sigma: HalfNormal(sigma: {scale}))" in text
    assert "threshold ~ InducedDirichlet(concentration: 0.5, n_labels: 5.0)" in text


def test_unused_labels_and_a_spread_a_model_build(ratings):
    model = bambi_model(ratings, ("question", "model:question"), OrdinalInteractionPriors())
    model.build()
    point = model.backend.model.initial_point()
    assert point["threshold_ordered__"].shape == (4,)
    assert point["model|answer_sigma_log__"].shape == (3,)
    assert np.isfinite(model.backend.model.compile_logp(mode="FAST_COMPILE")(point))


# --- posteriors


def comparable(cutpoints, effects, sds, data):
    """(chain, draw) draws of what both define alike, by name. effects: (chain, draw, level) by factor."""
    draws = {f"sd {factor}": sd for factor, sd in sds.items()}
    for factor, values in effects.items():
        for level in range(1, values.shape[-1]):
            draws[f"{factor} {level} - 0"] = values[..., level] - values[..., 0]
    for k in range(1, cutpoints.shape[-1]):
        draws[f"cutpoint {k} - {k - 1}"] = cutpoints[..., k] - cutpoints[..., k - 1]
    for m, name in enumerate(data.levels["model"]):
        draws[f"deviation {name}"] = deviation(cutpoints, effects, m)
    return {name: xr.DataArray(values, dims=("chain", "draw")) for name, values in draws.items()}


def deviation(cutpoints, effects, model):
    """(chain, draw) expected deviation of a model, percent, over these questions and these participants."""
    eta = (
        effects["model"][..., model, None, None]
        + effects["question"][..., :, None]
        + effects["participant"][..., None, :]
    )
    below = sum(expit(cutpoints[..., k, None, None] - eta) for k in range(4))  # sum of P(R <= k) = 4 - E[R]
    return 25.0 * below.mean(axis=(-1, -2))


@pytest.fixture(scope="module")
def simulated_ratings(simulated):
    return simulated(**SIZES)


@pytest.fixture(scope="module")
def ours(simulated_ratings):
    card = read_card("ordinal")
    frame = ratings_frame(simulated_ratings, TERMS)
    key = structure_key({"card": card.digest} | frame.structure())
    compiled = compile_model(lambda: build_model(card, frame), key)
    tree = sample(compiled, frame.arrays, frame.coords, Settings(draws=2000, tune=500), 3, cores=2, progress=False)
    posterior = tree["posterior"].to_dataset()
    factors = ("model", *TERMS)
    return comparable(
        posterior["cutpoints"].to_numpy(),
        {factor: posterior[f"{factor}_effect"].to_numpy() for factor in factors},
        {factor: posterior[f"sd_{factor}"].to_numpy() for factor in factors},
        simulated_ratings,
    )


@pytest.fixture(scope="module")
def theirs(simulated_ratings):
    model = bambi_model(simulated_ratings, TERMS, default_priors(read_card("ordinal")))
    settings = {"draws": 2500, "tune": 500, "chains": 4, "cores": 2, "random_seed": 4, "progressbar": False}
    posterior = model.fit(inference_method="nutpie", **settings).posterior.to_dataset()
    factors = ("model", *TERMS)
    effects = {}
    for factor in factors:
        named = posterior[f"1|{factor}"].sel({f"{factor}__factor_dim": list(simulated_ratings.levels[factor])})
        effects[factor] = named.to_numpy()
    return comparable(
        posterior["threshold"].to_numpy(),
        effects,
        {factor: posterior[f"1|{factor}_sigma"].to_numpy() for factor in factors},
        simulated_ratings,
    )


@pytest.fixture(scope="module")
def z_scores(ours, theirs):
    def mcse(draws):
        return float(arviz_stats.mcse(draws))

    return {
        name: float((ours[name].mean() - theirs[name].mean()) / np.hypot(mcse(ours[name]), mcse(theirs[name])))
        for name in ours
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sd ", "model ", "question ", "participant ", "cutpoint ", "deviation "])
def test_posterior_means_agree(z_scores, kind):
    found = {name: z for name, z in z_scores.items() if name.startswith(kind)}
    assert found
    assert max(map(abs, found.values())) < MOST_MCSE, found


@pytest.mark.slow
def test_posterior_sds_agree(ours, theirs):
    """Means alone would agree with a posterior twice as wide. sds of 8,000 draws with some thousand effective: 5%."""
    for name, draws in ours.items():
        error = 4 * np.hypot(
            float(arviz_stats.mcse(draws, method="sd")), float(arviz_stats.mcse(theirs[name], method="sd"))
        )
        assert float(draws.std()) == pytest.approx(float(theirs[name].std()), abs=error), name
