"""The study file: what is declared before anything is fitted, read from TOML."""

from itertools import pairwise
from pathlib import Path
from typing import Literal

from drift.data.declaration import (
    TERMS,
    Coding,
    Columns,
    Contrast,
    Equivalence,
    Kind,
    Layout,
    Population,
    Refusals,
    Study,
    Target,
    Tier,
)
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
from drift.data.sections import Section, number
from drift.scale import Scale, scale_problems, value_key

GENERAL = ("title", "ratings", "cells", "seed", "models", "simulated", "missing")
TABLES = ("columns", "layout", "where", "scale", "target", "tiers", "equivalence", "contrasts", "refusals", "design")
RATING_COLUMNS = ("model", "rating", "participant", "question", "domain", "refused", "replicate")
CELL_COLUMNS = ("model", "question", "domain", "deviation")
POPULATIONS: tuple[Population, ...] = ("new", "these")
CODINGS: tuple[Coding, ...] = ("lowest", "missing")
PLACEHOLDER = Scale(("1", "2"))  # stands in while the other problems of a file are collected


def read_study(path: Path) -> Study:
    """The study declared in a TOML file. Raises `StudyNotFoundError` or one `StudyFileError` with every problem."""
    return parse_study(study_text(path), path)


def parse_study(text: str, path: Path) -> Study:
    """The study that a text declares; `path` is where it lies or lay, and the data file's path is relative to it.

    Neither file has to exist. Raises one `StudyFileError` that lists every problem and what to write instead.
    """
    return declared(text, path, lambda top: _study(top, text, path))


def _study(top: Section, text: str, path: Path) -> Study:
    top.only(GENERAL + TABLES)
    kind, data = _data(top)
    layout = _layout(top.table("layout"))
    columns = _columns(top.table("columns"), kind, layout)
    target = _target(top.table("target"), columns)
    design = top.table("design")
    design.only(("leave_out", "participants_are", "repeats", "disconnected"))
    return Study(
        name=study_name(path),
        title=top.text("title"),
        path=path,
        text=text,
        digest=digest(text),
        seed=seed(top),
        data=path.parent / data,
        kind=kind,
        models=cards(top, "ordinal"),
        columns=columns,
        scale=_scale(top),
        simulated=top.flag("simulated"),
        missing=top.choice("missing", ("refuse", "drop"), "refuse"),
        layout=layout,
        where=where(top.table("where")),
        target=target,
        tiers=_tiers(top.table("tiers")),
        equivalence=_equivalence(top),
        contrasts=_contrasts(top),
        refusals=_refusals(top, columns),
        leave_out=_leave_out(design),
        participants_are=_participants_are(design),
        repeats=design.choice("repeats", ("refuse", "allowed"), "refuse"),
        disconnected=design.choice("disconnected", ("refuse", "exchangeable"), "refuse"),
        raters=_raters(top),
    )


def _data(top: Section) -> tuple[Kind, str]:
    """The kind of data and the file's name. `cells` is a file name, or a table with `file` and `raters`."""
    if isinstance(top.values.get("cells"), dict):
        table = top.table("cells")
        table.only(("file", "raters"))
        return "cells", table.text("file", "cells.csv")
    if ("ratings" in top) == ("cells" in top):
        top.note('name one data file: write ratings = "ratings.csv", or [cells] file = "cells.csv" for cell means')
        return "ratings", ""
    return ("cells", top.text("cells")) if "cells" in top else ("ratings", top.text("ratings"))


def _raters(top: Section) -> int | None:
    return top.table("cells").optional_whole("raters", least=1) if isinstance(top.values.get("cells"), dict) else None


def _columns(section: Section, kind: Kind, layout: Layout) -> Columns:
    known = RATING_COLUMNS if kind == "ratings" else CELL_COLUMNS
    section.only(known)
    found = {role: section.optional_text(role) for role in known}
    for role in _needed(kind, layout):
        if role not in section:
            section.note(f'{section.key(role)} is missing: write {role} = "the column\'s name"')
    for role in _in_the_header(layout):
        if found.get(role):
            section.note(
                f"{section.key(role)} is declared, but in this wide layout the column headers give it: omit it"
            )
    note_repeated_columns(section, [name for name in found.values() if name])
    return Columns(**found)


def _needed(kind: Kind, layout: Layout) -> list[str]:
    roles = ("model", "rating") if kind == "ratings" else ("model", "question", "deviation")
    return [role for role in roles if role not in _in_the_header(layout)]


def _in_the_header(layout: Layout) -> tuple[str, ...]:
    return (layout.names_to or "", "rating", "deviation", "replicate") if layout.form == "wide" else ()


def _layout(section: Section) -> Layout:
    section.only(("form", "names_to", "columns", "columns_prefix", "sheet"))
    layout = Layout(
        form=section.choice("form", ("long", "wide"), "long"),
        names_to=section.optional_choice("names_to", ("participant", "model")),
        columns=section.texts("columns"),
        columns_prefix=section.optional_text("columns_prefix"),
        sheet=section.optional_text("sheet"),
    )
    if layout.form == "wide" and layout.names_to is None:
        section.note(
            '[layout] names_to is missing: write names_to = "participant" or "model", what a column stands for'
        )
    if layout.form == "wide" and bool(layout.columns) == (layout.columns_prefix is not None):
        section.note('[layout] write columns = ["...", "..."] or columns_prefix = "...": which columns hold ratings')
    if layout.form == "long" and (layout.names_to or layout.columns or layout.columns_prefix):
        section.note('[layout] names rating columns: write form = "wide"')
    return layout


