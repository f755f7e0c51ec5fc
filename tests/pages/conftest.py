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
def root(made: Path, here: Path) -> Path:
    return Path(shutil.copytree(made, here, dirs_exist_ok=True))


@pytest.fixture(autouse=True)
def _close_sessions() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()
