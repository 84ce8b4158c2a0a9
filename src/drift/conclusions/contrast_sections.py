"""What a contrast card says, as sections of sentences and tables of texts: always the same ones, in the same order."""

from collections.abc import Mapping
from dataclasses import dataclass

from drift.conclusions.contrast_content import CardContent
from drift.conclusions.contrast_numbers import (
    UNKNOWN,
    confidence,
    confidence_pp,
    estimate,
    estimate_pp,
    pp,
    rate,
    share,
)
from drift.conclusions.contrast_parts import AuditPart, ConfusionPart
from drift.conclusions.gates import equals

NONE = "none"
VERDICTS = {
    "retain": "the automatic contrast may be published, with the corrected one beside it",
    "qualify": "the corrected contrast may be published, with the reasons given here",
    "reject": "the automatic contrast does not stand",
    "quarantine": "neither contrast answers the question",
    "undecided": "nothing is decided",
}
TARGETS = {
    "panel": "these responses",
    "superpopulation": "responses that these are a sample of",
    "new-keys": "new keys",
}


@dataclass(frozen=True)
class Section:
    """A heading, sentences, and a table of texts (column -> text in each row)."""

    title: str
    lines: tuple[str, ...] = ()
    table: tuple[dict[str, str], ...] = ()


def sections(card: CardContent) -> tuple[Section, ...]:
    """Everything on the card, in the order in which it is decided on."""
    return (
        Section("Decision", (_verdict(card), *card.disposition.reasons)),
        Section("Contrast", _bias(card), _contrasts(card)),
        Section("Outcome and prompts", _question(card)),
        Section("Target and versions", _target(card)),
        Section("Sampling", _dropped(card), tuple(map(_audit, card.audits))),
        Section("Errors by arm and route", (COUNTED,), tuple(map(_confusion, card.confusion))),
        Section("Arms", (), _arms(card)),
        Section("Paired effects", _same_key(card), _paired(card)),
        Section("Rater evidence", _labelled(card), _agreement(card)),
        Section("Sensitivity", (), _sensitivity(card)),
        Section("Other methods", _notes(card), _comparators(card)),
        Section("What the data can tell", _identified(card), _prior(card)),
        Section("Fragility", (), _fragility(card)),
        Section("Gates", _gates(card)),
        Section("Remarks", card.remarks or (NONE,)),
        Section("Prohibited extrapolations", card.prohibited),
        Section("What would change the decision", card.disposition.changes or (NONE,)),
    )


COUNTED = (
    "Audited rows as counted, not weighted, against the first rater who labelled them; exact 95% intervals of shares. "
    "FPR and FNR: corrected for the raters' errors, 95% intervals."
)
PAIRED = "below, each rater's labels as they are, on pairs that the rater labelled in both arms; 95% intervals by key"


def _verdict(card: CardContent) -> str:
    return f"{card.disposition.decision.upper()}: {VERDICTS[card.disposition.decision]}"


def _contrasts(card: CardContent) -> tuple[dict[str, str], ...]:
    return tuple(
        {
            "target": TARGETS[part.prevalence] + (" (declared)" if part.declared else ""),
            "automatic": pp(part.automatic_pp),
            "corrected": estimate_pp(part.corrected_pp),
            "P(> 0)": share(part.above_zero),
            "P(< 0)": share(part.below_zero),
        }
        for part in card.contrasts
    )


def _bias(card: CardContent) -> tuple[str, ...]:
    bias = card.bias
    size = f"bias of the automatic contrast {estimate_pp(bias.bias_pp)}"
    split = f"false positive rates {estimate_pp(bias.from_fpr_pp)}, false negative rates "
    split += f"{estimate_pp(bias.from_fnr_pp)}, prevalence {estimate_pp(bias.from_prevalence_pp)}"
    shrunk = bias.attenuation
    return (
        f"{card.prompts.treatment} minus {card.prompts.comparator}, percentage points, 95% intervals",
        f"{size}; P(|bias| < {bias.tolerance_pp:g}) {equals(share(bias.within))}",
        f"of which from {split}",
        *([f"corrected over automatic: {estimate(shrunk)}"] if shrunk is not None else []),
    )


