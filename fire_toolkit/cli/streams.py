"""Standard input, pipes and objects of a store as files: copied whole, once, until the command ends.

`<(zcat a.run.gz)` of a shell, a FIFO and `-` can be read once only, `s3://bucket/key` not as a file at all.
Words and manifests call the copy by the name that was typed.
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

from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.stores import fetch, is_address, name_of

STDIN = "-"
_KEPT = "fire_toolkit.kept"
_NO_FILES = ("URL", "TEXT", "FIELD=TEXT", "ADDRESS", "HOST")  # what options take that read no file


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
        file = _place("stdin" if name == STDIN else Path(path).name)
        with ExitStack() as stack:
            source: BinaryIO = (
                sys.stdin.buffer if name == STDIN else stack.enter_context(Path(path).open("rb"))
            )
            shutil.copyfileobj(source, stack.enter_context(file.open("wb")))
        kept[name] = file
    return kept[name]


def with_copies(command: click.Command, words: Sequence[str]) -> list[str]:
    """Return the words after a command with a file in the place of each address of a store's object.

    The copies are made when the command begins, after its words were found to be right.

    Raises:
        UsageError: an address stands where a result would be written, or cannot be taken.
    """
    options = {spelling: option for option in command.params for spelling in option.opts}
    now: list[str] = []
    for before, word in zip(["", *words], words, strict=False):
        start, address = ("", word) if is_address(word) else _divided(word)
        option = options.get(start.rstrip("=") or before)
        if not is_address(address) or (option is not None and option.metavar in _NO_FILES):
            now.append(word)
            continue
        if option is not None and (option.metavar in ("DIR", "FOLDER") or option.name == "out"):
            spelling = option.opts[0]
            raise click.UsageError(
                f"{spelling} takes a place on this machine; objects of a store are only read"
            )
        kept = _kept()
        kept[address] = kept.get(address) or _place(name_of(address))
        now.append(f"{start}{kept[address]}")
    return now


def _divided(word: str) -> tuple[str, str]:
    """Return `--option=` or `NAME=`, and what follows it."""
    head, equals, tail = word.partition("=")
    return head + equals, tail


def make_copies() -> None:
    """Fetch the objects whose addresses `with_copies` found, which are not there yet."""
    for address, file in _kept().items():
        if is_address(address) and not file.exists():
            with Progress() as line:
                fetch(address, file.parent, partial(_tell, line, address, [0]))


def _tell(line: Progress, address: str, came: list[int], n_bytes: int, size: int | None) -> None:
    came[0] += n_bytes
    line(f"{address}: {came[0] / 1e6:,.0f}" + (f" of {size / 1e6:,.0f} MB" if size else " MB"))


def _place(name: str) -> Path:
    """Return a file of this name in a folder of its own, which is there until all commands have ended."""
    folder = Path(tempfile.mkdtemp())
    root = click.get_current_context().find_root()
    root.call_on_close(partial(shutil.rmtree, folder, ignore_errors=True))
    return folder / name


def own_name(path: Path) -> str:
    """Return what was typed for a file: of one that `as_file` made, the name of the pipe, or `-`."""
    return next((name for name, file in _kept().items() if file == path), str(path))


def in_own_names(message: str) -> str:
    """Return a message in which files that `as_file` made have the names that were typed."""
    for name, file in _kept().items():
        message = message.replace(str(file), name)
        if is_address(name):
            message = message.replace(str(file.parent), name.rpartition("/")[0])
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
