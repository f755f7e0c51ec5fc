"""Check whether browsers play the items, transcode those that they do not, and serve them.

The annotation page shows no error when a video does not play, so check before annotators start.
"""

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

import click
import pandas as pd

from fire_toolkit.campaign.tasks import make_tasks
from fire_toolkit.cli.campaigns import stored_connection
from fire_toolkit.cli.common import DRAWN, Progress, n_of, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.here import (
    current_workspace,
    needed_workspace,
    outside,
    own_guideline,
    relative_path,
    say_next,
    setting_or_default,
)
from fire_toolkit.commands.types import Option
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import ShownItems, has_columns, read_shown
from fire_toolkit.formats.tables.table_text import table_text
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.connection import MEDIA_KEY, SERVER_FOLDER, URL_VARIABLE, Connection, key_at
from fire_toolkit.matching.own_items import own_items_of
from fire_toolkit.media.links import TRANSCODE, check_media
from fire_toolkit.media.places import LOOPBACK_HOSTS, PORT, OwnMedia, checked_url, file_at, is_address
from fire_toolkit.media.probe import NO
from fire_toolkit.media.transcode import FAILED, TARGETS, transcode_media
from fire_toolkit.results import drawn_text
from fire_toolkit.tables import Pool, Tasks
from fire_toolkit.workspace.rounds import handed_out

Table = TypeVar("Table", bound="pd.DataFrame")
_N_PORTS = 1000
_NO_SERVER = f"set {URL_VARIABLE} to the address at which browsers open Label Studio"
_WORDS = {
    "plays": "play",
    "some browsers": "play in some browsers only",
    "no": "do not play",
    "not looked at": "were not checked",
}
ItemsFile = Annotated[str | None, Option(is_argument=True, metavar="[ITEMS]")]


def used_media(given: str | None, inputs: Given) -> ShownItems:
    """Return the media of the file given, else of the workspace's."""
    file = Path(given) if given else Given().path("items")
    if not given and current_workspace():
        if file is None:
            raise click.UsageError("ITEMS is needed: fire.toml names none ([collection] items)")
        queries = Given().path("queries")
        are_there = queries is not None and queries.is_file() and file.is_file()
        if queries and are_there and has_columns(file, "text") and has_columns(queries, "media_url"):
            file = queries
    if file is None:
        raise outside("ITEMS")
    return read_shown(inputs.use(file))


def known_server() -> Connection | None:
    """Return Label Studio as environment or workspace name it; perhaps without a token."""
    url = os.environ.get(URL_VARIABLE)
    return Connection(checked_url(url), "") if url else stored_connection()


def check(items: ItemsFile = None, *, output_format: str) -> int:
    """Check every item: whether it exists, a browser plays it, and its address answers correctly.

    ITEMS is a CSV or TSV with doc_id (or query_id, where captions are the items) and media_url, a path
    or an address. An address must answer in parts (Range) and, where a Label Studio is known (that of
    FIRE_LABEL_STUDIO_URL, else the workspace's), its pages by CORS. Prints each item that will not play,
    why, and how to fix it (as CSV or JSON: every item); exit code 1 if there is one. In a workspace items
    must also be what its guideline's page shows.

    """
    seen = used_media(items, Given())
    urls, folder, server = seen.items["media_url"], media_root(), known_server()
    if any(map(is_address, urls)) and not server:
        say(f"note: whether pages of Label Studio may read addresses was not checked; {_NO_SERVER} for that")
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
        say_next(f"media transcode {quote(items)} --out transcoded" if items else "media transcode")
    elif any(file_at(url, folder) for url in urls):
        say("note: browsers cannot open local paths; `media serve` gives them URLs")
        say_next("media serve", f"{quote(items or '')} --write-items items.served.tsv")
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
    say_next(f"media check {quote(str(file))}")
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
        raise click.UsageError(_NO_SERVER)
    pages_from, folder = label_studio.page_origin, media_root()
    names, n_missing = served_files(seen.items, root=folder)
    base = own_media().base  # [media] url stands back where host or port are given for this machine
    parts = urlsplit(base)
    is_here = parts.hostname in LOOPBACK_HOSTS
    base = "" if is_here and (port is not None or host not in LOOPBACK_HOSTS) else base
    port = (parts.port if is_here and parts.port else PORT) if port is None else port
    addresses = dict(names)  # in a workspace names by its key, which it gets now if it has none
    if workspace := current_workspace():
        key = key_at(workspace.root / SERVER_FOLDER / MEDIA_KEY)
        media = OwnMedia(folder, base or f"http://{host}:{port}", key)
        say_lost(media, names)
        addresses = media.names(names)
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


