"""A workspace that is judged on our own page, made once; what every test of the page ends with."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_site import OPENED, make_workspace


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    with contextlib.chdir(folder):
        make_workspace(folder)
    return folder


@pytest.fixture
def root(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _close_sessions() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()
