"""Posterior files of scorer studies, made without a sampler: labels are simulated, draws are given or jittered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from drift.data.labels import Labels
from drift.data.patterns import collapse

FACTORS = ("arm", "model", "stratum", "population", "key")
N_PRIOR = 500


@dataclass(frozen=True)
class Simulated:
    """Labels that were simulated, and the truth of each row, which no file holds."""

    labels: Labels
    truth: np.ndarray


def labels_of(
    scorer: Sequence[int],
    rating: Any = None,
    *,
    seed: int = 0,
    raters: Sequence[str] | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    target: int = 0,
    audit: Sequence[int] | None = None,
    inclusion: Sequence[float] | None = None,
    **codes: Sequence[int],
) -> Labels:
    """Labels written out row by row. `codes`: arm, model, stratum, population, key codes; 0 where left out."""
    n_rows = len(scorer)
    rating = np.full((n_rows, 1), -1) if rating is None else np.asarray(rating).reshape(n_rows, -1)
    coded = {factor: np.asarray(codes.get(factor, np.zeros(n_rows)), np.int64) for factor in FACTORS}
    named = {factor: tuple(f"{factor} {code}" for code in range(values.max() + 1)) for factor, values in coded.items()}
    audited = (rating >= 0).any(axis=1)
    return Labels(
        scorer=np.asarray(scorer, np.int8),
        rating=rating.astype(np.int8),
        codes=coded,
        levels=named | {factor: tuple(names) for factor, names in (levels or {}).items()},
        raters=tuple(raters or (f"rater {rater}" for rater in range(rating.shape[1]))),
        audit=np.where(audited, 0, -1) if audit is None else np.asarray(audit, np.int64),
        audits=("audit",),
        inclusion=np.full(n_rows, np.nan) if inclusion is None else np.asarray(inclusion, float),
        line=np.arange(2, n_rows + 2),
        source="simulated",
        digest=str(seed),
        dropped={},
        target=target,
        unrated={},
    )


def simulate_labels(
    prevalence: Sequence[float] = (0.3, 0.5),
    fpr: Sequence[float] = (0.1, 0.2),
    fnr: Sequence[float] = (0.1, 0.15),
    *,
    n_models: int = 2,
    n_keys: int = 30,
    n_strata: int = 1,
    n_raters: int = 2,
    rater_error: float = 0.02,
    n_audited: int = 20,
    n_populations: int = 1,
    seed: int = 1,
) -> Simulated:
    """Every key in every arm (one an entry of `prevalence`), model and population, in a stratum drawn at random.

    The first raters label `n_audited` rows of each arm and population, chosen at random.
    """
    rng = np.random.default_rng(seed)
    grid = np.indices((n_populations, len(prevalence), n_models, n_keys)).reshape(4, -1)
    population, arm, model, key = grid
    truth = (rng.random(arm.size) < np.asarray(prevalence)[arm]).astype(int)
    wrong = rng.random(arm.size) < np.where(truth, np.asarray(fnr)[arm], np.asarray(fpr)[arm])
    audited = np.zeros(arm.size, bool)
    for side in np.unique(population * len(prevalence) + arm):
        rows = np.flatnonzero(population * len(prevalence) + arm == side)
        audited[rng.choice(rows, min(n_audited, len(rows)), replace=False)] = True
    missed = rng.random((arm.size, n_raters)) < rater_error
    rating = np.where(audited[:, None], truth[:, None] ^ missed, -1)
    stratum = rng.integers(0, n_strata, arm.size)
    codes = {"arm": arm, "model": model, "stratum": stratum, "population": population, "key": key}
    raters = [f"rater {rater}" for rater in range(n_raters)]
    return Simulated(labels_of(truth ^ wrong, rating, seed=seed, raters=raters, **codes), truth)


def jittered(
    labels: Labels,
    prevalence: Sequence[float] = (0.3, 0.5),
    fpr: Sequence[float] = (0.1, 0.2),
    fnr: Sequence[float] = (0.1, 0.15),
    *,
    rater_error: float = 0.02,
    spread: float = 0.2,
    n_draws: int = 200,
    n_chains: int = 2,
    seed: int = 2,
) -> dict[str, np.ndarray]:
    """Draws (chain, draw, ...) around values by arm: jittered by `spread` logits, cell by cell."""
    rng, patterns = np.random.default_rng(seed), collapse(labels)
    shape = (n_chains, n_draws)

    def around(value):
        value = np.broadcast_to(value, (*shape, *np.shape(value)))
        return 1.0 / (1.0 + np.exp(-(np.log(value / (1.0 - value)) + spread * rng.normal(size=value.shape))))

    arm = patterns.cell_arm
    by_cell = {"prevalence": prevalence, "fpr": fpr, "fnr": fnr}
    found = {name: around(np.asarray(values, float)[arm]) for name, values in by_cell.items()}
    raters = np.full((len(labels.levels["arm"]), len(labels.raters)), rater_error)
    return found | {"rater_fpr": around(raters), "rater_fnr": around(raters)}


def scorer_tree(
    labels: Labels,
    draws: Mapping[str, Any],
    *,
    prior: Mapping[str, Any] | None = None,
    reference: str | None = None,
    variants: Mapping[str, tuple[Labels, Mapping[str, Any], str | None]] | None = None,
    shares: Sequence[int] | None = None,
    seed: int = 5,
    **attrs: Any,
) -> xr.DataTree:
    """A posterior file of labels and draws (chain, draw, ...): prevalence, fpr, fnr, rater_fpr, rater_fnr, ...

    `variants`: name -> (labels, draws, reference rater). `prior`: draws (1, draw, ...); drawn from uniform
    probabilities (raters: below .1) where none are given.
    """
    groups = {
        "posterior": _sample(draws),
        "prior": _sample(prior if prior is not None else _uniform(labels)),
        "constant_data": labels.to_dataset().merge(_patterns(labels, reference, shares)).drop_vars("pattern_count"),
        "observed_data": _patterns(labels, reference, None)[["pattern_count"]],
    }
    for name, (other, sample, truth) in (variants or {}).items():
        flat = _sample(sample).merge(_patterns(other, truth, shares))
        groups[f"variants/{name}"] = flat.drop_vars([f for f in flat if str(f).startswith("cell_")])
        groups[f"variants/{name}"].attrs = {"title": f"variant {name}", "checks_passed": "true"}
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {"kind": "labels", "seed": seed, "study": "simulated", "simulated": "true", "study_toml": ""} | attrs
    return tree


DIMS = {"rater_fpr": ("arm", "rater"), "rater_fnr": ("arm", "rater"), "dependence": ("truth",)}


def _sample(draws: Mapping[str, Any]) -> xr.Dataset:
    return xr.Dataset(
        {name: (("chain", "draw", *DIMS.get(name, ("cell",))), np.asarray(value)) for name, value in draws.items()}
    )


def _patterns(labels: Labels, reference: str | None, shares: Sequence[int] | None) -> xr.Dataset:
    found = collapse(labels).to_dataset()
    found["reference"] = ("rater", np.array([rater == reference for rater in labels.raters], np.int8))
    return found if shares is None else found.assign(shares=("test", np.array(shares, np.int8)))


def _uniform(labels: Labels) -> dict[str, np.ndarray]:
    rng, n_cells = np.random.default_rng(0), collapse(labels).n_cells
    raters = (1, N_PRIOR, len(labels.levels["arm"]), len(labels.raters))
    found = {name: rng.random((1, N_PRIOR, n_cells)) for name in ("prevalence", "fpr", "fnr")}
    return found | {name: 0.1 * rng.random(raters) for name in ("rater_fpr", "rater_fnr")}
