"""Priors of card `misclassification-ordinal`, and draws from them; nothing here imports PyMC, which takes seconds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax
from scipy.stats import truncnorm

from drift.models.frame import Frame
from drift.models.misclassification_ordinal_frame import Floats, bases, distances, off_diagonal
from drift.models.priors import Spread


@dataclass(frozen=True)
class OrdinalScorerPriors:
    """Everything is in log odds; `_spread` is the sd of a location.

    share: concentration of the Dirichlet of each arm's true classes (1 is uniform; arms are not pooled).
    share_stratum, sd_share_*: sd of log shares. scorer_fall: by how much the log odds of a scorer's label fall with
    every step from the true class, for an average scorer; scorer_cell: sd of each entry of its table about that.
    sd_scorer_arm, _model, _arm_model, scorer_stratum, sd_scorer_arm_stratum: sd of lenience, the log odds of a label
    against the one below it, by true class; arm_dof: degrees of freedom of the Student t of the arms'.
    sd_scorer_arm_cell: sd of whatever else differs by arm, entry by entry (with three labels and more).
    rater_neighbour: odds of a rater's giving a neighbouring label instead of the true one; rater_fall: by how much
    their logarithm falls with every further step; rater_spread: its sd over entries, a normal truncated at 0, so that
    the true class is a rater's most probable label: this fixes what the classes mean.
    """

    share: float = 1.0
    sd_share_model: Spread = Spread(0.5)
    sd_share_arm_model: Spread = Spread(0.3)
    share_stratum: float = 0.7
    scorer_fall: float = 1.5
    scorer_fall_spread: float = 0.6
    scorer_cell: float = 0.7
    arm_dof: float = 4.0
    sd_scorer_arm: Spread = Spread(1.0)
    sd_scorer_arm_cell: Spread = Spread(0.4)
    sd_scorer_model: Spread = Spread(0.5)
    sd_scorer_arm_model: Spread = Spread(0.3)
    scorer_stratum: float = 0.6
    sd_scorer_arm_stratum: Spread = Spread(0.3)
    rater_neighbour: float = 0.08
    rater_fall: float = 1.2
    rater_spread: float = 0.6


def rater_prior(priors: OrdinalScorerPriors) -> Floats:
    """(3,) log odds of a neighbouring label, their fall a further step, and their sd: the model's data."""
    return np.array([np.log(priors.rater_neighbour), priors.rater_fall, priors.rater_spread])


