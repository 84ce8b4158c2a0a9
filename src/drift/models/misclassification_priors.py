"""Priors of the latent misclassification cards, and draws from them; nothing here imports PyMC, which takes seconds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import truncnorm

from drift.models.frame import Frame
from drift.models.priors import SHAPE, Spread

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MisclassificationPriors:
    """Probit scale: a median of .115 is the probit -1.2. Rates are errors; `spread` is the sd of a location.

    prevalence: sd of each arm's probit (1 is uniform on the probability; arms are not pooled). sd_fpr_arm: fixed, so
    that arms which happen to lie close are not drawn together, nor one far out towards them. arm_dof: degrees of
    freedom of the Student t that the arms' false negatives follow. rater_*: a normal truncated at 0, so that a rater
    errs on fewer than half of each class: this fixes what truth 1 means.
    """

    prevalence: float = 1.0
    sd_prevalence_model: Spread = Spread(0.4)
    sd_prevalence_arm_model: Spread = Spread(0.3)
    prevalence_stratum: float = 0.7
    fpr_median: float = 0.115
    fpr_spread: float = 0.8
    fnr_median: float = 0.081
    fnr_spread: float = 0.8
    arm_dof: float = 4.0
    sd_fpr_arm: Spread = Spread(0.8, "fixed")
    sd_fnr_arm: Spread = Spread(0.4, "gamma")
    sd_fpr_model: Spread = Spread(0.5)
    sd_fnr_model: Spread = Spread(0.5)
    sd_fpr_arm_model: Spread = Spread(0.3)
    sd_fnr_arm_model: Spread = Spread(0.3)
    error_stratum: float = 0.6
    sd_fpr_arm_stratum: Spread = Spread(0.3)
    sd_fnr_arm_stratum: Spread = Spread(0.3)
    rater_median: float = 0.020
    rater_spread: float = 0.35


@dataclass(frozen=True)
class DependentPriors(MisclassificationPriors):
    """`dependence`: Beta, the share rho of the tests' probit variance that a common factor makes up, of each truth."""

    dependence: tuple[float, float] = (1.0, 3.0)


def prior_draws(
    frame: Frame, priors: MisclassificationPriors, n_draws: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Draws of what a fit reports, from the prior: the NumPy twin of the model's priors.

    prevalence, fpr, fnr: (draw, cell). rater_fpr, rater_fnr: (draw, arm, rater). dependence: (draw, truth), in cards
    that have it. All are probabilities.
    """
    draw = _Prior(frame, n_draws, rng)
    found = {"prevalence": ndtr(_prevalence(draw, priors))}
    for kind in ("fpr", "fnr"):
        found[kind] = ndtr(_error(draw, priors, kind))
    location, spread = frame.arrays["rater_prior"]
    n_arms, n_raters = len(frame.coords["arm"]), len(frame.coords["rater"])
    for kind in ("rater_fpr", "rater_fnr"):
        law = truncnorm(-np.inf, -location / spread, location, spread)
        errors = ndtr(law.rvs((n_draws, 1, n_raters), random_state=rng)) * (1 - frame.arrays["reference"])
        found[kind] = np.repeat(errors, n_arms, axis=1)
    if isinstance(priors, DependentPriors):
        found["dependence"] = rng.beta(*priors.dependence, (n_draws, 2))
    return found


@dataclass(frozen=True)
class _Prior:
    frame: Frame
    n_draws: int
    rng: np.random.Generator

    def index(self, factor: str) -> NDArray[np.int64]:
        return np.asarray(self.frame.arrays[f"cell_{factor}"])

    def size(self, factor: str) -> int:
        return int(self.frame.arrays[f"{factor}_group"].size)

    def normal(self, *shape: int) -> Floats:
        return self.rng.normal(size=(self.n_draws, *shape))

    def spread(self, prior: Spread) -> Floats:
        """(draw, 1) standard deviations."""
        if prior.kind == "gamma":
            return self.rng.gamma(SHAPE, prior.scale / SHAPE, (self.n_draws, 1))
        size = np.abs(self.normal(1)) if prior.kind == "half_normal" else np.ones((self.n_draws, 1))
        return np.asarray(prior.scale * size)

    def effect(self, term: str, prior: Spread, *factors: str, free_rows: bool = False) -> Floats | float:
        """(draw, cell) effect, zero-sum over its factors (over the last one alone with `free_rows`); 0 if left out."""
        if term not in self.frame.terms:
            return 0.0
        rows, column = (factors[0] if len(factors) == 2 else None), factors[-1]
        values = self.normal(self.size(rows) if rows else 1, self.size(column))
        values = _centred(values, self._grouping(column))
        if rows and not free_rows:
            values = _centred(values.swapaxes(1, 2), self._grouping(rows)).swapaxes(1, 2)
        row = self.index(rows) if rows else np.zeros_like(self.index(column))
        return np.asarray(self.spread(prior) * values[:, row, self.index(column)])

    def _grouping(self, factor: str) -> NDArray[np.int64]:
        return np.asarray(self.frame.arrays[f"{factor}_group"])


def _centred(values: Floats, group: NDArray[np.int64]) -> Floats:
    """Values less their group's mean along the last axis: the law that the zero-sum map gives."""
    member = np.eye(group.max() + 1)[group]  # (level, group)
    return values - values @ member / member.sum(axis=0) @ member.T


def _prevalence(draw: _Prior, priors: MisclassificationPriors) -> Floats:
    arms = priors.prevalence * draw.normal(draw.size("side"))[:, draw.index("side")]
    return np.asarray(
        arms
        + draw.effect("model", priors.sd_prevalence_model, "population", "model", free_rows=True)
        + draw.effect("arm:model", priors.sd_prevalence_arm_model, "side", "model")
        + draw.effect("stratum", Spread(priors.prevalence_stratum, "fixed"), "side", "stratum", free_rows=True)
    )


def _error(draw: _Prior, priors: MisclassificationPriors, kind: str) -> Floats:
    spread = spreads(priors, kind)
    location, scale = overall(priors, kind)
    common = location + scale * draw.normal(1)
    if "arm" in draw.frame.terms:
        shape = (draw.n_draws, draw.size("arm"))
        law = draw.rng.normal(size=shape) if kind == "fpr" else draw.rng.standard_t(priors.arm_dof, shape)
        common = (common + draw.spread(spread["arm"]) * law)[:, draw.index("arm")]
    return np.asarray(
        common
        + draw.effect("model", spread["model"], "model")
        + draw.effect("arm:model", spread["arm_model"], "arm", "model")
        + draw.effect("stratum", Spread(priors.error_stratum, "fixed"), "stratum")
        + draw.effect("arm:stratum", spread["arm_stratum"], "arm", "stratum")
    )


def overall(priors: MisclassificationPriors, kind: str) -> tuple[float, float]:
    """Location and spread of the probit of one kind of error ("fpr" or "fnr") in the average arm."""
    return float(ndtri(getattr(priors, f"{kind}_median"))), float(getattr(priors, f"{kind}_spread"))


def rater_prior(priors: MisclassificationPriors) -> Floats:
    """(2,) location and spread of the raters' error probits, as the model's data."""
    return np.array([ndtri(priors.rater_median), priors.rater_spread])


def spreads(priors: MisclassificationPriors, kind: str) -> Mapping[str, Any]:
    """The spreads of one kind of error by term: arm, model, arm_model, arm_stratum."""
    return {term: getattr(priors, f"sd_{kind}_{term}") for term in ("arm", "model", "arm_model", "arm_stratum")}
