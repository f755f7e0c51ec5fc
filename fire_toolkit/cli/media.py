"""Check whether browsers play the items, transcode those that they do not, and serve them.

The annotation page shows no error when a video does not play, so check before annotators start.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal, NamedTuple
from urllib.parse import urlsplit

import click

from fire_toolkit.cli.campaigns import stored_connection
from fire_toolkit.cli.common import (
    DRAWN,
    Progress,
    current_workspace,
    n_of,
    named_file,
    outside,
    own_guideline,
    relative_path,
    say,
    say_next,
)
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.media_links import addresses_here, base_and_port, media_root
from fire_toolkit.commands.types import Option
from fire_toolkit.formats.tables.delimited import delimited_text, read_delimited
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import read_items, read_queries
from fire_toolkit.formats.tables.table_text import table_text
from fire_toolkit.labelstudio.connection import URL_VARIABLE, Connection
from fire_toolkit.media.check import TRANSCODE, check_media
from fire_toolkit.media.places import checked_url, file_at, is_address
from fire_toolkit.media.probe import NO
from fire_toolkit.media.transcode import FAILED, TARGETS, transcode_media
from fire_toolkit.results import drawn_text
from fire_toolkit.tables import Items, check_items

_WORDS = {
    "plays": "play",
    "some browsers": "play in some browsers only",
    "no": "do not play",
    "not looked at": "were not checked",
}
ItemsFile = Annotated[str | None, Option(is_argument=True, metavar="[ITEMS]")]


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


def used_media(given: str | None, inputs: Given) -> ShownMedia:
    """Return the media of the file given, else of the workspace's."""
    file = Path(given) if given else named_file("items")
    if not given and current_workspace():
        if file is None:
            raise click.UsageError("ITEMS is needed: fire.toml names none ([collection] items)")
        queries = named_file("queries")
        if queries and queries.is_file() and file.is_file() and "text" in read_delimited(file).columns:
            file = queries if "media_url" in read_delimited(queries).columns else file
    if file is None:
        raise outside("ITEMS")
    path = inputs.use(file)
    columns = list(read_delimited(path).columns)
    if "doc_id" in columns or not {"query_id", "media_url"} <= set(columns):
        items = read_items(path)
        return ShownMedia(items, "doc_id", list(items.columns))
    table = read_queries(path).rename(columns={"query_id": "doc_id"})
    return ShownMedia(check_items(table, where=str(path)), "query_id", columns)


def known_server() -> Connection | None:
    """Return Label Studio as environment or workspace name it; perhaps without a token."""
    url = os.environ.get(URL_VARIABLE)
    return Connection(checked_url(url), "") if url else stored_connection()


def check(items: ItemsFile = None, *, output_format: str) -> int:
    """Check every item: whether it exists, a browser plays it, and its address answers correctly.

    ITEMS is a CSV or TSV with doc_id (or query_id, where captions are the items) and media_url, a path
    or an address. An address must answer pages of Label Studio (that of FIRE_LABEL_STUDIO_URL, else the
    workspace's) by CORS, and in parts (Range). Prints each item that will not play, why, and how to
    fix it (as CSV or JSON: every item); exit code 1 if there is one. In a workspace items
    must also be what its guideline's page shows.

    """
    seen = used_media(items, Given())
    urls, folder, server = seen.items["media_url"], media_root(), known_server()
    if any(map(is_address, urls)) and not server:
        raise click.UsageError(
            f"set {URL_VARIABLE} to the address of Label Studio, whose pages some items' addresses must allow"
        )
    kind = read_guideline(own_guideline()).item_kind if current_workspace() else ""
    with Progress() as progress:
        found = check_media(
            seen.items,
            root=folder,
            origin=server.page_origin if server else "",
            kind=kind,
            report=lambda n: progress(f"{n:,} of {urls.nunique():,} looked at"),
        )
    found = found.rename(columns={"doc_id": seen.key})
    if output_format not in DRAWN:
        click.echo(table_text(found, output_format), nl=False)
    elif len(shown := found[found["fix"] != ""]):
        columns = [seen.key, "media_url", "state", "reason", "fix"]
        rows = shown[columns].to_numpy().tolist()
        click.echo(drawn_text(rows, columns, output_format, align="left"), nl=False)
    counts = found["state"].value_counts()
    parts = [f"{counts[state]:,} {words}" for state, words in _WORDS.items() if counts.get(state)]
    say(f"{n_of(len(found), 'item')}: {', '.join(parts) or 'none'}")
    if (found["fix"] == TRANSCODE).any():
        say_next(f"media transcode {items} --out transcoded" if items else "media transcode")
    elif any(file_at(url, folder) for url in urls):
        say("note: browsers cannot open local paths; `media serve` gives them URLs")
        say_next("media serve", f"{items} --write-items items.served.tsv")
    return 1 if NO in counts else 0


