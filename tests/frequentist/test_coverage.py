"""Coverage and bias of every interval over simulated audits, where theory says what they are.

Two simulated arms of 1,000 rows: prevalence .4 and .3, FPR .15 and .05, FNR .10 and .15. About 60 rows an arm are
audited: a random sample, or a stress audit in which predicted positives are four times as likely to be chosen.
"""

from collections import defaultdict

import numpy as np
import pytest

from drift.frequentist import post_stratified, rogan_gladen
from drift.frequentist.prediction_powered import ppi_contrast, predicted
from drift.frequentist.share import newcombe, share
from drift.frequentist.weighting import hajek_contrast, weighted_share

N_SETS, N_ROWS, N_AUDITED = 400, 1000, 60
# standard error of a coverage of .95 from 400 sets: .011; a nominal interval is within .95 -/+ .033, three of them
NOMINAL = (0.917, 0.983)
CONSERVATIVE = (0.95, 1.0)  # independence of audit and target is assumed where the audit lies within the target
DRAWS = 2000


class Arm:
    """One simulated arm of known truth."""

    def __init__(self, rng: np.random.Generator, prevalence: float, fpr: float, fnr: float, stress: bool) -> None:
        self.truth = (rng.random(N_ROWS) < prevalence).astype(np.int64)
        said = np.where(self.truth == 1, rng.random(N_ROWS) >= fnr, rng.random(N_ROWS) < fpr)
        self.scorer = said.astype(np.int64)
        self.audited = np.zeros(N_ROWS, dtype=bool)
        self.weight = np.ones(N_ROWS)
        if stress:
            inclusion = np.where(self.scorer == 1, 0.12, 0.03)
            self.audited, self.weight = rng.random(N_ROWS) < inclusion, 1 / inclusion
        else:
            self.audited[rng.choice(N_ROWS, N_AUDITED, replace=False)] = True
        self.seen = np.where(self.audited, self.truth, -1)

    @property
    def calibrated(self):
        return rogan_gladen.calibrated(self.scorer, self.scorer, self.seen)

    @property
    def calibrated_weighted(self):
        return rogan_gladen.calibrated(self.scorer, self.scorer, self.seen, self.weight)

    @property
    def predicted(self):
        return predicted(self.truth[self.audited], self.scorer[self.audited], self.scorer[~self.audited])

    @property
    def predicted_weighted(self):
        rows = self.audited
        return predicted(self.truth[rows], self.scorer[rows], self.scorer, self.weight[rows])

    @property
    def values(self):
        return post_stratified.predictive_values(self.scorer, self.seen)

    @property
    def weighted(self):
        return weighted_share(self.truth[self.audited], self.weight[self.audited])


def contrasts(one: Arm, other: Arm, seed: int):
    yield newcombe(share(one.scorer), share(other.scorer))
    yield rogan_gladen.delta_contrast(one.calibrated, other.calibrated)
    yield rogan_gladen.bootstrap_contrast(one.calibrated, other.calibrated, seed, draws=DRAWS)
    weighted = one.calibrated_weighted, other.calibrated_weighted
    yield rogan_gladen.bootstrap_contrast(*weighted, seed, draws=DRAWS, method="Rogan-Gladen weighted (bootstrap)")
    yield rogan_gladen.lang_reiczigel_contrast(one.calibrated, other.calibrated)
    yield ppi_contrast(one.predicted, other.predicted, tuned=False)
    yield ppi_contrast(one.predicted, other.predicted)
    weighted = one.predicted_weighted, other.predicted_weighted
    yield ppi_contrast(*weighted, method="PPI++ weighted (Hajek)")
    yield post_stratified.delta_contrast(one.values, other.values)
    yield post_stratified.jeffreys_contrast(one.values, other.values, seed, draws=DRAWS)
    yield hajek_contrast(one.weighted, other.weighted)


