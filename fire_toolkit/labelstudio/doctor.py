"""What can be wrong with a server, a campaign on it and its media, each with the command that fixes it.

Before anything is sent, `push` looks at every address (`media.links.reach_media`). Afterwards one item of
each project is opened as its page does it, by the server's own way to storages and buckets.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

from fire_toolkit.campaign.carrier import Report
from fire_toolkit.campaign.page_json import first_three, key_words
from fire_toolkit.campaign.records import Campaign, Round
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_json import PAIR_ID
from fire_toolkit.errors import FireError, ServerError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.places import OnServer, check_config, find_doubled, missed_words, queue_sizes
from fire_toolkit.labelstudio.push import Plan
from fire_toolkit.media.links import Links, answered, reach_media
from fire_toolkit.media.places import BUCKETS, OF_LABEL_STUDIO, is_address
from fire_toolkit.words import n_of
from fire_toolkit.workspace.database import STORE

UNSEEN = "annotators would see nothing (push with --check-media 0 where they can see more than this machine)"


def needs_cors(guideline: Guideline) -> bool:
    """Whether a guideline's page reads its media by a script, as Label Studio's video player does."""
    return "<Video" in guideline.label_config


def hidden_items(api: Api, projects: Mapping[int, object], guideline: Guideline) -> list[str]:
    """Return what is wrong with the first items of projects (number → queue), opened as their pages do."""
    if not guideline.shows_media:
        return []
    with Links(api.connection.page_origin, authorization=api.authorization) as links:
        found = {number: _hidden(api, number, guideline, links) for number in projects}
    return [f"project {number} ({projects[number]}): {fault}" for number, fault in found.items() if fault]


def _hidden(api: Api, project: int, guideline: Guideline, links: Links) -> str:
    tasks, _ = api.task_page(project, page_size=1)
    if not tasks:
        return ""
    # The page gets addresses in the place of buckets.
    shown = api.read(f"api/tasks/{tasks[0]['id']}/")
    url = str((shown.get("data") or {}).get(guideline.item_kind, ""))
    path = url.removeprefix(api.connection.url) if url.startswith(f"{api.connection.url}/") else url
    if path.startswith("/"):
        answer = api.asked("GET", path, headers={"Range": "bytes=0-0", "Accept-Encoding": "identity"})
        if not answer.is_redirect:
            fault = answered(answer, "").fault
            return f"{path} {fault}" if fault else ""
        url = urljoin(api.connection.url, answer.headers.get("Location", ""))
    if not is_address(url):
        return f"{url}: the project has no storage that shows it" if url else "its first task has no media"
    fault = links.ask(url).hidden(needs_cors=needs_cors(guideline))
    return f"{url.partition('?')[0]} {fault}" if fault else ""


def refuse_unshowable(rounds: Iterable[Round], guideline: Guideline) -> None:
    """Raise a FireError at a round whose items are named by what no page opens: an id, or a path here."""
    for entry in rounds if guideline.shows_media else ():
        rows = entry.tasks[["query_id", "doc_id", "media_url"]].itertuples(index=False, name=None)
        bad = [
            f"{query_id} {doc_id}: {url!r}"
            for query_id, doc_id, url in rows
            if not is_address(url) and not url.startswith((*OF_LABEL_STUDIO, *BUCKETS))
        ]
        if bad:
            words = f"{len(bad):,} of {len(entry.tasks):,} tasks cannot be shown ({first_three(bad)})"
            expected = "http(s)://, /data/local-files/ or a bucket (s3://, gs://, azure-blob://)"
            todo = "`media serve` gives files addresses; then delete the tasks, and make them again"
            raise FireError(f"{words}: media_url is an id or a path, expected {expected}; {todo}")


def reach_items(
    plans: Iterable[Plan],
    connection: Connection,
    guideline: Guideline,
    *,
    sample: int | None,
    report: Report,
) -> list[str]:
    """Ask the addresses of what would be sent as its pages do, and return notes on how many were asked.

    The server's token goes along to media behind the address of its pages, where a proxy may ask who is
    logged in. sample: only so many, drawn at random; None: all.

    Raises:
        FireError: annotators would not see one of them.
    """
    tasks = [task["data"] for plan in plans for task in (*plan.missing, *plan.changed.values())]
    media = {task[guideline.item_kind]: task[PAIR_ID] for task in tasks if guideline.shows_media}
    items = n_of(len(media), "item")
    if not media or sample == 0:
        unseen = f"nobody has looked whether annotators can see the {items} (--check-media 0)"
        return [unseen] if media else []
    urls, cors = [url for url in media if is_address(url)], needs_cors(guideline)
    with Api(connection) as api:
        own = api.authorization
    with Links(connection.page_origin, authorization=own, timeout_s=10.0) as links:
        found, n_without_parts = reach_media(urls, links, needs_cors=cors, sample=sample, report=report)
    faults = {url: found.get(url.partition("#")[0]) for url in media}
    if named := [f"{key_words(media[url])}: {url} {fault}" for url, fault in faults.items() if fault]:
        words = f"{len(named):,} of {items} cannot be seen ({first_three(named)}); nothing was sent"
        raise FireError(f"{words}; {UNSEEN}; is `media serve` running? `media check` says what to do")
    is_part = sample is not None and len(found) < len(media)
    notes = [f"{len(found):,} of {items} asked, drawn at random; all of them answer"] if is_part else []
    if n_without_parts:
        asked = n_of(len(found), "item")
        notes.append(f"{n_without_parts:,} of {asked} do not answer parts (Range): nobody can seek in them")
    return notes


def refuse_hidden(plans: Sequence[Plan], connection: Connection, guideline: Guideline) -> None:
    """Open an item of each project that was pushed as its page does; a FireError where one is not seen."""
    queues = {entry.project: entry.queue for entry in plans if entry.project}
    with Api(connection) as api:
        hidden = hidden_items(api, queues, guideline)
    if hidden:
        where = f"{len(hidden):,} of {n_of(len(queues), 'project')} ({first_three(hidden)})"
        todo = "add the storage of /data/local-files/ or a bucket in its settings; then push again"
        raise FireError(f"the tasks are there, but the first item cannot be seen in {where}; {todo}")


TESTED_SERVER = "1.23"
GOOD, NOTE, BAD = "good", "note", "bad"
START = "fire-toolkit labelstudio start"
_LIMIT_S, _GLANCE_S = 20.0, 3.0


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: whether it is `good`, a `note` or `bad`, and the step that fixes it.

    is_servers: the fault is the server's.
    """

    name: str
    state: str
    words: str
    fix: str = ""
    is_servers: bool = False


