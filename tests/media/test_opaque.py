"""Addresses that do not tell which item they lead to."""

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from command import run as fire

from fire_toolkit.media import serving
from fire_toolkit.media.places import opaque_name
from fire_toolkit.media.server import MediaServer

SECRET = Path(".fire/private/media.key")
ADDRESS = re.compile(r"http://127\.0\.0\.1:[89]\d{3}/m/[0-9a-f]{32}\.webm")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of three files, one item that is no file, and one with an address of its own."""
    fire("init", tmp_path / "site")
    root = tmp_path / "site"
    monkeypatch.chdir(root)
    (root / "media").mkdir()
    for number in range(3):
        (root / "media" / f"video701{number}.webm").write_bytes(b"clip %d" % number)
    urls = [f"media/video701{number}.webm" for number in range(3)] + ["media/gone.webm", "https://h/v.webm"]
    items = "".join(f"video701{number}\t{url}\n" for number, url in enumerate(urls))
    (root / "collection" / "items.tsv").write_text("doc_id\tmedia_url\n" + items)
    queries = "".join(f"q{number}\ta dog\n" for number in range(5))
    (root / "collection" / "queries.tsv").write_text("query_id\ttext\n" + queries)
    (root / "pool").mkdir()
    pool = "".join(f"q{number},video701{number}\n" for number in range(5))
    (root / "pool" / "pool.csv").write_text("query_id,doc_id\n" + pool)
    return root


def shown(root: Path) -> list[str]:
    return sorted(task["data"]["video"] for task in json.loads((root / "tasks/tasks.json").read_text()))


Serve = Callable[..., str]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """`media serve` in this process: while it serves, `look` is called with its base URL; then it ends."""

    def run(look: Callable[[str], object], *more: str) -> str:
        made: list[MediaServer] = []
        enter = MediaServer.__enter__
        monkeypatch.setattr(MediaServer, "__enter__", lambda self: made.append(self) or enter(self))
        monkeypatch.setenv("FIRE_LABEL_STUDIO_URL", "http://127.0.0.1:8080")
        monkeypatch.setattr(serving, "wait_to_be_stopped", lambda stopped: look(made[-1].base_url))
        return fire("media", "serve", "--port", "0", *more).stderr

    return run


def test_tasks_of_a_new_workspace_name_no_file(site: Path) -> None:
    words = fire("tasks", "--overlap", "0").stderr
    said = (
        r"note: 3 files shown on a server at http://127\.0\.0\.1:\d{4}, where `fire-toolkit media serve` must"
    )
    assert re.search(said, words)
    assert "'media/gone.webm'" in words
    first, *rest = shown(site)
    assert all(ADDRESS.fullmatch(url) for url in [first, *rest[:2]])
    assert rest[2:] == ["https://h/v.webm", "media/gone.webm"]
    assert not re.search(r"video701\d", (site / "tasks/tasks.json").read_text())
    assert stat.S_IMODE(SECRET.stat().st_mode) == 0o600
    secret = SECRET.read_text().strip()
    others = [path for path in site.rglob("*") if path.is_file() and path.name != "media.key"]
    assert [path for path in others if secret.encode() in path.read_bytes()] == []
    before = (site / "tasks/tasks.json").read_bytes()
    fire("tasks", "--overlap", "0")
    assert (site / "tasks/tasks.json").read_bytes() == before


def test_another_key_gives_other_addresses() -> None:
    one, other = (opaque_name(key, "media/video7010.webm") for key in (b"a" * 32, b"b" * 32))
    assert one != other
    assert opaque_name(b"a" * 32, "media/video7010.tar.gz%20title").count(".") == 0


def test_part_of_a_video_keeps_its_times(site: Path) -> None:
    (site / "collection" / "items.tsv").write_text(
        "doc_id\tmedia_url\tstart_s\tend_s\nvideo7010\tmedia/video7010.webm\t3\t5\n"
    )
    (site / "pool" / "pool.csv").write_text("query_id,doc_id\nq0,video7010\n")
    fire("tasks", "--overlap", "0")
    (url,) = shown(site)
    assert ADDRESS.fullmatch(url.removesuffix("#t=3,5"))


def test_what_is_served_is_what_tasks_ask_for_and_nothing_by_its_name(site: Path, serve: Serve) -> None:
    fire("tasks", "--overlap", "0")

    def look(base: str) -> None:
        own = [base + "/m/" + url.partition("/m/")[2] for url in shown(site) if ADDRESS.fullmatch(url)]
        with httpx.Client(trust_env=False, timeout=None) as client:
            answers = [client.get(url) for url in own]
            assert sorted(answer.content for answer in answers) == [b"clip 0", b"clip 1", b"clip 2"]
            assert {answer.headers["Content-Type"] for answer in answers} == {"video/webm"}
            assert not any("video701" in str(answer.headers) for answer in answers)
            assert client.get(f"{base}/media/video7010.webm").status_code == 404
        rows = [line.split("\t") for line in (site / "new.tsv").read_text().splitlines()[1:]]
        assert [row[1] for row in rows[:3]] == sorted(own, key=[row[1] for row in rows].index)

    serve(look, "--write-items", "new.tsv")


def test_a_key_that_is_not_the_tasks_own_is_noticed(site: Path, serve: Serve) -> None:
    fire("tasks", "--overlap", "0")
    SECRET.write_text("ab" * 32)
    assert "warning: tasks ask for 3 files that are none of these" in serve(lambda base: None)


def test_a_damaged_key_is_named_and_not_replaced(site: Path) -> None:
    SECRET.write_text("secret")
    line = fire("tasks", code=1).stderr
    assert "media.key: expected 64 hexadecimal digits; restore it from a copy" in line
    assert SECRET.read_text() == "secret"


def test_a_workspace_of_before_is_left_as_it_was(site: Path) -> None:
    SECRET.unlink()
    fire("tasks", "--overlap", "0")
    assert shown(site)[1] == "media/gone.webm"
    assert "media/video7010.webm" in shown(site)
    assert not SECRET.exists()
