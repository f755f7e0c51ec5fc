"""Push and pull of 10,000 tasks on a running Label Studio, beside what the server itself takes.

    python benchmarks/labelstudio.py --workspace DIR [--tasks 10000] [--annotators 1]

DIR is a workspace whose server runs (`fire-toolkit labelstudio start`). The server's own speed is
measured in the same run with the bare HTTP requests that no blind campaign can do without: for a push one
that makes each annotator's project with its settings, and imports in batches of 1,000; for reads pages of
1,000 tasks; for an incremental pull one request for each annotator's changes, one that tells which projects
there are and whether they still show the page that was pushed, and a new file flushed to disk. Changes are
asked for as a client must that loses none, from before the last one on, since the server writes a change's
time before others can see the change; beside it stands the same without looking back. All are repeated in
turn, ours and theirs, and the medians are shown. The projects are removed at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import pandas as pd

from fire_toolkit.campaign.carrier import Fetched
from fire_toolkit.campaign.ledger import KEPT
from fire_toolkit.campaign.queues import assign_tasks
from fire_toolkit.campaign.records import Campaign, Round
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.tasks import make_tasks
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.guidelines.label_config import config_sha256
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.connection import Connection, read_connection
from fire_toolkit.labelstudio.places import project_settings, read_places
from fire_toolkit.labelstudio.pull import LOOK_BACK_S, pull_answers
from fire_toolkit.labelstudio.push import Push, make_queues
from fire_toolkit.tables import Tasks, check_pool, check_qrels, check_queries

BATCH = 1000
INCLUDE = ",".join(("data", "annotations", *KEPT))


class Raw:
    """The server by bare requests."""

    def __init__(self, connection: Connection) -> None:
        headers = {"Authorization": f"Token {connection.token}"}
        # On a kept connection each answer of the server waits 40 ms, as in `Api`.
        limits = httpx.Limits(max_keepalive_connections=0)
        self.http = httpx.Client(
            base_url=connection.url, headers=headers, timeout=300, trust_env=False, limits=limits
        )

    def push(self, settings: Mapping[str, Any], tasks: Sequence[dict[str, Any]]) -> int:
        """Make a project with tasks; return its number."""
        project = int(self.http.post("/api/projects/", json=settings).raise_for_status().json()["id"])
        for start in range(0, len(tasks), BATCH):
            batch = tasks[start : start + BATCH]
            self.http.post(f"/api/projects/{project}/import", json=batch).raise_for_status()
        return project

    def read(self, project: int, *, include: str, items: list[dict[str, Any]], answers: bool) -> int:
        """Read all pages of tasks above the last number; return how many there were."""
        last = n = 0
        while True:
            above = {"filter": "filter:tasks:id", "operator": "greater", "type": "Number", "value": last}
            filters = {"conjunction": "and", "items": [*items, above]}
            query = json.dumps({"filters": filters, "ordering": ["tasks:id"]})
            params: dict[str, Any] = {"project": project, "page": 1, "page_size": BATCH, "query": query}
            params |= {"include": include, **({"fields": "all"} if answers else {})}
            found = self.http.get("/api/tasks/", params=params).raise_for_status().json()
            n += len(found["tasks"])
            if found["total"] <= len(found["tasks"]):
                return n
            last = max(task["id"] for task in found["tasks"])

    def projects(self) -> list[dict[str, Any]]:
        params: dict[str, Any] = {"page_size": 100, "include": "id,description,label_config"}
        return list(self.http.get("/api/projects/", params=params).raise_for_status().json()["results"])

    def answer_all(self, tasks: Iterable[tuple[int, int]]) -> None:
        """Answer tasks, each given as its project and its number."""
        for project, number in tasks:
            self._answer(project, number)

    def _answer(self, project: int, task: int) -> None:
        value = {"choices": ["relevant"]}
        result = {"from_name": "relevance", "to_name": "video", "type": "choices", "value": value}
        content = {"result": [result], "lead_time": 5.0, "unique_id": str(uuid.uuid4())}
        path = f"/api/tasks/{task}/annotations/"
        self.http.post(path, params={"project": project}, json=content).raise_for_status()

    def numbers(self, project: int) -> list[int]:
        params: dict[str, Any] = {"project": project, "page_size": 100_000, "include": "id"}
        return [task["id"] for task in self.http.get("/api/tasks/", params=params).json()["tasks"]]


def timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def in_turn(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    n_repeats: int,
    *,
    after: Callable[[], object] = lambda: None,
) -> tuple[float, float]:
    """Return the median times of two calls, made in turn so that what else runs hits both.

    Each is the first of the two every other time; `after` is called after each and not timed.
    """
    times: dict[Callable[[], object], list[float]] = {ours: [], theirs: []}
    for repeat in range(n_repeats):
        for call in (ours, theirs) if repeat % 2 else (theirs, ours):
            times[call].append(timed(call))
            after()
    return median(times[ours]), median(times[theirs])


def keep_durably(path: Path, text: str) -> None:
    with path.open("w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def changed_since(moment: str) -> dict[str, Any]:
    return {"filter": "filter:tasks:updated_at", "operator": "greater", "type": "Datetime", "value": moment}


def earlier(moment: str, seconds: float) -> str:
    return (datetime.fromisoformat(moment) - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def make_payload(n_tasks: int, guideline: Guideline) -> Tasks:
    numbers = [f"{number:06d}" for number in range(n_tasks)]
    pool = check_pool(
        pd.DataFrame({"query_id": [f"q{n}" for n in numbers], "doc_id": [f"v{n}" for n in numbers]})
    )
    queries = check_queries(pool[["query_id"]].assign(text="a man slices a tomato in a kitchen"))
    return make_tasks(pool, queries, guideline=guideline, overlap=0)


@contextmanager
def removed(raw: Raw, projects: list[int]) -> Iterator[None]:
    try:
        yield
    finally:
        remove(raw, projects)


def remove(raw: Raw, projects: list[int]) -> None:
    while projects:
        raw.http.delete(f"/api/projects/{projects.pop()}/")


def show(rows: Iterable[tuple[str, float, float]]) -> None:
    print(f"{'what':46} {'ours, s':>9} {'server, s':>10} {'overhead':>9}")
    for what, ours_s, theirs_s in rows:
        print(f"{what:46} {ours_s:9.3f} {theirs_s:10.3f} {ours_s / theirs_s - 1:9.0%}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workspace", type=Path, required=True)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--annotators", type=int, default=1)
    parser.add_argument("--answered", type=int, default=2_000, help="answers that are there before the pulls")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    guideline = read_guideline("caption-relevance-v1")
    connection = read_connection(given.workspace, environ={})
    rows: list[tuple[str, float, float]] = []
    raw, projects = Raw(connection), list[int]()
    digest = config_sha256(guideline.label_config)
    campaign = Campaign("bare", guideline.name, guideline.sha256, digest, guideline.label_config)
    tasks = make_payload(given.tasks, guideline)
    no_controls = check_qrels(pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []}))
    names = [f"bench{number}" for number in range(given.annotators)]
    queues = make_queues(Round(1, tasks, assign_tasks(tasks, names), no_controls), guideline, done=set())
    with (
        removed(raw, projects),
        tempfile.TemporaryDirectory() as place,
        Api(connection, timeout_s=300) as api,
    ):
        record = Path(place) / "campaign.sqlite"

        def push() -> list[int]:
            to_server = Push(api, campaign, guideline)
            return [pushed.project for pushed in to_server.carry_out(to_server.plan(queues))]

        def push_anew() -> None:
            nonlocal campaign
            campaign = replace(campaign, key=uuid.uuid4().hex[:12])
            projects.extend(push())

        def push_bare() -> None:
            for queue in queues:
                settings = project_settings(bare, queue.queue, guideline)
                projects.append(raw.push(settings, list(queue.tasks)))

        def pull(path: Path, *, is_full: bool = False) -> Fetched:
            with Store(path, shows_now=True) as store:
                return pull_answers(api, campaign, store, names={}, is_full=is_full)

        bare = campaign
        both = in_turn(push_anew, push_bare, given.repeats, after=lambda: remove(raw, projects))
        rows.append((f"push {given.tasks:,} tasks", *both))
        push_anew()
        own = list(projects)

        def read_all(include: str, *, answers: bool) -> None:
            for project in own:
                raw.read(project, include=include, items=[], answers=answers)

        both = in_turn(push, lambda: read_all("id,data", answers=False), given.repeats)
        rows.append(("push again, nothing to do", *both))
        numbers = {project: raw.numbers(project) for project in own}
        share = given.answered // len(own)
        raw.answer_all((project, number) for project in own for number in numbers[project][:share])
        time.sleep(LOOK_BACK_S + 1)  # what is recent is read again by every pull; a campaign has little of it
        raw.answer_all((project, numbers[project][share]) for project in own)
        pull(record, is_full=True)
        with Store(record) as store:
            marks = {place.project: place.read_up_to for place in read_places(store)}
        fresh = count()
        both = in_turn(
            lambda: pull(Path(place) / f"full-{next(fresh)}", is_full=True),
            lambda: read_all(INCLUDE, answers=True),
            given.repeats,
        )
        rows.append((f"full pull, {given.answered:,} answers", *both))
        time.sleep(LOOK_BACK_S + 1)
        last = [(project, numbers[project][-1 - place]) for place in range(30) for project in own]
        raw.answer_all(last[:30])

        def read_changes(look_back_s: float) -> None:
            found = raw.projects()
            for project in own:
                items = [changed_since(earlier(marks[project], look_back_s))]
                raw.read(project, include=INCLUDE, items=items, answers=True)
            keep_durably(Path(place) / f"changes-{next(fresh)}", json.dumps(found))

        n_pulls = 12 * given.repeats  # each takes a fifth of a second
        copies = [shutil.copy(record, Path(place) / f"copy-{n}") for n in range(2 * n_pulls)]
        found: list[Fetched] = []
        for look_back_s, what in ((LOOK_BACK_S, ""), (0, " (no look-back)")):
            both = in_turn(
                lambda: found.append(pull(copies.pop())), partial(read_changes, look_back_s), n_pulls
            )
            rows.append((f"incremental pull of 30 changes{what}", *both))
        if {sum(pulled.counts.values()) for pulled in found} != {30}:
            raise SystemExit(f"expected 30 new answers, found {found}")
    show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
