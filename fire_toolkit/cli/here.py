"""The workspace here, for every command: its settings, files and lock, and the command that comes next."""

import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click

from fire_toolkit.cli import NAMED
from fire_toolkit.cli.common import say
from fire_toolkit.errors import UsageError
from fire_toolkit.workspace.config import BESIDE, CONFIG, SETTINGS, Workspace, read_workspace
from fire_toolkit.workspace.locks import hold_workspace


def current_workspace(start: Path | None = None) -> Workspace | None:
    """Return the workspace that holds a folder, by default the current one, or None; a command finds it once.

    It is the nearest folder upwards with a fire.toml.
    """
    folder, context = start or Path.cwd(), click.get_current_context(silent=True)
    found: dict[Path, Workspace | None] = context.meta.setdefault(f"{__name__}.found", {}) if context else {}
    if folder not in found:
        roots = (each for each in (folder, *folder.parents) if (each / CONFIG).is_file())
        found[folder] = next(map(read_workspace, roots), None)
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
    workspace = current_workspace()
    return workspace.settings[section][key] if workspace else SETTINGS[section][key]


def own_guideline(named: str | None = None) -> str:
    """Return the guideline given on the command line, else the one that the workspace judges by."""
    from fire_toolkit.formats.tables.guideline_files import guideline_name

    workspace = None if named else current_workspace()
    return guideline_name(workspace) if workspace else str(setting_or_default(named, "tasks", "guideline"))


def outside(option: str) -> click.UsageError:
    """Return the error that an option is needed, be it outside a workspace alone."""
    where = "" if current_workspace() else " outside a workspace (see `fire-toolkit init`)"
    return click.UsageError(f"{option} is needed{where}")


def workspace_path(relative: str) -> Path | None:
    """Return a fixed place of the current workspace, relative to the current folder where it can be."""
    workspace = current_workspace()
    return relative_path(workspace.root / relative) if workspace else None


def made_file(relative: str) -> Path | None:
    """Return a file that a stage has made in the current workspace, or None."""
    path = workspace_path(relative)
    return path if path and path.is_file() else None


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


@contextmanager
def workspace_lock() -> Iterator[None]:
    """Hold the lock of the workspace here, if there is one, in the name of the running command.

    Raises:
        FireError: another command holds it for a minute.
    """
    workspace, name = current_workspace(), click.get_current_context().info_name or "fire-toolkit"
    with hold_workspace(workspace.root, name, report=say) if workspace else nullcontext():
        yield


def say_next(command: str, arguments: str = "") -> None:
    """Name the command that comes next; a workspace knows its arguments."""
    line = f"next: fire-toolkit {command}{'' if current_workspace() or not arguments else f' {arguments}'}"
    say(line)
    for name, of in NAMED.items():
        if name in line.split():
            say(f"      ({name}: {of['is']})")


def named(name: str, given: str | Iterable[str] | None, *, beside: Iterable[str] = ()) -> str:
    """Return for QUERIES, QRELS or RUN... what was given, else what is there, as words of a command.

    It is looked for under its usual name here and beside other files, runs in the folder `runs`. Where there
    is nothing the name itself is returned; `say_next` says what it stands for.
    """
    files = [given] if isinstance(given, str) else [*(given or ())]
    if not files and "usual" in NAMED[name]:
        folders = [Path(), *(Path(file).parent for file in beside)]
        found = (folder / usual for folder in folders for usual in NAMED[name]["usual"])
        files = [str(path) for path in found if path.is_file()][:1]
    elif not files:
        there = sorted(Path("runs").glob("[!.]*"))
        files = [str(path) for path in there if not path.name.endswith(BESIDE)]
    return shlex.join(files) or name
