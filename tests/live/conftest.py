"""The stage against the real Label Studio; it runs where FIRE_LIVE=1 is set.

FIRE_TOOLKIT_CACHE keeps the installed Label Studio between runs; FIRE_LIVE_ARTEFACTS names a folder for
screenshots and the server's log (by default `.live-artefacts` in the current folder).
"""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import run

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from live_browser import programs  # noqa: E402
from live_server import LiveServer, clips, installed  # noqa: E402

from fire_toolkit.labelstudio.local_server import LOG, stop_server  # noqa: E402


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE not in item.path.parents:
            continue
        if os.environ.get("FIRE_LIVE") != "1":
            item.add_marker(pytest.mark.skip(reason="needs the real Label Studio: set FIRE_LIVE=1"))
        if "live_program" in getattr(item, "fixturenames", ()):
            item.add_marker("server")


def _in_memory() -> str | None:
    """Return a folder in memory with room for a database; its many small writes take half the time there."""
    place = Path("/dev/shm")
    is_usable = place.is_dir() and os.access(place, os.W_OK) and shutil.disk_usage(place).free > 500_000_000
    return str(place) if is_usable else None


@pytest.fixture(scope="session")
def artefacts() -> Path:
    folder = Path(os.environ.get("FIRE_LIVE_ARTEFACTS", ".live-artefacts")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def pictures(artefacts: Path) -> Path:
    """Where the pictures of the docs go: FIRE_PICTURES, or beside the other screenshots."""
    return Path(os.environ.get("FIRE_PICTURES", artefacts)).absolute()


@pytest.fixture(scope="session")
def live_program() -> Path:
    """The installed `label-studio` program."""
    return installed()


@pytest.fixture
def live_server(one_live_server: LiveServer) -> LiveServer:
    """The run's server, started again if the test before left it dead."""
    one_live_server.start()
    return one_live_server


@pytest.fixture(scope="session")
def one_live_server(live_program: Path, artefacts: Path) -> Iterator[LiveServer]:
    """One running server with an empty database; tests make projects and annotators of their own."""
    root = Path(tempfile.mkdtemp(prefix="fire-live-", dir=_in_memory()))
    server = LiveServer(root, live_program)
    try:
        server.start()
        yield server
    finally:
        server.opened.close()
        stop_server(server.folder)
        if (server.folder / LOG).is_file():
            shutil.copy(server.folder / LOG, artefacts / "label-studio.log")
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="session")
def chromium() -> None:
    """Skip, or in CI fail, where there is no browser."""
    if programs() is None:
        words = "no chromium and chromedriver: apt-get install chromium chromium-driver"
        if os.environ.get("CI") == "true":
            pytest.fail(words)
        pytest.skip(words)


@pytest.fixture(scope="session")
def demo(chromium: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo with its report and its gallery, which nobody changes."""
    root = tmp_path_factory.mktemp("made")
    with contextlib.chdir(root):
        run("demo", "--out", "demo")
    return root / "demo"


@pytest.fixture
def page_root(
    chromium: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Path:
    """A workspace that is judged on our own page, with clips that play; the current folder.

    A test that has `captions` is shown so many of an item at most, else one.
    """
    from page_site import make_workspace

    place = tmp_path / "workspace"
    place.mkdir()
    monkeypatch.chdir(place)
    captions = request.getfixturevalue("captions") if "captions" in request.fixturenames else 1
    make_workspace(place, clip=clips(1)[0], captions=str(captions))
    return place
