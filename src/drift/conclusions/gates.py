"""Gates of a corrected contrast: pure functions of what was declared, counted and drawn.

Construct, observation, transport, same key: whether a corrected contrast means anything. What may then be done with the
automatic contrast is for `drift.conclusions.disposition` to say.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

import numpy as np

from drift.conclusions.said import PROBABILITY, ROWS, Said
from drift.data.scorer_declaration import AuditDesign
from drift.data.sections import did_you_mean
from drift.errors import StudyFileError
from drift.scale import FloatArray

GateName = Literal["construct", "observation", "transport", "same key"]

# Each limit once. A study file overrides it by name in its table [gates].
GAMMA = 0.95  # probability that a sign or an equivalence needs: that of the intervals printed beside it
POSITIVES = NEGATIVES = 5  # audited, in each arm: below it no error rate is told from 0 or from .5
SAME_KEYS = 30  # in both arms: below it intervals that resample keys are too short
PREDICTIVE_P = 0.01  # posterior predictive p below which the model does not describe these labels
ZERO_CHANGE = "another or a larger target: a contrast of exactly 0 claims no direction"
ROUNDING = 1e-9  # of a probability or a proportion; below it a difference is the arithmetic's


@dataclass(frozen=True)
class Limits:
    """What a gate asks for. `gamma` and `predictive_p` are probabilities, the others counts."""

    gamma: Annotated[float, Said("what a sign or an equivalence needs", PROBABILITY)] = GAMMA
    positives: Annotated[float, Said("least audited positives in each arm", ROWS)] = POSITIVES
    negatives: Annotated[float, Said("least audited negatives in each arm", ROWS)] = NEGATIVES
    same_keys: Annotated[float, Said("least keys in both arms", "keys")] = SAME_KEYS
    predictive_p: Annotated[float, Said("least posterior predictive p", PROBABILITY)] = PREDICTIVE_P


DEFAULTS = Limits()


@dataclass(frozen=True)
class Gate:
    """Whether a gate holds: True, False, or None where nobody can tell. `reason` has the numbers, `change` the cure."""

    name: Annotated[GateName, Said("name of the gate")]
    passed: Annotated[bool | None, Said("whether it holds; null where nobody can tell")]
    reason: Annotated[str, Said("why, with the numbers")]
    change: Annotated[str, Said("what would make it hold; empty where it does")] = ""


@dataclass(frozen=True)
class ArmAudit:
    """Audited rows of an arm by the label of the first rater who gave one, and the raters who gave none there."""

    positives: int
    negatives: int
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class AuditRecord:
    """How an audit chose its rows, and what its labels were made with.

    `outside`: whether its rows belong to another population than the target's. `pool_known`: whether the rows that it
    chose from are in the data, which a sample that depends on the scorer's label needs where it lies outside.
    """

    name: str
    design: AuditDesign
    sampled_on: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    outside: bool = False
    pool_known: bool = True


@dataclass(frozen=True)
class Evidence:
    """What a disposition rests on, as probabilities.

    `automatic`: the contrast of the scorer's own labels in the target, a proportion. `keeps`, `reverses`: reference ->
    P(the corrected contrast has the sign of the automatic one, or the other sign); NaN where a reference's posterior
    failed its checks. The first reference is the model itself, the others take one rater for the truth.
    `within`: P(|contrast bias| < `tolerance`), a proportion.
    """

    automatic: float
    keeps: Mapping[str, float]
    reverses: Mapping[str, float]
    within: float
    tolerance: float

    @property
    def direction(self) -> int:
        """1, -1, or 0 where the automatic contrast is exactly zero."""
        return 0 if abs(self.automatic) < ROUNDING else int(np.sign(self.automatic))

    @property
    def sign_probability(self) -> float:
        """P(the corrected contrast has the automatic one's sign) under the model itself."""
        return next(iter(self.keeps.values()))


def limits(declared: Mapping[str, float]) -> Limits:
    """The limits with those that a study declares. Raises one `StudyFileError` that lists every one that cannot be."""
    problems = limit_problems(declared)
    if problems:
        raise StudyFileError("study file", "limits of gates that cannot be", [(None, problem) for problem in problems])
    return Limits(**declared)


def limit_problems(declared: Mapping[str, float]) -> list[str]:
    """What is wrong with declared limits, in words; empty if nothing is."""
    known = [limit.name for limit in fields(Limits)]
    return [problem for name, value in declared.items() if (problem := _limit_problem(name, value, known))]


def _limit_problem(name: str, value: float, known: Sequence[str]) -> str:
    if name not in known:
        return f"[gates] {name} is unknown{did_you_mean(name, known)}; known here: {', '.join(known)}"
    if name == "gamma" and not 0.5 < value < 1.0:
        return f"[gates] gamma is {value:g}: write a probability above 0.5 and below 1"
    if name == "predictive_p" and not 0.0 <= value < 1.0:
        return f"[gates] predictive_p is {value:g}: write a probability below 1"
    if name in ("positives", "negatives", "same_keys") and (value < 0 or value != int(value)):
        return f"[gates] {name} is {value:g}: write a whole number of at least 0"
    return ""


def construct_gate(same_construct: bool | None, treatment: str, comparator: str, label: str = "label 1") -> Gate:
    """Whether label 1 means the same in both arms: declared by a person, no computation can tell."""
    arms = f"{treatment} and {comparator}"
    if same_construct is None:
        reason = f"nobody has declared whether {label} means the same in {arms}"
        return Gate("construct", None, reason, "declare same_construct = true or false for this contrast")
    if same_construct:
        return Gate("construct", True, f"{label} is declared to mean the same in {arms}")
    change = f"a comparator under which {label} means the same, and an audit of the two"
    return Gate("construct", False, f"{label} is declared to mean different things in {arms}", change)


def observation_gate(
    arms: Mapping[str, ArmAudit], limit: Limits = DEFAULTS, kinds: tuple[str, str] = ("positive", "negative")
) -> Gate:
    """Whether errors of either kind could be seen in each arm of the contrast.

    `kinds`: what positives and negatives are called where labels are not 0 and 1.
    """
    one, other = kinds
    seen = [f"{arm}: {audit.positives} {one}, {audit.negatives} {other}{_absent(audit)}" for arm, audit in arms.items()]
    short = [
        arm for arm, audit in arms.items() if audit.positives < limit.positives or audit.negatives < limit.negatives
    ]
    reason = f"audited rows, {'; '.join(seen)} (at least {limit.positives:g} and {limit.negatives:g} in each arm)"
    change = f"more audited rows in {' and '.join(short)}" if short else ""
    return Gate("observation", not short, reason, change)


def _absent(audit: ArmAudit) -> str:
    return f", none by {' or '.join(audit.absent)}" if audit.absent else ""


def transport_gate(
    audits: Sequence[AuditRecord],
    versions: Mapping[str, str],
    unsampled: Sequence[str] = (),
    predictive: Mapping[str, float] | None = None,
    limit: Limits = DEFAULTS,
) -> Gate:
    """Whether what was audited says something about the target.

    `versions`: what the target's labels were made with. `unsampled`: parts of the target, in words, that no audit could
    have chosen from. `predictive`: name of a posterior predictive check -> its p; None where none was made.
    """
    failed = [
        *(problem for audit in audits for problem in _audit_problems(audit, versions)),
        *((f"no audit could choose from {part}", "audited rows from every part of the target") for part in unsampled),
        *((_poor(name, p, limit), CARD) for name, p in (predictive or {}).items() if p < limit.predictive_p - ROUNDING),
        *([] if audits else [("there is no audit", RECORDED)]),
    ]
    if failed:
        cures = dict.fromkeys(cure for _, cure in failed)
        return Gate("transport", False, "; ".join(problem for problem, _ in failed), "; ".join(cures))
    return Gate("transport", True, "; ".join([*map(_described, audits), _compared(audits, versions), _ps(predictive)]))


RECORDED = "an audit whose rows are chosen by recorded probabilities or recorded strata, [audits.NAME]"
CARD = "a card that describes these labels"


def _poor(name: str, p: float, limit: Limits) -> str:
    return f"posterior predictive p of {name} {equals(shown(p, limit.predictive_p))}, below {limit.predictive_p:g}"


def _audit_problems(audit: AuditRecord, versions: Mapping[str, str]) -> list[tuple[str, str]]:
    """(what is wrong, what would mend it) of one audit."""
    found = []
    if audit.design == "unrecorded":
        found.append((f"nobody recorded how the rows of audit {audit.name} were chosen", RECORDED))
    elif audit.design == "stress" and not audit.sampled_on:
        found.append((f"nobody recorded what the rows of stress audit {audit.name} were chosen on", RECORDED))
    if audit.outside and not audit.pool_known and "scorer" in audit.sampled_on:
        problem = (
            f"audit {audit.name}, outside the target, chose rows by their scorer label from rows that are not here"
        )
        found.append((problem, "the rows that the audit chose from, added to the data"))
    other = [part for part, text in audit.versions.items() if part in versions and versions[part] != text]
    return found + [
        (
            f"audit {audit.name} was made with {part} {audit.versions[part]!r}, the target with {versions[part]!r}",
            "an audit of labels made with the target's versions",
        )
        for part in other
    ]


def _described(audit: AuditRecord) -> str:
    on = f", sampled on {', '.join(audit.sampled_on)}" if audit.sampled_on else ""
    outside = ", outside the target: it informs error rates only" if audit.outside else ""
    return f"audit {audit.name}: {audit.design}{on}{outside}"


def _compared(audits: Sequence[AuditRecord], versions: Mapping[str, str]) -> str:
    unknown = [audit.name for audit in audits if not {*audit.versions} & {*versions}]
    if not versions:
        return "the target's versions are not declared, so none were compared"
    return f"versions not declared for {', '.join(unknown)}" if unknown else "declared versions match"


def _ps(predictive: Mapping[str, float] | None) -> str:
    if not predictive:
        return "no posterior predictive check was made"
    name = min(predictive, key=lambda key: predictive[key])
    return f"smallest posterior predictive p {predictive[name]:.3f} ({name})"


def same_key_gate(keys: int, evidence: Evidence, limit: Limits = DEFAULTS) -> Gate:
    """Whether the contrast is seen on identical keys and keeps its sign whoever is believed.

    `keys`: keys of the target with a response of one model, or more, in both arms.
    """
    few = keys < limit.same_keys
    lead = f"{keys} keys in both arms (at least {limit.same_keys:g})"
    if evidence.direction == 0:
        return Gate("same key", None, f"{lead}; the automatic contrast is exactly 0 and has no sign", ZERO_CHANGE)
    known = [f"{name} {shown(p, limit.gamma)}" for name, p in evidence.keeps.items() if not np.isnan(p)]
    unknown = [name for name, p in evidence.keeps.items() if np.isnan(p)]
    weak = [name for name, p in evidence.keeps.items() if p < limit.gamma - ROUNDING]
    withheld = f"; withheld, its checks failed: {', '.join(unknown)}" if unknown else ""
    reason = f"{lead}; probability of the automatic contrast's sign: {', '.join(known)}{withheld}"
    cures = [
        *(["the same keys put to both arms"] if few else []),
        *([f"more rows audited on the same keys ({', '.join(weak)} short of {limit.gamma:g})"] if weak else []),
        *(["a fit of these that passes its checks"] if unknown else []),
    ]
    return Gate("same key", False if few or weak else None if unknown else True, reason, "; ".join(cures))


def evidence(
    automatic: float, corrected: Mapping[str, FloatArray | None], bias: FloatArray, tolerance_pp: float
) -> Evidence:
    """The probabilities that a disposition rests on.

    `automatic`: contrast of the scorer's labels, a proportion. `corrected`: reference -> (draw,) corrected contrast,
    the model itself first, None where that posterior's checks failed. `bias`: (draw,) automatic minus corrected.
    `tolerance_pp`: largest |bias| that is tolerated, percentage points; a bias of exactly that is not within it.
    """
    tolerance = tolerance_pp / 100.0
    direction = 0 if abs(automatic) < ROUNDING else np.sign(automatic)
    signs = {name: None if draws is None else direction * np.sign(draws) for name, draws in corrected.items()}
    return Evidence(
        automatic=float(automatic),
        keeps={name: np.nan if sign is None else float(np.mean(sign > 0)) for name, sign in signs.items()},
        reverses={name: np.nan if sign is None else float(np.mean(sign < 0)) for name, sign in signs.items()},
        within=float(np.mean(np.abs(bias) < tolerance - ROUNDING)),
        tolerance=tolerance,
    )


def shown(value: float, against: float) -> str:
    """A probability to three digits, or to as many as tell it from the limit it is held against."""
    if not 0.001 <= value <= 0.999:
        return "<.001" if value < 0.5 else ">.999"
    different = abs(value - against) > ROUNDING
    return next(
        (text for digits in (3, 4, 5) if (text := f"{value:.{digits}f}") != f"{against:.{digits}f}" or not different),
        f"{value:.6f}",
    )


def equals(text: str) -> str:
    """`= .93`, or `<.001` as it is: what stands behind the name of a number."""
    return text if text[0] in "<>" else f"= {text}"
