"""One arm of a scorer study as the plain arrays that the methods take, with the weights of its rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from drift.data.label_rows import BoolArray, LabelArray
from drift.data.labels import Labels
from drift.data.scorer_declaration import ModelWeights
from drift.frequentist.audit_table import majority
from drift.frequentist.post_stratified import PredictiveValues, predictive_values
from drift.frequentist.prediction_powered import Predicted, predicted
from drift.frequentist.rogan_gladen import Calibrated, calibrated
from drift.frequentist.share import UNAUDITED, Share, share
from drift.frequentist.weighting import (
    Weighted,
    collapsed_cells,
    mixture_weight,
    post_stratified_weight,
    sampling_weight,
    weighted_share,
)
from drift.scale import FloatArray, IntArray

Rater = int | Literal["majority"]


@dataclass(frozen=True)
class Arm:
    """The target rows of one arm. All (row,): labels, truth -1 where not audited, codes, inclusion NaN unknown.

    `wanted`: model code -> weight in the target; None weighs the models that occur alike.
    """

    scorer: LabelArray
    truth: LabelArray
    key: IntArray
    model: IntArray
    stratum: IntArray
    inclusion: FloatArray
    wanted: Mapping[int, float] | None = None

    @property
    def audited(self) -> BoolArray:
        return np.asarray(self.truth != UNAUDITED)

    @cached_property
    def target(self) -> FloatArray:
        """(row,) weights under which the rows are the target; they sum to 1."""
        return mixture_weight(self.model, self.wanted)

    @cached_property
    def as_drawn(self) -> FloatArray:
        """(row,) weights of audited rows as if they were a random sample of each model's rows; 0 elsewhere."""
        weight = np.zeros(len(self.scorer))
        if self.audited.any():
            weight[self.audited] = mixture_weight(self.model[self.audited], self.wanted)
        return weight

    @cached_property
    def by_design(self) -> FloatArray:
        """(row,) weights of audited rows by how they were drawn; 0 elsewhere. `weighting` says which weights."""
        if self.inclusion_known:
            seen = np.flatnonzero(self.audited)
            weight = np.zeros(len(self.scorer))
            weight[seen] = sampling_weight(self.inclusion[seen], self.target[seen])
            return weight
        return post_stratified_weight(self._cells, self.audited, self.target)[0]

    @property
    def weighting(self) -> str:
        """Which weights `by_design` has, and what part of the target no audited row stands for."""
        if self.inclusion_known:
            return "weights: 1 / inclusion probability"
        missed = post_stratified_weight(self._cells, self.audited, self.target)[1]
        text = "weights: post-stratified by model, stratum and scorer label"
        return f"{text}; no audited row for {missed:.1%} of the target" if missed > 0 else text

    @property
    def inclusion_known(self) -> bool:
        return bool(self.audited.any() and np.isfinite(self.inclusion[self.audited]).all())

    @property
    def weighted(self) -> Weighted:
        """Share of truth 1 among audited rows weighted by design."""
        return weighted_share(self.truth[self.audited], self.by_design[self.audited])

    @property
    def apparent(self) -> Share:
        return share(self.scorer, self.target)

    @property
    def seen(self) -> Share:
        """Share of truth 1 among audited rows as drawn."""
        return share(self.truth[self.audited], self.as_drawn[self.audited])

    def calibrated(self, weight: FloatArray) -> Calibrated:
        """For Rogan and Gladen's correction, audited rows weighing (row,) `weight`."""
        found = calibrated(self.scorer, self.scorer, self.truth, weight)
        return Calibrated(self.apparent, found.sensitivity, found.specificity)

    def predicted(self) -> Predicted:
        """For prediction-powered inference, the audit taken for a random sample; the rest of the target beside it."""
        seen, rest = self.audited, ~self.audited
        return predicted(self.truth[seen], self.scorer[seen], self.scorer[rest], self.as_drawn[seen], self.target[rest])

    def predicted_weighted(self) -> Predicted:
        """The same with the audit weighted by design; all of the target beside it, unless all of it is audited."""
        seen, panel = self.audited, np.full(len(self.audited), not self.audited.all())
        return predicted(
            self.truth[seen], self.scorer[seen], self.scorer[panel], self.by_design[seen], self.target[panel]
        )

    def predictive_values(self) -> PredictiveValues:
        return predictive_values(self.scorer, self.truth, self.stratum, self.target)

    @cached_property
    def _cells(self) -> IntArray:
        """(row,) cells of model x stratum x label; those without an audited row united over models, then strata."""
        by_stratum = self.stratum * 2 + self.scorer
        fine = self.model * (int(by_stratum.max(initial=0)) + 1) + by_stratum
        united = collapsed_cells(fine, by_stratum, self.audited)[0]
        return collapsed_cells(united, self.scorer, self.audited)[0]