def prior_draws(frame: Frame, priors: OrdinalScorerPriors, n_draws: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Draws of what a fit reports, from the prior: the NumPy twin of the model's priors.

    class_share: (draw, cell, truth). scorer_confusion: (draw, cell, truth, label). rater_confusion: (draw, rater,
    truth, label). All are probabilities.
    """
    draw = _Prior(frame, n_draws, rng)
    return {
        "class_share": np.exp(log_softmax(_shares(draw, priors), axis=-1)),
        "scorer_confusion": np.exp(log_softmax(_scorer(draw, priors), axis=-1)),
        "rater_confusion": np.exp(log_softmax(_raters(draw), axis=-1)),
    }


@dataclass(frozen=True)
class _Prior:
    frame: Frame
    n_draws: int
    rng: np.random.Generator

    @property
    def n_labels(self) -> int:
        return len(self.frame.coords["label"])

    def normal(self, *shape: int) -> Floats:
        return self.rng.normal(size=(self.n_draws, *shape))

    def spread(self, prior: Spread) -> Any:
        """(draw, 1, 1) standard deviations."""
        return prior.scale * (np.ones((1, 1, 1)) if prior.kind == "fixed" else np.abs(self.normal(1, 1)))

    def effect(self, term: str, prior: Spread, rows: str, column: str, last: str) -> Any:
        """(draw, cell, K) effect in the space that the three maps span; 0 if the term is left out."""
        if term not in self.frame.terms:
            return 0.0
        maps = [bases(self.frame)[name] for name in (rows, column, last)]
        free = self.normal(*(basis.shape[1] for basis in maps))
        values = np.einsum("dabc,ra,sb,tc->drst", free, *maps)
        return self.spread(prior) * values[:, cell_index(self.frame, rows), cell_index(self.frame, column)]


def cell_index(frame: Frame, basis: str) -> Any:
    """(cell,) level of the factor that one of `bases` belongs to; 0 for "one"."""
    name = basis.removeprefix("free ")
    return np.zeros(len(frame.coords["cell"]), np.int64) if name == "one" else frame.arrays[f"cell_{name}"]


def share_terms(priors: OrdinalScorerPriors) -> list[tuple[str, str, Spread, str, str]]:
    """The terms of log shares besides the arms': (term, name, spread, rows, column)."""
    return [
        ("model", "share_model", priors.sd_share_model, "population", "model"),
        ("arm:model", "share_arm_model", priors.sd_share_arm_model, "side", "model"),
        ("stratum", "share_stratum", Spread(priors.share_stratum, "fixed"), "free side", "stratum"),
    ]


def lenience_terms(priors: OrdinalScorerPriors) -> list[tuple[str, str, Spread, str, str]]:
    """The terms of the scorer's lenience besides the arms': (term, name, spread, rows, column)."""
    return [
        ("model", "scorer_model", priors.sd_scorer_model, "one", "model"),
        ("arm:model", "scorer_arm_model", priors.sd_scorer_arm_model, "arm", "model"),
        ("stratum", "scorer_stratum", Spread(priors.scorer_stratum, "fixed"), "one", "stratum"),
        ("arm:stratum", "scorer_arm_stratum", priors.sd_scorer_arm_stratum, "arm", "stratum"),
    ]


def _shares(draw: _Prior, priors: OrdinalScorerPriors) -> Floats:
    """(draw, cell, K) logits of the true classes."""
    n_sides = len(draw.frame.coords["side"])
    arms = np.log(draw.rng.dirichlet(np.full(draw.n_labels, priors.share), (draw.n_draws, n_sides)))
    effects = [draw.effect(term, sd, rows, column, "label") for term, _, sd, rows, column in share_terms(priors)]
    return np.asarray(arms[:, draw.frame.arrays["cell_side"]] + sum(effects))


def _scorer(draw: _Prior, priors: OrdinalScorerPriors) -> Floats:
    """(draw, cell, K, K) logits of the scorer's labels."""
    n, arm = draw.n_labels, draw.frame.arrays["cell_arm"]
    zero_sum, step = bases(draw.frame)["label"], np.arange(n) - (n - 1) / 2.0
    fall = priors.scorer_fall + priors.scorer_fall_spread * draw.normal(1, 1)
    table = -fall * distances(n) + priors.scorer_cell * draw.normal(n, n - 1) @ zero_sum.T
    lenience = sum(
        (draw.effect(term, sd, rows, column, "free label") for term, _, sd, rows, column in lenience_terms(priors)),
        start=np.zeros((draw.n_draws, len(arm), n)),
    )
    found = table[:, None]
    if "arm" in draw.frame.terms:
        n_arms = len(draw.frame.coords["arm"])
        heavy = draw.rng.standard_t(priors.arm_dof, (draw.n_draws, n_arms, n))
        lenience = lenience + draw.spread(priors.sd_scorer_arm) * heavy[:, arm]
        if n > 2:
            entries = draw.normal(n_arms, n, n - 1) @ zero_sum.T
            found = found + draw.spread(priors.sd_scorer_arm_cell)[..., None] * entries[:, arm]
    return np.asarray(found + lenience[..., None] * step)


def _raters(draw: _Prior) -> Floats:
    """(draw, rater, K, K) logits of the raters' labels, 0 for the true class and below 0 for the others."""
    neighbour, fall, spread = draw.frame.arrays["rater_prior"]
    n, n_raters = draw.n_labels, len(draw.frame.coords["rater"])
    place = off_diagonal(n)
    location = neighbour - fall * (place @ distances(n).ravel() - 1.0)
    law = truncnorm(-np.inf, -location / spread, location, spread)
    mistakes = law.rvs((draw.n_draws, n_raters, len(place)), random_state=draw.rng)
    return np.asarray((mistakes @ place).reshape(draw.n_draws, n_raters, n, n))
