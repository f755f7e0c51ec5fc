"""A folder of small plain files, and the commands run in it as a person would."""

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from command import Copied, Make, StandIn, begin_small_workspace, run
from fake_api import FakeServer
from network import connect
from small_release import make_workspace

RUNS = {
    "clip.run": "1 Q0 a 1 9 clip\n1 Q0 b 2 8 clip\n1 Q0 c 3 7 clip\n2 Q0 b 1 9 clip\n2 Q0 NA 2 5 clip\n",
    "ssb.run": "1 Q0 c 1 9 ssb\n1 Q0 007 2 8 ssb\n2 Q0 a 1 3 ssb\n2 Q0 b 2 3 ssb\n",
}
QRELS = "1 0 a 1\n2 0 a 1\n"
QUERIES = 'query_id\ttext\n1\ta red circle\n2\t"""something"" moves"\n'
JUDGMENTS = """query_id,doc_id,annotator_id,label,created_at,duration_s,flags,comment,origin
1,a,ann,irrelevant,2026-01-01T00:00:00Z,2.5,,,manual
1,b,ann,relevant,2026-01-01T00:00:01Z,2.5,,,manual
1,b,bob,irrelevant,2026-01-01T00:00:02Z,2.5,,,manual
2,a,bob,relevant,2026-01-01T00:00:03Z,2.5,,,manual
2,NA,bob,relevant,2026-01-01T00:00:04Z,2.5,,,manual
2,NA,ann,relevant,2026-01-01T00:00:05Z,2.5,,,manual
"""


def small_files(folder: Path) -> None:
    """Write the small plain files."""
    for name, text in RUNS.items():
        (folder / name).write_text(text)
    (folder / "qrels.txt").write_text(QRELS)
    (folder / "queries.tsv").write_text(QUERIES)
    (folder / "judgments.csv").write_text(JUDGMENTS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    small_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def workspace(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of the small files; the current folder."""
    root = begin_small_workspace(folder)
    monkeypatch.chdir(root)
    return root


@pytest.fixture(scope="session")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Copied:
    """Fill a folder with what a function makes of the small files around it; it makes them once."""
    made: dict[Make, Path] = {}

    def copy(make: Make, folder: Path) -> Path:
        if make not in made:
            made[make] = tmp_path_factory.mktemp("made")
            small_files(made[make])
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
    shutil.copytree(corrected, tmp_path / "pool")
    monkeypatch.chdir(tmp_path / "pool")
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
