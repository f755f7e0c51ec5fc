"""A small web application on a port of this machine, served in the background while a block runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Self

from starlette.types import ASGIApp
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from fire_toolkit.errors import UsageError

LOOPBACK = "127.0.0.1"
STALLED_S = 1.0  # without a byte taken by the client: the connection may give way to a new one
MOST = 256  # connections at once
_WAITING = 128  # connections that may wait to be taken
_OWN_FILES = 64
_BUSY = b"HTTP/1.1 503 Busy\r\nRetry-After: 2\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class LocalServer:
    """Serves `app` while its block runs; the port is taken when the server is made (0: any free one).

    Attributes:
        server_port: the port that was taken.

    Raises:
        UsageError: the port cannot be used.
    """

    def __init__(self, app: ASGIApp, *, host: str = LOOPBACK, port: int = 0, idle_s: int = 5) -> None:
        self._socket = _bind(host, port)
        self.server_port = int(self._socket.getsockname()[1])
        config = Config(
            app,
            http=_Connection,
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=idle_s,
            timeout_graceful_shutdown=1,
        )
        self._server = Server(config)
        self._thread = Thread(target=self._server.run, args=([self._socket],), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


class _Connection(H11Protocol):
    """A connection that no slow client can keep from others.

    Where there are as many as there can be, a new one takes the place of the one that has waited longest for
    a whole request, else for its client to read on; where all are at work, it is answered 503.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._stands_since = self.loop.time()
        own = [each for each in self.connections if isinstance(each, _Connection)]
        there = [each for each in own if not each.transport.is_closing()]
        if len(there) <= _most_connections():
            return
        since = self._stands_since - STALLED_S
        stalled = [each for each in there if each.flow.write_paused and each._stands_since < since]
        if found := [each for each in there if each is not self and not each._is_at_work()] or stalled:
            min(found, key=lambda each: each._stands_since).transport.abort()
        else:
            self.transport.write(_BUSY)
            self.transport.close()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._stands_since = self.loop.time()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stands_since = self.loop.time()

    def shutdown(self) -> None:
        """End the connection, also that of a client that has stopped reading."""
        self.transport.abort()

    def _is_at_work(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete


def _most_connections() -> int:
    """Return how many connections there can be: each may need a file beside its own."""
    try:
        import resource
    except ImportError:  # Windows
        return MOST
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST if most_files < 0 else max(1, min(MOST, (most_files - _OWN_FILES) // 2))


def _bind(host: str, port: int) -> socket.socket:
    """Return a socket that takes connections from now on; they wait until they are served."""
    # asyncio sends what is written at once on sockets that say that they are of TCP, and on no others.
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere this option lets two programs share a port
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, port))
        taken.listen(_WAITING)
    except (OSError, OverflowError) as error:
        taken.close()
        raise UsageError(
            f"port {port} of {host} cannot be used ({getattr(error, 'strerror', error)}); choose another "
            "one with --port"
        ) from None
    return taken


def is_free_port(port: int) -> bool:
    """Whether nobody listens on a loopback port, and we could."""
    for host in (LOOPBACK, "localhost"):
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
            return False
    with socket.socket() as probe, contextlib.suppress(OSError):
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((LOOPBACK, port))
        return True
    return False


@contextmanager
def stoppable() -> Iterator[threading.Event]:
    """Let SIGTERM end the block as Ctrl-C does, and end it quietly; the rest of the program goes on.

    Yields an event that is set from then on: a KeyboardInterrupt that comes while an object is being deleted
    is lost, so whoever loops looks at the event too. Arrow takes signals for itself while it reads a CSV file
    and lost one in 80 (pyarrow 26, which hands them on by another thread), so it leaves them alone meanwhile.
    """
    import pyarrow as pa

    stopped = threading.Event()

    def stop(number: int, frame: object) -> None:
        stopped.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    pa.enable_signal_handlers(False)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield stopped
    finally:
        pa.enable_signal_handlers(True)
        signal.signal(signal.SIGTERM, before)


def wait_to_be_stopped(stopped: threading.Event) -> None:
    """Wait for the KeyboardInterrupt that Ctrl-C brings, or for the event of `stoppable`."""
    while not stopped.wait(1):
        pass
