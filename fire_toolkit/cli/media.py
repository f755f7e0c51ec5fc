"""`media`: will people's browsers play the items, make those that they do not, serve them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import click
import pandas as pd

from fire_toolkit.cli.common import (
    DRAWN,
    FireGroup,
    chosen_path,
    current_workspace,
    drawn,
    format_option,
    formatted,
    json_option,
    n_of,
    named_file,
    relative_path,
    say,
    say_next,
    setting_or_default,
    summarise,
    together,
    workspace_path,
)
from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.cli.media_links import base_and_port, naming_here
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.cli.server_options import stored_connection
from fire_toolkit.formats.tables.delimited import delimited_text, read_delimited
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import read_items, read_queries
from fire_toolkit.labelstudio.connection import URL_VARIABLE, Connection, checked_url
from fire_toolkit.media.check import check_media
from fire_toolkit.media.encode import TARGETS, check_target
from fire_toolkit.media.places import place_of
from fire_toolkit.media.playable import NO
from fire_toolkit.media.transcode import FAILED, transcode_media
from fire_toolkit.tables import Items, check_items

root_option = click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where relative paths of items start. [default: the workspace, else this folder]",
)
media_arguments = together(click.argument("items", required=False), root_option)
origin_option = click.option(
    "--origin",
    metavar="URL",
    help="Where Label Studio's pages come from. [default: FIRE_LABEL_STUDIO_URL, else the workspace's "
    "server]",
)


def media_root(given: Path | None) -> Path:
    """Return the folder where relative paths of items start, without links and dots."""
    workspace = current_workspace()
    return (given or (workspace.root if workspace else Path.cwd())).resolve()


@dataclass(frozen=True)
class ShownMedia:
    """What annotators are shown: the items; or the queries, as items, where the items are captions.

    columns: those of the file, all of which are written again.
    """

    items: Items
    name: str
    columns: tuple[str, ...]

    @property
    def key(self) -> str:
        """The column that names each medium in the file."""
        return "query_id" if self.name == "queries" else "doc_id"

    def as_text(self, items: Items) -> str:
        """Return these items as a file of the same kind."""
        table = items.rename(columns={"doc_id": self.key})
        if self.name == "queries":
            table = table[list(self.columns)]
        return delimited_text(table, delimiter="\t")


def used_media(given: str | None, inputs: Inputs) -> ShownMedia:
    """Return the media of the file given, else of the workspace's."""
    workspace = current_workspace()
    path = _shown_table() if workspace else None
    if not given and workspace and path is None:
        raise click.UsageError("ITEMS is needed: fire.toml names none ([collection] items)")
    file = chosen_path(given, path, "ITEMS")
    return _read_media(inputs.use(file))


def _shown_table() -> Path | None:
    """Return the workspace's items, or its queries where the items are captions and the queries are seen."""
    items, queries = named_file("items"), named_file("queries")
    if items is None or queries is None or not (items.is_file() and queries.is_file()):
        return items
    are_captions = "text" in read_delimited(items).columns and "media_url" in read_delimited(queries).columns
    return queries if are_captions else items


def _read_media(file: Path) -> ShownMedia:
    columns = tuple(read_delimited(file).columns)
    if "doc_id" in columns or not {"query_id", "media_url"} <= set(columns):
        return ShownMedia(read_items(file), "items", columns)
    table = read_queries(file).rename(columns={"query_id": "doc_id"})
    return ShownMedia(check_items(table, where=str(file)), "queries", columns)


def known_origin(given: str | None) -> str:
    """Return scheme, host and port of Label Studio as given, else as known here; empty if it is not."""
    found = known_server(given)
    return found.page_origin if found else ""


def known_server(given: str | None = None) -> Connection | None:
    """Return Label Studio as given, else as environment or workspace name it; perhaps without a token."""
    url = given or os.environ.get(URL_VARIABLE)
    return Connection(checked_url(url), "") if url else stored_connection()


@click.group(cls=FireGroup, context_settings={"help_option_names": ["-h", "--help"]})
def media() -> None:
    """Check whether browsers play the items, transcode those that they do not, and serve them.

    The annotation page shows no error when a video does not play, so check before annotators start.
    """


