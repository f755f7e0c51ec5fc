"""The addresses that a workspace's own media get: in tasks, and where `media serve` answers."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from fire_toolkit.campaign.tasks import make_tasks
from fire_toolkit.cli.campaigns import stored_connection
from fire_toolkit.cli.common import current_workspace, n_of, say, setting_or_default
from fire_toolkit.cli.given import Given
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.secrets import MEDIA_KEY, SERVER_FOLDER, key_at
from fire_toolkit.matching.own_items import own_items_of
from fire_toolkit.media.places import LOOPBACK_HOSTS, PORT, checked_url, opaque_name, own_files
from fire_toolkit.tables import Pool, Tasks
from fire_toolkit.workspace.rounds import handed_out

if TYPE_CHECKING:
    import pandas as pd

Table = TypeVar("Table", bound="pd.DataFrame")
_N_PORTS = 1000


def media_root() -> Path:
    """Return the folder where relative paths of items start, without links and dots.

    [media] root in fire.toml says so; else it is the workspace, or outside of one the current folder. Files
    that lie elsewhere are shown to nobody: a path or a link in a benchmark's files can lead anywhere.
    """
    workspace = current_workspace()
    return ((workspace.path("media", "root") or workspace.root) if workspace else Path.cwd()).resolve()


def _key(*, makes: bool = False) -> bytes:
    """Return the key of the workspace's addresses; empty outside of one, or where it has none yet."""
    workspace = current_workspace()
    return key_at(workspace.root / SERVER_FOLDER / MEDIA_KEY, makes=makes) if workspace else b""


def media_base() -> str:
    """Return where browsers find the workspace's media.

    [media] url in fire.toml says so; else `/media` of the server's public address, else a port of this
    machine that is the workspace's own, by its key, so that two workspaces can be served at once.
    """
    server = stored_connection()
    public = f"{server.public_url}/media" if server and server.public_url else ""
    port = PORT + int.from_bytes(_key()[:2], "big") % _N_PORTS
    return checked_url(str(setting_or_default(None, "media", "url")) or public or f"http://127.0.0.1:{port}")


def local_base() -> str:
    """Return how the addresses begin that only `media serve` of this machine answers; empty: none do."""
    base = media_base()
    return f"{base}/" if urlsplit(base).hostname in LOOPBACK_HOSTS else ""


def base_and_port(host: str, port: int | None) -> tuple[str, int]:
    """Return how browsers reach the media served here (empty: by host and port), and the port to serve at.

    [media] url stands back where host or port are given for this machine.
    """
    base = media_base()
    parts = urlsplit(base)
    is_here = parts.hostname in LOOPBACK_HOSTS
    at = (parts.port if is_here and parts.port else PORT) if port is None else port
    return "" if is_here and (port is not None or host not in LOOPBACK_HOSTS) else base, at


def with_addresses(table: Table, ids: Collection[str]) -> Table:
    """Return a table of what is shown, with addresses in the place of the workspace's own files.

    ids: what is asked, by the table's first column; other rows are left alone. So are all of a workspace
    without a key, which was made before there were such addresses.
    """
    key = _key()
    if not key or "media_url" not in table.columns:
        return table
    asked = table.loc[table[table.columns[0]].isin(ids), "media_url"].unique()
    base = media_base()
    links = {url: f"{base}/{opaque_name(key, url)}" for url in own_files(asked, media_root())}
    if links:
        where = f"on a server at {base}, where `fire-toolkit media serve` must run"
        say(f"note: {n_of(len(links), 'file')} shown {where}; our own page serves them itself")
    return table.assign(media_url=[links.get(url, url) for url in table["media_url"]])


def shown_tasks(given: Given, pairs: Pool, rules: Guideline, *, by_hand: bool, **options: Any) -> Tasks:
    """Return the tasks of pairs, see `make_tasks`; a server finds files by addresses, people by paths."""
    queries, items = given.queries, given.items_if_any
    if not by_hand:
        queries = with_addresses(queries, set(pairs["query_id"].unique()))
        own = own_items_of(queries).values() if rules.shows_reference else ()
        items = None if items is None else with_addresses(items, {*pairs["doc_id"].unique(), *own})
    return make_tasks(pairs, queries, items=items, guideline=rules, **options)


def addresses_here(names: Mapping[str, str], base_url: str) -> dict[str, str]:
    """Return under which name each file is served below `base_url`; names: media_url → file.

    In a workspace by its key, which it gets now if it has none; outside of one by the file's own name.
    """
    workspace = current_workspace()
    if workspace is None:
        return dict(names)
    key = _key(makes=True)
    addresses = {url: opaque_name(key, url) for url in names}
    start = f"{base_url.rstrip('/')}/m/"
    texts = (path.read_text(encoding="utf-8") for path in handed_out(workspace.root).values())
    shown = (value for text in texts for task in json.loads(text) for value in task["data"].values())
    used = {
        unquote("m/" + url.partition("#")[0].rpartition("/m/")[2])
        for url in map(str, shown)
        if url.startswith(start) or (urlsplit(url).hostname in LOOPBACK_HOSTS and "/m/" in url)
    }
    if lost := used - set(addresses.values()):
        say(
            f"warning: tasks ask for {n_of(len(lost), 'file')} that are none of these: items are gone, or "
            f"another {workspace.root / SERVER_FOLDER / MEDIA_KEY} was in use"
        )
    return addresses