def _question(card: CardContent) -> tuple[str, ...]:
    prompts = card.prompts
    keys = f"{prompts.keys_both} keys in both arms ({prompts.pairs} pairs of one model's responses)"
    return (
        f"label 1: {card.outcome.name}" + (f" ({card.outcome.rubric})" if card.outcome.rubric else ""),
        f"treatment {prompts.treatment}, comparator {prompts.comparator}, paired on {prompts.pairing_key}",
        f"{keys}, {prompts.keys_treatment_only} in treatment only, {prompts.keys_comparator_only} in comparator only",
        f"success: {card.success} (gamma {card.limits.gamma:g}, tolerance {card.bias.tolerance_pp:g} pp)",
    )


def _target(card: CardContent) -> tuple[str, ...]:
    target = card.target
    weights = [
        f"{arm}: " + ", ".join(f"{model} {weight:.3g}" for model, weight in models.items())
        for arm, models in target.weights.items()
    ]
    rows = f"{target.rows_treatment} and {target.rows_comparator} rows"
    return (
        f"{TARGETS[target.prevalence]}, population {target.population}: {rows}",
        f"weights of the models, {'; '.join(weights)}",
        f"versions: {_listed(card.versions)}",
    )


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{part} {text}" for part, text in versions.items()) or "none declared"


def _dropped(card: CardContent) -> tuple[str, ...]:
    counts = ", ".join(f"{arm} {count}" for arm, count in card.dropped.items() if count)
    return (f"rows left out for want of a scorer label: {counts or NONE}",)


def _audit(audit: AuditPart) -> dict[str, str]:
    known = audit.inclusion_smallest is not None and audit.inclusion_largest is not None
    return {
        "audit": audit.name + (" (outside)" if audit.outside else ""),
        "design": audit.design,
        "sampled on": ", ".join(audit.sampled_on) or NONE,
        "rows": str(audit.rows),
        "treatment": str(audit.rows_treatment),
        "comparator": str(audit.rows_comparator),
        "unrated": str(audit.unrated),
        "inclusion": f"{audit.inclusion_smallest:.3g} to {audit.inclusion_largest:.3g}" if known else UNKNOWN,
        "versions": _listed(audit.versions),
    }


def _confusion(part: ConfusionPart) -> dict[str, str]:
    return {
        "arm": part.arm,
        "route": part.stratum,
        **{name.upper(): str(getattr(part, name)) for name in ("tp", "fp", "fn", "tn")},
        "FP share": rate(part.fpr_counted),
        "FN share": rate(part.fnr_counted),
        "FPR": estimate(part.fpr) if part.fpr else UNKNOWN,
        "FNR": estimate(part.fnr) if part.fnr else UNKNOWN,
    }


def _arms(card: CardContent) -> tuple[dict[str, str], ...]:
    return tuple(
        {
            "arm": part.arm,
            "automatic": f"{part.automatic:.3f}",
            "corrected": estimate(part.corrected),
            "bias (pp)": estimate_pp(part.bias_pp),
            "P(se + sp < 1)": share(part.inverted),
        }
        for part in card.arms
    )


def _same_key(card: CardContent) -> tuple[str, ...]:
    said = [
        f"{part.n_pairs} pairs on {part.n_keys} keys, {part.keys} keys: automatic {pp(part.automatic_pp)}, corrected "
        f"{estimate_pp(part.corrected_pp)}, bias {estimate_pp(part.bias_pp)}, P(> 0) {equals(share(part.above_zero))}"
        + (f", {part.covered:.0%} of the target's weights" if part.covered < 1 else "")
        for part in card.same_key
    ]
    return (*(said or ["no key is in both arms"]), PAIRED)


