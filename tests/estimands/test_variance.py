"""Variance shares and ICCs: closed forms on the latent scale, simulation on the response scale; effects beside them."""

import numpy as np
import pytest
from scipy.special import expit

from drift.data.declaration import Target
from drift.estimands import NoTermError, deviation, icc, participant_leniency, question_difficulty, variance_shares
from drift.estimands.terms import read_ordinal
from drift.estimands.variance import LATENT_TERMS, RESPONSE_TERMS, grid_variances, response_variances

RESIDUAL = np.pi**2 / 3


def test_latent_shares_are_the_declared_variances(make_ordinal):
    tree = make_ordinal(sizes=(4, 4), n_chains=1, n_draws=2, fixed=True)
    posterior = tree["posterior"].isel(chain=0, draw=0)
    variances = np.array([
        *[(posterior[f"{term}_effect"] ** 2).mean() for term in ("model", "domain", "model_domain")],
        0.8**2, (0.25**2 + 0.5**2 + 0.75**2) / 3, 0.7**2, RESIDUAL,
    ])  # fmt: skip
    np.testing.assert_allclose(variance_shares(tree).values[0, 0], variances / variances.sum())


def test_uneven_domains_are_weighted_by_questions():
    grid, weight = np.random.default_rng(0).normal(size=(5, 3, 2)), np.array([0.2, 0.8])
    joint = weight / 3 * np.ones((3, 2))
    mean = (grid * joint).sum(axis=(1, 2))
    total = ((grid - mean[:, None, None]) ** 2 * joint).sum(axis=(1, 2))
    np.testing.assert_allclose(grid_variances(grid, weight).sum(axis=1), total)


@pytest.mark.parametrize("scale", ["latent", "response"])
def test_shares_add_to_one(make_ordinal, scale):
    found = variance_shares(make_ordinal(n_draws=10), scale)
    np.testing.assert_allclose(found.sum("term"), 1.0)
    assert (found > -1e-9).all()


def test_latent_icc_has_its_closed_form(make_ordinal):
    tree = make_ordinal(
        n_models=2,
        sizes=(3, 3),
        n_chains=1,
        n_draws=1,
        fixed=True,
        leave_out=("model_question", "domain", "model_domain"),
    )
    cells = (tree["posterior"]["model_effect"] ** 2).mean().item() + 0.8**2
    found = icc(tree).values[0, 0]
    np.testing.assert_allclose(found, [cells / (cells + 0.7**2 + RESIDUAL), cells / (cells + RESIDUAL)])


def simulated_codes(t, rng, n, **held):
    """Codes of n ratings from the population, and their predictors; `held`: levels of factors, where not new."""
    weight = t.design.domain_weights("question")
    m = held["m"] if "m" in held else rng.integers(0, t.base.shape[1], n)
    d = held["d"] if "d" in held else rng.choice(len(weight), n, p=weight)
    eta = t.base[0, m, d]
    for name, sd in (("q", t.sd("question")[0]), ("mq", t.sd_model_question[0, m]), ("p", t.sd("participant")[0])):
        eta = eta + sd * (held[name] if name in held else rng.normal(size=n))
    return (eta[:, None] + rng.logistic(size=(n, 1)) > t.cutpoints[0]).sum(axis=1), eta


def test_response_variances_agree_with_simulation(make_ordinal):
    tree = make_ordinal(n_chains=1, n_draws=1, n_cuts=4, sd_question=1.2, sd_participant=0.9, sd_model_question=0.8)
    t, rng, n = read_ordinal(tree), np.random.default_rng(4), 1_000_000
    parts, cells = response_variances(t)
    found = dict(zip(RESPONSE_TERMS, parts[0], strict=True))
    codes, eta = simulated_codes(t, rng, n)
    assert abs(parts[0].sum() / codes.var() - 1) < 0.006  # 4 standard errors of a variance at a million ratings
    above = expit(eta[:, None] - t.cutpoints[0])
    expected = above.sum(axis=1)
    residual = ((2 * np.arange(4) + 1) * above).sum(axis=1) - expected**2
    assert abs(found["residual"] - residual.mean()) < 4 * residual.std() / np.sqrt(n)
    # the covariance of two ratings that share some factors and no others is the variance that those factors make
    model, domain, *normals = rng.integers(0, 3, n), rng.choice(2, n, p=[3 / 8, 5 / 8]), *rng.normal(size=(3, n))
    levels = dict(zip(("m", "d", "q", "mq", "p"), (model, domain, *normals), strict=True))
    for expected, shared in (
        (found["model"], ("m",)),
        (found["domain"], ("d",)),
        (found["question"], ("q",)),
        (found["participant"], ("p",)),
        (found["model"] + found["model:question"], ("m", "mq")),
        (cells[0], ("m", "d", "q", "mq")),
    ):
        one, two = (simulated_codes(t, rng, n, **{key: levels[key] for key in shared})[0] for _ in range(2))
        covariance = (one - one.mean()) * (two - two.mean())
        assert abs(expected - covariance.mean()) < 4 * covariance.std() / np.sqrt(n), shared


