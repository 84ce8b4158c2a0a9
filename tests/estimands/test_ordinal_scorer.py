"""Corrected mean deviations of an ordered scale: closed forms, and recovery of the truth of SIMULATED panels."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from drift.data.labels import Labels
from drift.data.patterns import collapse
from drift.data.scorer_declaration import ScorerContrast, ScorerTarget
from drift.errors import EmptyCellsError, UnknownLevelError
from drift.estimands.ordinal_scorer import (
    TargetNotOfferedError,
    automatic_deviation,
    class_shares,
    deviation_contrasts,
    expected_confusion,
    mean_deviation,
    ordinal_prior_scored,
    ordinal_scored,
    truth_probability,
    within_tolerance,
)
from drift.estimands.scorer_contrasts import sign_probability
from drift.inference.compiled import compile_model, structure_key
from drift.inference.diagnostics import checks_made
from drift.inference.sampling import Settings, sample
from drift.models.misclassification_ordinal import misclassification_ordinal
from drift.models.misclassification_ordinal_frame import ordinal_labels_frame
from drift.models.misclassification_ordinal_priors import OrdinalScorerPriors, prior_draws, rater_prior
from drift.scale import Scale

PANEL, SUPER = ScorerTarget(), ScorerTarget(prevalence="superpopulation")
EXACT = 1e-9
B_A = ScorerContrast("b - a", "arm b", "arm a", tolerance_pp=5.0)
FACTORS = ("arm", "model", "stratum", "population", "key")


def labels_of(scorer, rating, n_labels, **codes) -> Labels:
    n_rows = len(scorer)
    coded = {factor: np.asarray(codes.get(factor, np.zeros(n_rows)), np.int64) for factor in FACTORS}
    levels = {
        factor: tuple(f"{factor} {'abcdef'[i]}" for i in range(coded[factor].max() + 1)) for factor in FACTORS[:4]
    }
    rating = np.asarray(rating).reshape(n_rows, -1)
    return Labels(
        scorer=np.asarray(scorer, np.int8),
        rating=rating.astype(np.int8),
        codes=coded,
        levels=levels | {"key": tuple(str(i) for i in range(coded["key"].max() + 1))},
        raters=tuple(f"rater {i}" for i in range(rating.shape[1])),
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


def tree_of(labels: Labels, posterior: xr.Dataset, prior: xr.Dataset | None = None) -> xr.DataTree:
    """A posterior file of an ordinal scorer card."""
    patterns = collapse(labels).to_dataset()
    groups = {
        "posterior": posterior,
        "prior": posterior if prior is None else prior,
        "constant_data": labels.to_dataset().merge(patterns.drop_vars("pattern_count")),
        "observed_data": patterns[["pattern_count"]],
    }
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {"kind": "labels", "seed": 5}
    return tree


def draws_of(labels: Labels, share, scorer, rater, n_draws=200) -> xr.Dataset:
    """The same values in every draw. share: (cell, K), scorer: (cell, K, K), rater: (rater, K, K)."""
    dims = {"class_share": ("cell", "truth"), "scorer_confusion": ("cell", "truth", "label")}
    dims["rater_confusion"] = ("rater", "truth", "label")
    values = dict(zip(dims, (share, scorer, rater), strict=True))
    names = list(labels.scale.labels)
    return xr.Dataset(
        {
            name: (("chain", "draw", *dims[name]), np.broadcast_to(value, (2, n_draws // 2, *np.shape(value))))
            for name, value in values.items()
        },
        {"truth": names, "label": names},
    )


# ---- two arms of one model, three labels: what follows by hand

SHARE = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
SCORER = np.array(
    [[[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.0, 0.1, 0.9]], [[0.5, 0.4, 0.1], [0.1, 0.5, 0.4], [0.0, 0.0, 1.0]]]
)
RATER = np.array([[[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.2, 0.8]]])
LABEL = [0, 1, 2, 2, 0, 1, 1, 2, 2, 2]
RATING = [0, -1, 2, -1, -1, 1, -1, -1, -1, 2]
ARM = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]


@pytest.fixture(scope="module")
def hand():
    labels = labels_of(LABEL, RATING, 3, arm=ARM, key=range(10))
    return labels, ordinal_scored(tree_of(labels, draws_of(labels, SHARE, SCORER, RATER, n_draws=4000)))


def posterior_class(arm, label, rating):
    """The slow twin of one row: Bayes' rule."""
    given = SHARE[arm] * SCORER[arm][:, label] * (RATER[0][:, rating] if rating >= 0 else 1.0)
    return given / given.sum()


