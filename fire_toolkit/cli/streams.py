"""Standard input and pipes as files: copied whole, once, for readers that look at a file twice.

`<(zcat a.run.gz)` of a shell, a FIFO and `-` can be read once only. What they gave is kept in a file until
the command ends; words and manifests call it by the name that was typed.
"""

from __future__ import annotations

import shutil
import stat
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import BinaryIO

import click

STDIN = "-"
_KEPT = "fire_toolkit.kept"


def as_files(files: Sequence[str]) -> list[Path]:
    """Return files to read, each with `as_file`.

    Raises:
        UsageError: standard input is named twice.
    """
    if files.count(STDIN) > 1:
        raise click.UsageError("`-` is given twice: standard input can be read once")
    return [as_file(file) for file in files]


def as_file(path: str | Path) -> Path:
    """Return `path`; for `-` or a pipe a file with all that it gave, until the command ends."""
    name = str(path)
    if name != STDIN and not _is_pipe(Path(path)):
        return Path(path)
    kept = _kept()
    if name not in kept:
        folder = Path(tempfile.mkdtemp())
        click.get_current_context().call_on_close(partial(shutil.rmtree, folder, ignore_errors=True))
        file = folder / ("stdin" if name == STDIN else Path(path).name)
        with ExitStack() as stack:
            source: BinaryIO = (
                sys.stdin.buffer if name == STDIN else stack.enter_context(Path(path).open("rb"))
            )
            shutil.copyfileobj(source, stack.enter_context(file.open("wb")))
        kept[name] = file
    return kept[name]


def own_name(path: Path) -> str:
    """Return what was typed for a file: of one that `as_file` made, the name of the pipe, or `-`."""
    return next((name for name, file in _kept().items() if file == path), str(path))


def in_own_names(message: str) -> str:
    """Return a message in which files that `as_file` made have the names that were typed."""
    for name, file in _kept().items():
        message = message.replace(str(file), name)
    return message


def _kept() -> dict[str, Path]:
    context = click.get_current_context(silent=True)
    kept: dict[str, Path] = context.meta.setdefault(_KEPT, {}) if context else {}
    return kept


def _is_pipe(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
