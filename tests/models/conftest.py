"""Small simulated ratings and cells, the frames and models that are built on them, and the shared real data."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drift.data.cells import Cells, cells_from_ratings
from drift.data.ratings import Ratings
from drift.models.cards import Card, build_model, parse_card, read_card
from drift.models.frame import Frame, cells_frame, ratings_frame
from drift.scale import Scale

R_ORDINAL = Path(__file__).parents[3] / "shared" / "data" / "r_ordinal"


def crossed(
    n_models: int = 3, n_questions: int = 6, n_participants: int = 8, n_domains: int = 2, seed: int = 7
) -> Ratings:
    """Simulated. Every participant rates every model's answer to every question; label 4 of 0..4 is never used."""
    rng = np.random.default_rng(seed)
    grid = np.indices((n_participants, n_questions, n_models)).reshape(3, -1)
    codes = {"participant": grid[0], "question": grid[1], "model": grid[2], "domain": grid[1] % n_domains}
    sizes = {"participant": n_participants, "question": n_questions, "model": n_models, "domain": n_domains}
    effects = {factor: rng.normal(size=size) for factor, size in sizes.items()}
    eta = sum(effects[factor][codes[factor]] for factor in sizes) + rng.logistic(size=grid.shape[1])
    return Ratings(
        rating=np.searchsorted([-2.0, -0.5, 1.0], eta),
        codes=codes,
        levels={factor: tuple(f"{factor[0].upper()}{i + 1}" for i in range(size)) for factor, size in sizes.items()},
        line=np.arange(2, 2 + grid.shape[1]),
        refused=np.zeros(grid.shape[1], bool),
        scale=Scale(("1", "2", "3", "4", "5")),
        source="simulated.csv",
        digest="0" * 64,
        dropped={},
    )


@pytest.fixture(scope="session")
def simulated() -> Callable[..., Ratings]:
    return crossed


@pytest.fixture(scope="session")
def ratings() -> Ratings:
    return crossed()


@pytest.fixture(scope="session")
def cells(ratings: Ratings) -> Cells:
    return cells_from_ratings(ratings)


@pytest.fixture(scope="session")
def frame_of(ratings: Ratings, cells: Cells) -> Callable[..., Frame]:
    """The frame of a card on the simulated data, all its terms kept unless told."""

    def make(card: Card, terms: tuple[str, ...] | None = None) -> Frame:
        kept = card.terms if terms is None else terms
        return ratings_frame(ratings, kept) if card.kind == "ratings" else cells_frame(cells, kept)

    return make


@pytest.fixture(scope="session")
def built(frame_of: Callable[..., Frame]) -> Callable[..., Any]:
    """(card name, terms) -> its PyMC model; each is built once."""
    known: dict[Any, Any] = {}

    def make(name: str, terms: tuple[str, ...] | None = None) -> Any:
        if (name, terms) not in known:
            card = read_card(name)
            known[name, terms] = build_model(card, frame_of(card, terms))
        return known[name, terms]

    return make


@pytest.fixture(scope="session")
def card_text() -> Callable[..., Card]:
    """A card from the lines of its header."""

    def make(*lines: str, name: str = "test-card") -> Card:
        return parse_card("\n".join(["+++", *lines, "+++", "# test card\n"]), name)

    return make


@pytest.fixture(scope="session")
def wine_path() -> Path:
    if not R_ORDINAL.is_dir():
        pytest.skip("the folder ../shared/data is absent")
    return R_ORDINAL / "wine.csv"
