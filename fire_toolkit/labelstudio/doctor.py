"""What can be wrong with a server and a campaign on it, each with the command that fixes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fire_toolkit.campaign.records import Campaign, queue_named, read_marks, read_rounds
from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import FireError, ServerError, UsageError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.api import Api, Json
from fire_toolkit.labelstudio.connection import Connection, browser, open_client, read_connection
from fire_toolkit.labelstudio.failures import server_errors
from fire_toolkit.labelstudio.projects import check_config, own_projects, project_mark
from fire_toolkit.labelstudio.showing import open_items
from fire_toolkit.labelstudio.twins import find_doubled
from fire_toolkit.labelstudio.vanished import find_vanished
from fire_toolkit.workspace.database import STORE

if TYPE_CHECKING:
    import httpx

TESTED_SERVER = "1.23"
GOOD, NOTE, BAD = "good", "note", "bad"
_START = "fire-toolkit labelstudio start"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    state: `good`; `note`: works, but is worth knowing; `bad`. fix: the command or step that fixes it;
    is_servers: the fault is the server's.
    """

    name: str
    state: str
    words: str
    fix: str = ""
    is_servers: bool = False


def examine(
    root: Path | None,
    campaign: tuple[Campaign, Guideline] | None = None,
    *,
    url: str | None = None,
    token_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    transport: httpx.BaseTransport | None = None,
) -> Iterator[Finding]:
    """Yield what was found of connection, server, token, projects and media, in the order in which to fix it.

    Args:
        root: the workspace, or None; campaign: what was pushed from it, and the guideline of its pages.
        url, token_file, environ: as in `read_connection`.
        transport: stands in for the network.

    What cannot be looked at because something before it is bad is left out.
    """
    try:
        connection = read_connection(root, url=url, token_file=token_file, environ=environ)
    except FireError as error:
        yield Finding("connection", BAD, str(error), _START if isinstance(error, UsageError) else "")
        return
    if connection.is_local or connection.url.startswith("https://"):
        yield Finding("connection", GOOD, connection.url)
    else:
        fix = "serve it over https, and give that address"
        yield Finding("connection", NOTE, f"{connection.url}: the token travels unencrypted", fix)
    try:
        release = _ask_version(connection, transport)
    except ServerError as error:
        fix = _START if connection.is_local else f"check the address: curl -sS {connection.url}/api/version"
        yield Finding("server", BAD, str(error), fix, is_servers=True)
        return
    if release.startswith(f"{TESTED_SERVER}."):
        yield Finding("server", GOOD, f"Label Studio {release}")
    else:
        words = f"Label Studio {release}; tested with {TESTED_SERVER}"
        yield Finding("server", NOTE, words, "try it on a copy first")
    try:
        with server_errors(connection):
            client = open_client(connection, timeout_s=20.0, transport=transport)
            client.users.whoami(request_options={"max_retries": 0})
    except ServerError as error:
        fix = f"copy a token from {connection.url}/user/account into FIRE_LABEL_STUDIO_TOKEN (a legacy one "
        fix += "must be allowed under Organization, API Tokens Settings)"
        yield Finding("token", BAD, str(error), fix, is_servers=True)
        return
    yield Finding("token", GOOD, "accepted")
    try:
        if root and campaign:
            yield from _examine_campaign(root, *campaign, Api(connection, transport=transport), transport)
    except ServerError as error:
        yield Finding("projects", BAD, str(error), "run it again, or see the server's log", is_servers=True)


def _ask_version(connection: Connection, transport: httpx.BaseTransport | None) -> str:
    import httpx

    call = f"GET {connection.url}/api/version"
    try:
        with browser(connection, timeout_s=20.0, transport=transport) as client:
            answer = client.get("/api/version")
        return str(answer.json()["release"])
    except httpx.HTTPError as error:
        raise ServerError(f"{call}: {type(error).__name__} {error}") from error
    except (ValueError, KeyError, TypeError):
        raise ServerError(f"{call}: {answer.status_code}, and no version: this is not Label Studio") from None


def _examine_campaign(
    root: Path, campaign: Campaign, rules: Guideline, api: Api, transport: httpx.BaseTransport | None
) -> Iterator[Finding]:
    """Yield whether each project is there, once, with the campaign's page, and shows its first item."""
    listed = api.projects(with_counts=True)
    projects = [project for queue in own_projects(listed, campaign).values() for project in queue]
    bad = list(_vanished(root, campaign, api, listed))
    bad += [(each.words, each.fix) for each in find_doubled(listed, campaign, read_rounds(root))]
    for project in projects:
        try:
            check_config(campaign, project)
        except FireError as error:
            bad.append((str(error), "restore the page in its Settings, Labeling Interface"))
    for words, fix in bad:
        yield Finding("projects", BAD, words, fix, is_servers=True)
    if not bad:
        yield Finding("projects", GOOD, f"{len(projects)} of this campaign, all pages unchanged")
    faults = open_items(api, [int(project["id"]) for project in projects], rules, transport=transport)
    unseen = [f"project {number}: {fault}" for number, fault in faults.items() if fault]
    if unseen:
        fix = "is `fire-toolkit media serve` running? `fire-toolkit media check` says more"
        yield Finding("media", BAD, "; ".join(unseen), fix)
    elif faults:
        yield Finding("media", GOOD, "the first item of each project can be seen")


def _vanished(root: Path, campaign: Campaign, api: Api, listed: Sequence[Json]) -> Iterator[tuple[str, str]]:
    """Yield each project that was pulled before and is gone, or has lost the campaign's mark, and the fix."""
    marks = read_marks(root)
    with Store(root / STORE) as store:
        vanished = find_vanished(listed, campaign, store, marks, api.identity()) if marks else []
    for each in vanished:
        queue = queue_named(each.queue)
        if each.is_unmarked and queue:
            fix = f"set its description under Settings to: {project_mark(campaign, queue, each.part)}"
        elif each.n_answers:
            fix = "its answers still count; to leave them out: fire-toolkit pull --full --accept-loss"
        else:
            fix = "fire-toolkit push (makes it again)"
        yield each.words, fix
