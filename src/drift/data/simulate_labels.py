"""Scorer panels simulated with known truth: models x keys x arms responses, a fallible scorer, raters and audits.

The true label z of a response is drawn first, then what scorer and raters say of it. `PRESETS` are at the size of seed
002: six models, 180 keys, six arms, 6,480 responses, 48 audited an arm (by default with two raters).

| what | value | where it comes from |
|---|---|---|
| models, keys, arms, audited an arm | 6, 180, 6, 48 (8 a model) | printed |
| FPR | .040 .050 .333 .026 .179 .097 | 1/25 1/20 7/21 1/39 5/28 3/31: .026 and .333 printed, see `scorer_audit` |
| prevalence | .479 .583 .563 .188 .417 .354 | 23 28 27 9 20 17 of 48, likewise |
| FNR | .02, Soft cue .10, Existence .06 | chosen: 4 of 124 positives, all in those two arms, shrunk to the rest |
| two raters, FPR and FNR | .02 and .03 each | chosen: they then disagree on 4.8% of labels, printed 57 of 1,200 |
| sd of model, arm x model in prevalence | .30, .15 probit | chosen |
| key, arm x key share of latent variance | .20, .10 | chosen |
| `stress`: predicted positives | 4 times as likely as negatives | chosen: the seed prints no ratio |
| `routed`: judge takes | .30 of responses | chosen, like its shifts, probit: FPR +.6, FNR +.3, prevalence +.3 |
| `outlier`: FPR | .040 .050 .333 .026 .050 .050 | ends printed, the last two chosen: one arm stands apart |
| `model_errors`: sd of model, arm x model | .30, .50 probit, FPR and FNR | chosen |
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from drift.data.simulate_audits import AuditPlan, BoolArray, chosen_rows
from drift.errors import InputError
from drift.scale import FloatArray, IntArray

SEED = 20260801
Target = Literal["panel", "superpopulation"]


@dataclass(frozen=True)
class Route:
    """A way in which responses are scored. `share` of responses; `prevalence`, `fpr`, `fnr`: shifts, probit."""

    name: str
    share: float = 1.0
    prevalence: float = 0.0
    fpr: float = 0.0
    fnr: float = 0.0


@dataclass(frozen=True)
class Rater:
    """Error rates of a rater: P(1 | truth 0) and P(0 | truth 1), one for all arms or one an arm."""

    fpr: float | tuple[float, ...] = 0.02
    fnr: float | tuple[float, ...] = 0.03


@dataclass(frozen=True)
class PanelSetting:
    """What a panel is drawn from.

    `prevalence`, `fpr`, `fnr`: (arm,) P(z = 1), P(scorer 1 | z = 0), P(scorer 0 | z = 1), each exactly that of the arm
    over models (equal weights) and routes, whatever the effects beside it. Standard deviations are probit. `key_share`
    and `arm_key_share`: share of the latent variance of z that responses on a key have in common, in all arms and in
    one. `dependence`: (rho of truth 0, rho of truth 1) of the error factor that raters share, with the scorer too where
    `scorer_dependent`; marginal error rates do not depend on it (one-factor form of Vasicek).
    """

    arms: tuple[str, ...]
    prevalence: tuple[float, ...]
    fpr: tuple[float, ...]
    fnr: tuple[float, ...]
    n_models: int = 6
    n_keys: int = 180
    model_sd: float = 0.3
    arm_model_sd: float = 0.15
    key_share: float = 0.2
    arm_key_share: float = 0.1
    error_model_sd: float = 0.0
    error_arm_model_sd: float = 0.0
    routes: tuple[Route, ...] = (Route("all"),)
    raters: tuple[Rater, ...] = (Rater(), Rater())
    dependence: tuple[float, float] = (0.0, 0.0)
    scorer_dependent: bool = False
    audits: tuple[AuditPlan, ...] = (AuditPlan("representative"),)


@dataclass(frozen=True)
class PanelTruth:
    """What generated a simulated panel.

    `label`: (row,) true label. `prevalence`, `fpr`, `fnr`: (arm, model, route). `rater_fpr`, `rater_fnr`: (arm, rater).
    `panel`, `superpopulation`, `automatic`: (arm,) share of true labels 1 in these rows, its expectation over new keys,
    and the share of scorer labels 1 in these rows; models weigh alike in each.
    """

    arms: tuple[str, ...]
    models: tuple[str, ...]
    routes: tuple[str, ...]
    label: IntArray
    prevalence: FloatArray
    fpr: FloatArray
    fnr: FloatArray
    rater_fpr: FloatArray
    rater_fnr: FloatArray
    dependence: tuple[float, float]
    panel: FloatArray
    superpopulation: FloatArray
    automatic: FloatArray

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """(treatment, comparator) of every two arms: 15 of six arms."""
        return tuple((other, arm) for place, arm in enumerate(self.arms) for other in self.arms[place + 1 :])

    def contrast(self, treatment: str, comparator: str, target: Target = "panel") -> float:
        """Prevalence in the treatment arm minus that in the comparator arm."""
        share = self.panel if target == "panel" else self.superpopulation
        return float(share[self.arms.index(treatment)] - share[self.arms.index(comparator)])

    def contrast_bias(self, treatment: str, comparator: str) -> float:
        """Automatic contrast minus true contrast, in these rows."""
        bias = self.automatic - self.panel
        return float(bias[self.arms.index(treatment)] - bias[self.arms.index(comparator)])


@dataclass(frozen=True)
class SimulatedPanel:
    """`table`: a response a row; `truth` behind it.

    Columns: item, model, arm, route (if there are several), flag (the scorer), rater_1, rater_2 ..., audit (empty where
    not audited), probability (of inclusion in that audit, empty where not audited).
    """

    table: pd.DataFrame
    truth: PanelTruth


def simulate_panel(setting: PanelSetting, seed: int = SEED) -> SimulatedPanel:
    """A panel drawn from `setting`: (arm, key, model) rows, arms slowest. Raises `InputError` for what cannot be."""
    _check(setting)
    rng = np.random.default_rng(seed)
    shape = (len(setting.arms), setting.n_keys, setting.n_models)
    arm, key, model = np.indices(shape).reshape(3, -1)
    prevalence, fpr, fnr = _cell_rates(setting, rng)
    share = np.cumsum([route.share for route in setting.routes])[:-1]
    route = np.searchsorted(share, rng.random(arm.size), side="right")
    cell = (arm, model, route)
    label = ndtri(prevalence)[cell] + _response_effects(setting, rng).ravel() > 0
    rater_fpr, rater_fnr = (_by_arm(setting, rates) for rates in ("fpr", "fnr"))
    missed, alarmed = (np.column_stack(pair) for pair in ((fnr[cell], rater_fnr[arm]), (fpr[cell], rater_fpr[arm])))
    said = label[:, None] ^ _errors(np.where(label[:, None], missed, alarmed), label, setting, rng)
    audit, probability = chosen_rows(setting.audits, arm, key, model, route, said[:, 0], rng)
    truth = PanelTruth(
        arms=setting.arms,
        models=tuple(f"model-{place}" for place in range(1, setting.n_models + 1)),
        routes=tuple(route.name for route in setting.routes),
        label=label.astype(np.int64),
        prevalence=prevalence,
        fpr=fpr,
        fnr=fnr,
        rater_fpr=rater_fpr,
        rater_fnr=rater_fnr,
        dependence=setting.dependence,
        panel=label.reshape(shape).mean(axis=(1, 2)),
        superpopulation=np.array(setting.prevalence),
        automatic=said[:, 0].reshape(shape).mean(axis=(1, 2)),
    )
    return SimulatedPanel(_table(truth, setting, (arm, key, model, route), said, audit, probability), truth)


def _cell_rates(setting: PanelSetting, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(arm, model, route) prevalence, fpr, fnr. Error rates average to the arm's over the class that they are of."""
    weight = np.array([route.share for route in setting.routes]) / setting.n_models
    sds, error_sds = (setting.model_sd, setting.arm_model_sd), (setting.error_model_sd, setting.error_arm_model_sd)
    effects = [_effects(setting, rng, *both) for both in (sds, error_sds, error_sds)]
    shifts = [[getattr(route, name) for route in setting.routes] for name in ("prevalence", "fpr", "fnr")]
    prevalence = calibrated(setting.prevalence, effects[0] + shifts[0], np.broadcast_to(weight, effects[0].shape))
    fpr = calibrated(setting.fpr, effects[1] + shifts[1], weight * (1 - prevalence))
    fnr = calibrated(setting.fnr, effects[2] + shifts[2], weight * prevalence)
    return prevalence, fpr, fnr


