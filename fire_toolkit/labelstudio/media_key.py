"""The secrets of a workspace: the one by which its media get addresses that say nothing, and others."""

from __future__ import annotations

import secrets
from pathlib import Path

from fire_toolkit.errors import FormatError
from fire_toolkit.labelstudio.connection import read_secret
from fire_toolkit.labelstudio.private_files import prepare_folder, write_private

MEDIA_KEY = "media.key"
_ADDRESSES = "the addresses of tasks that were made with it lead nowhere without it"
_BYTES = 32


def read_media_key(folder: Path) -> bytes | None:
    """Return the key in a workspace's private folder; None if it has none.

    Raises:
        FormatError: it is damaged, or belongs to another user.
    """
    return _key_at(folder / MEDIA_KEY, _ADDRESSES)


def make_media_key(folder: Path) -> bytes:
    """Return the key in a workspace's private folder; where there is none it is made, for its owner only."""
    return make_key(folder / MEDIA_KEY, _ADDRESSES)


def make_key(path: Path, loss: str) -> bytes:
    """Return the key in a file; where there is none it is made, for its owner only.

    loss: what is lost with it, for the message where it is damaged.

    Raises:
        FormatError: as `read_media_key`.
    """
    key = _key_at(path, loss)
    if key is None:
        prepare_folder(path.parent)
        key = secrets.token_bytes(_BYTES)
        write_private(path, key.hex() + "\n")
    return key


def _key_at(path: Path, loss: str) -> bytes | None:
    if not path.exists():
        return None
    try:
        key = bytes.fromhex(read_secret(path, is_token=False).strip())
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        raise FormatError(f"{path}: expected {2 * _BYTES} hexadecimal digits; restore it from a copy: {loss}")
    return key