def transcode(
    items: ItemsFile = None,
    *,
    to: Literal["h264", "vp9"] = "h264",
    out: Annotated[Path | None, click.Path(file_okay=False, path_type=Path), Option(metavar="DIR")] = None,
) -> int:
    """Transcode videos that some browsers do not play to H.264 or VP9, without sound; write a new items.tsv.

    Videos that play are left alone, and a killed run resumes where it stopped. The same video gives the same
    bytes. A video that cannot be transcoded keeps its media_url, and the exit code is then 1.

    Args:
        to: Which codec.
        out: Folder for the videos and items.tsv. [default: media/transcoded of the workspace, or of
            [media] root in fire.toml]
    """
    inputs = Given({"out": out})
    folder = inputs.out(str(media_root() / "media/transcoded") if current_workspace() else None)
    seen = used_media(items, inputs)
    file, target = folder / f"{seen.name}.tsv", TARGETS[to]
    n_media = seen.items["media_url"].nunique()
    with Progress() as progress:
        made, files = transcode_media(
            seen.items,
            root=media_root(),
            out=folder,
            target=target,
            report=lambda n, name: progress(f"{n:,} of {n_media:,}: {name}"),
        )
    counts = Counter(files["state"])
    inputs.write(file, {file.name: seen.as_text(made)}, "media transcode", {"to": str(target)})
    for url, reason in zip(files["media_url"], files["reason"], strict=True):
        if reason:
            say(f"{url}: {reason}")
    words = ", ".join(f"{n:,} {state}" for state, n in counts.items()) or "nothing to do"
    say(f"{words}; {relative_path(file)} names what is to be shown")
    say_items(file, seen.name)
    say_next(f"media check {file}")
    return 1 if counts[FAILED] else 0


def say_items(path: Path, key: str) -> None:
    """Say how a workspace comes to use new `items` or `queries`."""
    workspace = current_workspace()
    if workspace and workspace.path("collection", key) != Path.cwd() / path:
        whole = (Path.cwd() / path).resolve()
        name = whole.relative_to(workspace.root) if whole.is_relative_to(workspace.root) else whole
        say(f'to use it, write in fire.toml under [collection]: {key} = "{name.as_posix()}"')


def serve(
    items: ItemsFile = None,
    *,
    port: Annotated[int | None, click.IntRange(0, 65535)] = None,
    host: Annotated[str, Option(metavar="ADDRESS")] = "127.0.0.1",
    write_items: Annotated[Path | None, click.Path(dir_okay=False, path_type=Path)] = None,
) -> None:
    """Serve the items' files on this machine to Label Studio's pages until Ctrl-C; print the base URL.

    Only the items' files are served, and only pages of Label Studio may read them; refused requests are
    shown. In a workspace `tasks` writes addresses that do not tell the file. They begin with [media] url of
    fire.toml, else with /media of the server's --public-url, else with http://ADDRESS:PORT.

    Args:
        port: It stands in the tasks: keep to it. 0: any free one. [default: that of [media] url in fire.toml,
            else the workspace's own, from 8790 on]
        host: Another IPv4 address of this machine lets others in.
        write_items: Write the items with addresses, for `fire-toolkit tasks`.
    """
    from fire_toolkit.media.server import MediaServer, items_at, served_files
    from fire_toolkit.media.serving import stoppable, wait_to_be_stopped

    inputs = Given()
    seen = used_media(items, inputs)
    label_studio = known_server()
    if not label_studio:
        raise click.UsageError(f"set {URL_VARIABLE} to the address at which browsers open Label Studio")
    pages_from, folder = label_studio.page_origin, media_root()
    names, n_missing = served_files(seen.items, root=folder)
    base, port = base_and_port(host, port)
    addresses = addresses_here(names, base or f"http://{host}:{port}")
    server = MediaServer(
        folder,
        {addresses[url]: name for url, name in names.items()},
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
        if n_missing:
            missing = n_of(n_missing, "file")
            say(f"note: {missing} of the items not there (see `fire-toolkit media check`)")
        if not host.startswith("127."):
            say(f"note: anyone who can reach {host} can fetch these files")
        say(f"{n_of(len(names), 'file')} for pages of {pages_from}; Ctrl-C stops")
        click.echo(server.base_url)
        wait_to_be_stopped(stopped)
    say("stopped")


COMMANDS = (check, transcode, serve)
