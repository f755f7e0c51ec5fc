"""Webhooks as hints: a server says that something has changed, and never what.

A hint may be lost, late, doubled or forged; all it does is to make a pull come sooner. What it carries is not
read. Label Studio sends it within the request of whoever answers and waits for us for a second at most, so
that each is answered at once.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from threading import Event

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fire_toolkit.labelstudio.api import Api
from fire_toolkit.serving import LOOPBACK, LocalServer

ACTIONS = (
    "ANNOTATION_CREATED",
    "ANNOTATIONS_CREATED",
    "ANNOTATION_UPDATED",
    "ANNOTATIONS_DELETED",
    "TASKS_DELETED",
)
SECRET_HEADER = "X-Fire-Toolkit-Secret"


def hook_path(campaign_key: str) -> str:
    """Return the path of a campaign's hooks, by which they are known again."""
    return f"/fire-toolkit/campaign/{campaign_key}"


class HintListener(LocalServer):
    """Takes hints that know the secret, at one path, while its block runs; `hint` is set then.

    All else is refused.

    Raises:
        UsageError: the port cannot be used.
    """

    def __init__(self, path: str, *, host: str = LOOPBACK, port: int = 0) -> None:
        self.path = path
        self.secret = secrets.token_urlsafe(24)
        self.hint = Event()
        app = Starlette(routes=[Route(path, self._take, methods=["POST"])])
        super().__init__(app, host=host, port=port)

    async def _take(self, request: Request) -> Response:
        """Answer at once; whatever the hint carries is thrown away unread."""
        given = request.headers.get(SECRET_HEADER, "")
        if not hmac.compare_digest(given.encode(), self.secret.encode()):
            return Response(status_code=403)
        self.hint.set()
        return Response(status_code=204)


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
