"""Simulate ratings with the layout of the bundled study."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drift.data.recipe import Truth

DETAILS = """\
Writes a folder that `drift fit FOLDER/study.toml` takes: ratings.csv, study.toml and truth.json (what generated them).
Recipe R is the bundled study itself, 47 x 62 x 10 ratings whose cell sums are the published ones; Radd samples freely
from additive targets, at any smaller size, and is the one for recovery studies.
"""
EXAMPLE = """\
examples:
  python -m drift.simulate trial --recipe Radd --participants 20 --questions 24 --models 6 --effects normal
  python -m drift.fit trial/study.toml
"""
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
    arguments.add_argument("--questions", type=int, default=62, help="Radd: number of questions (default: 62)")
    arguments.add_argument("--models", type=int, default=10, help="Radd: number of models (default: 10)")
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
    arguments.add_argument("--seed", type=int, default=20260724, help="default: 20260724, that of the bundled study")
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    from drift.command import run

    return run(lambda: _simulate(options))


def _simulate(options: argparse.Namespace) -> int:
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
    (options.folder / "truth.json").write_text(json.dumps(_truth(found.truth), indent=1) + "\n", encoding="utf-8")
    (options.folder / "study.toml").write_text(STUDY.format(recipe=options.recipe, seed=options.seed), encoding="utf-8")
    print(f"{len(found.table):,} SIMULATED ratings in {options.folder}", file=sys.stderr)
    return 0


def _truth(truth: Truth) -> dict[str, Any]:
    """What generated the table, with the expected deviation of each model x question cell over these participants."""
    listed = {name: getattr(value, "tolist", lambda value=value: value)() for name, value in vars(truth).items()}
    return listed | {"deviation_percent": truth.deviation().tolist()}


if __name__ == "__main__":
    raise SystemExit(main())
