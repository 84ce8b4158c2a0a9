"""One card of a study, ready to be drawn from: compile, draw, check, store."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

if TYPE_CHECKING:
    from drift.inference.compiled import Compiled
    from drift.inference.diagnostics import Check
    from drift.inference.sampling import Settings
    from drift.inference.store import Inputs
    from drift.models.cards import Card
    from drift.models.frame import Frame

VARIANT_DRAWS = 500  # of each chain that are kept of a variant: a row beside the main result, not a result
Estimands = Callable[[xr.DataTree], Mapping[str, xr.DataArray]]
Predictive = Callable[[xr.DataTree], Mapping[str, float]]


@dataclass(frozen=True)
class Options:
    """What a user may ask of a fit besides its study: None leaves it to the data."""

    cards: tuple[str, ...] = ()
    out: Path = Path("posteriors")
    replace: bool = False
    draws: int | None = None
    tune: int | None = None
    chains: int | None = None
    target_accept: float | None = None

    def settings(self, suited: Settings) -> Settings:
        """The settings that suit the data, with those that were asked for."""
        given = {name: getattr(self, name) for name in ("draws", "tune", "chains", "target_accept")}
        return replace(suited, **{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True)
class Variant:
    """The same study under another assumption, fitted beside: `title` says which; `data` is stored with its draws."""

    name: str
    title: str
    card: Card
    frame: Frame
    data: xr.Dataset


@dataclass(frozen=True)
class Job:
    """Nothing about it can be refused any more.

    heading: printed before it is drawn. data: what is stored beside the draws. estimands: what conclusions rest on,
    for the convergence checks. prior: draws of the reported variables before the data, where they are kept.
    predictive: posterior predictive p by name of the check, where there are such checks.
    """

    heading: str
    card: Card
    frame: Frame
    settings: Settings
    inputs: Inputs
    path: Path
    data: xr.Dataset
    estimands: Estimands
    prior: xr.Dataset | None = None
    variants: tuple[Variant, ...] = field(default=())
    predictive: Predictive | None = None


def run_job(job: Job, *, show_progress: bool) -> xr.DataTree:
    """Compile, draw, check, store. Returns the tree as it was stored."""
    import nutpie  # noqa: F401  # takes seconds, which are no sampling time

    from drift.inference.store import assemble, write_posterior

    say(job.heading)
    draws = _draw(job.card, job.frame, job, show_progress=show_progress)
    unchecked = assemble(draws, job.data, job.inputs, [])
    checks = _checked(unchecked, job)
    beside = {} if job.prior is None else {"prior": job.prior}
    for variant in job.variants:
        beside[f"variants/{variant.name}"] = _variant(variant, job, show_progress=show_progress)
    tree = assemble(draws, job.data, job.inputs, [check.as_dict() for check in checks], beside)
    if job.predictive is not None:
        tree.attrs["predictive"] = json.dumps(dict(job.predictive(tree)))
    write_posterior(tree, job.path)
    say(f"  {job.path} ({job.path.stat().st_size / 1e6:.1f} MB)")
    return tree


def _checked(tree: xr.DataTree, job: Job) -> tuple[Check, ...]:
    from drift.inference.diagnostics import checks_made

    return checks_made(tree, job.estimands(tree))


def _variant(variant: Variant, job: Job, *, show_progress: bool) -> xr.Dataset:
    """One flat dataset: what the variant reports, the data that differ, its title and whether its checks passed."""
    from drift.inference.diagnostics import checks_made, passed
    from drift.inference.store import assemble

    say(f"  beside: {variant.title}")
    draws = _draw(variant.card, variant.frame, job, show_progress=show_progress)
    tree = assemble(draws, job.data, job.inputs, [])
    checks = checks_made(tree, job.estimands(tree))
    posterior = tree["posterior"].to_dataset()
    kept = posterior[[name for name in posterior.data_vars if not str(name).startswith("sd_")]]
    kept = kept.isel(draw=slice(None, None, max(1, kept.sizes["draw"] // VARIANT_DRAWS)))
    found = kept.merge(variant.data)
    listed = json.dumps([check.as_dict() for check in checks])
    return found.assign_attrs(title=variant.title, checks=listed, checks_passed=str(passed(checks)).lower())


def _draw(card: Card, frame: Frame, job: Job, *, show_progress: bool) -> xr.DataTree:
    from drift.inference.sampling import sample

    compiled = _compiled(card, frame)
    start = time.perf_counter()
    settings = job.settings
    draws = sample(compiled, frame.arrays, frame.coords, settings, job.inputs.seed, progress=show_progress)
    say(f"  {settings.chains} chains x {settings.draws} draws in {time.perf_counter() - start:.1f} s")
    return draws


def _compiled(card: Card, frame: Frame) -> Compiled:
    from drift.inference.compiled import compile_model, structure_key
    from drift.models.cards import build_model

    start = time.perf_counter()
    key = structure_key({"card": card.digest, **frame.structure()})
    compiled = compile_model(lambda: build_model(card, frame), key)
    say(f"  compiled in {time.perf_counter() - start:.1f} s{' (from the cache)' if compiled.from_cache else ''}")
    return compiled


def inputs_of(study: Any, card: Card, settings: Settings, **others: Any) -> Inputs:
    """What the posterior of a study and a card is of. study: a declaration of ratings or of labels."""
    from drift.inference.store import Inputs

    return Inputs(
        study=study.name,
        title=study.title,
        study_toml=study.text,
        study_digest=study.digest,
        simulated=study.simulated,
        card=card.name,
        card_text=card.text,
        card_digest=card.digest,
        seed=study.seed,
        settings=settings.as_dict(),
        **others,
    )


def reserved_path(inputs: Inputs, options: Options) -> Path:
    """Where the posterior will lie. Raises where it cannot be written, or would take the place of another."""
    from drift.inference.store import posterior_path, refuse_other_inputs, refuse_unwritable

    path = posterior_path(options.out, inputs)
    refuse_unwritable(path.parent)
    refuse_other_inputs(path, inputs, replace=options.replace)
    return path


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
