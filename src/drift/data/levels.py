"""Factors: texts to level codes, in natural order, and to and from a labelled dataset."""

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from drift.data.declaration import FACTORS
from drift.data.tables import TextArray
from drift.scale import IntArray

Codes = Mapping[str, IntArray]  # factor -> (row,) level codes
Levels = Mapping[str, tuple[str, ...]]  # factor -> level names
Variables = dict[str, tuple[str, NDArray[np.int32]]]


def coded(values: TextArray) -> tuple[IntArray, tuple[str, ...]]:
    """Level code of each text, and the levels in natural order: Q2 before Q10, case and leading zeros kept."""
    found, distinct = pd.factorize(values)
    levels = [str(level) for level in distinct]
    order = sorted(range(len(levels)), key=lambda place: natural_key(levels[place]))
    code = np.empty(len(order), dtype=np.int64)
    code[order] = np.arange(len(order))
    return code[found], tuple(levels[place] for place in order)


def natural_key(text: str) -> tuple[list[tuple[int, str]], str]:
    """Sorting key that takes runs of digits as numbers, however long; equal numbers by their text."""
    parts = re.split(r"([0-9]+)", text.casefold())
    runs = [
        (len(part.lstrip("0")), part.lstrip("0")) if part.isdigit() and part.isascii() else (0, part) for part in parts
    ]
    return runs, text


def factor_variables(codes: Codes, dim: str) -> Variables:
    """`<factor>_index` variables along `dim`."""
    return {f"{factor}_index": (dim, code.astype(np.int32)) for factor, code in codes.items()}


def level_coords(levels: Levels) -> dict[str, NDArray[np.str_]]:
    """One coordinate of level names a factor."""
    return {factor: np.array(names, dtype=np.str_) for factor, names in levels.items()}


def factors_from(data: xr.Dataset) -> tuple[dict[str, IntArray], dict[str, tuple[str, ...]]]:
    """Codes and levels of every factor that a dataset has."""
    factors = [factor for factor in FACTORS if f"{factor}_index" in data]
    codes = {factor: data[f"{factor}_index"].to_numpy().astype(np.int64) for factor in factors}
    return codes, {factor: tuple(map(str, data[factor].to_numpy())) for factor in factors}


def question_domains(codes: Codes, levels: Levels) -> IntArray | None:
    """(question,) domain code of each question; None where either factor is absent."""
    if "question" not in codes or "domain" not in codes:
        return None
    domain = np.zeros(len(levels["question"]), dtype=np.int64)
    domain[codes["question"]] = codes["domain"]
    return domain