class Result:
    """What a method's intervals did over the simulated sets."""

    def __init__(self, rows: list[tuple[bool, float, float]]) -> None:
        covered, error, width = np.array(rows, dtype=np.float64).T
        self.coverage, self.bias, self.width = covered.mean(), error.mean(), width.mean()
        self.bias_error = error.std() / np.sqrt(len(rows))


def simulated(stress: bool) -> dict[str, Result]:
    rng, rows = np.random.default_rng(1), defaultdict(list)
    for seed in range(N_SETS):
        one, other = Arm(rng, 0.4, 0.15, 0.10, stress), Arm(rng, 0.3, 0.05, 0.15, stress)
        true = one.truth.mean() - other.truth.mean()
        for found in contrasts(one, other, seed):
            rows[found.method].append((found.covers(true), found.estimate - true, found.width))
    return {method: Result(found) for method, found in rows.items()}


@pytest.fixture(scope="module")
def random_audit() -> dict[str, Result]:
    return simulated(stress=False)


@pytest.fixture(scope="module")
def stress_audit() -> dict[str, Result]:
    return simulated(stress=True)


@pytest.mark.parametrize(
    "method",
    [
        "PPI",
        "PPI++",
        "PPI++ weighted (Hajek)",
        "post-stratified (delta)",
        "post-stratified (Jeffreys)",
        "design-weighted (Hajek)",
    ],
)
def test_nominal_coverage_after_a_random_audit(random_audit, method):
    assert NOMINAL[0] <= random_audit[method].coverage <= NOMINAL[1]


@pytest.mark.parametrize("method", ["Rogan-Gladen (delta)", "Rogan-Gladen (bootstrap)", "Lang-Reiczigel (MOVER)"])
def test_rogan_gladen_is_conservative_within_the_target(random_audit, method):
    assert CONSERVATIVE[0] <= random_audit[method].coverage <= CONSERVATIVE[1]


def test_the_naive_interval_misses(random_audit):
    """Its bias is .15 x .6 - .10 x .4 - (.05 x .7 - .15 x .3) = .06, three quarters of its width."""
    naive = random_audit["naive (Newcombe)"]
    assert naive.coverage < 0.25 and abs(naive.bias - 0.06) < 4 * naive.bias_error


@pytest.mark.parametrize("method", ["PPI++", "post-stratified (delta)", "PPI++ weighted (Hajek)"])
def test_using_the_scorer_shortens_the_interval(random_audit, method):
    assert random_audit[method].width < 0.75 * random_audit["design-weighted (Hajek)"].width


@pytest.mark.parametrize("method", ["PPI", "PPI++", "Rogan-Gladen (bootstrap)"])
def test_unweighted_methods_are_biased_by_a_stress_audit(stress_audit, method):
    found = stress_audit[method]
    assert abs(found.bias) > 0.02 and abs(found.bias) > 6 * found.bias_error


@pytest.mark.parametrize(
    "method",
    ["PPI++ weighted (Hajek)", "post-stratified (delta)", "post-stratified (Jeffreys)", "design-weighted (Hajek)"],
)
def test_weighted_methods_are_not_biased_by_a_stress_audit(stress_audit, method):
    assert abs(stress_audit[method].bias) < 4 * stress_audit[method].bias_error


@pytest.mark.parametrize("method", ["PPI++ weighted (Hajek)", "post-stratified (delta)", "design-weighted (Hajek)"])
def test_nominal_coverage_of_weighted_methods_after_a_stress_audit(stress_audit, method):
    assert NOMINAL[0] <= stress_audit[method].coverage <= NOMINAL[1]


def test_unweighted_ppi_misses_after_a_stress_audit(stress_audit):
    assert stress_audit["PPI++"].coverage < 0.8


def test_weighting_mends_rogan_gladens_coverage_after_a_stress_audit(stress_audit):
    assert (
        stress_audit["Rogan-Gladen (bootstrap)"].coverage
        < 0.9
        < stress_audit["Rogan-Gladen weighted (bootstrap)"].coverage
    )