def _effects(setting: PanelSetting, rng: np.random.Generator, model_sd: float, arm_model_sd: float) -> FloatArray:
    """(arm, model, route) probit deviations of models, and of models within arms; the same for every route."""
    shape = (len(setting.arms), setting.n_models)
    effects = model_sd * normal(rng, shape[1:]) + arm_model_sd * normal(rng, shape)
    return np.repeat(effects[:, :, None], len(setting.routes), axis=2)


def calibrated(rate: tuple[float, ...], effects: FloatArray, weight: FloatArray) -> FloatArray:
    """Phi(c[arm] + effects) with c such that its weighted mean is `rate` in each arm, by bisection to 1e-14 probits.

    `rate`: (arm,). `effects`, `weight`: (arm, model, route); weights need not sum to 1.
    """
    share = weight / weight.sum(axis=(1, 2), keepdims=True)
    low = np.full((len(rate), 1, 1), -10 - np.abs(effects).max())
    high = -low
    for _ in range(52):
        middle = (low + high) / 2
        below = (share * ndtr(middle + effects)).sum(axis=(1, 2), keepdims=True) < np.array(rate)[:, None, None]
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    found: FloatArray = ndtr(middle + effects)
    return found


def _response_effects(setting: PanelSetting, rng: np.random.Generator) -> FloatArray:
    """(arm, key, model) standard normal: key, arm x key and the response's own, by their shares of the variance."""
    shape = (len(setting.arms), setting.n_keys, setting.n_models)
    own = 1 - setting.key_share - setting.arm_key_share
    key = np.sqrt(setting.key_share) * normal(rng, (1, shape[1], 1))
    arm_key = np.sqrt(setting.arm_key_share) * normal(rng, (*shape[:2], 1))
    effects: FloatArray = key + arm_key + np.sqrt(own) * normal(rng, shape)
    return effects


