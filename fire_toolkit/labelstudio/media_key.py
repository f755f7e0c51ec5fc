"""The secret of a workspace by which its media get addresses that say nothing."""

from __future__ import annotations

import secrets
from pathlib import Path

from fire_toolkit.errors import FormatError
from fire_toolkit.labelstudio.connection import read_secret
from fire_toolkit.labelstudio.local_state import prepare_folder, write_private

MEDIA_KEY = "media.key"
_BYTES = 32


def read_media_key(folder: Path) -> bytes | None:
    """Return the key in a workspace's private folder; None if it has none.

    Raises:
        FormatError: it is damaged, or others can read it.
    """
    path = folder / MEDIA_KEY
    if not path.exists():
        return None
    try:
        key = bytes.fromhex(read_secret(path).strip())
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        raise FormatError(
            f"{path}: expected {2 * _BYTES} hexadecimal digits; restore it from a copy: the addresses of "
            "tasks that were made with it lead nowhere without it"
        )
    return key


def make_media_key(folder: Path) -> bytes:
    """Return the key in a workspace's private folder; where there is none it is made, for its owner only."""
    key = read_media_key(folder)
    if key is None:
        prepare_folder(folder)
        key = secrets.token_bytes(_BYTES)
        write_private(folder / MEDIA_KEY, key.hex() + "\n")
    return key
