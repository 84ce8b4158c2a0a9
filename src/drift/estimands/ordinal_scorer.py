"""Mean deviation by arm on an ordered scale: corrected, as the scorer has it, and the bias of contrasts between arms.

Deviation of a label is 100 (K - 1 - code) / (K - 1) percent of the scale: 0 for the best label, 100 for the worst. Two
targets, from one fit. "panel": the rows themselves; the true class of each is imputed. "superpopulation": the responses
that the rows are a sample of, from the parameters.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import xarray as xr
from scipy.special import softmax

from drift.data.scorer_declaration import ScorerContrast, ScorerTarget
from drift.errors import DriftError
from drift.estimands.prevalence import model_weights, row_counts, target_rows
from drift.estimands.quadrature import Floats
from drift.estimands.scored import BLOCK, Flags, Labels, Scored
from drift.estimands.scorer_contrasts import arm_codes
from drift.estimands.summary import ROWS, probability
from drift.estimands.terms import SAMPLE, Ints
from drift.likelihood.ordinal_pattern import joint_log_probability

IMPUTED = 5  # stream of random numbers
TINY = np.finfo(np.float64).tiny  # a probability that has underflowed counts as this


class TargetNotOfferedError(DriftError):
    """A target was asked for that an ordinal scorer card does not answer."""


@dataclass(frozen=True)
class OrdinalScored:
    """Draws of card `misclassification-ordinal` and the labels that it was fitted to. Draws: chain-major, chain x draw.

    class_share: (draw, cell, K). scorer_confusion: (draw, cell, K, K), rater_confusion: (draw, rater, K, K): rows are
    the true class. column_rater: (column,) whose matrix each column of raters' labels has. The rest as in
    `scored.Scored`; labels are codes, 0 the worst.
    """

    class_share: Floats
    scorer_confusion: Floats
    rater_confusion: Floats
    column_rater: Ints
    cell_arm: Ints
    cell_model: Ints
    cell_population: Ints
    pattern_cell: Ints
    pattern_label: Labels
    pattern_count: Ints
    row_arm: Ints
    row_model: Ints
    row_population: Ints
    target: int
    levels: Mapping[str, tuple[str, ...]]
    labels: tuple[str, ...]
    n_chains: int
    seed: int

    @property
    def n_labels(self) -> int:
        return len(self.labels)

    @property
    def deviation(self) -> Floats:
        """(K,) deviation of each label, percent."""
        return 100.0 * np.arange(self.n_labels - 1, -1, -1) / (self.n_labels - 1)

    @property
    def is_prior(self) -> bool:
        """Whether no label was seen, so that the scorer's labels are not known either."""
        return bool((self.pattern_label < 0).all())

    def draws(self, values: Floats, dims: tuple[str, ...], coords: Mapping[str, Any], name: str) -> xr.DataArray:
        """(draw, ...) values as labelled draws (chain, draw, ...)."""
        shape = (self.n_chains, len(values) // self.n_chains)
        numbered = {dim: np.arange(size) for dim, size in zip(SAMPLE, shape, strict=True)}
        return xr.DataArray(
            values.reshape(*shape, *values.shape[1:]), {**numbered, **coords}, [*SAMPLE, *dims], name=name
        )


def ordinal_scored(tree: xr.DataTree, variant: str = "") -> OrdinalScored:
    """The posterior of an ordinal scorer card, or of one of its sensitivity variants."""
    if not variant:
        return _scored(tree, tree["posterior"].to_dataset())
    group = tree["variants"][variant].to_dataset()
    return _scored(tree, group, group)


def ordinal_prior_scored(tree: xr.DataTree) -> OrdinalScored:
    """Its prior, one chain, before any label is seen: every label of every pattern is unknown."""
    unseen = _patterns(tree)
    unseen = unseen.assign(pattern_label=xr.full_like(unseen["pattern_label"], -1))
    return _scored(tree, tree["prior"].to_dataset(), unseen)


def truth_probability(scored: OrdinalScored) -> Floats:
    """(draw, pattern, K) P(true class | the labels seen, the parameters of the draw). Source: dawid1979."""
    found = np.empty((len(scored.class_share), len(scored.pattern_cell), scored.n_labels))
    for block in _blocks(scored):
        found[block] = _truth(scored, block)
    return found


def class_shares(scored: OrdinalScored, target: ScorerTarget) -> xr.DataArray:
    """Draws of the corrected share of each true class, dims (chain, draw, arm, truth), models mixed as declared.

    Arms without a row in the target are left out; coordinate `n_rows`: rows of each arm there. Raises `EmptyCellsError`
    where a model with weight has no row in an arm, `TargetNotOfferedError` for new keys.
    """
    arms, share = _corrected(scored, target)
    return scored.draws(share, ("arm", "truth"), {**_arms(scored, arms), "truth": list(scored.labels)}, "class_share")


def mean_deviation(scored: OrdinalScored, target: ScorerTarget) -> xr.DataArray:
    """Draws of the corrected mean deviation, dims (chain, draw, arm), percent. Raises as `class_shares`."""
    arms, share = _corrected(scored, target)
    found = scored.draws(share @ scored.deviation, ("arm",), _arms(scored, arms), "mean_deviation")
    return found.assign_attrs(unit="percent", target=target.prevalence)


def automatic_deviation(scored: OrdinalScored, target: ScorerTarget) -> xr.DataArray:
    """Draws of the mean deviation of the scorer's labels, dims (chain, draw, arm), percent: known, of the panel."""
    arms, share = _automatic(scored, target)
    found = scored.draws(share @ scored.deviation, ("arm",), _arms(scored, arms), "automatic_deviation")
    return found.assign_attrs(unit="percent", target=target.prevalence)


def deviation_contrasts(scored: OrdinalScored, target: ScorerTarget, contrasts: Sequence[ScorerContrast]) -> xr.Dataset:
    """Draws of every contrast, dims (chain, draw, contrast), treatment minus comparator, percentage points.

    `corrected` (of the truth), `automatic` (of the scorer's labels), `bias` = automatic - corrected. Positive: the
    treatment's responses are worse. Raises `UnknownLevelError` naming arms that the target does not have, and as
    `class_shares`.
    """
    sides = arm_codes(_rows(scored), contrasts)
    arms, corrected = _corrected(scored, target)
    place = {int(arm): column for column, arm in enumerate(arms)}
    treatment, comparator = ([place[pair[side]] for pair in sides] for side in (0, 1))
    coords = {"contrast": [contrast.name for contrast in contrasts]}
    found = {}
    for name, share in (("corrected", corrected), ("automatic", _automatic(scored, target)[1])):
        value = share @ scored.deviation
        found[name] = scored.draws(value[:, treatment] - value[:, comparator], ("contrast",), coords, name)
    found["bias"] = found["automatic"] - found["corrected"]
    return xr.Dataset(found, attrs={"target": target.prevalence, "unit": "percentage points"})


def within_tolerance(draws: xr.Dataset, contrasts: Sequence[ScorerContrast]) -> xr.Dataset:
    """`probability` that the contrast bias is smaller than the declared tolerance, and its `mcse`, dim contrast."""
    tolerance = xr.DataArray([contrast.tolerance_pp for contrast in contrasts], dims="contrast")
    return probability(abs(draws["bias"]) < tolerance)


def expected_confusion(scored: OrdinalScored, target: ScorerTarget) -> xr.DataArray:
    """Draws of P(scorer's label | true class) by arm, dims (chain, draw, arm, truth, label).

    Of the responses that the rows are a sample of; a model and stratum counts by the share of the class that it
    contributes. Raises `EmptyCellsError` as `class_shares`.
    """
    arms, cells, weight = _weighted_cells(scored, target)
    of_class = scored.class_share[:, cells]
    joint = np.einsum("ca,dck,dckl->dakl", weight, of_class, scored.scorer_confusion[:, cells])
    total = np.einsum("ca,dck->dak", weight, of_class)
    names = list(scored.labels)
    coords = {**_arms(scored, arms), "truth": names, "label": names}
    return scored.draws(joint / total[..., None], ("arm", "truth", "label"), coords, "expected_confusion")


def _corrected(scored: OrdinalScored, target: ScorerTarget) -> tuple[Ints, Floats]:
    """Codes of the arms of the target, and (draw, arm, K) shares of true classes."""
    if target.prevalence == "panel":
        return _imputed(scored, target)
    if target.prevalence == "new-keys":
        raise TargetNotOfferedError(
            'an ordinal scorer card answers for [target] prevalence = "panel" or "superpopulation", not "new-keys"'
        )
    arms, cells, weight = _weighted_cells(scored, target)
    return arms, np.einsum("ca,dck->dak", weight, scored.class_share[:, cells])


def _automatic(scored: OrdinalScored, target: ScorerTarget) -> tuple[Ints, Floats]:
    """As `_corrected`, of the scorer's labels: those of the panel's rows, else what the parameters lead to expect."""
    if target.prevalence != "panel" or scored.is_prior:
        arms, cells, weight = _weighted_cells(scored, target)
        share, confusion = scored.class_share[:, cells], scored.scorer_confusion[:, cells]
        return arms, np.einsum("ca,dck,dckl->dal", weight, share, confusion)
    arms, patterns, each = _weighted_patterns(scored, target)
    given = scored.pattern_label[patterns, 0][:, None] == np.arange(scored.n_labels)
    count = (scored.pattern_count[patterns, None] * each).T @ given
    return arms, np.broadcast_to(count, (len(scored.class_share), *count.shape))


def _imputed(scored: OrdinalScored, target: ScorerTarget) -> tuple[Ints, Floats]:
    """The true classes of the n rows with a pattern: multinomial(n, P(class | pattern)), draw by draw."""
    arms, patterns, each = _weighted_patterns(scored, target)
    rng = np.random.default_rng([scored.seed, IMPUTED])
    found = np.empty((len(scored.class_share), len(arms), scored.n_labels))
    for block in _blocks(scored):
        count = rng.multinomial(scored.pattern_count[patterns], _truth(scored, block)[:, patterns])
        found[block] = np.einsum("pa,dpk->dak", each, count)
    return arms, found


def _weighted_cells(scored: OrdinalScored, target: ScorerTarget) -> tuple[Ints, Ints, Floats]:
    """Arms of the target, its cells, and (cell, arm) weights that add up to 1 in each arm."""
    arms, patterns, each = _weighted_patterns(scored, target)
    cells = np.unique(scored.pattern_cell[patterns])
    weight = np.zeros((len(scored.cell_arm), len(arms)))
    np.add.at(weight, scored.pattern_cell[patterns], scored.pattern_count[patterns, None] * each)
    return arms, cells, weight[cells]


def _weighted_patterns(scored: OrdinalScored, target: ScorerTarget) -> tuple[Ints, Ints, Floats]:
    """Arms of the target, its patterns, and (pattern, arm) weight of a row with the pattern in the mean of an arm."""
    rows = _rows(scored)
    count = row_counts(rows, target_rows(rows))
    each = model_weights(rows, target.models, count) / np.maximum(count, 1)
    arms = np.flatnonzero(count.any(axis=1))
    patterns = np.flatnonzero(scored.cell_population[scored.pattern_cell] == scored.target)
    cell = scored.pattern_cell[patterns]
    arm = scored.cell_arm[cell]
    return arms, patterns, np.asarray((arm[:, None] == arms) * each[arm, scored.cell_model[cell]][:, None])


def _truth(scored: OrdinalScored, block: slice) -> Floats:
    """(draw, pattern, K) of a block of draws."""
    tables = (scored.class_share, scored.scorer_confusion, scored.rater_confusion)
    logs = (np.log(np.maximum(table[block], TINY)) for table in tables)
    share, scorer, rater = logs
    joint = joint_log_probability(share, scorer, rater, scored.column_rater, scored.pattern_cell, scored.pattern_label)
    return np.asarray(softmax(joint, axis=-1))


def _blocks(scored: OrdinalScored) -> Iterator[slice]:
    size = max(1, BLOCK // (len(scored.pattern_cell) * scored.n_labels))
    return (slice(start, start + size) for start in range(0, len(scored.class_share), size))


def _rows(scored: OrdinalScored) -> Scored:
    """For what reads only the rows, the levels and the target, which both kinds of posterior have alike."""
    return cast(Scored, scored)


def _arms(scored: OrdinalScored, arms: Ints) -> dict[str, Any]:
    inside: Flags = target_rows(_rows(scored))
    count = row_counts(_rows(scored), inside).sum(axis=1)
    return {"arm": [scored.levels["arm"][arm] for arm in arms], ROWS: ("arm", count[arms])}


def _patterns(tree: xr.DataTree) -> xr.Dataset:
    return tree["constant_data"].to_dataset().assign(pattern_count=tree["observed_data"]["pattern_count"])


def _scored(tree: xr.DataTree, sample: xr.Dataset, patterns: xr.Dataset | None = None) -> OrdinalScored:
    """Draws of `sample` with the patterns of `patterns`, by default those of the posterior."""
    data, seen = tree["constant_data"].to_dataset(), _patterns(tree) if patterns is None else patterns
    label = np.asarray(seen["pattern_label"].transpose("pattern", "test").values, np.int8)
    arrays: dict[str, Any] = {
        f"row_{factor}": _codes(data[f"{factor}_index"]) for factor in ("arm", "model", "population")
    }
    arrays |= {name: _codes(data[name]) for name in ("cell_arm", "cell_model", "cell_population")}
    arrays |= {name: _codes(seen[name]) for name in ("pattern_cell", "pattern_count")}
    return OrdinalScored(
        **arrays,
        class_share=_draws(sample["class_share"], "cell", "truth"),
        scorer_confusion=_draws(sample["scorer_confusion"], "cell", "truth", "label"),
        rater_confusion=_draws(sample["rater_confusion"], "rater", "truth", "label"),
        column_rater=np.arange(label.shape[1] - 1),
        pattern_label=label,
        target=int(data.attrs.get("target_population", 0)),
        levels={factor: tuple(map(str, data[factor].values)) for factor in ("arm", "model", "rater")},
        labels=tuple(map(str, tree["posterior"].to_dataset()["label"].values)),
        n_chains=sample.sizes["chain"],
        seed=int(tree.attrs["seed"]),
    )


def _codes(array: xr.DataArray) -> Ints:
    return np.asarray(array.values, np.int64)


def _draws(sample: xr.DataArray, *dims: str) -> Floats:
    """(draw, *dims) float64."""
    found = sample.transpose(*SAMPLE, *dims)
    n_draws = found.sizes["chain"] * found.sizes["draw"]
    return np.ascontiguousarray(found.values, dtype=np.float64).reshape(n_draws, *found.shape[2:])
