"""What can be wrong with a server and a campaign on it, each with the command that fixes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from fire_toolkit.campaign.records import Campaign, read_rounds
from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import FireError, ServerError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.failures import browser
from fire_toolkit.labelstudio.projects import (
    check_config,
    find_doubled,
    find_lost,
    known_source,
    own_projects,
    read_places,
    remedy,
)
from fire_toolkit.labelstudio.showing import open_items
from fire_toolkit.workspace.database import STORE

TESTED_SERVER = "1.23"
GOOD, NOTE, BAD = "good", "note", "bad"
START = "fire-toolkit labelstudio start"
_LIMIT_S = 20.0


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
    connection: Connection,
    root: Path | None = None,
    campaign: tuple[Campaign, Guideline] | None = None,
    *,
    transport: httpx.BaseTransport | None = None,
) -> Iterator[Finding]:
    """Yield what was found of connection, server, token, projects and media, in the order in which to fix it.

    Args:
        connection: the server.
        root: the workspace, or None; campaign: what was pushed from it, and the guideline of its pages.
        transport: stands in for the network.

    What cannot be looked at because something before it is bad is left out.
    """
    url, is_safe = connection.url, connection.is_local or connection.url.startswith("https://")
    if is_safe:
        yield Finding("connection", GOOD, url)
    else:
        fix = "serve it over https, and give that address"
        yield Finding("connection", NOTE, f"{url}: the token travels unencrypted", fix)
    call = f"GET {url}/api/version"
    try:
        with browser(connection, timeout_s=_LIMIT_S, transport=transport) as client:
            answer = client.get("/api/version")
        release = str(answer.json()["release"])
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        words = f"{call}: {type(error).__name__} {error}"
        if not isinstance(error, httpx.HTTPError):
            words = f"{call}: {answer.status_code}, and no version: this is not Label Studio"
        fix = START if connection.is_local else f"check the address: curl -sS {url}/api/version"
        yield Finding("server", BAD, words, fix, is_servers=True)
        return
    if release.startswith(f"{TESTED_SERVER}."):
        yield Finding("server", GOOD, f"Label Studio {release}")
    else:
        words = f"Label Studio {release}; tested with {TESTED_SERVER}"
        yield Finding("server", NOTE, words, "try it on a copy first")
    name, fix = (
        "token",
        (
            f"copy a token from {url}/user/account into FIRE_LABEL_STUDIO_TOKEN (a legacy one "
            "must be allowed under Organization, API Tokens Settings)"
        ),
    )
    try:
        with Api(connection, transport=transport, timeout_s=_LIMIT_S, attempts=1) as api:
            api.read("api/current-user/whoami")
            yield Finding("token", GOOD, "accepted")
            name, fix = "projects", "run it again, or see the server's log"
            if root and campaign:
                yield from _examine_campaign(root, *campaign, api, transport)
    except ServerError as error:
        yield Finding(name, BAD, str(error), fix, is_servers=True)


def _examine_campaign(
    root: Path, campaign: Campaign, rules: Guideline, api: Api, transport: httpx.BaseTransport | None
) -> Iterator[Finding]:
    """Yield whether each project is there, once, with the campaign's page, and shows its first item."""
    listed = api.projects()
    projects = [project for copies in own_projects(listed, campaign).values() for project in copies]
    with Store(root / STORE) as store:
        places = read_places(store)
        source = known_source(api, listed, campaign, places) if places else ""
        lost = find_lost(listed, campaign, store, source)[0]
    bad = [(place.words, remedy(campaign, place)) for place in lost]
    bad += find_doubled(listed, campaign, read_rounds(root))
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
