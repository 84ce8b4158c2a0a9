"""The study file of a scorer study: what is declared before anything is fitted, read from TOML."""

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path

from drift.data.declaration import Layout
from drift.data.general import (
    cards,
    declared,
    digest,
    note_repeated_columns,
    note_repeated_names,
    seed,
    study_name,
    study_text,
    where,
)
from drift.data.scorer_declaration import (
    BINARY,
    MOST_CLASSES,
    SAMPLED_ROLES,
    Audit,
    AuditDesign,
    Mixture,
    ModelWeights,
    Outcome,
    Outside,
    Prevalence,
    ScorerColumns,
    ScorerContrast,
    ScorerStudy,
    ScorerTarget,
    Success,
)
from drift.data.sections import Section, did_you_mean, number
from drift.scale import Scale, scale_problems

GENERAL = ("title", "labels", "seed", "models", "simulated", "missing")
TABLES = (
    "outcome", "columns", "layout", "where", "scale", "target", "audits", "versions", "reference", "gates", "contrasts",
)  # fmt: skip
NEEDED = ("key", "arm", "scorer")
OPTIONAL = ("model", "route", "audit", "inclusion", "replicate", "population")
VERSIONED = ("scorer", "router", "raters")
PREVALENCES: tuple[Prevalence, ...] = ("panel", "superpopulation", "new-keys")
MIXTURES: tuple[Mixture, ...] = ("equal", "rows")
OUTSIDE: tuple[Outside, ...] = ("refuse", "error-rates")
DESIGNS: tuple[AuditDesign, ...] = ("representative", "stress", "paired", "unrecorded")
SUCCESSES: tuple[Success, ...] = ("sign", "equivalence")
WEIGHT_TOLERANCE = 1e-6  # by which declared weights may miss 1: thirds written with seven digits do


def is_scorer_study(text: str) -> bool:
    """Whether a study file's text declares labels. False for what is not valid TOML."""
    try:
        return "labels" in tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False


def read_scorer_study(path: Path) -> ScorerStudy:
    """The study declared in a TOML file. Raises `StudyNotFoundError` or one `StudyFileError` with every problem."""
    return parse_scorer_study(study_text(path), path)


def parse_scorer_study(text: str, path: Path) -> ScorerStudy:
    """The study that a text declares; `path` is where it lies or lay, and the data file's path is relative to it.

    Neither file has to exist. Raises one `StudyFileError` that lists every problem and what to write instead.
    """
    return declared(text, path, lambda top: _study(top, text, path))


def _study(top: Section, text: str, path: Path) -> ScorerStudy:
    top.only(GENERAL + TABLES)
    columns = _columns(top.table("columns"))
    return ScorerStudy(
        name=study_name(path),
        title=top.text("title"),
        path=path,
        text=text,
        digest=digest(text),
        seed=seed(top),
        data=path.parent / top.text("labels", "labels.csv"),
        models=cards(top, "misclassification"),
        outcome=_outcome(top),
        columns=columns,
        scale=_scale(top),
        simulated=top.flag("simulated"),
        missing=top.choice("missing", ("refuse", "drop"), "refuse"),
        layout=_layout(top.table("layout")),
        where=where(top.table("where")),
        target=_target(top.table("target"), columns),
        audits=_audits(top.table("audits"), columns),
        versions=_versions(top.table("versions")),
        reference=_reference(top, columns),
        contrasts=_contrasts(top),
        gates=_gates(top.table("gates")),
    )


def _outcome(top: Section) -> Outcome:
    section = top.table("outcome")
    section.only(("name", "rubric"))
    return Outcome(section.text("name", "unsupported claim"), section.optional_text("rubric"))


