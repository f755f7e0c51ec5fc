"""The media server on a real socket: the files of the collection, to its page, in parts; slow clients too."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import quote, unquote

import httpx
import pytest
from child import first_line, running, words_until
from hypothesis import example, given, settings
from hypothesis import strategies as st
from media_files import items_of

from examples import cases, examples, some
from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.formats.recognised import content_type
from fire_toolkit.media import serving
from fire_toolkit.media.links import check_media
from fire_toolkit.media.server import MediaServer, items_at, served_files

PAGE = "http://127.0.0.1:8080"
BIG = (bytes(range(251)) * 12_000)[:3_000_000]
NAMES = ("big.mp4", "sub/50% off? é.webm", "empty.png")
FILES = {name: name for name in NAMES}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "collection"
    (folder / "sub").mkdir(parents=True)
    (folder / "big.mp4").write_bytes(BIG)
    (folder / "sub" / "50% off? é.webm").write_bytes(b"small")
    (folder / "empty.png").write_bytes(b"")
    (folder / "notes.txt").write_text("not of the collection")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def refusals() -> list[str]:
    return []


@pytest.fixture
def server(root: Path, refusals: list[str]) -> Iterator[MediaServer]:
    with MediaServer(root, FILES, origins=[PAGE], port=0, report=refusals.append) as running:
        yield running


@pytest.fixture
def client(server: MediaServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.base_url, trust_env=False, timeout=None) as client:
        yield client


def raw(server: MediaServer, text: bytes) -> bytes:
    """Return all that is answered to bytes written as they are, in a connection for one request."""
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        connection.sendall(text.replace(b"Host:", b"Connection: close\r\nHost:", 1))
        if not text:
            connection.shutdown(socket.SHUT_WR)
        found = b""
        while piece := connection.recv(65536):
            found += piece
        return found


def test_files_are_sent_whole_and_in_parts(client: httpx.Client) -> None:
    whole = client.get("/big.mp4")
    assert (whole.status_code, whole.content) == (200, BIG)
    assert whole.headers["Content-Type"] == "video/mp4"
    part = client.get("/big.mp4", headers={"Range": "bytes=1000000-1000099"})
    assert (part.status_code, part.content) == (206, BIG[1_000_000:1_000_100])
    assert part.headers["Content-Range"] == "bytes 1000000-1000099/3000000"
    beyond = client.get("/big.mp4", headers={"Range": "bytes=3000000-"})
    assert (beyond.status_code, beyond.headers["Content-Range"]) == (416, "bytes */3000000")
    assert client.get("/empty.png").content == b""
    assert client.get(quote(f"/{NAMES[1]}")).content == b"small"


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MediaServer]:
    folder = tmp_path_factory.mktemp("collection")
    (folder / "sub").mkdir()
    (folder / "a").write_bytes(b"of a" * 2_500)
    (folder / "sub" / "b.mp4").write_bytes(b"of the collection")
    (folder / "b.mp4").write_bytes(b"not of the collection")
    with MediaServer(folder, {name: name for name in ("a", "sub/b.mp4")}, origins=[PAGE], port=0) as running:
        yield running


PARTS = r".. . / // \ %2e %2E%2e %2f %5c %00 a b.mp4 sub é %c3%a9 %ff ? # %"


@example("/a")
@example("/sub/b.mp4")
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
@given(st.lists(st.sampled_from(PARTS.split(" "))).map(lambda pieces: "/" + "".join(pieces)))
def test_whatever_is_asked_for_is_one_of_the_files_or_refused(lasting: MediaServer, target: str) -> None:
    found = raw(lasting, f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    name = unquote(target.split("?")[0])
    wanted = {"/a": b"of a" * 2_500, "/sub/b.mp4": b"of the collection"}.get(name)
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
        found = client.get("/empty.png", headers=headers)
        assert found.headers["Vary"] == "Origin"
        return found.headers.get("Access-Control-Allow-Origin")

    assert allowed(PAGE) == PAGE
    assert allowed("http://localhost:8080") == "http://localhost:8080"
    others = ("null", "http://127.0.0.1:8081", "https://127.0.0.1:8080", PAGE + "/", PAGE + ".evil", "*")
    assert [allowed(origin) for origin in (None, *others)] == [None] * 7


@cases("code", "hosts")
def test_only_our_own_names_are_answered(client: httpx.Client, code: int, hosts: list[str]) -> None:
    found = [client.get("/empty.png", headers={"Host": host}).status_code for host in hosts]
    assert found == [code] * len(hosts)


def test_media_types() -> None:
    assert content_type("a/b.MP4") == "video/mp4"
    assert content_type("clip.webm") == "video/webm"
    assert content_type("a.jpeg") == "image/jpeg"
    assert content_type("page.html") == "application/octet-stream"
    assert content_type("mp4") == "application/octet-stream"


def test_only_the_given_page_is_told_that_it_may_read(client: httpx.Client) -> None:
    question = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "range"}
    asked = client.options("/big.mp4", headers={"Origin": PAGE, **question})
    assert (asked.status_code, asked.headers["Access-Control-Allow-Origin"]) == (200, PAGE)
    assert "Range" in asked.headers["Access-Control-Allow-Headers"]
    refused = client.options("/big.mp4", headers={"Origin": "http://evil.example", **question})
    assert (refused.status_code, "Access-Control-Allow-Origin" in refused.headers) == (400, False)


def test_every_refusal_is_reported(server: MediaServer, refusals: list[str]) -> None:
    for number, target in enumerate(("/notes.txt", "/sub/", "/gone.mp4", "/..%2fsecret.txt", "*"), start=1):
        found = raw(server, f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert found.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 ")), target
        assert b"secret" not in found, target
        assert len(refusals) == number, target


def test_links_out_of_the_folder_are_not_followed(client: httpx.Client, root: Path, tmp_path: Path) -> None:
    assert client.get("/big.mp4").status_code == 200
    (root / "big.mp4").unlink()
    (root / "big.mp4").symlink_to(tmp_path / "secret.txt")
    assert client.get("/big.mp4").status_code == 404
    (root / "sub").rename(tmp_path / "elsewhere")
    (root / "sub").symlink_to(tmp_path / "elsewhere")
    assert client.get(quote(f"/{NAMES[1]}")).status_code == 404
    (root / "empty.png").unlink()
    os.mkfifo(root / "empty.png")
    assert client.get("/empty.png").status_code == 404


def test_deaf_players_harm_nobody(server: MediaServer, client: httpx.Client, refusals: list[str]) -> None:
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
            connection.sendall(b"GET /big.mp4 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            connection.recv(1000)
    assert client.get("/big.mp4").content == BIG
    assert refusals == []


def test_closing_ends_open_connections(root: Path) -> None:
    with MediaServer(root, FILES, origins=[PAGE], port=0) as server:
        idle = socket.create_connection(("127.0.0.1", server.server_port))
        idle.sendall(b"GET /empty.png HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert idle.recv(1000).startswith(b"HTTP/1.1 200")
    assert idle.recv(1000) == b""
    idle.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.server_port))


def test_a_stuck_client_does_not_hold_up_the_end(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "STALLED_S", 1e6)  # no other limit ends it
    with MediaServer(root, FILES, origins=[PAGE], port=0) as server:
        stuck = socket.socket()
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stuck.connect(("127.0.0.1", server.server_port))
        stuck.sendall(b"GET /big.mp4 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert stuck.recv(100).startswith(b"HTTP/1.1 200")
    # The block has ended, although nobody has read what was sent.
    stuck.close()


def test_unreadable_is_not_there(client: httpx.Client, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "big.mp4").chmod(0)
    monkeypatch.setattr(
        os, "access", lambda path, mode: bool(Path(path).stat().st_mode & 0o400)
    )  # root may read all
    assert client.get("/big.mp4").status_code == 404
    assert client.get("/empty.png").status_code == 200


def test_a_taken_port_is_told(server: MediaServer, root: Path) -> None:
    with pytest.raises(UsageError, match="choose another one with --port"):
        MediaServer(root, FILES, origins=[PAGE], port=server.server_port)


def test_what_is_served_passes_the_check(clips: Path) -> None:
    items = items_of("h264.mp4", "vp9.webm", "a.png", "mpeg4.avi")
    names, _ = served_files(items, root=clips)
    with MediaServer(clips, names, origins=[PAGE], port=0) as server:
        found = check_media(items_at(items, server.base_url, names), root=clips, origin=PAGE)
        assert list(found["state"]) == ["plays", "plays", "plays", "no"]
        assert found["reason"][3] == "MPEG-4 part 2 in AVI: Chromium does not play it"
        other = check_media(items_at(items, server.base_url, names), root=clips, origin="http://h:1")
        assert list(other["state"]) == ["no", "no", "plays", "no"]


def test_which_files_are_served(root: Path) -> None:
    items = items_of("big.mp4", "./sub/../big.mp4", "gone.mp4", "https://h/v.mp4", str(root / "empty.png"))
    names, n_missing = served_files(items, root=root)
    expected = {"big.mp4": "big.mp4", "./sub/../big.mp4": "big.mp4", str(root / "empty.png"): "empty.png"}
    assert names == expected
    assert n_missing == 1
    moved = dict(zip(items["media_url"], items_at(items, "http://h:1/", names)["media_url"], strict=True))
    assert moved["./sub/../big.mp4"] == "http://h:1/big.mp4"
    assert moved["https://h/v.mp4"] == "https://h/v.mp4"
    assert moved["gone.mp4"] == "gone.mp4"


def test_files_outside_of_the_folder_are_refused(root: Path, tmp_path: Path) -> None:
    (root / "link.mp4").symlink_to(tmp_path / "secret.txt")
    for url in ("link.mp4", "../secret.txt", str(tmp_path / "secret.txt")):
        with pytest.raises(FireError, match="1 files are outside"):
            served_files(items_of("big.mp4", url), root=root)
    with pytest.raises(FireError, match="none of the items' files"):
        served_files(items_of("gone.mp4"), root=root)


@pytest.mark.parametrize("sign", some([signal.SIGINT, signal.SIGTERM], 1))
def test_it_serves_until_stopped(root: Path, sign: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRE_LABEL_STUDIO_URL", PAGE)
    (root / "items.tsv").write_text("doc_id\tmedia_url\nb\tbig.mp4\n")
    words = ["media", "serve", "items.tsv", "--port", "0", "--write-items", "served.tsv"]
    with running(*words, cwd=root) as process:
        base_url = first_line(process)
        table = (root / "served.tsv").read_text()
        assert table == f"doc_id\tmedia_url\tstart_s\tend_s\nb\t{base_url}/big.mp4\t\t\n"
        errors = words_until(process, "Ctrl-C stops")
        with httpx.Client(trust_env=False, timeout=None) as client:
            answer = client.get(f"{base_url}/big.mp4", headers={"Range": "bytes=0-3"})
        assert answer.content == BIG[:4]
        process.send_signal(sign)
        errors += process.communicate()[1]
    assert process.returncode == 0
    assert "1 file for pages of http://127.0.0.1:8080; Ctrl-C stops" in errors
    assert errors.rstrip().endswith("stopped")


HEAD = b"GET /v.mp4 HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    (tmp_path / "v.mp4").write_bytes(bytes(20_000_000))
    (tmp_path / "items.tsv").write_text("doc_id\tmedia_url\nb\tv.mp4\n")
    return tmp_path


@pytest.fixture
def port(clip: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of `media serve`, a process that may have 256 files and connections open, as on macOS."""
    if not shutil.which("bash"):
        pytest.skip("no bash to lower a limit with")
    lower = ("bash", "-c", 'ulimit -n 256; exec "$@"', "sh")
    monkeypatch.setenv("FIRE_LABEL_STUDIO_URL", PAGE)
    words = ("media", "serve", "items.tsv", "--port", "0")
    with running(*words, cwd=clip, through=lower, errors=subprocess.DEVNULL) as process:
        yield int(first_line(process).rpartition(":")[2])