def _errors(rate: FloatArray, label: BoolArray, setting: PanelSetting, rng: np.random.Generator) -> BoolArray:
    """(row, test) whether each test errs: sqrt(rho) x + sqrt(1 - rho) e < Phi^-1(rate), x shared by dependent tests."""
    dependent = np.r_[setting.scorer_dependent, np.ones(rate.shape[1] - 1, dtype=bool)]
    rho = dependent * np.array(setting.dependence)[label.astype(np.int64)][:, None]
    shared = normal(rng, (len(rate), 1)) if any(setting.dependence) else 0.0
    wrong: BoolArray = np.sqrt(rho) * shared + np.sqrt(1 - rho) * normal(rng, rate.shape) < ndtri(rate)
    return wrong


def _by_arm(setting: PanelSetting, name: str) -> FloatArray:
    """(arm, rater) error rates of one kind."""
    rates = [np.broadcast_to(getattr(rater, name), len(setting.arms)) for rater in setting.raters]
    return np.column_stack(rates) if rates else np.empty((len(setting.arms), 0))


def normal(rng: np.random.Generator, shape: int | tuple[int, ...]) -> FloatArray:
    """Standard normal by inversion: `random` is the stream that NumPy keeps stable."""
    values: FloatArray = ndtri(rng.random(shape) + 2.0**-54)  # never 0
    return values


