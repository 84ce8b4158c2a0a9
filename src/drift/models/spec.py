"""The spec block of a model card, generated: what is sampled, what is reported, and one number that fixes the density.

Same name, same log density: the block gives it at a fixed point on a fixed small data set, so that a card whose model
has changed fails its test until it is regenerated and the change dated. `python -m drift.models.spec` rewrites all.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from drift.data.cells import cells_from_ratings
from drift.data.labels import Labels
from drift.data.ratings import Ratings
from drift.models.cards import Card, build_model, card_folder, card_names, card_priors, default_priors, read_card
from drift.models.frame import Frame, cells_frame, ratings_frame
from drift.models.label_frame import labels_frame
from drift.models.misclassification_ordinal_frame import ordinal_labels_frame, ordinal_reference_labels
from drift.models.misclassification_ordinal_priors import OrdinalScorerPriors
from drift.models.misclassification_ordinal_priors import rater_prior as ordinal_rater_prior
from drift.models.priors import Spread
from drift.models.rater_assumptions import rater_assumptions
from drift.scale import Scale

if TYPE_CHECKING:
    import pymc as pm

BEGIN, END = "<!-- spec -->", "<!-- /spec -->"
SIZES = {"participant": 4, "question": 6, "model": 3, "domain": 2}  # of the fixed data set: 72 crossed ratings
REFERENCE_STEP = 0.3  # the fixed point: the start of the chains plus .3 times the cosine of 1, 2, 3, ...
ORDINAL = "misclassification-ordinal"
DIGITS = 6  # decimals of the log density: builds differ in the tenth


def spec(card: Card) -> str:
    """The block, markers included."""
    frame = reference_frame(card)
    model = build_model(card, frame)
    lines = [
        f"builder `{card.builder}`, fitted to {card.kind}; terms: {', '.join(dict.fromkeys(_terms(card)))}.",
        "",
        "| prior | value |",
        "|---|---|",
        *(f"| `{name}` | {text} |" for name, text in _priors(default_priors(card))),
        "",
        "| sampled | dims | distribution |",
        "|---|---|---|",
        *(f"| `{variable.name}` | {_dims(model, variable)} | {_law(variable)} |" for variable in model.free_RVs),
        "",
        "| reported | dims |",
        "|---|---|",
        *(f"| `{variable.name}` | {_dims(model, variable)} |" for variable in _reported(model)),
        "",
        f"Log density at the reference point: {reference_density(model):.{DIGITS}f}",
    ]
    return "\n".join([BEGIN, *lines, END])


def _terms(card: Card) -> tuple[str, ...]:
    return card.terms if card.kind == "labels" else ("model", *card.terms)


def reference_frame(card: Card) -> Frame:
    """The card's frame on the fixed data set, every term kept."""
    if card.builder == ORDINAL:
        priors = card_priors(card, OrdinalScorerPriors)
        return ordinal_labels_frame(ordinal_reference_labels(), ordinal_rater_prior(priors))
    if card.kind == "labels":
        return labels_frame(_reference_labels(), rater_assumptions(card, _reference_labels(), "rater 1"))
    ratings = _reference_ratings()
    if card.kind == "cells":
        return cells_frame(cells_from_ratings(ratings), card.terms)
    return ratings_frame(ratings, card.terms)


def _reference_ratings() -> Ratings:
    """Five labels by an arithmetic rule; no random numbers, whose streams may change between versions."""
    grid = np.indices((SIZES["participant"], SIZES["question"], SIZES["model"])).reshape(3, -1)
    codes = {"participant": grid[0], "question": grid[1], "model": grid[2], "domain": grid[1] % SIZES["domain"]}
    return Ratings(
        rating=(grid[0] + 2 * grid[1] + 3 * grid[2] + grid[0] * grid[1]) % 5,
        codes=codes,
        levels={factor: tuple(f"{factor} {i + 1}" for i in range(size)) for factor, size in SIZES.items()},
        line=np.arange(2, 2 + grid.shape[1]),
        refused=np.zeros(grid.shape[1], bool),
        scale=Scale(("1", "2", "3", "4", "5")),
        source="reference",
        digest="",
        dropped={},
    )


