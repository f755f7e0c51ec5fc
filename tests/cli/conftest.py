"""A folder of small plain files, and the commands run in it as a person would."""

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from command import Copied, Make, StandIn, begin_small_workspace, begin_workspace, run
from fake_api import FakeServer
from network import connect
from small_release import make_workspace

SMALL = Path(__file__).parents[1] / "golden/small"


@pytest.fixture
def folder(here: Path) -> Path:
    return Path(shutil.copytree(SMALL, here, dirs_exist_ok=True))


@pytest.fixture
def workspace(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of the small files; the current folder."""
    root = begin_small_workspace(folder)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of as many pairs as its module says (N_PAIRS), each an original one; the current folder."""
    monkeypatch.chdir(begin_workspace(tmp_path / "work", request.module.N_PAIRS))
    originals = "".join(f"q{n} 0 v{n} 1\n" for n in range(request.module.N_PAIRS))
    Path("collection/qrels.txt").write_text(originals)
    return tmp_path / "work"


@pytest.fixture(scope="session")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Copied:
    """Fill a folder with what a function makes of the small files around it; it makes them once."""
    made: dict[Make, Path] = {}

    def copy(make: Make, folder: Path) -> Path:
        if make not in made:
            made[make] = tmp_path_factory.mktemp("made")
            shutil.copytree(SMALL, made[make], dirs_exist_ok=True)
            with contextlib.chdir(made[make]):
                make()
        return Path(shutil.copytree(made[make], folder, dirs_exist_ok=True))

    return copy


@pytest.fixture
def stand_in(copied: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Stand in a copy of what a function makes, or in a folder of it."""

    def enter(make: Make, place: str = "") -> Path:
        monkeypatch.chdir(copied(make, tmp_path) / place)
        return tmp_path / place

    return enter


@pytest.fixture
def fire(folder: Path) -> Callable[..., Result]:
    """The commands, in the folder of small files."""
    return run


@pytest.fixture
def sample(corrected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The commands, in a copy of the corrected sample pool."""
    monkeypatch.chdir(shutil.copytree(corrected, tmp_path / "pool"))
    return run


@pytest.fixture(scope="session")
def released_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small workspace and its release; to be copied, not written to."""
    root = tmp_path_factory.mktemp("ready")
    with contextlib.chdir(root):
        make_workspace(root, run)
        run("release", "--version", "1.0", "--date", "2026-11-22")
    return root


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    """A Label Studio in this process, to which all commands are connected."""
    fake = FakeServer()
    connect(monkeypatch, fake)
    return fake