def _table(
    truth: PanelTruth,
    setting: PanelSetting,
    codes: tuple[IntArray, IntArray, IntArray, IntArray],
    said: BoolArray,
    audit: IntArray,
    probability: FloatArray,
) -> pd.DataFrame:
    arm, key, model, route = codes
    digits = len(str(setting.n_keys))
    items = np.array([f"item-{place:0{digits}d}" for place in range(1, setting.n_keys + 1)], dtype=object)
    columns: dict[str, object] = {
        "item": items[key],
        "model": np.array(truth.models, dtype=object)[model],
        "arm": np.array(truth.arms, dtype=object)[arm],
    }
    if len(truth.routes) > 1:
        columns["route"] = np.array(truth.routes, dtype=object)[route]
    columns["flag"] = said[:, 0].astype(np.int64)
    for place in range(1, said.shape[1]):
        columns[f"rater_{place}"] = pd.arrays.IntegerArray(said[:, place].astype(np.int64), audit < 0)
    columns["audit"] = np.array([*(plan.name for plan in setting.audits), ""], dtype=object)[audit]
    columns["probability"] = probability
    return pd.DataFrame(columns)


def _check(setting: PanelSetting) -> None:
    """Raise one `InputError` for everything that is wrong with a setting."""
    n_arms, rates = len(setting.arms), [*setting.prevalence, *setting.fpr, *setting.fnr]
    for rater in setting.raters:
        rates += [*np.ravel(rater.fpr), *np.ravel(rater.fnr)]
    lengths = {len(setting.prevalence), len(setting.fpr), len(setting.fnr)}
    lengths |= {np.size(rate) for rater in setting.raters for rate in (rater.fpr, rater.fnr)} - {1}
    shares = (setting.key_share, setting.arm_key_share)
    wrong = {
        "prevalence, fpr, fnr and raters need one rate an arm": lengths != {n_arms} or not n_arms,
        "prevalences and error rates lie between 0 and 1, both excluded": not all(0 < rate < 1 for rate in rates),
        "key_share and arm_key_share are not negative and sum to 1 at most": min(shares) < 0 or sum(shares) > 1,
        "dependence lies between 0 and 1, 1 excluded": not all(0 <= rho < 1 for rho in setting.dependence),
        "route shares sum to 1": abs(sum(route.share for route in setting.routes) - 1) > 1e-9,
        "there is at least one model and one key": min(setting.n_models, setting.n_keys) < 1,
    }
    found = [(None, message) for message, is_wrong in wrong.items() if is_wrong]
    if found:
        raise InputError("simulate", "no panel can be drawn from this setting", found)


_REPRESENTATIVE = PanelSetting(
    arms=("Neutral", "Authority", "Spontaneous", "Soft cue", "Confidence", "Existence"),
    prevalence=(23 / 48, 28 / 48, 27 / 48, 9 / 48, 20 / 48, 17 / 48),
    fpr=(1 / 25, 1 / 20, 7 / 21, 1 / 39, 5 / 28, 3 / 31),
    fnr=(0.02, 0.02, 0.02, 0.10, 0.02, 0.06),
)
_ROUTES = (Route("heuristic", 0.7), Route("judge", 0.3, prevalence=0.3, fpr=0.6, fnr=0.3))
PRESETS: Mapping[str, PanelSetting] = MappingProxyType(
    {
        "representative": _REPRESENTATIVE,
        "stress": replace(_REPRESENTATIVE, audits=(AuditPlan("stress", "stress", ratio=4),)),
        "routed": replace(_REPRESENTATIVE, routes=_ROUTES),
        "outlier": replace(_REPRESENTATIVE, fpr=(1 / 25, 1 / 20, 7 / 21, 1 / 39, 1 / 20, 1 / 20)),
        "model_errors": replace(_REPRESENTATIVE, error_model_sd=0.3, error_arm_model_sd=0.5),
    }
)
