"""The files of a workspace that its owner alone can read: secrets, and names of people."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fire_toolkit.errors import FireError
from fire_toolkit.labelstudio.connection import is_ours


def prepare_folder(folder: Path) -> None:
    """Make the private folder, open to its owner only.

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
