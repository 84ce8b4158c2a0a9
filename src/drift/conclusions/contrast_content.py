"""What a contrast card holds: everything that a reader needs to judge one corrected contrast."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from drift.conclusions.contrast_parts import (
    ArmPart,
    AuditPart,
    BiasPart,
    BoundsPart,
    ComparatorPart,
    ConfusionPart,
    ContrastPart,
    FragilityPart,
    IdentificationPart,
    OutcomePart,
    PriorPart,
    PromptPart,
    RaterPart,
    SameKeyPart,
    SensitivityPart,
    TargetPart,
)
from drift.conclusions.disposition import Disposition
from drift.conclusions.gates import Gate, Limits
from drift.conclusions.said import ROWS, Said
from drift.data.scorer_declaration import Success

SCHEMA = 1  # raised when a reader of the old cards would misread the new ones


@dataclass(frozen=True)
class CardContent:
    """One corrected contrast: what it is of, what it rests on, and what may be done with it."""

    schema: Annotated[int, Said("version of this shape")]
    study: Annotated[str, Said("name of the study")]
    title: Annotated[str, Said("its title")]
    contrast: Annotated[str, Said("name of the contrast")]
    model_card: Annotated[str, Said("model card of the posterior")]
    simulated: Annotated[bool, Said("whether the data are simulated: then nothing here is a finding")]
    success: Annotated[Success, Said("what was declared to count as success")]
    limits: Annotated[Limits, Said("limits of the gates, as declared")]
    outcome: Annotated[OutcomePart, Said("outcome and rubric")]
    prompts: Annotated[PromptPart, Said("arms and pairing key")]
    target: Annotated[TargetPart, Said("target population and weights")]
    versions: Annotated[Mapping[str, str], Said("versions of scorer, router and raters in the target")]
    dropped: Annotated[Mapping[str, int], Said("arm -> rows left out for want of a scorer label, as declared", ROWS)]
    audits: Annotated[tuple[AuditPart, ...], Said("sampling")]
    confusion: Annotated[tuple[ConfusionPart, ...], Said("errors by arm and route")]
    arms: Annotated[tuple[ArmPart, ...], Said("treatment, comparator")]
    contrasts: Annotated[tuple[ContrastPart, ...], Said("naive and corrected contrast for the three targets")]
    bias: Annotated[BiasPart, Said("contrast bias under the declared target")]
    same_key: Annotated[tuple[SameKeyPart, ...], Said("paired effects: the corrected contrast on identical keys")]
    raters: Annotated[RaterPart, Said("rater evidence, and each rater's own paired effect")]
    sensitivity: Annotated[tuple[SensitivityPart, ...], Said("the same under other assumptions")]
    comparators: Annotated[tuple[ComparatorPart, ...], Said("the same by other methods")]
    prior: Annotated[tuple[PriorPart, ...], Said("prior dominance")]
    identification: Annotated[tuple[IdentificationPart, ...], Said("what the data can tell")]
    bounds: Annotated[tuple[BoundsPart, ...], Said("bounds without an assumption on raters")]
    fragility: Annotated[tuple[FragilityPart, ...], Said("how little would undo it")]
    remarks: Annotated[tuple[str, ...], Said("what a reader must know beside the numbers")]
    gates: Annotated[tuple[Gate, ...], Said("construct, observation, transport, same key")]
    disposition: Annotated[Disposition, Said("decision, reasons, and what would change it")]
    prohibited: Annotated[tuple[str, ...], Said("what must not be concluded from this card")]

    @property
    def declared(self) -> ContrastPart:
        """The contrast for the declared target."""
        return next(part for part in self.contrasts if part.declared)
