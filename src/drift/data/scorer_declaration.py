"""What the study file of a scorer study declares, as types: nothing here reads a file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from drift.data.declaration import Layout
from drift.scale import Scale

Prevalence = Literal["panel", "superpopulation", "new-keys"]
Outside = Literal["refuse", "error-rates"]
AuditDesign = Literal["representative", "stress", "paired", "unrecorded"]
Success = Literal["sign", "equivalence"]
Mixture = Literal["equal", "rows"]
ModelWeights = Mixture | Mapping[str, float]

LABEL_FACTORS = ("key", "arm", "model", "stratum", "population")
SAMPLED_ROLES = ("scorer", "arm", "model", "key", "route")  # what `sampled_on` names by role
UNDECLARED = "all"  # the one level of a factor that has no column
BINARY = Scale(("0", "1"))  # of a study that declares no scale
MOST_CLASSES = 7  # of a declared scale: a confusion matrix of each arm has as many rows and columns


@dataclass(frozen=True)
class Outcome:
    """What label 1 means (or a scale measures), and the rubric by which scorer and raters were to tell it."""

    name: str
    rubric: str | None = None


@dataclass(frozen=True)
class ScorerColumns:
    """The user's own column names; None, or no rater, where the study has no such column."""

    key: str
    arm: str
    scorer: str
    raters: tuple[str, ...] = ()
    model: str | None = None
    route: str | None = None
    audit: str | None = None
    inclusion: str | None = None
    replicate: str | None = None
    population: str | None = None

    def declared(self) -> dict[str, str]:
        """Role -> column name; the role of a rater's column is `rater_role(column)`."""
        single = {role: name for role, name in vars(self).items() if role != "raters" and name is not None}
        return single | {rater_role(name): name for name in self.raters}


@dataclass(frozen=True)
class ScorerTarget:
    """The responses that a prevalence is a share of.

    `models`: "equal" weights every model of the target alike, "rows" by its rows, a table as written (sum 1).
    `prevalence`: of the rows of the panel themselves, of the responses that they are a sample of, or of new keys.
    `population`: the value of the population column that is the target. `outside`: audited rows of other populations
    are refused, or inform error rates only.
    """

    models: ModelWeights = "equal"
    prevalence: Prevalence = "panel"
    population: str | None = None
    outside: Outside = "refuse"


@dataclass(frozen=True)
class Audit:
    """How the rows of an audit were chosen.

    `sampled_on`: what the chance of being chosen depended on: roles (scorer, arm, model, key, route) or names of
    other columns, which then become strata. `versions`: what its labels were made with (scorer, router, raters).
    """

    name: str
    design: AuditDesign
    sampled_on: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ScorerContrast:
    """Prevalence in the `treatment` arm minus that in the `comparator` arm.

    On a declared scale it is of mean deviations from the best label, in percent of the scale.
    `tolerance_pp`: largest bias of the automatic contrast, in percentage points, that leaves the conclusion alone.
    `same_construct`: whether label 1 means the same in both arms; None where nobody has declared it.
    """

    name: str
    treatment: str
    comparator: str
    tolerance_pp: float
    success: Success = "sign"
    same_construct: bool | None = None


@dataclass(frozen=True)
class ScorerStudy:
    """Everything declared before anything is fitted. `digest`: SHA-256 of `text`, the study file as it was read.

    `scale`: the labels of scorer and raters, worst to best; 0 and 1 where the file declares none.
    `audits`: where the file declares none although there are raters, one called "audit" whose design is unrecorded.
    `versions`: what the target's labels were made with. `reference`: the rater who is the truth on a card that takes
    one for it. `gates`: declared limits by name.
    """

    name: str
    title: str
    path: Path
    text: str
    digest: str
    seed: int
    data: Path
    models: tuple[str, ...]  # model cards
    outcome: Outcome
    columns: ScorerColumns
    scale: Scale = BINARY
    simulated: bool = False
    missing: Literal["refuse", "drop"] = "refuse"
    layout: Layout = field(default_factory=Layout)
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # column -> values whose rows are kept
    target: ScorerTarget = ScorerTarget()
    audits: tuple[Audit, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    reference: str | None = None
    contrasts: tuple[ScorerContrast, ...] = ()
    gates: Mapping[str, float] = field(default_factory=dict)

    @property
    def kind(self) -> Literal["labels"]:
        return "labels"

    def sampled_columns(self) -> dict[str, str]:
        """Where the study file names it -> column, for each that some audit was sampled on and that makes strata.

        What the likelihood conditions on anyway makes none: scorer label, raters' labels, arm, model, key, population.
        The route makes strata wherever it is declared, so it is not named here.
        """
        taken = {name for role, name in self.columns.declared().items() if role != "replicate"}
        found: dict[str, str] = {}
        for audit in self.audits:
            for name in audit.sampled_on:
                if name not in (*SAMPLED_ROLES, *taken, *found.values()):
                    found[f"[audits.{audit.name}] sampled_on, {name}"] = name
        return found


def rater_role(column: str) -> str:
    """The role of a rater's column, as an error message names it after `[columns]`."""
    return f"raters, {column}"
