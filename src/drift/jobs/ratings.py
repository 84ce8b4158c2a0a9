"""The cards of a study of ratings or of cell means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from drift.jobs.job import Job, Options, inputs_of, reserved_path, say

if TYPE_CHECKING:
    import xarray as xr

    from drift.data.cells import Cells
    from drift.data.declaration import Coding, Study
    from drift.data.ratings import Ratings
    from drift.inference.sampling import Settings
    from drift.models.cards import Card


def rating_jobs(study: Study, options: Options) -> list[Job]:
    """Every card of the study; where responses were refused, under the declared coding and under the other one.

    Raises an `InputError` for anything that can be refused, before the first draw.
    """
    cards = _cards(study, options.cards)
    declared, *others = _codings(study)
    data = _read(declared)
    jobs = [_job(declared, card, data, options) for card in cards]
    for other in others:
        jobs += _beside(other, cards, options)
    return jobs


def _beside(other: Study, cards: Sequence[Card], options: Options) -> list[Job]:
    """The same cards with refusals coded the other way; where that cannot be fitted, it is said and left at that."""
    from drift.errors import InputError

    try:
        data = _read(other)
        return [_job(other, card, data, options) for card in cards]
    except InputError as error:
        say(f"refusals coded the other way cannot be fitted beside: {error}")
        return []


def _cards(study: Study, names: Sequence[str]) -> list[Card]:
    """The cards asked for, or those of the study. Raises `StudyFileError` for a left-out term that none of them has."""
    from drift.errors import StudyFileError
    from drift.models.cards import read_card

    cards = [read_card(name, study.path.parent) for name in names or study.models]
    for card in cards:
        if card.kind == "labels":
            raise StudyFileError(
                study.path.name, f"card {card.name} needs an automatic scorer's labels, and this study has ratings"
            )
    known = {term for card in cards for term in card.terms}
    unknown = [term for term in study.leave_out if term not in known]
    if unknown:
        raise StudyFileError(
            study.path.name, f"[design] leave_out has {', '.join(unknown)}, which no card of this fit has"
        )
    return cards


def _read(study: Study) -> Ratings | Cells:
    from drift.data.cells import read_cells
    from drift.data.ratings import read_ratings

    return read_cells(study) if study.kind == "cells" else read_ratings(study)


def _codings(study: Study) -> list[Study]:
    """The study as declared, and where its data hold refusals the same with them coded the other way."""
    if study.refusals is None or not _has_refusals(study):
        return [study]
    other: Coding = "missing" if study.refusals.coding == "lowest" else "lowest"
    return [study, replace(study, refusals=replace(study.refusals, coding=other))]


def _has_refusals(study: Study) -> bool:
    from drift.data.ratings import Ratings

    data = _read(study)
    return isinstance(data, Ratings) and bool(data.refused.any() or data.dropped["refused"])


def _suited(data: Ratings | Cells, terms: Sequence[str]) -> Settings:
    from drift.inference.sampling import Settings

    n_effects = sum(math.prod(len(data.levels[factor]) for factor in term.split(":")) for term in ("model", *terms))
    return Settings.suited_to(n_effects, data.n_rows)


def _job(study: Study, card: Card, data: Ratings | Cells, options: Options) -> Job:
    """Refuses data of the other kind, terms not identified, a file in the way."""
    from drift.data.cells import Cells, cells_from_ratings
    from drift.data.design import check_design
    from drift.data.study import parse_study
    from drift.errors import StudyFileError, UnidentifiedTermError
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
    settings = options.settings(_suited(used, terms))
    inputs = inputs_of(
        study,
        card,
        settings,
        data_source=data.source,
        data_digest=data.digest,
        kind=card.kind,
        terms=terms,
        left_out=own.leave_out,
        refusals=study.refusals.coding if study.refusals else "",
        other_coding=study.refusals != parse_study(study.text, study.path).refusals,
    )
    path = reserved_path(inputs, options)
    label = " (SIMULATED)" if study.simulated else ""
    beside = f", refusals {inputs.refusals} beside" if inputs.other_coding else ""
    return Job(
        heading=f"{study.name}, card {card.name}{beside}: {used.n_rows:,} {card.kind}{label}",
        card=card,
        frame=cells_frame(used, terms) if isinstance(used, Cells) else ratings_frame(used, terms),
        settings=settings,
        inputs=inputs,
        path=path,
        data=used.to_dataset(),
        estimands=partial(_estimands, study=study),
    )


def _check_priors(study: Study, card: Card, terms: Sequence[str]) -> None:
    """Refuse priors that the card's builder does not have, and a spread fixed that the target asks about."""
    from drift.errors import CardFileError
    from drift.models.cards import default_priors

    if not card.priors:  # of a bundled card; `default_priors` imports PyMC, which takes seconds
        return
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


def _estimands(tree: xr.DataTree, study: Study) -> dict[str, xr.DataArray]:
    """Deviations, their pairwise differences and the declared contrasts, for these and for new questions."""
    from drift.estimands import contrast_draws, deviation, pair_differences

    found = {}
    for questions in ("these", "new") if "question" in tree["constant_data"].coords else (study.target.questions,):
        target, of = replace(study.target, questions=questions), f"({questions} questions)"
        by_model = deviation(tree, target)
        found[f"deviation by model {of}"] = by_model
        if by_model.sizes["model"] > 1:
            found[f"difference of models {of}"] = pair_differences(by_model)
        if "domain" in tree["constant_data"].coords:
            found[f"deviation by model and domain {of}"] = deviation(tree, target, by="model_domain")
        if study.contrasts:
            found[f"contrast {of}"] = contrast_draws(tree, target, study.contrasts)["difference"]
    return found
