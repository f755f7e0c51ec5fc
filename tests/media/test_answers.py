"""What is answered, whatever is asked: no path leads out, and a part is always a part of the file."""

from pathlib import PurePosixPath
from urllib.parse import quote, unquote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fire_toolkit.media.answers import (
    allowed_origins,
    answer_file,
    content_type,
    cors_headers,
    file_tag,
    is_known_host,
    requested_name,
    url_path,
    wanted_part,
)

PAGE = "http://127.0.0.1:8080"
PARTS = ".. . / // \\ %2e %2E%2e %2f %5c %00 a é %c3%a9 %ff ? # %"
PIECES = st.sampled_from([*PARTS.split(" "), "\0"])


@example("/../etc/passwd")
@example("/%2e%2e/%2e%2e/etc/passwd")
@example("/a/%2e%2e%2fb")
@example("//etc/passwd")
@example("/%2fetc/passwd")
@example("/a%00.mp4")
@example("http://evil.example/a")
@given(st.one_of(st.text(), st.lists(PIECES).map(lambda pieces: "/" + "".join(pieces))))
def test_whatever_is_asked_for_is_inside_or_nothing(target: str) -> None:
    try:
        name = requested_name(target)
    except UnicodeEncodeError:
        assume(False)
    if name is None:
        return
    path = PurePosixPath(name)
    assert not path.is_absolute()
    assert ".." not in path.parts
    assert name == path.as_posix()
    assert not set(name) & {"\0", "\n", "\r", "\\"}
    assert target.startswith("/")


@pytest.mark.parametrize(
    "target",
    [
        "",
        "a",
        "*",
        "/",
        "/..",
        "/a/../b",
        "/a/./b",
        "//a",
        "/a//b",
        "/a/",
        "/%2e%2e/b",
        "/%2E./b",
        "/a%2f..%2fb",
        "/%2fa",
        "/a%5cb",
        "/a%00",
        "/a%0d%0ab",
        "/%ff",
        "http://127.0.0.1/a",
    ],
)
def test_what_leads_elsewhere_is_nothing(target: str) -> None:
    assert requested_name(target) is None


def test_a_path_is_decoded_once() -> None:
    assert requested_name("/%252e%252e/a") == "%2e%2e/a"
    assert requested_name("/a+b%20c.mp4?t=1#x") == "a+b c.mp4"


SEGMENTS = st.text(
    st.characters(exclude_characters="/\\", exclude_categories=("Cc", "Cs")), min_size=1, max_size=20
).filter(lambda text: text not in (".", ".."))


@example(["50% off?", "a#b;c&d", "é ü"])
@given(st.lists(SEGMENTS, min_size=1, max_size=4))
def test_every_name_comes_back_from_its_address(segments: list[str]) -> None:
    name = "/".join(segments)
    assert requested_name(url_path(name)) == name
    assert url_path(name).isascii()
    assert url_path(name) == quote(unquote(url_path(name)))


# RFC 9110, section 14.1.2, gives these forms for a file of 10,000 bytes.
@pytest.mark.parametrize(
    ("header", "part"),
    [
        ("bytes=0-499", (0, 500)),
        ("bytes=500-999", (500, 500)),
        ("bytes=-500", (9500, 500)),
        ("bytes=9500-", (9500, 500)),
        ("bytes=0-0", (0, 1)),
        ("bytes=-1", (9999, 1)),
        ("bytes=0-", (0, 10000)),
        ("bytes=9999-20000", (9999, 1)),
        ("bytes=-20000", (0, 10000)),
        ("Bytes = 1 - 2 ", (1, 2)),
        ("bytes=10000-", (0, 0)),
        ("bytes=-0", (0, 0)),
        ("bytes=99999999999999999999-", (0, 0)),
        (None, None),
        ("", None),
        ("bytes", None),
        ("bytes=", None),
        ("bytes=-", None),
        ("bytes=2-1", None),
        ("bytes=a-b", None),
        ("bytes=1", None),
        ("bytes=--1", None),
        ("bytes=+1-2", None),
        ("bytes=1-2,5-6", None),
        ("items=0-1", None),
        ("bytes=١-٢", None),
        ("bytes=0x1-2", None),
        ("bytes=" + "9" * 5000 + "-", None),
    ],
)
def test_parts_of_ten_thousand_bytes(header: str | None, part: tuple[int, int] | None) -> None:
    assert wanted_part(header, 10_000) == part


RANGES = st.one_of(
    st.text(),
    st.from_regex(r"bytes=[0-9]{0,4}-[0-9]{0,4}", fullmatch=True),
    st.from_regex(r"bytes ?= ?[0-9,\- ]{0,12}", fullmatch=True),
)