def test_the_true_class_of_a_row_is_bayes_rule(hand):
    labels, scored = hand
    found = truth_probability(scored)[0][collapse(labels).row_pattern]
    expected = [posterior_class(*row) for row in zip(ARM, LABEL, RATING, strict=True)]
    assert found == pytest.approx(np.array(expected), abs=EXACT)


def test_superpopulation_deviation_is_that_of_the_shares(hand):
    """Worst to best: 100, 50, 0 percent."""
    found = mean_deviation(hand[1], SUPER).isel(chain=0, draw=0)
    assert found.values == pytest.approx([35.0, 75.0], abs=EXACT)


def test_panel_deviation_has_the_mean_and_the_spread_of_single_rows(hand):
    """Rows are independent given the parameters: mean and variance add up."""
    found, deviation = mean_deviation(hand[1], PANEL), np.array([100.0, 50.0, 0.0])
    for arm, name in enumerate(("arm a", "arm b")):
        rows = [posterior_class(a, label, r) for a, label, r in zip(ARM, LABEL, RATING, strict=True) if a == arm]
        mean = np.mean([row @ deviation for row in rows])
        variance = sum(row @ deviation**2 - (row @ deviation) ** 2 for row in rows) / len(rows) ** 2
        draws = found.sel(arm=name).values
        assert draws.mean() == pytest.approx(mean, abs=4 * np.sqrt(variance / draws.size))  # 4 Monte Carlo errors
        assert draws.std() == pytest.approx(np.sqrt(variance), rel=0.06)  # 4 errors of an sd of 4,000 draws


def test_automatic_deviation_of_the_panel_is_that_of_its_labels(hand):
    found = automatic_deviation(hand[1], PANEL).isel(chain=1, draw=7)
    assert found.values == pytest.approx([(100 + 50) / 4, (100 + 50 + 50) / 6], abs=EXACT)


def test_automatic_deviation_of_the_superpopulation_is_expected(hand):
    expected = [SHARE[arm] @ SCORER[arm] @ [100.0, 50.0, 0.0] for arm in (0, 1)]
    assert automatic_deviation(hand[1], SUPER).isel(chain=0, draw=0).values == pytest.approx(expected, abs=EXACT)


def test_a_contrast_is_treatment_minus_comparator(hand):
    found = deviation_contrasts(hand[1], SUPER, [B_A]).isel(chain=0, draw=0)
    assert float(found["corrected"][0]) == pytest.approx(40.0, abs=EXACT)


def test_the_bias_of_a_contrast_is_automatic_less_corrected(hand):
    found = deviation_contrasts(hand[1], PANEL, [B_A])
    assert np.allclose(found["bias"], found["automatic"] - found["corrected"], atol=EXACT)
    assert float(found["automatic"][0, 0, 0]) == pytest.approx(200 / 6 - 150 / 4, abs=EXACT)


def test_tolerance_is_in_percentage_points(hand):
    draws = deviation_contrasts(hand[1], SUPER, [B_A])
    bias = abs(float(draws["bias"][0, 0, 0]))
    near, far = (replace(B_A, tolerance_pp=bias + shift) for shift in (0.01, -0.01))
    assert within_tolerance(draws, [near])["probability"].item() == 1.0
    assert within_tolerance(draws, [far])["probability"].item() == 0.0


def test_a_sign_is_kept_where_both_contrasts_have_it(hand):
    assert sign_probability(deviation_contrasts(hand[1], SUPER, [B_A]))["probability"].item() == 1.0


def test_the_expected_confusion_of_an_arm_with_one_cell_is_that_cells(hand):
    found = expected_confusion(hand[1], PANEL).isel(chain=0, draw=0)
    assert found.values == pytest.approx(SCORER, abs=EXACT)


def test_class_shares_add_up_to_one(hand):
    assert np.allclose(class_shares(hand[1], PANEL).sum("truth"), 1.0, atol=EXACT)


