"""Asking a server as a browser does, and what goes wrong between us and it, in words.

The SDK's errors name neither method nor address, and show a page of headers; none of its errors, nor those of
the HTTP library below it, gets past `server_errors`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

from fire_toolkit.errors import FireError, ServerError
from fire_toolkit.labelstudio.connection import Connection

if TYPE_CHECKING:
    import ssl

    import httpx

TIMEOUT_S = 60.0
_BUSY = (408, 409, 425, 429)
_MAX_DETAIL = 300
_JWT = re.compile(r"\beyJ[\w-]+\.[\w-]+(\.[\w-]*)?")
_NOT_LABEL_STUDIO = "the answer is not JSON, so this is not Label Studio's API; check the URL"
_TOO_MUCH = "more than the server accepts at once; a proxy in front of it may set the limit"
_ADVICE = {
    401: "the server does not accept the token; copy it again from Account & Settings in Label Studio, or, "
    "if it is a legacy token, allow those under Organization, API Tokens Settings",
    403: "this account is not allowed to do that; use the token of one that is",
    404: "not found: it was deleted, or the URL is not Label Studio's",
    409: "the server already has this",
    413: _TOO_MUCH,
    414: _TOO_MUCH,
    429: "too many requests; run the command again later",
    502: "a proxy answered instead of the server; is the server running?",
    503: "the server is busy or still starting; run the command again later",
    504: "a proxy waited too long for the server; run the command again later",
}

last_request: ContextVar[str] = ContextVar("last_request", default="")


class Uncertain(ServerError):
    """A write failed in a way that leaves open whether the server carried it out."""


@cache
def _trusted(*, trust_env: bool) -> ssl.SSLContext:
    """Return which certificates count; to read them takes 20 ms, so that clients share them."""
    import httpx

    return httpx.create_ssl_context(trust_env=trust_env)


def browser(
    connection: Connection,
    *,
    timeout_s: float = TIMEOUT_S,
    transport: httpx.BaseTransport | None = None,
    **settings: Any,
) -> httpx.Client:
    """Return a client that asks a server as a browser does: without the SDK and without the token.

    No proxy leads to a server on this machine.
    """
    import httpx

    return httpx.Client(
        base_url=connection.url,
        transport=transport,
        timeout=timeout_s,
        verify=_trusted(trust_env=not connection.is_local),
        trust_env=not connection.is_local,
        event_hooks={"request": [lambda request: last_request.set(request_named(request)) and None]},
        **settings,
    )


def request_named(request: httpx.Request) -> str:
    """Return what a request is called in a message: method and address, without what may be secret."""
    return f"{request.method} {request.url.copy_with(query=None, fragment=None, userinfo=b'')}"


@contextmanager
def server_errors(connection: Connection) -> Iterator[None]:
    """Turn what the SDK and the HTTP library raise inside into `ServerError`: which call, what, what to do.

    The cause stays attached, and no text holds the token. A FireError passes as it is, and so does what has
    nothing to do with the server.
    """
    last_request.set("")
    try:
        yield
    except FireError:
        raise
    except Exception as error:
        if (words := _explained(error)) is None:
            raise
        request = getattr(error, "_request", None)  # of httpx; its property raises where there is none
        call = request_named(request) if request is not None else last_request.get() or connection.url
        text = f"{call}: {words}"
        text = text.replace(connection.token, "***") if connection.token else text
        raise ServerError(_JWT.sub("***", text)) from error


def _explained(error: Exception) -> str | None:
    """Return what an error of the SDK or the HTTP library means and what to do; None for any other."""
    import httpx
    from label_studio_sdk.core.api_error import ApiError

    if isinstance(error, ApiError):
        return _refusal(error.status_code or 0, error.body, error.headers or {})
    if isinstance(error, httpx.HTTPError | httpx.InvalidURL):
        reason = f" ({_short(str(error))})" if str(error) else ""
        if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
            return (
                f"no connection{reason}; is it running? `fire-toolkit labelstudio start` starts a local "
                "one; else check the URL"
            )
        if isinstance(error, httpx.TimeoutException):
            return (
                "timed out, but the server may still carry out the request; see its log, then run the "
                "command again"
            )
        return f"the connection broke{reason}; run the command again"
    return _NOT_LABEL_STUDIO if type(error).__name__ == "JSONDecodeError" else None


def _refusal(status: int, body: Any, headers: Mapping[str, str]) -> str:
    if 300 <= status < 400:
        location = {name.lower(): value for name, value in headers.items()}.get("location")
        return f"{status}: redirects to {location or 'nowhere'}; give the server's own address as the URL"
    if 200 <= status < 300:
        return _NOT_LABEL_STUDIO
    usual = "the server refused the request"
    if status >= 500:
        usual = "the server failed; see its log (.labelstudio/server.log), then run the command again"
    if isinstance(body, dict):
        body = body.get("validation_errors") or body.get("detail") or body
    said = _short(str(body or ""))
    detail = f" (it says: {said})" if said and "<" not in said[:200] else ""  # no web page
    return f"{status or 'no answer'}: {_ADVICE.get(status, usual)}{detail}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_DETAIL else text[:_MAX_DETAIL] + "…"


def status_of(error: BaseException | None) -> int:
    """Return the HTTP status behind an error; 0 where there was none."""
    cause = error.__cause__ if isinstance(error, ServerError) else error
    cause = cause.__cause__ if isinstance(cause, ServerError) else cause
    return int(getattr(cause, "status_code", None) or 0)


def may_pass(error: ServerError) -> bool:
    """Whether a failure may be over when one asks again: no answer, a busy or a failing server."""
    import httpx

    status, is_open = status_of(error), isinstance(error, Uncertain)
    return is_open or status >= 500 or status in _BUSY or isinstance(error.__cause__, httpx.TransportError)
