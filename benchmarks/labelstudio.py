"""Push and pull of 10,000 tasks on a running Label Studio, beside what the server itself takes.

    python benchmarks/labelstudio.py --workspace DIR [--tasks 10000]

DIR is a workspace whose server runs (`fire-toolkit labelstudio start`). The server's own speed is
measured in the same run with bare HTTP requests of the same kind: imports in batches of 1,000, pages of
1,000 tasks. The projects are removed at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
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
from fire_toolkit.labelstudio.pull import LOOK_BACK_S, pull_answers
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
        self.http = httpx.Client(base_url=connection.url, headers=headers, timeout=300, trust_env=False)

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

    def answer(self, project: int, task: int, label: str) -> None:
        value = {"choices": [label]}
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
    parser.add_argument(
        "--answered", type=int, default=2_000, help="tasks that get an answer before the pulls"
    )
    given = parser.parse_args()
    guideline = read_guideline("caption-relevance-v1")
    connection = read_connection(given.workspace, environ={})
    raw, rows, projects = Raw(connection), [], []
    digest = config_sha256(guideline.label_config)
    key = uuid.uuid4().hex[:12]
    campaign = Campaign(key, guideline.name, guideline.sha256, digest, guideline.label_config, False)
    tasks = make_payload(given.tasks, guideline)
    no_controls = check_qrels(pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []}))
    entry = Round(1, tasks, assign_tasks(tasks, ["bench"]), no_controls)
    queues = make_queues(entry, guideline, done=set())
    with (
        removed(raw, projects),
        tempfile.TemporaryDirectory() as folder,
        Api(connection, timeout_s=300) as api,
    ):

        def push() -> None:
            (pushed,) = push_queues(api, campaign, queues, guideline=guideline)
            projects.append(pushed.project)

        def pull(marks: dict[str, str], *, is_full: bool) -> dict[str, str]:
            now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
            pulled = pull_answers(
                api,
                campaign,
                Path(folder),
                names={},
                marks=marks,
                now=lambda: now,
                is_full=is_full,
            )
            return dict(pulled.marks)

        bare = raw.project(guideline)
        projects.append(bare)
        payload = tasks_to_json(tasks, guideline)[1]
        theirs = timed(lambda: raw.push(bare, payload))
        rows.append((f"push {given.tasks:,} tasks", timed(push), theirs))
        ours = projects[-1]
        theirs = timed(lambda: raw.read(ours, include="id,data", items=[], answers=False))
        rows.append(("push again, nothing to do", timed(push), theirs))
        numbers = sorted(raw.numbers(ours))
        for number in numbers[: given.answered]:
            raw.answer(ours, number, "relevant")
        time.sleep(LOOK_BACK_S + 1)  # what is recent is read again by every pull; a campaign has little of it
        raw.answer(ours, numbers[-31], "irrelevant")
        theirs = timed(lambda: raw.read(ours, include=INCLUDE, items=[], answers=True))
        marks: dict[str, str] = {}

        def full_pull() -> None:
            marks.update(pull({}, is_full=True))

        rows.append((f"full pull, {given.answered:,} answers", timed(full_pull), theirs))
        (mark,) = marks.values()
        for number in numbers[-30:]:
            raw.answer(ours, number, "irrelevant")
        changed = {
            "filter": "filter:tasks:updated_at",
            "operator": "greater",
            "type": "Datetime",
            "value": mark,
        }
        theirs = timed(lambda: raw.read(ours, include=INCLUDE, items=[changed], answers=True))
        rows.append(("incremental pull of 30 changes", timed(lambda: pull(marks, is_full=False)), theirs))
    print(f"{'what':34} {'ours, s':>9} {'server, s':>10} {'overhead':>9}")
    for what, ours_s, theirs_s in rows:
        print(f"{what:34} {ours_s:9.2f} {theirs_s:10.2f} {ours_s / theirs_s - 1:9.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
