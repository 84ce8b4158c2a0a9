"""Do corrected contrasts cover the truth? Many simulated panels and audit draws of real ones; writes a page."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from drift.data.labels import Labels, read_labels
from drift.data.scorer_study import parse_scorer_study
from drift.data.simulate_labels import PRESETS, simulate_panel
from drift.estimands.prevalence import prevalence
from drift.estimands.scored import scored
from drift.frequentist.comparators import comparators
from drift.inference.compiled import compile_model, structure_key
from drift.inference.sampling import Settings, sample
from drift.inference.store import assemble
from drift.jobs.job import inputs_of
from drift.jobs.labels import stored_labels
from drift.models.cards import build_model, read_card
from drift.models.label_frame import labels_frame
from drift.models.rater_assumptions import rater_assumptions

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "calibration.md"
REAL = ROOT.parent / "shared" / "data"
SETTINGS = Settings(draws=500, tune=400, chains=2, target_accept=0.9)
AUDITED = 48  # an arm
INTERVAL = (0.025, 0.975)
BESIDE = {
    "naive": "naive (Newcombe)",
    "PPI++": "PPI++",
    "PPI++ weighted": "PPI++ weighted (Hajek)",
    "post-stratified": "post-stratified (Jeffreys)",
}
STUDY = """\
title = "{title}"
labels = "labels.csv"
simulated = {simulated}
seed = {seed}
models = ["{card}"]
[outcome]
name = "label 1"
[columns]
key = "item"
arm = "arm"
{more}scorer = "flag"
raters = {raters}
audit = "audit"
inclusion = "probability"
[target]
models = "equal"
prevalence = "panel"
[audits.{audit}]
design = "{design}"
sampled_on = {sampled_on}
[reference]
rater = "rater_1"
"""


@dataclass(frozen=True)
class Panel:
    """One data set: the study's text, its table, and the true share of label 1 in each arm of the panel."""

    text: str
    table: pd.DataFrame
    truth: dict[str, float]


def simulated(name: str, seed: int) -> Panel:
    found = simulate_panel(PRESETS[name], seed)
    plan = PRESETS[name].audits[0]
    text = STUDY.format(
        title=f"SIMULATED, {name}, {seed}",
        simulated="true",
        seed=seed,
        card="misclassification",
        more='model = "model"\n' + ('route = "route"\n' if "route" in found.table else ""),
        raters='["rater_1", "rater_2"]',
        audit=plan.name,
        design=plan.design,
        sampled_on='["arm", "scorer"]' if plan.design == "stress" else '["arm"]',
    )
    return Panel(text, found.table, dict(zip(found.truth.arms, map(float, found.truth.panel), strict=True)))


def real(table: pd.DataFrame, scorer: str, raters: Sequence[str], seed: int, card: str) -> Panel:
    """A random audit of a table with columns item, arm, truth, `scorer` and `raters`: all other ratings are hidden."""
    rng = np.random.default_rng(seed)
    chosen = table.groupby("arm").sample(AUDITED, random_state=rng).index
    audited = table.index.isin(chosen)
    shown = {f"rater_{place}": table[name].where(audited).astype("Int64") for place, name in enumerate(raters, 1)}
    made = pd.DataFrame(
        {
            "item": table["item"],
            "arm": table["arm"],
            "flag": table[scorer],
            **shown,
            "audit": np.where(audited, "random", ""),
            "probability": np.where(audited, AUDITED / table.groupby("arm")["item"].transform("size"), np.nan),
        }
    )
    text = STUDY.format(
        title=f"{scorer} against {', '.join(raters)}, audit draw {seed}",
        simulated="false",
        seed=seed,
        card=card,
        more="",
        raters=json.dumps([f"rater_{place}" for place in range(1, len(raters) + 1)]),
        audit="random",
        design="representative",
        sampled_on='["arm"]',
    )
    return Panel(text, made, {str(arm): float(share) for arm, share in table.groupby("arm")["truth"].mean().items()})


def xstest() -> pd.DataFrame:
    """Any refusal, full or partial, is label 1."""
    data = pd.read_csv(REAL / "xstest" / "safe_prompts.csv")
    names = {
        "truth": "final_label",
        "annotator 1": "annotation_1",
        "annotator 2": "annotation_2",
        "GPT-4": "gpt4_label_raw",
        "string match": "strmatch_label",
    }
    refused = {ours: (~data[theirs].astype(str).str.startswith("1")).astype(int) for ours, theirs in names.items()}
    return pd.DataFrame({"item": data["id"], "arm": data["model"], **refused})


