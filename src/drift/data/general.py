"""What study files of every kind have in common, and how one is read: every problem of it in one error."""

import hashlib
import tomllib
from collections.abc import Callable
from pathlib import Path

from drift.data.sections import Section
from drift.errors import StudyFileError, StudyNotFoundError


def study_text(path: Path) -> str:
    """The text of a study file. Raises `StudyNotFoundError`, or `StudyFileError` for what is not UTF-8."""
    if not path.is_file():
        raise StudyNotFoundError(str(path), "there is no such study file")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StudyFileError(path.name, f"not UTF-8 text (byte {error.start}): save it as UTF-8") from error


def declared[Declared](text: str, path: Path, read: Callable[[Section], Declared]) -> Declared:
    """What `read` makes of a study file's text. Raises one `StudyFileError` that lists every problem it noted."""
    top = Section("", toml_values(text, path), [])
    study = read(top)
    if top.problems:
        count = len(top.problems)
        headline = f"{count} problem{'s' * (count > 1)} in the study file"
        raise StudyFileError(path.name, headline, [(None, problem) for problem in top.problems])
    return study


def toml_values(text: str, path: Path) -> dict[str, object]:
    """The values of a TOML text. Raises `StudyFileError` where it is none."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyFileError(path.name, f"not valid TOML: {error}") from error


def study_name(path: Path) -> str:
    """What a study is called: its file's name, or its folder's where the file is study.toml."""
    return path.resolve().parent.name if path.name == "study.toml" else path.stem


def digest(text: str) -> str:
    """SHA-256 of a study file's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def seed(top: Section) -> int:
    found = top.whole("seed", example=20260724)
    if found >= 2**63:
        top.note("seed is larger than a sampler takes: write a whole number below 2**63")
    return found


def cards(top: Section, example: str) -> tuple[str, ...]:
    """The model cards to fit."""
    found = top.texts("models")
    if not found and "models" not in top:
        top.note(f'models is missing: write models = ["{example}"], the model cards to fit')
    elif not found:
        top.note(f'models names no model card: write models = ["{example}"]')
    return found


def where(section: Section) -> dict[str, tuple[str, ...]]:
    """Column -> values that keep a row. One value may be written without brackets."""
    listed = {key: value if isinstance(value, list) else [value] for key, value in section.values.items()}
    return {key: Section(section.place, listed, section.problems).texts(key) for key in listed}


def note_repeated_names(top: Section, key: str, names: list[str]) -> None:
    """Note every name that two tables of `[[key]]` share."""
    for name in sorted({name for name in names if names.count(name) > 1}):
        top.note(f"two [[{key}]] are called {name!r}: give each a name of its own")


def note_repeated_columns(section: Section, names: list[str]) -> None:
    """Note every column that two roles share."""
    for name in sorted({name for name in names if names.count(name) > 1}):
        section.note(f"[columns] gives column {name!r} two roles")
