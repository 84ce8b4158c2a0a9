"""Deviation for the four targets: against slow twins, closed forms and simulation."""

import itertools

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, roots_hermitenorm

from drift.data.declaration import Target
from drift.estimands import NoDomainError, NoTermError, deviation
from drift.estimands.kernel import average_fraction
from drift.estimands.population import latent_means, model_question_offset, participant_offset, question_offset
from drift.estimands.quadrature import chebyshev_degree, n_nodes_for, normal_nodes
from drift.estimands.terms import read_ordinal

TARGETS = [Target(q, p, w) for q, p, w in itertools.product(("these", "new"), ("these", "new"), ("question", "domain"))]
NODES, WEIGHTS = roots_hermitenorm(101)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def fraction(eta, cutpoints):
    return expit(cutpoints - np.asarray(eta)[..., None]).mean(axis=-1)


def slow_twin(tree, target):
    """(sample, model, domain) percent: every cell, every person, 101 nodes; nothing shared but the offsets drawn."""
    t = read_ordinal(tree)
    offset = question_offset(t)[:, None, :] + model_question_offset(t)
    found = np.zeros_like(t.base)
    for s, m, d in np.ndindex(*t.base.shape):
        chosen = np.flatnonzero(t.design.question_domain == d)
        if target.questions == "these":
            points, weights = t.base[s, m, d] + t.question[s, chosen], np.full(len(chosen), 1 / len(chosen))
            points = points if t.model_question is None else points + t.model_question[s, m, chosen]
        else:
            sd = np.sqrt(t.sd("question")[s] ** 2 + t.sd_model_question[s, m] ** 2)
            points, weights = t.base[s, m, d] + offset[s, m, d] + sd * NODES, WEIGHTS
        if t.participant is None:
            people, shares = np.zeros(1), np.ones(1)
        elif target.participants == "these":
            people, shares = t.participant[s], np.full(t.participant.shape[1], 1 / t.participant.shape[1])
        else:
            people, shares = participant_offset(t)[s] + t.sd("participant")[s] * NODES, WEIGHTS
        found[s, m, d] = weights @ fraction(points[:, None] + people, t.cutpoints[s]) @ shares
    return 100 * found


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_agrees_with_the_slow_twin(make_ordinal, target):
    tree = make_ordinal(n_chains=1, n_draws=6)
    twin = slow_twin(tree, target)
    weights = np.array([3, 5]) / 8 if target.weighting == "question" else np.array([0.5, 0.5])
    np.testing.assert_allclose(deviation(tree, target, "model_domain").values[0], twin, atol=1e-6)
    np.testing.assert_allclose(deviation(tree, target).values[0], twin @ weights, atol=1e-6)


@pytest.mark.parametrize("unit", [1.0, 4.0])
def test_interpolated_average_agrees_with_every_cell(make_ordinal, unit):
    tree = make_ordinal(n_models=6, sizes=(40, 25), n_people=30, n_chains=1, n_draws=3, unit=unit)
    target = Target("these", "these")
    np.testing.assert_allclose(deviation(tree, target, "model_domain").values[0], slow_twin(tree, target), atol=1e-8)


@pytest.mark.parametrize(
    "left_out", [("model_question",), ("participant",), ("domain", "model_domain"), ("question", "model_question")]
)
@pytest.mark.parametrize("target", TARGETS[::2], ids=str)
def test_terms_may_be_left_out(make_ordinal, left_out, target):
    tree = make_ordinal(n_chains=1, n_draws=3, leave_out=left_out)
    np.testing.assert_allclose(deviation(tree, target, "model_domain").values[0], slow_twin(tree, target), atol=1e-6)


