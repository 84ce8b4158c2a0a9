"""Do intervals cover the truth that they should? Many SIMULATED data sets of one size; writes docs/recovery.md."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from drift.data.declaration import Target
from drift.data.ratings import read_ratings
from drift.data.recipe import Truth, expected_deviation
from drift.data.simulate import simulate
from drift.data.study import parse_study
from drift.estimands import deviation
from drift.inference.compiled import compile_model, structure_key
from drift.inference.sampling import Settings, sample
from drift.inference.store import Inputs, assemble
from drift.models.cards import build_model, read_card
from drift.models.frame import ratings_frame
from drift.simulate import STUDY

PAGE = Path(__file__).parents[1] / "docs" / "recovery.md"
SIZE = {"n_participants": 20, "n_questions": 24, "n_models": 6}  # 2,880 ratings
INTERACTION_SD = {"ordinal": 0.0, "ordinal-interaction": 0.6}  # logits; both cards are true of what they are fitted to
INTERVAL = (0.05, 0.95)
SETTINGS = Settings()
NODES = 61  # of the Gauss-Hermite rule for the population's true deviation


def one(card_name: str, seed: int) -> list[dict[str, Any]]:
    """One data set: truth, posterior mean and sd, and the interval's ends of every quantity checked."""
    made = simulate("Radd", **SIZE, seed=seed, effects="normal", interaction_sd=INTERACTION_SD[card_name])
    with tempfile.TemporaryDirectory() as folder:
        study = parse_study(STUDY.format(recipe="Radd", seed=seed), Path(folder) / "study.toml")
        made.table.to_csv(study.data, index=False)
        ratings = read_ratings(study)
    card = read_card(card_name)
    frame = ratings_frame(ratings, card.terms)
    key = structure_key({"card": card.digest, **frame.structure()})
    compiled = compile_model(lambda: build_model(card, frame), key)
    draws = sample(compiled, frame.arrays, frame.coords, SETTINGS, seed, progress=False)
    inputs = Inputs(
        *("recovery", "SIMULATED", study.text, study.digest, "ratings.csv", ratings.digest, True),
        *(card.name, card.text, card.digest, "ratings", card.terms, (), "lowest", False, seed, SETTINGS.as_dict()),
    )
    tree = assemble(draws, ratings.to_dataset(), inputs, [])
    return list(_rows(card_name, seed, tree, made.truth, ratings.levels["model"]))


def _rows(card: str, seed: int, tree: xr.DataTree, truth: Truth, models: Sequence[str]) -> Iterable[dict[str, Any]]:
    order = [truth.models.index(name) for name in models]
    posterior = tree["posterior"].to_dataset()
    for target in (Target("these", "these"), Target("new", "new")):
        found = deviation(tree, target).stack(sample=("chain", "draw")).transpose("model", "sample").values
        name = f"deviation, {target.questions} questions and {target.participants} participants"
        yield from _checked(card, seed, name, found, true_deviation(truth, target)[order])
    cut = posterior["cutpoints"].stack(sample=("chain", "draw")).transpose("cutpoint", "sample").values
    yield from _checked(card, seed, "cutpoints", cut, centred_cutpoints(truth))
    for term in ("participant", "question", *(["model:question"] if INTERACTION_SD[card] else [])):
        sd = posterior[f"sd_{term.replace(':', '_')}"].stack(sample=("chain", "draw"))
        values = sd.transpose(..., "sample").values.reshape(-1, sd.sizes["sample"])
        yield from _checked(card, seed, f"sd of {term}", values, np.full(len(values), truth.sd[term]))


def _checked(card: str, seed: int, quantity: str, draws: Any, truth: Any) -> Iterable[dict[str, Any]]:
    low, high = np.quantile(draws, INTERVAL, axis=1)
    for i, value in enumerate(truth):
        mean, sd = float(draws[i].mean()), float(draws[i].std(ddof=1))
        inside = bool(low[i] <= value <= high[i])
        yield {
            "card": card,
            "seed": seed,
            "quantity": quantity,
            "index": i,
            "truth": float(value),
            "mean": mean,
            "sd": sd,
            "inside": inside,
            "z": (mean - float(value)) / sd,
        }


