"""Draws from a compiled model, by nutpie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from drift.inference.compiled import Compiled, pack

FEW_ROWS = 5000  # below it draws are cheap, and spreads that may be near 0 need more of them and smaller steps
MANY_QUANTITIES = 500  # above it more draws, smaller steps: the worst R-hat of many is the largest of much noise


@dataclass(frozen=True)
class Settings:
    """How a posterior is drawn: draws kept and draws of adaptation in each chain, and what nutpie's NUTS is told."""

    draws: int = 1000
    tune: int = 400
    chains: int = 4
    target_accept: float = 0.8
    max_tree_depth: int = 10

    @classmethod
    def suited_to(cls, n_quantities: int, n_rows: int) -> Settings:
        """Defaults for a posterior of that many quantities from that many rows."""
        if n_rows < FEW_ROWS:
            return cls(draws=2000, target_accept=0.95)
        return cls(draws=2000, target_accept=0.9) if n_quantities > MANY_QUANTITIES else cls()

    @classmethod
    def for_labels(cls) -> Settings:
        """Defaults for label patterns, where a step costs next to nothing and error rates are weakly identified."""
        return cls(draws=2000, tune=600, target_accept=0.95)

    def as_dict(self) -> dict[str, int | float]:
        return asdict(self)


def sample(
    compiled: Compiled,
    data: Mapping[str, NDArray[Any]],
    coords: Mapping[str, NDArray[Any]],
    settings: Settings,
    seed: int,
    cores: int | None = None,
    progress: bool = True,
) -> xr.DataTree:
    """Posterior draws: a DataTree with groups `posterior` and `sample_stats` (chain, draw, ...).

    data: the arrays that the model names with `pm.Data`. coords: level names by dimension. The progress bar goes to
    standard error. The same seed gives the same draws on the same machine, on any number of cores. An interrupt
    ends the chains and is raised again: no partial posterior leaves this function.
    """
    import nutpie

    model = _nutpie_model(compiled, pack(data, compiled.inputs), coords)
    sampler = nutpie.sample(
        model,
        draws=settings.draws,
        tune=settings.tune,
        chains=settings.chains,
        cores=cores,
        seed=seed,
        target_accept=settings.target_accept,
        maxdepth=settings.max_tree_depth,
        save_warmup=False,
        progress_bar=progress,
        blocking=False,
    )
    try:
        trace = sampler.wait()
    except BaseException:
        sampler.cancel()
        raise
    return xr.DataTree.from_dict({name: trace[name].to_dataset() for name in ("posterior", "sample_stats")})


def _nutpie_model(compiled: Compiled, words: NDArray[np.int64], coords: Mapping[str, NDArray[Any]]) -> Any:
    from nutpie.compile_pymc import CompiledPyMCModel

    names = [name for name, _, _ in compiled.variables]
    shapes = [shape for _, shape, _ in compiled.variables]
    return CompiledPyMCModel(
        dims={name: dims for name, _, dims in compiled.variables if dims},
        reparameterized_names=[],
        compiled_logp_func=compiled.log_density,
        compiled_expand_func=compiled.expand,
        initial_point_func=lambda seed: _start(compiled.center, seed),
        shared_data={},
        shared_var_keys={},
        user_data=words,
        n_expanded=compiled.n_expanded,
        shape_info=(names, None, shapes),
        logp_func=None,
        expand_func=None,
        _n_dim=compiled.center.size,
        _shapes=dict(zip(names, shapes, strict=True)),
        _coords={name: pd.Index(levels) for name, levels in coords.items()},
    )


def _start(center: NDArray[np.float64], seed: int | None) -> NDArray[np.float64]:
    """A chain's first point: uniform within 1 of the centre on the unconstrained scale, as PyMC jitters."""
    return center + np.random.default_rng(seed).uniform(-1.0, 1.0, center.size)