def test_results_are_the_same_whenever_they_are_read(hand):
    assert mean_deviation(hand[1], PANEL).equals(mean_deviation(hand[1], PANEL))


def test_new_keys_are_refused(hand):
    with pytest.raises(TargetNotOfferedError, match='"panel" or "superpopulation"'):
        mean_deviation(hand[1], ScorerTarget(prevalence="new-keys"))


def test_a_contrast_of_an_unknown_arm_is_refused(hand):
    with pytest.raises(UnknownLevelError, match="arm 'arm z' has no row in the target"):
        deviation_contrasts(hand[1], PANEL, [replace(B_A, treatment="arm z")])


def test_the_prior_of_the_panel_has_the_mean_of_the_shares():
    labels = labels_of(LABEL, RATING, 3, arm=ARM, key=range(10))
    scored = ordinal_prior_scored(tree_of(labels, draws_of(labels, SHARE, SCORER, RATER, n_draws=4000)))
    deviation = np.array([100.0, 50.0, 0.0])
    error = np.sqrt((SHARE[0] @ deviation**2 - (SHARE[0] @ deviation) ** 2) / 4 / 4000)  # of a mean of four rows
    assert mean_deviation(scored, PANEL).sel(arm="arm a").mean().item() == pytest.approx(35.0, abs=4 * error)


# ---- two models: how the target mixes them

MIXED = {"arm": [0, 0, 0, 0, 1, 1], "model": [0, 0, 0, 1, 0, 1], "key": range(6)}
BY_CELL = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.25, 0.75]])  # arm a: models a and b; arm b: likewise


def mixed(**changes: Any):
    labels = labels_of([0] * 6, [-1] * 6, 2, **(MIXED | changes))
    n_cells = collapse(labels).n_cells
    confusion = np.broadcast_to(np.eye(2), (n_cells, 2, 2)) * 0.8 + 0.1
    return ordinal_scored(tree_of(labels, draws_of(labels, BY_CELL[:n_cells], confusion, confusion[:1])))


@pytest.mark.parametrize(
    ("models", "expected"),
    [("equal", [50.0, 37.5]), ("rows", [75.0, 37.5]), ({"model a": 0.2, "model b": 0.8}, [20.0, 30.0])],
)
def test_models_are_mixed_as_declared(models, expected):
    found = mean_deviation(mixed(), replace(SUPER, models=models)).isel(chain=0, draw=0)
    assert found.values == pytest.approx(expected, abs=EXACT)


def test_an_expected_confusion_weighs_models_by_their_part_of_a_class():
    """Arm a has class 1 from model a alone, so its first row is model a's."""
    labels = labels_of([0] * 6, [-1] * 6, 2, **MIXED)
    confusion = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.3, 0.7]]] * 2)
    scored = ordinal_scored(tree_of(labels, draws_of(labels, BY_CELL, confusion, confusion[:1])))
    found = expected_confusion(scored, PANEL).isel(chain=0, draw=0)
    assert found.sel(arm="arm a").values == pytest.approx(np.array([[0.9, 0.1], [0.3, 0.7]]), abs=EXACT)


def test_a_weighted_cell_without_a_row_is_refused():
    with pytest.raises(EmptyCellsError, match="arm 'arm b', model 'model b'"):
        mean_deviation(mixed(model=[0, 0, 0, 1, 0, 0]), PANEL)


# ---- recovery: parameters from the prior, labels from the parameters, and the truth of every row is known

N_LABELS, N_ARMS, N_KEYS, N_AUDITED = 3, 3, 150, 40
PRIORS = OrdinalScorerPriors()
SETTINGS = Settings(draws=500, tune=500, chains=2, target_accept=0.9)
FEW, MANY = 3, 24
Z_FEW = 4.0  # the largest of 9 standard normal z-scores exceeds it with probability 6e-4
Z_RMS = (0.75, 1.3)  # 1 if posterior sds are right; 72 z-scores know it to about .1, and the sets are not independent


@dataclass(frozen=True)
class Recovered:
    """(data set, arm): posterior mean and sd of the panel's mean deviation, its truth, and the scorer's value."""

    mean: np.ndarray
    sd: np.ndarray
    truth: np.ndarray
    automatic: np.ndarray
    rhat: np.ndarray

    @property
    def z(self) -> np.ndarray:
        return (self.mean - self.truth) / self.sd


