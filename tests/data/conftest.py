"""Small studies written to a temporary folder, and the shared real data."""

from collections.abc import Callable
from pathlib import Path

import pytest

from drift.data.declaration import Study
from drift.data.study import read_study

SHARED = Path(__file__).parents[3] / "shared" / "data"

DECLARED = """
title = "Toy"
ratings = "{file}"
seed = 7
models = ["ordinal"]
{top}
[columns]
{columns}
[scale]
labels = {labels}
{tables}
"""
COLUMNS = """
participant = "rater"
question = "item"
model = "system"
rating = "score"
"""

Write = Callable[..., Study]


@pytest.fixture
def toy(tmp_path: Path) -> Write:
    """Write data (text or bytes) and its study file; the study that is then read."""

    def write(
        data: str | bytes | None,
        *,
        file: str = "ratings.csv",
        columns: str = COLUMNS,
        labels: str = "[1, 2, 3, 4, 5]",
        top: str = "",
        tables: str = "",
    ) -> Study:
        if data is not None:
            (tmp_path / file).write_bytes(data.encode() if isinstance(data, str) else data)
        text = DECLARED.format(file=file, columns=columns, labels=labels, top=top, tables=tables)
        (tmp_path / "toy.toml").write_text(text, encoding="utf-8")
        return read_study(tmp_path / "toy.toml")

    return write


@pytest.fixture
def shared() -> Path:
    """The folder of real data that is not in the repository."""
    if not SHARED.is_dir():
        pytest.skip(f"real data absent: no {SHARED}")
    return SHARED
