"""Which Label Studio to talk to, and with which token; and the files that only a workspace's owner can read.

A token comes from the environment or from such a file; it stands in no text that is shown, logged or written
elsewhere. Others hold keys, and names of people.
"""

from __future__ import annotations

import os
import secrets
import stat
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from fire_toolkit.errors import FileNote, FireError, FormatError, UsageError
from fire_toolkit.media.places import LOOPBACK_HOSTS, checked_url, has_odd_marks
from fire_toolkit.workspace.manifests import write_files

URL_VARIABLE = "FIRE_LABEL_STUDIO_URL"
TOKEN_VARIABLE = "FIRE_LABEL_STUDIO_TOKEN"
CONNECTION_FILE = "connection.json"


@dataclass(frozen=True)
class Connection:
    """A server's address without a trailing slash, and a token (legacy or personal) of an account there.

    public_url: where annotators open it, if that is another address; password: the administrator's, of a
    server that was started here; transport: an `httpx.BaseTransport` that stands in for the network.

    Examples:
        >>> Connection("http://127.0.0.1:8080", "secret")
        Connection(url='http://127.0.0.1:8080')
    """

    url: str
    token: str = field(repr=False)
    public_url: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    transport: Any = field(default=None, repr=False, compare=False)

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

    def labeling_page(self, project: int) -> str:
        """Return the address at which an annotator's tasks of a project come one after another."""
        return f"{self.page_url}/projects/{project}/data?labeling=1"


def read_connection(root: Path | None, *, environ: Mapping[str, str] | None = None) -> Connection:
    """Return the connection to use: the environment's, else that of the workspace's file.

    Args:
        root: the workspace's folder; its `.fire/private/connection.json` is read. None: there is none.
        environ: by default the process's; FIRE_LABEL_STUDIO_URL and FIRE_LABEL_STUDIO_TOKEN count.

    The workspace's token goes to the workspace's server only, never to another address.

    Raises:
        UsageError: no server is known; no token for it; an invalid address.
        FormatError: a file of secrets that others can read, or that holds something else.
    """
    environ = os.environ if environ is None else environ
    url, token = (environ.get(name, "").strip() for name in (URL_VARIABLE, TOKEN_VARIABLE))
    url, token = url and checked_url(url), token and checked_token(token)
    if url and token:
        return Connection(url, token)
    path = root / SERVER_FOLDER / CONNECTION_FILE if root else None
    if path is None or not path.exists():
        raise UsageError(
            f"no token for {url}; set {TOKEN_VARIABLE} to its token"
            if url
            else "no Label Studio server is configured here; start one with `fire-toolkit labelstudio "
            f"start`, or set {URL_VARIABLE} to its address and {TOKEN_VARIABLE} to its token"
        )
    stored = read_connection_file(path)
    if url and url != stored.url:
        raise UsageError(
            f"{path} holds a token for {stored.url}, not for {url}; "
            f"set {TOKEN_VARIABLE} to that server's token"
        )
    return replace(stored, token=token or stored.token)


def read_connection_file(path: Path) -> Connection:
    """Return the connection that a `connection.json` holds.

    Raises:
        FormatError: others can read the file, or it holds no `url` and `token`.
    """
    try:
        found = msgspec.json.decode(read_secret(path), type=Connection)
    except (msgspec.DecodeError, RecursionError):
        raise FormatError(
            f'{path}: expected {{"url": "…", "token": "…"}}; start the server again, or delete the file'
        ) from None
    checked_token(found.token)
    public_url = found.public_url and checked_url(found.public_url)
    return replace(found, url=checked_url(found.url), public_url=public_url, transport=None)


def checked_token(token: str) -> str:
    """Return a token as it is.

    Raises:
        UsageError: empty, or with marks that no token has; the token is not shown.
    """
    if not token or not token.isascii() or has_odd_marks(token):
        raise UsageError(
            "the token is empty or contains characters that no token has; copy it from "
            "Account & Settings in Label Studio"
        )
    return token


SERVER_FOLDER = ".fire/private"
MEDIA_KEY = "media.key"
PRIVATE = 0o600  # the rights of its files
_MAX_BYTES = 100_000
_KEY_BYTES = 32


def read_secret(path: Path, *, is_token: bool = True) -> str:
    """Return the text of a file that only its owner, the current user, can read.

    is_token: the rights of others on a file without a token are noted, not refused: copies from a zip, and
    disks that keep no rights, have them.

    Raises:
        FormatError: no such file, no text, another owner, or others have rights on a token.
    """
    held = "a token" if is_token else "a key"
    try:
        with path.open("rb") as stream:
            found = os.fstat(stream.fileno())
            text = stream.read(_MAX_BYTES).decode("utf-8")
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FormatError(f"{path}: not text; expected a token") from None
    if not _is_ours(found):
        raise FormatError(f"{path}: contains {held} and belongs to another user; use a file of your own")
    rights = stat.S_IMODE(found.st_mode)
    if rights & 0o077 and hasattr(os, "geteuid"):  # other systems hold rights elsewhere than in these bits
        words = f"{path}: contains {held} and others can access it ({rights:04o}); run `chmod 600 {path}`"
        if is_token:
            raise FormatError(words)
        warnings.warn(FileNote(words), stacklevel=2)
    return text


def _is_ours(found: os.stat_result) -> bool:
    """Whether a file belongs to the current user; so does any where files have no user's number."""
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def prepare_folder(folder: Path) -> None:
    """Make the private folder, open to its owner only.

    Raises:
        FireError: it belongs to somebody else.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.stat()
    if not _is_ours(found):
        raise FireError(f"{folder}: belongs to another user; use a folder of your own")
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)
    if not (ignore := folder / ".gitignore").exists():
        write_files({ignore: b"*\n"})  # secrets and names of people stay out of repositories


def key_at(
    path: Path,
    loss: str = "the addresses of tasks made with it lead nowhere without it",
    *,
    makes: bool = True,
) -> bytes:
    """Return the key in a file; where there is none it is made, for its owner only (else empty).

    loss: what is lost with it, for the message.

    Raises:
        FormatError: it is damaged, or belongs to another user.
    """
    if path.exists():
        try:
            key = bytes.fromhex(read_secret(path, is_token=False).strip())
        except ValueError:
            key = b""
        if len(key) != _KEY_BYTES:
            raise FormatError(
                f"{path}: expected {2 * _KEY_BYTES} hexadecimal digits; restore it from a copy: {loss}"
            )
        return key
    if not makes:
        return b""
    prepare_folder(path.parent)
    key = secrets.token_bytes(_KEY_BYTES)
    write_files({path: f"{key.hex()}\n".encode()}, mode=PRIVATE)
    return key
