"""What the audited rows of a scorer study show by themselves, counted: no model, no weights."""

from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np

from drift.conclusions.contrast_parts import AuditPart, ConfidenceInterval, PairedPart, PromptPart, Rate
from drift.conclusions.gates import ArmAudit, AuditRecord
from drift.data.label_rows import NOT_RATED, BoolArray, LabelArray
from drift.data.labels import Labels
from drift.data.scorer_declaration import Audit, ScorerContrast, ScorerStudy
from drift.frequentist.audit_table import RATES, Confusion, confusion
from drift.frequentist.estimate import Estimate
from drift.frequentist.paired import paired_difference, pairs
from drift.scale import IntArray

CI_PROB = 0.95
EXPECTED = 3.0  # audited rows: where so many were due, none at all happens by chance once in 20 (rule of three)
MOST_PARTS = 5  # of the target that are named one by one


def arm_rows(labels: Labels, arm: str) -> BoolArray:
    """(row,) whether it belongs to the arm."""
    return np.asarray(labels.codes["arm"] == labels.levels["arm"].index(arm))


def first_rating(labels: Labels, reference: str | None = None) -> LabelArray:
    """(row,) label of the reference rater where there is one, else of the first rater who gave one; -1 for none."""
    order = sorted(range(len(labels.raters)), key=lambda rater: labels.raters[rater] != reference)
    found = np.full(labels.n_rows, NOT_RATED, dtype=np.int8)
    for rater in order:
        found = np.where(found == NOT_RATED, labels.rating[:, rater], found)
    return found


def counted(labels: Labels, rows: BoolArray, reference: str | None = None) -> Confusion:
    """Audited ones of `rows` by the scorer's label and that of the first rater who gave one."""
    return confusion(labels.scorer[rows], first_rating(labels, reference)[rows])


def rate(counts: Confusion, name: Literal["fpr", "fnr"]) -> Rate:
    """A share of counted rows with its exact 95% interval (Clopper-Pearson); no interval of no rows."""
    hits, rows = RATES[name](counts)
    found = counts.rate(name, "clopper-pearson", CI_PROB)
    return Rate(hits, rows, found.lower, found.upper) if rows else Rate(0, 0, None, None)


def arm_audit(labels: Labels, arm: str, reference: str | None = None) -> ArmAudit:
    """Audited positives and negatives of an arm, and the raters who labelled nothing there."""
    rows = arm_rows(labels, arm)
    counts = counted(labels, rows, reference)
    rated = (labels.rating[rows] != NOT_RATED).any(axis=0)
    absent = tuple(rater for rater, there in zip(labels.raters, rated, strict=True) if not there)
    return ArmAudit(counts.tp + counts.fn, counts.fp + counts.tn, absent)


def audit_records(labels: Labels, study: ScorerStudy) -> tuple[AuditRecord, ...]:
    """Every audit with a labelled row, as the transport gate takes it."""
    return tuple(_record(labels, audit, rows) for audit, rows in _audits(labels, study) if rows.any())


def audit_parts(labels: Labels, study: ScorerStudy, contrast: ScorerContrast) -> tuple[AuditPart, ...]:
    """Every declared audit as the card lists it."""
    return tuple(_part(labels, audit, rows, contrast) for audit, rows in _audits(labels, study))


def _audits(labels: Labels, study: ScorerStudy) -> Iterator[tuple[Audit, BoolArray]]:
    """Each declared audit with (row,) whether it has the row."""
    declared = {audit.name: audit for audit in study.audits}
    return ((declared[name], labels.audited & (labels.audit == code)) for code, name in enumerate(labels.audits))


def _record(labels: Labels, audit: Audit, rows: BoolArray) -> AuditRecord:
    pool = np.isin(labels.codes["population"], labels.codes["population"][rows])
    return AuditRecord(
        audit.name,
        audit.design,
        audit.sampled_on,
        audit.versions,
        outside=not (rows & labels.in_target).any(),
        pool_known=bool((pool & ~labels.audited).any()),
    )


def _part(labels: Labels, audit: Audit, rows: BoolArray, contrast: ScorerContrast) -> AuditPart:
    known = labels.inclusion[rows & np.isfinite(labels.inclusion)]
    return AuditPart(
        name=audit.name,
        design=audit.design,
        sampled_on=audit.sampled_on,
        outside=bool(rows.any()) and not (rows & labels.in_target).any(),
        rows=int(rows.sum()),
        rows_treatment=int((rows & arm_rows(labels, contrast.treatment)).sum()),
        rows_comparator=int((rows & arm_rows(labels, contrast.comparator)).sum()),
        unrated=labels.unrated.get(audit.name, 0),
        inclusion_smallest=float(known.min()) if known.size else None,
        inclusion_largest=float(known.max()) if known.size else None,
        versions=audit.versions,
    )


def unsampled(labels: Labels, study: ScorerStudy, contrast: ScorerContrast) -> tuple[str, ...]:
    """Parts of the target's two arms that no audit could choose from, in words with their rows.

    An audit chooses by what it was sampled on: where it has no row of some combination of these, although at least
    three were due at its overall rate, or outside the target no such row was there to choose, the combination had
    probability 0. An audit sampled on nothing, or on keys, chooses from everything.
    """
    both = arm_rows(labels, contrast.treatment) | arm_rows(labels, contrast.comparator)
    open_ = labels.in_target & both
    audits = [(audit, rows) for audit, rows in _audits(labels, study) if rows.any()]
    for audit, rows in audits:
        open_ &= ~_within_reach(labels, _combination(labels, audit, study), rows)
    return _in_words(labels, open_) if audits else ()


