"""The addresses that a workspace's own media get: in tasks, and where `media serve` answers."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from fire_toolkit.cli.common import current_workspace, n_of, say, setting_or_default
from fire_toolkit.cli.server_options import stored_connection
from fire_toolkit.labelstudio.connection import SERVER_FOLDER, checked_url
from fire_toolkit.labelstudio.media_key import MEDIA_KEY, make_media_key, read_media_key
from fire_toolkit.media.opaque import opaque_name
from fire_toolkit.media.places import LOOPBACK_HOSTS, PORT, place_of
from fire_toolkit.workspace.rounds import handed_out

if TYPE_CHECKING:
    import pandas as pd

Table = TypeVar("Table", bound="pd.DataFrame")


def media_base() -> str:
    """Return where browsers find the workspace's media.

    [media] url in fire.toml says so; else `/media` of the server's public address, else this machine's port.
    """
    server = stored_connection()
    public = f"{server.public_url}/media" if server and server.public_url else ""
    return checked_url(str(setting_or_default(None, "media", "url")) or public or f"http://127.0.0.1:{PORT}")


def local_base() -> str:
    """Return how the addresses begin that only `media serve` of this machine answers; empty: none do."""
    base = media_base()
    return f"{base}/" if urlsplit(base).hostname in LOOPBACK_HOSTS else ""


def base_and_port(base_url: str | None, host: str, port: int | None) -> tuple[str, int]:
    """Return how browsers reach the media served here (empty: by host and port), and the port to serve at.

    What is given comes before [media] url, which stands back where host or port are given for this machine.
    """
    base = checked_url(base_url) if base_url else media_base()
    parts = urlsplit(base)
    is_here = parts.hostname in LOOPBACK_HOSTS
    if not base_url and is_here and (port is not None or host not in LOOPBACK_HOSTS):
        base = ""
    return base, (parts.port if is_here and parts.port else PORT) if port is None else port


def with_addresses(table: Table, ids: Collection[str]) -> Table:
    """Return a table of what is shown, with addresses in the place of the workspace's own files.

    ids: what is asked, by the table's first column; other rows are left alone. So are all of a workspace
    without a key, which was made before there were such addresses.
    """
    workspace = current_workspace()
    key = read_media_key(workspace.root / SERVER_FOLDER) if workspace else None
    if workspace is None or key is None or "media_url" not in table.columns:
        return table
    asked = table.loc[table[table.columns[0]].isin(ids), "media_url"].unique()
    files = [url for url in asked if url and _is_file(url, workspace.root)]
    base = media_base()
    links = {url: f"{base}/{opaque_name(key, url)}" for url in files}
    if links:
        say(f"note: {n_of(len(links), 'file')} shown at {base}: `fire-toolkit media serve` must run there")
    return table.assign(media_url=[links.get(url, url) for url in table["media_url"]])


def _is_file(media_url: str, root: Path) -> bool:
    place = place_of(media_url, root)
    return place.kind == "file" and place.path.is_file()


@dataclass(frozen=True)
class Naming:
    """Under which names files are served: by a key; without one by their own names."""

    key: bytes | None

    def opaque(self, names: Mapping[str, str]) -> dict[str, str]:
        """Return the file behind each opaque name; names: media_url → file."""
        return {opaque_name(self.key, url): name for url, name in names.items()} if self.key else {}

    def addresses(self, names: Mapping[str, str]) -> dict[str, str]:
        """Return the name for each media_url in new tables."""
        if self.key is None:
            return dict(names)
        return {url: opaque_name(self.key, url) for url in names}


def naming_here(names: Mapping[str, str], base_url: str) -> Naming:
    """Return how the files `names` (media_url → name) are served in the workspace here, or outside of one.

    A workspace gets its key now if it has none.
    """
    workspace = current_workspace()
    if workspace is None:
        return Naming(None)
    folder = workspace.root / SERVER_FOLDER
    naming = Naming(make_media_key(folder))
    used = _paths_in_use(workspace.root, base_url)
    lost = {path for path in used if path.startswith("m/")} - naming.opaque(names).keys()
    if lost:
        say(
            f"warning: tasks ask for {n_of(len(lost), 'file')} that are none of these: items are gone, or "
            f"another {folder / MEDIA_KEY} was in use"
        )
    return naming


def _paths_in_use(root: Path, base_url: str) -> set[str]:
    """Return what tasks of this workspace ask for below `base_url`."""
    start = f"{base_url.rstrip('/')}/"
    urls = (url.partition("#")[0] for url in _urls_in_use(root))
    return {unquote(url.removeprefix(start)) for url in urls if url.startswith(start)}


def _urls_in_use(root: Path) -> Iterable[str]:
    from fire_toolkit.formats.tables.delimited import read_delimited

    for path in sorted((root / "campaign").glob("round-*/tasks.csv")):
        yield from read_delimited(path, required=["media_url"])["media_url"].unique()
    for path in handed_out(root).values():
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        yield from (str(value) for task in content for value in task["data"].values())