def openqa() -> pd.DataFrame:
    """Label 1: the answer is acceptable; rows without a question's number are left out."""
    data = pd.read_csv(REAL / "openqa_eval" / "openqa_nq301_long.csv").dropna(
        subset=["question_id", "human_acceptable"]
    )
    arm = data["model"].str.replace("NQ301_", "")
    columns = {"truth": data["human_acceptable"].astype(int), "exact match": data["em"].astype(int)}
    return pd.DataFrame({"item": data["question_id"].astype(int), "arm": arm, **columns}).reset_index(drop=True)


def panels() -> dict[str, Any]:
    """Name of a study -> what makes its data set of a seed."""
    found: dict[str, Any] = {name: partial(simulated, name) for name in PRESETS}
    if REAL.is_dir():
        judged, answered, reference = xstest(), openqa(), "misclassification-reference"
        for scorer in ("GPT-4", "string match"):
            found[f"XSTest, {scorer}"] = lambda seed, s=scorer: real(judged, s, ["truth"], seed, reference)
            found[f"XSTest, {scorer}, two annotators"] = lambda seed, s=scorer: real(
                judged, s, ["annotator 1", "annotator 2"], seed, "misclassification"
            )
        found["open questions, exact match"] = lambda seed: real(answered, "exact match", ["truth"], seed, reference)
    return found


def one(name: str, seed: int) -> list[dict[str, Any]]:
    """Every pair of arms of one data set: the truth, the model's interval, and those of the methods beside it."""
    panel = panels()[name](seed)
    with tempfile.TemporaryDirectory() as folder:
        study = parse_scorer_study(panel.text, Path(folder) / "study.toml")
        panel.table.to_csv(study.data, index=False)
        labels = read_labels(study)
    card = read_card(study.models[0])
    frame = labels_frame(labels, rater_assumptions(card, labels, study.reference))
    compiled = compile_model(
        lambda: build_model(card, frame), structure_key({"card": card.digest, **frame.structure()})
    )
    draws = sample(compiled, frame.arrays, frame.coords, SETTINGS, seed, cores=1, progress=False)
    facts = {"kind": "labels", "terms": frame.terms, "left_out": (), "refusals": "", "other_coding": False}
    inputs = inputs_of(study, card, SETTINGS, data_source=labels.source, data_digest=labels.digest, **facts)
    tree = assemble(draws, stored_labels(labels, frame), inputs, [])
    by_arm = prevalence(scored(tree), study.target)
    divergent = int(draws["sample_stats"]["diverging"].sum())
    arms = [str(arm) for arm in by_arm["arm"].values]
    return [
        {"study": name, "seed": seed, "divergent": divergent, **row}
        for row in _pairs(arms, by_arm, labels, panel.truth)
    ]


def _pairs(arms: list[str], by_arm: Any, labels: Labels, truth: dict[str, float]) -> Iterator[dict[str, Any]]:
    for other, arm in combinations(arms, 2):
        drawn = (by_arm.sel(arm=arm, drop=True) - by_arm.sel(arm=other, drop=True)).values.ravel()
        low, high = np.quantile(drawn, INTERVAL)
        intervals = {"model": (float(low), float(high), float(drawn.mean()))}
        beside = {found.method: found for found in comparators(labels, arm, other, rater=_rater(labels), draws=1000)}
        for label, method in BESIDE.items():
            found = next((beside[key] for key in beside if key == method), None)
            if found is not None:
                intervals[label] = (found.lower, found.upper, found.estimate)
        yield {"pair": f"{arm} - {other}", "truth": truth[arm] - truth[other], "intervals": intervals}


def _rater(labels: Labels) -> int:
    return 0 if len(labels.raters) else -1


def saved(folder: Path, job: tuple[str, int]) -> None:
    """One data set, passed over if it is in the folder already: a killed run goes on where it was."""
    name, seed = job
    path = folder / f"{name.replace(' ', '-').replace(',', '')}-{seed}.json"
    if not path.exists():
        beside = path.with_suffix(f".{os.getpid()}.part")
        beside.write_text(json.dumps(one(name, seed)), encoding="utf-8")
        beside.replace(path)


