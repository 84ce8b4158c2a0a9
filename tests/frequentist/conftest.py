"""Labels of a scorer study straight from arrays."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from drift.data.labels import Labels

Build = Callable[..., Labels]


def _codes(values: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    levels = tuple(dict.fromkeys(values))
    return np.array([levels.index(value) for value in values], dtype=np.int64), levels


@pytest.fixture(scope="session")
def build() -> Build:
    """Labels from lists along the rows; a factor that is not given has the one level "all"."""

    def built(scorer, rating, **given) -> Labels:
        n = len(scorer)
        factors = {
            factor: given.get(factor, ["all"] * n) for factor in ("key", "arm", "model", "stratum", "population")
        }
        both = {factor: _codes([str(value) for value in values]) for factor, values in factors.items()}
        rating = np.asarray(rating, dtype=np.int8).reshape(n, -1)
        audit, audits = _codes(given.get("audit", ["audit"] * n))
        return Labels(
            scorer=np.asarray(scorer, dtype=np.int8),
            rating=rating,
            codes={factor: code for factor, (code, _) in both.items()},
            levels={factor: levels for factor, (_, levels) in both.items()},
            raters=tuple(f"rater {place}" for place in range(rating.shape[1])),
            audit=np.where((rating != -1).any(axis=1), audit, -1),
            audits=audits,
            inclusion=np.asarray(given.get("inclusion", np.full(n, np.nan)), dtype=np.float64),
            line=np.arange(n, dtype=np.int64) + 2,
            source="built",
            digest="",
            dropped={},
            target=both["population"][1].index(given.get("target", both["population"][1][0])),
            unrated={},
        )

    return built
