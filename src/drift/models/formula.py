"""An ordinal card as one Bambi formula: an outside check of our models, and a door for users who think in formulas.

Bambi's effects are iid with the card's standard deviation, ours are such effects less their mean (zero-sum); the
means that Bambi keeps are in its thresholds and in its coarser terms. The same in both, therefore: differences
between levels, standard deviations, differences between thresholds, expected ratings. Where questions are nested in
domains, Bambi's domain effects contain the mean of their questions' effects and ours do not, so `sd_domain` differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from drift.data.ratings import Ratings
from drift.models.ordinal import OrdinalPriors
from drift.models.priors import Spread

if TYPE_CHECKING:
    import bambi as bmb
    from pytensor.tensor.variable import TensorVariable

TERM = {  # of a card: of a formula
    "model": "1|model",
    "domain": "1|domain",
    "model:domain": "1|model:domain",
    "question": "1|question",
    "model:question": "0 + model|answer",  # a standard deviation a model, as in the card
    "participant": "1|participant",
}


def bambi_formula(terms: Sequence[str]) -> str:
    """The card's linear predictor. Thresholds take the place of an intercept, which Bambi leaves out by itself."""
    return "rating ~ 0 + " + " + ".join(f"({TERM[term]})" for term in ("model", *terms))


def bambi_model(ratings: Ratings, terms: Sequence[str], priors: OrdinalPriors) -> bmb.Model:
    """The Bambi model of cards `ordinal` and `ordinal-interaction`, every prior explicit: Bambi's scale with the data.

    terms: those kept besides model. Group effects are called "1|model" or "model|answer" and their standard
    deviations "1|model_sigma"; thresholds are called "threshold". Bambi is imported here, for it takes seconds.
    """
    import bambi as bmb

    effects = {TERM[term].removeprefix("0 + "): _normal(getattr(priors, _sd(term))) for term in ("model", *terms)}
    thresholds = bmb.Prior(
        "InducedDirichlet", dist=_thresholds, concentration=priors.label, n_labels=ratings.scale.n_labels
    )
    return bmb.Model(
        bambi_formula(terms), _table(ratings), family="cumulative", priors={**effects, "threshold": thresholds}
    )


def _sd(term: str) -> str:
    return f"sd_{term.replace(':', '_')}"


def _normal(spread: Spread) -> bmb.Prior:
    import bambi as bmb

    sigma = spread.scale if spread.kind == "fixed" else bmb.Prior("HalfNormal", sigma=spread.scale)
    return bmb.Prior("Normal", mu=0, sigma=sigma)


def _table(ratings: Ratings) -> pd.DataFrame:
    """One row a rating; every declared label is a category, used or not.

    `answer` is the question under a second name: beside (1|question), Bambi would code (0 + model|question) with one
    model as the reference, which then has no effects of its own.
    """
    levels = {factor: pd.Index(names) for factor, names in ratings.levels.items()}
    factors = {factor: pd.Categorical.from_codes(code, levels[factor]) for factor, code in ratings.codes.items()}
    rating = pd.Categorical.from_codes(ratings.rating, pd.Index(ratings.scale.labels), ordered=True)
    again = {"answer": factors["question"]} if "question" in factors else {}
    return pd.DataFrame({"rating": rating, **factors, **again})


def _thresholds(name: str, concentration: Any, n_labels: Any, dims: Any = None) -> TensorVariable:
    """The prior of `effects.induced_dirichlet`, stated as a density of the thresholds. Source: betancourt2019.

    Bambi drops deterministic parameters from its draws, so the thresholds themselves are what is drawn.
    """
    import pymc as pm

    n_cutpoints = int(n_labels) - 1
    return pm.CustomDist(
        name,
        np.full(n_cutpoints, float(concentration)),  # as long as the thresholds: their shape is read off it
        logp=lambda cutpoints, repeated: _log_induced_dirichlet(cutpoints, repeated[0]),
        signature="(k)->(k)",
        dims=dims,
        default_transform=pm.distributions.transforms.ordered,
        initval=np.linspace(-1.0, 1.0, n_cutpoints),
    )


def _log_induced_dirichlet(cutpoints: Any, concentration: Any) -> TensorVariable:
    """Dirichlet density of the label shares at eta = 0, times the derivative of expit at every cutpoint."""
    import pytensor.tensor as pt

    below = pt.sigmoid(cutpoints)
    share = pt.diff(pt.concatenate([[0.0], below, [1.0]]))
    n_labels = share.shape[0]
    constant = pt.gammaln(n_labels * concentration) - n_labels * pt.gammaln(concentration)
    slope = pt.log(below) + pt.log1p(-below)
    return constant + ((concentration - 1.0) * pt.log(share)).sum() + slope.sum()
