"""The small server behind our own page: sessions, tasks, answers and media, each annotator's own alone."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.media.places import LOOPBACK_HOSTS
from fire_toolkit.media.server import content_type
from fire_toolkit.media.serving import LOOPBACK, LocalServer
from fire_toolkit.pages.office import Office, Refused
from fire_toolkit.pages.written import instructions

_IDLE_S = 300
_MOST_BYTES = 65_536
_FILES = {"": "page.html", "page.js": "page.js", "page.css": "page.css"}
_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
Act = Callable[[str, Mapping[str, Any]], dict[str, Any]]


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
        self._office = office
        self._report = report
        super().__init__(_with_headers(self._app(public_url), office), port=port, idle_s=_IDLE_S)
        self.address = page_address(self.server_port, public_url)
        self._origins = _origins(self.address)

    def _app(self, public_url: str) -> ASGIApp:
        acts = {"consent": self._office.agree, "answer": self._office.answer, "undo": self._office.undo}
        routes = [
            *(Route(f"/{path}", _static(name), methods=["GET"]) for path, name in _FILES.items()),
            Route("/session", self._open_session, methods=["POST"]),
            Route("/state", self._guarded(self._state), methods=["GET"]),
            Route("/instructions", self._guarded(self._instructions), methods=["GET"]),
            Route("/media/{name}", self._guarded(self._media), methods=["GET"]),
            *(Route(f"/{path}", self._guarded(_taking(act)), methods=["POST"]) for path, act in acts.items()),
        ]
        hosts = {*(h for h in LOOPBACK_HOSTS if ":" not in h), urlsplit(public_url).hostname or LOOPBACK}
        return Starlette(
            routes=routes,
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=sorted(hosts), www_redirect=False)],
        )

    @property
    def _cookie(self) -> str:
        return f"fire_page_{self._office.campaign_key}"

    async def _open_session(self, request: Request) -> Response:
        try:
            self._check_origin(request)
            content = await _content(request)
            session = self._office.session(str(content.get("token", "")))
        except FireError as error:
            return self._refusal(request, error)
        answer = Response(status_code=204)
        answer.set_cookie(
            self._cookie,
            session,
            max_age=180 * 86400,
            httponly=True,
            samesite="strict",
            secure=self.address.startswith("https:"),
        )
        return answer

    def _guarded(
        self, handle: Callable[[Request, str], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            try:
                if request.method == "POST":
                    self._check_origin(request)
                name = self._office.annotator(request.cookies.get(self._cookie, ""))
                return await handle(request, name)
            except FireError as error:
                return self._refusal(request, error)

        return guarded

    def _check_origin(self, request: Request) -> None:
        if request.headers.get("Origin") not in self._origins:
            raise Refused(403, "not from our own page")

    def _refusal(self, request: Request, error: FireError) -> Response:
        """Return what went wrong; what is no refusal (a full disk) is also told to who runs the server."""
        status = error.status if isinstance(error, Refused) else 500
        if status not in (401, 409):
            self._report(f"{status}: {request.method} {request.url.path[:100]!a}: {error}")
        words = str(error) if isinstance(error, Refused) else "The answer could not be kept."
        return JSONResponse({"error": words}, status_code=status)

    async def _state(self, request: Request, name: str) -> Response:
        return JSONResponse(self._office.state(name))

    async def _instructions(self, request: Request, name: str) -> Response:
        body = instructions(self._office.guideline)
        head = '<!doctype html><meta charset="utf-8"><title>Instructions</title>'
        return Response(f'{head}<link rel="stylesheet" href="page.css">{body}', media_type="text/html")

    async def _media(self, request: Request, name: str) -> Response:
        path = self._office.file(name, request.path_params["name"])
        return FileResponse(path, media_type=content_type(path.name), headers={"Cache-Control": "private"})


def _static(name: str) -> Callable[[Request], Awaitable[Response]]:
    body = (files("fire_toolkit.pages") / "site" / name).read_bytes()
    kind = _TYPES[name.rpartition(".")[2]]

    async def serve(request: Request) -> Response:
        return Response(body, media_type=kind, headers={"Cache-Control": "no-cache"})

    return serve


def _taking(act: Act) -> Callable[[Request, str], Awaitable[Response]]:
    async def take(request: Request, name: str) -> Response:
        return JSONResponse(act(name, await _content(request)))

    return take


async def _content(request: Request) -> Mapping[str, Any]:
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


def _origins(address: str) -> set[str]:
    """Return the origins of our own page; on this machine it goes by two names."""
    parts = urlsplit(address)
    if parts.hostname not in LOOPBACK_HOSTS:
        return {address}
    return {f"http://{host}:{parts.port}" for host in ("127.0.0.1", "localhost")}


def _with_headers(app: ASGIApp, office: Office) -> ASGIApp:
    """Return the application with the headers that keep what it shows to itself."""
    elsewhere = " ".join(sorted(office.origins()))
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; "
        f"img-src 'self' {elsewhere}; media-src 'self' {elsewhere}; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'self'"
    )
    own = [
        (b"content-security-policy", policy.encode()),
        (b"referrer-policy", b"no-referrer"),
        (b"x-content-type-options", b"nosniff"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
    ]

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name for name, _ in message["headers"]}
                store = [] if b"cache-control" in names else [(b"cache-control", b"no-store")]
                message["headers"] = [*message["headers"], *own, *store]
            await send(message)

        await app(scope, receive, add)

    return guarded
