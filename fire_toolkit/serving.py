"""A small web application on a port of this machine, served in the background while a block runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Self

from starlette.types import ASGIApp
from uvicorn import Config, Server

from fire_toolkit.errors import UsageError

LOOPBACK = "127.0.0.1"
_WAITING = 128  # connections that may wait to be taken


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
        self._server = _Server(_configuration(app, idle_s))
        self._thread = Thread(target=self._server.run, args=([self._socket],), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


class _Server(Server):
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all connections, also those of clients that have stopped reading, then shut down."""
        for server in self.servers:
            server.close()
        await asyncio.sleep(0.05)  # connections taken a moment ago become known
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)
        await super().shutdown(sockets)


def _configuration(app: ASGIApp, idle_s: int) -> Config:
    return Config(
        app,
        http="h11",
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


def _bind(host: str, port: int) -> socket.socket:
    """Return a socket that takes connections from now on; they wait until they are served."""
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
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


def wait_to_be_stopped() -> None:
    """Wait for the KeyboardInterrupt that Ctrl-C, or SIGTERM inside `stoppable`, brings."""
    while True:
        time.sleep(1)
