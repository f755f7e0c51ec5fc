"""A media server for one collection: its files and nothing else, to Label Studio's pages only."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.media.answers import (
    METHODS,
    Answer,
    allowed_origins,
    answer_file,
    cors_headers,
    is_known_host,
    requested_name,
    url_path,
)
from fire_toolkit.media.places import place_of
from fire_toolkit.tables import Items, check_items

LOOPBACK = "127.0.0.1"
PORT = 8790
_IDLE_S = 300.0
_SHOWN = ("Range", "If-Range", "If-None-Match")


@dataclass(frozen=True)
class Served:
    """What is served: `names` (relative to the folder) by media_url, and how many files are not there."""

    names: dict[str, str]
    n_missing: int = 0

    def items_at(self, items: Items, base_url: str) -> Items:
        """Return the items with addresses below `base_url` for what is served."""
        urls = {url: base_url.rstrip("/") + url_path(name) for url, name in self.names.items()}
        return check_items(items.assign(media_url=[urls.get(url, url) for url in items["media_url"]]))


def served_files(items: Items, *, root: Path) -> Served:
    """Return the files of `items` below `root`; addresses are left out, files that are not there counted.

    Raises:
        FireError: a file lies outside of `root`, perhaps by a link; or there is no file at all.
    """
    base = root.resolve()
    names: dict[str, str] = {}
    outside: list[str] = []
    n_missing = 0
    for media_url in dict.fromkeys(items["media_url"]):
        place = place_of(media_url, base)
        if place.kind != "file" or not media_url:
            continue
        path = place.path.resolve()
        if not path.is_relative_to(base):
            outside.append(media_url)
        elif not path.is_file():
            n_missing += 1
        else:
            names[media_url] = path.relative_to(base).as_posix()
    if outside:
        raise FireError(
            f"{len(outside)} files lie outside of {base} ({', '.join(outside[:3])}), perhaps by a link; "
            "give a folder that holds them all (--root)"
        )
    if not names:
        raise FireError(f"no file of the items is in {base}; say where their paths start (--root)")
    return Served(names, n_missing)


class MediaServer(ThreadingHTTPServer):
    """Serves files by name from a folder, in parts, to pages of given origins.

    Only the names given are answered, and only while they are plain files inside the folder. `report` is
    told each refusal.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self,
        root: Path,
        names: Collection[str],
        *,
        origins: Iterable[str],
        host: str = LOOPBACK,
        port: int = PORT,
        base_url: str = "",
        report: Callable[[str], None] = lambda words: None,
    ) -> None:
        self.root = root.resolve()
        self.names = frozenset(names)
        self.origins = allowed_origins(list(origins))
        self.report = report
        self._connections: set[Any] = set()
        self._lock = Lock()
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise UsageError(
                f"port {port} of {host} cannot be used ({error.strerror}); choose another with --port; tasks "
                "that were pushed hold the old one"
            ) from None
        self.base_url = base_url.rstrip("/") or f"http://{host}:{self.server_port}"
        self.hosts = {urlsplit(self.base_url).hostname or host, host, LOOPBACK, "localhost"}

    def server_bind(self) -> None:
        """Bind without asking the network for this machine's name."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own."""
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what broke a connection; a player that goes away is no error."""
        import sys

        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError | TimeoutError):
            self.report(f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Stop listening and end every connection."""
        self.server_close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def open_file(self, name: str) -> BinaryIO | None:
        """Return the file of that name, opened, or None if it is none of ours or no longer a plain file."""
        path = self.root / name
        if name not in self.names:
            return None
        try:
            if path.resolve(strict=True) != path:
                return None  # a link has taken its place, or that of a folder above it
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except (OSError, ValueError):
            return None
        stream = os.fdopen(handle, "rb")
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            stream.close()
            return None
        return stream


class _Handler(BaseHTTPRequestHandler):
    """One connection of a browser."""

    server: MediaServer
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_S
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._file(has_body=True)

    def do_HEAD(self) -> None:
        self._file(has_body=False)

    def do_OPTIONS(self) -> None:
        if self._is_for_us():
            allow = {"Allow": METHODS, "Access-Control-Allow-Methods": METHODS, "Content-Length": "0"}
            self._head(Answer(204, {**allow, "Access-Control-Allow-Headers": ", ".join(_SHOWN)}))

    def _file(self, *, has_body: bool) -> None:
        if not self._is_for_us():
            return
        name = requested_name(self.path)
        stream = self.server.open_file(name) if name is not None else None
        if name is None or stream is None:
            self._refuse(404)
            return
        with stream:
            found = os.fstat(stream.fileno())
            request = {key: value for key in _SHOWN if (value := self.headers.get(key)) is not None}
            answer = answer_file(
                request, name=name, size=found.st_size, modified_ns=found.st_mtime_ns, has_body=has_body
            )
            self._head(answer)
            self._send(stream, answer)

    def _is_for_us(self) -> bool:
        """Whether the request came by our own name and has no body; it is refused otherwise."""
        if not is_known_host(self.headers.get("Host"), self.server.hosts):
            self._refuse(421)
            return False
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            self._refuse(400)
            return False
        return True

    def _head(self, answer: Answer) -> None:
        self.send_response(answer.status)
        cors = cors_headers(self.headers.get("Origin"), self.server.origins)
        for name, value in {**answer.headers, **cors}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, stream: BinaryIO, answer: Answer) -> None:
        if not answer.length:
            return
        sent = self.connection.sendfile(stream, answer.start, answer.length)
        if sent < answer.length:
            self.close_connection = True  # the file became shorter: the reader must notice

    def _refuse(self, status: int) -> None:
        self.server.report(f"{status}: {self.command} {self.path[:200]!a}")
        self.close_connection = True
        self._head(Answer(status, {"Content-Length": "0", "Connection": "close"}))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no request, or a method that is not known, without a page."""
        self.close_connection = True
        self.send_response(405 if code == 501 else code)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        if code == 501:
            self.send_header("Allow", METHODS)
        self.end_headers()

    def version_string(self) -> str:
        return "fire-toolkit"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: refusals are reported, all else is as it should be."""


@contextmanager
def serving(server: MediaServer) -> Iterator[MediaServer]:
    """Serve in the background while the block runs."""
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.close()
        thread.join()


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, and end it quietly; the rest of the program goes on."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)
