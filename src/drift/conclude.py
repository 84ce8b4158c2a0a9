"""Draw the conclusions of stored posteriors: tiers, ranks, equivalence, contrasts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

    from drift.conclusions.ratings import Conclusions

EXAMPLE = """\
examples:
  python -m drift.conclude posteriors/frontier-ratings-ordinal.nc
  python -m drift.conclude posteriors/frontier-ratings-*.nc --csv tables

exit status: 0 concluded, 1 withheld because a check failed, 2 bad input
"""


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(
        "drift conclude", description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument(
        "posterior", nargs="+", type=Path, help="a posterior (.nc); several of one study are compared"
    )
    arguments.add_argument("--json", action="store_true", help="print everything as JSON")
    arguments.add_argument(
        "--csv", type=Path, metavar="FOLDER", help="write every table as a CSV file, one folder a posterior"
    )
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    from drift.command import run

    return run(lambda: _conclude(options))


def _conclude(options: argparse.Namespace) -> int:
    from drift.inference.store import read_posterior

    return show([read_posterior(path) for path in options.posterior], as_json=options.json, csv=options.csv)


def show(trees: Sequence[xr.DataTree], *, as_json: bool = False, csv: Path | None = None) -> int:
    """Print the conclusions of posteriors. Returns 1 where any is withheld, else 0.

    A posterior with refusals coded the other way than declared is compared with the declared one; it is shown by itself
    only where no other is given, or to say which of its checks failed.
    """
    from drift.conclusions.compared import compared
    from drift.conclusions.ratings import conclude
    from drift.conclusions.text import as_text, bullet
    from drift.inference.store import strict_json

    main = [tree for tree in trees if "false" in (tree.attrs["beside"], tree.attrs["checks_passed"])] or list(trees)
    found = [conclude(tree) for tree in main]
    sentences = compared(trees)
    if csv is not None:
        _write_tables(found, csv)
    if as_json:
        print(strict_json({"conclusions": [c.as_dict() for c in found], "compared": sentences}))
    else:
        beside = ["Posteriors compared\n" + "\n".join(map(bullet, sentences))] if sentences else []
        print("\n\n".join([*map(as_text, found), *beside]))
    return int(any(tree.attrs["checks_passed"] == "false" for tree in trees))


def _write_tables(found: Sequence[Conclusions], parent: Path) -> None:
    """Every table as CSV, one folder a posterior; none for one whose conclusions are withheld."""
    for c in found:
        folder = parent / c.name
        for name, table in c.tables.items():
            folder.mkdir(parents=True, exist_ok=True)
            table.to_csv(folder / f"{name}.csv", index=False)


if __name__ == "__main__":
    raise SystemExit(main())
