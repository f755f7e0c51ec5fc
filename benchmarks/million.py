"""What a large campaign costs, from tasks to status: `python benchmarks/million.py --tasks 10000 100000`.

For each number of tasks a workspace is made up (20 items for each caption, eight annotators), and a server in
this process stands in for Label Studio, behind a port of loopback. `--answered` of the tasks are answered
(0.3: three tenths) before the first pull, and 30 more before each other. Each command runs as a process of
its own; printed are its wall and CPU seconds and the peak of its memory. What the server costs is not in the
CPU seconds of a command, but in its wall seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "labelstudio"))

from fake_api import TOKEN, FakeServer, _narrow, _passes
from fake_http import served

from fire_toolkit.campaign.records import Rounds
from fire_toolkit.labelstudio.pull import LOOK_BACK_S

PEOPLE = 8


class LargeServer(FakeServer):
    """The server of the tests, which finds tasks and answers without looking at all of them."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[int, list[int]] = defaultdict(list)
        self._keys: dict[tuple[int, str], list[int]] = defaultdict(list)
        self._own: dict[int, list[dict[str, Any]]] = defaultdict(list)
        self._counted: dict[int, int] = defaultdict(int)
        self.users = list(range(1, PEOPLE + 2))

    def judge(self, task: int) -> None:
        """Answer a task as its project's annotator would."""
        number = len(self.annotations) + 1
        now = self._now()
        project = self.tasks[task]["project"]
        person = int(self.projects[project]["description"].split(" queue A")[1][:2])
        label = "relevant" if task % 7 else "irrelevant"
        result = {"value": {"choices": [label]}, "from_name": "relevance", "to_name": "video"}
        self.annotations[number] = {
            **{"id": number, "task": task, "project": project, "completed_by": person, "updated_by": person},
            **{"was_cancelled": False, "ground_truth": False, "created_at": now, "updated_at": now},
            **{"lead_time": 3.0 + task % 5, "unique_id": f"u{number}"},
            "result": [{**result, "type": "choices", "origin": "manual"}],
        }
        self._own[task].append(self.annotations[number])
        self._counted[project] += 1
        self.tasks[task] |= {"updated_at": now, "is_labeled": True}

    def _handle(self, request: httpx.Request) -> httpx.Response:
        answer = super()._handle(request)
        self.requests.clear()
        self.bodies.clear()
        return answer

    def _import(self, project: int, body: list[dict[str, Any]]) -> httpx.Response:
        now = self._now()
        for entry in body:
            number = len(self.tasks) + 1
            task = {"id": number, "project": project, "data": entry["data"], "updated_at": now}
            self.tasks[number] = task | {"is_labeled": False}
            self._numbers[project].append(number)
            self._keys[project, entry["data"]["pair_id"]].append(number)
        return httpx.Response(201, json={"task_count": len(body)})

    def _counts(self, project: int) -> dict[str, int]:
        return {
            "task_number": len(self._numbers[project]),
            "total_annotations_number": self._counted[project],
            "skipped_annotations_number": 0,
        }

    def _page(self, params: Mapping[str, str]) -> httpx.Response:
        query = json.loads(params.get("query", "{}"))
        project = int(params["project"])
        numbers: Iterable[int] = self._numbers[project]
        other = []
        for item in query.get("filters", {}).get("items", []):
            if item["filter"] == "filter:tasks:id":
                numbers = self._numbers[project][bisect_right(self._numbers[project], item["value"]) :]
            elif item["operator"] == "in_list":
                numbers = sorted(n for key in item["value"] for n in self._keys.get((project, key), ()))
            else:
                other.append(item)
        tasks = [self.tasks[number] for number in numbers]
        for item in other:
            tasks = [task for task in tasks if _passes(task, item)]
        if query.get("ordering") != ["tasks:id"]:
            tasks = sorted(tasks, key=lambda task: task["updated_at"], reverse=True)
        shown = [self._shown(task, params) for task in tasks[: int(params["page_size"])]]
        return httpx.Response(200, json={"tasks": shown, "total": len(tasks)})

    def _shown(self, task: dict[str, Any], params: Mapping[str, str]) -> dict[str, Any]:
        own = self._own.get(task["id"], [])
        include = params["include"].split(",")
        content = {**task, "total_annotations": len(own), "cancelled_annotations": 0}
        if params.get("fields") == "all":
            content["annotations"] = [_narrow(annotation, include) for annotation in own]
        return _narrow(content, include)


def make_workspace(root: Path, n_tasks: int) -> None:
    """Write a collection and a pool of `n_tasks` pairs."""
    subprocess.run([*COMMAND, "init", str(root)], check=True, capture_output=True)
    (root / "collection").mkdir(exist_ok=True)
    (root / "pool").mkdir(exist_ok=True)
    n_queries = max(n_tasks // 20, 1)
    with (root / "collection" / "queries.tsv").open("w") as stream:
        stream.write("query_id\ttext\n")
        stream.writelines(f"q{n:06d}\ta man slices a tomato in kitchen {n}\n" for n in range(n_queries))
    with (root / "collection" / "items.tsv").open("w") as stream:
        stream.write("doc_id\tmedia_url\n")
        stream.writelines(f"v{n}\thttp://127.0.0.1:9/videos/v{n}.mp4\n" for n in range(1000))
    with (root / "pool" / "pool.csv").open("w") as stream:
        stream.write("query_id,doc_id\n")
        stream.writelines(f"q{n // 20:06d},v{(n // 20 * 7 + n % 20) % 1000}\n" for n in range(n_tasks))


# Between this process and a command: what a process starts begins with the peak of its memory.
_LAUNCH = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[2:])
_, state, used = os.wait4(process.pid, 0)
with open(sys.argv[1], "w") as stream:
    stream.write(f"{used.ru_utime + used.ru_stime} {used.ru_maxrss / 1024}")
