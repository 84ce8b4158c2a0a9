"""What data and assumptions identify: the rank of the probabilities of label patterns as a function of parameters.

A parameter that can move without moving any pattern's probability is left to its prior, however many rows there are.
The rank of the Jacobian at a point drawn at random is its rank almost everywhere (rothenberg1971); the directions in
its null space are what the prior decides. Source of the models: hui1980 (no truth), qu1996 (dependence).
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from drift.estimands.quadrature import Floats, normal_nodes
from drift.estimands.scored import N_NODES, Scored
from drift.estimands.terms import Ints
from drift.likelihood.pattern_probability import pattern_probability

Side = Literal["arm", "common"]
Dependence = Literal["none", "raters", "scorer and raters"]
Cell = tuple[str, str]  # arm, model
Sets = tuple[tuple[str, ...], ...]

TOLERANCE = 1e-8  # of a singular value, as a share of the largest: differentiation leaves 1e-11, identified ones 1e-5
STEP = 1e-3  # probits; the fourth-order difference is exact to 1e-12
VISIBLE = 1e-4  # least length of a parameter's part in the null space that is named
POINT_SEED = 20260801  # of the point at which the rank is taken


@dataclass(frozen=True)
class Setting:
    """Which labels there are and what is assumed of them. Prevalence differs by arm x model.

    `scorer_errors`: its error rates differ by "arm", or are "common" to all; with `by_model` also by model.
    `rater_errors`: likewise of every rater. `dependence`: who share an error factor. `reference`: a rater who is the
    truth. `together`: (arm, model) -> the sets of raters that label the same rows there; cells left out: all together.
    """

    arms: tuple[str, ...]
    raters: tuple[str, ...] = ()
    models: tuple[str, ...] = ("all",)
    scorer_errors: Side = "arm"
    by_model: bool = False
    rater_errors: Side = "common"
    dependence: Dependence = "none"
    reference: str | None = None
    together: Mapping[tuple[str, str], Sets] = field(default_factory=dict)

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(itertools.product(self.arms, self.models))

    def sets(self, cell: Cell) -> Sets:
        """Sets of raters that label the same rows of a cell; the empty one is there always: rows with no rater."""
        return tuple(dict.fromkeys([(), *self.together.get(cell, (self.raters,))]))


@dataclass(frozen=True)
class Identification:
    """`nullity` = n_parameters - `rank` parameters' worth is left to the prior, and moves those named in `unknown`.

    `n_free_cells`: pattern probabilities that can vary freely; at most as many parameters can be identified.
    `margin`: smallest singular value of the rank over the largest: near zero, identified in name only.
    """

    rank: int
    nullity: int
    n_parameters: int
    n_free_cells: int
    unknown: tuple[str, ...]
    margin: float


@dataclass(frozen=True)
class Point:
    """Values of all parameters, as probabilities. prevalence: (arm, model). fpr, fnr: (arm,) or (arm, model).

    rater_fpr, rater_fnr: one number for all raters. dependence: rho of both truths.
    """

    prevalence: Floats
    fpr: Floats
    fnr: Floats
    rater_fpr: float
    rater_fnr: float
    dependence: float = 0.3


def identification(setting: Setting) -> Identification:
    """Rank, nullity and the parameters in the null directions, at a point drawn at random (always the same one)."""
    model = _Model(setting)
    jacobian = model.jacobian(model.random_point())
    size = np.linalg.norm(jacobian, axis=0)
    scaled = np.linalg.qr(jacobian / np.where(size > 0.0, size, 1.0), mode="r")
    _, singular, directions = np.linalg.svd(scaled)
    rank = int((singular > TOLERANCE * singular[0]).sum())
    length = np.linalg.norm(directions[rank:], axis=0)
    return Identification(
        rank=rank,
        nullity=len(model.names) - rank,
        n_parameters=len(model.names),
        n_free_cells=_n_free_cells(setting),
        unknown=tuple(name for name, part in zip(model.names, length, strict=True) if part > VISIBLE),
        margin=float(singular[rank - 1] / singular[0]),
    )


def contrast_sd(setting: Setting, point: Point, arms: tuple[str, str], n_labels: float, n_audited: float) -> float:
    """Sd of the risk difference of two arms, models mixed equally, from Fisher information alone, a proportion.

    `n_labels`: scorer labels an arm, of which `n_audited` have all raters' too, spread evenly over models. Infinite
    where the data do not identify every parameter: no prior is there to lean on.
    """
    if identification(setting).nullity:
        return float("inf")
    model = _Model(setting)
    values = model.vector(point)
    probability, jacobian = model.probability(values), model.jacobian(values)
    rated = (model.label[:, 1:] >= 0).any(axis=1)
    n_models = len(setting.models)
    rows = np.where(rated, n_audited, n_labels - n_audited * bool(setting.raters)) / n_models
    possible = probability > 0.0
    weight = rows[possible] / probability[possible]
    information = jacobian[possible].T @ (jacobian[possible] * weight[:, None])
    density = np.exp(-0.5 * values[: len(setting.cells)] ** 2) / math.sqrt(2.0 * math.pi)
    sign = np.array([(arm == arms[0]) - (arm == arms[1]) for arm, _ in setting.cells])
    gradient = np.zeros(len(values))
    gradient[: len(density)] = sign * density / n_models
    return float(np.sqrt(gradient @ np.linalg.solve(information, gradient)))


def setting_of(scored: Scored) -> Setting:
    """The setting of a posterior's card and data: errors of the scorer by arm and model, of raters common to arms.

    A model stands for model x stratum, and which raters label together is read from the data of all populations. No
    pooling counts: what is named unknown in an arm x model without raters is left to the card's pooling.
    """
    several = len(scored.levels["stratum"]) > 1
    cell_of = [
        (scored.levels["arm"][a], scored.levels["model"][m] + f", {scored.levels['stratum'][h]}" * several)
        for a, m, h in zip(scored.cell_arm, scored.cell_model, scored.cell_stratum, strict=True)
    ]
    raters = scored.levels["rater"]
    together: dict[Cell, Sets] = {(arm, model): () for arm in scored.levels["arm"] for _, model in cell_of}
    for cell, label in zip(scored.pattern_cell, scored.pattern_label[:, 1:], strict=True):
        seen = tuple(rater for rater, value in zip(raters, label, strict=True) if value >= 0)
        together[cell_of[cell]] = tuple(dict.fromkeys([*together[cell_of[cell]], seen]))
    shared: Dependence = "scorer and raters" if scored.shares[0] else "raters"
    reference = [rater for rater, marked in zip(raters, scored.reference, strict=True) if marked]
    return Setting(
        arms=scored.levels["arm"],
        raters=raters,
        models=tuple(dict.fromkeys(model for _, model in cell_of)),
        by_model=True,
        dependence="none" if scored.dependence is None else shared,
        reference=reference[0] if reference else None,
        together=together,
    )


def _n_free_cells(setting: Setting) -> int:
    """Joint probabilities that all tests of a subset say 1, one a subset that some rows have complete."""
    total = 0
    for cell in setting.cells:
        tests = [("", *raters) for raters in setting.sets(cell)]
        subsets = {s for some in tests for size in range(len(some)) for s in itertools.combinations(some, size + 1)}
        total += len(subsets)
    return total


class _Model:
    """The pattern probabilities of a setting as a function of one vector of probits, prevalences first."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.names: list[str] = []
        cells, raters = setting.cells, setting.raters
        self._prevalence = np.array([self._new("prevalence", *self._cell(cell)) for cell in cells])
        self._scorer = np.array([[self._new(kind, *self._scorer_side(c)) for c in cells] for kind in ("fpr", "fnr")])
        self._rater = np.array(
            [
                [[self._rater_place(kind, arm, rater) for rater in raters] for arm in setting.arms]
                for kind in ("rater_fpr", "rater_fnr")
            ],
            dtype=np.int64,
        ).reshape(2, len(setting.arms), len(raters))
        dependent = setting.dependence != "none"
        self._dependence = np.array([self._new("dependence", z) for z in ("0", "1")]) if dependent else None
        self._nodes = normal_nodes(N_NODES) if dependent else (np.zeros(1), np.ones(1))
        self.cell, self.label = _patterns(setting)

    def probability(self, values: Floats) -> Floats:
        """(..., pattern) from (..., parameter)."""
        setting = self.setting
        dependence = (
            np.zeros((*values.shape[:-1], 2)) if self._dependence is None else ndtr(values[..., self._dependence])
        )
        return pattern_probability(
            values[..., self._prevalence],
            values[..., self._scorer],
            values[..., self._rater],
            dependence,
            np.array([setting.arms.index(arm) for arm, _ in setting.cells]),
            self.cell,
            self.label,
            np.array([rater == setting.reference for rater in setting.raters], np.int64),
            np.array([setting.dependence == "scorer and raters", *[True] * len(setting.raters)], np.int64),
            *self._nodes,
        )

    def jacobian(self, values: Floats) -> Floats:
        """(pattern, parameter), by a difference of fourth order."""
        step = STEP * np.eye(len(values))
        one, two = (self.probability(values + k * step) - self.probability(values - k * step) for k in (1, 2))
        return np.asarray((8.0 * one - two).T / (12.0 * STEP))

    def vector(self, point: Point) -> Floats:
        """The parameters of a point, as probits."""
        by_arm_model = (len(self.setting.arms), len(self.setting.models))
        found = np.empty(len(self.names))
        found[self._prevalence] = np.asarray(point.prevalence).ravel()
        for place, values in zip(self._scorer, (point.fpr, point.fnr), strict=True):
            both = np.asarray(values).reshape(by_arm_model[0], -1)
            found[place] = np.broadcast_to(both, by_arm_model).ravel()
        for places, value in zip(self._rater, (point.rater_fpr, point.rater_fnr), strict=True):
            found[places[:, [rater != self.setting.reference for rater in self.setting.raters]]] = value
        if self._dependence is not None:
            found[self._dependence] = point.dependence
        return np.asarray(ndtri(found), np.float64)

    def random_point(self) -> Floats:
        """Probits near .4 (prevalence), .12 (scorer), .04 (raters), .3 (dependence), no two alike."""
        rng = np.random.default_rng(POINT_SEED)
        centre = {
            "prevalence": -0.2,
            "fpr": -1.2,
            "fnr": -1.2,
            "rater_fpr": -1.8,
            "rater_fnr": -1.8,
            "dependence": -0.5,
        }
        middle = np.array([centre[name.split("[")[0]] for name in self.names])
        return middle + 0.3 * rng.normal(size=len(middle))

    def _new(self, kind: str, *of: str) -> int:
        """Place of a parameter, added the first time that it is asked for."""
        name = f"{kind}[{', '.join(of)}]" if of else kind
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def _cell(self, cell: Cell) -> Cell | tuple[str]:
        return cell if len(self.setting.models) > 1 else cell[:1]

    def _scorer_side(self, cell: Cell) -> tuple[str, ...]:
        side = cell[:1] if self.setting.scorer_errors == "arm" else ()
        return (*side, cell[1]) if self.setting.by_model and len(self.setting.models) > 1 else side

    def _rater_place(self, kind: str, arm: str, rater: str) -> int:
        """Place of a rater's error; of the reference, which has none, a prevalence, whose value is not looked at."""
        if rater == self.setting.reference:
            return 0
        return self._new(kind, arm, rater) if self.setting.rater_errors == "arm" else self._new(kind, rater)


def _patterns(setting: Setting) -> tuple[Ints, Ints]:
    """(pattern,) cell and (pattern, test) labels of everything that may be seen, -1 not rated."""
    cell, label = [], []
    for place, name in enumerate(setting.cells):
        for raters in setting.sets(name):
            rated = [rater in raters for rater in setting.raters]
            for scorer, *given in itertools.product((0, 1), *([(0, 1)] * sum(rated))):
                values = iter(given)
                cell.append(place)
                label.append([scorer, *(next(values) if made else -1 for made in rated)])
    return np.array(cell, np.int64), np.array(label, np.int64)