# The addresses that a workspace's own media get: in tasks, and where `media serve` answers


def media_root() -> Path:
    """Return the folder where relative paths of items start, without links and dots.

    [media] root in fire.toml says so; else it is the workspace, or outside of one the current folder. Files
    that lie elsewhere are shown to nobody: a path or a link in a benchmark's files can lead anywhere.
    """
    workspace = current_workspace()
    return ((workspace.path("media", "root") or workspace.root) if workspace else Path.cwd()).resolve()


def own_media() -> OwnMedia:
    """Return where browsers find the workspace's media.

    [media] url in fire.toml says so; else `/media` of the server's public address, else a port of this
    machine that is the workspace's own, by its key, so that two workspaces can be served at once.
    """
    workspace, server = current_workspace(), stored_connection()
    key = key_at(workspace.root / SERVER_FOLDER / MEDIA_KEY, makes=False) if workspace else b""
    public = f"{server.public_url}/media" if server and server.public_url else ""
    port = PORT + int.from_bytes(key[:2], "big") % _N_PORTS
    base = str(setting_or_default(None, "media", "url")) or public or f"http://127.0.0.1:{port}"
    return OwnMedia(media_root(), checked_url(base), key)


def shown_tasks(given: Given, pairs: Pool, rules: Guideline, *, by_hand: bool, **options: Any) -> Tasks:
    """Return the tasks of pairs, see `make_tasks`; a server finds files by addresses, people by paths."""
    queries, items = given.queries, given.items_if_any
    if not by_hand:
        own = own_items_of(queries).values() if rules.shows_reference else ()
        queries = _with_addresses(queries, set(pairs["query_id"].unique()))
        items = None if items is None else _with_addresses(items, {*pairs["doc_id"].unique(), *own})
    return make_tasks(pairs, queries, items=items, guideline=rules, **options)


def _with_addresses(table: Table, ids: Collection[str]) -> Table:
    """Return a table of what is shown, with addresses in the place of the workspace's own files.

    ids: what is asked, by the table's first column; other rows are left alone. So are all of a workspace
    without a key, which was made before there were such addresses.
    """
    if "media_url" not in table.columns:
        return table
    media, is_asked = own_media(), table[table.columns[0]].isin(ids)
    if links := media.addresses(table.loc[is_asked, "media_url"].unique()):
        where = f"on a server at {media.base}, where `fire-toolkit media serve` must run"
        say(f"note: {n_of(len(links), 'file')} shown {where}; our own page serves them itself")
    return table.assign(media_url=[links.get(url, url) for url in table["media_url"]])


def say_lost(media: OwnMedia, served: Iterable[str]) -> None:
    """Say how many files tasks ask for that are none of those served, by their media_url."""
    root = needed_workspace().root
    texts = (file.read_text(encoding="utf-8") for file in handed_out(root).values())
    shown = (str(value) for text in texts for task in json.loads(text) for value in task["data"].values())
    if lost := media.names_in(shown) - {*media.names(served).values()}:
        why = f"items are gone, or another {root / SERVER_FOLDER / MEDIA_KEY} was in use"
        say(f"warning: tasks ask for {n_of(len(lost), 'file')} that are none of these: {why}")