def target_arm(labels: Labels, arm: str, rater: Rater = 0, models: ModelWeights = "equal") -> Arm:
    """The arm's rows of the target population, truth as by one rater (its place) or by the majority of raters.

    `models`: as in the study's target; rows of models without weight are left out. Where audited rows lack this truth,
    probabilities of inclusion are not those of having it, and count as unknown. Raises `ValueError` for an arm, rater
    or model that there is not.
    """
    wanted = _wanted(labels, models)
    rows = in_arm(labels, arm) & labels.in_target
    if wanted is not None:
        rows &= np.isin(labels.codes["model"], [code for code, weight in wanted.items() if weight > 0.0])
    codes = {factor: labels.codes[factor][rows] for factor in ("key", "model", "stratum")}
    truth = truth_labels(labels, rater)
    whole = not labels.unrated and np.array_equal(truth[rows] != UNAUDITED, labels.audited[rows])
    inclusion = labels.inclusion[rows] if whole else np.full(int(rows.sum()), np.nan)
    return Arm(labels.scorer[rows], truth[rows], **codes, inclusion=inclusion, wanted=wanted)


def outside_arm(labels: Labels, arm: str, audit: str, rater: Rater = 0) -> tuple[LabelArray, LabelArray]:
    """Scorer labels and truth of the arm's audited rows outside the target that belong to one audit, both (row,)."""
    truth = truth_labels(labels, rater)
    rows = in_arm(labels, arm) & ~labels.in_target & (labels.audit == labels.audits.index(audit))
    rows &= truth != UNAUDITED
    return labels.scorer[rows], truth[rows]


def in_arm(labels: Labels, arm: str) -> BoolArray:
    """(row,) whether it is of this arm, in the target or not."""
    if arm not in labels.levels["arm"]:
        raise ValueError(f"no arm {arm}; arms are {', '.join(labels.levels['arm'])}")
    return np.asarray(labels.codes["arm"] == labels.levels["arm"].index(arm))


def truth_labels(labels: Labels, rater: Rater) -> LabelArray:
    """(row,) what is taken for the truth: one rater's labels, or the majority's; -1 where there is none."""
    if rater == "majority":
        return majority(labels.rating)
    if not 0 <= rater < len(labels.raters):
        raise ValueError(f"no rater {rater}: there are {len(labels.raters)}, counted from 0")
    return labels.rating[:, rater]


def _wanted(labels: Labels, models: ModelWeights) -> Mapping[int, float] | None:
    """Model code -> weight in the target, the same in every arm."""
    if models == "equal":
        return None
    if models == "rows":
        count = np.bincount(labels.codes["model"][labels.in_target])
        return {code: float(rows) for code, rows in enumerate(count)}
    unknown = sorted({*models} - {*labels.levels["model"]})
    if unknown:
        raise ValueError(f"no model {', '.join(unknown)}; models are {', '.join(labels.levels['model'])}")
    return {labels.levels["model"].index(name): weight for name, weight in models.items()}