os._exit(1 if state else 0)
"""
COMMAND = [sys.executable, "-c", "from fire_toolkit.cli import main; main()"]


def run(name: str, arguments: list[str], root: Path, environ: Mapping[str, str], n_tasks: int) -> None:
    """Run a command, and print what it took."""
    with tempfile.TemporaryFile() as words, tempfile.NamedTemporaryFile("r") as used:
        started = time.perf_counter()
        launch = [sys.executable, "-ISc", _LAUNCH, used.name, *COMMAND, *arguments]
        process = subprocess.run(launch, cwd=root, env={**os.environ, **environ}, stdout=words, stderr=words)
        wall = time.perf_counter() - started
        words.seek(0)
        if process.returncode:
            raise SystemExit(f"{name} failed\n{words.read().decode()[-3000:]}")
        cpu, peak = map(float, used.read().split())
    print(f"{n_tasks:>9,}  {name:24} {wall:8.1f} {cpu:8.1f} {peak:8,.0f}", flush=True)


def kill_pushes(
    server: LargeServer, root: Path, environ: Mapping[str, str], words: list[str], n: int
) -> None:
    """Kill a push n times at random moments, each going on where the one before was; then let one end.

    Raises:
        SystemExit: a queue on the server has not each of its tasks once.
    """
    chance, there = random.Random(n), [0]
    most = 2 * sum(1 for _ in (root / "pool" / "pool.csv").open()) // (n + 1)
    for _ in range(n):
        enough, pause = there[-1] + chance.randrange(most), chance.uniform(0, 0.2)
        push = subprocess.Popen(
            [*COMMAND, *words], cwd=root, env={**os.environ, **environ}, stderr=subprocess.DEVNULL
        )
        while push.poll() is None and len(server.tasks) < enough:
            time.sleep(0.005)
        time.sleep(pause)
        if push.poll() is None:
            push.kill()
        elif push.returncode:
            raise SystemExit(f"push: exit {push.returncode}")
        push.wait()
        there.append(len(server.tasks))
    subprocess.run(
        [*COMMAND, *words], cwd=root, env={**os.environ, **environ}, check=True, capture_output=True
    )
    queues = {
        number: project["description"].split(" queue ")[1][:3] for number, project in server.projects.items()
    }
    sent = [(queues[task["project"]], task["data"]["pair_id"]) for task in server.tasks.values()]
    (entry,) = Rounds(root)
    asked = list(zip(entry.assignments["annotator_id"], entry.assignments["pair_id"], strict=True))
    print(f"on the server when it was killed, and at the end: {', '.join(map(str, [*there[1:], len(sent)]))}")
    if sorted(sent) != sorted(asked):
        raise SystemExit(
            f"{len(asked)} tasks were to be sent, {len(sent)} are there, {len({*sent})} distinct"
        )
    print(f"each of {len(asked)} tasks is on the server once")


def measure(n_tasks: int, answered: float, limit: int | None, kills: int) -> None:
    """Run every command once at a number of tasks."""
    server = LargeServer()
    with tempfile.TemporaryDirectory() as place, served(server) as url:
        root = Path(place) / "work"
        make_workspace(root, n_tasks)
        environ = {"FIRE_LABEL_STUDIO_URL": url, "FIRE_LABEL_STUDIO_TOKEN": TOKEN, "NO_PROXY": "127.0.0.1"}
        people = [f"--annotator=A{n:02d}" for n in range(2, PEOPLE + 2)]
        most = ["--tasks-per-project", str(limit)] if limit else []

        def go(name: str, *arguments: str) -> None:
            run(name, list(arguments), root, environ, n_tasks)

        go("tasks", "tasks", "--items", "collection/items.tsv")
        if kills:
            kill_pushes(server, root, environ, ["push", "--check-media", "0", *people, *most], kills)
            return
        go("push", "push", "--check-media", "0", *people, *most)
        go("push again", "push", "--check-media", "0", *most)
        waiting = [number for numbers in server._numbers.values() for number in numbers]
        n_answers = int(answered * n_tasks)
        chosen = waiting[:: max(1, int(1 / answered))][:n_answers]
        for number in chosen:
            server.judge(number)
        go(f"pull {len(chosen):,}", "pull")
        go("progress, first", "progress")
        time.sleep(LOOK_BACK_S + 1)  # what is recent is read again by every pull; a campaign has little of it
        others = sorted(set(waiting) - set(chosen))
        for name in ("progress", "status"):
            for number in (others.pop(0) for _ in range(30)):
                server.judge(number)
            go("pull 30", "pull")
            go(f"{name} after it", name)
            go(f"{name} again", name)
        go("agree", "agree")
        go("resolve", "resolve")
        go("pull --full", "pull", "--full")


def main() -> None:
    """Print the curve."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tasks", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--answered", type=float, default=0.3, help="share of the tasks that is answered")
    parser.add_argument("--limit", type=int, help="most tasks in a project")
    parser.add_argument(
        "--kills", type=int, default=0, help="only kill so many pushes, and look at what came"
    )
    given = parser.parse_args()
    print(f"{'tasks':>9}  {'command':24} {'wall s':>8} {'CPU s':>8} {'peak MB':>8}")
    for n_tasks in given.tasks:
        measure(n_tasks, given.answered, given.limit, given.kills)


if __name__ == "__main__":
    main()
