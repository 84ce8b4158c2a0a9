"""The rating scale: declared, never inferred from the data."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

MOST_LABELS = 1000  # a longer scale is a measurement, not a rating
OFF_SCALE = -1


@dataclass(frozen=True)
class Scale:
    """Ordered labels from worst to best. Code 0 is the worst label, `len(labels) - 1` the best.

    Labels that nobody used stay on the scale. Raises `ValueError` for fewer than 2 labels, more than 1000, an empty
    label, or two labels that are the same text or the same number.
    """

    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        problems = scale_problems(self.labels)
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def n_labels(self) -> int:
        return len(self.labels)

    def code(self, values: Sequence[object] | NDArray[Any] | pd.Series) -> IntArray:
        """Label code of each value, -1 where it is no label. Shape as `values`.

        A value is a label if it is the same text (outer blanks aside) or the same number: 4, "4", "4.0" and 4.0 are
        label 4, "3.5" is not. True and False are labels only where they are declared as such.
        """
        texts = pd.Series(values, dtype=object).map(label_text, na_action="ignore")  # first, for True == 1
        position, distinct = pd.factorize(texts.to_numpy(dtype=object))
        known = np.array([*(self._code_of(value) for value in distinct), OFF_SCALE], dtype=np.int64)
        return known[position]

    def deviation(self, code: Iterable[int] | IntArray | int) -> FloatArray:
        """Deviation from the best label, percent of the scale: 0 for the best label, 100 for the worst."""
        return 100.0 * (self.n_labels - 1 - np.asarray(code, dtype=np.float64)) / (self.n_labels - 1)

    def _code_of(self, value: object) -> int:
        return self._codes.get(value_key(value), OFF_SCALE)

    @cached_property
    def _codes(self) -> dict[str | Decimal, int]:
        return {value_key(label): code for code, label in enumerate(self.labels)}


def label_text(value: object) -> str:
    """The text of a declared label or of a raw cell: outer blanks removed, 4.0 written 4, True written true."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    text = str(value).strip()
    return text.lower() if text.lower() in ("true", "false") else text


def scale_problems(labels: Sequence[str]) -> list[str]:
    """What is wrong with these labels as a scale, in words; empty if nothing is."""
    problems = []
    if not 2 <= len(labels) <= MOST_LABELS:
        problems.append(f"a scale has 2 to {MOST_LABELS} labels, this one has {len(labels)}")
    if any(not label.strip() for label in labels):
        problems.append("a label is empty")
    return problems + [f"label {label!r} is there twice" for label in _repeated(labels)]


def _repeated(labels: Sequence[str]) -> list[str]:
    keys = [value_key(label) for label in labels]
    return [label for place, label in enumerate(labels) if keys[place] in keys[:place]]


def value_key(value: object) -> str | Decimal:
    """What two cells that mean the same have in common: the number that they write, else their text."""
    text = label_text(value)
    if "_" in text:
        return text
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    return number if number.is_finite() else text
