"""What `push` says and looks at: loads, what was sent, tasks made again, and whether media can be seen."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import click

from fire_toolkit.campaign.page_json import key_words
from fire_toolkit.campaign.progress import judgment_seconds, load_of
from fire_toolkit.campaign.queues import CONTROL, TRAINING
from fire_toolkit.campaign.records import BY_PAGE, BY_SERVER, FOLDER, Round
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_files import read_task_files
from fire_toolkit.campaign.task_json import PAIR_ID
from fire_toolkit.cli.common import draw_rows, metered, n_of, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.here import relative_path
from fire_toolkit.cli.media import local_base, media_root
from fire_toolkit.errors import FireError
from fire_toolkit.files import sha256_of
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.doctor import needs_cors, open_items
from fire_toolkit.labelstudio.push import Plan
from fire_toolkit.media.links import reach_media
from fire_toolkit.media.places import is_address, is_showable
from fire_toolkit.tables import Tasks
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import manifest_of
from fire_toolkit.workspace.rounds import handed_out


def renewed_rounds(root: Path, rounds: Sequence[Round], rules: Guideline, inputs: Given) -> list[Round]:
    """Return the server's rounds whose tasks were made again with other captions or addresses, with these."""
    pushed = manifest_of(root / FOLDER, is_folder=True).inputs
    on_server = {entry.number: entry for entry in rounds if entry.carrier == BY_SERVER}
    made: dict[str, tuple[str, str]] = {}
    for number, path in handed_out(root).items():
        name = path.relative_to(root).as_posix()
        if number not in on_server or pushed.get(name) == sha256_of(path):
            continue
        tasks, asked = read_task_files(relative_path(path), rules), on_server[number].drawn
        if set(tasks["pair_id"]) != set(asked.loc[~asked["kind"].isin([TRAINING, CONTROL]), "pair_id"]):
            say(f"note: {name} has other pairs than round {number}, which has begun; it is not sent")
            continue
        inputs.use(relative_path(path))
        made |= zip(tasks["pair_id"], zip(tasks["text"], tasks["media_url"], strict=True), strict=True)
    renewed = []
    for entry in on_server.values():
        old = list(zip(entry.tasks["text"], entry.tasks["media_url"], strict=True))
        new = [made.get(pair, shown) for pair, shown in zip(entry.tasks["pair_id"], old, strict=True)]
        if new != old:
            text, media_url = (list(column) for column in zip(*new, strict=True))
            tasks = Tasks(entry.tasks.assign(text=text, media_url=media_url))
            renewed.append(replace(entry, tasks=tasks))
    return renewed


@dataclass(frozen=True)
class Look:
    """Looks whether annotators will see what is pushed, before and after.

    sample: as `push` was told; rounds: those that begin or have changed.

    Raises, in all looks:
        FireError: somewhere they would see nothing.
    """

    rules: Guideline
    sample: int | None
    rounds: Sequence[Round]

    def at_files(self) -> None:
        """Refuse rounds of our own page that show an item which is not there."""
        shown = [entry for entry in self.rounds if entry.carrier == BY_PAGE]
        if not shown or self.sample == 0:
            return
        from fire_toolkit.cli.page import media_files
        from fire_toolkit.pages.office import missing_media

        if missing := missing_media(shown, self.rules, media_files(), local_base()):
            n_tasks = sum(int(entry.tasks["media_url"].isin(missing).sum()) for entry in shown)
            words = f"{n_of(len(missing), 'item')} of {n_of(n_tasks, 'task')} not there ({_listed(missing)})"
            raise FireError(f"{words}; {_UNSEEN}; put the files where media_url says, from {media_root()}")

    def at_addresses(self) -> None:
        """Refuse rounds of the server that name items by what no browser can open: an id, or a path here."""
        for entry in self.rounds if self.rules.shows_media else ():
            columns = (entry.tasks[name] for name in ("query_id", "doc_id", "media_url"))
            rows = zip(*columns, strict=True) if entry.carrier == BY_SERVER else ()
            bad = [f"{query_id} {doc_id}: {url!r}" for query_id, doc_id, url in rows if not is_showable(url)]
            if bad:
                words = f"{len(bad):,} of {len(entry.tasks):,} tasks cannot be shown ({_listed(bad)})"
                expected = "http(s)://, /data/local-files/ or a bucket (s3://, gs://, azure-blob://)"
                todo = "`media serve` gives files addresses; then delete the tasks, and make them again"
                raise FireError(f"{words}: media_url is an id or a path, expected {expected}; {todo}")

    def before(self, plans: Sequence[Plan], connection: Connection) -> None:
        """Ask the addresses of what would be sent as its pages do, and say how many were asked.

        The server's token goes along to media behind the address of its pages, where a proxy may ask who is
        logged in.
        """
        tasks = [task["data"] for plan in plans for task in plan.to_send] if self.rules.shows_media else []
        media = {task[self.rules.media_key]: key_words(task[PAIR_ID]) for task in tasks}
        if not media:
            return
        items = n_of(len(media), "item")
        if self.sample == 0:
            say(f"note: nobody has looked whether annotators can see the {items} (--check-media 0)")
            return
        with metered("media asked", None) as meter, Api(connection) as api:
            found, n_without_parts = reach_media(
                [url for url in media if is_address(url)],
                origin=connection.page_origin,
                authorization=api.authorization,
                needs_cors=needs_cors(self.rules),
                sample=self.sample,
                report=meter,
            )
        faults = {url: found.get(url.partition("#")[0]) for url in media}
        if named := [f"{media[url]}: {url} {fault}" for url, fault in faults.items() if fault]:
            words = f"{len(named):,} of {items} cannot be seen ({_listed(named)}); nothing was sent"
            raise FireError(f"{words}; {_UNSEEN}; is `media serve` running? `media check` says what to do")
        if self.sample is not None and len(found) < len(media):
            say(f"note: {len(found):,} of {items} asked, drawn at random; all of them answer")
        if n_without_parts:
            asked = n_of(len(found), "item")
            say(f"note: {n_without_parts:,} of {asked} do not answer parts (Range): nobody can seek in them")

    def after(self, plans: Sequence[Plan], connection: Connection) -> None:
        """Open an item of each project as its page does."""
        queues = {entry.project: entry.queue for entry in plans if entry.project}
        if self.sample == 0:
            return
        with Api(connection) as api:
            opened = open_items(api, queues, self.rules)
        named = [f"project {number} ({queues[number]}): {fault}" for number, fault in opened.items() if fault]
        if named:
            where = f"{len(named):,} of {n_of(len(queues), 'project')} ({_listed(named)})"
            todo = "add the storage of /data/local-files/ or a bucket in its settings; then push again"
            raise FireError(f"the tasks are there, but the first item cannot be seen in {where}; {todo}")


