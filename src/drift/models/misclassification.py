"""Cards `misclassification*`: a latent truth, a scorer that errs by arm, and raters who err a little."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from drift.likelihood.operations import PatternLikelihood
from drift.likelihood.pattern_probability import pattern_probability
from drift.models.effects import declare, standard_deviation, zero_sum
from drift.models.frame import Frame
from drift.models.misclassification_priors import DependentPriors, MisclassificationPriors, overall, spreads
from drift.models.priors import Spread


def misclassification(frame: Frame, priors: MisclassificationPriors) -> pm.Model:
    """Phi^-1(prevalence) = arm + model + arm:model + stratum; Phi^-1(fpr) and Phi^-1(fnr) have arm:stratum as well.

    With `DependentPriors` the tests that `frame.arrays["shares"]` marks share an error factor.
    """
    with pm.Model(coords=frame.coords) as model:
        declare(frame)
        prevalence = _prevalence(frame, priors)
        scorer = pt.stack([_error(frame, priors, "fpr"), _error(frame, priors, "fnr")])
        rater = pt.stack([_rater("rater_fpr"), _rater("rater_fnr")])
        dependence: Any = np.zeros(2)
        if isinstance(priors, DependentPriors):
            dependence = pm.Beta("dependence", *priors.dependence, dims="truth")
        _report("prevalence", prevalence, "cell")
        _report("fpr", scorer[0], "cell")
        _report("fnr", scorer[1], "cell")
        pattern_counts("labels", prevalence, scorer, rater, dependence, frame)
    return model


def _prevalence(frame: Frame, priors: MisclassificationPriors) -> TensorVariable:
    """(cell,) probits. Arms are not pooled: their contrasts are the estimand, and pooling would shrink them."""
    data = pm.modelcontext(None)
    arms = pm.Normal("prevalence_arm_free", 0.0, priors.prevalence, shape=frame.arrays["side_group"].size)
    stratum = Spread(priors.prevalence_stratum, "fixed")
    return (
        arms[data["cell_side"]]
        + _effect(frame, "model", "prevalence_model", priors.sd_prevalence_model, "population", "model", free_rows=True)
        + _effect(frame, "arm:model", "prevalence_arm_model", priors.sd_prevalence_arm_model, "side", "model")
        + _effect(frame, "stratum", "prevalence_stratum", stratum, "side", "stratum", free_rows=True)
    )


def _error(frame: Frame, priors: MisclassificationPriors, kind: str) -> TensorVariable:
    """(cell,) probits of the scorer's errors of one kind."""
    data = pm.modelcontext(None)
    spread = spreads(priors, kind)
    level: Any = pm.Normal(f"{kind}_overall_free", *overall(priors, kind))
    if "arm" in frame.terms:
        sd = standard_deviation(f"sd_{kind}_arm", spread["arm"])
        level = _false_positives(level, sd, frame) if kind == "fpr" else _misses(level, sd, frame, priors)
        level = level[data["cell_arm"]]
    stratum = Spread(priors.error_stratum, "fixed")
    return (
        level
        + _effect(frame, "model", f"{kind}_model", spread["model"], "model")
        + _effect(frame, "arm:model", f"{kind}_arm_model", spread["arm_model"], "arm", "model")
        + _effect(frame, "stratum", f"{kind}_stratum", stratum, "stratum")
        + _effect(frame, "arm:stratum", f"{kind}_arm_stratum", spread["arm_stratum"], "arm", "stratum")
    )


def _false_positives(level: Any, sd: Any, frame: Frame) -> TensorVariable:
    """(arm,) probits of false positives about the common level."""
    return pm.Normal("fpr_arm_free", level, sd, shape=len(frame.coords["arm"]))


def _misses(level: Any, sd: Any, frame: Frame, priors: MisclassificationPriors) -> TensorVariable:
    """(arm,) probits of false negatives: heavy tails about the common level.

    Sampled about the level where the audit tells the arms apart (`frame.centred`), else in units of their spread.
    """
    n_arms, centred = len(frame.coords["arm"]), "fnr" in frame.centred
    location, scale = (level, sd) if centred else (0.0, 1.0)
    arms = pm.StudentT("fnr_arm_free", nu=priors.arm_dof, mu=location, sigma=scale, shape=n_arms)
    return arms if centred else level + sd * arms


def _rater(name: str) -> TensorVariable:
    """(1, rater) probits of an error, the same in every arm: fewer than half of each class (the anchor)."""
    data = pm.modelcontext(None)
    location, spread = data["rater_prior"][0], data["rater_prior"][1]
    n_arms, n_raters = (len(data.coords[factor]) for factor in ("arm", "rater"))
    below_zero = pm.TruncatedNormal(f"{name}_free", location, spread, upper=0.0, shape=n_raters)
    error = _phi(below_zero) * (1 - data["reference"])
    pm.Deterministic(name, pt.repeat(error[None, :], n_arms, axis=0), dims=("arm", "rater"))
    return below_zero[None, :]