def test_response_share_of_the_models_own_answers_is_the_latent_one_where_the_score_is_linear(make_ordinal):
    """Effects of a few hundredths of a logit about one cutpoint near them."""
    tree = make_ordinal(n_draws=2, unit=0.01, sd_question=0.03, sd_model_question=0.02, sd_participant=0.02, n_cuts=1)
    found = {scale: variance_shares(tree, scale).sel(term=list(LATENT_TERMS[:-1])) for scale in ("latent", "response")}
    latent, response = (shares / shares.sum("term") for shares in found.values())
    np.testing.assert_allclose(response, latent, rtol=5e-3)


@pytest.mark.parametrize("unit", [0.3, 1.0, 2.0])
def test_number_of_nodes_is_enough_for_shares(make_ordinal, monkeypatch, unit):
    tree = make_ordinal(n_draws=3, sd_question=1.2 * unit, sd_participant=0.9 * unit, sd_model_question=unit)
    found = variance_shares(tree, "response")
    monkeypatch.setattr("drift.estimands.variance.n_nodes_for", lambda *_: 101)
    monkeypatch.setattr("drift.estimands.variance.MOST_OF_TWO", 101)
    np.testing.assert_allclose(found, variance_shares(tree, "response"), atol=1e-4)


def test_response_icc_is_the_correlation_of_two_participants_on_one_response(make_ordinal):
    tree = make_ordinal(n_chains=1, n_draws=1, sd_question=1.2, sd_participant=0.9)
    t, rng, n = read_ordinal(tree), np.random.default_rng(4), 400_000
    response = {"m": rng.integers(0, 3, n), "d": rng.choice(2, n, p=t.design.domain_weights("question"))}
    response |= {"q": rng.normal(size=n), "mq": rng.normal(size=n)}
    one, two = (simulated_codes(t, rng, n, **response)[0] for _ in range(2))
    found = icc(tree, "response").values[0, 0]
    assert abs(found[0] - np.corrcoef(one, two)[0, 1]) < 4 / np.sqrt(n)
    assert found[1] > found[0]


def test_cell_means_have_no_latent_scale(make_cells):
    for function in (variance_shares, icc, participant_leniency):
        with pytest.raises(NoTermError):
            function(make_cells())


def test_difficulties_average_to_the_deviation_of_these_cells(make_ordinal):
    tree = make_ordinal(n_models=4, sizes=(20, 30), n_people=20, n_draws=10)
    found = question_difficulty(tree)
    assert found.dims == ("chain", "draw", "question")
    np.testing.assert_allclose(
        found.mean("question"), deviation(tree, Target("these", "these")).mean("model"), atol=1e-8
    )
    assert (found["n_rows"] == 4 * 20).all()


def test_difficulty_agrees_with_its_definition(make_ordinal):
    tree = make_ordinal(n_chains=1, n_draws=2)
    t, q = read_ordinal(tree), 4
    eta = t.base[:, :, 1] + t.question[:, [q]] + t.model_question[:, :, q]
    fraction = expit(t.cutpoints[:, None, None, :] - eta[:, :, None, None] - t.participant[:, None, :, None]).mean(
        axis=(1, 2, 3)
    )
    np.testing.assert_allclose(question_difficulty(tree).values[0, :, q], 100 * fraction, atol=1e-8)


def test_difficulty_of_cells_is_their_mean_over_models(make_cells):
    tree = make_cells()
    np.testing.assert_allclose(
        question_difficulty(tree).mean("question"), deviation(tree, Target("these")).mean("model")
    )


def test_leniency_agrees_with_its_definition(make_ordinal, monkeypatch):
    monkeypatch.setattr("drift.estimands.effects.MOST_CELLS_AT_ONCE", 50)  # several blocks of draws
    tree = make_ordinal(n_chains=1, n_draws=5, n_people=6)
    t = read_ordinal(tree)
    eta = t.base[:, :, t.design.question_domain] + t.question[:, None, :] + t.model_question
    by_person = expit(
        t.cutpoints[:, None, None, None, :] - eta[..., None, None] - t.participant[:, None, None, :, None]
    ).mean(axis=(1, 2, 4))
    found = participant_leniency(tree)
    np.testing.assert_allclose(
        found["shift"].values[0], 100 * (by_person - by_person.mean(axis=1, keepdims=True)), atol=1e-8
    )
    np.testing.assert_array_equal(found["leniency"].values[0], t.participant)
    assert np.corrcoef(found["shift"].values.ravel(), found["leniency"].values.ravel())[0, 1] < -0.9
