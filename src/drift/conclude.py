"""Draw the conclusions of stored posteriors: tiers, ranks, equivalence, contrasts, contrast cards."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr

    from drift.conclusions.ratings import Conclusions

CARDS = "contrast-cards"
EXAMPLE = """\
examples:
  python -m drift.conclude posteriors/frontier-ratings-ordinal.nc
  python -m drift.conclude posteriors/frontier-ratings-*.nc --csv tables
  python -m drift.conclude posteriors/scorer-audit-misclassification.nc --cards cards

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
    arguments.add_argument(
        "--cards",
        type=Path,
        metavar="FOLDER",
        help=f"where contrast cards of a scorer study are written (default: {CARDS} beside the posterior)",
    )
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    from drift.command import run

    return run(lambda: _conclude(options))


def _conclude(options: argparse.Namespace) -> int:
    from drift.inference.store import read_posterior

    trees = [read_posterior(path) for path in options.posterior]
    return show(
        trees, as_json=options.json, csv=options.csv, cards=options.cards or options.posterior[0].parent / CARDS
    )


def show(
    trees: Sequence[xr.DataTree],
    *,
    as_json: bool = False,
    csv: Path | None = None,
    cards: Path | None = None,
) -> int:
    """Print the conclusions of posteriors. Returns 1 where any is withheld, else 0.

    cards: folder for the contrast cards of scorer posteriors, as JSON and Markdown.
    """
    from drift.inference.store import strict_json

    of_labels = [tree for tree in trees if tree.attrs["kind"] == "labels"]
    of_ratings = [tree for tree in trees if tree.attrs["kind"] != "labels"]
    texts, said, sentences = _ratings(of_ratings, csv)
    more_texts, more_said = _labels(of_labels, cards)
    if as_json:
        print(strict_json({"conclusions": said + more_said, "compared": sentences}))
    else:
        print("\n\n".join(texts + more_texts))
    return int(any(tree.attrs["checks_passed"] == "false" for tree in trees))


def _ratings(trees: Sequence[xr.DataTree], csv: Path | None) -> tuple[list[str], list[dict[str, Any]], tuple[str, ...]]:
    """Texts, the same as JSON, and what a comparison of the posteriors says.

    A posterior with refusals coded the other way than declared is compared with the declared one; it is shown by itself
    only where no other is given, or to say which of its checks failed.
    """
    from drift.conclusions.compared import compared
    from drift.conclusions.ratings import conclude
    from drift.conclusions.text import as_text, bullet

    plain = [tree for tree in trees if "false" in (tree.attrs["other_coding"], tree.attrs["checks_passed"])]
    main = plain or trees
    found = [conclude(tree) for tree in main]
    sentences = compared(trees)
    if csv is not None:
        _write_tables(found, csv)
    beside = ["Posteriors compared\n" + "\n".join(map(bullet, sentences))] if sentences else []
    return [*map(as_text, found), *beside], [c.as_dict() for c in found], sentences


def _labels(trees: Sequence[xr.DataTree], folder: Path | None) -> tuple[list[str], list[dict[str, Any]]]:
    """Texts of scorer posteriors, and the same as JSON; contrast cards are written into the folder."""
    from drift.conclusions.ordinal_scorer import conclude_ordinal_scorer
    from drift.conclusions.scorer import conclude_scorer
    from drift.inference.store import write_text

    texts, said = [], []
    for tree in trees:
        if "class_share" in tree["posterior"]:
            ordinal = conclude_ordinal_scorer(tree)
            texts.append(ordinal.as_text())
            said.append(ordinal.as_dict())
            continue
        found = conclude_scorer(tree)
        texts.append(found.as_text())
        said.append(found.as_dict())
        if folder is not None:
            for name, text in found.card_files().items():
                write_text(folder / name, text)
    return texts, said


def _write_tables(found: Sequence[Conclusions], parent: Path) -> None:
    """Every table as CSV, one folder a posterior; none for one whose conclusions are withheld."""
    for c in found:
        folder = parent / c.name
        for name, table in c.tables.items():
            folder.mkdir(parents=True, exist_ok=True)
            table.to_csv(folder / f"{name}.csv", index=False)


if __name__ == "__main__":
    raise SystemExit(main())