def _paired(card: CardContent) -> tuple[dict[str, str], ...]:
    return tuple(
        {
            "rater": part.rater,
            "pairs": str(part.pairs),
            "keys": str(part.keys),
            "treatment only": str(part.only_treatment),
            "comparator only": str(part.only_comparator),
            "automatic (pp)": pp(part.automatic_pp),
            "rated (pp)": confidence_pp(part.rated_pp),
        }
        for part in card.raters.paired
    )


def _labelled(card: CardContent) -> tuple[str, ...]:
    counts = [
        f"{rater} labelled " + ", ".join(f"{arm} {count}" for arm, count in arms.items())
        for rater, arms in card.raters.labelled.items()
    ]
    truth = [f"{card.raters.reference} is taken for the truth"] if card.raters.reference else []
    return (*(counts or ["no rater"]), *truth)


def _agreement(card: CardContent) -> tuple[dict[str, str], ...]:
    return tuple(
        {
            "raters": " and ".join(part.raters),
            "arm": part.arm,
            "rows": str(part.rows),
            "agreement": confidence(part.agreement),
            "as modelled": estimate(part.modelled) if part.modelled else UNKNOWN,
            "kappa": confidence(part.kappa),
        }
        for part in card.raters.agreement
    )


def _sensitivity(card: CardContent) -> tuple[dict[str, str], ...]:
    return tuple(
        {
            "assumption": part.title,
            "corrected (pp)": estimate_pp(part.corrected_pp) if part.corrected_pp else "withheld: its checks failed",
            "P(sign)": UNKNOWN if part.sign_probability is None else share(part.sign_probability),
            "bias (pp)": estimate_pp(part.bias_pp) if part.bias_pp else UNKNOWN,
        }
        for part in card.sensitivity
    )


def _notes(card: CardContent) -> tuple[str, ...]:
    """Whose labels are taken for the truth, then every note with the methods that it is about."""
    truth = dict.fromkeys(f"taken for the truth: {part.truth}" for part in card.comparators)
    methods: dict[str, list[str]] = {}
    for part in card.comparators:
        if part.note:
            methods.setdefault(part.note, []).append(part.method)
    return (*truth, *(f"{', '.join(names)}: {note}" for note, names in methods.items()))


def _comparators(card: CardContent) -> tuple[dict[str, str], ...]:
    return tuple(
        {
            "method": part.method,
            "contrast (pp)": confidence_pp(part.contrast_pp),
            "rows": str(part.rows),
        }
        for part in card.comparators
    )


def _identified(card: CardContent) -> tuple[str, ...]:
    bounds = [
        f"{part.assumption}: the contrast lies above {estimate_pp(part.lower_pp)} and "
        f"below {estimate_pp(part.upper_pp)} pp"
        for part in card.bounds
    ]
    return (*(part.statement for part in card.identification), *bounds)


def _prior(card: CardContent) -> tuple[dict[str, str], ...]:
    return tuple(
        {
            "estimate": part.quantity,
            "sd over prior's": f"{part.sd_ratio:.2f}",
            "the prior decides it": "yes" if part.dominated else "no",
            "part of the disposition": "yes" if part.decides else "no",
        }
        for part in card.prior
    )


def _fragility(card: CardContent) -> tuple[dict[str, str], ...]:
    return tuple(
        {
            "labels of": part.rater,
            "labels": str(part.rows),
            "contrast (pp)": pp(part.rated_pp),
            "flips to zero": str(part.flips_to_zero),
            "flips below gamma": str(part.flips_to_doubt),
            "error budget (pp an arm)": f"{part.error_budget_pp:.1f}",
        }
        for part in card.fragility
    )


def _gates(card: CardContent) -> tuple[str, ...]:
    states = {True: "holds", False: "fails", None: "cannot be told"}
    return tuple(f"{gate.name} {states[gate.passed]}: {gate.reason}" for gate in card.gates)
