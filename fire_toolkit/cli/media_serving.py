"""`media serve` and `media local-storage`: addresses at which browsers find the items."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import click

from fire_toolkit.campaign.records import read_campaign
from fire_toolkit.cli.common import current_workspace, json_option, n_of, say, say_next, summarise
from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.cli.media import (
    ShownMedia,
    known_origin,
    media,
    media_arguments,
    media_root,
    origin_option,
    say_items,
    used_media,
)
from fire_toolkit.cli.media_links import base_and_port, naming_here
from fire_toolkit.cli.server_options import connection_from, connection_options
from fire_toolkit.errors import UsageError
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.connection import SERVER_FOLDER, Connection
from fire_toolkit.labelstudio.local_state import read_state
from fire_toolkit.labelstudio.local_storage import add_storages, local_files_url, storage_folder
from fire_toolkit.labelstudio.projects import campaign_projects
from fire_toolkit.tables import Items

__all__ = ["media"]


@media.command()
@media_arguments
@origin_option
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="It stands in the tasks: keep to it. 0: any free one. [default: that of [media] url in fire.toml, "
    "else 8790]",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Another IPv4 address of this machine lets others in.",
)
@click.option(
    "--base-url",
    metavar="URL",
    help="How browsers reach it. [default: [media] url in fire.toml, else /media of the server's "
    "--public-url, else http://ADDRESS:PORT]",
)
@click.option(
    "--write-items",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the items with addresses, for `fire-toolkit tasks`.",
)
def serve(
    items: str | None,
    root: Path | None,
    origin: str | None,
    port: int | None,
    host: str,
    base_url: str | None,
    write_items: Path | None,
) -> None:
    """Serve the items' files on this machine to Label Studio's pages until Ctrl-C; print the base URL.

    Only files of the items are served, in parts (Range), and only pages of the given Label Studio may
    read them (CORS). Each refused request is shown. In a workspace addresses do not tell which file they
    lead to (/m/HASH.mp4, by a key in .labelstudio/), and `tasks` writes them; those of tasks that name files
    are answered, too.
    """
    from fire_toolkit.media.server import MediaServer, served_files
    from fire_toolkit.serving import stoppable, wait_to_be_stopped

    inputs = Inputs()
    seen = used_media(items, inputs)
    pages_from = known_origin(origin)
    if not pages_from:
        raise click.UsageError("--origin is needed: the address at which Label Studio is opened in a browser")
    folder = media_root(root)
    served = served_files(seen.items, root=folder)
    base, port = base_and_port(base_url, host, port)
    naming = naming_here(served.names, base or f"http://{host}:{port}")
    server = MediaServer(
        folder,
        served.names.values() if naming.by_name else (),
        origins=[pages_from],
        host=host,
        port=port,
        base_url=base,
        opaque=naming.opaque(served.names),
        report=say,
    )
    with stoppable() as stopped, server:
        if write_items:
            moved = served.items_at(seen.items, server.base_url, naming.addresses(served.names))
            texts = {write_items.name: seen.as_text(moved)}
            parameters = {"base_url": server.base_url}
            inputs.write(write_items, texts, "media serve", parameters)
            say_items(write_items, seen.name)
        if urlsplit(base).hostname not in (None, host, "localhost"):
            say(f"note: your proxy must pass {base} on to http://{host}:{server.server_port}")
        _say_served(server.base_url, len(served.names), served.n_missing, pages_from, host)
        wait_to_be_stopped(stopped)
    say("stopped")


def _say_served(base_url: str, n_files: int, n_missing: int, pages_from: str, host: str) -> None:
    if n_missing:
        say(f"note: {n_of(n_missing, 'file')} of the items not there (see `fire-toolkit media check`)")
    if not host.startswith("127."):
        say(f"note: anyone who can reach {host} can fetch these files")
    say(f"{n_of(n_files, 'file')} for pages of {pages_from}; Ctrl-C stops")
    click.echo(base_url)


@media.command(name="local-storage")
@media_arguments
@click.option(
    "--document-root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The server's LOCAL_FILES_DOCUMENT_ROOT. [default: --media of the workspace's server]",
)
@click.option(
    "--project",
    "projects",
    multiple=True,
    type=click.IntRange(min=1),
    help="A project's number (may be repeated). [default: all that were pushed from the workspace]",
)
@click.option(
    "--write-items",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Only write the items with addresses, for `fire-toolkit tasks`; ask no server.",
)
@connection_options
@json_option
def local_storage(
    items: str | None,
    root: Path | None,
    document_root: Path | None,
    projects: tuple[int, ...],
    write_items: Path | None,
    url: str | None,
    token_file: Path | None,
    as_json: bool,
) -> None:
    """Let Label Studio serve the items' files to anyone logged in there.

    First with --write-items: items with addresses, from which tasks are made. After every push
    without it: each project is given a storage on the folder that holds the files, which must lie
    below the server's document root on the server's machine. Nothing is synchronised.
    """
    from fire_toolkit.media.server import served_files

    inputs = Inputs()
    seen = used_media(items, inputs)
    base = PurePosixPath(_document_root(document_root))
    folder = media_root(root)
    served = served_files(seen.items, root=folder)
    files = {media_url: PurePosixPath(folder / name) for media_url, name in served.names.items()}
    holder = storage_folder(files.values(), base)
    if write_items:
        _write_local_items(write_items, seen, files, base, inputs)
        say_next(f"tasks --items {write_items}", "POOL --queries QUERIES --out tasks.json")
        return
    connection = connection_from(url, token_file)
    wanted = projects or _pushed_projects(connection)
    added = add_storages(connection, wanted, holder)
    counts = {"projects": len(added), "added": sum(added.values())}
    words = f"{n_of(counts['projects'], 'project')} can show {holder}; {counts['added']:,} could not before"
    summarise(counts, words, as_json=as_json)


def _write_local_items(
    path: Path,
    seen: ShownMedia,
    files: Mapping[str, PurePosixPath],
    document_root: PurePosixPath,
    inputs: Inputs,
) -> None:
    urls = {media_url: local_files_url(file, document_root) for media_url, file in files.items()}
    moved = Items(seen.items.assign(media_url=[urls.get(url, url) for url in seen.items["media_url"]]))
    texts = {path.name: seen.as_text(moved)}
    parameters = {"document_root": str(document_root)}
    inputs.write(path, texts, "media local-storage", parameters)
    say(f"{n_of(len(urls), 'file')} with the addresses that Label Studio gives them: {path}")
    say_items(path, seen.name)


def _document_root(given: Path | None) -> Path:
    """Return the server's document root as given, else as the workspace's server was started with."""
    if given is not None:
        return given.resolve()
    workspace = current_workspace()
    state = read_state(workspace.root / SERVER_FOLDER) if workspace else None
    if state is None:
        raise click.UsageError("--document-root is needed: no server was started from a workspace here")
    return Path(state.media).resolve()


def _pushed_projects(connection: Connection) -> list[int]:
    workspace = current_workspace()
    campaign = read_campaign(workspace.root) if workspace else None
    if campaign is None:
        raise UsageError("nothing was pushed from here; push first, or name projects (--project)")
    with Api(connection) as api:
        found = campaign_projects(api, campaign)
    return [int(project["id"]) for queue in found.values() for project in queue]
