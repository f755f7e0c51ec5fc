"""Completion codes: what a crowd platform asks for from whoever has done all of a round."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from pathlib import Path

from fire_toolkit.labelstudio.connection import read_secret
from fire_toolkit.labelstudio.local_state import prepare_folder, write_private

_KEY = "completion.key"


def make_completion_key(folder: Path) -> bytes:
    """Return the secret in a workspace's private folder; where there is none it is made, for its owner only.

    Raises:
        FormatError: others can read it.
    """
    path = folder / _KEY
    if not path.exists():
        prepare_folder(folder)
        write_private(path, secrets.token_hex(32) + "\n")
    return read_secret(path).strip().encode()


def completion_code(key: bytes, annotator_id: str, number: int) -> str:
    """Return the code of an annotator in a round, which nobody without the key can make.

    Examples:
        >>> completion_code(b"secret of a workspace", "W07", 1)
        '8BFE16852D'
    """
    return hmac.new(key, f"{number}/{annotator_id}".encode(), hashlib.sha256).hexdigest()[:10].upper()
