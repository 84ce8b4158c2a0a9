"""Speed and memory beside the peers, in one run on one machine; writes docs/benchmark.md."""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmark.md"
INSTEVAL = ROOT.parent / "shared" / "data" / "r_ordinal" / "InstEval.csv"
TUNE = 400  # draws of adaptation in each chain; Bambi, which takes about a second a draw, gets fewer
DRAWS_TO_TUNE = 2.5  # what every peer's time is put to, so that tuning weighs alike
TERMS = ("model", "domain", "model:domain", "question", "participant")
FACTORS = ("model", "domain", "question")
THIN = {"12": (2, 6), "24": (3, 8), "96": (6, 16), "620": (10, 62)}  # ratings a participant: models x questions


def common(posterior: Any, domain_of: dict[str, str]) -> dict[str, Any]:
    """What all peers estimate: cutpoint gaps, centred effects of models, questions with domain, participants; sds.

    domain_of: question -> domain. Levels are matched by name: Bambi sorts them as text.
    """
    ours = "cutpoints" in posterior
    label = "{}_effect" if ours else "1|{}"
    effect = {term: posterior[label.format(term.replace(":", "_") if ours else term)] for term in TERMS}
    names = {factor: [str(level) for level in effect[factor][effect[factor].dims[-1]].values] for factor in FACTORS}
    cut = posterior["cutpoints" if ours else "threshold"].values
    grid = effect["model:domain"].values.reshape(*cut.shape[:2], len(names["model"]), -1)
    place = [names["domain"].index(domain_of[question]) for question in names["question"]]
    centred = {
        "model": effect["model"].values + grid.mean(axis=-1),
        "question": effect["question"].values + effect["domain"].values[..., place],
        "participant": effect["participant"].values,
    }
    sds = {name: posterior[f"sd_{name}" if ours else f"1|{name}_sigma"].values for name in ("question", "participant")}
    return {
        "cutpoint gaps": cut[..., 1:] - cut[..., :-1],
        **{name: value - value.mean(axis=-1, keepdims=True) for name, value in centred.items()},
        **{f"sd of {name}": value for name, value in sds.items()},
    }


def least_ess(posterior: Any, domain_of: dict[str, str]) -> float:
    """The least bulk effective sample size of what all peers estimate."""
    from arviz_stats.base.array import array_stats

    found = common(posterior, domain_of).values()
    return float(min(array_stats.ess(v, method="bulk", chain_axis=0, draw_axis=1).min() for v in found))


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def rates(posterior: Any, seconds: float, tune: int, ratings: Any) -> dict[str, float]:
    """Effective draws a second, as if every peer kept `DRAWS_TO_TUNE` draws for each one of tuning."""
    code, levels = ratings.question_domain, ratings.levels
    domain_of = {question: levels["domain"][d] for question, d in zip(levels["question"], code, strict=True)}
    ess, draws = least_ess(posterior, domain_of), posterior.sizes["draw"]
    alike = seconds * draws * (1.0 + 1.0 / DRAWS_TO_TUNE) / (draws + tune)
    n = draws * posterior.sizes["chain"]
    steps = posterior.attrs["steps"] / n
    return {"draws": n, "sampling_s": seconds, "ess": ess, "ess_per_s": ess / alike, "steps_a_draw": steps}


def ours(options: argparse.Namespace) -> dict[str, Any]:
    import benchmark_peers as peers
    import nutpie  # noqa: F401  # its import is no sampling time

    from drift.inference.sampling import Settings

    ratings = peers.bundled()
    frame = peers.our_frame(ratings)
    compiled, compile_s = timed(lambda: peers.our_model(frame))
    found: dict[str, Any] = {"compile_s": compile_s, "gradient_us": peers.our_gradient(compiled, frame)}
    for share in (0.6, 0.7, 0.8):
        settings = replace(Settings(), target_accept=share, draws=options.draws)
        posterior, seconds = timed(partial(peers.our_draws, compiled, frame, settings))
        found[f"target_accept {share}"] = rates(posterior, seconds, TUNE, ratings)
    return found | found["target_accept 0.8"]