@given(RANGES, st.integers(0, 2000))
def test_a_part_lies_in_the_file_or_is_none(header: str, size: int) -> None:
    part = wanted_part(header, size)
    if part is None or part == (0, 0):
        return
    start, length = part
    assert 0 <= start < size
    assert 1 <= length <= size - start


@given(st.integers(1, 2000), st.data())
def test_the_parts_that_a_player_asks_for_make_up_the_file(size: int, data: st.DataObject) -> None:
    content = bytes(number % 251 for number in range(size))
    cut = data.draw(st.integers(0, size - 1))
    found = b""
    for header in (f"bytes=0-{cut}", f"bytes={cut + 1}-"):
        part = wanted_part(header, size)
        assert part is not None
        found += content[part[0] : part[0] + part[1]]
    assert found == content


HEADERS = st.dictionaries(
    st.sampled_from(["Range", "If-Range", "If-None-Match"]),
    st.one_of(RANGES, st.just(file_tag(100, 5_000_000_000)), st.just('"other"'), st.just("*")),
)


@given(HEADERS, st.sampled_from([0, 1, 100, 5000]), st.booleans())
def test_status_headers_and_bytes_always_fit(request: dict[str, str], size: int, has_body: bool) -> None:
    answer = answer_file(request, name="a.mp4", size=size, modified_ns=5_000_000_000, has_body=has_body)
    headers = answer.headers
    assert answer.status in (200, 206, 304, 416)
    assert headers["ETag"] == file_tag(size, 5_000_000_000)
    assert all("\n" not in value and "\r" not in value for value in headers.values())
    if answer.status == 200:
        assert (headers["Content-Length"], "Content-Range" in headers) == (str(size), False)
    if answer.status == 206:
        length = int(headers["Content-Length"])
        end = answer.start + length - 1
        assert headers["Content-Range"] == f"bytes {answer.start}-{end}/{size}"
        assert 1 <= length <= size - answer.start
    if answer.status == 416:
        assert headers["Content-Range"] == f"bytes */{size}"
    expected = int(headers["Content-Length"]) if answer.status in (200, 206) and has_body else 0
    assert answer.length == expected


def test_a_changed_file_is_sent_whole() -> None:
    def status(condition: str) -> int:
        request = {"Range": "bytes=1-2", "If-Range": condition}
        return answer_file(request, name="a.mp4", size=10, modified_ns=5_000_000_000).status

    assert [
        status(text)
        for text in (
            file_tag(10, 5_000_000_000),
            "Thu, 01 Jan 1970 00:00:05 GMT",
            file_tag(11, 5_000_000_000),
            "Thu, 01 Jan 1970 00:00:06 GMT",
            "W/" + file_tag(10, 5_000_000_000),
        )
    ] == [206, 206, 200, 200, 200]


def test_only_the_given_page_may_read() -> None:
    allowed = allowed_origins([PAGE])
    assert cors_headers(PAGE, allowed)["Access-Control-Allow-Origin"] == PAGE
    other = "http://localhost:8080"
    assert cors_headers(other, allowed)["Access-Control-Allow-Origin"] == other
    for origin in (
        None,
        "null",
        "http://127.0.0.1:8081",
        "https://127.0.0.1:8080",
        PAGE + "/",
        PAGE + ".evil",
        "*",
    ):
        assert cors_headers(origin, allowed) == {"Vary": "Origin"}, origin


@given(st.text())
def test_no_other_origin_is_ever_allowed(origin: str) -> None:
    allowed = allowed_origins(["https://labels.example.org"])
    assume(origin != "https://labels.example.org")
    assert "Access-Control-Allow-Origin" not in cors_headers(origin, allowed)


def test_hosts() -> None:
    hosts = {"127.0.0.1", "localhost"}
    good = ["127.0.0.1", "127.0.0.1:8790", "localhost:8790", "LOCALHOST"]
    bad = [None, "", "evil.example", "127.0.0.1.evil.example", "evil.example:8790", "[::1", "a@127.0.0.1b"]
    assert [is_known_host(host, hosts) for host in good] == [True] * len(good)
    assert [is_known_host(host, hosts) for host in bad] == [False] * len(bad)


def test_media_types() -> None:
    assert content_type("a/b.MP4") == "video/mp4"
    assert content_type("clip.webm") == "video/webm"
    assert content_type("a.jpeg") == "image/jpeg"
    assert content_type("page.html") == "application/octet-stream"
    assert content_type("mp4") == "application/octet-stream"
