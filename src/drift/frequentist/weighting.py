"""Weights of rows: of the target's mixture of models, and of audits whose rows were not equally likely to be chosen."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drift.frequentist.estimate import DIFFERENCE, LEVEL, SHARE, Estimate, by_arm, normal_interval, undefined
from drift.scale import FloatArray, IntArray

BoolArray = NDArray[np.bool_]


def mixture_weight(model: ArrayLike, wanted: Mapping[int, float] | None = None) -> FloatArray:
    """(row,) weights with which each model's rows sum to its weight in `wanted`; all together sum to 1.

    `model`: (row,) codes. `wanted`: code -> weight, None for equal weights of the models that occur. A model that is
    wanted and has no row leaves its weight to the others. Raises `ValueError` where none that is wanted has a row.
    """
    model = np.asarray(model, dtype=np.int64)
    if model.size == 0:
        return np.zeros(0)
    count = np.bincount(model)
    mass = np.array([1.0 if wanted is None else wanted.get(code, 0.0) for code in range(len(count))])
    if mass[count > 0].sum() <= 0.0:
        raise ValueError("no row belongs to a model that has weight in the target")
    weight = mass[model] / count[model]
    return np.asarray(weight / weight.sum())


def sampling_weight(inclusion: ArrayLike, target: ArrayLike) -> FloatArray:
    """(row,) what each audited row stands for: its target weight over its probability of inclusion (horvitz1952)."""
    return np.asarray(target, dtype=np.float64) / np.asarray(inclusion, dtype=np.float64)


def post_stratified_weight(cell: ArrayLike, audited: ArrayLike, target: ArrayLike) -> tuple[FloatArray, float]:
    """(row,) weights that give the audited rows of each cell that cell's weight in the target; 0 for all other rows.

    `cell`: (row,) codes, such as of scorer label x stratum. `audited`: (row,) bool. `target`: (row,) target weights.
    Also returned: the share of the target in cells without an audited row, which these weights leave out.
    """
    cell, audited = np.asarray(cell, dtype=np.int64), np.asarray(audited, dtype=bool)
    target = np.asarray(target, dtype=np.float64)
    n_cells = int(cell.max(initial=-1)) + 1
    whole = np.bincount(cell, target, n_cells)
    seen = np.bincount(cell[audited], target[audited], n_cells)
    factor = np.divide(whole, seen, out=np.zeros(n_cells), where=seen > 0)
    total = float(target.sum())
    missed = float(whole[seen <= 0].sum()) / total if total > 0 else 0.0
    return np.where(audited, target * factor[cell], 0.0), missed


def collapsed_cells(fine: ArrayLike, coarse: ArrayLike, audited: ArrayLike) -> tuple[IntArray, int]:
    """(row,) codes of the fine cells, except that fine cells without an audited row are united by coarse cell.

    To each union comes the audited rest of its coarse cell, for else it would have no audited row either. Also
    returned: how many fine cells have no audited row.
    """
    fine, coarse = np.asarray(fine, dtype=np.int64), np.asarray(coarse, dtype=np.int64)
    audited = np.asarray(audited, dtype=bool)
    n_fine = int(fine.max(initial=-1)) + 1
    empty = (np.bincount(fine, minlength=n_fine) > 0) & (np.bincount(fine[audited], minlength=n_fine) == 0)
    united = np.isin(coarse, np.unique(coarse[empty[fine]]))
    code = np.where(united, n_fine + coarse, fine)
    return np.unique(code, return_inverse=True)[1].astype(np.int64), int(empty.sum())


@dataclass(frozen=True)
class Weighted:
    """A weighted share with its standard error. `problem`: why there is none, or empty."""

    value: float
    error: float
    rows: int
    problem: str = ""


def weighted_share(truth: ArrayLike, weight: ArrayLike) -> Weighted:
    """Hajek's share of truth 1 among (row,) audited rows, and its linearised standard error (sarndal1992, ch. 5.7).

    Residuals are w (z - mean) / sum w, as if rows had been drawn with replacement: conservative for an audit that was
    stratified or took a large part of the target.
    """
    truth, weight = np.asarray(truth, dtype=np.float64), np.asarray(weight, dtype=np.float64)
    rows = int((weight > 0).sum())
    if rows < 2:
        return Weighted(float("nan"), float("nan"), rows, "fewer than 2 audited rows")
    mean = float((weight * truth).sum() / weight.sum())
    residual = weight * (truth - mean) / weight.sum()
    return Weighted(mean, float(np.sqrt(rows / (rows - 1.0) * (residual**2).sum())), rows)


def hajek(of: Weighted, level: float = LEVEL, method: str = "design-weighted (Hajek)") -> Estimate:
    """The weighted share with its normal interval."""
    if of.problem:
        return undefined(SHARE, level, method, of.rows, of.problem)
    return normal_interval(of.value, of.error, SHARE, level, method, of.rows)


def hajek_contrast(
    treatment: Weighted, comparator: Weighted, level: float = LEVEL, method: str = "design-weighted (Hajek)"
) -> Estimate:
    """Difference of two weighted shares; arms independent, so their variances add."""
    n, problem = treatment.rows + comparator.rows, by_arm(treatment.problem, comparator.problem)
    if problem:
        return undefined(DIFFERENCE, level, method, n, problem)
    error = float(np.hypot(treatment.error, comparator.error))
    return normal_interval(treatment.value - comparator.value, error, DIFFERENCE, level, method, n)