def connected(port: int, sent: bytes) -> socket.socket:
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    found.connect(("127.0.0.1", port))
    found.sendall(sent)
    return found


def served(port: int) -> int:
    """Ask until it is answered, however long that takes, and return the length of the part."""
    with httpx.Client(trust_env=False, timeout=None) as client:
        while True:
            answer = client.get(f"http://127.0.0.1:{port}/v.mp4", headers={"Range": "bytes=0-99999"})
            if answer.status_code == 206:
                return len(answer.content)
            assert answer.status_code == 503
            time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent", [HEAD, HEAD + b"\r\n", b""], ids=["no whole request", "reads nothing", "silent"]
)
def test_300_slow_clients_starve_nobody(port: int, sent: bytes) -> None:
    assert served(port) == 100_000
    with ExitStack() as opened:
        for _ in range(300):
            opened.enter_context(connected(port, sent))
        assert [served(port) for _ in range(3)] == [100_000] * 3  # without limits no answer ever comes


def test_a_request_that_is_late_gives_way_to_a_new_one(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST", 2)
    with (
        MediaServer(clip, {"v.mp4": "v.mp4"}, origins=[PAGE], port=0) as server,
        connected(server.server_port, HEAD) as late,
        connected(server.server_port, HEAD + b"\r\n") as reader,
    ):
        assert reader.recv(15) == b"HTTP/1.1 200 OK"
        assert served(server.server_port) == 100_000
        with suppress(ConnectionResetError):
            assert late.recv(4096) == b""


def test_where_all_are_at_work_a_new_one_is_told_so(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST", 4)
    monkeypatch.setattr(serving, "STALLED_S", 1e6)
    with MediaServer(clip, {"v.mp4": "v.mp4"}, origins=[PAGE], port=0) as server, ExitStack() as opened:
        for _ in range(4):
            reader = opened.enter_context(connected(server.server_port, HEAD + b"\r\n"))
            assert reader.recv(15) == b"HTTP/1.1 200 OK"
        with connected(server.server_port, HEAD + b"\r\n") as refused:
            assert refused.recv(100).startswith(b"HTTP/1.1 503 Busy")
        monkeypatch.setattr(serving, "STALLED_S", 0)
        assert served(server.server_port) == 100_000
