"""The small server behind our own page: sessions, tasks, answers and media, each annotator's own alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.formats.recognised import content_type
from fire_toolkit.media.places import LOOPBACK_HOSTS
from fire_toolkit.media.server import allowed_origins, application
from fire_toolkit.media.serving import LOOPBACK, LocalServer
from fire_toolkit.pages.answers import ANSWER, CONSENT, UNDO
from fire_toolkit.pages.office import Office, Refused, session_of
from fire_toolkit.pages.written import instructions
from fire_toolkit.words import text_in

_IDLE_S = 300
_MOST_BYTES = 65_536
_TYPES = {"page.html": "text/html", "page.js": "text/javascript", "page.css": "text/css"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; "
    "img-src {media}; media-src {media}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_COOKIE_S = 180 * 86400


def page_address(port: int, public_url: str) -> str:
    """Return where annotators open the page.

    Raises:
        UsageError: others than this machine's users would send answers and links unencrypted.
    """
    address = (public_url or f"http://{LOOPBACK}:{port}").rstrip("/")
    parts = urlsplit(address)
    if parts.scheme == "https" and parts.hostname and not parts.path:
        return address
    if parts.hostname not in LOOPBACK_HOSTS or parts.scheme != "http":
        raise UsageError(
            f"{address}: beyond this machine the page goes by TLS only; put a proxy before it "
            "(docs/deploy) and give its address as --public-url https://…, without a path"
        )
    return address


class PageServer(LocalServer):
    """Serves the page of a campaign while its block runs; `report` is told of refusals, never of links.

    Raises:
        UsageError: the port cannot be used, or people elsewhere would reach it without TLS.
    """

    def __init__(
        self,
        office: Office,
        *,
        port: int,
        public_url: str = "",
        report: Callable[[str], None] = lambda words: None,
    ) -> None:
        page_address(port, public_url)
        self._office, self._report = office, report
        self._cookie = f"fire_page_{office.campaign_key}"
        routes = [
            *(_static(name) for name in _TYPES),
            Route("/session", self._open_session, methods=["POST"]),
            *(Route(f"/{what}", self._act, methods=["POST"]) for what in (CONSENT, ANSWER, UNDO)),
            Route("/state", self._state),
            Route("/instructions", self._instructions),
            Route("/media/{name}", self._media),
        ]
        app = application(routes, hosts=[urlsplit(public_url).hostname or LOOPBACK])
        app.add_exception_handler(FireError, self._refuse)
        super().__init__(_with_headers(app, office), port=port, idle_s=_IDLE_S)
        self.address = page_address(self.server_port, public_url)
        self._origins = allowed_origins([self.address])

    def _who(self, request: Request) -> str:
        """Return which annotator asks; `Refused` where it is nobody, or another page that writes."""
        self._check_origin(request)
        return self._office.annotator(request.cookies.get(self._cookie, ""))

    def _check_origin(self, request: Request) -> None:
        if request.method == "POST" and request.headers.get("Origin") not in self._origins:
            raise Refused(403, "not from our own page")

    async def _refuse(self, request: Request, error: Exception) -> Response:
        """Return what went wrong; what is no refusal (a full disk) is also told to who runs the server."""
        status = error.status if isinstance(error, Refused) else 500
        if status not in (401, 409):
            self._report(f"{status}: {request.method} {request.url.path[:100]!a}: {error}")
        words = str(error) if isinstance(error, Refused) else "The answer could not be kept."
        return JSONResponse({"error": words}, status_code=status)

    async def _open_session(self, request: Request) -> Response:
        self._check_origin(request)
        session = session_of(str((await _content(request)).get("token", "")))
        self._office.annotator(session)
        answer, is_safe = Response(status_code=204), self.address.startswith("https:")
        answer.set_cookie(
            self._cookie, session, max_age=_COOKIE_S, httponly=True, samesite="strict", secure=is_safe
        )
        return answer

    async def _act(self, request: Request) -> Response:
        name = self._who(request)
        return JSONResponse(self._office.act(request.url.path[1:], name, await _content(request)))

    async def _state(self, request: Request) -> Response:
        return JSONResponse(self._office.opened(self._who(request)))

    async def _instructions(self, request: Request) -> Response:
        self._who(request)
        head = '<!doctype html><meta charset="utf-8"><title>Instructions</title>'
        head += '<link rel="stylesheet" href="page.css">'
        return Response(head + instructions(self._office.guideline), media_type="text/html")

    async def _media(self, request: Request) -> Response:
        path = self._office.file(self._who(request), request.path_params["name"])
        return FileResponse(path, media_type=content_type(path.name), headers={"Cache-Control": "private"})


def _static(name: str) -> Route:
    body = text_in("pages", f"site/{name}")

    async def serve(request: Request) -> Response:
        return Response(body, media_type=_TYPES[name], headers={"Cache-Control": "no-cache"})

    return Route("/" if name == "page.html" else f"/{name}", serve)


async def _content(request: Request) -> dict[str, Any]:
    """Return the object that a request carries as JSON."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_BYTES:
            raise Refused(413, "too long")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused(422, "expected a JSON object")
    return found


def _with_headers(app: ASGIApp, office: Office) -> ASGIApp:
    """Return the application with the headers that keep what it shows to itself."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["content-security-policy"] = _POLICY.format(media=f"'self' {office.origins()}")
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await app(scope, receive, add)

    return guarded