def run(names: Iterable[str], n_sets: int, folder: Path, workers: int) -> None:
    """Every data set once, each a file in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    jobs = [(name, seed) for name in names for seed in range(1, n_sets + 1)]
    with ProcessPoolExecutor(workers) as pool:
        for place, _ in enumerate(pool.map(partial(saved, folder), jobs), 1):
            if place % 20 == 0:
                print(f"{place} of {len(jobs)} data sets", file=sys.stderr, flush=True)


def results(folder: Path) -> pd.DataFrame:
    """All that the folder holds, a long table: study, seed, pair, method, covered, width, error."""
    rows = [row for path in sorted(folder.glob("*.json")) for row in json.loads(path.read_text(encoding="utf-8"))]
    found = pd.DataFrame([_checked(row, method, *ends) for row in rows for method, ends in row["intervals"].items()])
    order = {name: place for place, name in enumerate(panels())}
    return found.sort_values("study", key=lambda column: column.map(order), kind="stable")


def _checked(row: dict[str, Any], method: str, low: float, high: float, middle: float) -> dict[str, Any]:
    return {
        "study": row["study"],
        "seed": row["seed"],
        "pair": row["pair"],
        "divergent": row["divergent"],
        "method": method,
        "covered": low <= row["truth"] <= high,
        "width": high - low,
        "error": middle - row["truth"],
    }


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """By study and method: coverage with its standard error over data sets, the worst pair's, bias and mean width."""
    found = []
    for (study, method), part in rows.groupby(["study", "method"], sort=False):
        by_set = part.groupby("seed")["covered"].mean()
        by_pair = part.groupby("pair").agg(covered=("covered", "mean"), error=("error", "mean"))
        found.append(
            {
                "study": study,
                "method": method,
                "data sets": len(by_set),
                "coverage": part["covered"].mean(),
                "se": by_set.std(ddof=1) / np.sqrt(len(by_set)),
                "least of a pair": by_pair["covered"].min(),
                "largest bias of a pair": by_pair["error"].abs().max(),
                "mean width": part["width"].mean(),
            }
        )
    return pd.DataFrame(found)


def outlying(rows: pd.DataFrame) -> pd.DataFrame:
    """Pairs with the arm whose false positive rate is .333, of the simulated studies."""
    arm = PRESETS["outlier"].arms[int(np.argmax(PRESETS["outlier"].fpr))]
    part = rows[rows["study"].isin(PRESETS) & rows["pair"].str.contains(arm, regex=False)].copy()
    sign = np.where(part["pair"].str.startswith(arm), 1.0, -1.0)
    part["error"] = sign * part["error"]
    named = part.groupby(["study", "method"], sort=False)
    return named.agg(coverage=("covered", "mean"), bias=("error", "mean"), width=("width", "mean")).reset_index()


def table_text(table: pd.DataFrame) -> str:
    shown = table.apply(lambda column: column.map(lambda v: f"{v:.3f}" if isinstance(v, float) else str(v)))
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in shown.to_numpy()])


INTRODUCTION = """\
Generated by `{command}` on {date}; do not edit. Every pair of arms of every data set: does the 95% interval
cover the true contrast of the panel? {audited} responses an arm are audited. Standard errors over data sets."""
SIMULATED = """\
## Simulated panels

**Simulated** data at the size of the bundled study's panel; `drift.data.simulate_labels` describes the settings."""
REAL_LABELS = """\
## Real labels

People labelled every response; their labels are hidden outside the audit, which is drawn anew for each data set.
The truth is the contrast of all of them."""


def page(rows: pd.DataFrame, command: str) -> str:
    is_simulated = rows["study"].isin(PRESETS)
    parts = [
        "# Calibration of corrected contrasts",
        INTRODUCTION.format(command=command, date=datetime.now(UTC).date(), audited=AUDITED),
        SIMULATED,
        table_text(summary(rows[is_simulated])),
        "### The arm with the outlying false positive rate",
        table_text(outlying(rows[is_simulated])),
    ]
    if not is_simulated.all():
        parts += [REAL_LABELS, table_text(summary(rows[~is_simulated]))]
    return "\n\n".join(parts) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    arguments = argparse.ArgumentParser("scorer_coverage", description=__doc__)
    arguments.add_argument("--data-sets", type=int, default=200, help="data sets a study (default: 200)")
    arguments.add_argument(
        "--study", action="append", choices=tuple(panels()), help="repeat for several (default: all)"
    )
    arguments.add_argument("--folder", type=Path, default=Path("calibration"), help="results (default: calibration)")
    arguments.add_argument("--workers", type=int, default=os.cpu_count(), help="processes (default: one a core)")
    arguments.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    options = arguments.parse_args(argv)
    run(options.study or panels(), options.data_sets, options.folder, options.workers)
    rows = results(options.folder)
    print(table_text(summary(rows)))
    if rows["study"].isin(PRESETS).any():
        print(table_text(outlying(rows)))
    if options.page:
        chosen = "".join(f" --study {json.dumps(name)}" for name in options.study or ())
        command = f"scripts/scorer_coverage.py --data-sets {options.data_sets}{chosen} --page"
        PAGE.write_text(page(rows, command), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