@pytest.mark.parametrize("model", [0, 2])
def test_agrees_with_simulated_ratings_of_new_questions_by_new_participants(make_ordinal, model):
    tree = make_ordinal(n_chains=1, n_draws=1, n_cuts=3, sd_model_question=1.5)
    t, rng, n = read_ordinal(tree), np.random.default_rng(1), 400_000
    base = t.base + question_offset(t)[:, None, :] + model_question_offset(t)
    sds = t.sd("question")[0], t.sd_model_question[0, model], t.sd("participant")[0]
    eta = base[0, model, 0] + participant_offset(t)[0] + sum(sd * rng.normal(size=n) for sd in sds)
    code = (eta[:, None] + rng.logistic(size=(n, 1)) > t.cutpoints[0]).sum(axis=1)
    simulated = 100 * (3 - code) / 3
    found = deviation(tree, Target("new", "new"), "model_domain").values[0, 0, model, 0]
    assert abs(found - simulated.mean()) < 4 * simulated.std() / np.sqrt(n)


@pytest.mark.parametrize("sd", [0.2, 1.0, 1.5, 2.5, 4.0])
def test_number_of_nodes_is_enough(sd):
    nodes, weights = normal_nodes(n_nodes_for(sd))
    x = np.linspace(-9, 9, 181)[:, None]
    twin_nodes, twin_weights = roots_hermitenorm(301)
    twin = expit(x + sd * twin_nodes) @ (twin_weights / twin_weights.sum())
    np.testing.assert_allclose(expit(x + sd * nodes) @ weights, twin, atol=1e-6)


@pytest.mark.parametrize("n", [21, 61, 201])
def test_nodes_left_out_weigh_nothing(n):
    nodes, weights = normal_nodes(n)
    np.testing.assert_allclose([weights.sum(), weights @ nodes**2, weights @ nodes**4], [1, 1, 3], rtol=1e-12)
    assert len(nodes) == n if n == 21 else len(nodes) < n