def true_deviation(truth: Truth, target: Target) -> Any:
    """(model,) percent. These: the mean over the cells simulated. New: over the normal populations they came from."""
    if target.questions == "these":
        return truth.deviation().mean(axis=1)
    spread = np.sqrt(sum(truth.sd[term] ** 2 for term in ("participant", "question", "model:question")))
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    by_node = [expected_deviation(truth.model_domain + spread * z, np.zeros(1), truth.cutpoints) for z in nodes]
    by_domain = np.tensordot(weights / weights.sum(), np.stack(by_node), axes=1)
    share = np.bincount(truth.question_domain, minlength=by_domain.shape[1])
    return by_domain @ (share / share.sum())


def centred_cutpoints(truth: Truth) -> Any:
    """The true cutpoints for effects that sum to zero over the levels in the data."""
    member = truth.question_domain[:, None] == np.arange(truth.model_domain.shape[1])
    grid = truth.eta @ (member / member.sum(axis=0))
    return truth.cutpoints - grid.mean() - truth.participant.mean()


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """By card and quantity: coverage, and mean and sd of z, each with a standard error over data sets."""
    found = []
    for (card, quantity), part in rows.groupby(["card", "quantity"], sort=False):
        by_set = part.groupby("seed").agg(inside=("inside", "mean"), z=("z", "mean"))
        error = by_set.std(ddof=1) / np.sqrt(len(by_set))
        found.append(
            {
                "card": card,
                "quantity": quantity,
                "data sets": len(by_set),
                "intervals": len(part),
                "coverage": part["inside"].mean(),
                "coverage_se": error["inside"],
                "z_mean": part["z"].mean(),
                "z_se": error["z"],
                "z_sd": part["z"].std(ddof=1),
            }
        )
    return pd.DataFrame(found)


def run(card: str, seeds: Iterable[int], folder: Path) -> pd.DataFrame:
    """Every data set once; one that is already in the folder is read, so a killed run goes on where it was."""
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for seed in seeds:
        path = folder / f"{card}-{seed}.json"
        if not path.exists():
            beside = path.with_suffix(f".{os.getpid()}.part")
            beside.write_text(json.dumps(one(card, seed)), encoding="utf-8")
            beside.replace(path)
            print(f"{card}, data set {seed}", file=sys.stderr, flush=True)
        rows += json.loads(path.read_text(encoding="utf-8"))
    return pd.DataFrame(rows)


def page(table: pd.DataFrame, command: str) -> str:
    sds = " and ".join(f"{sd:g} logits for `{card}`" for card, sd in INTERACTION_SD.items())
    size = "{n_models} models x {n_questions} questions x {n_participants} participants".format(**SIZE)
    head = (
        f"# Recovery\n\nGenerated by `{command}` on {datetime.now(UTC).date()}; do not edit. **Simulated** data: "
        f"recipe Radd with normal effects, {size}, the model x question sd {sds}. Coverage of 90% intervals; "
        "z = (posterior mean - truth) / posterior sd; standard errors over data sets.\n\n"
    )
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
    shown = table.apply(lambda column: column.map(lambda v: f"{v:.3f}" if isinstance(v, float) else str(v)))
    return head + "\n".join(lines + ["| " + " | ".join(row) + " |" for row in shown.to_numpy()]) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    arguments = argparse.ArgumentParser("recovery", description=__doc__)
    arguments.add_argument("--data-sets", type=int, default=50, help="data sets a card (default: 50)")
    arguments.add_argument("--folder", type=Path, default=Path("recovery"), help="for results (default: recovery)")
    options = arguments.parse_args(argv)
    rows = pd.concat([run(card, range(1, options.data_sets + 1), options.folder) for card in INTERACTION_SD])
    table = summary(rows)
    print(table.to_string(index=False, float_format="{:.3f}".format))
    PAGE.write_text(page(table, f"scripts/recovery.py --data-sets {options.data_sets}"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
