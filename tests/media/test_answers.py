"""What is answered, whatever is asked: no path leads out."""

import socket
from collections.abc import Iterator
from urllib.parse import unquote

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from media_files import items_of

from examples import cases, examples
from fire_toolkit.formats.recognised import content_type
from fire_toolkit.media.server import MediaServer, items_at

PAGE = "http://127.0.0.1:8080"
PARTS = r".. . / // \ %2e %2E%2e %2f %5c %00 a b.mp4 sub é %c3%a9 %ff ? # %"
PIECES = st.sampled_from(PARTS.split(" "))
CONTENT = bytes(number % 251 for number in range(10_000))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MediaServer]:
    folder = tmp_path_factory.mktemp("collection")
    (folder / "sub").mkdir()
    (folder / "a").write_bytes(CONTENT)
    (folder / "sub" / "b.mp4").write_bytes(b"of the collection")
    (folder / "b.mp4").write_bytes(b"not of the collection")
    (folder / "empty").write_bytes(b"")
    with MediaServer(
        folder, {name: name for name in ("a", "sub/b.mp4", "empty")}, origins=[PAGE], port=0
    ) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: MediaServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.base_url, trust_env=False, timeout=None) as client:
        yield client


def answer(server: MediaServer, target: str) -> bytes:
    head = b"GET " + target.encode() + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        connection.sendall(head)
        found = b""
        while piece := connection.recv(65536):
            found += piece
    return found


@example("/../b.mp4")
@example("/%2e%2e/%2e%2e/etc/passwd")
@example("/sub/%2e%2e/b.mp4")
@example("/sub/..%2fb.mp4")
@example("//etc/passwd")
@example("/..\\b.mp4")
@example("/a/")
@example("/%ff")
@example("*")
@example("/")
@example("/sub")
@example("/%2fetc/passwd")
@example("/a%00.mp4")
@example("http://evil.example/a")
@settings(max_examples=examples(60))
@given(st.lists(PIECES).map(lambda pieces: "/" + "".join(pieces)))
def test_whatever_is_asked_for_is_one_of_the_files_or_refused(server: MediaServer, target: str) -> None:
    found = answer(server, target)
    name = unquote(target.split("?")[0])
    wanted = {"/a": CONTENT, "/sub/b.mp4": b"of the collection"}.get(name)
    if wanted is None or not target.isascii():
        assert found.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 "))
        assert b"of the collection" not in found
    else:
        assert found.startswith(b"HTTP/1.1 200 ")
        assert found.endswith(wanted)


SEGMENTS = st.text(
    st.characters(exclude_characters="/\\", exclude_categories=("Cc", "Cs")), min_size=1, max_size=20
).filter(lambda text: text not in (".", ".."))


@example(["50% off?", "a#b;c&d", "é ü"])
@given(st.lists(SEGMENTS, min_size=1, max_size=4))
def test_every_name_comes_back_from_its_address(segments: list[str]) -> None:
    name = "/".join(segments)
    (address,) = items_at(items_of("v.mp4"), "http://h:1", {"v.mp4": name})["media_url"]
    assert unquote(address) == f"http://h:1/{name}"
    assert address.isascii()


def test_only_the_given_page_may_read(client: httpx.Client) -> None:
    def allowed(origin: str | None) -> str | None:
        headers = {"Origin": origin} if origin is not None else {}
        found = client.get("/empty", headers=headers)
        assert found.headers["Vary"] == "Origin"
        return found.headers.get("Access-Control-Allow-Origin")

    assert allowed(PAGE) == PAGE
    assert allowed("http://localhost:8080") == "http://localhost:8080"
    others = ("null", "http://127.0.0.1:8081", "https://127.0.0.1:8080", PAGE + "/", PAGE + ".evil", "*")
    assert [allowed(origin) for origin in (None, *others)] == [None] * 7


@cases("code", "hosts")
def test_only_our_own_names_are_answered(client: httpx.Client, code: int, hosts: list[str]) -> None:
    found = [client.get("/empty", headers={"Host": host}).status_code for host in hosts]
    assert found == [code] * len(hosts)


def test_media_types() -> None:
    assert content_type("a/b.MP4") == "video/mp4"
    assert content_type("clip.webm") == "video/webm"
    assert content_type("a.jpeg") == "image/jpeg"
    assert content_type("page.html") == "application/octet-stream"
    assert content_type("mp4") == "application/octet-stream"