def stock(options: argparse.Namespace) -> dict[str, Any]:
    import benchmark_peers as peers
    import nutpie

    ratings = peers.bundled()
    compiled, compile_s = timed(lambda: nutpie.compile_pymc_model(peers.stock_model(ratings)))
    gradient = peers.stock_gradient(compiled)
    posterior, seconds = timed(lambda: peers.nutpie_draws(compiled, options.draws, TUNE, 4))
    return {"compile_s": compile_s, "gradient_us": gradient, **rates(posterior, seconds, TUNE, ratings)}


def own_nuts(options: argparse.Namespace) -> dict[str, Any]:
    import benchmark_peers as peers

    ratings = peers.bundled()
    model = peers.stock_model(ratings)
    posterior, seconds = timed(lambda: peers.pymc_draws(model, options.draws // 2, TUNE, 2))
    found = rates(posterior, _sampling(posterior, seconds), TUNE, ratings)
    return {"compile_s": seconds - found["sampling_s"], **found}


def bambi(options: argparse.Namespace) -> dict[str, Any]:
    import benchmark_peers as peers

    ratings = peers.bundled()
    model, build_s = timed(lambda: peers.bambi_model(ratings))
    tune = options.draws // 5
    posterior, seconds = timed(lambda: peers.bambi_draws(model, options.draws // 5, tune, 2))
    found = rates(posterior, _sampling(posterior, seconds), tune, ratings)
    return {"compile_s": build_s + seconds - found["sampling_s"], **found}


def _sampling(posterior: Any, seconds: float) -> float:
    """PyMC's own clock, which leaves compilation out."""
    return float(posterior.attrs.get("sampling_time", seconds))


def growth(options: argparse.Namespace) -> dict[str, Any]:
    import benchmark_peers as peers
    import nutpie

    from drift.inference.sampling import Settings

    found: dict[str, Any] = {}
    for times in (1, 4, 16) if not options.quick else (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            ratings = peers.larger(times, Path(folder))
        frame = peers.our_frame(ratings)
        compiled = peers.our_model(frame)
        settings = replace(Settings(), draws=options.draws // 2)
        posterior, seconds = timed(partial(peers.our_draws, compiled, frame, settings))
        other = nutpie.compile_pymc_model(peers.stock_model(ratings))
        found[f"{times}x"] = {
            "rows": ratings.n_rows,
            "gradient_us": peers.our_gradient(compiled, frame),
            "stock_gradient_us": peers.stock_gradient(other),
            **rates(posterior, seconds, TUNE, ratings),
            "memory_mb": _memory_mb(),
        }
    return found


def centring(options: argparse.Namespace) -> dict[str, Any]:
    """Participants centred and not, from thin levels to rich ones."""
    import benchmark_peers as peers

    from drift.data.ratings import read_ratings
    from drift.data.simulate import simulate
    from drift.inference.sampling import Settings

    found: dict[str, Any] = {}
    for rows, (n_models, n_questions) in THIN.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            made = simulate("Radd", 100, n_questions, n_models, peers.SEED, effects="normal")
            made.table.to_csv(folder / "ratings.csv", index=False)
            ratings = read_ratings(peers._study(folder))
        rich = peers.our_frame(ratings).centred
        for label, centred in (("centred", rich | {"participant"}), ("non-centred", rich - {"participant"})):
            frame = peers.our_frame(ratings, frozenset(centred))
            compiled = peers.our_model(frame)
            settings = replace(Settings(), draws=options.draws)
            posterior, seconds = timed(partial(peers.our_draws, compiled, frame, settings))
            found[f"{rows} ratings a participant, {label}"] = rates(posterior, seconds, TUNE, ratings)
    return found


PEERS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "ours": ours,
    "stock": stock,
    "pymc": own_nuts,
    "bambi": bambi,
    "growth": growth,
    "centring": centring,
}


def commands(options: argparse.Namespace, cache: str) -> dict[str, Any]:
    """Whole commands as processes: cold (no compiled code anywhere), warm, `--help`, InstEval where it is at hand."""
    with tempfile.TemporaryDirectory() as name:
        env = os.environ | {"DRIFT_CACHE": f"{name}/cache", "PYTENSOR_FLAGS": f"base_compiledir={name}/pytensor"}
        env["NUMBA_CACHE_DIR"] = f"{name}/numba"
        fit = [sys.executable, "-m", "drift.fit", "frontier-ratings", "--model", "ordinal", "--out", f"{name}/out"]
        found = {"fit, cold": _process(fit, env), "fit, warm": _process(fit, env)}
        found["fit --help"] = _process([sys.executable, "-m", "drift.fit", "--help"], env)
        if INSTEVAL.exists() and not options.quick:
            study = Path(name) / "insteval.toml"
            study.write_text(INSTEVAL_STUDY.format(path=INSTEVAL), encoding="utf-8")
            command = [sys.executable, "-m", "drift.fit", str(study), "--out", f"{name}/out"]
            found["fit, InstEval (73,421 rows)"] = _process(command, os.environ | {"DRIFT_CACHE": cache})
    return found


INSTEVAL_STUDY = """\
title = "InstEval: lecture ratings by 2,972 students of 1,128 lecturers"
ratings = "{path}"
models = ["ordinal"]
seed = 1
[columns]
participant = "s"
question = "d"
model = "service"
rating = "y"
[design]
leave_out = ["domain", "model:domain"]
[scale]
labels = [1, 2, 3, 4, 5]
"""


def _process(command: list[str], env: dict[str, str]) -> dict[str, Any]:
    """Wall time, peak memory, exit status, and what the command said of its own stages."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        lines = [line.strip() for line in said.read().decode().splitlines()]
    stages = [line for line in lines if line.startswith(("compiled in", "4 chains"))]
    seconds = time.perf_counter() - start
    return {"wall_s": seconds, "memory_mb": usage.ru_maxrss / 1024, "exit": process.returncode, "stages": stages}


def _memory_mb() -> float:
    """Peak of this process, and of the largest that it started (PyMC samples in processes of its own)."""
    return sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


def _one(name: str, options: argparse.Namespace) -> None:
    """One peer, in a process of its own; the result as JSON on standard output."""
    warnings.simplefilter("ignore")  # the peers' own warnings are not what is measured
    start = time.perf_counter()
    found = PEERS[name](options)
    print(json.dumps(found | {"wall_s": time.perf_counter() - start, "memory_mb": _memory_mb()}))


def _peer(name: str, options: argparse.Namespace, env: dict[str, str]) -> dict[str, Any]:
    """One peer in a process group of its own, so that a peer that takes too long ends with all that it started."""
    flags = ["--one", name, "--draws", str(options.draws), *(["--quick"] if options.quick else [])]
    command = [sys.executable, str(Path(__file__)), *flags]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    try:
        out, err = process.communicate(timeout=options.limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return {"unfinished": f"not finished in {options.limit} s"}
    if process.returncode:
        return {"unfinished": f"failed: {err.strip().splitlines()[-1]}"}
    return dict(json.loads(out.splitlines()[-1]))


def machine() -> dict[str, str]:
    cpu = next((line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("pymc", "pytensor", "nutpie", "bambi", "numba", "numpy")
    )
    return {
        "processor": f"{cpu}, {os.cpu_count()} cores",
        "memory": f"{memory:.0f} GiB",
        "python": platform.python_version(),
        "packages": packages,
        "date": datetime.now(UTC).date().isoformat(),
    }


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser("benchmark", description=__doc__)
    arguments.add_argument("--draws", type=int, default=1000, help="draws a chain of the main runs (default: 1000)")
    arguments.add_argument("--limit", type=int, default=500, help="seconds a peer may take (default: 500)")
    arguments.add_argument("--only", choices=(*PEERS, "commands"), action="append", help="these alone; writes nothing")
    arguments.add_argument("--quick", action="store_true", help="small sizes; writes nothing")
    arguments.add_argument("--one", choices=PEERS, help=argparse.SUPPRESS)
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if options.one:
        _one(options.one, options)
        return 0
    from benchmark_page import page

    results: dict[str, Any] = {"machine": machine(), "draws": options.draws}
    with tempfile.TemporaryDirectory() as cache:
        env = os.environ | {"DRIFT_CACHE": cache}
        for name in options.only or PEERS:
            if name in PEERS:
                results[name] = _peer(name, options, env)
                print(name, json.dumps(results[name]), file=sys.stderr, flush=True)
        if "commands" in (options.only or ("commands",)):
            results["commands"] = commands(options, cache)
            print("commands", json.dumps(results["commands"]), file=sys.stderr, flush=True)
    if options.only or options.quick:
        print(json.dumps(results, indent=1))
        return 0
    PAGE.write_text(page(results), encoding="utf-8")
    PAGE.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
