"""The largest set of models that are all within the margin of each other, with a stated joint probability."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import xarray as xr

from drift.estimands.quadrature import Floats
from drift.estimands.summary import ROWS, probability_mcse
from drift.estimands.terms import SAMPLE

MOST_EXACT = 12  # models; above it the exact search may have to look at too many subsets
Members = tuple[int, ...]


@dataclass(frozen=True)
class EquivalentSet:
    """Models (in the study's order) that are jointly equivalent, and how sure that is.

    `probability`, `mcse`: P(every pair of them is within `margin_pp`). `reached`: whether that is at least `wanted`; if
    not, no two models are equivalent with that probability and this is the nearest pair.
    `exact`: whether every subset was searched; if not, the largest set has at most `size_at_most` models.
    """

    models: tuple[str, ...]
    probability: float
    mcse: float
    margin_pp: float
    wanted: float
    reached: bool
    exact: bool
    size_at_most: int
    n_rows: int  # behind these models together; 0 where the draws do not say


def largest_equivalent_set(deviation: xr.DataArray, margin_pp: float, wanted: float = 0.95) -> EquivalentSet:
    """The largest set with P(max - min deviation < margin) >= `wanted`; ties go to the more probable set, then by name.

    deviation: draws (chain, draw, model), percent. Up to 12 models the answer is exact: a subset of a qualifying set
    qualifies, so sets are grown one model at a time from those that do. (Runs of models sorted by mean need not
    contain the best set.) With more models it is greedy, grown from every qualifying pair, and `size_at_most` bounds
    what was missed: in a set of n each model has n - 1 qualifying partners.
    Raises `ValueError` for draws by domain, fewer than two models, or a margin or probability out of range.
    """
    sampled = _checked(deviation, margin_pp, wanted)
    values = np.asarray(sampled.values, np.float64)
    names = [str(name) for name in sampled["model"].values]
    flat = values.reshape(-1, len(names))
    found = _Search(flat, margin_pp, wanted, names)
    exact = len(names) <= MOST_EXACT
    members = found.exact() if exact else found.greedy()
    inside = _within(values, members, margin_pp)
    chance = float(inside.mean())
    return EquivalentSet(
        models=tuple(names[m] for m in members),
        probability=chance,
        mcse=float(probability_mcse(inside.astype(np.float64))),
        margin_pp=float(margin_pp),
        wanted=wanted,
        reached=chance >= wanted,
        exact=exact,
        size_at_most=(len(members) if chance >= wanted else 1) if exact else found.size_bound(),
        n_rows=int(sampled[ROWS].values[list(members)].sum()) if ROWS in sampled.coords else 0,
    )


class _Search:
    """Subsets of models, by their joint probability. draws: (sample, model)."""

    def __init__(self, draws: Floats, margin: float, wanted: float, names: list[str]) -> None:
        self.draws, self.margin, self.wanted, self.names = draws, margin, wanted, names
        self.n = draws.shape[1]
        self.pairs: dict[Members, float] = {pair: self.chance(pair) for pair in combinations(range(self.n), 2)}
        self.near = [pair for pair, chance in self.pairs.items() if chance >= wanted]

    def chance(self, members: Members) -> float:
        return float(_within(self.draws, members, self.margin).mean())

    def best(self, sets: Iterable[tuple[Members, float]]) -> Members:
        """The most probable set; of equals, the first by the members' names."""
        return min(sets, key=lambda item: (-item[1], sorted(self.names[m] for m in item[0])))[0]

    def exact(self) -> Members:
        level: dict[Members, float] = {pair: self.pairs[pair] for pair in self.near}
        if not level:
            return self.best(self.pairs.items())
        while larger := self._grown(level):
            level = larger
        return self.best(level.items())

    def greedy(self) -> Members:
        """From every qualifying pair, add the model that keeps the probability highest for as long as it suffices."""
        if not self.near:
            return self.best(self.pairs.items())
        grown = {self._climb(pair) for pair in self.near}
        largest = max(map(len, grown))
        return self.best((members, self.chance(members)) for members in grown if len(members) == largest)

    def size_bound(self) -> int:
        """The largest n for which n models have n - 1 qualifying partners or more, within what is left (the core)."""
        partners = {m: {a + b - m for a, b in self.near if m in (a, b)} for m in range(self.n)}
        bound = 1
        while partners:
            m = min(partners, key=lambda model: (len(partners[model]), model))
            bound = max(bound, len(partners[m]) + 1)
            for other in partners.pop(m):
                partners[other].discard(m)
        return bound

    def _grown(self, level: dict[Members, float]) -> dict[Members, float]:
        """Qualifying sets of one model more; a set is made once, by its last member."""
        candidates = {
            (*members, m): 0.0 for members in level for m in range(members[-1] + 1, self.n)
            if all((other, m) in self.pairs and self.pairs[other, m] >= self.wanted for other in members)
        }  # fmt: skip
        chances = {members: self.chance(members) for members in candidates}
        return {members: chance for members, chance in chances.items() if chance >= self.wanted}

    def _climb(self, members: Members) -> Members:
        while len(members) < self.n:
            options = [tuple(sorted((*members, m))) for m in range(self.n) if m not in members]
            step = self.best((option, self.chance(option)) for option in options)
            if self.chance(step) < self.wanted:
                break
            members = step
        return members


def _within(draws: Floats, members: Members, margin: float) -> np.ndarray:
    """Whether the chosen models' range is below the margin; draws (..., model), result (...)."""
    chosen = draws[..., list(members)]
    return np.asarray(chosen.max(axis=-1) - chosen.min(axis=-1) < margin)


def _checked(deviation: xr.DataArray, margin_pp: float, wanted: float) -> xr.DataArray:
    if set(deviation.dims) != {*SAMPLE, "model"} or deviation.sizes["model"] < 2:
        raise ValueError("the largest equivalent set is found among two models or more, by model and not by domain")
    if not margin_pp > 0.0 or not 0.0 < wanted <= 1.0:
        raise ValueError(f"a margin is above zero and a probability in (0, 1]: got {margin_pp} and {wanted}")
    return deviation.transpose(*SAMPLE, "model")
