"""Fit a study's model cards and keep each posterior on disk."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr

    from drift.data.cells import Cells
    from drift.data.declaration import Coding, Study
    from drift.data.ratings import Ratings
    from drift.inference.compiled import Compiled
    from drift.inference.sampling import Settings
    from drift.inference.store import Inputs
    from drift.models.cards import Card
    from drift.models.frame import Frame

EXAMPLE = """\
examples:
  python -m drift.fit frontier-ratings
  python -m drift.fit my-study/study.toml --model ordinal-interaction --draws 2000

exit status: 0 every check passed, 1 saved but a check failed (no conclusion is drawn), 2 bad input (nothing written)
"""


@dataclass(frozen=True)
class Job:
    """One card of a study, ready to be drawn from: nothing about it can be refused any more."""

    study: Study
    card: Card
    data: Ratings | Cells
    frame: Frame
    settings: Settings
    inputs: Inputs
    path: Path


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(
        "drift fit", description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("study", help="a bundled study's name, or the path of a study file (TOML)")
    arguments.add_argument(
        "--model",
        action="append",
        metavar="CARD",
        help="a model card; repeat for several (default: those that the study names)",
    )
    arguments.add_argument(
        "--out",
        type=Path,
        default=Path("posteriors"),
        metavar="FOLDER",
        help="where posteriors are kept (default: posteriors)",
    )
    arguments.add_argument("--replace", action="store_true", help="overwrite a posterior of other inputs")
    arguments.add_argument(
        "--draws",
        type=_at_least(4),
        help="draws kept in each chain (default: 1000, or 2000 for fewer than 5,000 rows or more than 500 effects)",
    )
    arguments.add_argument("--tune", type=_at_least(50), help="draws in which each chain adapts (default: 400)")
    arguments.add_argument("--chains", type=_at_least(2), help="number of chains (default: 4)")
    arguments.add_argument(
        "--target-accept",
        type=_share,
        help="acceptance rate aimed at, between 0 and 1 (default: 0.8, or 0.95 for fewer than 5,000 rows)",
    )
    arguments.add_argument("--quiet", action="store_true", help="no progress bar")
    arguments.add_argument("--json", action="store_true", help="print the conclusions as JSON")
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    from drift.command import run

    return run(lambda: fit(options))


def fit(options: argparse.Namespace) -> int:
    """Fit every card of the study; print the conclusions of each. Returns the exit status.

    Everything that can be refused is refused before the first draw. Where responses were refused, each card is fitted
    under the declared coding and under the other one.
    """
    from drift.conclude import show
    from drift.data.bundled import find_study
    from drift.data.study import read_study

    study = read_study(find_study(options.study))
    cards = read_cards(study, options.model)
    declared, *beside = codings(study)
    data = read_data(declared)
    jobs = [_prepare(declared, card, data, options) for card in cards]
    for other in beside:
        jobs += _beside(other, cards, options)
    trees = [_fit_one(job, show_progress=not options.quiet and sys.stderr.isatty()) for job in jobs]
    return show(trees, as_json=options.json)


def _beside(other: Study, cards: Sequence[Card], options: argparse.Namespace) -> list[Job]:
    """The same cards with refusals coded the other way; where that cannot be fitted, it is said and left at that."""
    from drift.errors import InputError

    try:
        data = read_data(other)
        return [_prepare(other, card, data, options) for card in cards]
    except InputError as error:
        say(f"refusals coded the other way cannot be fitted beside: {error}")
        return []


def read_cards(study: Study, names: Sequence[str] | None) -> list[Card]:
    """The cards asked for, or those of the study. Raises `StudyFileError` for a left-out term that none of them has."""
    from drift.errors import StudyFileError
    from drift.models.cards import read_card

    cards = [read_card(name, study.path.parent) for name in names or study.models]
    known = {term for card in cards for term in card.terms}
    unknown = [term for term in study.leave_out if term not in known]
    if unknown:
        raise StudyFileError(
            study.path.name, f"[design] leave_out has {', '.join(unknown)}, which no card of this fit has"
        )
    return cards


def read_data(study: Study) -> Ratings | Cells:
    from drift.data.cells import read_cells
    from drift.data.ratings import read_ratings

    return read_cells(study) if study.kind == "cells" else read_ratings(study)


def codings(study: Study) -> list[Study]:
    """The study as declared, and where its data hold refusals the same with them coded the other way."""
    if study.refusals is None or not _has_refusals(study):
        return [study]
    other: Coding = "missing" if study.refusals.coding == "lowest" else "lowest"
    return [study, replace(study, refusals=replace(study.refusals, coding=other))]


def _has_refusals(study: Study) -> bool:
    from drift.data.ratings import Ratings

    data = read_data(study)
    return isinstance(data, Ratings) and bool(data.refused.any() or data.dropped["refused"])


def _settings(data: Ratings | Cells, terms: Sequence[str], options: argparse.Namespace) -> Settings:
    from drift.inference.sampling import Settings

    n_effects = sum(math.prod(len(data.levels[factor]) for factor in term.split(":")) for term in ("model", *terms))
    given = {name: getattr(options, name) for name in ("draws", "tune", "chains", "target_accept")}
    return replace(
        Settings.suited_to(n_effects, data.n_rows),
        **{name: value for name, value in given.items() if value is not None},
    )


def _prepare(study: Study, card: Card, data: Ratings | Cells, options: argparse.Namespace) -> Job:
    """Everything that can be refused: data of the other kind, terms not identified, a file in the way."""
    from drift.data.cells import Cells, cells_from_ratings
    from drift.data.design import check_design
    from drift.data.study import parse_study
    from drift.errors import StudyFileError, UnidentifiedTermError
    from drift.inference.store import Inputs, posterior_path, refuse_other_inputs, refuse_unwritable
    from drift.models.frame import cells_frame, ratings_frame

    if card.kind == "ratings" and isinstance(data, Cells):
        raise StudyFileError(
            study.path.name, f"card {card.name} needs ratings, and this study has cell means: use cell-means"
        )
    if card.kind == "cells" and "question" not in data.levels:
        raise UnidentifiedTermError(
            data.source, f"card {card.name} needs a question column: a cell is a model x question"
        )
    own = replace(study, leave_out=tuple(term for term in study.leave_out if term in card.terms))
    used = cells_from_ratings(data) if card.kind == "cells" and not isinstance(data, Cells) else data
    terms = check_design(used, card.terms, own)
    _check_priors(study, card, terms)
    settings = _settings(used, terms, options)
    inputs = Inputs(
        study=study.name,
        title=study.title,
        study_toml=study.text,
        study_digest=study.digest,
        data_source=data.source,
        data_digest=data.digest,
        simulated=study.simulated,
        card=card.name,
        card_text=card.text,
        card_digest=card.digest,
        terms=terms,
        left_out=own.leave_out,
        refusals=study.refusals.coding if study.refusals else "",
        beside=study.refusals != parse_study(study.text, study.path).refusals,
        seed=study.seed,
        settings=settings.as_dict(),
    )
    path = posterior_path(options.out, inputs)
    refuse_unwritable(path.parent)
    refuse_other_inputs(path, inputs, replace=options.replace)
    frame = cells_frame(used, terms) if isinstance(used, Cells) else ratings_frame(used, terms)
    return Job(study, card, used, frame, settings, inputs, path)


def _check_priors(study: Study, card: Card, terms: Sequence[str]) -> None:
    """Refuse priors that the card's builder does not have, and a spread fixed that the target asks about."""
    from drift.errors import CardFileError

    if not card.priors:  # of a bundled card; `default_priors` imports PyMC, which takes seconds
        return
    from drift.models.cards import default_priors

    default_priors(card)
    asked = {"question": study.target.questions, "participant": study.target.participants, "model:question": "new"}
    for term in terms:
        name = f"sd_{term.replace(':', '_')}"
        if asked.get(term) == "new" and "fixed" in card.priors.get(name, {}):
            raise CardFileError(
                f"{card.name}.md",
                f"[priors] {name} is fixed, so nothing is learned about a new {term.replace(':', ' x ')}",
                advice="write {half_normal = 1.0}" + ("" if ":" in term else f', or [target] {term}s = "these"'),
            )