def _columns(section: Section) -> ScorerColumns:
    section.only((*NEEDED, "raters", *OPTIONAL))
    needed = {role: section.text(role, "the column's name") for role in NEEDED}
    optional = {role: section.optional_text(role) for role in OPTIONAL}
    raters = section.texts("raters")
    if "" in raters:
        section.note("[columns] raters has an empty name")
    note_repeated_columns(section, [name for name in (*needed.values(), *optional.values(), *{*raters}) if name])
    if optional["inclusion"] and not raters:
        section.note("[columns] inclusion is declared without raters, so no row is audited: omit it, or name raters")
    return ScorerColumns(needed["key"], needed["arm"], needed["scorer"], raters, **optional)


def _layout(section: Section) -> Layout:
    """The worksheet of an xlsx file: labels have one layout, a response a line."""
    section.only(("sheet",))
    return Layout(sheet=section.optional_text("sheet"))


def _scale(top: Section) -> Scale:
    """The declared labels, worst to best; 0 and 1 where there is no table [scale]."""
    section = top.table("scale")
    section.only(("labels",))
    if "scale" not in top:
        return BINARY
    if "labels" not in section:
        section.note("[scale] labels is missing: write labels = [1, 2, 3, 4, 5], worst to best, used or not")
        return BINARY
    labels, before = section.texts("labels"), len(section.problems)
    for problem in scale_problems(labels):
        section.note(f"[scale] labels: {problem}")
    if len(labels) > MOST_CLASSES:
        section.note(f"[scale] labels: a scorer's scale has at most {MOST_CLASSES} labels, this one has {len(labels)}")
    return Scale(labels) if len(section.problems) == before else BINARY


def _target(section: Section, columns: ScorerColumns) -> ScorerTarget:
    section.only(("models", "prevalence", "population", "outside"))
    target = ScorerTarget(
        models=_model_weights(section, columns),
        prevalence=section.choice("prevalence", PREVALENCES, "panel"),
        population=section.optional_text("population"),
        outside=section.choice("outside", OUTSIDE, "refuse"),
    )
    if columns.population is None and (target.population is not None or target.outside == "error-rates"):
        named = "population" if target.population is not None else "outside"
        section.note(f"{section.key(named)} is declared, but [columns] declares no population to tell rows apart")
    if columns.population is not None and "population" not in section:
        section.note(
            f'[target] population is missing: write population = "...", the value of column {columns.population!r} '
            "that the conclusions are about"
        )
    return target


def _model_weights(section: Section, columns: ScorerColumns) -> ModelWeights:
    """How the target weighs models; declared weights are numbers of at least 0 that sum to 1."""
    if not isinstance(section.values.get("models"), Mapping):
        return section.choice("models", MIXTURES, "equal")
    written = {str(name): number(value) for name, value in section.table("models").values.items()}
    weights = {name: weight for name, weight in written.items() if weight is not None and weight >= 0}
    if columns.model is None:
        section.note("[target] models gives weights, but [columns] declares no model")
    for name in written:
        if name not in weights:
            section.note(f"[target] models, weight of {name!r}: write a number of at least 0")
    total = math.fsum(weights.values())
    if len(weights) == len(written) and abs(total - 1) > WEIGHT_TOLERANCE:
        section.note(f"[target] models: the weights sum to {total:g}, not to 1")
    return weights


def _audits(section: Section, columns: ScorerColumns) -> tuple[Audit, ...]:
    """The declared audits; one of unrecorded design where raters are declared and nothing else is."""
    found = tuple(_audit(name, section, columns) for name in section.values)
    if columns.audit is not None and not found:
        section.note(
            f"[columns] audit is {columns.audit!r}, but no audit is declared: write a table [audits.NAME] for each"
        )
    if columns.audit is None and len(found) > 1:
        section.note(f"[audits] declares {len(found)} audits: name the column that tells them apart, [columns] audit")
    if found and not columns.raters:
        section.note('[audits] declares an audit, but [columns] names no raters: write raters = ["..."]')
    if found or not columns.raters:
        return found
    return (Audit("audit", "unrecorded"),)


