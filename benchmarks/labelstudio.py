"""Push and pull of 10,000 tasks on a running Label Studio, beside what the server itself takes.

    python benchmarks/labelstudio.py --workspace DIR [--tasks 10000] [--annotators 1]

DIR is a workspace whose server runs (`fire-toolkit labelstudio start`). The server's own speed is
measured in the same run with bare HTTP requests of the same kind: imports in batches of 1,000, pages of
1,000 tasks; for an incremental pull one request for each annotator's changes, one that tells which projects
there are and whether they still show the page that was pushed, and a file flushed to disk. Reads are repeated
in turn, ours and theirs, and the medians are shown. The projects are removed at the end.
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import pandas as pd

from fire_toolkit.assignment import assign_tasks
from fire_toolkit.formats.guideline_files import read_guideline
from fire_toolkit.guidelines import Guideline
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.campaign import Campaign, Round
from fire_toolkit.labelstudio.config import config_sha256
from fire_toolkit.labelstudio.connection import Connection, read_connection
from fire_toolkit.labelstudio.ledger_rows import KEPT
from fire_toolkit.labelstudio.pull import LOOK_BACK_S, Pulled, pull_answers
from fire_toolkit.labelstudio.push import make_queues, push_queues
from fire_toolkit.labelstudio.task_json import tasks_to_json
from fire_toolkit.tables import Tasks, check_pool, check_qrels, check_queries
from fire_toolkit.tasks import make_tasks

BATCH = 1000
INCLUDE = ",".join(("data", "annotations", *KEPT))


class Raw:
    """The server by bare requests."""

    def __init__(self, connection: Connection) -> None:
        headers = {"Authorization": f"Token {connection.token}"}
        # On a kept connection each answer of the server waits 40 ms, as in `open_client`.
        limits = httpx.Limits(max_keepalive_connections=0)
        self.http = httpx.Client(
            base_url=connection.url, headers=headers, timeout=300, trust_env=False, limits=limits
        )

    def project(self, guideline: Guideline) -> int:
        content = {"title": "benchmark", "label_config": guideline.label_config}
        return int(self.http.post("/api/projects/", json=content).raise_for_status().json()["id"])

    def push(self, project: int, payload: list[dict[str, Any]]) -> None:
        for start in range(0, len(payload), BATCH):
            batch = payload[start : start + BATCH]
            self.http.post(f"/api/projects/{project}/import", json=batch).raise_for_status()

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
        params = {"page_size": 100, "include": "id,description,label_config"}
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


def in_turn(ours: Callable[[], object], theirs: Callable[[], object], n_repeats: int) -> tuple[float, float]:
    """Return the median times of two calls, made in turn so that what else runs hits both."""
    times = [(timed(theirs), timed(ours)) for _ in range(n_repeats)]
    return median(own for _, own in times), median(their for their, _ in times)


def changed_since(moment: str) -> dict[str, Any]:
    return {"filter": "filter:tasks:updated_at", "operator": "greater", "type": "Datetime", "value": moment}


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
        for project in projects:
            raw.http.delete(f"/api/projects/{project}/")


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
    raw, rows, projects = Raw(connection), [], []
    digest = config_sha256(guideline.label_config)
    key = uuid.uuid4().hex[:12]
    campaign = Campaign(key, guideline.name, guideline.sha256, digest, guideline.label_config, False)
    tasks = make_payload(given.tasks, guideline)
    no_controls = check_qrels(pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []}))
    names = [f"bench{number}" for number in range(given.annotators)]
    queues = make_queues(Round(1, tasks, assign_tasks(tasks, names), no_controls), guideline, done=set())
    with (
        removed(raw, projects),
        tempfile.TemporaryDirectory() as place,
        Api(connection, timeout_s=300) as api,
    ):
        ledger = Path(place) / "ledger"

        def push() -> list[int]:
            return [pushed.project for pushed in push_queues(api, campaign, queues, guideline=guideline)]

        def pull(folder: Path, marks: Mapping[str, str], *, is_full: bool = False) -> Pulled:
            now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
            return pull_answers(
                api, campaign, folder, names={}, marks=marks, now=lambda: now, is_full=is_full
            )

        bare = raw.project(guideline)
        projects.append(bare)
        payload = tasks_to_json(tasks, guideline)[1]
        theirs = timed(lambda: raw.push(bare, payload))
        ours = timed(lambda: projects.extend(push()))
        rows.append((f"push {given.tasks:,} tasks", ours, theirs))
        own = projects[1:]

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
        marks = pull(ledger, {}, is_full=True).marks
        fresh = iter(range(given.repeats))
        both = in_turn(
            lambda: pull(Path(place) / f"full-{next(fresh)}", {}, is_full=True),
            lambda: read_all(INCLUDE, answers=True),
            given.repeats,
        )
        rows.append((f"full pull, {given.answered:,} answers", *both))
        time.sleep(LOOK_BACK_S + 1)
        last = [(project, numbers[project][-1 - place]) for place in range(30) for project in own]
        raw.answer_all(last[:30])

        def read_changes() -> None:
            with (Path(place) / "changes").open("w") as stream:
                json.dump(raw.projects(), stream)
                stream.flush()
                os.fsync(stream.fileno())
            for project in own:
                (mark,) = (value for key, value in marks.items() if f"#{project}#" in key)
                raw.read(project, include=INCLUDE, items=[changed_since(mark)], answers=True)

        copies = [shutil.copytree(ledger, Path(place) / f"copy-{n}") for n in range(given.repeats)]
        found: list[Pulled] = []
        both = in_turn(lambda: found.append(pull(copies.pop(), marks)), read_changes, given.repeats)
        if {pulled.n_new for pulled in found} != {30}:
            raise SystemExit(f"expected 30 new answers, found {found}")
        rows.append(("incremental pull of 30 changes", *both))
    print(f"{'what':34} {'ours, s':>9} {'server, s':>10} {'overhead':>9}")
    for what, ours_s, theirs_s in rows:
        print(f"{what:34} {ours_s:9.2f} {theirs_s:10.2f} {ours_s / theirs_s - 1:9.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
