"""Model cards: what a fit is called after. A card names a builder and the priors that differ; it holds no code."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drift.errors import CardFileError

if TYPE_CHECKING:
    import pymc as pm

    from drift.models.frame import Frame

FENCE = "+++"
KEYS = ("builder", "priors", "references")
KINDS = {
    "ordinal": "ratings",
    "ordinal-interaction": "ratings",
    "cell-means": "cells",
    "misclassification": "labels",
    "misclassification-dependent": "labels",
    "misclassification-reference": "labels",
    "misclassification-ordinal": "labels",
}
TERMS = {
    "ordinal": ("domain", "model:domain", "question", "participant"),
    "ordinal-interaction": ("domain", "model:domain", "question", "model:question", "participant"),
    "cell-means": ("domain", "model:domain", "question"),
    **dict.fromkeys(
        (
            "misclassification",
            "misclassification-dependent",
            "misclassification-reference",
            "misclassification-ordinal",
        ),
        ("arm", "model", "stratum", "arm:model", "arm:stratum"),
    ),
}


@dataclass(frozen=True)
class Card:
    """One model card. `priors`: those that differ from the builder's defaults. `digest`: SHA-256 of the header."""

    name: str
    builder: str
    priors: Mapping[str, Any]
    digest: str
    text: str

    @property
    def kind(self) -> str:
        """What the card is fitted to: "ratings", "cells" or "labels"."""
        return KINDS[self.builder]

    @property
    def terms(self) -> tuple[str, ...]:
        """Terms of its linear predictor besides those that it always has."""
        return TERMS[self.builder]


def card_folder() -> Path:
    """The bundled cards: inside the installed package, or models/ at the root of a checkout."""
    installed = Path(__file__).parent.parent / "cards"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "models"


def card_names(*folders: Path) -> tuple[str, ...]:
    return tuple(sorted({path.stem for folder in (*folders, card_folder()) for path in folder.glob("*.md")}))


def read_card(name: str, study_folder: Path | None = None) -> Card:
    """The card called `name`: the study's own models/ folder first, then the bundled ones. Raises `CardFileError`."""
    folders = [*([study_folder / "models"] if study_folder else []), card_folder()]
    path = next((folder / f"{name}.md" for folder in folders if (folder / f"{name}.md").is_file()), None)
    if path is None or Path(name).name != name:
        known = card_names(*folders)
        near = get_close_matches(name, known, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise CardFileError(name, f"no such model card{hint}; there are {', '.join(known)}")
    bundled = card_folder() / path.name
    if bundled.is_file() and bundled.read_bytes() != path.read_bytes():
        raise CardFileError(
            path.name, "is the name of a bundled card, and one name stands for one model: call yours otherwise"
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CardFileError(path.name, f"not UTF-8 text (byte {error.start}): save it as UTF-8") from error
    return parse_card(text, name)


def parse_card(text: str, name: str) -> Card:
    """A card from its text: a TOML header between +++ lines, then prose."""
    parts = text.split(f"{FENCE}\n")
    if len(parts) < 3 or parts[0].strip():
        raise CardFileError(f"{name}.md", f"a card begins with a TOML header between two {FENCE} lines")
    try:
        header = tomllib.loads(parts[1])
    except tomllib.TOMLDecodeError as error:
        raise CardFileError(f"{name}.md", f"its header is not valid TOML: {error}") from error
    _check(header, name)
    digest = hashlib.sha256(parts[1].encode()).hexdigest()
    return Card(name, header["builder"], header.get("priors", {}), digest, text)


def _check(header: Mapping[str, Any], name: str) -> None:
    problems = [f"{key!r} is not a key of a card: they are {', '.join(KEYS)}" for key in header if key not in KEYS]
    if header.get("builder") not in KINDS:
        problems.append(f"builder is {header.get('builder')!r}: write one of {', '.join(KINDS)}")
    if not isinstance(header.get("priors", {}), dict):
        problems.append("priors is no table: write [priors]")
    if problems:
        raise CardFileError(f"{name}.md", "unusable header", [(None, problem) for problem in problems])


def build_model(card: Card, frame: Frame) -> pm.Model:
    """The PyMC model of a card on a frame. Raises `CardFileError` for a prior that the builder does not have."""
    function, priors = _builders()[card.builder]
    return function(frame, card_priors(card, priors))


def default_priors(card: Card) -> Any:
    """The card's priors, an instance of its builder's priors class."""
    return card_priors(card, _builders()[card.builder][1])


def _builders() -> dict[str, tuple[Callable[..., pm.Model], Any]]:
    """The model function and its priors class; imported here because PyMC takes seconds to import."""
    from drift.models.cell_means import CellMeansPriors, cell_means
    from drift.models.misclassification import misclassification
    from drift.models.misclassification_ordinal import misclassification_ordinal
    from drift.models.misclassification_ordinal_priors import OrdinalScorerPriors
    from drift.models.misclassification_priors import DependentPriors, MisclassificationPriors
    from drift.models.ordinal import OrdinalPriors, ordinal
    from drift.models.ordinal_interaction import OrdinalInteractionPriors, ordinal_interaction

    return {
        "ordinal": (ordinal, OrdinalPriors),
        "ordinal-interaction": (ordinal_interaction, OrdinalInteractionPriors),
        "cell-means": (cell_means, CellMeansPriors),
        "misclassification": (misclassification, MisclassificationPriors),
        "misclassification-dependent": (misclassification, DependentPriors),
        "misclassification-reference": (misclassification, MisclassificationPriors),
        "misclassification-ordinal": (misclassification_ordinal, OrdinalScorerPriors),
    }


def card_priors(card: Card, priors: Any) -> Any:
    """`priors()` with the card's changes. A spread is written {half_normal = 1.5} or {fixed = 10}."""
    defaults = {item.name: getattr(priors(), item.name) for item in fields(priors)}
    changes: dict[str, Any] = {}
    problems = []
    for name, value in card.priors.items():
        if name not in defaults:
            problems.append(f"[priors] has no {name!r}: there are {', '.join(defaults)}")
            continue
        try:
            changes[name] = _like(defaults[name], value)
        except ValueError as error:
            problems.append(f"[priors] {name} = {value!r}: {error}")
    if problems:
        raise CardFileError(f"{card.name}.md", "unusable priors", [(None, problem) for problem in problems])
    return replace(priors(), **changes)


def _like(default: Any, value: Any) -> Any:
    """A TOML value as the type of the default that it replaces."""
    from drift.models.priors import Spread

    if isinstance(default, Spread):
        if not isinstance(value, dict) or len(value) != 1 or not {*value} <= {"half_normal", "gamma", "fixed"}:
            raise ValueError("write {half_normal = 1.5}, {gamma = 0.4} or {fixed = 10.0}")
        ((kind, scale),) = value.items()
        return Spread(_positive(scale), kind)
    if isinstance(default, tuple):
        if not isinstance(value, list) or len(value) != len(default):
            raise ValueError(f"write {len(default)} numbers")
        return tuple(_positive(item) for item in value)
    return _positive(value)


def _positive(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
        raise ValueError("write a positive number")
    return float(value)
