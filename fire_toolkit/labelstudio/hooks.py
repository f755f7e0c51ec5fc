"""Webhooks as hints: a server says that something has changed, and never what.

A hint may be lost, late, doubled or forged; all it does is to make a pull come sooner. What it carries is not
read. Label Studio sends it within the request of whoever answers and waits for us for a second at most, so
that each is answered at once.
"""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from fire_toolkit.errors import UsageError
from fire_toolkit.labelstudio.api import Api

ACTIONS = (
    "ANNOTATION_CREATED",
    "ANNOTATIONS_CREATED",
    "ANNOTATION_UPDATED",
    "ANNOTATIONS_DELETED",
    "TASKS_DELETED",
)
SECRET_HEADER = "X-Fire-Toolkit-Secret"
MAX_BYTES = 100_000
_IDLE_S = 5.0


def hook_path(campaign_key: str) -> str:
    """Return the path of a campaign's hooks, by which they are known again."""
    return f"/fire-toolkit/campaign/{campaign_key}"


class HintListener(ThreadingHTTPServer):
    """Takes hints that know the secret, at one path; `hint` is set then. All else is refused.

    Raises:
        UsageError: the port cannot be used.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, path: str, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.path = path
        self.secret = secrets.token_urlsafe(24)
        self.hint = Event()
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            raise UsageError(
                f"port {port} of {host} cannot be used ({getattr(error, 'strerror', error)}); choose another "
                "with --port"
            ) from None

    def server_bind(self) -> None:
        """Bind without asking the network for this machine's name."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that broke: its hint is lost, as any may be."""


class _Handler(BaseHTTPRequestHandler):
    """One request of whoever found the port."""

    server: HintListener
    timeout = _IDLE_S

    def do_POST(self) -> None:
        given = self.headers.get(SECRET_HEADER, "")
        length = self.headers.get("Content-Length", "")
        if self.path != self.server.path:
            self._answer(404)
        elif not hmac.compare_digest(given.encode(errors="replace"), self.server.secret.encode()):
            self._answer(403)
        elif not length.isascii() or not length.isdigit():
            self._answer(411)
        elif int(length) > MAX_BYTES:
            self._answer(413)
        else:
            self.rfile.read(int(length))
            self.server.hint.set()
            self._answer(204)

    def _answer(self, status: int) -> None:
        self.send_response_only(status)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no request, or another method, without a page."""
        self._answer(405 if code == 501 else code)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def listening(listener: HintListener) -> Iterator[HintListener]:
    """Take hints in the background while the block runs."""
    thread = Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield listener
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


def add_hooks(api: Api, projects: Collection[int], url: str, secret: str) -> int:
    """Give each project a hook to `url` that carries the secret and no content; return how many were missing.

    Raises:
        ServerError: the server refuses the address, or fails.
    """
    there = {hook.get("project") for hook in api.hooks() if hook.get("url") == url}
    missing = sorted(set(projects) - there)
    for project in missing:
        api.add_hook(
            {
                "project": project,
                "url": url,
                "headers": {SECRET_HEADER: secret},
                "send_payload": False,
                "send_for_all_actions": False,
                "actions": list(ACTIONS),
            }
        )
    return len(missing)


def remove_hooks(api: Api, path: str) -> int:
    """Take away the hooks that lead to `path`, on whatever machine; return how many there were.

    Raises:
        ServerError: the server fails.
    """
    ours = [hook for hook in api.hooks() if str(hook.get("url", "")).endswith(path)]
    for hook in ours:
        api.remove_hook(int(hook["id"]))
    return len(ours)
