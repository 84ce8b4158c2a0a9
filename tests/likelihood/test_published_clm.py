"""Log likelihoods and estimates published for R's ordinal package (clm, clmm), from our own functions."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import approx_fprime, minimize

from drift.likelihood import kernel
from drift.likelihood.reference import log_probability

# data README: printed by clm and clmm; the tolerance is half a unit of the last printed digit.
WINE_CLM = {"tempwarm": 2.5031, "contactyes": 1.5278, "thresholds": [-1.3444, 1.2508, 3.4669, 5.0064]}
WINE_CLM_LOGLIK = -86.49
CLMM_ESTIMATES = [3.0619, 1.8334, -1.6235, 1.5128, 4.2271, 6.0862]  # tempwarm, contactyes, thresholds
CLMM_SD = 1.1348
CLMM_SE = [0.5951, 0.5122]  # tempwarm, contactyes
CLMM_LOGLIK = -81.532
SOUP_PRODUCTS = [0.0, 0.64203, 1.03043, 0.60131, 0.91243, 1.13821]
SOUP_THRESHOLDS = [-0.89853, -0.29373, -0.08049, 0.08979, 0.54868]
SOUP_LOG_SCALE_TEST = 0.20206
SOUP_LOGLIK = -2677.01

N_NODES = 10


class Judge(NamedTuple):
    """One judge's rows, for the kernel. Cells: contact + 2 x temp."""

    end: np.ndarray
    index: np.ndarray
    above: np.ndarray


@pytest.fixture
def wine(r_ordinal):
    return pd.read_csv(r_ordinal / "wine.csv")


@pytest.fixture
def judges(wine):
    cell = (2 * (wine["temp"] == "warm") + (wine["contact"] == "yes")).to_numpy()
    label = wine["rating"].to_numpy() - 1
    found = []
    for judge in sorted(wine["judge"].unique()):
        own = (wine["judge"] == judge).to_numpy()
        rows = kernel.layout(cell[own], np.zeros(own.sum(), int), label[own], 4, 1, 5)
        found.append(Judge(rows.end, rows.index, rows.above))
    return found


def joint(judge, parameters, sd, u):
    """log P(ratings of one judge | u) + log N(u; 0, 1), and its derivative in u."""
    temp, contact, *thresholds = parameters
    cell = np.array([0.0, contact, temp, temp + contact])
    value, _, slope, _ = kernel.cumulative_logit(cell, np.array([sd * u]), np.array(thresholds), *judge)
    return value - 0.5 * u**2 - 0.5 * np.log(2 * np.pi), sd * slope[0] - u


def integrated(judge, parameters, sd):
    """log of the integral over the judge's effect: Gauss-Hermite about its mode, on its curvature's scale."""
    u = 0.0
    for _ in range(50):
        curvature = (joint(judge, parameters, sd, u + 1e-5)[1] - joint(judge, parameters, sd, u - 1e-5)[1]) / 2e-5
        step = joint(judge, parameters, sd, u)[1] / curvature
        u -= step
        if abs(step) < 1e-9:
            break
    scale = 1.0 / np.sqrt(-curvature)
    nodes, weights = hermegauss(N_NODES)
    values = [joint(judge, parameters, sd, u + scale * node)[0] for node in nodes]
    return np.log(scale) + np.logaddexp.reduce(np.log(weights) + 0.5 * nodes**2 + values)


def marginal(judges, point):
    """Log likelihood of (tempwarm, contactyes, thresholds, log sd): judges are independent given these."""
    return sum(integrated(judge, point[:6], np.exp(point[6])) for judge in judges)


@pytest.fixture
def best(judges):
    """The maximum, searched from a point that is not the published one."""
    start = np.array([2.5, 1.5, -1.3, 1.3, 3.5, 5.0, 0.0])
    return minimize(lambda point: -marginal(judges, point), start, method="BFGS", options={"gtol": 1e-4}).x


def test_wine_without_judges(wine):
    eta = WINE_CLM["tempwarm"] * (wine["temp"] == "warm") + WINE_CLM["contactyes"] * (wine["contact"] == "yes")
    found = log_probability(wine["rating"] - 1, eta, WINE_CLM["thresholds"]).sum()
    assert found == pytest.approx(WINE_CLM_LOGLIK, abs=0.005)


def test_wine_with_judges_at_the_published_estimates(judges):
    assert marginal(judges, np.array([*CLMM_ESTIMATES, np.log(CLMM_SD)])) == pytest.approx(CLMM_LOGLIK, abs=0.0005)


def test_wine_with_judges_maximised(best):
    np.testing.assert_allclose(best[:6], CLMM_ESTIMATES, atol=1.5e-4)  # the printed digit, and the search's 1e-4
    assert np.exp(best[6]) == pytest.approx(CLMM_SD, abs=1.5e-4)


def test_wine_standard_errors(judges, best):
    def gradient(point):
        return approx_fprime(point, lambda x: -marginal(judges, x), 1e-4)

    hessian = np.array([(gradient(best + 1e-3 * e) - gradient(best - 1e-3 * e)) / 2e-3 for e in np.eye(7)])
    found = np.sqrt(np.diag(np.linalg.inv((hessian + hessian.T) / 2)))
    np.testing.assert_allclose(found[:2], CLMM_SE, atol=1.5e-4)


def test_soup_probit_with_scale_effects(r_ordinal):
    soup = pd.read_csv(r_ordinal / "soup.csv")
    eta = np.array(SOUP_PRODUCTS)[soup["PRODID"] - 1]
    log_scale = SOUP_LOG_SCALE_TEST * (soup["PROD"] == "Test").to_numpy()
    found = log_probability(soup["SURENESS"] - 1, eta, SOUP_THRESHOLDS, "probit", log_scale).sum()
    assert found == pytest.approx(SOUP_LOGLIK, abs=0.005)
