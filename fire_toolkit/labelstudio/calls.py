"""Asking a server as a browser does, and what goes wrong between us and it, in words.

The SDK's errors name neither method nor address, and show a page of headers; none of its errors, nor those of
the HTTP library below it, gets past this file and `api`.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any

import httpx

from fire_toolkit.errors import ServerError
from fire_toolkit.labelstudio.connection import Connection

TIMEOUT_S = 60.0
_BUSY = (408, 409, 425, 429)
_MAX_DETAIL = 300
_JWT = re.compile(r"\beyJ[\w-]+\.[\w-]+(\.[\w-]*)?")
_NOT_LABEL_STUDIO = "the answer is not JSON, so this is not Label Studio's API; check the URL"
_FAILED = "the server failed; see its log (.fire/private/server.log), then run the command again"
_ADVICE = {
    401: "the server does not accept the token; copy it again from Account & Settings in Label Studio, or, "
    "if it is a legacy token, allow those under Organization, API Tokens Settings",
    403: "this account is not allowed to do that; use the token of one that is",
    404: "not found: it was deleted, or the URL is not Label Studio's",
    **dict.fromkeys(
        (413, 414), "more than the server accepts at once; a proxy in front of it may set the limit"
    ),
    **dict.fromkeys(
        (429, 502, 503, 504), "the server is busy or still starting; run the command again later"
    ),
}


class CallFailed(ServerError):
    """A call to a server that failed.

    status: that of the answer, 0 where there was none; may_pass: the server was busy or silent, so that it
    may have carried the call out, or may do so when asked again.
    """

    def __init__(self, words: str, *, status: int = 0, may_pass: bool = False) -> None:
        super().__init__(words)
        self.status, self.may_pass = status, may_pass


@cache
def _trusted(*, trust_env: bool) -> ssl.SSLContext:
    """Return which certificates count; to read them takes 20 ms, so that clients share them."""
    return httpx.create_ssl_context(trust_env=trust_env)


class Browser(httpx.Client):
    """Asks a server without the SDK and without the token; no proxy leads to a server on this machine.

    Raises, in all requests:
        CallFailed: no answer. It names the call, what happened and what to do, and never the token.
    """

    def __init__(self, connection: Connection, *, timeout_s: float = TIMEOUT_S, **settings: Any) -> None:
        self._token = connection.token
        super().__init__(
            base_url=connection.url,
            transport=connection.transport,
            timeout=timeout_s,
            verify=_trusted(trust_env=not connection.is_local),
            trust_env=not connection.is_local,
            **settings,
        )

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request and return the answer, whatever its status."""
        try:
            return super().send(request, **options)
        except httpx.HTTPError as error:
            reason = f" ({_short(str(error))})" if str(error) else ""
            words = f"the connection broke{reason}; run the command again"
            if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
                words = (
                    f"no connection{reason}; is it running? `fire-toolkit labelstudio start` starts a local "
                )
                words += "one; else check the URL"
            elif isinstance(error, httpx.TimeoutException):
                words = (
                    "timed out, but the server may still carry out the request; see its log, then run the "
                )
                words += "command again"
            may_pass = isinstance(error, httpx.TransportError)
            raise self.failure(call_of(request), words, may_pass=may_pass) from error

    def content_of(self, answer: httpx.Response) -> Any:
        """Return the JSON of an answer; None where something was deleted.

        Raises:
            CallFailed: the server refused, or it is no JSON.
        """
        body: Any = answer.text[:2000]
        try:
            body = answer.json()
        except ValueError:
            if answer.is_success and answer.request.method == "DELETE" and not answer.content:
                return None
        else:
            if answer.is_success:
                return body
        raise self.refusal(call_of(answer.request), answer.status_code, body, answer.headers)

    def refusal(self, call: str, status: int, body: Any, headers: Mapping[str, str]) -> CallFailed:
        """Return what an answer that is not what was asked for means and what to do, as an error."""
        if 300 <= status < 400:
            words = f"{status}: redirects to {headers.get('location') or 'nowhere'}; give the server's own "
            words += "address as the URL"
        elif 200 <= status < 300:
            return self.failure(call, _NOT_LABEL_STUDIO)
        else:
            if isinstance(body, dict):
                body = body.get("validation_errors") or body.get("detail") or body
            said = _short(str(body or ""))
            words = _ADVICE.get(status, _FAILED if status >= 500 else "the server refused the request")
            words = f"{status or 'no answer'}: {words}"
            words += f" (it says: {said})" if said and "<" not in said[:200] else ""  # no web page
        return self.failure(call, words, status=status, may_pass=status >= 500 or status in _BUSY)

    def failure(self, call: str, words: str, **what: Any) -> CallFailed:
        """Return an error that says what went wrong with a call, without anything secret."""
        text = f"{call}: {words}"
        text = text.replace(self._token, "***") if self._token else text
        return CallFailed(_JWT.sub("***", text), **what)


def call_of(request: httpx.Request) -> str:
    """Return what a request is called in a message: method and address, without what may be secret."""
    return f"{request.method} {request.url.copy_with(query=None, fragment=None, userinfo=b'')}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_DETAIL else text[:_MAX_DETAIL] + "…"
