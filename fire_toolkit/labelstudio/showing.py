"""Whether annotators will see the media of their tasks: the labeling page shows no error and takes answers.

Before anything is sent, every address must be one that a browser can open, and must answer. Afterwards one
item of each project is opened as its page does it, by the server's own way to storages and buckets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from urllib.parse import urljoin

import httpx

from fire_toolkit.errors import FireError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.media.links import answered, ask_link, open_links, reach_media
from fire_toolkit.media.places import is_address, is_showable
from fire_toolkit.tables import Tasks

_SHOWN = 3


def refuse_unshowable(tasks: Tasks) -> None:
    """Raise `FireError` if a task's media_url is nothing that a browser can open: an id, or a path here."""
    columns = (tasks[name] for name in ("query_id", "doc_id", "media_url"))
    rows = zip(*columns, strict=True)
    bad = [f"{query_id} {doc_id}: {url!r}" for query_id, doc_id, url in rows if not is_showable(url)]
    if bad:
        raise FireError(
            f"{len(bad):,} of {len(tasks):,} tasks cannot be shown to annotators ({_listed(bad)}): their "
            "media_url is an id or a local path, expected http(s)://, /data/local-files/ or a bucket "
            "(s3://, gs://, azure-blob://); `fire-toolkit media serve` gives files addresses; then delete "
            "the file of tasks, make it again with `fire-toolkit tasks`, and push"
        )


def refuse_unreachable(
    media: Mapping[str, str],
    guideline: Guideline,
    *,
    api: Api,
    sample: int | None = None,
    report: Callable[[int], None] = lambda n: None,
) -> tuple[int, int]:
    """Ask the addresses of tasks as Label Studio's pages do.

    Returns how many were asked, and how many answer, but not in parts.

    Args:
        media: the media_url of each task, with a pair or page that shows it.
        guideline: whose page shows them.
        api: the server's; its token goes along to media behind the address of its pages, where a proxy may
            ask who is logged in.
        sample: ask only so many addresses; None: all.
        report: called with 1 for each address that was asked.

    Raises:
        FireError: at some of them a browser shows nothing.
    """
    faults, n_without_parts = reach_media(
        [url for url in media if is_address(url)],
        origin=api.connection.page_origin,
        authorization=api.authorization,
        needs_cors="<Video" in guideline.label_config,
        sample=sample,
        report=report,
    )
    named = [
        f"{pair}: {url} {fault}"
        for url, pair in media.items()
        if (fault := faults.get(url.partition("#")[0]))
    ]
    if named:
        raise FireError(
            f"annotators would see nothing in {len(named):,} of {len(media):,} items ({_listed(named)}); "
            "nothing was sent. Is `fire-toolkit media serve` running? `fire-toolkit media check` says what "
            "to do; where this machine cannot reach what annotators can, --check-media 0 sends all the same"
        )
    return len(faults), n_without_parts


def _listed(words: list[str]) -> str:
    return "; ".join(words[:_SHOWN]) + ("; …" if len(words) > _SHOWN else "")


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
    fault = link.hidden(needs_cors="<Video" in guideline.label_config)
    return f"{url.partition('?')[0]} {fault}" if fault else ""
