"""The disposition of a contrast: what may be done with the automatic contrast that somebody is about to publish."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from drift.conclusions.gates import DEFAULTS, ROUNDING, ZERO_CHANGE, Evidence, Gate, Limits, equals, shown
from drift.conclusions.said import Said
from drift.data.scorer_declaration import Success

Decision = Literal["retain", "qualify", "reject", "quarantine", "undecided"]


@dataclass(frozen=True)
class Disposition:
    """What may be done with the automatic contrast, why, and what would change that.

    retain: publish it with its corrected value beside it. qualify: publish the corrected value, with `reasons`. reject:
    the automatic contrast does not stand. quarantine: neither value answers the question. undecided: it has no answer
    yet.
    """

    decision: Annotated[Decision, Said("what may be done with the automatic contrast")]
    reasons: Annotated[tuple[str, ...], Said("why, with the numbers")]
    changes: Annotated[tuple[str, ...], Said("what would change the decision")] = ()


def dispose(
    gates: Sequence[Gate],
    found: Evidence,
    success: Success = "sign",
    prior_dominated: Sequence[str] = (),
    limit: Limits = DEFAULTS,
) -> Disposition:
    """The decision on a contrast from its four gates and the probabilities.

    First rule that applies: construct false or transport failed, quarantine; construct undeclared or an automatic
    contrast of exactly 0, undecided; every reference reverses the sign, reject; the bias is beyond the tolerance, and
    the sign not established or equivalence the aim, reject; every gate holds, sign (and equivalence) established and
    nothing prior-dominated, retain; else qualify. `prior_dominated`: estimates, in words, that the prior decides.
    """
    by_name = {gate.name: gate for gate in gates}
    barred = [by_name[name] for name in ("construct", "transport") if by_name[name].passed is False]
    if barred:
        return Disposition("quarantine", _reasons(barred), _changes(barred))
    if by_name["construct"].passed is None:
        return Disposition("undecided", _reasons([by_name["construct"]]), _changes([by_name["construct"]]))
    if found.direction == 0:
        return Disposition(
            "undecided", ("the automatic contrast is exactly 0: it has no sign to keep",), (ZERO_CHANGE,)
        )
    rejected = _rejected(found, success, limit)
    if rejected:
        change = "a scorer whose errors differ less between these arms, or the corrected contrast in its place"
        return Disposition("reject", (*rejected, *_resting(prior_dominated)), (change,))
    open_ = [gate for gate in gates if gate.passed is not True]
    short = _shortfalls(found, success, limit)
    if not open_ and not short and not prior_dominated:
        return Disposition("retain", _established(found, success, limit), tuple(RETAINED_CHANGE))
    reasons = (*_reasons(open_), *(reason for reason, _ in short), *_resting(prior_dominated))
    cures = [*_changes(open_), *(cure for _, cure in short), *([PRIOR_CHANGE] if prior_dominated else [])]
    return Disposition("qualify", reasons, tuple(dict.fromkeys(cures)))


PRIOR_CHANGE = "raters who err independently of each other, or more audited rows, so that the data outweigh the prior"
RETAINED_CHANGE = (
    "a new version of prompts, scorer, router, raters or models",
    "another target, or an audit that contradicts this one",
)


def _rejected(found: Evidence, success: Success, limit: Limits) -> tuple[str, ...]:
    """Why the automatic contrast does not stand; empty if it may."""
    if found.reverses and all(p >= limit.gamma - ROUNDING for p in found.reverses.values()):  # NaN is no evidence
        listed = ", ".join(f"{name} {shown(p, limit.gamma)}" for name, p in found.reverses.items())
        return (f"every reference reverses the sign of the automatic contrast: {listed}",)
    beyond = found.within <= 1.0 - limit.gamma + ROUNDING
    unsigned = found.sign_probability < limit.gamma - ROUNDING
    if not beyond or not (unsigned or success == "equivalence"):
        return ()
    why = f"its sign is not established ({_sign(found, limit)})" if unsigned else "success was declared as equivalence"
    return (f"the bias is beyond the tolerance: {_within(found, 1.0 - limit.gamma)}, and {why}",)


def _shortfalls(found: Evidence, success: Success, limit: Limits) -> list[tuple[str, str]]:
    """(reason, cure) for each probability that a retained contrast would need and does not reach."""
    short = []
    if found.sign_probability < limit.gamma - ROUNDING:
        reason = f"the sign is not established: {_sign(found, limit)}, needed {limit.gamma:g}"
        short.append((reason, "more audited rows in both arms"))
    if success == "equivalence" and found.within < limit.gamma - ROUNDING:
        reason = f"equivalence is not established: {_within(found, limit.gamma)}, needed {limit.gamma:g}"
        short.append((reason, "more audited rows in both arms, or a scorer whose errors differ less between them"))
    return short


def _established(found: Evidence, success: Success, limit: Limits) -> tuple[str, ...]:
    sign = f"every gate holds and the sign is established: {_sign(found, limit)}"
    return (
        (sign, f"the bias is within the tolerance: {_within(found, limit.gamma)}")
        if success == "equivalence"
        else (sign,)
    )


def _resting(prior_dominated: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"rests on the prior: {text}" for text in prior_dominated)


def _reasons(gates: Sequence[Gate]) -> tuple[str, ...]:
    """Why these gates do not hold."""
    states = {False: "fails", None: "cannot be told", True: "holds"}
    return tuple(f"{gate.name} gate {states[gate.passed]}: {gate.reason}" for gate in gates)


def _changes(gates: Sequence[Gate]) -> tuple[str, ...]:
    return tuple(gate.change for gate in gates if gate.change)


def _sign(found: Evidence, limit: Limits) -> str:
    word = "above" if found.direction > 0 else "below"
    return f"P(corrected contrast {word} 0) {equals(shown(found.sign_probability, limit.gamma))}"


def _within(found: Evidence, against: float) -> str:
    return f"P(|bias| < {100 * found.tolerance:g} pp) {equals(shown(found.within, against))}"
