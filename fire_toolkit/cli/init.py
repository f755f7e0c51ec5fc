"""`init`: a new workspace."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import Annotated

import click

from fire_toolkit.cli.common import say
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.labelstudio.secrets import MEDIA_KEY, SERVER_FOLDER, key_at
from fire_toolkit.workspace.config import CONFIG, config_text, find_workspace
from fire_toolkit.workspace.manifests import write_files

_FOLDER = click.Path(file_okay=False, path_type=Path)


def init(
    folder: Annotated[Path | None, Option(is_argument=True), _FOLDER] = None,
    *,
    guideline: Annotated[str | None, Option(metavar="NAME")] = None,
) -> None:
    """Make a workspace: a folder with a fire.toml and places for collection, runs and exports.

    With a guideline that shows captions alone, such as query-validity-v1, and inside another workspace: one
    for a campaign on the captions of that one, whose `augment` then reads what came of it.

    Args:
        folder: The folder; the one here unless given.
        guideline: The guideline that its tasks are judged by.
    """
    folder = folder or Path()
    path = folder / CONFIG
    if path.exists():
        raise UsageError(f"{path}: already exists; edit it, or choose another folder")
    rules = read_guideline(guideline) if guideline else None
    outer = find_workspace(folder.resolve().parent) if rules and rules.is_of_queries else None
    settings = {"tasks": {"guideline": guideline}} if guideline else {}
    if outer is not None:
        found = {name: outer.path("collection", name) for name in ("queries", "qrels")}
        own = folder.resolve()
        settings["collection"] = {name: os.path.relpath(path, own) for name, path in found.items() if path}
    write_files({path: config_text(settings).encode()})
    if outer is not None:
        (folder / "exports").mkdir(exist_ok=True)
        key_at(folder / SERVER_FOLDER / MEDIA_KEY)
        say(f"{path} written: the captions of {outer.root} are judged there, apart from its pairs")
        say(f"next: cd {quote(str(folder))} && fire-toolkit tasks")
        return
    for name in ("collection", "runs", "exports"):
        (folder / name).mkdir(exist_ok=True)
    key_at(folder / SERVER_FOLDER / MEDIA_KEY)
    say(
        f"{path} written; put queries.tsv and qrels.txt into {folder / 'collection'}, "
        f"runs into {folder / 'runs'}"
    )
    say(f"next: {'' if folder == Path() else f'cd {quote(str(folder))} && '}fire-toolkit status")
