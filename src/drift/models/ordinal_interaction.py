"""Card `ordinal-interaction`: `ordinal` with an effect of every model x question pair, its spread the model's own."""

from dataclasses import dataclass

import pymc as pm
import pytensor.tensor as pt

from drift.models.effects import answers, cumulative_logit, declare, effect, induced_dirichlet, levels
from drift.models.frame import Frame
from drift.models.ordinal import OrdinalPriors
from drift.models.priors import Spread


@dataclass(frozen=True)
class OrdinalInteractionPriors(OrdinalPriors):
    """Scales in logits; as `OrdinalPriors`, and of the scatter of each model's answers about the questions' effects."""

    sd_model_question: Spread = Spread(1.0)


def ordinal_interaction(frame: Frame, priors: OrdinalInteractionPriors) -> pm.Model:
    """As `ordinal`, eta = model + domain + model:domain + question + model:question + participant."""
    with pm.Model(coords=frame.coords) as model:
        declare(frame)
        cutpoints = induced_dirichlet("cutpoints", priors.label, dims=("cutpoint", "label"))
        cell = (
            effect(frame, "model", sd=priors.sd_model)
            + effect(frame, "domain", sd=priors.sd_domain)
            + effect(frame, "model", "domain", sd=priors.sd_model_domain)
            + answers(frame, sd_question=priors.sd_question, sd_own=priors.sd_model_question)
        )
        participant = (
            levels(frame, "participant", sd=priors.sd_participant) if "participant" in frame.terms else pt.zeros(1)
        )
        cumulative_logit("rating", cell, participant, cutpoints, frame)
    return model
