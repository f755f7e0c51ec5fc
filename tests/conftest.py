"""Where real data for checks lies; tests that need it skip with a clear word where it is absent."""

import asyncio
import gc
import os
import shutil
import ssl
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
import uvicorn.server
from command import Fire, run
from hypothesis import HealthCheck, settings

from examples import examples
from fire_toolkit.workspace import locks

# Machines are shared and noisy: time is no failure. CI draws the same examples every time.
settings.register_profile(
    "fire",
    deadline=None,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("fire")

collect_ignore = ["loaders.py"]  # runs in an environment of its own: `make loaders`
ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("FIRE_TOOLKIT_DATA", ROOT.parent / "shared" / "data"))
MEMORY = Path("/dev/shm")


def is_place_for_files(folder: Path) -> bool:
    """Whether files of tests fit there (half a gigabyte) and programs among them may run."""
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        return False
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize > 4 << 30 and not disk.f_flag & os.ST_NOEXEC


# What tests make lives for a moment or to the end: to look for cycles among it less often saves a twentieth.
gc.set_threshold(50_000, 20, 50)
# To read the certificates takes 20 ms, for each client anew, and the servers of tests need none.
ssl.create_default_context = cache(ssl.create_default_context)  # type: ignore[assignment]
# A server looks every tenth of a second whether it is to end, and waits as long when it does; so do hundreds.
uvicorn.server.asyncio = SimpleNamespace(**vars(asyncio) | {"sleep": lambda s: asyncio.sleep(s / 10)})
# Who waits for a lock, or for a server to start, looks ten times a second.
locks.POLL_S = 0.01
# Every stage waits until its files are on the disk, thousands of times in all; in memory that takes no time.
if is_place_for_files(MEMORY):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep what is collected out of the search for garbage, which took a fifth of the time to collect."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def data_folder(name: str) -> Path:
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip(f"no {name} data in {DATA} (set FIRE_TOOLKIT_DATA)")
    return folder


@pytest.fixture(scope="session")
def coco_eccv() -> Path:
    return data_folder("coco-eccv")


@pytest.fixture(scope="session")
def trec2011_crowd() -> Path:
    return data_folder("trec2011-crowd")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fire() -> Fire:
    """The commands, in this process and in the current folder."""
    return run


@pytest.fixture(scope="session")
def corrected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample pool with its labels resolved and its qrels augmented; to be copied, not written to."""
    pool = tmp_path_factory.mktemp("corrected") / "pool"
    shutil.copytree(ROOT / "pools" / "sample", pool)
    run("resolve", pool / "judgments.csv", "--out", pool / "labels")
    qrels = ("--qrels", pool / "qrels.txt", "--labels", pool / "labels")
    run("augment", *qrels, "--out", pool / "augmented.txt")
    return pool