def _fit_one(job: Job, *, show_progress: bool) -> xr.DataTree:
    """Compile, draw, check, store."""
    import nutpie  # noqa: F401  # takes seconds, which are no sampling time

    from drift.inference.diagnostics import checks_made
    from drift.inference.sampling import sample
    from drift.inference.store import assemble, write_posterior

    label = " (SIMULATED)" if job.study.simulated else ""
    beside = f", refusals {job.inputs.refusals} beside" if job.inputs.beside else ""
    say(f"{job.study.name}, card {job.card.name}{beside}: {job.data.n_rows:,} {job.card.kind}{label}")
    compiled = _compiled(job)
    start = time.perf_counter()
    settings, data = job.settings, job.data.to_dataset()
    draws = sample(compiled, job.frame.arrays, job.frame.coords, settings, job.study.seed, progress=show_progress)
    say(f"  {settings.chains} chains x {settings.draws} draws in {time.perf_counter() - start:.1f} s")
    unchecked = assemble(draws, data, job.inputs, [])
    checks = checks_made(unchecked, _estimands(unchecked, job.study))
    tree = assemble(draws, data, job.inputs, [check.as_dict() for check in checks])
    write_posterior(tree, job.path)
    say(f"  {job.path} ({job.path.stat().st_size / 1e6:.1f} MB)")
    return tree


def _compiled(job: Job) -> Compiled:
    from drift.inference.compiled import compile_model, structure_key
    from drift.models.cards import build_model

    start = time.perf_counter()
    key = structure_key({"card": job.card.digest, **job.frame.structure()})
    compiled = compile_model(lambda: build_model(job.card, job.frame), key)
    say(f"  compiled in {time.perf_counter() - start:.1f} s{' (from the cache)' if compiled.from_cache else ''}")
    return compiled


def _estimands(tree: xr.DataTree, study: Study) -> dict[str, xr.DataArray]:
    """The estimands that conclusions rest on, for the convergence checks."""
    from drift.estimands import deviation

    found = {"deviation by model": deviation(tree, study.target)}
    if "domain" in tree["constant_data"].coords:
        found["deviation by model and domain"] = deviation(tree, study.target, by="model_domain")
    return found


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _at_least(least: int) -> Any:
    def whole(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is below {least}")
        return value

    return whole


def _share(text: str) -> float:
    value = float(text)
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


if __name__ == "__main__":
    raise SystemExit(main())
