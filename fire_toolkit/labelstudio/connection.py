"""Which Label Studio to talk to and with which token, and the client that does it.

A token comes from the environment or from a file that only its owner can read; it stands in no text
that is shown, logged or written elsewhere.
"""

from __future__ import annotations

import json
import os
import stat
import warnings
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fire_toolkit.errors import FileNote, FormatError, UsageError
from fire_toolkit.labelstudio.failures import note_request, server_errors
from fire_toolkit.media.places import LOOPBACK_HOSTS

if TYPE_CHECKING:
    import ssl

    import httpx
    from label_studio_sdk.base_client import LabelStudioBase

URL_VARIABLE = "FIRE_LABEL_STUDIO_URL"
TOKEN_VARIABLE = "FIRE_LABEL_STUDIO_TOKEN"
MOST_TASKS = 50_000  # in one project, since a server walks through those that are there at each import
SERVER_FOLDER = ".labelstudio"
CONNECTION_FILE = "connection.json"
TIMEOUT_S = 60.0
_MAX_BYTES = 100_000


@dataclass(frozen=True)
class Connection:
    """A server's address without a trailing slash, and a token (legacy or personal) of an account there.

    public_url: where annotators open it, if that is another address. password: the administrator's, of a
    server that was started here.

    Examples:
        >>> Connection("http://127.0.0.1:8080", "secret")
        Connection(url='http://127.0.0.1:8080')
    """

    url: str
    token: str = field(repr=False)
    public_url: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def page_url(self) -> str:
        """The address at which annotators open the server."""
        return self.public_url or self.url

    @property
    def page_origin(self) -> str:
        """Scheme, host and port of the pages that annotators open."""
        parts = urlsplit(self.page_url)
        return f"{parts.scheme}://{parts.netloc}".lower()

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine's loopback."""
        return urlsplit(self.url).hostname in LOOPBACK_HOSTS


def read_connection(
    root: Path | None,
    *,
    url: str | None = None,
    token_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Connection:
    """Return the connection to use: what is given, else the environment's, else the workspace's file.

    Args:
        root: the workspace's folder; its `.labelstudio/connection.json` is read. None: there is none.
        url: the server's address.
        token_file: a file with the token as its only line, which only its owner can read.
        environ: by default the process's; FIRE_LABEL_STUDIO_URL and FIRE_LABEL_STUDIO_TOKEN count.

    The workspace's token goes to the workspace's server only, never to another address.

    Raises:
        UsageError: no server is known; no token for it; an invalid address.
        FormatError: a file of secrets that others can read, or that holds something else.
    """
    environ = os.environ if environ is None else environ
    url = url or environ.get(URL_VARIABLE) or None
    token = read_secret(token_file).strip() if token_file else environ.get(TOKEN_VARIABLE, "").strip()
    path = root / SERVER_FOLDER / CONNECTION_FILE if root else None
    if url and token:
        return Connection(checked_url(url), checked_token(token))
    if path is None or not path.exists():
        raise UsageError(_what_is_missing(url))
    stored = read_connection_file(path)
    if url and checked_url(url) != stored.url:
        raise UsageError(
            f"{path} holds a token for {stored.url}, not for {checked_url(url)}; "
            f"set {TOKEN_VARIABLE} to that server's token, or give --token-file"
        )
    return replace(stored, token=checked_token(token)) if token else stored


def _what_is_missing(url: str | None) -> str:
    if url:
        return f"no token for {checked_url(url)}; set {TOKEN_VARIABLE} or give --token-file"
    return (
        "no Label Studio server is configured here; start one with `fire-toolkit labelstudio start`, "
        f"or give --url (or {URL_VARIABLE}) and a token ({TOKEN_VARIABLE} or --token-file)"
    )


def read_connection_file(path: Path) -> Connection:
    """Return the connection that a `connection.json` holds.

    Raises:
        FormatError: others can read the file, or it holds no `url` and `token`.
    """
    try:
        content = json.loads(read_secret(path))
        url, token = content["url"], content["token"]
        public_url, password = str(content.get("public_url", "")), str(content.get("password", ""))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FormatError(
            f'{path}: expected {{"url": …, "token": …}}; start the server again, or delete the file'
        ) from None
    if not isinstance(url, str) or not isinstance(token, str):
        raise FormatError(f"{path}: url and token must both be text; start the server again")
    public_url = public_url and checked_url(public_url)
    return Connection(checked_url(url), checked_token(token), public_url, password)


def read_secret(path: Path, *, is_token: bool = True) -> str:
    """Return the text of a file that only its owner, the current user, can read.

    is_token: the rights of others on a file without a token are noted, not refused: copies from a zip, and
    disks that keep no rights, have them.

    Raises:
        FormatError: no such file, no text, another owner, or others have rights on a token.
    """
    try:
        with path.open("rb") as stream:
            _check_private(path, os.fstat(stream.fileno()), is_token=is_token)
            return stream.read(_MAX_BYTES).decode("utf-8")
    except FileNotFoundError:
        raise FormatError(f"{path}: no such file") from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FormatError(f"{path}: not text; expected a token") from None


def is_ours(found: os.stat_result) -> bool:
    """Whether a file belongs to the current user; so does any where files have no user's number."""
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def _check_private(path: Path, found: os.stat_result, *, is_token: bool) -> None:
    held = "a token" if is_token else "a key"
    if not is_ours(found):
        raise FormatError(f"{path}: contains {held} and belongs to another user; use a file of your own")
    rights = stat.S_IMODE(found.st_mode)
    if rights & 0o077 and hasattr(os, "geteuid"):  # other systems hold rights elsewhere than in these bits
        words = f"{path}: contains {held} and others can access it ({rights:04o}); run `chmod 600 {path}`"
        if is_token:
            raise FormatError(words)
        warnings.warn(FileNote(words), stacklevel=2)


def checked_url(url: str) -> str:
    """Return a server's address without trailing slash.

    Raises:
        UsageError: no http(s) address, or one with a user, password, query or fragment.

    Examples:
        >>> checked_url("https://labels.example.org/team/")
        'https://labels.example.org/team'
    """
    try:
        parts = urlsplit(url.strip())
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        raise UsageError("invalid server URL; expected one like http://127.0.0.1:8080") from None
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            "the server URL has a user, a password, a query or a fragment; give only its address, "
            f"and the token in {TOKEN_VARIABLE}"
        )
    if parts.scheme not in ("http", "https") or not has_host or _has_blank(url.strip()):
        raise UsageError(f"{url!r} is not a server URL; expected one like http://127.0.0.1:8080")
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")


