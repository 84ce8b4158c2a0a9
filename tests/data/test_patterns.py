"""Labels here are random numbers, simulated."""

import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from drift.data.labels import Labels, mask_raters
from drift.data.patterns import CELL_FACTORS, Patterns, collapse

SIZES = {"key": 40, "arm": 3, "model": 4, "stratum": 2, "population": 2}


def simulated(n_rows: int, n_raters: int, seed: int, rated: float = 0.3) -> Labels:
    """Labels drawn at random, each rater with a label in a share `rated` of rows."""
    rng = np.random.default_rng(seed)
    rating = np.where(rng.random((n_rows, n_raters)) < rated, rng.integers(0, 2, (n_rows, n_raters)), -1)
    return Labels(
        scorer=rng.integers(0, 2, n_rows).astype(np.int8),
        rating=rating.astype(np.int8),
        codes={factor: rng.integers(0, size, n_rows) for factor, size in SIZES.items()},
        levels={factor: tuple(map(str, range(size))) for factor, size in SIZES.items()},
        raters=tuple(f"r{rater}" for rater in range(n_raters)),
        audit=np.where((rating >= 0).any(axis=1), 0, -1),
        audits=("audit",),
        inclusion=np.full(n_rows, np.nan),
        line=np.arange(2, n_rows + 2),
        source="simulated",
        digest="",
        dropped={},
        target=0,
        unrated={},
    )


Pattern = tuple[tuple[int, ...], tuple[int, ...]]  # population, arm, model, stratum; labels of scorer and raters


def row_patterns(labels: Labels) -> list[Pattern]:
    """The slow twin: what each row says, one after the other."""
    return [
        (
            tuple(int(labels.codes[factor][row]) for factor in CELL_FACTORS),
            (int(labels.scorer[row]), *map(int, labels.rating[row])),
        )
        for row in range(labels.n_rows)
    ]


def said(patterns: Patterns) -> list[Pattern]:
    """What each pattern says."""
    cells = list(zip(*(getattr(patterns, f"cell_{factor}").tolist() for factor in CELL_FACTORS), strict=True))
    labels = map(tuple, patterns.pattern_label.tolist())
    return [(cells[cell], label) for cell, label in zip(patterns.pattern_cell.tolist(), labels, strict=True)]


CASES = [(500, 2, 1), (2000, 3, 2), (300, 0, 3), (40, 5, 4), (1, 1, 5), (200, 45, 6)]  # 3 ** 45 passes 64 bits


@pytest.mark.parametrize(("n_rows", "n_raters", "seed"), CASES)
def test_counts_are_those_of_the_slow_twin(n_rows: int, n_raters: int, seed: int) -> None:
    labels = simulated(n_rows, n_raters, seed)
    patterns = collapse(labels)
    assert dict(zip(said(patterns), patterns.pattern_count.tolist(), strict=True)) == Counter(row_patterns(labels))


@pytest.mark.parametrize(("n_rows", "n_raters", "seed"), CASES)
def test_each_row_has_its_pattern(n_rows: int, n_raters: int, seed: int) -> None:
    labels = simulated(n_rows, n_raters, seed)
    patterns = collapse(labels)
    told = said(patterns)
    assert [told[pattern] for pattern in patterns.row_pattern] == row_patterns(labels)


@pytest.mark.parametrize(("n_rows", "n_raters", "seed"), CASES)
def test_counts_sum_to_the_rows(n_rows: int, n_raters: int, seed: int) -> None:
    assert collapse(simulated(n_rows, n_raters, seed)).pattern_count.sum() == n_rows


@pytest.mark.parametrize(("n_rows", "n_raters", "seed"), CASES)
def test_patterns_are_sorted_by_cell_and_then_by_label(n_rows: int, n_raters: int, seed: int) -> None:
    told = said(collapse(simulated(n_rows, n_raters, seed)))
    assert told == sorted(told)


def test_the_order_of_rows_does_not_matter() -> None:
    labels = simulated(400, 2, 7)
    order = np.random.default_rng(8).permutation(400)
    shuffled = replace(
        labels,
        scorer=labels.scorer[order],
        rating=labels.rating[order],
        codes={factor: code[order] for factor, code in labels.codes.items()},
    )
    assert said(collapse(shuffled)) == said(collapse(labels))


def test_a_masked_rater_makes_fewer_patterns_of_as_many_rows() -> None:
    labels = simulated(2000, 3, 9)
    masked = collapse(mask_raters(labels, ["r0"]))
    assert masked.n_patterns < collapse(labels).n_patterns and masked.pattern_count.sum() == 2000


def test_unaudited_rows_add_counts_and_no_patterns() -> None:
    """At most two patterns a cell come from rows that nobody rated, however many there are."""
    labels = simulated(1000, 2, 10)
    more = simulated(50_000, 2, 11, rated=0.0)
    together = replace(
        labels,
        scorer=np.concatenate([labels.scorer, more.scorer]),
        rating=np.concatenate([labels.rating, more.rating]),
        codes={factor: np.concatenate([labels.codes[factor], more.codes[factor]]) for factor in SIZES},
    )
    alone, both = collapse(labels), collapse(together)
    unrated = (both.pattern_label[:, 1:] < 0).all(axis=1)
    assert unrated.sum() <= 2 * both.n_cells
    assert (~unrated).sum() == (alone.pattern_label[:, 1:] >= 0).any(axis=1).sum()


def test_a_million_rows_collapse_in_seconds() -> None:
    labels = simulated(1_000_000, 2, 12, rated=0.01)
    start = time.perf_counter()
    collapse(labels)
    assert time.perf_counter() - start < 5  # a quarter of a second measured; the rest is for a busy machine


def test_types_are_those_that_the_likelihood_takes() -> None:
    patterns = collapse(simulated(100, 2, 13))
    assert patterns.pattern_label.dtype == np.int8 and patterns.pattern_count.dtype == np.int64


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("cell_stratum", ("cell",)),
        ("pattern_cell", ("pattern",)),
        ("pattern_label", ("pattern", "test")),
        ("pattern_count", ("pattern",)),
        ("row_pattern", ("row",)),
    ],
)
def test_a_dataset_holds_every_array(name: str, dims: tuple[str, ...]) -> None:
    patterns = collapse(simulated(100, 2, 14))
    stored = patterns.to_dataset()[name]
    assert stored.dims == dims and np.array_equal(stored.to_numpy(), getattr(patterns, name))