def blank() -> Labels:
    """The design: every key in every arm, the first keys of each arm audited by two raters."""
    key, arm = np.indices((N_KEYS, N_ARMS)).reshape(2, -1)
    rating = np.where(key[:, None] < N_AUDITED, 0, -1) * np.ones(2, int)
    return labels_of(np.zeros(key.size), rating, N_LABELS, key=key, arm=arm)


def chosen(probability, rng):
    """One code a row from (row, K) probabilities."""
    return (rng.random((len(probability), 1)) > probability.cumsum(axis=1)[:, :-1]).sum(axis=1)


def recovered(seeds) -> Recovered:
    """SIMULATED panels with parameters drawn from the prior, each fitted: z-scores then have mean 0 and variance 1."""
    found: list[list[np.ndarray]] = []
    for seed in seeds:
        rng, labels = np.random.default_rng([20261201, seed]), blank()
        arm, asked = labels.codes["arm"], labels.rating >= 0
        drawn = prior_draws(ordinal_labels_frame(labels, rater_prior(PRIORS)), PRIORS, 1, rng)
        share, scorer, rater = (drawn[name][0] for name in ("class_share", "scorer_confusion", "rater_confusion"))
        truth = chosen(share[arm], rng)
        ratings = np.stack([chosen(rater[r][truth], rng) for r in range(2)], axis=1)
        labels = replace(
            labels,
            scorer=chosen(scorer[arm, truth], rng).astype(np.int8),
            rating=np.where(asked, ratings, -1).astype(np.int8),
        )
        frame = ordinal_labels_frame(labels, rater_prior(PRIORS))
        key = structure_key({"test": "ordinal scorer", **frame.structure()})
        compiled = compile_model(lambda frame=frame: misclassification_ordinal(frame, PRIORS), key)
        tree = sample(compiled, frame.arrays, frame.coords, SETTINGS, seed, progress=False)
        rhat = checks_made(tree, {})[0].value
        scored = ordinal_scored(tree_of(labels, tree["posterior"].to_dataset()))
        draws = mean_deviation(scored, PANEL)
        true = np.array([scored.deviation[truth[arm == a]].mean() for a in range(N_ARMS)])
        automatic = automatic_deviation(scored, PANEL).isel(chain=0, draw=0).values
        sample_dims = ("chain", "draw")
        found.append([draws.mean(sample_dims).values, draws.std(sample_dims).values, true, automatic, np.array(rhat)])
    return Recovered(*(np.array(column) for column in zip(*found, strict=True)))


@pytest.fixture(scope="module")
def few() -> Recovered:
    return recovered(range(1, FEW + 1))


@pytest.fixture(scope="module")
def many() -> Recovered:
    return recovered(range(1, MANY + 1))


@pytest.mark.timeout(300)  # compiles once
def test_a_few_panels_are_recovered(few):
    assert (abs(few.z) < Z_FEW).all()


@pytest.mark.timeout(300)  # as above
def test_a_few_panels_are_drawn_without_disagreement_of_chains(few):
    assert (few.rhat < 1.05).all()  # 1,000 draws, a quarter of a fit's: the limit of a fit is 1.01


@pytest.mark.slow
@pytest.mark.timeout(1800)  # 24 fits
def test_z_scores_of_many_panels_have_no_bias(many):
    by_set = many.z.mean(axis=1)
    assert abs(by_set.mean()) < 3.0 * by_set.std(ddof=1) / np.sqrt(MANY)


@pytest.mark.slow
@pytest.mark.timeout(1800)  # as above
def test_z_scores_of_many_panels_scatter_as_posteriors_say(many):
    """Intervals that are too narrow and intervals that are too wide both fail."""
    assert Z_RMS[0] < np.sqrt((many.z**2).mean()) < Z_RMS[1]


@pytest.mark.slow
@pytest.mark.timeout(1800)  # as above
def test_corrected_deviations_are_nearer_to_the_truth_than_automatic_ones(many):
    corrected, automatic = (np.sqrt(((value - many.truth) ** 2).mean()) for value in (many.mean, many.automatic))
    assert corrected < 0.5 * automatic  # a correction that halves the error is worth its audit
