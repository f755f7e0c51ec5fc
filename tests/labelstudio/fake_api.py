"""A Label Studio in this process: what the real one was seen to do, and what it will not do on demand.

It stands behind the real SDK (`httpx.MockTransport`). Faults are named for each request in turn.
"""

import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

import httpx

FAULTS = ("ok", "500", "500-after", "502-after", "409", "429", "drop", "drop-after", "timeout")
FAULTS += ("late", "replay", "shuffle", "repeat-rows")
TOKEN = "0123456789abcdef0123456789abcdef01234567"
URL = "http://label-studio.test"


class Killed(BaseException):
    """The client dies here, as by a signal: nothing catches it."""


class FakeServer:
    """Projects, tasks and annotations in memory; ids are used again after the newest is deleted."""

    def __init__(self, *, url_limit: int = 30_000) -> None:
        self.projects: dict[int, dict[str, Any]] = {}
        self.tasks: dict[int, dict[str, Any]] = {}
        self.annotations: dict[int, dict[str, Any]] = {}
        self.users = [1, 2, 3, 4]
        self.faults: list[str] = []
        self.kill_at: int | None = None
        self.kill_after = False
        self.requests: list[httpx.Request] = []
        self.bodies: list[Any] = []
        self.n_connections = 0
        self.url_limit = url_limit
        self.media_asked: list[str] = []
        self.media_faults: dict[str, int] = {}
        self.local_files = False  # whether projects have a storage on them
        self._ticks = 0
        self._imported_at = self._now()
        self._late: list[tuple[int, Callable[[], object]]] = []
        self._last_page: httpx.Response | None = None

    # What people do

    def answer(self, task: int, user: int, label: str | None = "relevant", **fields: Any) -> int:
        number = max(self.annotations, default=0) + 1
        now = self._now()
        result = [] if label is None else [choice("relevance", label, fields.pop("origin", "manual"))]
        self.annotations[number] = {
            "id": number,
            "task": task,
            "project": self.tasks[task]["project"],
            "completed_by": user,
            "updated_by": user,
            "was_cancelled": label is None,
            "ground_truth": False,
            "created_at": now,
            "updated_at": now,
            "lead_time": 5.0,
            "unique_id": str(uuid.UUID(int=self._ticks)),
            "result": result + fields.pop("more", []),
            "draft": "never shown",
            **fields,
        }
        self.tasks[task] |= {"updated_at": now, "is_labeled": True}
        return number

    def edit(self, annotation: int, user: int, label: str) -> None:
        found = self.annotations[annotation]
        now = self._now()
        found |= {"result": [choice("relevance", label)], "updated_by": user, "updated_at": now}
        self.tasks[found["task"]]["updated_at"] = now

    def delete_annotation(self, annotation: int) -> None:
        self.tasks[self.annotations.pop(annotation)["task"]]["updated_at"] = self._now()

    def delete_task(self, task: int) -> None:
        del self.tasks[task]
        for number in [n for n, found in self.annotations.items() if found["task"] == task]:
            del self.annotations[number]

    def delete_project(self, project: int) -> None:
        for task in self.tasks_of(project):
            self.delete_task(task["id"])
        self.projects.pop(project, None)

    def delete_user(self, user: int) -> None:
        for found in self.annotations.values():
            found["completed_by"] = None if found["completed_by"] == user else found["completed_by"]

    def tasks_of(self, project: int) -> list[dict[str, Any]]:
        return [task for _, task in sorted(self.tasks.items()) if task["project"] == project]

    def keys_of(self, project: int) -> Counter[str]:
        return Counter(task["data"].get("pair_id") for task in self.tasks_of(project))

    def offered(self, project: int) -> list[str]:
        """The pairs that a project still offers its annotator."""
        return [task["data"]["pair_id"] for task in self.tasks_of(project) if not task["is_labeled"]]

    def project_of(self, annotator_id: str, round_number: int = 1) -> int:
        mark = f"round {round_number} queue {annotator_id}"
        (number,) = (n for n, found in self.projects.items() if found["description"].endswith(mark))
        return number

    def lose_time(self, task: int) -> None:
        """Set a task's time back to its import, as was seen where a server was killed."""
        self.tasks[task]["updated_at"] = self._imported_at

    # What the server does

    def media(self, request: httpx.Request) -> httpx.Response:
        """Answer what is asked of the tasks' media: all in parts, but those that have a fault."""
        url = str(request.url)
        self.media_asked.append(url)
        headers = {"Access-Control-Allow-Origin": "*", "Content-Type": "video/mp4"}
        return httpx.Response(self.media_faults.get(url, 206), headers=headers, content=b"x")

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._handle)

    def _now(self) -> str:
        self._ticks += 1
        moment = datetime(2026, 11, 20, 12) + timedelta(seconds=self._ticks, microseconds=1)
        return moment.isoformat(timespec="microseconds") + "Z"

    def _handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self._carry_out_late()
        fault = self.faults.pop(0) if self.faults else "ok"
        if self.kill_at == len(self.requests):
            if self.kill_after:
                self._respond(request)
            raise Killed
        if request.url.path == "/api/version":
            return httpx.Response(200, json={"release": "1.23.2"})
        if request.headers.get("authorization") != f"Token {TOKEN}":
            return httpx.Response(401, json={"detail": "Invalid token."})
        if len(str(request.url)) > self.url_limit:
            return httpx.Response(414, text="<html>URI Too Long</html>")
        return self._with_fault(fault, request)

    def _with_fault(self, fault: str, request: httpx.Request) -> httpx.Response:
        if fault in ("500", "409", "429"):
            return httpx.Response(int(fault), text="<h1>Server Error</h1>", headers={"retry-after": "0"})
        if fault == "drop":
            raise httpx.ReadError("reset by peer", request=request)
        if fault == "timeout":
            raise httpx.ReadTimeout("timed out", request=request)
        if fault == "late" and request.method == "POST":
            self._late.append((len(self.requests) + 3, lambda: self._respond(request)))
            raise httpx.ReadTimeout("timed out", request=request)
        is_page = request.method == "GET" and request.url.path == "/api/tasks/"
        if fault == "replay" and is_page and self._last_page is not None:
            return self._last_page
        response = self._respond(request)
        if fault == "again":  # its database was locked when it had carried this out, so it did so once more
            response = self._respond(request)
        if fault in ("500-after", "502-after"):
            return httpx.Response(int(fault[:3]), text="<h1>Server Error</h1>")
        if fault == "drop-after":
            raise httpx.RemoteProtocolError("Server disconnected", request=request)
        if is_page and response.status_code == 200:
            response = _disordered(response, fault)
            self._last_page = response
        return response

    def _carry_out_late(self) -> None:
        due = [call for at, call in self._late if at <= len(self.requests)]
        self._late = [(at, call) for at, call in self._late if at > len(self.requests)]
        for call in due:
            call()

    def _respond(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        params = {name: values[0] for name, values in parse_qs(request.url.query.decode()).items()}
        body = json.loads(request.content) if request.content else None
        project = re.fullmatch(r"/api/projects/(\d+)/(import)?", path)
        task = re.fullmatch(r"/api/tasks/(\d+)/", path)
        if task and int(task[1]) in self.tasks:
            return self._task(self.tasks[int(task[1])], request.method, body)
        if path == "/data/local-files/" and self.local_files:
            return httpx.Response(206, headers={"Content-Type": "video/mp4"}, content=b"x")
        if path == "/api/organizations/":
            return httpx.Response(200, json=[{"id": 1, "title": "x", "created_at": "2026-01-01T00:00:00Z"}])
        if path == "/api/current-user/whoami":
            return httpx.Response(200, json={**user_of(1), "active_organization": 1})
        if path == "/api/users/":
            return httpx.Response(200, json=[user_of(number) for number in self.users])
        if path == "/api/projects/":
            return self._create(body) if request.method == "POST" else self._listed(params)
        if path == "/api/tasks/":
            return self._page(params)
        if project and int(project[1]) in self.projects:
            found = self.projects[int(project[1])]
            if project[2]:
                return self._import(found["id"], body)
            if request.method == "PATCH":
                self.bodies.append(body)
                found |= body
            return httpx.Response(200, json=found | self._counts(found["id"]))
        return httpx.Response(404, json={"detail": "Not found."})

    def _task(self, task: dict[str, Any], method: str, body: Any) -> httpx.Response:
        if method == "PATCH":
            self.bodies.append(body)
            task |= {**body, "updated_at": self._now()}
        return httpx.Response(200, json=task)

    def _create(self, body: dict[str, Any]) -> httpx.Response:
        self.bodies.append(body)
        number = max(self.projects, default=0) + 1
        made = {"id": number, "created_at": self._now()}
        self.projects[number] = {"show_collab_predictions": True, **body, **made}
        return httpx.Response(201, json=self.projects[number] | dict.fromkeys(self._counts(number)))

    def _listed(self, params: Mapping[str, str]) -> httpx.Response:
        size, page = int(params.get("page_size", 30)), int(params.get("page", 1))
        numbers = sorted(self.projects)[(page - 1) * size : page * size]
        if not numbers and page > 1:
            return httpx.Response(404, json={"detail": "Invalid page."})
        is_last = page * size >= len(self.projects)
        include = params["include"].split(",") if "include" in params else None
        results = [_narrow(self.projects[number] | self._counts(number), include) for number in numbers]
        return httpx.Response(200, json={"results": results, "next": None if is_last else "there is more"})

    def _counts(self, project: int) -> dict[str, int]:
        skips = [found["was_cancelled"] for found in self.annotations.values() if found["project"] == project]
        return {
            "task_number": len(self.tasks_of(project)),
            "total_annotations_number": skips.count(False),
            "skipped_annotations_number": skips.count(True),
        }

    def _import(self, project: int, body: list[dict[str, Any]]) -> httpx.Response:
        self.bodies.append(body)
        for entry in body:
            number = max(self.tasks, default=0) + 1
            self.tasks[number] = {
                "id": number,
                "project": project,
                "data": entry["data"],
                "updated_at": self._now(),
                "meta": entry.get("meta", {}),
                "is_labeled": False,
            }
        return httpx.Response(201, json={"task_count": len(body)})

    def _page(self, params: Mapping[str, str]) -> httpx.Response:
        query = json.loads(params.get("query", "{}"))
        tasks = self.tasks_of(int(params["project"]))
        for item in query.get("filters", {}).get("items", []):
            tasks = [task for task in tasks if _passes(task, item)]
        for ordering in query.get("ordering", []):
            name = ordering.removeprefix("-").removeprefix("tasks:")
            tasks.sort(key=lambda task: task[name], reverse=ordering.startswith("-"))
        size, page = int(params["page_size"]), int(params["page"])
        chosen = tasks[(page - 1) * size : page * size]
        if page > 1 and not chosen:
            return httpx.Response(404, json={"detail": "Invalid page."})
        shown = [self._shown(task, params) for task in chosen]
        return httpx.Response(200, json={"tasks": shown, "total": len(tasks)})

    def _shown(self, task: dict[str, Any], params: Mapping[str, str]) -> dict[str, Any]:
        own = [found for found in self.annotations.values() if found["task"] == task["id"]]
        n_skipped = sum(found["was_cancelled"] for found in own)
        counts = {"total_annotations": len(own) - n_skipped, "cancelled_annotations": n_skipped}
        content = {**task, **counts}
        include = params["include"].split(",") if "include" in params else None
        if params.get("fields") == "all":
            content["annotations"] = [_narrow(annotation, include) for annotation in own]
        return _narrow(content, include)


def _narrow(content: Mapping[str, Any], include: Iterable[str] | None) -> dict[str, Any]:
    return {key: value for key, value in content.items() if include is None or key in include}


def _passes(task: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    name = item["filter"].removeprefix("filter:tasks:")
    value = task["data"].get(name.removeprefix("data.")) if name.startswith("data.") else task[name]
    if item["operator"] == "in_list":
        assert len(item["value"]) <= 500
        return value in item["value"]
    assert item["operator"] == "greater"
    return bool(value > item["value"])


def _disordered(response: httpx.Response, fault: str) -> httpx.Response:
    content = response.json()
    if fault == "shuffle":
        content["tasks"] = content["tasks"][::-1]
    if fault == "repeat-rows":
        content["tasks"] = content["tasks"] + content["tasks"][:2]
    return httpx.Response(200, json=content)


def user_of(number: int) -> dict[str, Any]:
    """An account: the owner, then A02, A03, ... as the register names them."""
    name = "owner@example.org" if number == 1 else f"a0{number}@annotators.invalid"
    return {"id": number, "email": name, "date_joined": f"2026-11-0{number}T00:00:00Z", "avatar": None}


def choice(control: str, label: str, origin: str = "manual") -> dict[str, Any]:
    return {
        "value": {"choices": [label]},
        "from_name": control,
        "to_name": "video",
        "type": "choices",
        "origin": origin,
    }


def comment(text: str) -> dict[str, Any]:
    return {"value": {"text": [text]}, "from_name": "comment", "to_name": "video", "type": "textarea"}
