"""What a model is built on: level names, index arrays and groupings, as plain arrays."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from drift.data.cells import Cells, cells_from_ratings
from drift.data.ratings import Ratings
from drift.likelihood.kernel import layout

Array = NDArray[Any]

SWEEPS = 10  # of the factors' means; three suffice in a balanced design
CLEAR = 5.0  # F ratio from which the levels of a term with many degrees of freedom surely differ
RELIABLE = 0.8  # share of a model's variance over questions that is no sampling error, from which centring pays


@dataclass(frozen=True)
class Frame:
    """The data of one model.

    terms: names of the terms in the linear predictor. coords: level names by dimension. arrays: index arrays,
    groupings and observations, by the name under which the model declares them. centred: terms whose levels
    differ so clearly that they are sampled in a centred form. outer: which of cell and participant has fewer levels,
    the likelihood's outer loop.
    """

    terms: tuple[str, ...]
    coords: Mapping[str, Array]
    arrays: Mapping[str, Array]
    centred: frozenset[str] = field(default_factory=frozenset)
    outer: str = "cell"

    def structure(self) -> dict[str, Any]:
        """What fixes the graph besides the card: terms, numbers of levels, groupings' sizes, parametrisation."""
        lengths = {name: len(levels) for name, levels in self.coords.items()}
        groups = {name: array.size for name, array in self.arrays.items() if name.endswith("_size")}
        return {
            "terms": self.terms,
            "lengths": lengths,
            "groups": groups,
            "centred": sorted(self.centred),
            "outer": self.outer,
        }


def ratings_frame(ratings: Ratings, terms: Sequence[str]) -> Frame:
    """Rows sorted into cells (the combinations of model, domain and question that occur) for the fused likelihood."""
    factors = [factor for factor in ("model", "domain", "question") if _used(factor, terms)]
    combination, cell = np.unique(
        np.stack([ratings.codes[factor] for factor in factors], axis=1), axis=0, return_inverse=True
    )
    person = ratings.codes["participant"] if "participant" in terms else np.zeros(ratings.n_rows, np.int64)
    n_people = len(ratings.levels["participant"]) if "participant" in terms else 1
    sides = {"cell": (cell.ravel(), len(combination)), "participant": (person, n_people)}
    outer, inner = ("participant", "cell") if n_people <= len(combination) else ("cell", "participant")
    (outer_code, n_outer), (inner_code, n_inner) = sides[outer], sides[inner]
    rows = layout(outer_code, inner_code, ratings.rating, n_outer, n_inner, ratings.scale.n_labels)
    arrays: dict[str, Array] = {
        **{f"cell_{factor}": combination[:, axis].astype(np.int64) for axis, factor in enumerate(factors)},
        "end": rows.end,
        "index": rows.index,
        "above": rows.above,
        "rating_sorted": ratings.rating[rows.order].astype(np.int64),
        **_groupings(ratings, terms),
    }
    if "model:question" in terms:
        arrays["centring"] = centring(ratings)
    coords = {factor: np.array(ratings.levels[factor]) for factor in ratings.levels if _used(factor, terms)}
    coords["label"] = np.array(ratings.scale.labels)
    coords["cutpoint"] = np.array(
        [f"{a}|{b}" for a, b in zip(ratings.scale.labels, ratings.scale.labels[1:], strict=False)]
    )
    return Frame(tuple(terms), coords, arrays, _well_known(ratings, terms), outer)


def cells_frame(cells: Cells, terms: Sequence[str]) -> Frame:
    """Cell means, with the bounds between which the variance of each one's rating noise lies."""
    factors = [factor for factor in ("model", "domain", "question") if _used(factor, terms)]
    low, high = cells.noise_bounds()
    arrays: dict[str, Array] = {
        **{f"cell_{factor}": cells.codes[factor].astype(np.int64) for factor in factors},
        "observed": cells.deviation.astype(np.float64),
        "noise_low": low,
        "noise_high": high,
        **_groupings(cells, terms),
    }
    coords = {factor: np.array(cells.levels[factor]) for factor in factors}
    return Frame(tuple(terms), coords, arrays, frozenset(("model", *terms)))


