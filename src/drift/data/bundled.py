"""Studies that come with the package, and finding a study by name or path."""

from importlib.resources import files
from pathlib import Path

from drift.data.sections import did_you_mean
from drift.errors import StudyNotFoundError

STUDIES = Path(str(files("drift"))) / "studies"
STUDY_FILE = "study.toml"


def bundled_studies() -> tuple[str, ...]:
    """Names of the bundled studies, sorted."""
    return tuple(sorted(path.parent.name for path in STUDIES.glob(f"*/{STUDY_FILE}")))


def find_study(name_or_path: str | Path) -> Path:
    """The study file of a bundled study's name, of a TOML path, or of a folder that holds study.toml.

    Raises `StudyNotFoundError`, with the nearest bundled name.
    """
    path, name = Path(name_or_path), str(name_or_path)
    if name in bundled_studies():
        return STUDIES / name / STUDY_FILE
    if path.is_file():
        return path
    if (path / STUDY_FILE).is_file():
        return path / STUDY_FILE
    bundled = bundled_studies()
    headline = f"neither a bundled study nor a file{did_you_mean(name, bundled)}"
    raise StudyNotFoundError(name, headline, advice=f"bundled: {', '.join(bundled)}")
