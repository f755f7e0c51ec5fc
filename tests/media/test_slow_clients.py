"""Clients that are slow with their requests, or with reading the answer, keep the media from nobody."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest
from child import first_line, running

from fire_toolkit.media import serving
from fire_toolkit.media.server import MediaServer

PAGE = "http://127.0.0.1:8080"
HEAD = b"GET /v.mp4 HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "v.mp4").write_bytes(bytes(20_000_000))
    (tmp_path / "items.tsv").write_text("doc_id\tmedia_url\nb\tv.mp4\n")
    return tmp_path


@pytest.fixture
def port(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of `media serve`, a process that may have 256 files and connections open, as on macOS."""
    if not shutil.which("bash"):
        pytest.skip("no bash to lower a limit with")
    lower = ("bash", "-c", 'ulimit -n 256; exec "$@"', "sh")
    monkeypatch.setenv("FIRE_LABEL_STUDIO_URL", PAGE)
    words = ("media", "serve", "items.tsv", "--port", "0")
    with running(*words, cwd=root, through=lower, errors=subprocess.DEVNULL) as process:
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


def test_a_request_that_does_not_arrive_in_time_ends_its_connection(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "HEADER_S", 1e6)
    asked = HEAD + b"Range: bytes=0-0\r\n\r\n"
    with (
        MediaServer(root, {"v.mp4": "v.mp4"}, origins=[PAGE], port=0) as server,
        connected(server.server_port, asked) as kept,
        connected(server.server_port, asked) as slow,
    ):
        assert [answered(each) for each in (kept, slow)] == [True, True]
        monkeypatch.setattr(serving, "HEADER_S", 0.05)
        slow.sendall(asked + b"GET /v.mp4")
        with connected(server.server_port, b"GET /v.mp4") as late:
            for each in (slow, late):
                with suppress(ConnectionResetError):
                    while each.recv(4096):
                        pass
        monkeypatch.setattr(serving, "HEADER_S", 1e6)
        kept.sendall(asked)  # a kept connection may wait for its next request, longer than one may arrive
        assert answered(kept)


def answered(connection: socket.socket) -> bool:
    """Read an answer of one byte to its end."""
    answer = b""
    while not answer.endswith(b"\r\n\r\n\0"):
        answer += connection.recv(4096)
    return answer.startswith(b"HTTP/1.1 206")


def test_where_all_are_at_work_a_new_one_is_told_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST", 4)
    monkeypatch.setattr(serving, "STALLED_S", 1e6)
    with MediaServer(root, {"v.mp4": "v.mp4"}, origins=[PAGE], port=0) as server, ExitStack() as opened:
        for _ in range(4):
            reader = opened.enter_context(connected(server.server_port, HEAD + b"\r\n"))
            assert reader.recv(15) == b"HTTP/1.1 200 OK"
        with connected(server.server_port, HEAD + b"\r\n") as refused:
            assert refused.recv(100).startswith(b"HTTP/1.1 503 Busy")
        monkeypatch.setattr(serving, "STALLED_S", 0)
        assert served(server.server_port) == 100_000
