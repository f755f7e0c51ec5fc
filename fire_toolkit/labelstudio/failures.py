"""What goes wrong between us and a server, in words: which call, what happened, what to do.

The SDK's errors name neither method nor address, and show a page of headers; none of its errors, nor
those of the HTTP library below it, gets past `server_errors`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from fire_toolkit.errors import FireError, ServerError

if TYPE_CHECKING:
    import httpx

DOCTOR = "`fire-toolkit doctor`"
_JWT = re.compile(r"\beyJ[\w-]+\.[\w-]+(\.[\w-]*)?")
_MAX_DETAIL = 300

_last_request: ContextVar[str] = ContextVar("last_request", default="")


class _Connection(Protocol):
    @property
    def url(self) -> str: ...
    @property
    def token(self) -> str: ...


def note_request(request: httpx.Request) -> None:
    """Remember method and address of a request, for the error it may lead to (an HTTP client's hook)."""
    _last_request.set(_named(request))


def _named(request: httpx.Request) -> str:
    return f"{request.method} {request.url.copy_with(query=None, fragment=None, userinfo=b'')}"


@contextmanager
def server_errors(connection: _Connection) -> Iterator[None]:
    """Turn what the SDK and the HTTP library raise inside into `ServerError`; the cause stays attached.

    A FireError passes as it is, and so does what has nothing to do with the server.
    """
    _last_request.set("")
    try:
        yield
    except FireError:
        raise
    except Exception as error:
        words = explain(error)
        if words is None:
            raise
        call = _call(error) or connection.url
        raise ServerError(without_token(f"{call}: {words}", connection.token)) from error


def without_token(text: str, token: str) -> str:
    """Return `text` with the token, and whatever looks like a personal one, masked.

    Examples:
        >>> without_token("401 for s3cret", "s3cret")
        '401 for ***'
    """
    return _JWT.sub("***", text.replace(token, "***") if token else text)


def _call(error: Exception) -> str:
    request = getattr(error, "_request", None)  # of httpx; its property raises where there is none
    return _named(request) if request is not None else _last_request.get()


def explain(error: Exception) -> str | None:
    """Return what an error of the SDK or the HTTP library means and what to do; None for any other."""
    import httpx
    from label_studio_sdk.core.api_error import ApiError
    from label_studio_sdk.core.parse_error import ParsingError

    if isinstance(error, ApiError):
        return _refusal(error.status_code or 0, error.body, error.headers or {})
    if isinstance(error, ParsingError):
        return f"the answer has an unexpected form; see {DOCTOR} for the tested versions"
    if isinstance(error, httpx.HTTPError | httpx.InvalidURL):
        return _no_answer(error)
    if type(error).__name__ == "JSONDecodeError":
        return _NOT_LABEL_STUDIO
    return None


_NOT_LABEL_STUDIO = "the answer is not JSON, so this is not Label Studio's API; check the URL"


def _no_answer(error: httpx.HTTPError | httpx.InvalidURL) -> str:
    import httpx

    reason = f" ({_short(str(error))})" if str(error) else ""
    if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
        return (
            f"no connection{reason}; is it running? `fire-toolkit labelstudio start` starts a local "
            "one; else check the URL"
        )
    if isinstance(error, httpx.TimeoutException):
        return (
            "timed out, but the server may still carry out the request; see its log, then run the command "
            "again"
        )
    return f"the connection broke{reason}; run the command again"


_ADVICE = {
    401: "the server does not accept the token; copy it again from Account & Settings in Label Studio, or, "
    "if it is a legacy token, allow those under Organization, API Tokens Settings",
    403: "this account is not allowed to do that; use the token of one that is",
    404: "not found: it was deleted, or the URL is not Label Studio's",
    409: "the server already has this",
    413: "more than the server accepts at once; a proxy in front of it may set the limit",
    414: "more than the server accepts at once; a proxy in front of it may set the limit",
    429: "too many requests; run the command again later",
    502: "a proxy answered instead of the server; is the server running?",
    503: "the server is busy or still starting; run the command again later",
    504: "a proxy waited too long for the server; run the command again later",
}
_SERVER_FAILED = "the server failed; see its log (.labelstudio/server.log), then run the command again"


def _refusal(status: int, body: object, headers: Mapping[str, str]) -> str:
    location = {name.lower(): value for name, value in headers.items()}.get("location")
    if 300 <= status < 400:
        return f"{status}: redirects to {location or 'nowhere'}; give the server's own address as the URL"
    if 200 <= status < 300:
        return _NOT_LABEL_STUDIO
    advice = _ADVICE.get(status) or (_SERVER_FAILED if status >= 500 else "the server refused the request")
    detail = _detail(body)
    return f"{status or 'no answer'}: {advice}{f' (it says: {detail})' if detail else ''}"


def _detail(body: Any) -> str:
    """Return the words of an answer's body; a web page says nothing to a person here."""
    if isinstance(body, dict):
        words = body.get("validation_errors") or body.get("detail") or body
        return _short(str(words))
    if isinstance(body, str) and "<" in body[:200]:
        return ""
    return _short(str(body)) if body else ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_DETAIL else text[:_MAX_DETAIL] + "…"