def _scale(top: Section) -> Scale:
    section = top.table("scale")
    section.only(("labels",))
    if "labels" not in section:
        section.note("[scale] labels is missing: write labels = [1, 2, 3, 4, 5], worst to best, used or not")
        return PLACEHOLDER
    before = len(section.problems)
    labels = section.texts("labels")
    if len(section.problems) > before:
        return PLACEHOLDER
    for problem in scale_problems(labels):
        section.note(f"[scale] labels: {problem}")
    return PLACEHOLDER if scale_problems(labels) else Scale(labels)


def _target(section: Section, columns: Columns) -> Target:
    section.only(("questions", "participants", "weighting"))
    target = Target(
        questions=section.choice("questions", POPULATIONS, "new"),
        participants=section.choice("participants", POPULATIONS, "new"),
        weighting=section.choice("weighting", ("question", "domain"), "question"),
    )
    if target.weighting == "domain" and columns.domain is None:
        section.note('[target] weighting is "domain", but [columns] declares no domain')
    return target


def _tiers(section: Section) -> tuple[Tier, ...]:
    bounds = {name: number(value) for name, value in section.values.items()}
    if any(bound is None for bound in bounds.values()):
        section.note("[tiers] write upper bounds of mean deviation in percent, such as Good = 60")
    tiers = tuple(Tier(name, bound) for name, bound in bounds.items() if bound is not None)
    if any(not 0 < tier.below <= 100 for tier in tiers):
        section.note("[tiers] bounds are percent: above 0, at most 100")
    if any(after.below <= before.below for before, after in pairwise(tiers)):
        section.note("[tiers] write the bounds from lowest to highest")
    return tiers


def _equivalence(top: Section) -> Equivalence | None:
    if "equivalence" not in top:
        return None
    section = top.table("equivalence")
    section.only(("margin_pp", "sensitivity_pp", "set"))
    margin = number(section.values.get("margin_pp"))
    others = section.numbers("sensitivity_pp")
    if margin is None:
        section.note("[equivalence] margin_pp is missing or no number: write margin_pp = 5; there is no default margin")
    if any(not 0 < bound < 100 for bound in (*others, 1.0 if margin is None else margin)):
        section.note("[equivalence] margins are percentage points: above 0, below 100")
    models = section.texts("set")
    if len(models) == 1:
        section.note(f"[equivalence] set names {models[0]!r} alone: write two models or more")
    return Equivalence(margin_pp=margin or 0.0, sensitivity_pp=others, set=models)


def _contrasts(top: Section) -> tuple[Contrast, ...]:
    found = tuple(_contrast(section) for section in top.tables("contrasts"))
    note_repeated_names(top, "contrasts", [contrast.name for contrast in found])
    return found


def _contrast(section: Section) -> Contrast:
    section.only(("name", "treatment", "comparator", "domain"))
    sides: dict[Literal["treatment", "comparator"], tuple[str, ...]] = {
        "treatment": section.texts("treatment"),
        "comparator": section.texts("comparator"),
    }
    for side, models in sides.items():
        if not models:
            section.note(f'{section.key(side)} names no model: write {side} = ["..."]')
    for model in sorted({*sides["treatment"]} & {*sides["comparator"]}):
        section.note(f"{section.key('comparator')} has {model!r}, which is in treatment too")
    return Contrast(section.text("name"), sides["treatment"], sides["comparator"], section.optional_text("domain"))


def _refusals(top: Section, columns: Columns) -> Refusals | None:
    section = top.table("refusals")
    section.only(("coding", "values"))
    coding: Coding | None = section.optional_choice("coding", CODINGS)
    values = section.texts("values")
    if columns.refused is None and not values:
        if "refusals" in top:
            section.note('[refusals] says no way to tell them: declare [columns] refused, or values = ["N/A"]')
        return None
    if coding is None:
        section.note('[refusals] coding is missing: write coding = "lowest" or "missing"')
    scale = top.values.get("scale", {})
    labels = scale.get("labels", []) if isinstance(scale, dict) else []
    known = {value_key(str(label)) for label in labels} if isinstance(labels, list) else set()
    for value in values:
        if value_key(value) in known:
            section.note(f"[refusals] values has {value!r}, which is a label of the scale")
    return Refusals(coding or "lowest", values)


def _leave_out(design: Section) -> tuple[str, ...]:
    found = design.texts("leave_out")
    for term in found:
        if term not in TERMS:
            design.note(f"[design] leave_out has {term!r}, which is no term; terms are {', '.join(TERMS)}")
    return found


def _participants_are(design: Section) -> Literal["persons", "slots"] | None:
    return design.optional_choice("participants_are", ("persons", "slots"))
