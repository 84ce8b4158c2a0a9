"""Card `misclassification-ordinal`: a latent true class, a judge who mistakes it by arm, people who err a little."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable
from scipy.special import log_softmax, logsumexp

from drift.likelihood.ordinal_kernel import OrdinalPatternLikelihood
from drift.likelihood.ordinal_pattern import joint_log_probability
from drift.models.effects import declare, standard_deviation
from drift.models.frame import Frame
from drift.models.misclassification_ordinal_frame import bases, distances, off_diagonal
from drift.models.misclassification_ordinal_priors import OrdinalScorerPriors, lenience_terms, share_terms
from drift.models.priors import Spread

COUNTED = ("column_rater", "seen_cell", "seen_label", "seen_count", "pattern_cell", "pattern_label", "pattern_count")


def misclassification_ordinal(frame: Frame, priors: OrdinalScorerPriors) -> pm.Model:
    """Log shares = arm + model + arm:model + stratum; the scorer's log odds = -fall |k - j| + table + lenience.

    Lenience tilts a row of the scorer's table towards the better labels: arm + model + arm:model + stratum +
    arm:stratum, by true class.
    """
    with pm.Model(coords=frame.coords) as model:
        declare(frame)
        share = _share(frame, priors)
        scorer = _scorer(frame, priors)
        rater = _rater(frame)
        _report("class_share", share, "cell", "truth")
        _report("scorer_confusion", scorer, "cell", "truth", "label")
        _report("rater_confusion", rater, "rater", "truth", "label")
        pattern_counts("labels", share, scorer, rater, frame)
    return model


def _share(frame: Frame, priors: OrdinalScorerPriors) -> TensorVariable:
    """(cell, K) logits of the true classes. Arms are not pooled: their contrasts are the estimand."""
    n_sides, n_labels = len(frame.coords["side"]), len(frame.coords["label"])
    arms = pm.Dirichlet("share_arm_free", np.full(n_labels, priors.share), shape=(n_sides, n_labels))
    found = pt.log(arms)[pm.modelcontext(None)["cell_side"]]
    for term, name, sd, rows, column in share_terms(priors):
        found = found + _effect(frame, term, name, sd, rows, column, "label")
    return found


def _scorer(frame: Frame, priors: OrdinalScorerPriors) -> TensorVariable:
    """(cell, K, K) logits of the scorer's labels, row the true class. Nothing keeps them near the truth."""
    data, n = pm.modelcontext(None), len(frame.coords["label"])
    zero_sum, step = bases(frame)["label"].T, np.arange(n) - (n - 1) / 2.0
    fall = pm.Normal("scorer_fall_free", priors.scorer_fall, priors.scorer_fall_spread)
    entry = pm.Normal("scorer_cell_free", 0.0, priors.scorer_cell, shape=(n, n - 1))
    found = (pt.dot(entry, zero_sum) - fall * distances(n))[None, :, :]
    lenience: Any = pt.zeros((len(frame.coords["cell"]), n))
    for term, name, sd, rows, column in lenience_terms(priors):
        lenience = lenience + _effect(frame, term, name, sd, rows, column, "free label")
    if "arm" in frame.terms:
        n_arms, arm = len(frame.coords["arm"]), data["cell_arm"]
        heavy = pm.StudentT("scorer_arm_free", nu=priors.arm_dof, mu=0.0, sigma=1.0, shape=(n_arms, n))
        lenience = lenience + (standard_deviation("sd_scorer_arm", priors.sd_scorer_arm) * heavy)[arm]
        if n > 2:
            sd = standard_deviation("sd_scorer_arm_cell", priors.sd_scorer_arm_cell)
            own = pm.Normal("scorer_arm_cell_free", 0.0, 1.0, shape=(n_arms, n * (n - 1)))
            own = pt.dot(own.reshape((n_arms * n, n - 1)), zero_sum).reshape((n_arms, n, n))
            found = found + (sd * own)[arm]
    return found + lenience[:, :, None] * step


def _rater(frame: Frame) -> TensorVariable:
    """(rater, K, K) logits of a rater's labels, the same in every arm; the true class is the likeliest.

    Those of mistakes are truncated at 0, the logit of the true class: the anchor.
    """
    data, n = pm.modelcontext(None), len(frame.coords["label"])
    neighbour, fall, spread = (data["rater_prior"][place] for place in range(3))
    place, n_raters = off_diagonal(n), len(frame.coords["rater"])
    location = neighbour - fall * (place @ distances(n).ravel() - 1.0)
    mistakes = pm.TruncatedNormal("rater_mistake_free", location, spread, upper=0.0, shape=(n_raters, n * (n - 1)))
    return pt.dot(mistakes, place).reshape((n_raters, n, n))


