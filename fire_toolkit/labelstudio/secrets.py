"""The files of a workspace that its owner alone can read: tokens, keys, and names of people."""

import os
import secrets
import stat
import warnings
from pathlib import Path

from fire_toolkit.errors import FileNote, FireError, FormatError

SERVER_FOLDER = ".fire/private"
MEDIA_KEY = "media.key"
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
        ignore.write_text("*\n", encoding="utf-8")  # secrets and names of people stay out of repositories


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
    write_private(path, key.hex() + "\n")
    return key