@pytest.mark.parametrize("n_people", [1, 200])  # as it is, and interpolated
def test_scaled_levels_are_levels_of_each_model(n_people):
    rng = np.random.default_rng(0)
    base, level, scale = rng.normal(size=(2, 3, 2)), rng.normal(size=(2, 80)), rng.uniform(0, 3, (2, 3))
    person, cutpoints = rng.normal(size=(2, n_people)), np.sort(rng.normal(size=(2, 4)))
    domain_of, weight, share = np.repeat([0, 1], 40), np.full(80, 1 / 40), np.full(n_people, 1 / n_people)
    found = average_fraction(base, level, domain_of, weight, person, share, cutpoints, scale=scale)
    each = scale[:, :, None] * level[:, None, :]
    twin = average_fraction(base, 0 * level, domain_of, weight, person, share, cutpoints, interaction=each)
    np.testing.assert_allclose(found, twin, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(width=st.floats(0.1, 60.0), seed=st.integers(0, 99))
def test_interpolation_error_at_any_width(width, seed):
    rng = np.random.default_rng(seed)
    n_levels, n_people = 400, 30
    assert chebyshev_degree(width) < n_levels
    level = rng.uniform(-width / 2, width / 2, (1, n_levels))
    person, cutpoints = rng.normal(size=(1, n_people)), np.sort(rng.normal(size=(1, 3)))
    group = np.arange(n_levels)
    found = average_fraction(
        np.zeros((1, 1, 1)), level, np.zeros(n_levels, int), np.ones(n_levels),
        person, np.full(n_people, 1 / n_people), cutpoints, group_of=group,
    )[0, 0]  # fmt: skip
    np.testing.assert_allclose(found, fraction(level[0][:, None] + person[0], cutpoints[0]).mean(axis=1), atol=1e-9)


def test_extreme_predictors_stay_between_best_and_worst(make_ordinal):
    tree = make_ordinal(n_chains=1, n_draws=5, unit=400.0)
    found = deviation(tree, Target("these", "these")).values
    assert np.isfinite(found).all()
    assert (found >= 0).all() and (found <= 100 + 1e-9).all()


def test_best_label_is_zero_and_worst_is_a_hundred(make_ordinal):
    tree = make_ordinal(n_chains=1, n_draws=5)
    for shift, expected in ((-60.0, 0.0), (60.0, 100.0)):
        moved = tree.copy(deep=True)
        moved["posterior"]["cutpoints"] = moved["posterior"]["cutpoints"] + shift
        np.testing.assert_allclose(deviation(moved, Target("new", "new")), expected, atol=1e-8)


@pytest.mark.parametrize("target", TARGETS[::2], ids=str)
def test_permuting_models_permutes_results(make_ordinal, target):
    tree = make_ordinal(n_chains=1, n_draws=4)
    turned = tree.isel(model=[2, 0, 1])
    turned.attrs = tree.attrs
    expected = deviation(tree, target).sel(model=turned["posterior"]["model"])
    np.testing.assert_allclose(deviation(turned, target).values, expected.values, atol=1e-10)


def test_same_file_same_numbers_and_another_seed_others(make_ordinal):
    tree = make_ordinal()
    first, again = deviation(tree, Target()), deviation(tree, Target())
    xr.testing.assert_identical(first, again)
    tree.attrs = {**tree.attrs, "seed": 8}
    assert not np.allclose(first, deviation(tree, Target()))


OWN = np.array([0.25, 0.5, 0.75])  # sd_model_question of the three models
N_DRAWS = 20_000
WITHIN = 5 * np.sqrt(2 / N_DRAWS)  # five standard errors of a relative variance


def test_offsets_have_the_variance_of_a_mean_of_n_levels(make_ordinal):
    t = read_ordinal(make_ordinal(sizes=(2, 6), n_people=5, n_chains=1, n_draws=N_DRAWS, fixed=True))
    off, by_model = question_offset(t), model_question_offset(t)
    np.testing.assert_allclose(off.var(axis=0), [0.8**2 / 2, 0.8**2 / 6], rtol=WITHIN)
    np.testing.assert_allclose(participant_offset(t).var(), 0.7**2 / 5, rtol=WITHIN)
    np.testing.assert_allclose(by_model.var(axis=0), OWN[:, None] ** 2 / [2, 6], rtol=WITHIN)
    together = np.concatenate([off.T, by_model.reshape(N_DRAWS, -1).T])
    off_diagonal = np.corrcoef(together)[~np.eye(len(together), dtype=bool)]
    assert abs(off_diagonal).max() < 5 / np.sqrt(N_DRAWS)


def test_offsets_are_those_of_simulated_populations(make_ordinal):
    """What is lost by centring: over 20,000 studies of 2 questions, the mean of each model's effects of questions."""
    t = read_ordinal(make_ordinal(sizes=(2, 6), n_chains=1, n_draws=N_DRAWS, fixed=True))
    found = np.cov((question_offset(t)[:, None, 0] + model_question_offset(t)[:, :, 0]).T)
    rng = np.random.default_rng(0)
    effects = 0.8 * rng.normal(size=(N_DRAWS, 1, 2)) + OWN[:, None] * rng.normal(size=(N_DRAWS, 3, 2))
    np.testing.assert_allclose(found, np.cov(effects.mean(axis=2).T), atol=np.sqrt(2) * WITHIN * found.max())


def test_without_domain_terms_all_questions_share_one_offset(make_ordinal):
    t = read_ordinal(
        make_ordinal(sizes=(2, 6), n_chains=1, n_draws=N_DRAWS, fixed=True, leave_out=("domain", "model_domain"))
    )
    off, by_model = question_offset(t), model_question_offset(t)
    np.testing.assert_array_equal(off[:, 0], off[:, 1])
    np.testing.assert_array_equal(by_model[:, :, 0], by_model[:, :, 1])
    np.testing.assert_allclose(off[:, 0].var(), 0.8**2 / 8, rtol=WITHIN)
    np.testing.assert_allclose(by_model[:, :, 0].var(axis=0), OWN**2 / 8, rtol=WITHIN)


@pytest.mark.parametrize(("one", "other"), [(0, 1), (0, 2), (1, 2)])
def test_new_question_contrast_is_wider_by_the_analytic_factor(make_ordinal, one, other):
    tree = make_ordinal(sizes=(4, 4), n_chains=1, n_draws=N_DRAWS, sd_model_question=2.0, sd_question=0.0, seed=2)
    t = read_ordinal(tree)
    these, new = latent_means(t, Target("these", "these")), latent_means(t, Target("new", "these"))
    contrast = (these[:, one] - these[:, other]).mean(axis=1), (new[:, one] - new[:, other]).mean(axis=1)
    added = (t.sd_model_question[:, [one, other]] ** 2).mean(axis=0).sum() / 8  # difference of two means of 8 questions
    assert abs(contrast[1].var() / (contrast[0].var() + added) - 1) < WITHIN


def test_spread_that_the_file_does_not_hold_is_asked_for_only_by_new_levels(make_ordinal):
    tree = make_ordinal()
    fixed = tree.copy()
    fixed["posterior"] = fixed["posterior"].to_dataset().drop_vars("sd_question")
    xr.testing.assert_allclose(deviation(fixed, Target("these", "new")), deviation(tree, Target("these", "new")))
    with pytest.raises(NoTermError, match="sd_question"):
        deviation(fixed, Target("new", "these"))


def test_no_participant_term_answers_the_same_for_both_kinds(make_ordinal):
    tree = make_ordinal(leave_out=("participant",))
    np.testing.assert_array_equal(deviation(tree, Target("these", "these")), deviation(tree, Target("these", "new")))


def test_by_domain_without_domains_is_refused(make_ordinal):
    tree = make_ordinal(leave_out=("domain", "model_domain"))
    bare = xr.DataTree.from_dict(
        {
            "posterior": tree["posterior"].to_dataset(),
            "observed_data": tree["observed_data"].to_dataset(),
            "constant_data": tree["constant_data"]
            .to_dataset()
            .drop_vars(["domain", "question_domain", "domain_index"]),
        }
    )
    bare.attrs = tree.attrs
    assert deviation(bare, Target()).dims == ("chain", "draw", "model")
    with pytest.raises(NoDomainError, match="no domains"):
        deviation(bare, Target(), "model_domain")


def test_rows_and_target_go_with_the_draws(make_ordinal):
    found = deviation(make_ordinal(), Target("these", "new", "domain"), "model_domain")
    assert found.attrs == {"unit": "percent", "questions": "these", "participants": "new", "weighting": "domain"}
    np.testing.assert_array_equal(found["n_rows"], [[12, 20]] * 3)


BASE = [[30.0, 50.0], [40.0, 20.0]]


def cells(make_cells, **options):
    return make_cells(n_models=2, n_chains=1, n_draws=20_000, base=BASE, **options)


def test_cell_means_of_new_questions(make_cells):
    found = deviation(cells(make_cells), Target("new"), "model_domain").values[0]
    np.testing.assert_allclose(found.mean(axis=0), BASE, atol=5 * 3 / np.sqrt(20_000))
    np.testing.assert_allclose(found.var(axis=0), [[36 / 4, 36 / 6]] * 2, rtol=0.05)
    np.testing.assert_allclose((found[:, 0] - found[:, 1]).var(axis=0), 0.0, atol=1e-12)


def test_cell_means_of_these_questions(make_cells):
    tree = cells(make_cells)
    t_noise, t_sd = 9.0, 25.0
    found = deviation(tree, Target("these"), "model_domain").values[0]
    keep = t_sd / (t_sd + t_noise)
    domain_of = np.repeat([0, 1], [4, 6])
    observed = tree["observed_data"]["deviation"].values.reshape(2, 10)
    raw = np.stack([observed[:, domain_of == d].mean(axis=1) for d in (0, 1)], axis=1)
    expected = BASE + keep * (raw - BASE)  # question effects are centred within a domain, so they cancel
    np.testing.assert_allclose(found.mean(axis=0), expected, atol=5 * np.sqrt(keep * t_noise / 4 / 20_000))
    np.testing.assert_allclose(found.var(axis=0), [[keep * t_noise / 4, keep * t_noise / 6]] * 2, rtol=0.05)


def test_cells_without_noise_are_their_observed_mean(make_cells):
    tree = cells(make_cells, noise=0.0)
    observed = tree["observed_data"]["deviation"].values.reshape(2, 10)
    np.testing.assert_allclose(deviation(tree, Target("these")).values[0], np.tile(observed.mean(axis=1), (20_000, 1)))


def test_a_missing_cell_has_its_prior_spread(make_cells):
    tree = cells(make_cells, noise=0.0, missing=((0, 1),))
    found = deviation(tree, Target("these"), "model_domain").values[0]
    np.testing.assert_allclose(found[:, 0, 0].var(), 25.0 / 16, rtol=0.05)
    np.testing.assert_allclose(found[:, 1, 0].var(), 0.0, atol=1e-12)


def test_cell_means_weighting(make_cells):
    by_question = deviation(cells(make_cells), Target("new", weighting="question")).mean(("chain", "draw"))
    by_domain = deviation(cells(make_cells), Target("new", weighting="domain")).mean(("chain", "draw"))
    np.testing.assert_allclose(by_question, [42.0, 28.0], atol=0.1)
    np.testing.assert_allclose(by_domain, [40.0, 30.0], atol=0.1)


@pytest.mark.parametrize("questions", ["these", "new"])
def test_cell_means_cover_the_truth_in_repeated_samples(make_cells, questions):
    """2,000 models are 2,000 replicates: with the exact posterior of each mean, z scores have variance 1.

    An offset for the interaction, added to new questions, would make it 1/2; none of these questions' own, 2 or more.
    """
    n_models, n, sd, noise, rng = 2000, 10, 5.0, 3.0, np.random.default_rng(2)
    truth, own = 40.0, sd * rng.normal(size=(n_models, n))
    cells = truth + own + noise * rng.normal(size=own.shape)
    tree = make_cells(
        n_models, (n,), 1, 300, sd_question=0.0, sd_residual=sd, noise=noise, base=np.full((n_models, 1), truth)
    )
    mean = cells.mean(axis=1) + np.sqrt((sd**2 + noise**2) / n) * rng.normal(size=(1, 300, n_models))
    tree["posterior"] = tree["posterior"].to_dataset().assign(model_effect=(("chain", "draw", "model"), mean - truth))
    tree["observed_data"] = tree["observed_data"].to_dataset().assign(deviation=("cell", cells.ravel()))
    draws = deviation(tree, Target(questions)).values[0]
    wanted = truth + (own.mean(axis=1) if questions == "these" else 0.0)
    z = (draws.mean(axis=0) - wanted) / draws.std(axis=0)
    assert abs(z.var() - 1) < 5 * np.sqrt(2 / n_models) + 0.01
    assert abs(z.mean()) < 5 / np.sqrt(n_models)


def test_noise_between_its_bounds(make_cells):
    """As the card has it: variance low + share (high - low). At share 1/4 of 0..36 it is the 9 of the other tests."""
    tree = cells(make_cells)
    bounds = {"noise_low": ("cell", np.zeros(20)), "noise_high": ("cell", np.full(20, 36.0))}
    expected = deviation(tree, Target("these"))
    tree["posterior"] = (
        tree["posterior"].to_dataset().assign(noise_share=(("chain", "draw"), np.full((1, 20_000), 0.25)))
    )
    tree["constant_data"] = tree["constant_data"].to_dataset().assign(bounds)
    np.testing.assert_allclose(deviation(tree, Target("these")), expected)
