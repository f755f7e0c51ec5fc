"""What the commands share: errors as one line, words for people, standard input, progress, formats."""

from __future__ import annotations

import ctypes
import errno
import io
import math
import os
import shlex
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from fire_toolkit.errors import FileNote, FireError
from fire_toolkit.files import STDIN
from fire_toolkit.plugins import failed_plugin
from fire_toolkit.results import drawn_text
from fire_toolkit.words import n_of as n_of
from fire_toolkit.words import numbers_of as numbers_of

FORMATS = ("table", "csv", "tsv", "json", "latex", "markdown")
DRAWN = ("table", "latex", "markdown")  # for people; the others are long rows


def _show(
    shown: Callable[..., None], said: set[str], message: Warning | str, category: type[Warning], *where: Any
) -> None:
    """Say a note on a file, once; other warnings are shown as before."""
    if issubclass(category, FileNote):
        if str(message) not in said:
            say(f"note: {message}")
        said.add(str(message))
    else:
        shown(message, category, *where)


WORDS = f"{__name__}.words"  # of the command, as they were given; kept in the context


class Range(click.FloatRange):
    """A range of numbers that excludes nan, which click alone lets through."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number", param, ctx)
        return number


class FireGroup(click.Group):
    """A group that ends every error it knows as one line and its exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the work, not of the alphabet."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a FireError, a failure of the system or of a plug-in becomes one line.

        What is printed into a file or a pipe is UTF-8, as all files are, whatever the locale is.
        """
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding=None if sys.stdout.isatty() else "utf-8", errors="replace")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", FileNote)
                warnings.showwarning = partial(_show, warnings.showwarning, set())
                return super().invoke(ctx)
        except FireError as error:
            _end(str(error), error.exit_code)
        except MemoryError:
            _end("not enough memory for this input; close other programs or split the runs by query", 1)
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:  # whoever read it has gone
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                ctx.exit(1)
            if words := failed_plugin(error):
                _end(words, 1)
            if not isinstance(error, OSError):
                raise
            _end(f"{error.filename or 'file'}: {error.strerror or error}", 1)


def _end(message: str, code: int) -> None:
    say(f"error: {message}")
    click.get_current_context().exit(code)


def give_back_memory() -> None:
    """Give what was let go back to the system, which Linux's C library keeps in pieces."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def give_command(*words: str) -> None:
    """Show a command as a person would type it, and run it; this one ends where it fails."""
    say(f"\n$ fire-toolkit {shlex.join(words)}")
    root = click.get_current_context().find_root()
    if code := root.command.main([*words], prog_name=root.info_name, standalone_mode=False):
        click.get_current_context().exit(code)


def say(line: str) -> None:
    """Print a line for a person, on stderr; a note that was said already is not said again.

    A line of progress that stands there is wiped first; the copy of standard input is called `-`.
    """
    context = click.get_current_context(silent=True)
    if context and (wipe := context.meta.get(_WIPES)):
        wipe()
    if context and line.startswith("note: "):
        noted = context.find_root().meta.setdefault(f"{__name__}.notes", set())
        if line in noted:
            return
        noted.add(line)
    copied = context.meta.get(COPIED) if context else None
    click.echo(line if copied is None else line.replace(str(copied), STDIN), err=True)


def draw_rows(rows: Sequence[Sequence[str]], header: Sequence[str], *, align: str = "right") -> None:
    """Print rows of text as a table, on stdout."""
    wipe_progress()
    click.echo(drawn_text(rows, header, "table", align=align), nl=False)


def say_notes(notes: Iterable[object]) -> None:
    """Print each note on a line of its own."""
    for note in notes:
        say(f"note: {note}")


format_option = click.Option(
    ["--format", "output_format"], type=click.Choice(FORMATS), default="table", help="Format of the output."
)
# For a command that prints counts; it is handed `as_json`.
json_option = click.Option(
    ["--format", "as_json"],
    type=click.Choice(["text", "json"]),
    default="text",
    callback=lambda ctx, option, value: value == "json",
    help="json: the counts, on stdout.",
)


COPIED = f"{__name__}.stdin"  # where the context keeps the copy of standard input


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
    if (copied := root.meta.get(COPIED)) is not None:
        return Path(copied)
    folder = Path(tempfile.mkdtemp())
    root.call_on_close(partial(shutil.rmtree, folder, ignore_errors=True))
    file = folder / "stdin"
    with file.open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    root.meta[COPIED] = file
    return file


_WIPES = f"{__name__}.wipes"  # where the context keeps what wipes the line that stands


@dataclass(eq=False)
class Progress:
    """One line on a terminal's stderr that each report overwrites; nothing elsewhere.

    first: the first report.
    """

    first: str = ""
    _width: int = 0

    def __call__(self, words: str) -> None:
        """Show these words."""
        if sys.stderr.isatty():
            if context := click.get_current_context(silent=True):
                if not self._width:
                    wipe_progress()  # of another
                    context.call_on_close(self.clear)
                context.find_root().meta[_WIPES] = self.clear
            click.echo("\r" + words.ljust(self._width), nl=False, err=True)
            self._width = len(words)

    def clear(self, *error: object) -> None:
        """Wipe the line."""
        if self._width:
            click.echo("\r" + " " * self._width + "\r", nl=False, err=True)
            self._width = 0

    def __enter__(self) -> Progress:
        if self.first:
            self(self.first)
        return self

    __exit__ = clear


def wipe_progress() -> None:
    """Wipe the line of progress, if one stands on the terminal, before something else is printed."""
    context = click.get_current_context(silent=True)
    if context and (wipe := context.find_root().meta.get(_WIPES)):
        wipe()


@contextmanager
def metered(things: str, total: float | None) -> Iterator[Callable[[float], None]]:
    """Count things on a terminal's stderr: how many of how many, how fast, how long still; silent elsewhere.

    total: how many there will be; None if nobody knows. What is handed over counts so many more.
    """
    n_done, started = 0.0, time.monotonic()

    def count(n: float) -> None:
        nonlocal n_done
        n_done += n
        rate = n_done / max(time.monotonic() - started, 1e-3)
        of_all = "" if total is None else f" of {total:,.0f}"
        left = f", {(total - n_done) / rate:,.0f} s left" if total is not None and rate else ""
        line(f"{n_done:,.0f}{of_all} {things}, {rate:,.0f}/s{left}")

    with Progress() as line:
        yield count