def _combination(labels: Labels, audit: Audit, study: ScorerStudy) -> IntArray:
    """(row,) code of what the audit was sampled on: scorer label, arm, model and stratum, as far as it names them."""
    roles = {column: role for role, column in study.columns.declared().items()}
    named = {roles.get(name, name) for name in audit.sampled_on}
    parts = [np.zeros(labels.n_rows, dtype=np.int64)]
    parts += [labels.scorer.astype(np.int64)] if "scorer" in named else []
    parts += [labels.codes[factor] for factor in ("arm", "model") if factor in named]
    parts += [labels.codes["stratum"]] if named - {"scorer", "arm", "model", "key"} else []
    return np.unique(np.column_stack(parts), axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _within_reach(labels: Labels, code: IntArray, rows: BoolArray) -> BoolArray:
    """(row,) whether the audit that has `rows` could have chosen it."""
    pool = np.isin(labels.codes["population"], labels.codes["population"][rows])
    size = int(code.max()) + 1
    there, chosen = (np.bincount(code[which], minlength=size) for which in (pool, rows))
    due = there * (rows.sum() / pool.sum())
    reached: BoolArray = ((chosen > 0) | ((there > 0) & (due < EXPECTED)))[code]
    return reached


def _in_words(labels: Labels, open_: BoolArray) -> tuple[str, ...]:
    """Rows by arm, stratum and scorer label, the largest parts first, beyond five together."""
    parts: dict[str, int] = {}
    for arm, stratum, scorer in zip(
        labels.codes["arm"][open_], labels.codes["stratum"][open_], labels.scorer[open_], strict=True
    ):
        route = f", {labels.levels['stratum'][stratum]}" if len(labels.levels["stratum"]) > 1 else ""
        name = f"arm {labels.levels['arm'][arm]}{route}, scorer label {scorer}"
        parts[name] = parts.get(name, 0) + 1
    ranked = sorted(parts.items(), key=lambda part: -part[1])
    listed = [f"{name} ({count} rows)" for name, count in ranked[:MOST_PARTS]]
    rest = ranked[MOST_PARTS:]
    return (*listed, *([f"{len(rest)} more ({sum(count for _, count in rest)} rows)"] if rest else []))


def prompts(labels: Labels, study: ScorerStudy, contrast: ScorerContrast) -> PromptPart:
    """The two arms and how many keys of the target they share."""
    both_arms = [
        _pairs(labels, labels.in_target & arm_rows(labels, arm)) for arm in (contrast.treatment, contrast.comparator)
    ]
    keys = [{key for key, _ in both} for both in both_arms]
    common = both_arms[0] & both_arms[1]
    shared = {key for key, _ in common}
    return PromptPart(
        contrast.treatment,
        contrast.comparator,
        study.columns.key,
        keys_both=len(shared),
        keys_treatment_only=len(keys[0] - shared),
        keys_comparator_only=len(keys[1] - shared),
        pairs=len(common),
    )


def _pairs(labels: Labels, rows: BoolArray) -> set[tuple[int, int]]:
    """(key, model) of each of the rows."""
    return {*zip(labels.codes["key"][rows].tolist(), labels.codes["model"][rows].tolist(), strict=True)}


def paired(
    labels: Labels, contrast: ScorerContrast, wanted: Mapping[int, float] | None = None
) -> tuple[PairedPart, ...]:
    """Each rater's own contrast on the (key, model) pairs that the rater labelled in both arms of the target.

    `wanted`: weight of each model's code; None weighs the models that occur alike.
    """
    return tuple(_paired(labels, rater, contrast, wanted) for rater in range(len(labels.raters)))


def _paired(labels: Labels, rater: int, contrast: ScorerContrast, wanted: Mapping[int, float] | None) -> PairedPart:
    rated = labels.rating[:, rater] != NOT_RATED
    arms = [labels.in_target & rated & arm_rows(labels, arm) for arm in (contrast.treatment, contrast.comparator)]
    automatic, own = (
        pairs(*(_responses(labels, values, rows) for rows in arms))
        for values in (labels.scorer, labels.rating[:, rater])
    )
    return PairedPart(
        labels.raters[rater],
        pairs=own.n,
        keys=own.n_keys,
        only_treatment=int((own.treatment > own.comparator).sum()),
        only_comparator=int((own.treatment < own.comparator).sum()),
        automatic_pp=confidence_pp(paired_difference(automatic, wanted, CI_PROB)).estimate,
        rated_pp=confidence_pp(paired_difference(own, wanted, CI_PROB)),
    )


def _responses(labels: Labels, values: LabelArray, rows: BoolArray) -> dict[str, IntArray]:
    return {
        "label": values[rows].astype(np.int64),
        "key": labels.codes["key"][rows],
        "model": labels.codes["model"][rows],
    }


def confidence(found: Estimate, scale: float = 1.0) -> ConfidenceInterval:
    """A frequentist estimate as the card has it; null where the data leave it undefined."""
    if not found.defined:
        return ConfidenceInterval(None, None, None)
    return ConfidenceInterval(scale * found.estimate, scale * found.lower, scale * found.upper)


def confidence_pp(found: Estimate) -> ConfidenceInterval:
    """The same of a contrast, in percentage points."""
    return confidence(found, 100.0)
