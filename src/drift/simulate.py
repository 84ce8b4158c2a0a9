"""Simulate ratings or scorer labels with the layout of the bundled studies."""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drift.data.recipe import Truth
    from drift.data.simulate_labels import PanelSetting, PanelTruth

DETAILS = """\
Writes a folder that `drift fit FOLDER/study.toml` takes: ratings.csv, study.toml and truth.json (what generated them).
Recipe R is the bundled study itself, 47 x 62 x 10 ratings whose cell sums are the published ones; Radd samples freely
from additive targets, at any smaller size, and is the one for recovery studies.
With --labels it writes labels.csv instead: a scorer's labels of models x questions x six arms, audited by two raters.
Setting scorer-audit is the bundled study of that name (labels.csv.gz; its sizes are fixed).
"""
EXAMPLE = """\
examples:
  python -m drift.simulate trial --recipe Radd --participants 20 --questions 24 --models 6 --effects normal
  python -m drift.fit trial/study.toml
  python -m drift.simulate panel --labels stress --models 4 --audited 60
"""
RATINGS = {"models": 10, "questions": 62, "seed": 20260724}  # defaults, those of the bundled study
LABELS = {"models": 6, "questions": 180, "seed": 20260801}  # as above
SETTINGS = ("representative", "stress", "routed", "outlier", "model_errors", "scorer-audit")
STUDY = """\
title = "SIMULATED ratings, recipe {recipe}, seed {seed}"
ratings = "ratings.csv"
simulated = true
models = ["ordinal", "ordinal-interaction"]
seed = {seed}

[columns]
participant = "rater"
question = "item"
model = "system"
domain = "domain"
rating = "score"
refused = "refused"

[design]
participants_are = "persons"

[refusals]
coding = "lowest"

[scale]
labels = [1, 2, 3, 4, 5]

[target]
questions = "new"
participants = "new"
weighting = "question"

[tiers]
Good = 60
Moderate = 80
Poor = 100

[equivalence]
margin_pp = 5
"""
SCORER_STUDY = """\
title = "SIMULATED scorer labels, {setting}, seed {seed}"
labels = "labels.csv"
simulated = true
models = ["misclassification"]
seed = {seed}

[outcome]
name = "true label 1"

[columns]
key = "item"
arm = "arm"
model = "model"
{route}scorer = "flag"
raters = ["rater_1", "rater_2"]
audit = "audit"
inclusion = "probability"

[target]
models = "equal"
prevalence = "panel"

[audits.{audit}]
design = "{design}"
sampled_on = {sampled_on}
"""
CONTRAST = """
[[contrasts]]
name = "{treatment} - {comparator}"
treatment = "{treatment}"
comparator = "{comparator}"
tolerance_pp = 5
success = "sign"
same_construct = true
"""


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(
        "drift simulate",
        description=f"{__doc__}\n\n{DETAILS}",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments.add_argument("folder", type=Path, help="where to write; it must not exist yet")
    arguments.add_argument("--recipe", choices=("R", "Radd"), default="R", help="default: R")
    arguments.add_argument("--participants", type=int, default=47, help="Radd: number of participants (default: 47)")
    arguments.add_argument("--questions", type=int, help="Radd: number of questions (default: 62); with --labels 180")
    arguments.add_argument("--models", type=int, help="Radd: number of models (default: 10); with --labels 6")
    arguments.add_argument(
        "--effects",
        choices=("recipe", "normal"),
        default="recipe",
        help="Radd: the recipe's effects, or fresh normal ones",
    )
    arguments.add_argument(
        "--interaction-sd",
        type=float,
        default=0.0,
        help="with normal effects: sd of model x question, logits (default: 0)",
    )
    arguments.add_argument("--labels", choices=SETTINGS, help="scorer labels of this setting instead of ratings")
    arguments.add_argument("--audited", type=int, default=48, help="with --labels: audited an arm (default: 48)")
    arguments.add_argument(
        "--seed", type=int, help="default: that of the bundled study, 20260724; with --labels 20260801"
    )
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    for name, value in (LABELS if options.labels else RATINGS).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    from drift.command import run

    return run(lambda: _labels(options) if options.labels else _ratings(options))


def _ratings(options: argparse.Namespace) -> int:
    from drift.data.simulate import simulate

    found = simulate(
        options.recipe,
        options.participants,
        options.questions,
        options.models,
        options.seed,
        effects=options.effects,
        interaction_sd=options.interaction_sd,
    )
    options.folder.mkdir(parents=True)
    found.table.to_csv(options.folder / "ratings.csv", index=False)
    study = STUDY.format(recipe=options.recipe, seed=options.seed)
    _write(options.folder, study, _listed(found.truth) | {"deviation_percent": found.truth.deviation().tolist()})
    print(f"{len(found.table):,} SIMULATED ratings in {options.folder}", file=sys.stderr)
    return 0


def _labels(options: argparse.Namespace) -> int:
    if options.labels == "scorer-audit":
        return _scorer_audit(options)
    from drift.data.simulate_labels import PRESETS, simulate_panel

    preset = PRESETS[options.labels]
    plan = replace(preset.audits[0], size=options.audited)
    setting = replace(preset, n_models=options.models, n_keys=options.questions, audits=(plan,))
    found = simulate_panel(setting, options.seed)
    options.folder.mkdir(parents=True)
    found.table.to_csv(options.folder / "labels.csv", index=False)
    _write(
        options.folder, _scorer_study(setting, options), _listed(found.truth) | {"contrasts": _contrasts(found.truth)}
    )
    print(f"{len(found.table):,} SIMULATED labels in {options.folder}", file=sys.stderr)
    return 0


def _scorer_audit(options: argparse.Namespace) -> int:
    """The bundled study as it is: with its own seed the same text, whatever the time and the folder."""
    from drift.data.bundled import find_study
    from drift.data.scorer_audit import csv_text, simulate_scorer_audit
    from drift.errors import InputError

    if (options.models, options.questions, options.audited) != (LABELS["models"], LABELS["questions"], 48):
        raise InputError("simulate", "scorer-audit has the sizes of the case study", advice="choose another setting")
    found = simulate_scorer_audit(options.seed)
    study = find_study("scorer-audit").read_text(encoding="utf-8").replace(str(LABELS["seed"]), str(options.seed))
    options.folder.mkdir(parents=True)
    (options.folder / "labels.csv.gz").write_bytes(gzip.compress(csv_text(found.table).encode(), mtime=0))
    _write(options.folder, study, {"label": found.label.tolist()})
    print(f"{len(found.table):,} SIMULATED labels in {options.folder}", file=sys.stderr)
    return 0


def _scorer_study(setting: PanelSetting, options: argparse.Namespace) -> str:
    """The study file of a simulated panel, with a contrast of each other arm against the first."""
    plan = setting.audits[0]
    study = SCORER_STUDY.format(
        setting=options.labels,
        seed=options.seed,
        route='route = "route"\n' if len(setting.routes) > 1 else "",
        audit=plan.name,
        design=plan.design,
        sampled_on=json.dumps(["arm", "scorer" if plan.design == "stress" else "model"]),
    )
    contrasts = [CONTRAST.format(treatment=arm, comparator=setting.arms[0]) for arm in setting.arms[1:]]
    return study + "".join(contrasts)


def _contrasts(truth: PanelTruth) -> list[dict[str, Any]]:
    """True contrasts of every two arms, and the bias of the automatic one, in these rows."""
    return [
        {
            "treatment": treatment,
            "comparator": comparator,
            "panel": truth.contrast(treatment, comparator),
            "superpopulation": truth.contrast(treatment, comparator, "superpopulation"),
            "bias": truth.contrast_bias(treatment, comparator),
        }
        for treatment, comparator in truth.pairs
    ]


def _write(folder: Path, study: str, truth: dict[str, Any]) -> None:
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    (folder / "study.toml").write_text(study, encoding="utf-8")


def _listed(truth: Truth | PanelTruth) -> dict[str, Any]:
    """What generated the table, arrays as lists."""
    return {name: getattr(value, "tolist", lambda value=value: value)() for name, value in vars(truth).items()}


if __name__ == "__main__":
    raise SystemExit(main())
