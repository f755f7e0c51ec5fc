"""Standard input as a file: copied whole, once, until the command ends.

Words and manifests call the copy `-`, as it was typed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from fire_toolkit.files import STDIN

_KEPT = "fire_toolkit.kept"


def as_files(files: Sequence[str]) -> list[Path]:
    """Return files to read; for `-` a file with all of standard input, until the command ends.

    Raises:
        UsageError: standard input is named twice.
    """
    if files.count(STDIN) > 1:
        raise click.UsageError("`-` is given twice: standard input can be read once")
    return [copy_of_stdin() if file == STDIN else Path(file) for file in files]


def copy_of_stdin() -> Path:
    """Return a file with all of standard input, made once, until the command ends."""
    root = click.get_current_context().find_root()
    if (kept := root.meta.get(_KEPT)) is not None:
        return Path(kept)
    folder = Path(tempfile.mkdtemp())
    root.call_on_close(partial(shutil.rmtree, folder, ignore_errors=True))
    file = folder / "stdin"
    with file.open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    root.meta[_KEPT] = file
    return file


def in_own_names(message: str) -> str:
    """Return a message in which the copy of standard input is called `-`."""
    context = click.get_current_context(silent=True)
    kept = context.meta.get(_KEPT) if context else None
    return message if kept is None else message.replace(str(kept), STDIN)