Begun = tuple[Path, Campaign, Guideline]  # a workspace, its campaign, and the guideline of its pages


def examine(connection: Connection, begun: Begun | None = None) -> Iterator[Finding]:
    """Yield what was found of connection, server, token, projects and media, in the order in which to fix it.

    What cannot be looked at because something before it is bad is left out.
    """
    url = connection.url
    if connection.is_local or url.startswith("https://"):
        yield Finding("connection", GOOD, url)
    else:
        fix = "serve it over https, and give that address"
        yield Finding("connection", NOTE, f"{url}: the token travels unencrypted", fix)
    name, fix = "server", START if connection.is_local else f"check the address: curl -sS {url}/api/version"
    try:
        with Api(connection, timeout_s=_LIMIT_S, attempts=1) as api:
            version = api.content_of(api.get("/api/version"))
            if not isinstance(version, dict) or "release" not in version:
                raise ServerError(f"GET {url}/api/version: no version, so this is not Label Studio")
            if (words := f"Label Studio {version['release']}").startswith(f"Label Studio {TESTED_SERVER}."):
                yield Finding("server", GOOD, words)
            else:
                yield Finding(
                    "server", NOTE, f"{words}; tested with {TESTED_SERVER}", "try it on a copy first"
                )
            name, fix = "token", f"copy a token from {url}/user/account into FIRE_LABEL_STUDIO_TOKEN"
            api.read("api/current-user/whoami")
            yield Finding("token", GOOD, "accepted")
            name, fix = "projects", "run it again, or see the server's log"
            if begun:
                yield from _examine_campaign(*begun, api)
    except ServerError as error:
        yield Finding(name, BAD, str(error), fix, is_servers=True)


def glance(connect: Callable[[], Connection], root: Path, campaign: Campaign) -> Iterator[str]:
    """Yield what is there twice on the server, which has little time, or that it was not asked.

    connect: says how to reach it.
    """
    try:
        with Api(connect(), timeout_s=_GLANCE_S, attempts=1) as api:
            listed = api.projects()
    except FireError as error:
        yield f"note: the server was not asked whether anything is there twice ({error})"
        return
    for words, fix in find_doubled(listed, campaign, queue_sizes(root)):
        yield f"warning: {words}; {fix}"


def _examine_campaign(root: Path, campaign: Campaign, rules: Guideline, api: Api) -> Iterator[Finding]:
    """Yield whether each project is there, once, with the campaign's page, and shows its first item."""
    with Store.at(root / STORE) as store:
        seen = OnServer(api, campaign, store)
        bad = [missed_words(campaign, place) for place in seen.lost()]
    bad += find_doubled(seen.listed, campaign, queue_sizes(root))
    for project in seen.own.values():
        try:
            check_config(campaign, project)
        except FireError as error:
            bad.append((str(error), "restore the page in its Settings, Labeling Interface"))
    for words, fix in bad:
        yield Finding("projects", BAD, words, fix, is_servers=True)
    if not bad:
        yield Finding("projects", GOOD, f"{len(seen.own)} of this campaign, all pages unchanged")
    queues = {number: seen.places[number, born].queue for number, born in seen.own}
    if hidden := hidden_items(api, queues, rules):
        fix = "is `fire-toolkit media serve` running? `fire-toolkit media check` says more"
        yield Finding("media", BAD, "; ".join(hidden), fix)
    elif queues and rules.shows_media:
        yield Finding("media", GOOD, "the first item of each project can be seen")
