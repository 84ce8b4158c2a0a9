"""The models that the benchmark runs: ours, and the same data through what users would otherwise reach for."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from drift.data.bundled import find_study
from drift.data.declaration import Study
from drift.data.ratings import Ratings, read_ratings
from drift.data.simulate import simulate
from drift.data.study import parse_study, read_study
from drift.inference.compiled import Compiled, compile_model, pack, structure_key
from drift.inference.sampling import Settings, sample
from drift.models.cards import build_model, read_card
from drift.models.frame import Frame, ratings_frame

SEED = 20260724
C_DENSITY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *[ctypes.c_void_p] * 4)


def bundled() -> Ratings:
    """The 29,140 SIMULATED ratings of frontier-ratings."""
    return read_ratings(read_study(find_study("frontier-ratings")))


def larger(times: int, folder: Path) -> Ratings:
    """SIMULATED ratings of `times` as many participants (recipe Radd, normal effects)."""
    found = simulate("Radd", 47 * times, 62, 10, SEED, effects="normal")
    found.table.to_csv(folder / "ratings.csv", index=False)
    return read_ratings(_study(folder))


def _study(folder: Path) -> Study:
    from drift.simulate import STUDY

    return parse_study(STUDY.format(recipe="Radd", seed=SEED), folder / "study.toml")


def our_frame(ratings: Ratings, centred: frozenset[str] | None = None) -> Frame:
    frame = ratings_frame(ratings, read_card("ordinal").terms)
    return frame if centred is None else replace(frame, centred=centred)


def our_model(frame: Frame) -> Compiled:
    card = read_card("ordinal")
    return compile_model(lambda: build_model(card, frame), structure_key({"card": card.digest, **frame.structure()}))


def our_draws(compiled: Compiled, frame: Frame, settings: Settings) -> xr.Dataset:
    tree = sample(compiled, frame.arrays, frame.coords, settings, SEED, progress=False)
    return tree["posterior"].to_dataset().assign_attrs(steps=int(tree["sample_stats"]["n_steps"].sum()))


def our_gradient(compiled: Compiled, frame: Frame) -> float:
    """Microseconds of one log density with its gradient, one thread."""
    return gradient_time(compiled.log_density.address, compiled.center, pack(frame.arrays, compiled.inputs))


def stock_model(ratings: Ratings) -> Any:
    """The card `ordinal`, priors and zero-sum effects alike, with `pm.OrderedLogistic` and effects indexed by row."""
    import pymc as pm

    from drift.models import effects
    from drift.models.ordinal import OrdinalPriors

    frame, priors, code = our_frame(ratings), OrdinalPriors(), ratings.codes
    with pm.Model(coords=frame.coords) as model:
        effects.declare(frame)
        cutpoints = effects.induced_dirichlet("cutpoints", priors.label, dims=("cutpoint", "label"))
        eta = (
            effects.levels(frame, "model", sd=priors.sd_model)[code["model"]]
            + effects.levels(frame, "domain", sd=priors.sd_domain)[code["domain"]]
            + effects.levels(frame, "model", "domain", sd=priors.sd_model_domain)[code["model"], code["domain"]]
            + effects.levels(frame, "question", sd=priors.sd_question)[code["question"]]
            + effects.levels(frame, "participant", sd=priors.sd_participant)[code["participant"]]
        )
        pm.OrderedLogistic("rating", eta=eta, cutpoints=cutpoints, compute_p=False, observed=ratings.rating)
    return model


def stock_gradient(compiled: Any) -> float:
    """Microseconds of one log density with its gradient, one thread, of a model that nutpie compiled."""
    return gradient_time(compiled.compiled_logp_func.address, np.zeros(compiled.n_dim), compiled.user_data)


def gradient_time(
    address: int, center: np.ndarray[Any, Any], data: np.ndarray[Any, Any], seconds: float = 2.0
) -> float:
    """The least of five rounds; all rounds at one point near the centre."""
    density = C_DENSITY(address)
    point = center + 0.1 * np.random.default_rng(SEED).normal(size=center.size)
    out, value = np.empty(center.size), np.empty(1)
    call = lambda: density(center.size, point.ctypes.data, out.ctypes.data, value.ctypes.data, data.ctypes.data)  # noqa: E731
    assert call() == 0
    n_calls = max(3, int(seconds / 5 / _seconds(call, 3)))
    return 1e6 * min(_seconds(call, n_calls) for _ in range(5))


def _seconds(call: Callable[[], Any], n_calls: int) -> float:
    start = time.perf_counter()
    for _ in range(n_calls):
        call()
    return (time.perf_counter() - start) / n_calls


def nutpie_draws(compiled: Any, draws: int, tune: int, chains: int) -> xr.Dataset:
    import nutpie

    trace = nutpie.sample(
        compiled, draws=draws, tune=tune, chains=chains, seed=SEED, progress_bar=False, save_warmup=False
    )
    return trace["posterior"].to_dataset().assign_attrs(steps=int(trace["sample_stats"]["n_steps"].sum()))


def pymc_draws(model: Any, draws: int, tune: int, chains: int) -> xr.Dataset:
    """PyMC's own NUTS."""
    import pymc as pm

    with model:
        trace = pm.sample(
            draws=draws, tune=tune, chains=chains, cores=2, random_seed=SEED, nuts_sampler="pymc", progressbar=False
        )
    return trace["posterior"].to_dataset().assign_attrs(steps=int(trace["sample_stats"]["n_steps"].sum()))


def bambi_model(ratings: Ratings) -> Any:
    """Bambi's cumulative family with crossed group effects and its own default priors."""
    import bambi as bmb
    import pandas as pd

    table = pd.DataFrame({name: np.array(ratings.levels[name])[code] for name, code in ratings.codes.items()})
    table["score"] = pd.Categorical(ratings.rating, categories=range(ratings.scale.n_labels), ordered=True)
    formula = "score ~ 0 + (1|model) + (1|domain) + (1|model:domain) + (1|question) + (1|participant)"
    model = bmb.Model(formula, table, family="cumulative")
    model.build()
    return model


def bambi_draws(model: Any, draws: int, tune: int, chains: int) -> xr.Dataset:
    """Bambi's default sampler: PyMC's NUTS."""
    trace = model.fit(draws=draws, tune=tune, chains=chains, cores=2, random_seed=SEED, progressbar=False)
    return trace["posterior"].to_dataset().assign_attrs(steps=int(trace["sample_stats"]["n_steps"].sum()))
