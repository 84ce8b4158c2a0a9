"""What every test may rely on: where it runs, where compiled code goes, and the real data beside the checkout."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
SHARED = PROJECT.parent / "shared" / "data"


def pytest_configure(config: pytest.Config) -> None:
    """Compiled code of tests is kept between runs, in this checkout's .pytest_cache.

    Minutes of compilation are saved on every run but the first, the user's own ~/.cache/drift is neither read nor
    filled, and `rm -r .pytest_cache` starts afresh. Code is found by a digest of the sources, so it is never stale. Set
    before any import of drift, for commands that tests start inherit it; a DRIFT_CACHE of the caller's own is kept.
    """
    os.environ.setdefault("DRIFT_CACHE", str(config.rootpath / ".pytest_cache" / "drift"))


@pytest.fixture(scope="session", autouse=True)
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """All tests run in a temporary working folder, so `posteriors` (the default of --out) is never the user's."""
    before, folder = Path.cwd(), tmp_path_factory.mktemp("elsewhere")
    os.chdir(folder)
    yield folder
    os.chdir(before)


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the checkout."""
    return PROJECT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data that lies beside the checkout and is not part of it."""
    if not SHARED.is_dir():
        pytest.skip(f"real data absent: no {SHARED}")
    return SHARED