def _effect(frame: Frame, term: str, name: str, sd: Spread, *factors: str, free_rows: bool = False) -> Any:
    """(cell,) effect that sums to zero over its factors (with `free_rows` over the last one alone); 0 if left out."""
    if term not in frame.terms:
        return 0.0
    data = pm.modelcontext(None)
    rows, column = (factors[0] if len(factors) == 2 else None), factors[-1]
    n_rows = (frame.arrays[f"{rows}_group"].size if free_rows else _freedom(frame, rows)) if rows else 1
    values = zero_sum(pm.Normal(f"{name}_free", 0.0, 1.0, shape=(n_rows, _freedom(frame, column))), column)
    if rows and not free_rows:
        values = zero_sum(values.T, rows).T
    row = data[f"cell_{rows}"] if rows else 0
    return standard_deviation(f"sd_{name}", sd) * values[row, data[f"cell_{column}"]]


def _freedom(frame: Frame, factor: str) -> int:
    return int(frame.arrays[f"{factor}_group"].size - frame.arrays[f"{factor}_size"].size)


def _phi(probit: Any) -> Any:
    """Phi, with all its digits in the lower tail, where `pm.math.invprobit` has lost them."""
    return 0.5 * pt.erfc(-probit / np.sqrt(2.0))


def _report(name: str, probit: Any, dims: str) -> None:
    pm.Deterministic(name, _phi(probit), dims=dims)


def pattern_counts(name: str, prevalence: Any, scorer: Any, rater: Any, dependence: Any, frame: Frame) -> Any:
    """The observed counts of label patterns; see `likelihood.misclassification` for shapes.

    Of a pattern that no rater labelled, the observed number is that of *all* rows of its cell with its scorer label.
    Draws are made in that order, scorer labels first, then ratings given them, with as many rated rows of each cell,
    scorer label and set of raters as the audit took: under an audit that was sampled on the scorer's label, anything
    else would be another model.
    """
    data = pm.modelcontext(None)
    names = (
        "cell_rater",
        "pattern_cell",
        "pattern_label",
        "pattern_count",
        "reference",
        "shares",
        "node",
        "log_weight",
    )
    return pm.CustomDist(
        name,
        prevalence,
        scorer,
        rater,
        dependence,
        *(data[array] for array in names),
        logp=lambda _counts, *parameters: PatternLikelihood()(*parameters)[0],
        random=draw_counts,
        signature="(c),(z,c),(z,w,r),(z),(c),(p),(p,t),(p),(r),(t),(q),(q)->(p)",
        dtype="int64",
        observed=frame.arrays["label_count"],
    )


def draw_counts(
    prevalence: NDArray[Any],
    scorer: NDArray[Any],
    rater: NDArray[Any],
    dependence: NDArray[Any],
    cell_rater: NDArray[Any],
    pattern_cell: NDArray[Any],
    pattern_label: NDArray[Any],
    pattern_count: NDArray[Any],
    reference: NDArray[Any],
    shares: NDArray[Any],
    node: NDArray[Any],
    log_weight: NDArray[Any],
    rng: np.random.Generator,
    size: Any = None,  # noqa: ARG001  # PyMC passes it; one draw of all counts is all that a design allows
) -> NDArray[np.int64]:
    """(pattern,) counts as `pattern_counts` describes them."""
    parameters = (prevalence, scorer, rater, dependence, cell_rater, pattern_cell, pattern_label)
    probability = pattern_probability(*parameters, reference, shares, node, np.exp(log_weight))
    drawn = np.zeros(pattern_count.size, np.int64)
    rated = pattern_label[:, 1:] >= 0
    for cell in np.unique(pattern_cell):
        here = pattern_cell == cell
        one, none = (here & ~rated.any(axis=1) & (pattern_label[:, 0] == label) for label in (1, 0))
        n_rows = pattern_count[here].sum()
        drawn[one] = rng.binomial(n_rows, probability[one][0])
        drawn[none] = n_rows - drawn[one]
    group = np.column_stack([pattern_cell, pattern_label[:, 0], rated])
    _, which = np.unique(group[rated.any(axis=1)], axis=0, return_inverse=True)
    places = np.flatnonzero(rated.any(axis=1))
    for number in range(which.max() + 1 if which.size else 0):
        same = places[which.ravel() == number]
        share = probability[same] / probability[same].sum()
        drawn[same] = rng.multinomial(pattern_count[same].sum(), share)
    return drawn