def _effect(frame: Frame, term: str, name: str, sd: Spread, rows: str, column: str, last: str) -> Any:
    """(cell, K) effect in the space that the three maps of `bases` span; 0 if the term is left out."""
    if term not in frame.terms:
        return 0.0
    maps = [bases(frame)[key] for key in (rows, column, last)]
    free_rows, free_columns, free_last = (basis.shape[1] for basis in maps)
    free = pm.Normal(f"{name}_free", 0.0, 1.0, shape=(free_rows * free_columns, free_last))
    values = pt.dot(pt.dot(np.kron(maps[0], maps[1]), free), maps[2].T)
    data = pm.modelcontext(None)
    row, level = (0 if key == "one" else data[f"cell_{key.removeprefix('free ')}"] for key in (rows, column))
    return standard_deviation(f"sd_{name}", sd) * values[row * len(maps[1]) + level]


def _report(name: str, logits: TensorVariable, *dims: str) -> None:
    pm.Deterministic(name, pt.special.softmax(logits, axis=-1), dims=dims)


def pattern_counts(name: str, share: Any, scorer: Any, rater: Any, frame: Frame) -> Any:
    """The observed counts of label patterns; share, scorer and rater are logits, normalised here.

    Of a pattern that no rater labelled, the observed number is that of *all* rows of its cell with its scorer label.
    Draws are made in that order, scorer labels first, then ratings given them, with as many rated rows of each cell,
    scorer label and set of raters as the audit took. The density needs only the patterns that occur.
    """
    data = pm.modelcontext(None)
    return pm.CustomDist(
        name,
        share,
        scorer,
        rater,
        *(data[array] for array in COUNTED),
        logp=lambda _counts, *parameters: OrdinalPatternLikelihood()(*parameters[:7])[0],
        random=draw_counts,
        signature="(c,k),(c,k,l),(r,k,l),(t),(s),(s,u),(s),(p),(p,u),(p)->(p)",
        dtype="int64",
        observed=frame.arrays["label_count"],
    )


def draw_counts(
    share: NDArray[Any],
    scorer: NDArray[Any],
    rater: NDArray[Any],
    column_rater: NDArray[Any],
    seen_cell: NDArray[Any],  # noqa: ARG001  # of the observed counts; a draw has its own
    seen_label: NDArray[Any],  # noqa: ARG001  # as above
    seen_count: NDArray[Any],  # noqa: ARG001  # as above
    pattern_cell: NDArray[Any],
    pattern_label: NDArray[Any],
    pattern_count: NDArray[Any],
    rng: np.random.Generator,
    size: Any = None,  # noqa: ARG001  # PyMC passes it; one draw of all counts is all that a design allows
) -> NDArray[np.int64]:
    """(pattern,) counts as `pattern_counts` describes them."""
    of_class, of_scorer, of_rater = (log_softmax(logits, axis=-1) for logits in (share, scorer, rater))
    joint = joint_log_probability(of_class, of_scorer, of_rater, column_rater, pattern_cell, pattern_label)
    probability = np.exp(logsumexp(joint, axis=-1))
    drawn = np.zeros(pattern_count.size, np.int64)
    rated, scored = pattern_label[:, 1:] >= 0, pattern_label[:, 0] >= 0
    for cell in np.unique(pattern_cell):
        here = (pattern_cell == cell) & scored
        alone = np.flatnonzero(here & ~rated.any(axis=1))
        drawn[alone] = _multinomial(pattern_count[here].sum(), probability[alone], rng)
    group = np.column_stack([pattern_cell, pattern_label[:, 0], rated])
    places = np.flatnonzero(rated.any(axis=1))
    _, which = np.unique(group[places], axis=0, return_inverse=True)
    for number in range(which.max() + 1 if which.size else 0):
        same = places[which.ravel() == number]
        drawn[same] = _multinomial(pattern_count[same].sum(), probability[same], rng)
    return drawn


def _multinomial(n: Any, probability: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.multinomial(n, probability / probability.sum())
