"""Fit a study's model cards and keep each posterior on disk."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drift.jobs.job import Job


EXAMPLE = """\
examples:
  python -m drift.fit frontier-ratings
  python -m drift.fit my-study/study.toml --model ordinal-interaction --draws 2000

exit status: 0 every check passed, 1 saved but a check failed (no conclusion is drawn), 2 bad input (nothing written)
"""


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(
        "drift fit", description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("study", help="a bundled study's name, or the path of a study file (TOML)")
    arguments.add_argument(
        "--model",
        action="append",
        metavar="CARD",
        help="a model card; repeat for several (default: those that the study names)",
    )
    arguments.add_argument(
        "--out",
        type=Path,
        default=Path("posteriors"),
        metavar="FOLDER",
        help="where posteriors are kept (default: posteriors)",
    )
    arguments.add_argument("--replace", action="store_true", help="overwrite a posterior of other inputs")
    arguments.add_argument(
        "--draws",
        type=_at_least(4),
        help="draws kept in each chain (default: 1000, or 2000 for fewer than 5,000 rows or more than 500 effects)",
    )
    arguments.add_argument("--tune", type=_at_least(50), help="draws in which each chain adapts (default: 400)")
    arguments.add_argument("--chains", type=_at_least(2), help="number of chains (default: 4)")
    arguments.add_argument(
        "--target-accept",
        type=_share,
        help="acceptance rate aimed at, between 0 and 1 (default: 0.8; 0.9 for more than 500 effects; 0.95 for fewer "
        "than 5,000 rows)",
    )
    arguments.add_argument("--quiet", action="store_true", help="no progress bar")
    arguments.add_argument("--json", action="store_true", help="print the conclusions as JSON")
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    from drift.command import run

    return run(lambda: fit(options))


def fit(options: argparse.Namespace) -> int:
    """Fit every card of the study; print the conclusions of each. Returns the exit status.

    Everything that can be refused is refused before the first draw.
    """
    from drift.conclude import CARDS, show
    from drift.jobs.job import run_job

    show_progress = not options.quiet and sys.stderr.isatty()
    trees = [run_job(job, show_progress=show_progress) for job in _jobs(options)]
    return show(trees, as_json=options.json, cards=options.out / CARDS)


def _jobs(options: argparse.Namespace) -> list[Job]:
    from drift.data.bundled import find_study
    from drift.data.general import study_text
    from drift.data.scorer_study import is_scorer_study, read_scorer_study
    from drift.data.study import read_study
    from drift.jobs.job import Options
    from drift.jobs.labels import label_jobs
    from drift.jobs.ratings import rating_jobs

    asked = Options(
        cards=tuple(options.model or ()),
        out=options.out,
        replace=options.replace,
        draws=options.draws,
        tune=options.tune,
        chains=options.chains,
        target_accept=options.target_accept,
    )
    path = find_study(options.study)
    if is_scorer_study(study_text(path)):
        return label_jobs(read_scorer_study(path), asked)
    return rating_jobs(read_study(path), asked)


def _at_least(least: int) -> Any:
    def whole(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is below {least}")
        return value

    return whole


def _share(text: str) -> float:
    value = float(text)
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


if __name__ == "__main__":
    raise SystemExit(main())
