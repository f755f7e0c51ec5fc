"""What the commands share: errors as one line, words for people, the workspace's files, formats."""

from __future__ import annotations

import errno
import gc
import math
import os
import shlex
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from fire_toolkit.errors import FileNote, FireError, UsageError
from fire_toolkit.files import STDIN
from fire_toolkit.plugins import failed_plugin
from fire_toolkit.words import n_of as n_of
from fire_toolkit.words import numbers_of as numbers_of
from fire_toolkit.workspace.config import Workspace, find_workspace
from fire_toolkit.workspace.locks import hold_workspace

FORMATS = ("table", "csv", "tsv", "json", "latex", "markdown")
DRAWN = ("table", "latex", "markdown")  # for people; the others are long rows


def _show(
    shown: Callable[..., None], noted: set[str], message: Warning | str, category: type[Warning], *where: Any
) -> None:
    """Say a note on a file that was not noted yet; other warnings are shown as before."""
    if not issubclass(category, FileNote):
        shown(message, category, *where)
    elif str(message) not in noted:
        noted.add(str(message))
        say(f"note: {message}")


_USUAL = {
    "QUERIES": ("queries.tsv", "queries.csv"),
    "QRELS": ("qrels.original.txt", "qrels.txt", "qrels.trec", "qrels.tsv", "qrels.csv"),
}
MEANINGS = {
    "QUERIES": "your queries, CSV or TSV with query_id and text",
    "QRELS": "the original qrels",
    "POOL": "the folder that `pool` wrote",
    "RUN...": "the files of your runs",
    "EXPORT.json": "what Label Studio exported as JSON",
}
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
        """Run the command; a FireError, a failure of the system or of a plug-in becomes one line."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", FileNote)
                warnings.showwarning = partial(_show, warnings.showwarning, set())
                try:
                    return super().invoke(ctx)
                finally:
                    wipe_progress()
        except FireError as error:
            _end(str(error), error.exit_code)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(1)
        except MemoryError:
            _end("not enough memory for this input; close other programs or split the runs by query", 1)
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                ctx.exit(1)
            if words := failed_plugin(error):
                _end(words, 1)
            if not isinstance(error, OSError):
                raise
            _end(f"{error.filename or 'file'}: {error.strerror or error}", 1)


def _end(message: str, code: int) -> None:
    click.echo(f"error: {in_own_names(message)}", err=True)
    click.get_current_context().exit(code)


@contextmanager
def without_collection() -> Iterator[None]:
    """Look for no cycles among objects meanwhile: where millions are made, none of which is in one."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def give_command(*words: str) -> None:
    """Show a command as a person would type it, and run it; this one ends where it fails."""
    say(f"\n$ fire-toolkit {shlex.join(words)}")
    root = click.get_current_context().find_root()
    if code := root.command.main([*words], prog_name=root.info_name, standalone_mode=False):
        click.get_current_context().exit(code)


def say(line: str) -> None:
    """Print a line for a person, on stderr; a note that was said already is not said again.

    A line of progress that stands there is wiped first.
    """
    context = click.get_current_context(silent=True)
    wipe_progress()
    if context and line.startswith("note: "):
        noted = context.find_root().meta.setdefault(f"{__name__}.notes", set())
        if line in noted:
            return
        noted.add(line)
    click.echo(in_own_names(line), err=True)


def say_notes(notes: Iterable[object]) -> None:
    """Print each note on a line of its own."""
    for note in notes:
        say(f"note: {note}")


def say_next(command: str, arguments: str = "") -> None:
    """Name the command that comes next; a workspace knows its arguments."""
    line = f"next: fire-toolkit {command}{'' if current_workspace() or not arguments else f' {arguments}'}"
    say(line)
    for name, meaning in MEANINGS.items():
        if name in line.split():
            say(f"      ({name}: {meaning})")


def current_workspace() -> Workspace | None:
    """Return the workspace of the current folder, or None; a command finds it once in each folder."""
    folder, context = Path.cwd(), click.get_current_context(silent=True)
    if context is None:
        return find_workspace(folder)
    found: dict[Path, Workspace | None] = context.find_root().meta.setdefault(f"{__name__}.found", {})
    if folder not in found:
        found[folder] = find_workspace(folder)
    return found[folder]


def needed_workspace(why: str = "") -> Workspace:
    """Return the workspace of the current folder; a usage error, which ends in `why`, where there is none."""
    if (workspace := current_workspace()) is None:
        words = "no fire.toml in this folder or above it"
        if why:
            raise UsageError(words + why)
        raise click.UsageError(f"{words}; make a workspace with `fire-toolkit init`")
    return workspace


