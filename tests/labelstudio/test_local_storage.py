"""Projects are given a storage once; addresses lead below the document root and nowhere else."""

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from fire_toolkit.cli import main
from fire_toolkit.errors import ServerError, UsageError
from fire_toolkit.formats.tables.table_files import read_items
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.local_storage import (
    add_storages,
    local_files_url,
    storage_folder,
    storage_settings,
)

CONNECTION = Connection("http://ls.test", "0123456789abcdef0123456789abcdef01234567")
ROOT = PurePosixPath("/media")
CLIPS = PurePosixPath("/media/clips")


class Storages:
    """The part of Label Studio that knows storages."""

    def __init__(self, status: int = 201) -> None:
        self.made: list[dict[str, Any]] = []
        self.status = status

    def __call__(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/api/storages/localfiles/"
        if request.method == "GET":
            project = int(request.url.params["project"])
            return httpx.Response(200, json=[made for made in self.made if made["project"] == project])
        if self.status != 201:
            return httpx.Response(
                self.status,
                json={"detail": "Validation error", "validation_errors": {"path": ["does not exist"]}},
            )
        self.made.append({"id": len(self.made) + 1, **json.loads(request.content)})
        return httpx.Response(201, json=self.made[-1])


def test_each_project_gets_one_storage_however_often_asked() -> None:
    server = Storages()
    transport = httpx.MockTransport(server)
    assert add_storages(CONNECTION, [3, 4], CLIPS, transport=transport) == {3: True, 4: True}
    assert add_storages(CONNECTION, [4, 5], CLIPS, transport=transport) == {4: False, 5: True}
    assert [made["project"] for made in server.made] == [3, 4, 5]
    assert {made["path"] for made in server.made} == {"/media/clips"}


def test_a_storage_above_is_enough_and_one_beside_is_not() -> None:
    server = Storages()
    transport = httpx.MockTransport(server)
    add_storages(CONNECTION, [1], CLIPS, transport=transport)
    assert add_storages(CONNECTION, [1], CLIPS / "new", transport=transport) == {1: False}
    assert add_storages(CONNECTION, [1], ROOT / "clips2", transport=transport) == {1: True}


def test_a_refusal_is_the_servers_words_and_sent_once() -> None:
    transport = httpx.MockTransport(Storages(status=400))
    with pytest.raises(
        ServerError, match=r"POST http://ls\.test/api/storages/localfiles/: 400.*does not exist"
    ):
        add_storages(CONNECTION, [1], CLIPS, transport=transport)


def test_a_synchronisation_by_mistake_would_match_no_file() -> None:
    import re

    assert not re.match(storage_settings(1, CLIPS)["regex_filter"], "clip.mp4")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "no item is a local file"),
        (["/media/a.mp4"], "are directly in the server's document root"),
        (["/media/a/1.mp4", "/media/b/2.mp4"], "are directly in the server's document root"),
        (["/media/a/1.mp4", "/elsewhere/2.mp4"], "1 files are outside"),
    ],
)
def test_files_that_cannot_be_served_are_told(files: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        storage_folder([PurePosixPath(file) for file in files], ROOT)


NAMES = st.text(
    st.characters(exclude_characters="/", exclude_categories=("Cc", "Cs")), min_size=1, max_size=9
)
PATHS = st.lists(NAMES.filter(lambda name: name not in (".", "..")), min_size=2, max_size=4)


@given(st.lists(PATHS, min_size=1, max_size=5))
def test_the_folder_holds_every_file_and_the_address_leads_to_it(parts: list[list[str]]) -> None:
    files = [ROOT.joinpath("clips", *names) for names in parts]
    folder = storage_folder(files, ROOT)
    assert folder != ROOT
    assert folder.is_relative_to(ROOT)
    for file in files:
        assert file.is_relative_to(folder)
        asked = parse_qs(urlsplit(local_files_url(file, ROOT)).query, strict_parsing=True)["d"]
        assert asked == [file.relative_to(ROOT).as_posix()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "media" / "clips").mkdir(parents=True)
    (tmp_path / "media" / "clips" / "a b.mp4").write_bytes(b"x")
    pd.DataFrame({"doc_id": ["v"], "media_url": ["media/clips/a b.mp4"]}).to_csv(
        tmp_path / "items.tsv", sep="\t", index=False
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fire(*words: str) -> Any:
    return CliRunner().invoke(main, ["media", "local-storage", *words])


def test_the_command_writes_items_without_a_server(folder: Path) -> None:
    result = fire("items.tsv", "--document-root", "media", "--write-items", "local.tsv")
    assert result.exit_code == 0, result.output
    assert list(read_items("local.tsv")["media_url"]) == ["/data/local-files/?d=clips/a%20b.mp4"]


def test_the_command_says_what_is_missing(folder: Path) -> None:
    assert "--document-root is needed" in fire("items.tsv").stderr
    over = fire("items.tsv", "--document-root", "media", "--write-items", "items.tsv")
    assert (over.exit_code, "would overwrite it; choose another" in over.stderr) == (1, True)
    deep = fire("items.tsv", "--document-root", "media/clips", "--write-items", "x.tsv")
    assert (deep.exit_code, "move them into a subfolder" in deep.stderr) == (1, True)
