"""Whether annotators see the media of their tasks: the labeling page shows no error and takes answers.

Before anything is sent, `push` looks at every address (`media.links.reach_media`). Afterwards one item of
each project is opened as its page does it, by the server's own way to storages and buckets.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urljoin

import httpx

from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.media.links import answered, ask_link, open_links
from fire_toolkit.media.places import is_address


def needs_cors(guideline: Guideline) -> bool:
    """Whether a guideline's page reads its media by a script, as Label Studio's video player does."""
    return "<Video" in guideline.label_config


def open_items(api: Api, projects: Iterable[int], guideline: Guideline) -> dict[int, str]:
    """Return what is wrong with the first item of each project, opened as its page does; empty: nothing."""
    if not guideline.shows_media:
        return {}
    own = (api.connection.page_origin, api.authorization)
    with open_links(own=own) as client:
        return {project: _open_item(api, project, guideline, client) for project in projects}


def _open_item(api: Api, project: int, guideline: Guideline, client: httpx.Client) -> str:
    tasks, _ = api.task_page(project, include=("id", "data"), page_size=1)
    if not tasks:
        return ""
    # The page gets addresses in the place of buckets.
    shown = api.read(f"api/tasks/{tasks[0]['id']}/")
    url = str((shown.get("data") or {}).get(guideline.media_key, ""))
    path = url.removeprefix(api.connection.url) if url.startswith(f"{api.connection.url}/") else url
    if path.startswith("/"):
        answer = api.send("GET", path, headers={"Range": "bytes=0-0", "Accept-Encoding": "identity"})
        if not answer.is_redirect:
            fault = answered(answer, "").fault
            return f"{path} {fault}" if fault else ""
        url = urljoin(api.connection.url, answer.headers.get("Location", ""))
    if not is_address(url):
        return f"{url}: the project has no storage that shows it" if url else "its first task has no media"
    link = ask_link(client, url, api.connection.page_origin)
    fault = link.hidden(needs_cors=needs_cors(guideline))
    return f"{url.partition('?')[0]} {fault}" if fault else ""
