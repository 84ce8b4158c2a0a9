"""The pointwise definition: known answers, normalisation, and what holds at extremes."""

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from drift.likelihood.reference import log_probability

CUTPOINTS = np.array([-2.0, -0.5, 0.25, 1.0])
LOGIT_AT_ZERO = np.diff([0.0, 0.11920292202211755, 0.3775406687981454, 0.5621765008857981, 0.7310585786300049, 1.0])
PROBIT_AT_ZERO = np.diff([0.0, 0.022750131948179195, 0.3085375387259869, 0.5987063256829237, 0.8413447460685429, 1.0])
ONE_STEP = 4e-16  # relative: a unit or two in the last place
PROBIT_TAIL = 1e-12  # relative, of a log probability in the hundreds: log1p of a difference that is itself rounded


@pytest.mark.parametrize(("link", "expected"), [("logit", LOGIT_AT_ZERO), ("probit", PROBIT_AT_ZERO)])
def test_known_probabilities(link, expected):
    found = np.exp(log_probability(np.arange(5), np.zeros(5), CUTPOINTS, link))
    np.testing.assert_allclose(found, expected, rtol=5e-15)  # the constants are differences of rounded numbers


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("n_labels", [2, 3, 11])
def test_probabilities_add_up_to_one(link, n_labels):
    eta, log_scale = np.linspace(-6, 6, 7)[:, None], np.linspace(-1, 1, 7)[:, None]
    found = np.exp(log_probability(np.arange(n_labels), eta, np.linspace(-3, 3, n_labels - 1), link, log_scale))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_the_scale_divides_both_eta_and_cutpoints(link):
    one = log_probability([0, 2, 4], 0.7, CUTPOINTS, link, np.log(2.0))
    other = log_probability([0, 2, 4], 0.35, CUTPOINTS / 2.0, link)
    np.testing.assert_allclose(one, other, rtol=ONE_STEP * 4)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_mirrored_scale_mirrors_the_labels(link):
    eta = np.linspace(-3, 3, 5)
    one = log_probability(np.arange(5), eta, CUTPOINTS, link)
    other = log_probability(4 - np.arange(5), -eta, -CUTPOINTS[::-1], link)
    np.testing.assert_allclose(one, other, rtol=1e-14)


def exact(lower, upper, eta, link):
    with mpmath.workdps(800):  # the differences below need 200 digits and more
        below = mpmath.ncdf if link == "probit" else lambda x: 1 / (1 + mpmath.exp(-x))
        return float(
            mpmath.log(below(mpmath.mpf(upper) - mpmath.mpf(eta)) - below(mpmath.mpf(lower) - mpmath.mpf(eta)))
        )


@pytest.mark.parametrize("eta", [-30.0, -8.0, 0.1, 8.0, 30.0])
@pytest.mark.parametrize("gap", [1e-13, 1e-8, 1e-4, 1e-3, 0.5, 20.0])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_interior_label_against_50_digits(eta, gap, link):
    cutpoints = np.array([0.5, 0.5 + gap])
    expected = exact(cutpoints[0], cutpoints[1], eta, link)
    found = log_probability(1, eta, cutpoints, link)
    assert found == pytest.approx(expected, rel=1e-15 if link == "logit" else PROBIT_TAIL)


def test_logit_at_700():
    assert log_probability(0, 700.0, CUTPOINTS) == pytest.approx(-702.0, rel=1e-15)


@pytest.mark.parametrize("label", [0, 4])
def test_probit_end_labels_far_away(label):
    eta, expected = {0: (40.0, norm.logcdf(-42.0)), 4: (-40.0, norm.logsf(41.0))}[label]
    assert log_probability(label, eta, CUTPOINTS, "probit") == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("cutpoints", [[1.0, 0.0], [0.0, 0.0]])
def test_cutpoints_that_do_not_increase_have_no_density(link, cutpoints):
    assert log_probability(1, 0.0, cutpoints, link) == -np.inf


def test_draws_come_first():
    eta = np.random.default_rng(0).normal(size=(6, 3))
    found = log_probability([0, 2, 4], eta, CUTPOINTS)
    assert found.shape == (6, 3)
    np.testing.assert_array_equal(found[2], log_probability([0, 2, 4], eta[2], CUTPOINTS))