def _reference_labels() -> Labels:
    """Labels of three arms, two models and two strata by an arithmetic rule, every third row rated."""
    key, arm, model, stratum = np.indices((6, 3, 2, 2)).reshape(4, -1)
    place = np.arange(key.size)
    codes = {"key": key, "arm": arm, "model": model, "stratum": stratum, "population": 0 * key}
    names = {name: tuple(f"{name} {i + 1}" for i in range(code.max() + 1)) for name, code in codes.items()}
    scorer = ((key + arm + 2 * model) % 3 == 0).astype(np.int8)
    rated = (place % 3 == 0)[:, None] & (np.arange(2) <= place[:, None] % 2)
    rating = np.where(rated, scorer[:, None] ^ (place[:, None] % 5 == np.arange(2)), -1).astype(np.int8)
    return Labels(
        scorer=scorer,
        rating=rating,
        codes=codes,
        levels=names,
        raters=("rater 1", "rater 2"),
        audit=np.where(rated.any(axis=1), 0, -1),
        audits=("reference",),
        inclusion=np.full(key.size, np.nan),
        line=place + 2,
        source="reference",
        digest="",
        dropped={},
        target=0,
        unrated={},
    )


def reference_density(model: pm.Model) -> float:
    """Log density at the fixed point, of the unconstrained values and with their Jacobians, as it is sampled."""
    start = model.initial_point()
    point, taken = {}, 0
    for name, value in start.items():
        numbers = np.arange(taken + 1, taken + 1 + value.size)
        point[name] = value + REFERENCE_STEP * np.cos(numbers).reshape(value.shape)
        taken += value.size
    terms = model.compile_logp(sum=False, mode="FAST_COMPILE")(point)  # added up here: fusion has a limit of operands
    return float(sum(np.sum(term) for term in terms))


def _priors(priors: Any) -> list[tuple[str, str]]:
    return [(item.name, _prior_text(getattr(priors, item.name))) for item in fields(priors)]


def _prior_text(value: Any) -> str:
    if isinstance(value, Spread):
        words = {"half_normal": "half-normal({:g})", "gamma": "gamma with mean {:g}", "fixed": "fixed at {:g}"}
        return words[value.kind].format(value.scale)
    return ", ".join(f"{item:g}" for item in value) if isinstance(value, tuple) else f"{value:g}"


def _dims(model: pm.Model, variable: Any) -> str:
    named = model.named_vars_to_dims.get(variable.name)
    if named:
        return ", ".join(str(dim) for dim in named)
    return " x ".join(str(size) for size in variable.type.shape) or "scalar"


def _law(variable: Any) -> str:
    """Name of the distribution; its arguments are the card's priors."""
    return str(variable.owner.op.name)


def _reported(model: pm.Model) -> list[Any]:
    return [v for v in (*model.free_RVs, *model.deterministics) if not v.name.endswith("_free")]


def with_spec(text: str, block: str) -> str:
    """A card's text with its block replaced. Raises `ValueError` where the markers are not there once, in order."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after:
        raise ValueError(f"a card has one line {BEGIN} and, below it, one line {END}")
    return f"{before}{block}{after}"


def write_specs(folder: Path) -> list[Path]:
    """Regenerate the block of every bundled card that lies in `folder`. Returns the cards that changed."""
    changed = []
    for name in card_names():
        path = folder / f"{name}.md"
        text = path.read_text(encoding="utf-8")
        new = with_spec(text, spec(read_card(name)))
        if new != text:
            path.write_text(new, encoding="utf-8")
            changed.append(path)
    return changed


if __name__ == "__main__":
    for path in write_specs(card_folder()):
        sys.stdout.write(f"{path}\n")
