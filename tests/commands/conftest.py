"""Commands called in this process, and small SIMULATED studies for them: 3 models x 12 questions x 10 participants."""

import contextlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from drift import conclude, fit, simulate

SIZES = ("--recipe", "Radd", "--participants", "10", "--questions", "12", "--models", "3")
EFFECTS = ("--effects", "normal")
NARROW = """\
+++
builder = "ordinal"
[priors]
sd_participant = {half_normal = 0.5}
+++
# narrow: `ordinal` with participants more alike, a card of the user's own
"""
DECLARED = """\
set = ["Claude", "Gemini"]
sensitivity_pp = [20]

[[contrasts]]
name = "Claude against Llama"
treatment = ["Claude"]
comparator = ["Llama"]
"""
# Few ratings leave wide, skewed posteriors of the standard deviations: smaller steps than by default, so that every
# check passes by a factor of two. They take a second.
SOUND = ("--draws", "1200", "--tune", "500", "--target-accept", "0.95")
MAINS = {"fit": fit.main, "conclude": conclude.main, "simulate": simulate.main}


@dataclass(frozen=True)
class Done:
    """What a command did: exit status, standard output, standard error."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out, parse_constant=pytest.fail)


def called(name: str, *words: str | Path) -> Done:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = MAINS[name]([str(word) for word in words])
    return Done(status, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def call() -> Callable[..., Done]:
    return called


@pytest.fixture(scope="session")
def sound() -> Sequence[str]:
    """Settings of `fit` under which the checks of the small study pass."""
    return SOUND


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The study file of a small study of the test's own, to change and to break."""
    return simulated(tmp_path / "small")


def simulated(folder: Path) -> Path:
    assert called("simulate", folder, *SIZES, *EFFECTS).status == 0
    text = (folder / "study.toml").read_text().replace('"ordinal-interaction"', '"narrow"')
    (folder / "study.toml").write_text(text + DECLARED)
    (folder / "models").mkdir()
    (folder / "models" / "narrow.md").write_text(NARROW)
    return folder / "study.toml"


@dataclass(frozen=True)
class Fitted:
    """A fit of the small study: its study file, the folder of posteriors, and what the command did."""

    study: Path
    folder: Path
    done: Done

    def posterior(self, card: str = "ordinal") -> Path:
        return self.folder / f"small-{card}.nc"


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Fitted:
    """Both cards of the small study - `ordinal`, and one of its own - with every check passed. To read only."""
    place = tmp_path_factory.mktemp("fitted")
    study = simulated(place / "small")
    return Fitted(study, place / "posteriors", called("fit", study, "--out", place / "posteriors", *SOUND))
