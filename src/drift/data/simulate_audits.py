"""Which rows of a simulated panel are audited, and with what probability."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from drift.errors import InputError
from drift.scale import FloatArray, IntArray

Design = Literal["representative", "stress", "paired"]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class AuditPlan:
    """How one audit chooses rows, without replacement and without rows that an earlier audit has.

    "representative": `size` rows an arm, as evenly from the models as their number allows. "stress": `size` rows an
    arm, a predicted positive `ratio` times as likely as a predicted negative (at least one of each that there is); with
    `by_route`, as many from each route. "paired": every model's responses on `size` keys, the same in all arms.
    """

    name: str
    design: Design = "representative"
    size: int = 48
    ratio: float = 1.0
    by_route: bool = False


def chosen_rows(
    plans: Sequence[AuditPlan],
    arm: IntArray,
    key: IntArray,
    model: IntArray,
    route: IntArray,
    scorer: BoolArray,
    rng: np.random.Generator,
) -> tuple[IntArray, FloatArray]:
    """(row,) place of the audit that has the row, -1 for none, and (row,) its inclusion probability, NaN for none.

    The probability is that of being in the audit named: for a later audit, of being in none before and in this one, so
    that weights 1 / probability make the rows of any one audit stand for the whole panel. Raises `InputError` where
    fewer rows are left than an audit is to have, and where a paired audit comes after another.
    """
    audit, probability = np.full(arm.size, -1), np.full(arm.size, np.nan)
    unseen = np.ones(arm.size)  # probability of being in no audit so far
    for place, plan in enumerate(plans):
        free = audit < 0
        if plan.design == "paired":
            if place:
                raise InputError("simulate", f"audit {plan.name} is paired and not the first", advice="list it first")
            cell, wanted = _paired(plan, key, rng)
        elif plan.design == "stress":
            cell, wanted = _stress(plan, arm, route, scorer, free)
        else:
            cell, wanted = _representative(plan, arm, model)
        available = np.bincount(cell[free], minlength=len(wanted))
        if (wanted > available).any():
            raise InputError("simulate", f"audit {plan.name} asks for more rows than there are")
        taken = sampled(cell, wanted, free, rng)
        chance = (wanted / np.maximum(available, 1))[cell]
        if plan.design == "paired":
            chance = np.full(arm.size, plan.size / (key.max() + 1))
        audit[taken], probability[taken] = place, (unseen * chance)[taken]
        unseen = unseen * (1 - chance)
    return audit, probability


def sampled(cell: IntArray, wanted: IntArray, free: BoolArray, rng: np.random.Generator) -> BoolArray:
    """(row,) a simple random sample of `wanted[cell]` of the free rows of each cell."""
    draw = np.where(free, rng.random(cell.size), 2.0)
    order = np.lexsort((draw, cell))
    start = np.cumsum(np.bincount(cell, minlength=len(wanted))) - np.bincount(cell, minlength=len(wanted))
    place = np.empty(cell.size, dtype=np.int64)
    place[order] = np.arange(cell.size) - start[cell[order]]
    taken: BoolArray = (place < wanted[cell]) & free
    return taken


def _representative(plan: AuditPlan, arm: IntArray, model: IntArray) -> tuple[IntArray, IntArray]:
    """(row,) arm x model cell and (cell,) rows wanted; the first models have the remainder."""
    n_arms, n_models = arm.max() + 1, model.max() + 1
    each, rest = divmod(plan.size, n_models)
    return arm * n_models + model, np.tile(each + (np.arange(n_models) < rest), n_arms)


def _stress(
    plan: AuditPlan, arm: IntArray, route: IntArray, scorer: BoolArray, free: BoolArray
) -> tuple[IntArray, IntArray]:
    """(row,) arm x route x scorer label cell and (cell,) rows wanted; one route for all unless `by_route`."""
    n_routes = route.max() + 1 if plan.by_route else 1
    group = arm * n_routes + (route if plan.by_route else 0)
    each, rest = divmod(plan.size, n_routes)
    size = np.tile(each + (np.arange(n_routes) < rest), arm.max() + 1)
    cell = group * 2 + scorer
    negative, positive = np.bincount(cell[free], minlength=2 * len(size)).reshape(-1, 2).T
    share = plan.ratio * positive / np.maximum(plan.ratio * positive + negative, 1)
    least, most = np.maximum(positive > 0, size - negative), np.minimum(positive, size - (negative > 0))
    wanted = np.clip(np.rint(size * share).astype(np.int64), least, most)
    return cell, np.column_stack([size - wanted, wanted]).ravel()


def _paired(plan: AuditPlan, key: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """(row,) key and (key,) rows wanted: all or none."""
    rows = np.bincount(key)
    if plan.size > len(rows):
        return key, rows + 1  # more than there are
    first = np.argsort(np.argsort(rng.random(len(rows)))) < plan.size
    return key, rows * first
