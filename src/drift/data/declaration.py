"""What a study file declares, as types: nothing here reads a file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from drift.scale import Scale

Population = Literal["these", "new"]
Weighting = Literal["question", "domain"]
Coding = Literal["lowest", "missing"]
Kind = Literal["ratings", "cells"]

FACTORS = ("participant", "question", "model", "domain")
TERMS = ("participant", "question", "domain", "model:domain", "model:question")


@dataclass(frozen=True)
class Target:
    """The population that a deviation is averaged over.

    `questions` and `participants`: "these" averages over the levels in the data, "new" over the
    population that they were drawn from. `weighting`: every question counts alike, or every domain does.
    """

    questions: Population = "new"
    participants: Population = "new"
    weighting: Weighting = "question"


@dataclass(frozen=True)
class Tier:
    """A band of mean deviation; `below` is its upper bound in percent (a model exactly on it is in the next)."""

    name: str
    below: float


@dataclass(frozen=True)
class Equivalence:
    """The declared margin: models whose deviations differ by less than `margin_pp` are practically the same."""

    margin_pp: float
    sensitivity_pp: tuple[float, ...] = ()
    set: tuple[str, ...] = ()  # models whose joint equivalence is claimed


@dataclass(frozen=True)
class Contrast:
    """Mean deviation of `treatment` models minus that of `comparator` models, in one `domain` or over all."""

    name: str
    treatment: tuple[str, ...]
    comparator: tuple[str, ...]
    domain: str | None = None


@dataclass(frozen=True)
class Columns:
    """The user's own column names; None where the study has no such column."""

    model: str | None = None
    rating: str | None = None
    participant: str | None = None
    question: str | None = None
    domain: str | None = None
    refused: str | None = None
    replicate: str | None = None
    deviation: str | None = None  # percent; tables of cell means only

    def declared(self) -> dict[str, str]:
        """Role -> column name, for the roles that the study file names."""
        return {role: name for role, name in vars(self).items() if name is not None}


@dataclass(frozen=True)
class Layout:
    """One rating a line ("long"), or one column a rater or a model ("wide", then `names_to` says which).

    The rating columns of a wide file are `columns`, or all that begin with `columns_prefix` (the level's name is then
    what follows the prefix). `sheet`: the worksheet of an xlsx file.
    """

    form: Literal["long", "wide"] = "long"
    names_to: Literal["participant", "model"] | None = None
    columns: tuple[str, ...] = ()
    columns_prefix: str | None = None
    sheet: str | None = None


@dataclass(frozen=True)
class Refusals:
    """Responses that the model declined to give: rated with the lowest label, or treated as missing.

    `values`: markers in the rating column that mean a refusal, such as "N/A".
    """

    coding: Coding
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Study:
    """Everything declared before anything is fitted. `digest`: SHA-256 of `text`, the study file as it was read."""

    name: str
    title: str
    path: Path
    text: str
    digest: str
    seed: int
    data: Path
    kind: Kind
    models: tuple[str, ...]  # model cards
    columns: Columns
    scale: Scale
    simulated: bool = False
    missing: Literal["refuse", "drop"] = "refuse"
    layout: Layout = Layout()
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # column -> values whose rows are kept
    target: Target = Target()
    tiers: tuple[Tier, ...] = ()
    equivalence: Equivalence | None = None
    contrasts: tuple[Contrast, ...] = ()
    refusals: Refusals | None = None
    leave_out: tuple[str, ...] = ()
    participants_are: Literal["persons", "slots"] | None = None
    repeats: Literal["refuse", "allowed"] = "refuse"
    disconnected: Literal["refuse", "exchangeable"] = "refuse"
    raters: int | None = None  # ratings behind each published cell mean

    def factors(self) -> tuple[str, ...]:
        """The factors that the data will have, in the order participant, question, model, domain."""
        named = {*self.columns.declared(), self.layout.names_to}
        return tuple(factor for factor in FACTORS if factor in named)

    def models_named(self) -> tuple[str, ...]:
        """Every model under evaluation that the equivalence set or a contrast names, once each."""
        claimed = self.equivalence.set if self.equivalence else ()
        contrasted = (name for contrast in self.contrasts for name in contrast.treatment + contrast.comparator)
        return tuple(dict.fromkeys((*claimed, *contrasted)))
