"""Each check both ways on draws whose outcome is known; a failed check carries its advice."""

import inspect
import re

import numpy as np
import pytest
import xarray as xr

from drift.inference import diagnostics
from drift.inference.diagnostics import ADVICE, checks_made, passed

CHAINS, DRAWS = 4, 500
NAMES = ("rhat", "ess_bulk", "ess_tail", "divergences", "ebfmi")


def normal(seed=0, n=DRAWS):
    return np.random.default_rng(seed).normal(size=(CHAINS, n))


def autocorrelated(rho, n=DRAWS):
    noise = normal(5, n)
    for t in range(1, n):
        noise[:, t] = rho * noise[:, t - 1] + np.sqrt(1 - rho**2) * noise[:, t]
    return noise


def tree(draws=None, diverging=None, energy=None):
    draws = normal() if draws is None else draws
    dims = ("chain", "draw")
    stats = {
        "diverging": (dims, np.zeros(draws.shape[:2], bool) if diverging is None else diverging),
        "energy": (dims, normal(1, draws.shape[1]) if energy is None else energy),
    }
    posterior = xr.Dataset({"x": ((*dims, *(["level"] if draws.ndim == 3 else [])), draws)})
    return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": xr.Dataset(stats)})


def by_name(*arguments):
    return {check.name: check for check in checks_made(*arguments)}


def shifted_chain():
    draws = normal()
    draws[2] += 1.0
    return draws


def stuck_chain():
    draws = normal()
    draws[1] = draws[1, 0]
    return draws


def heavy_energy():
    """A random walk: var of the change / var of the energy far below .3."""
    return np.cumsum(normal(2), axis=1)


def one_divergence():
    diverging = np.zeros((CHAINS, DRAWS), bool)
    diverging[3, 17] = True
    return diverging


def test_good_draws_pass_every_check():
    checks = checks_made(tree(), {})
    assert [check.name for check in checks] == list(NAMES)
    assert passed(checks)


def test_a_passed_check_has_no_advice():
    assert {check.advice for check in checks_made(tree(), {})} == {""}


BAD = {
    "a chain elsewhere": (tree(shifted_chain()), "rhat"),
    "a stuck chain": (tree(stuck_chain()), "rhat"),
    "slow mixing": (tree(autocorrelated(0.97)), "ess_bulk"),
    "few draws": (tree(normal(n=60)), "ess_tail"),
    "one divergence": (tree(diverging=one_divergence()), "divergences"),
    "slow energy": (tree(energy=heavy_energy()), "ebfmi"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_draws_fail_the_check_that_they_should(name):
    draws, check = BAD[name]
    found = by_name(draws, {})
    assert not found[check].passed
    assert found[check].advice == ADVICE[check]
    assert not passed(tuple(found.values()))


@pytest.mark.parametrize("name", ["one divergence", "slow energy"])
def test_and_no_other(name):
    draws, check = BAD[name]
    assert [other.name for other in checks_made(draws, {}) if not other.passed] == [check]


def test_value_is_the_worst_and_at_says_where():
    draws = np.stack([normal(seed) for seed in (1, 2, 3)], axis=2)
    draws[0, :, 1] += 2.0
    check = by_name(tree(draws), {})["rhat"]
    assert check.at == "x[1]"
    assert check.value > 1.1


def test_number_of_divergences():
    assert by_name(BAD["one divergence"][0], {})["divergences"].value == 1


def test_estimands_are_checked_too():
    estimand = xr.DataArray(shifted_chain(), dims=("chain", "draw"))
    check = by_name(tree(), {"deviation": estimand})["rhat"]
    assert not check.passed
    assert check.at == "deviation"


def test_draws_that_never_move_fail():
    assert not passed(checks_made(tree(np.full((CHAINS, DRAWS), 3.0)), {}))


def test_an_effect_that_is_zero_by_constraint_is_no_failure():
    draws = np.stack([normal(), np.zeros((CHAINS, DRAWS))], axis=2)
    assert passed(checks_made(tree(draws), {}))


def test_draws_that_are_not_numbers_fail():
    draws = normal()
    draws[0, 0] = np.nan
    assert not passed(checks_made(tree(draws), {}))


def test_a_check_is_a_row():
    assert checks_made(tree(), {})[0].as_dict().keys() == {"name", "value", "limit", "at", "passed", "advice"}


def test_each_limit_is_stated_once_with_its_source():
    lines = re.findall(r"^[A-Z]+_[A-Z_]+ = .*$", inspect.getsource(diagnostics), re.MULTILINE)
    assert len(lines) == 4
    assert all(re.search(r"# \w+\d{4}", line) for line in lines)


@pytest.mark.parametrize(
    ("check", "limit"), [("rhat", 1.01), ("ess_bulk", 400), ("ess_tail", 400), ("divergences", 0), ("ebfmi", 0.3)]
)
def test_limits(check, limit):
    assert by_name(tree(), {})[check].limit == limit