def _audit(name: str, audits: Section, columns: ScorerColumns) -> Audit:
    section = _inner(audits, "audits", name)
    section.only(("design", "sampled_on", "versions"))
    design = section.optional_choice("design", DESIGNS)
    if "design" not in section:
        section.note(f"{section.key('design')} is missing: write one of {', '.join(map(repr, DESIGNS))}")
    sampled_on = _sampled_on(section, columns)
    if design == "stress" and not sampled_on:
        section.note(f'{section.key("sampled_on")} is missing: write what the rows were chosen on, such as ["scorer"]')
    return Audit(name, design or "unrecorded", sampled_on, _versions(_inner(section, f"audits.{name}", "versions")))


def _sampled_on(section: Section, columns: ScorerColumns) -> tuple[str, ...]:
    found = section.texts("sampled_on")
    roles = columns.declared()
    for name in found:
        if name in SAMPLED_ROLES and name not in roles and name not in roles.values():
            section.note(f"{section.key('sampled_on')} has {name!r}, but [columns] declares no {name}")
    for role in ("audit", "inclusion"):
        if roles.get(role) in found:
            section.note(f"{section.key('sampled_on')} has {roles[role]!r}, the {role}: name what that depended on")
    return found


def _inner(section: Section, place: str, key: str) -> Section:
    """The table `[place.key]` of a table; its problems are noted under that name."""
    value = section.values.get(key, {})
    if not isinstance(value, Mapping):
        section.note(f"[{place}] {key} is {value!r}: write it as a table, [{place}.{key}] on a line of its own")
    return Section(f"[{place}.{key}] ", value if isinstance(value, Mapping) else {}, section.problems)


def _versions(section: Section) -> dict[str, str]:
    section.only(VERSIONED)
    found = {key: section.optional_text(key) for key in VERSIONED}
    return {key: text for key, text in found.items() if text is not None}


def _reference(top: Section, columns: ScorerColumns) -> str | None:
    section = top.table("reference")
    section.only(("rater",))
    if "reference" not in top:
        return None
    rater = section.text("rater", "rater_1")
    if rater and rater not in columns.raters:
        hint = did_you_mean(rater, columns.raters)
        section.note(f"[reference] rater {rater!r} is no rater{hint}; raters are {', '.join(columns.raters) or 'none'}")
    return rater


def _contrasts(top: Section) -> tuple[ScorerContrast, ...]:
    found = tuple(_contrast(section) for section in top.tables("contrasts"))
    note_repeated_names(top, "contrasts", [contrast.name for contrast in found])
    return found


def _contrast(section: Section) -> ScorerContrast:
    section.only(("name", "treatment", "comparator", "tolerance_pp", "success", "same_construct"))
    contrast = ScorerContrast(
        name=section.text("name"),
        treatment=section.text("treatment", "an arm"),
        comparator=section.text("comparator", "an arm"),
        tolerance_pp=_tolerance(section),
        success=section.choice("success", SUCCESSES, "sign"),
        same_construct=section.flag("same_construct") if "same_construct" in section else None,
    )
    if contrast.treatment and contrast.treatment == contrast.comparator:
        section.note(f"{section.key('comparator')} is {contrast.comparator!r}, which is the treatment too")
    return contrast


def _tolerance(section: Section) -> float:
    key, tolerance = section.key("tolerance_pp"), number(section.values.get("tolerance_pp"))
    if "tolerance_pp" not in section:
        section.note(f"{key} is missing: write tolerance_pp = 5; there is no default tolerance")
    elif tolerance is None or not 0 < tolerance < 100:
        section.note(f"{key} is {section.values['tolerance_pp']!r}: write percentage points, above 0 and below 100")
    return tolerance or 0.0


def _gates(section: Section) -> dict[str, float]:
    """Declared limits by name; which names there are is for the gates to say."""
    found = {name: number(value) for name, value in section.values.items()}
    for name, value in found.items():
        if value is None:
            section.note(f"{section.key(name)} is {section.values[name]!r}: write a number")
    return {name: value for name, value in found.items() if value is not None}
