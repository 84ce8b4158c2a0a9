"""The words that the model functions are written in. Each is said inside a `with pm.Model` block."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from drift.errors import CardFileError
from drift.likelihood.operations import CumulativeLogit, ZeroSum
from drift.models.frame import Frame
from drift.models.priors import SHAPE, Spread


def declare(frame: Frame) -> None:
    """The frame's arrays as the model's data: their values may change, the numbers of levels may not."""
    for name, array in frame.arrays.items():
        pm.Data(name, array)


def standard_deviation(name: str, prior: Spread) -> Any:
    """A positive scalar called `name`, or the constant that the card fixes it at."""
    if prior.kind == "fixed":
        return prior.scale
    return (
        pm.HalfNormal(name, prior.scale) if prior.kind == "half_normal" else pm.Gamma(name, SHAPE, SHAPE / prior.scale)
    )


def effect(frame: Frame, *factors: str, sd: Spread) -> Any:
    """(cells,) zero-sum effect of one factor, or of the interaction of two, at each cell; 0 where it is left out.

    The levels' effects are `<factors>_effect`, their standard deviation before centring `sd_<factors>`.
    """
    term = ":".join(factors)
    if term not in (*frame.terms, "model"):
        return 0.0
    data = pm.modelcontext(None)
    return levels(frame, *factors, sd=sd)[tuple(data[f"cell_{factor}"] for factor in factors)]


def levels(frame: Frame, *factors: str, sd: Spread) -> TensorVariable:
    """The effect itself, one value a level: sums to zero over every factor, for questions within each domain.

    Centred (scale in the prior) where the levels surely differ, non-centred (scale outside) where they may not: the
    same law, another geometry.
    """
    name, term = "_".join(factors), ":".join(factors)
    spread = standard_deviation(f"sd_{name}", sd)
    centred = term in frame.centred
    free = pm.Normal(f"{name}_free", 0.0, spread if centred else 1.0, shape=[_freedom(frame, f) for f in factors])
    values = free if len(factors) == 2 else free[None, :]
    for factor in reversed(factors):
        values = zero_sum(values, factor).T
    values = values if len(factors) == 2 else values[:, 0]
    return pm.Deterministic(f"{name}_effect", values if centred else spread * values, dims=factors)


def answers(frame: Frame, *, sd_question: Spread, sd_own: Spread) -> Any:
    """(cells,) question + model x question: each model's answers scatter about the questions' effects by its own sd.

    `question_effect` (question) and `model_question_effect` (model, question) sum to zero within each domain;
    `sd_question` is one number, `sd_model_question` one a model: what models share tells them apart. A model's effects
    are centred or not as its data speak (`frame.centring`): the same law.
    """
    if "model:question" not in frame.terms:
        return effect(frame, "question", sd=sd_question)
    data = pm.modelcontext(None)
    shape = (_freedom(frame, "model") + 1, _freedom(frame, "question"))
    if sd_own.kind == "fixed":  # estimands for new questions read its draws
        raise CardFileError("[priors] sd_model_question", "it is estimated for each model: write {half_normal = 1.0}")
    spread = pm.HalfNormal("sd_model_question", sd_own.scale, dims="model")[:, None]
    centred = data["centring"][:, None]
    own = spread ** (1.0 - centred) * pm.Normal("model_question_free", 0.0, spread**centred, shape=shape)
    question = levels(frame, "question", sd=sd_question)
    answer = pm.Deterministic("model_question_effect", zero_sum(own, "question"), dims=("model", "question"))
    return (question + answer)[data["cell_model"], data["cell_question"]]


def unpooled_means(frame: Frame, mean: float, sd: float) -> Any:
    """(cells,) intercept + model + domain + model:domain, each mean of a model (in a domain) with a prior of its own.

    Reported as `intercept` and zero-sum effects. Sampled as the means themselves: where models differ much in how
    well they are known, zero-sum effects would tie all of them to the worst known.
    """
    data = pm.modelcontext(None)
    n_models = len(frame.coords["model"])
    n_domains = len(frame.coords["domain"]) if "model:domain" in frame.terms else 1
    means = pm.Normal("means_free", mean, sd, shape=(n_models, n_domains))
    intercept = pm.Deterministic("intercept", means.mean())
    by_model, by_domain = means.mean(axis=1), means.mean(axis=0)
    pm.Deterministic("model_effect", by_model - intercept, dims="model")
    if "model:domain" not in frame.terms:
        return means[data["cell_model"], 0] + effect(frame, "domain", sd=Spread(sd, "fixed"))
    pm.Deterministic("domain_effect", by_domain - intercept, dims="domain")
    interaction = means - by_model[:, None] - by_domain[None, :] + intercept
    pm.Deterministic("model_domain_effect", interaction, dims=("model", "domain"))
    return means[data["cell_model"], data["cell_domain"]]


def zero_sum(free: TensorVariable, factor: str) -> TensorVariable:
    """(rows, levels) effects that sum to zero within each group of the factor, from (rows, degrees of freedom).

    The map is an isometry, so iid normal numbers become iid normal effects less their group's mean.
    """
    data = pm.modelcontext(None)
    return ZeroSum()(free, data[f"{factor}_group"], data[f"{factor}_size"])


def _freedom(frame: Frame, factor: str) -> int:
    return int(frame.arrays[f"{factor}_group"].size - frame.arrays[f"{factor}_size"].size)


def induced_dirichlet(name: str, concentration: float, dims: tuple[str, str]) -> TensorVariable:
    """Increasing cutpoints such that the average cell's label shares are Dirichlet: proper for a label nobody used.

    dims: of the cutpoints and of the labels. Source: betancourt2019, section 2.2.
    """
    cutpoint, label = dims
    n_labels = len(pm.modelcontext(None).coords[label])
    share = pm.Dirichlet(f"{label}_share", np.full(n_labels, concentration), dims=label)
    below, above = pt.cumsum(share)[:-1], pt.cumsum(share[::-1])[::-1][1:]
    return pm.Deterministic(name, pt.log(below) - pt.log(above), dims=cutpoint)


def cumulative_logit(name: str, cell: Any, participant: Any, cutpoints: Any, frame: Frame) -> TensorVariable:
    """The observed ratings, rows in the order of `kernel.layout`: P(R <= k) = expit(cutpoint_k - cell - participant).

    The density reads the ratings from the layout, which holds them sorted; draws are made from `cell`, `participant`
    and `cutpoints` alone, so prior and posterior predictive draws are of this model.
    """
    data = pm.modelcontext(None)
    outer, inner = (participant, cell) if frame.outer == "participant" else (cell, participant)
    return pm.CustomDist(
        name,
        outer,
        inner,
        cutpoints,
        data["end"],
        data["index"],
        data["above"],
        logp=_log_likelihood,
        random=_draw_ratings,
        signature="(o),(i),(k),(o,l),(n),(i)->(n)",
        dtype="int64",
        observed=frame.arrays["rating_sorted"],
    )


def _log_likelihood(_ratings: Any, *parameters: Any) -> Any:
    return CumulativeLogit()(*parameters)[0]


def _draw_ratings(
    outer: NDArray[Any],
    inner: NDArray[Any],
    cutpoints: NDArray[Any],
    end: NDArray[Any],
    index: NDArray[Any],
    above: NDArray[Any],  # noqa: ARG001  # of the observed ratings; a draw has its own
    rng: np.random.Generator,
    size: Any = None,  # noqa: ARG001  # PyMC passes it; one draw of all rows is all that a layout allows
) -> NDArray[np.int64]:
    """(rows,) label codes."""
    rows = np.diff(end[:, -1], prepend=0)
    noisy = np.repeat(outer, rows) + inner[index] + rng.logistic(size=index.size)
    return np.searchsorted(cutpoints, noisy).astype(np.int64)