def _has_blank(text: str) -> bool:
    return any(mark.isspace() or not mark.isprintable() for mark in text)


def checked_token(token: str) -> str:
    """Return a token as it is.

    Raises:
        UsageError: empty, or with marks that no token has; the token is not shown.
    """
    if not token or not token.isascii() or _has_blank(token):
        raise UsageError(
            "the token is empty or contains characters that no token has; copy it from "
            "Account & Settings in Label Studio"
        )
    return token


def authorization(connection: Connection) -> str:
    """Return the Authorization header that the connection's token makes, of either kind."""
    client = open_client(connection)
    try:
        return str(client._client_wrapper.get_headers().get("Authorization", ""))
    finally:
        client._client_wrapper.httpx_client.httpx_client.close()


@cache
def _trusted(*, trust_env: bool) -> ssl.SSLContext:
    """Return which certificates count; to read them takes 20 ms, so that clients share them."""
    import httpx

    return httpx.create_ssl_context(trust_env=trust_env)


def browser(
    connection: Connection, *, timeout_s: float = TIMEOUT_S, transport: httpx.BaseTransport | None = None
) -> httpx.Client:
    """Return a client that asks a server as a browser does: without the SDK and without the token."""
    import httpx

    return httpx.Client(
        base_url=connection.url,
        transport=transport,
        timeout=timeout_s,
        verify=_trusted(trust_env=not connection.is_local),
        trust_env=not connection.is_local,
        event_hooks={"request": [note_request]},
    )


def labeling_page(connection: Connection, project: int) -> str:
    """Return the address at which an annotator's tasks of a project come one after another."""
    return f"{connection.page_url}/projects/{project}/data?labeling=1"


def open_client(
    connection: Connection, *, timeout_s: float = TIMEOUT_S, transport: httpx.BaseTransport | None = None
) -> LabelStudioBase:
    """Return the SDK's client for a connection; nothing is sent yet.

    Args:
        connection: address and token, of either kind.
        timeout_s: limit for each connect, write, and wait for an answer.
        transport: stands in for the network (`httpx.MockTransport`).

    The client follows no redirect, and no proxy leads to a server on this machine. Calls belong into
    `server_errors(connection)`, which knows what was asked last in the same thread. Without encryption
    each call has a connection of its own: Label Studio sends an answer in two parts, and on a connection that
    is kept the second one waits 40 ms for word of the first (Nagle's algorithm, delayed acknowledgement).

    The SDK's own `LabelStudio` adds converters of labeling pages, which take .8 s to load and are not used.

    Raises:
        ServerError: a personal token that has expired.
    """
    import httpx
    from label_studio_sdk.base_client import LabelStudioBase

    http = httpx.Client(
        transport=transport,
        verify=_trusted(trust_env=not connection.is_local),
        limits=httpx.Limits(max_keepalive_connections=0 if connection.url.startswith("http:") else 20),
        timeout=timeout_s,
        follow_redirects=False,
        trust_env=not connection.is_local,
        event_hooks={"request": [note_request]},
    )
    with server_errors(connection):
        client = LabelStudioBase(
            base_url=connection.url + "/", api_key=connection.token, timeout=timeout_s, httpx_client=http
        )
    # The SDK closes nothing. All parts of its client share this object, and it goes with the last of them.
    weakref.finalize(client._client_wrapper, http.close)
    return client
