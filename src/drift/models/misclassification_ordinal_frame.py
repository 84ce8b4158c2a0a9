"""What card `misclassification-ordinal` is built on: cells, patterns of ordered labels and their counts, as arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drift.data.labels import Labels
from drift.data.patterns import Patterns, collapse
from drift.models.frame import Frame
from drift.models.label_frame import label_terms
from drift.scale import Scale

MOST_COMPLETED = 64  # combinations of raters' labels of one row up to which those unseen get a count of 0

Array = NDArray[Any]
Floats = NDArray[np.float64]


def ordinal_labels_frame(labels: Labels, rater_prior: Array, same: Sequence[str] | None = None) -> Frame:
    """The arrays of the likelihood and of the priors, and the names of all levels.

    rater_prior: (3,) as `misclassification_ordinal_priors.rater_prior` gives it. same: for each column of raters'
    labels the person who gave them, where a person labelled twice; by default each column is a person.

    `seen_*` are the patterns that occur, which alone have a likelihood; `pattern_*` are all that a draw of the same
    design may give. Labels are codes, 0 the worst; -1 is none.
    """
    patterns = collapse(labels)
    cell, label, count = _completed(patterns, labels.scale.n_labels)
    people = tuple(same or labels.raters)
    names = tuple(dict.fromkeys(people))
    n_arms, n_populations = len(labels.levels["arm"]), len(labels.levels["population"])
    arrays: dict[str, Array] = {
        **{
            f"cell_{factor}": getattr(patterns, f"cell_{factor}")
            for factor in ("arm", "model", "stratum", "population")
        },
        "cell_side": patterns.cell_population * n_arms + patterns.cell_arm,
        "pattern_cell": cell,
        "pattern_label": label,
        "pattern_count": count,
        "label_count": _as_drawn(cell, label, count),
        "seen_cell": patterns.pattern_cell,
        "seen_label": patterns.pattern_label.astype(np.int64),
        "seen_count": patterns.pattern_count,
        "column_rater": np.array([names.index(person) for person in people], np.int64),
        "reference": np.zeros(len(people), np.int64),  # nobody is taken as the truth,
        "shares": np.zeros(1 + len(people), np.int64),  # and nobody shares an error factor
        "rater_prior": np.asarray(rater_prior, np.float64),
    }
    coords = {factor: np.array(labels.levels[factor]) for factor in ("arm", "model", "stratum", "population")}
    coords |= {
        "rater": np.array(names, dtype=np.str_),
        "truth": np.array(labels.scale.labels),
        "label": np.array(labels.scale.labels),
        "cell": np.arange(patterns.n_cells),
        "side": np.arange(n_populations * n_arms),
    }
    return Frame(label_terms(labels), coords, arrays)


def ordinal_reference_labels() -> Labels:
    """The fixed data set of the card's spec block: three labels by an arithmetic rule, every third row rated."""
    key, arm, model, stratum = np.indices((6, 3, 2, 2)).reshape(4, -1)
    place = np.arange(key.size)
    codes = {"key": key, "arm": arm, "model": model, "stratum": stratum, "population": 0 * key}
    scorer = ((key + arm + 2 * model + stratum * place) % 3).astype(np.int8)
    rated = (place % 3 == 0)[:, None] & (np.arange(2) <= place[:, None] % 2)
    rating = np.where(rated, (scorer[:, None] + (place[:, None] % 5 == np.arange(2))) % 3, -1).astype(np.int8)
    return Labels(
        scorer=scorer,
        rating=rating,
        codes=codes,
        levels={name: tuple(f"{name} {i + 1}" for i in range(code.max() + 1)) for name, code in codes.items()},
        raters=("rater 1", "rater 2"),
        audit=np.where(rated.any(axis=1), 0, -1),
        audits=("reference",),
        inclusion=np.full(key.size, np.nan),
        line=place + 2,
        source="reference",
        digest="",
        dropped={},
        target=0,
        unrated={},
        scale=Scale(("1", "2", "3")),
    )


def zero_sum_basis(n: int) -> Floats:
    """(n, n - 1) orthonormal columns that each sum to zero: the map from iid normal numbers to centred ones."""
    steps = np.tril(np.ones((n, n)), -1)[:, : n - 1] * -1.0 + np.eye(n)[:, : n - 1] * np.arange(n - 1, 0, -1)
    return np.asarray(steps / np.sqrt((steps**2).sum(axis=0)))


def bases(frame: Frame) -> dict[str, Floats]:
    """Factor -> map from what is free to its levels. Sides (arms by population) sum to zero within a population."""
    size = {name: len(levels) for name, levels in frame.coords.items()}
    return {
        **{factor: zero_sum_basis(size[factor]) for factor in ("arm", "model", "stratum", "label")},
        "side": np.asarray(np.kron(np.eye(size["population"]), zero_sum_basis(size["arm"])), np.float64),
        "free side": np.eye(size["side"]),
        "population": np.eye(size["population"]),
        "one": np.ones((1, 1)),
        "free label": np.eye(size["label"]),
    }


def distances(n_labels: int) -> Floats:
    """(K, K) steps between true class and label."""
    code = np.arange(n_labels, dtype=np.float64)
    return np.abs(code[:, None] - code)


def off_diagonal(n_labels: int) -> Floats:
    """(K (K - 1), K K) rows that put a number for each mistake, row by row, into its place in a K x K table."""
    return np.eye(n_labels * n_labels)[~np.eye(n_labels, dtype=bool).ravel()]


def _completed(patterns: Patterns, n_labels: int) -> tuple[Array, Array, Array]:
    """Patterns with those added, count 0, that a draw of the same design may give; sorted by cell, then label."""
    unrated = np.full(patterns.pattern_label.shape[1] - 1, -1)
    added = [(cell, label, *unrated) for cell in range(patterns.n_cells) for label in range(n_labels)]
    seen = np.column_stack([patterns.pattern_cell, patterns.pattern_label]).astype(np.int64)
    groups = np.unique(np.column_stack([seen[:, :2], seen[:, 2:] >= 0]), axis=0)
    for cell, label, *asked in groups:
        made = np.flatnonzero(asked)
        if made.size > 0 and n_labels**made.size <= MOST_COMPLETED:
            for combination in np.ndindex(*[n_labels] * made.size):
                row = unrated.copy()
                row[made] = combination
                added.append((cell, label, *row))
    every, where = np.unique(np.concatenate([seen, np.array(added)]), axis=0, return_inverse=True)
    count = np.zeros(len(every), np.int64)
    np.add.at(count, where.ravel()[: len(seen)], patterns.pattern_count)
    return every[:, 0].copy(), every[:, 1:].copy(), count


def _as_drawn(cell: Array, label: Array, count: Array) -> Array:
    """Counts as they are drawn: of an unrated pattern, all rows of its cell with its scorer label."""
    found = count.copy()
    unrated = (label[:, 1:] < 0).all(axis=1)
    key = cell * (label[:, 0].max() + 2) + label[:, 0] + 1
    found[unrated] = np.bincount(key, weights=count)[key[unrated]].astype(np.int64)
    return found
