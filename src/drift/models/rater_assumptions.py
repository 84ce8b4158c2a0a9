"""What a misclassification card takes for granted about the raters, from its name and its priors."""

from drift.data.labels import Labels
from drift.models.cards import Card, card_priors
from drift.models.label_frame import Assumptions
from drift.models.misclassification_priors import DependentPriors, MisclassificationPriors, rater_prior

DEPENDENT = "misclassification-dependent"
REFERENCE = "misclassification-reference"


def label_priors(card: Card) -> MisclassificationPriors:
    """The card's priors; without PyMC, which `cards.default_priors` imports."""
    kind = DependentPriors if card.builder == DEPENDENT else MisclassificationPriors
    found: MisclassificationPriors = card_priors(card, kind)
    return found


def rater_assumptions(card: Card, labels: Labels, reference: str | None) -> Assumptions:
    """What a card takes for granted about these raters; `reference` is who the study says is the truth."""
    together = "raters" if len(labels.raters) > 1 else "scorer and raters"
    return Assumptions(
        rater_prior(label_priors(card)),
        reference=reference if card.builder == REFERENCE else None,
        shares=together if card.builder == DEPENDENT else "none",
    )
