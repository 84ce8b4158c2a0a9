"""The identification table: 6 arms; sd of a risk difference with 1,080 scorer labels an arm, 48 or 300 audited."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from tests.estimands.scorer_tree import jittered, labels_of, scorer_tree, simulate_labels

from drift.estimands.identification import Point, Setting, contrast_sd, identification, setting_of
from drift.estimands.scored import scored

ARMS, MODELS = tuple("abcdef"), tuple("uvwxyz")
ONE, TWO = ("r1",), ("r1", "r2")
INF = math.inf

TABLE = {  # setting: nullity, sd with 48 audited, sd with 300 audited
    "no rater": (Setting(ARMS), 12, INF, INF),
    "rater 1 = truth": (Setting(ARMS, ONE, reference="r1"), 0, 0.063, 0.029),
    "1 fallible rater, scorer by arm": (Setting(ARMS, ONE), 2, INF, INF),
    "1 fallible rater, scorer common": (Setting(ARMS, ONE, scorer_errors="common"), 0, 0.036, 0.024),
    "1 fallible rater, same in all models": (Setting(ARMS, ONE, MODELS), 0, 0.088, 0.038),
    "2 raters": (Setting(ARMS, TWO), 0, 0.066, 0.030),
    "2 raters by arm": (Setting(ARMS, TWO, rater_errors="arm"), 0, 0.075, 0.033),
    "2 raters that share a factor": (Setting(ARMS, TWO, dependence="raters"), 2, INF, INF),
    "scorer and 2 raters share a factor": (Setting(ARMS, TWO, dependence="scorer and raters"), 0, 0.069, 0.031),
}

# The table's sds were printed without the values that they hold at. This point was found by least squares on them, and
# then rounded: one point gives all twelve. FPR from .023 to .306 as in the study that the table was made for.
PREVALENCE = np.array([0.248, 0.427, 0.44, 0.464, 0.415, 0.447])
FPR = np.array([0.023, 0.053, 0.077, 0.097, 0.127, 0.306])
FNR = np.array([0.05, 0.083, 0.088, 0.051, 0.137, 0.075])
COMMON_FPR, COMMON_FNR, RATER_FPR, RATER_FNR, RHO, MODEL_SD = 0.054, 0.041, 0.079, 0.009, 0.157, 0.128
MODEL_SHIFT = np.array([-1.2, -0.7, -0.1, 0.3, 0.6, 1.1])


def point(setting):
    prevalence = PREVALENCE[:, None]
    if len(setting.models) > 1:
        interaction = 0.7 * np.random.default_rng(3).normal(size=(6, 6))
        prevalence = ndtr(ndtri(prevalence) + MODEL_SD * (MODEL_SHIFT + interaction))
    common = setting.scorer_errors == "common"
    fpr, fnr = (np.full(6, COMMON_FPR), np.full(6, COMMON_FNR)) if common else (FPR, FNR)
    return Point(prevalence, fpr, fnr, RATER_FPR, RATER_FNR, RHO)


@pytest.mark.parametrize("row", TABLE)
def test_nullities_of_the_table(row):
    setting, nullity, _, _ = TABLE[row]
    assert identification(setting).nullity == nullity


@pytest.mark.parametrize("row", TABLE)
@pytest.mark.parametrize("audited", [48, 300])
def test_sds_of_the_table(row, audited):
    setting, _, *printed = TABLE[row]
    found = contrast_sd(setting, point(setting), ("a", "f"), 1080, audited)
    expected = printed[(48, 300).index(audited)]
    assert found == expected or abs(found - expected) < 0.0005 + 1e-6  # half of the last printed digit


@pytest.mark.parametrize("audited", [48, 300])
def test_sd_with_a_truth_is_that_of_a_double_sample(audited):
    # tenenbein1970: Var = p q / n (1 - K (1 - n / N)), K the squared correlation of scorer label and truth
    p, fpr, fnr = PREVALENCE[[0, 5]], FPR[[0, 5]], FNR[[0, 5]]
    share = p * (1 - fnr) + (1 - p) * fpr
    k = p * (1 - p) * (1 - fnr - fpr) ** 2 / (share * (1 - share))
    expected = np.sqrt((p * (1 - p) / audited * (1 - k * (1 - audited / 1080))).sum())
    setting = TABLE["rater 1 = truth"][0]
    assert contrast_sd(setting, point(setting), ("a", "f"), 1080, audited) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("setting", "parameters", "cells"),
    [
        (Setting(ARMS), 6 + 12, 6),
        (Setting(ARMS, ONE), 6 + 12 + 2, 6 * 3),
        (Setting(ARMS, ONE, MODELS), 36 + 12 + 2, 36 * 3),
        (Setting(ARMS, TWO), 6 + 12 + 4, 6 * 7),
        (Setting(ARMS, TWO, rater_errors="arm"), 6 + 12 + 24, 6 * 7),
        (Setting(ARMS, TWO, dependence="raters"), 6 + 12 + 4 + 2, 6 * 7),
        (Setting(("a",), TWO, together={("a", "all"): (("r1",), ("r2",))}), 1 + 2 + 4, 1 + 2 + 2),
    ],
)
def test_parameters_and_free_cells_are_counted(setting, parameters, cells):
    found = identification(setting)
    assert (found.n_parameters, found.n_free_cells) == (parameters, cells)


@pytest.mark.parametrize("row", TABLE)
def test_rank_and_nullity_add_up_and_fit_the_cells(row):
    found = identification(TABLE[row][0])
    assert found.rank + found.nullity == found.n_parameters
    assert found.rank <= found.n_free_cells


def test_an_identified_setting_leaves_no_parameter_to_the_prior():
    assert identification(Setting(ARMS, TWO)).unknown == ()


def test_null_directions_of_a_shared_factor_are_named():
    found = identification(Setting(ARMS, TWO, dependence="raters")).unknown
    assert {"rater_fpr[r1]", "rater_fnr[r1]", "rater_fpr[r2]", "rater_fnr[r2]", "dependence[0]"} <= {*found}


def test_a_rater_absent_from_an_arm_leaves_his_errors_there_to_the_prior():
    together = {("a", "all"): (("r1",),)}
    found = identification(Setting(("a", "b"), TWO, rater_errors="arm", reference="r1", together=together))
    assert found.unknown == ("rater_fpr[a, r2]", "rater_fnr[a, r2]")


def test_raters_of_different_rows_identify_less_than_raters_of_the_same():
    apart = {(arm, "all"): (("r1",), ("r2",)) for arm in ARMS}
    found = identification(Setting(ARMS, TWO, together=apart))
    assert found.nullity == 2  # each pair of scorer and one rater is the third row of the table


def test_rank_of_one_arm_is_that_of_the_probabilities_written_out():
    # slow twin of the rank, for one arm and two tests: all pattern probabilities written out and differentiated
    def probabilities(x):
        pi, fpr, fnr, rater_fpr, rater_fnr = ndtr(x)
        wrong = {0: (fpr, rater_fpr), 1: (fnr, rater_fnr)}
        return [
            sum(
                (pi if z else 1 - pi) * np.prod([w if b != z else 1 - w for b, w in zip(v, wrong[z], strict=True)])
                for z in (0, 1)
            )
            for v in itertools.product((0, 1), repeat=2)
        ]

    x = np.array([-0.3, -1.1, -1.4, -1.7, -2.0])
    step = 1e-5 * np.eye(5)
    jacobian = [(np.array(probabilities(x + h)) - probabilities(x - h)) / 2e-5 for h in step]
    assert identification(Setting(("a",), ONE)).rank == np.linalg.matrix_rank(np.array(jacobian), tol=1e-7)


def test_the_setting_of_a_posterior_is_read_from_it():
    labels = simulate_labels(n_raters=2, n_models=2).labels
    found = setting_of(scored(scorer_tree(labels, jittered(labels), reference="rater 1")))
    assert (found.arms, found.raters, found.reference) == (("arm 0", "arm 1"), ("rater 0", "rater 1"), "rater 1")
    assert identification(found).nullity == 0


def test_a_posterior_without_an_audit_in_an_arm_is_not_identified_there():
    labels = labels_of([0, 1, 0, 1], [[0], [1], [-1], [-1]], arm=[0, 0, 1, 1])
    found = identification(setting_of(scored(scorer_tree(labels, jittered(labels), reference="rater 0"))))
    assert found.unknown == ("prevalence[arm 1]", "fpr[arm 1]", "fnr[arm 1]")