@media.command()
@media_arguments
@origin_option
@click.option(
    "--guideline",
    metavar="NAME",
    help="Also check that items are what its page shows. [default: the workspace's]",
)
@click.option("--all", "show_all", is_flag=True, help="Show the items that play, too.")
@format_option
@click.pass_context
def check(
    ctx: click.Context,
    items: str | None,
    root: Path | None,
    origin: str | None,
    guideline: str | None,
    show_all: bool,
    output_format: str,
) -> None:
    """Check every item: whether it exists, a browser plays it, and its address answers correctly.

    ITEMS is a CSV or TSV with doc_id (or query_id, where captions are the items) and media_url, a path
    or an address. An address must answer a page of Label Studio (CORS) and in parts (Range). Prints
    each item that will not play, why, and how to fix it; exit code 1 if there is one.
    """
    seen = used_media(items, Inputs())
    table = seen.items
    folder = media_root(root)
    pages_from = known_origin(origin)
    kinds = [place_of(url, folder).kind for url in table["media_url"]]
    if "url" in kinds and not pages_from:
        raise click.UsageError("--origin is needed: some items are addresses, which must allow its pages")
    with Progress() as progress:
        found = check_media(
            table,
            root=folder,
            origin=pages_from,
            kind=_page_kind(guideline),
            report=lambda n: progress(f"{n:,} of {table['media_url'].nunique():,} looked at"),
        )
    named = found.rename(columns={"doc_id": seen.key})
    _print(named if show_all else named[named["fix"] != ""], output_format)
    _say_result(found, items, n_files=kinds.count("file"))
    if (found["state"] == NO).any():
        ctx.exit(1)


def _page_kind(guideline: str | None) -> str:
    """Return the kind of item that the guideline's page shows; empty where none is named."""
    if guideline is None and current_workspace() is None:
        return ""
    return read_guideline(setting_or_default(guideline, "tasks", "guideline")).item_kind


def _print(found: pd.DataFrame, output_format: str) -> None:
    if output_format not in DRAWN:
        click.echo(formatted(found, output_format), nl=False)
        return
    columns = [found.columns[0], "media_url", "state", "reason", "fix"]
    rows = [list(map(str, row)) for row in found[columns].itertuples(index=False)]
    if rows:
        click.echo(drawn(rows, columns, output_format, align="left"), nl=False)


def _say_result(found: pd.DataFrame, items: str | None, *, n_files: int) -> None:
    counts = found["state"].value_counts()
    parts = [f"{counts[state]:,} {words}" for state, words in _WORDS.items() if counts.get(state)]
    say(f"{n_of(len(found), 'item')}: {', '.join(parts) or 'none'}")
    if (found["fix"] == "fire-toolkit media transcode").any():
        say_next(f"media transcode {items} --out transcoded" if items else "media transcode")
    elif n_files:
        say("note: browsers cannot open local paths; `media serve` gives them URLs")
        say_next("media serve", f"{items} --write-items items.served.tsv")


_WORDS = {
    "plays": "play",
    "some browsers": "play in some browsers only",
    "no": "do not play",
    "not looked at": "were not checked",
}


@media.command()
@media_arguments
@click.option(
    "--to", "codec", type=click.Choice(list(TARGETS)), default="h264", show_default=True, help="Which codec."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder for the videos, items.tsv and the record. [default: media/transcoded of the workspace]",
)
@json_option
@click.pass_context
def transcode(
    ctx: click.Context, items: str | None, root: Path | None, codec: str, out: Path | None, as_json: bool
) -> None:
    """Transcode videos that some browsers do not play to H.264 or VP9, without sound; write a new items.tsv.

    Videos that play are left alone. A killed run resumes where it stopped: finished videos are known
    by their hashes. One encoder thread, so the same video gives the same bytes. Exit code 1 if a
    video cannot be done; its item keeps the old media_url.
    """
    folder = chosen_path(out, workspace_path("media/transcoded"), "--out")
    inputs = Inputs()
    seen = used_media(items, inputs)
    table, file = seen.items, folder / f"{seen.name}.tsv"
    target = check_target(codec)
    n_media = table["media_url"].nunique()
    with Progress() as progress:
        done = transcode_media(
            table,
            root=media_root(root),
            out=folder,
            target=target,
            report=lambda n, name: progress(f"{n:,} of {n_media:,}: {name}"),
        )
    counts = done.counts
    texts = {file.name: seen.as_text(done.items)}
    parameters = {"to": str(target)}
    inputs.write(file, texts, "media transcode", parameters)
    for url, reason in zip(done.files["media_url"], done.files["reason"], strict=True):
        if reason:
            say(f"{url}: {reason}")
    words = ", ".join(f"{n:,} {state}" for state, n in counts.items()) or "nothing to do"
    summarise(counts, f"{words}; {relative_path(file)} names what is to be shown", as_json=as_json)
    say_items(file, seen.name)
    say_next(f"media check {file}")
    if counts.get(FAILED):
        ctx.exit(1)


def say_items(path: Path, key: str) -> None:
    """Say how a workspace comes to use new `items` or `queries`."""
    workspace = current_workspace()
    if workspace and workspace.path("collection", key) != Path.cwd() / path:
        whole = (Path.cwd() / path).resolve()
        name = whole.relative_to(workspace.root) if whole.is_relative_to(workspace.root) else whole
        say(f'to use it, write in fire.toml under [collection]: {key} = "{name.as_posix()}"')


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
    lead to (/m/HASH.mp4, by a key in .labelstudio/), and `tasks` writes them.
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
        served.names.values() if naming.key is None else (),
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