def _used(factor: str, terms: Sequence[str]) -> bool:
    return factor == "model" or any(factor in term.split(":") for term in terms)


def _groupings(data: Ratings | Cells, terms: Sequence[str]) -> dict[str, Array]:
    """For each factor, the groups within which its effects sum to zero: questions within domains, others in one."""
    groupings: dict[str, Array] = {}
    for factor in ("model", "domain", "question", "participant"):
        if not _used(factor, terms):
            continue
        within = data.question_domain if factor == "question" and "domain" in terms else None
        group = np.zeros(len(data.levels[factor]), np.int64) if within is None else within.astype(np.int64)
        groupings[f"{factor}_group"] = group
        groupings[f"{factor}_size"] = np.bincount(group).astype(np.int64)
    return groupings


def centring(ratings: Ratings) -> Array:
    """(model,) 1 where a model's effects of questions are sampled centred, 0 where non-centred.

    Centred where at most a share 1 - `RELIABLE` of the variance of the model's cell means about the questions' medians
    is sampling error: elsewhere the spread may be near 0, where a centred effect makes a funnel. It chooses
    coordinates for the sampler and touches no posterior.
    """
    cells = cells_from_ratings(ratings)
    model, question = cells.codes["model"], cells.codes["question"]
    value = pd.Series(cells.deviation)
    value = value - value.groupby(question).transform("median")
    cell = ratings.codes["model"] * len(ratings.levels["question"]) + ratings.codes["question"]
    within = pd.Series(ratings.scale.deviation(ratings.rating)).groupby(cell).var().mean()  # NaN: one rating a cell
    error = pd.Series(np.nan_to_num(within, nan=np.inf) / cells.count).groupby(model).mean()
    between = value.groupby(model).var().reindex(error.index).fillna(0.0)
    return (error < (1.0 - RELIABLE) * between).to_numpy(np.float64)


def _well_known(ratings: Ratings, terms: Sequence[str]) -> frozenset[str]:
    """Terms whose levels differ so clearly that their spread cannot be near 0: those are sampled centred.

    Clearly: the F ratio of a term's levels, the other factors' means taken out, is above `CLEAR` + 20 / degrees of
    freedom. Where the spread may be near 0, a centred effect makes a funnel. As `centring`, it touches no posterior.
    """
    deviation = ratings.scale.deviation(ratings.rating)
    factors = [factor for factor in ("participant", "model", "question") if _used(factor, terms)]
    noise = _swept(ratings, deviation, factors).var()
    found = []
    for term in ("model", *(term for term in terms if term != "model:question")):
        own = term.split(":")
        others = [factor for factor in (*factors, "domain") if _used(factor, terms) and factor not in own]
        nested = [factor for factor in others if not ("domain" in own and factor == "question")]
        code = np.ravel_multi_index([ratings.codes[f] for f in own], [len(ratings.levels[f]) for f in own])
        count = np.bincount(code)
        rest, mean = deviation - deviation.mean(), np.zeros(len(count))
        for _ in range(SWEEPS):  # what the term takes up beside the others, where the design is not balanced too
            rest = _swept(ratings, rest, [*nested, *(own if len(own) > 1 else [])])
            step = np.bincount(code, weights=rest) / np.maximum(count, 1)
            rest, mean = rest - step[code], mean + step
        freedom = max(math.prod(len(ratings.levels[factor]) - 1 for factor in own), 1)
        if (count * mean**2).sum() / freedom > (CLEAR + 20.0 / freedom) * max(noise, 1e-9):
            found.append(term)
    return frozenset(found)


def _swept(ratings: Ratings, value: Array, factors: Sequence[str]) -> Array:
    """(rows,) values less the means of every factor's levels; three sweeps, exact where the design is balanced."""
    rest = value - value.mean()
    for factor in [*factors] * 3:
        code = ratings.codes[factor]
        rest = rest - (np.bincount(code, weights=rest) / np.maximum(np.bincount(code), 1))[code]
    return rest