def setting_or_default(value: Any, section: str, key: str) -> Any:
    """Return the value given on the command line, else the workspace's, else the default."""
    if value is not None and value != ():
        return value
    from fire_toolkit.workspace.config import SETTINGS

    workspace = current_workspace()
    return workspace.setting(section, key) if workspace else SETTINGS[section][key]


def own_guideline(named: str | None = None) -> str:
    """Return the guideline given on the command line, else the one that the workspace judges by."""
    from fire_toolkit.formats.tables.guideline_files import guideline_name

    workspace = None if named else current_workspace()
    return guideline_name(workspace) if workspace else str(setting_or_default(named, "tasks", "guideline"))


def outside(option: str) -> click.UsageError:
    """Return the error that outside a workspace an option is needed."""
    return click.UsageError(f"{option} is needed outside a workspace (see `fire-toolkit init`)")


def workspace_path(relative: str) -> Path | None:
    """Return a fixed place of the current workspace, relative to the current folder where it can be."""
    workspace = current_workspace()
    return relative_path(workspace.root / relative) if workspace else None


def made_file(relative: str) -> Path | None:
    """Return a file that a stage has made in the current workspace, or None."""
    path = workspace_path(relative)
    return path if path and path.is_file() else None


def named_file(key: str, section: str = "collection") -> Path | None:
    """Return the path that the workspace names, whether or not a file is there; or None."""
    workspace = current_workspace()
    path = workspace.path(section, key) if workspace else None
    return relative_path(path) if path else None


def named_files(section: str, key: str) -> list[Path]:
    """Return the files that match the workspace's patterns, sorted; empty without a workspace."""
    workspace = current_workspace()
    return [relative_path(path) for path in workspace.paths(section, key)] if workspace else []


def relative_path(path: Path) -> Path:
    """Return `path` relative to the current folder when it lies below it, for words and manifests."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


def writes_workspace(command: Callable[..., Any]) -> Callable[..., Any]:
    """Make a command hold the lock of the workspace it is called in; elsewhere nothing is locked."""

    @wraps(command)
    def alone(*arguments: Any, **options: Any) -> Any:
        with workspace_lock():
            return command(*arguments, **options)

    return alone


def workspace_lock() -> AbstractContextManager[Any]:
    """Hold the lock of the workspace here, if there is one, in the name of the running command.

    Raises:
        FireError: another command holds it for a minute.
    """
    workspace = current_workspace()
    if workspace is None:
        return nullcontext()
    name = click.get_current_context().info_name or "fire-toolkit"
    return hold_workspace(workspace.root, name, report=say)


def named(name: str, given: str | Iterable[str] | None, *, beside: Iterable[str] = ()) -> str:
    """Return for QUERIES, QRELS or RUN... what was given, else what is there, as words of a command.

    It is looked for under its usual name here and beside other files, runs in the folder `runs`. Where there
    is nothing the name itself is returned; `say_next` says what it stands for.
    """
    files = [given] if isinstance(given, str) else [*(given or ())]
    if not files and name in _USUAL:
        folders = [Path(), *(Path(file).parent for file in beside)]
        found = (folder / usual for folder in folders for usual in _USUAL[name])
        files = [str(path) for path in found if path.is_file()][:1]
    elif not files:
        there = sorted(Path("runs").glob("[!.]*"))
        files = [str(path) for path in there if not path.name.endswith(".manifest.json")]
    return shlex.join(files) or name


format_option = click.option(
    "--format", "output_format", type=click.Choice(FORMATS), default="table", help="Format of the output."
)
# For a command that prints counts; it is handed `as_json`.
json_option = click.option(
    "--format",
    "as_json",
    type=click.Choice(["text", "json"]),
    default="text",
    callback=lambda ctx, option, value: value == "json",
    help="json: the counts, on stdout.",
)


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


class Meter:
    """Counts things on a terminal's stderr: how many of how many, how fast, how long still; silent elsewhere.

    total: how many there will be; None if nobody knows.
    """

    def __init__(self, things: str, total: float | None) -> None:
        self._things = things
        self._total = total
        self._n_done = 0.0
        self._started = time.monotonic()
        self._line = Progress()

    def __call__(self, n: float) -> None:
        """Count `n` more."""
        self._n_done += n
        rate = self._n_done / max(time.monotonic() - self._started, 1e-3)
        if self._total is None:
            self._line(f"{self._n_done:,.0f} {self._things}, {rate:,.0f}/s")
            return
        left = f", {(self._total - self._n_done) / rate:,.0f} s left" if rate else ""
        self._line(f"{self._n_done:,.0f} of {self._total:,.0f} {self._things}, {rate:,.0f}/s{left}")

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *error: object) -> None:
        self._line.clear()
