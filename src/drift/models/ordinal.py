"""Card `ordinal`: cumulative logit with crossed effects of model x domain, question and participant."""

from dataclasses import dataclass

import pymc as pm
import pytensor.tensor as pt

from drift.models.effects import cumulative_logit, declare, effect, induced_dirichlet, levels
from drift.models.frame import Frame
from drift.models.priors import Spread


@dataclass(frozen=True)
class OrdinalPriors:
    """Scales in logits. `label`: Dirichlet concentration of each label's share in the average cell."""

    label: float = 1.0
    sd_model: Spread = Spread(1.5)
    sd_domain: Spread = Spread(1.0)
    sd_model_domain: Spread = Spread(1.0)
    sd_question: Spread = Spread(1.0)
    sd_participant: Spread = Spread(1.0)


def ordinal(frame: Frame, priors: OrdinalPriors) -> pm.Model:
    """P(R <= k) = expit(cutpoint_k - eta), eta = model + domain + model:domain + question + participant."""
    with pm.Model(coords=frame.coords) as model:
        declare(frame)
        cutpoints = induced_dirichlet("cutpoints", priors.label, dims=("cutpoint", "label"))
        cell = (
            effect(frame, "model", sd=priors.sd_model)
            + effect(frame, "domain", sd=priors.sd_domain)
            + effect(frame, "model", "domain", sd=priors.sd_model_domain)
            + effect(frame, "question", sd=priors.sd_question)
        )
        participant = (
            levels(frame, "participant", sd=priors.sd_participant) if "participant" in frame.terms else pt.zeros(1)
        )
        cumulative_logit("rating", cell, participant, cutpoints, frame)
    return model
