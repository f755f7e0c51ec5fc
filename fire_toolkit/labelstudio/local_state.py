"""What a local server leaves on disk: its folder, its secrets and settings, its log.

Everything is readable by the owner only. Secrets are written before the first start, so that a kill at
any moment leaves a database whose password is known.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.labelstudio.connection import CONNECTION_FILE, is_ours, read_secret

LOCK = "server.lock"
PID = "server.pid"
LOG = "server.log"
DATA = "data"
ADMIN = "admin@localhost"
_LOG_LIMIT = 20_000_000


@dataclass(frozen=True)
class LocalState:
    """The address, the administrator and the settings of a local server."""

    url: str
    token: str = field(repr=False)
    email: str
    password: str = field(repr=False)
    port: int
    media: str = ""
    postgres: str = field(default="", repr=False)
    hooks: bool = False
    public_url: str = ""

    @classmethod
    def new(cls) -> LocalState:
        """Return a state with fresh secrets and no port yet."""
        return cls("", secrets.token_hex(20), ADMIN, secrets.token_urlsafe(18), 0)

    def with_settings(
        self,
        *,
        port: int,
        media: str,
        postgres: str | None,
        hooks: bool | None = None,
        public_url: str | None = None,
    ) -> LocalState:
        """Return this state with other settings, each as it was where None is given."""
        return replace(
            self,
            url=f"http://127.0.0.1:{port}",
            port=port,
            media=media,
            postgres=self.postgres if postgres is None else postgres,
            hooks=self.hooks if hooks is None else hooks,
            public_url=self.public_url if public_url is None else public_url,
        )


def prepare_folder(folder: Path) -> None:
    """Make the server's folder, open to its owner only.

    Raises:
        FireError: it belongs to somebody else.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.stat()
    if not is_ours(found):
        raise FireError(f"{folder}: belongs to another user; use a folder of your own")
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")  # secrets and names of people stay out of repositories


def read_state(folder: Path) -> LocalState | None:
    """Return the state that was written last, or None if there is none.

    Raises:
        FormatError: the file is damaged, or others can read it.
    """
    path = folder / CONNECTION_FILE
    if not path.exists():
        return None
    try:
        found = json.loads(read_secret(path))
        earlier = {"hooks": False, "public_url": ""}  # earlier versions did not write these
        found = earlier | found
        return LocalState(**{each.name: found[each.name] for each in fields(LocalState)})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FormatError(
            f"{path}: is not a file that `fire-toolkit labelstudio start` wrote; move it away and, to keep "
            f"the database in {folder / DATA}, restore its token and password"
        ) from None


def write_state(folder: Path, state: LocalState) -> None:
    """Write the state as one change, readable by the owner from its first byte on."""
    write_private(folder / CONNECTION_FILE, json.dumps(asdict(state), indent=1) + "\n")


def write_private(path: Path, text: str) -> None:
    """Write a file as one change, readable by the owner only from its first byte on."""
    part = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)


def rotate_log(folder: Path) -> None:
    """Set a long log aside; the one before it goes."""
    log = folder / LOG
    if log.is_file() and log.stat().st_size > _LOG_LIMIT:
        log.replace(folder / f"{LOG}.1")


def read_log(folder: Path, *, lines: int) -> list[str]:
    """Return the last lines of the server's log, with whatever is secret masked."""
    path = folder / LOG
    if not path.is_file():
        return []
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - 1_000_000))
        text = stream.read().decode("utf-8", errors="replace")
    state = read_state(folder)
    for secret in (state.token, state.password) if state else ():
        text = text.replace(secret, "***")
    return re.sub(r"(token=)[^\s&\"]+", r"\1***", text).splitlines()[-lines:]