_UNSEEN = "annotators would see nothing (push with --check-media 0 where they can see more than this machine)"


def _listed(words: Sequence[str]) -> str:
    return "; ".join([*words[:3], *(["…"] if len(words) > 3 else [])])


_MANY = 50_000  # tasks in a project: the server walks through them at each import


def say_loads(root: Path, rounds: Sequence[Round], *, as_json: bool) -> None:
    """Say how many tasks each annotator would get in each round, and how long they take."""
    with Store(root / STORE) as store:
        seconds = judgment_seconds(store)
    is_timed, rows = not math.isnan(seconds), list[dict[str, Any]]()
    for entry in rounds:
        for name, kinds in load_of(entry).items():
            n = sum(kinds.values())
            row = {"annotator": name, "round": str(entry.number), **kinds, "all": n}
            rows.append({**row, "hours": n * seconds / 3600 if is_timed else None})
    if as_json:
        click.echo(json.dumps(rows))
        return
    header = ["annotator", "round", *sorted({*chain(*rows)} - {"annotator", "round", "all", "hours"}), "all"]
    cells = [[f"{row.get(key, 0):,}" if key in header[2:] else row[key] for key in header] for row in rows]
    hours = [f"{row['hours']:.1f}" if is_timed else "" for row in rows]
    shown = [[*own, each] for own, each in zip(cells, hours, strict=True)]
    draw_rows(shown, [*header, "hours"])
    n_tasks = sum(row["all"] for row in rows)
    timed = "; no judgment was timed yet, so hours are not known"
    if is_timed:
        timed = f", {n_tasks * seconds / 3600:,.1f} hours at {seconds:.1f} s a judgment"
    say(n_of(n_tasks, "task") + timed)
    say("nothing was sent")


def say_pushed(
    pushed: Sequence[Plan], connection: Connection, retired: Collection[str], *, as_json: bool
) -> None:
    """Say what was added and updated, what each annotator opens, and what on the server should not be."""
    counts: dict[str, Any] = {
        "projects": sum(bool(p.project) for p in pushed),
        "added": sum(p.n_added for p in pushed),
        "there": sum(p.n_there for p in pushed),
        "updated": sum(len(p.changed) for p in pushed),
        "held": sum(p.n_held for p in pushed),
        "duplicates": sum(len(p.duplicates) for p in pushed),
        "foreign": sum(p.n_foreign for p in pushed),
    }
    updated = f" ({counts['updated']:,} of them updated)" if counts["updated"] else ""
    words = (
        f"{n_of(counts['added'], 'task')} added, {counts['there']:,} there before{updated}, "
        f"in {n_of(counts['projects'], 'project')}"
    )
    open_to = [entry for entry in pushed if entry.project and entry.queue.annotator_id not in retired]
    pages = {str(entry.queue): connection.labeling_page(entry.project) for entry in open_to}
    Given({"as_json": as_json}).summarise({**counts, "pages": pages}, words)
    for entry in open_to:
        say(f"{entry.queue.annotator_id} opens {pages[str(entry.queue)]}")
    for entry in pushed:
        for note in _notes(entry):
            say(f"note: project {entry.project} ({entry.queue}): {note}")


def _notes(entry: Plan) -> Iterator[str]:
    """Yield what is wrong with a project, or has yet to come."""
    if entry.n_held:
        yield f"{n_of(entry.n_held, 'task')} held back until the training is done: pull, then push again"
    if entry.crossed:
        words = f"{n_of(len(entry.crossed), 'task')} answered in the moment of the update"
        yield (
            f"{words} ({', '.join(entry.crossed[:3])}): the answers may be of the old caption or address; "
            "look at them"
        )
    if doubled := list(entry.duplicates):
        yield (
            f"{n_of(len(doubled), 'pair')} there more than once ({', '.join(doubled[:3])}); delete the "
            "copies without answers in the Data Manager, or leave them: the latest answer counts"
        )
    if entry.n_foreign:
        yield f"{n_of(entry.n_foreign, 'task')} not of this queue; their answers do not count for it"
    if entry.twins:
        twins = ", ".join(map(str, entry.twins))
        yield f"projects {twins} are copies of it; `fire-toolkit doctor` says which to delete"
    if entry.n_there + entry.n_added > _MANY:
        yield f"more than {_MANY:,} tasks slow a server down; hand out less at once (--budget)"
    if entry.restored:
        yield f"{', '.join(sorted(entry.restored))} had been changed by hand and were restored"
