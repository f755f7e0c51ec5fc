"""`media`: will people's browsers play the items, make those that they do not, serve them."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import click

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
from fire_toolkit.cli.media_links import addresses_here, base_and_port
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.cli.server_options import stored_connection
from fire_toolkit.formats.tables.delimited import delimited_text, read_delimited
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import read_items, read_queries
from fire_toolkit.labelstudio.connection import URL_VARIABLE, Connection, checked_url
from fire_toolkit.media.check import TRANSCODE, check_media
from fire_toolkit.media.encode import TARGETS
from fire_toolkit.media.places import file_at, is_address
from fire_toolkit.media.probe import NO
from fire_toolkit.media.transcode import FAILED, transcode_media
from fire_toolkit.tables import Items, check_items

_WORDS = {
    "plays": "play",
    "some browsers": "play in some browsers only",
    "no": "do not play",
    "not looked at": "were not checked",
}
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


class ShownMedia(NamedTuple):
    """What annotators are shown: the items; or the queries, as items, where the items are captions.

    key: the column that names each medium in the file; columns: those of the file, all written again.
    """

    items: Items
    key: str
    columns: list[str]

    @property
    def name(self) -> str:
        """What the media are in fire.toml: `items` or `queries`."""
        return "queries" if self.key == "query_id" else "items"

    def as_text(self, items: Items) -> str:
        """Return these items as a file of the same kind."""
        return delimited_text(items.rename(columns={"doc_id": self.key})[self.columns], delimiter="\t")


def used_media(given: str | None, inputs: Inputs) -> ShownMedia:
    """Return the media of the file given, else of the workspace's."""
    file = Path(given) if given else named_file("items")
    if not given and current_workspace():
        if file is None:
            raise click.UsageError("ITEMS is needed: fire.toml names none ([collection] items)")
        queries = named_file("queries")
        if queries and queries.is_file() and file.is_file() and "text" in read_delimited(file).columns:
            file = queries if "media_url" in read_delimited(queries).columns else file
    path = inputs.use(chosen_path(file, None, "ITEMS"))
    columns = list(read_delimited(path).columns)
    if "doc_id" in columns or not {"query_id", "media_url"} <= set(columns):
        items = read_items(path)
        return ShownMedia(items, "doc_id", list(items.columns))
    table = read_queries(path).rename(columns={"query_id": "doc_id"})
    return ShownMedia(check_items(table, where=str(path)), "query_id", columns)


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
    urls, folder, server = seen.items["media_url"], media_root(root), known_server(origin)
    if any(map(is_address, urls)) and not server:
        raise click.UsageError("--origin is needed: some items are addresses, which must allow its pages")
    kind = ""
    if guideline is not None or current_workspace():
        kind = read_guideline(setting_or_default(guideline, "tasks", "guideline")).item_kind
    with Progress() as progress:
        found = check_media(
            seen.items,
            root=folder,
            origin=server.page_origin if server else "",
            kind=kind,
            report=lambda n: progress(f"{n:,} of {urls.nunique():,} looked at"),
        )
    shown = (found if show_all else found[found["fix"] != ""]).rename(columns={"doc_id": seen.key})
    if output_format not in DRAWN:
        click.echo(formatted(shown, output_format), nl=False)
    elif len(shown):
        columns = [seen.key, "media_url", "state", "reason", "fix"]
        click.echo(drawn(shown[columns].to_numpy().tolist(), columns, output_format, align="left"), nl=False)
    counts = found["state"].value_counts()
    parts = [f"{counts[state]:,} {words}" for state, words in _WORDS.items() if counts.get(state)]
    say(f"{n_of(len(found), 'item')}: {', '.join(parts) or 'none'}")
    if (found["fix"] == TRANSCODE).any():
        say_next(f"media transcode {items} --out transcoded" if items else "media transcode")
    elif any(file_at(url, folder) for url in urls):
        say("note: browsers cannot open local paths; `media serve` gives them URLs")
        say_next("media serve", f"{items} --write-items items.served.tsv")
    if NO in counts:
        ctx.exit(1)


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
    file, target = folder / f"{seen.name}.tsv", TARGETS[codec]
    n_media = seen.items["media_url"].nunique()
    with Progress() as progress:
        done = transcode_media(
            seen.items,
            root=media_root(root),
            out=folder,
            target=target,
            report=lambda n, name: progress(f"{n:,} of {n_media:,}: {name}"),
        )
    counts = Counter(done.files["state"])
    inputs.write(file, {file.name: seen.as_text(done.items)}, "media transcode", {"to": str(target)})
    for url, reason in zip(done.files["media_url"], done.files["reason"], strict=True):
        if reason:
            say(f"{url}: {reason}")
    words = ", ".join(f"{n:,} {state}" for state, n in counts.items()) or "nothing to do"
    summarise(counts, f"{words}; {relative_path(file)} names what is to be shown", as_json=as_json)
    say_items(file, seen.name)
    say_next(f"media check {file}")
    if counts[FAILED]:
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
    from fire_toolkit.media.server import MediaServer, items_at, served_files
    from fire_toolkit.serving import stoppable, wait_to_be_stopped

    inputs = Inputs()
    seen = used_media(items, inputs)
    label_studio = known_server(origin)
    if not label_studio:
        raise click.UsageError("--origin is needed: the address at which Label Studio is opened in a browser")
    pages_from, folder = label_studio.page_origin, media_root(root)
    served = served_files(seen.items, root=folder)
    base, port = base_and_port(base_url, host, port)
    addresses = addresses_here(served.names, base or f"http://{host}:{port}")
    server = MediaServer(
        folder,
        {addresses[url]: name for url, name in served.names.items()},
        origins=[pages_from],
        host=host,
        port=port,
        base_url=base,
        report=say,
    )
    with stoppable() as stopped, server:
        if write_items:
            texts = {write_items.name: seen.as_text(items_at(seen.items, server.base_url, addresses))}
            inputs.write(write_items, texts, "media serve", {"base_url": server.base_url})
            say_items(write_items, seen.name)
        if urlsplit(base).hostname not in (None, host, "localhost"):
            say(f"note: your proxy must pass {base} on to http://{host}:{server.server_port}")
        if served.n_missing:
            missing = n_of(served.n_missing, "file")
            say(f"note: {missing} of the items not there (see `fire-toolkit media check`)")
        if not host.startswith("127."):
            say(f"note: anyone who can reach {host} can fetch these files")
        say(f"{n_of(len(served.names), 'file')} for pages of {pages_from}; Ctrl-C stops")
        click.echo(server.base_url)
        wait_to_be_stopped(stopped)
    say("stopped")
