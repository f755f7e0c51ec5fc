"""`init`: a new workspace."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from fire_toolkit.cli.common import say
from fire_toolkit.errors import UsageError
from fire_toolkit.labelstudio.connection import SERVER_FOLDER
from fire_toolkit.labelstudio.media_key import make_media_key
from fire_toolkit.workspace.config import CONFIG, config_text
from fire_toolkit.workspace.manifests import write_files


@click.command()
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))
def init(folder: Path) -> None:
    """Make a workspace: a folder with a fire.toml and places for collection, runs and exports."""
    path = folder / CONFIG
    if path.exists():
        raise UsageError(f"{path}: is there already; edit it, or choose another folder")
    write_files({path: config_text().encode()})
    for name in ("collection", "runs", "exports"):
        (folder / name).mkdir(exist_ok=True)
    make_media_key(folder / SERVER_FOLDER)
    say(
        f"{path} written; put queries.tsv and qrels.txt into {folder / 'collection'}, "
        f"runs into {folder / 'runs'}"
    )
    say(f"next: {'' if folder == Path() else f'cd {quote(str(folder))} && '}fire-toolkit status")
