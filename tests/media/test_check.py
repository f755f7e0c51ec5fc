"""Every item is looked at: files by content, addresses as a page meets them and by their first byte."""

import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import pandas as pd
import pytest
from media_files import items_of
from network import answer_links

from examples import cases
from fire_toolkit.errors import FireError
from fire_toolkit.media import links
from fire_toolkit.media.links import COLUMNS, check_media, reach_media
from fire_toolkit.media.places import file_at, is_address
from fire_toolkit.tables import Items

PAGE = "http://127.0.0.1:8080"


class Web:
    """A server in this process: what it answers at each path is fixed in its behaviours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        behaviour, _, name = request.url.path.strip("/").partition("/")
        if behaviour == "down":
            raise httpx.ConnectError("refused", request=request)
        if behaviour in ("401", "404", "500"):
            return httpx.Response(int(behaviour))
        if behaviour == "moved":
            target = f"https://elsewhere.example.org/{name}"
            return httpx.Response(302, headers={"Location": target, "Access-Control-Allow-Origin": "*"})
        return self._file(request, behaviour, (self.folder / name).read_bytes())

    def _file(self, request: httpx.Request, behaviour: str, content: bytes) -> httpx.Response:
        allowed = {"nocors": "", "other": "https://other.example.org", "good": PAGE}.get(behaviour, "*")
        headers = {"Access-Control-Allow-Origin": allowed} if allowed else {}
        if behaviour == "norange":
            return httpx.Response(200, headers=headers, content=content)
        first, _, last = request.headers["Range"].removeprefix("bytes=").partition("-")
        part = content[int(first) : int(last) + 1]
        headers["Content-Range"] = f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}"
        return httpx.Response(206, headers=headers, content=part)


def look(
    items: Items, clips: Path, *, origin: str = PAGE, kind: str = "", web: Web | None = None
) -> pd.DataFrame:
    with pytest.MonkeyPatch.context() as patched:
        answer_links(patched, web or Web(clips))
        return check_media(items, root=clips, origin=origin, kind=kind)


def row(found: pd.DataFrame, number: int = 0) -> dict[str, str]:
    return {str(name): value for name, value in found.iloc[number].items()}


def test_a_row_for_each_item_in_their_order(clips: Path) -> None:
    items = items_of("mpeg4.avi", "h264.mp4", "gone.mp4", "mpeg4.avi", str(clips / "a.png"))
    before = items.copy()
    found = look(items, clips)
    assert list(COLUMNS) == list(found.columns)
    assert list(found["state"]) == ["no", "plays", "no", "no", "plays"]
    assert list(found["doc_id"]) == ["v0", "v1", "v2", "v3", "v4"]
    assert found["fix"][0] == "fire-toolkit media transcode"
    assert found["fix"][1] == ""
    assert str(clips / "gone.mp4") in found["fix"][2]
    pd.testing.assert_frame_equal(before, items)


def test_no_items_give_an_empty_table(clips: Path) -> None:
    found = look(items_of(), clips)
    assert (0, list(COLUMNS)) == (len(found), list(found.columns))


@cases("path", "state", "reason")
def test_an_address_must_answer_pages_and_parts(clips: Path, path: str, state: str, reason: str) -> None:
    found = row(look(items_of(f"http://media.example.org/{path}"), clips))
    assert (state, reason) == (found["state"], found["reason"])
    assert (state == "plays") == (found["fix"] == "")


def test_what_does_not_tell_at_its_beginning_is_read_on(clips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "BLOCK_BYTES", 1000)  # the index of these files is at their end
    web, names = Web(clips), ("h264.mp4", "mpeg4.mp4", "a.png")
    found = look(items_of(*(f"http://m/good/{name}" for name in names)), clips, web=web)
    assert list(found["state"]) == ["plays", "no", "plays"]
    assert len({request.headers["Range"] for request in web.requests}) > 1


def test_the_page_is_named_and_a_part_asked_for(clips: Path) -> None:
    web = Web(clips)
    items = items_of("http://media.example.org/good/h264.mp4")
    look(items, clips, web=web)
    assert {PAGE} == {request.headers["Origin"] for request in web.requests}
    assert all(request.headers["Range"].startswith("bytes=") for request in web.requests)


def test_a_page_by_https_may_not_load_by_http(clips: Path) -> None:
    items = items_of("http://media.example.org/any/h264.mp4", "http://127.0.0.1:9/any/h264.mp4")
    found = look(items, clips, origin="https://labels.example.org")
    assert list(found["state"]) == ["no", "plays"]
    assert "https" in found["reason"][0]


def test_items_of_the_page_of_its_storage_and_of_no_place_are_told_apart(clips: Path) -> None:
    stored = ("/data/local-files/?d=v/1.mp4", "s3://bucket/1.mp4")
    found = look(items_of(*stored, f"{PAGE}/nocors/h264.mp4", ""), clips)
    assert list(found["state"]) == ["not looked at", "not looked at", "plays", "no"]
    assert found["reason"][3] == "no media_url"


def test_missing_pyav_ends_the_check(clips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(FireError, match="PyAV"):
        look(items_of("h264.mp4"), clips)
    assert row(look(items_of("a.png"), clips))["state"] == "plays"


def test_progress_counts_each_address_once(clips: Path) -> None:
    counts: list[int] = []
    check_media(items_of("a.png", "a.png", "a.jpg"), root=clips, report=counts.append)
    assert counts == [1, 2]


def test_places(tmp_path: Path) -> None:
    assert tmp_path / "a b#c.mp4" == file_at("a b#c.mp4", tmp_path)
    assert Path("/x y.mp4") == file_at("file:///x%20y.mp4", tmp_path)
    assert Path("/abs/v.mp4") == file_at("/abs/v.mp4", tmp_path)
    for url in ("HTTP://h/v", "gs://b/v", "/data/upload/1/v.mp4"):
        assert file_at(url, tmp_path) is None
        assert is_address(url) == (url == "HTTP://h/v")


LABELS_PAGE = "http://labels.test:8080"
Answer = Callable[[httpx.Request], httpx.Response]
GOOD = {"Content-Type": "video/mp4", "Access-Control-Allow-Origin": LABELS_PAGE}


def reached(
    urls: Sequence[str], answer: Answer, *, needs_cors: bool = True, sample: int | None = None
) -> tuple[dict[str, str], int]:
    def asked(request: httpx.Request) -> httpx.Response:
        assert (request.headers["Range"], request.headers["Origin"]) == ("bytes=0-0", LABELS_PAGE)
        return answer(request)

    with pytest.MonkeyPatch.context() as patched:
        answer_links(patched, asked)
        with links.Links(LABELS_PAGE) as page:
            return reach_media(urls, page, needs_cors=needs_cors, sample=sample)


PAGE_OF_WORDS = GOOD | {"Content-Type": "text/html; charset=utf-8"}
NO_CORS = f"allows no other page (CORS), expected {LABELS_PAGE}"
REPLIES: dict[str, tuple[httpx.Response, bool, str, int]] = {
    "good, in parts": (httpx.Response(206, headers=GOOD), True, "", 0),
    "good, without parts: it cannot be sought in": (httpx.Response(200, headers=GOOD), True, "", 1),
    "a picture, which no script reads": (httpx.Response(206), False, "", 0),
    "gone": (httpx.Response(404), True, "answers 404", 0),
    "a web page": (httpx.Response(200, headers=PAGE_OF_WORDS), True, "is text/html, not a video or image", 0),
    "no CORS": (httpx.Response(206), True, NO_CORS, 0),
}


@pytest.mark.parametrize("reply", REPLIES)
def test_what_an_address_replies_is_good_or_named(reply: str) -> None:
    answer, needs_cors, fault, n_unsought = REPLIES[reply]
    found = reached(["http://m/a", "http://m/a#t=3,5"], lambda request: answer, needs_cors=needs_cors)
    assert found == ({"http://m/a": fault}, n_unsought)


def test_a_host_that_stays_silent_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    lock = threading.Lock()

    def silent(request: httpx.Request) -> httpx.Response:
        with lock:
            asked.append(request.url.host)
        if request.url.host == "dead.test":
            raise httpx.ConnectTimeout("nobody there", request=request)
        return httpx.Response(206, headers=GOOD)

    urls = [f"http://{host}/{n}" for host in ("dead.test", "m.test") for n in range(300)]
    faults, _ = reached(urls, silent)
    assert {url for url, fault in faults.items() if fault} == set(urls[:300])
    expected = {"does not answer (ConnectTimeout)", "not asked, since dead.test does not answer", ""}
    assert set(faults.values()) == expected
    assert asked.count("m.test") == 300
    assert 32 <= asked.count("dead.test") <= 48
    answer_links(monkeypatch, silent)
    assert set(check_media(items_of(*urls), root=Path(), origin=LABELS_PAGE)["reason"]) >= expected - {""}
    assert 64 <= asked.count("dead.test") <= 88


def test_a_server_that_gives_a_byte_now_and_then_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "_MOST_S", 0.0)
    headers = {"Content-Range": "bytes 0-262143/900000"}

    def drips(request: httpx.Request) -> httpx.Response:
        return httpx.Response(206, headers=headers, content=(b"." for _ in range(262_144)))

    answer_links(monkeypatch, drips)
    found = check_media(items_of("http://m/a.mp4"), root=Path(), origin=PAGE)
    assert found["reason"].tolist() == ["does not answer (ReadTimeout)"]


def test_a_sample_is_the_same_each_time() -> None:
    urls = [f"http://m/{n}" for n in range(50)]
    good = httpx.Response(206, headers=GOOD)
    first, second = (reached(urls, lambda request: good, sample=5)[0] for _ in range(2))
    assert first == second
    assert len(first) == 5


@pytest.mark.parametrize(("n_broken", "fault"), [(1, ""), (2, "does not answer (ConnectError)")])
def test_a_connection_that_breaks_is_asked_once_more(n_broken: int, fault: str) -> None:
    asked: list[str] = []

    def breaks(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        if len(asked) <= n_broken:
            raise httpx.ConnectError("dropped", request=request)
        return httpx.Response(206, headers=GOOD)

    found, _ = reached(["http://m/a"], breaks)
    assert found == {"http://m/a": fault}
    assert len(asked) == 2
