"""What is answered, whatever is asked: no path leads out, and a part is always a part of the file."""

import socket
from collections.abc import Iterator
from urllib.parse import unquote

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from fire_toolkit.media.server import MediaServer, content_type, url_path

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
    assert unquote(url_path(name)) == f"/{name}"
    assert url_path(name).isascii()


# RFC 9110, section 14.1.2, gives the first of these forms for a file of 10,000 bytes.
@pytest.mark.parametrize(
    ("header", "status", "part"),
    [
        ("bytes=0-499", 206, CONTENT[:500]),
        ("bytes=500-999", 206, CONTENT[500:1000]),
        ("bytes=-500", 206, CONTENT[9500:]),
        ("bytes=9500-", 206, CONTENT[9500:]),
        ("bytes=0-0", 206, CONTENT[:1]),
        ("bytes=-1", 206, CONTENT[-1:]),
        ("bytes=0-", 206, CONTENT),
        ("bytes=9999-20000", 206, CONTENT[-1:]),
        ("bytes=-20000", 206, CONTENT),
        ("Bytes = 1 - 2", 206, CONTENT[1:3]),
        ("bytes=10000-", 416, b""),
        ("bytes=-0", 416, b""),
        ("bytes=99999999999999999999-", 416, b""),
    ],
)
def test_parts_of_ten_thousand_bytes(client: httpx.Client, header: str, status: int, part: bytes) -> None:
    found = client.get("/a", headers={"Range": header})
    assert (found.status_code, found.content) == (status, part)


@pytest.mark.parametrize("header", ["bytes", "bytes=", "bytes=-", "bytes=2-1", "bytes=a-b", "items=0-1"])
def test_what_is_no_range_is_refused(client: httpx.Client, header: str) -> None:
    assert client.get("/a", headers={"Range": header}).status_code == 400


def test_several_ranges_come_in_one_answer(client: httpx.Client) -> None:
    found = client.get("/a", headers={"Range": "bytes=1-2,5-6"})
    assert found.status_code == 206
    assert found.headers["Content-Type"].startswith("multipart/byteranges; boundary=")
    assert b"Content-Range: bytes 5-6/10000\r\n\r\n" + CONTENT[5:7] in found.content


def test_no_part_of_an_empty_file(client: httpx.Client) -> None:
    found = client.get("/empty", headers={"Range": "bytes=0-"})
    assert (found.status_code, found.headers["Content-Range"]) == (416, "bytes */0")


def test_a_changed_file_is_sent_whole(client: httpx.Client) -> None:
    def status(condition: str) -> int:
        headers = {"Range": "bytes=1-2", "If-Range": condition}
        return client.get("/a", headers=headers).status_code

    now = client.head("/a").headers
    earlier = "Thu, 01 Jan 1970 00:00:06 GMT"
    conditions = (now["ETag"], now["Last-Modified"], '"another"', earlier, "W/" + now["ETag"])
    assert [status(text) for text in conditions] == [206, 206, 200, 200, 200]


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


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8790", "localhost:8790", "LOCALHOST"])
def test_our_own_names(client: httpx.Client, host: str) -> None:
    assert client.get("/empty", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["", "evil.example", "127.0.0.1.evil.example", "evil.example:1", "a@127.0.0.1b"]
)
def test_other_names_are_refused(client: httpx.Client, host: str) -> None:
    assert client.get("/empty", headers={"Host": host}).status_code == 400


def test_media_types() -> None:
    assert content_type("a/b.MP4") == "video/mp4"
    assert content_type("clip.webm") == "video/webm"
    assert content_type("a.jpeg") == "image/jpeg"
    assert content_type("page.html") == "application/octet-stream"
    assert content_type("mp4") == "application/octet-stream"
