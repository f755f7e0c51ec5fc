"""The calls of a campaign to a server, each with its own rule for what to do when it fails.

Reads are asked again after a failure. A write is sent once: the SDK would send it again although the
server may have carried it out, so it is for the caller to look before sending it again (`Uncertain`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from fire_toolkit.errors import ServerError
from fire_toolkit.labelstudio.connection import Connection, open_client
from fire_toolkit.labelstudio.failures import server_errors
from fire_toolkit.labelstudio.glance import COUNTS

if TYPE_CHECKING:
    import httpx
    from label_studio_sdk.core.request_options import RequestOptions

Json = Any
Task = dict[str, Any]
Answer = TypeVar("Answer")

ATTEMPTS = 6
_BUSY = (408, 409, 425, 429)
_LONGEST_PAUSE_S = 30.0


class Uncertain(ServerError):
    """A write failed in a way that leaves open whether the server carried it out."""


@dataclass(frozen=True)
class Filter:
    """A condition on tasks, as the Data Manager writes it."""

    field: str
    operator: str
    kind: str
    value: object

    def as_json(self) -> Json:
        """Return the filter as the API takes it."""
        return {
            "filter": f"filter:tasks:{self.field}",
            "operator": self.operator,
            "type": self.kind,
            "value": self.value,
        }


class Api:
    """A server and how to talk to it.

    As a context manager it closes its connections at the end. `pause` waits a number of seconds between
    attempts; tests give one that does not.
    """

    page_size = 1000

    def __init__(
        self,
        connection: Connection,
        *,
        transport: httpx.BaseTransport | None = None,
        timeout_s: float = 60.0,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.connection = connection
        self._client = open_client(connection, timeout_s=timeout_s, transport=transport)
        self._pause = pause

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *error: object) -> None:
        """Close the connections."""
        self._client._client_wrapper.httpx_client.httpx_client.close()

    def identity(self) -> str:
        """Return what tells this server from others, wherever it is reached: its organisation's birth."""
        found = self._read("api/organizations/", {})
        organisation = found[0] if isinstance(found, list) and found else {}
        born = organisation.get("created_at") if isinstance(organisation, dict) else None
        return f"org-{organisation['id']}-{born}" if born else self.connection.url

    def projects(self, *, with_counts: bool = False) -> list[Json]:
        """Return id, title, description, label_config and created_at of all projects to be seen, by number.

        with_counts: how many tasks (task_number), answers (total_annotations_number, without skips) and skips
        (skipped_annotations_number) each has too, which the server counts for it.
        """
        found: dict[int, Json] = {}
        page = 1
        while True:
            fields = "id,title,description,label_config,created_at" + (f",{COUNTS}" if with_counts else "")
            params = {"page": page, "page_size": 100, "ordering": "id", "include": fields}
            answer = self._read("api/projects/", params, past_the_end={} if page > 1 else None)
            results = answer.get("results") or [] if isinstance(answer, dict) else []
            found |= {int(project["id"]): project for project in results}
            if not results or not answer.get("next"):
                return [found[number] for number in sorted(found)]
            page += 1

    def project(self, number: int) -> Json:
        """Return a project with its settings."""
        return self._read(f"api/projects/{number}/", {})

    def create_project(self, settings: Mapping[str, Any]) -> int:
        """Create a project and return its number.

        Raises:
            Uncertain: it may or may not be there now.
        """
        made = self._write(lambda once: self._client.projects.create(**settings, request_options=once))
        if made.id is None:
            raise ServerError(f"{self.connection.url}: the server created a project without an id")
        return int(made.id)

    def update_project(self, number: int, settings: Mapping[str, Any]) -> None:
        """Change settings of a project (doing it twice does no harm)."""
        self._again(
            lambda: self._write(
                lambda once: self._client.projects.update(number, **settings, request_options=once)
            )
        )

    def import_tasks(self, project: int, tasks: Sequence[Json]) -> None:
        """Add tasks to a project, all of them or none.

        Raises:
            Uncertain: they may or may not be there now, or may be there in a moment.
        """
        # Beside the SDK's model, which looks at every value of every task, but through its session (`_read`).
        path = f"api/projects/{project}/import"
        content = json.dumps(tasks, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        kind = {"content-type": "application/json"}
        self._write(lambda once: _json_of(self._send("POST", path, once, content=content, headers=kind)))

    def update_task(self, number: int, content: Mapping[str, Any]) -> None:
        """Replace the data of a task (doing it twice does no harm)."""
        self._change_task(number, {"data": dict(content)})

    def shown_data(self, number: int) -> Json:
        """Return the data of a task as its page gets them: with addresses in the place of buckets."""
        found = self._read(f"api/tasks/{number}/", {})
        return found.get("data") or {} if isinstance(found, dict) else {}

    def first_byte(self, path: str) -> httpx.Response:
        """Return the server's answer to a request for the first byte of what it serves at `path`."""
        with server_errors(self.connection):
            headers = {"Range": "bytes=0-0", "Accept-Encoding": "identity"}
            return self._send("GET", path.removeprefix("/"), {"max_retries": 0}, headers=headers)

    def close_task(self, number: int) -> None:
        """Call a task done, so that it is not offered any more; it stays, and can still be opened."""
        self._change_task(number, {"is_labeled": True})

    def _change_task(self, number: int, content: Json) -> None:
        path = f"api/tasks/{number}/"
        self._again(lambda: self._write(lambda once: _json_of(self._send("PATCH", path, once, json=content))))

    def task_page(
        self,
        project: int,
        *,
        filters: Sequence[Filter] = (),
        ordering: str = "tasks:id",
        include: Sequence[str],
        with_answers: bool = False,
        page_size: int | None = None,
    ) -> tuple[list[Task], int]:
        """Return the first tasks that pass all filters, in order, and how many pass in all."""
        items = [condition.as_json() for condition in filters]
        query = {"filters": {"conjunction": "and", "items": items}, "ordering": [ordering]}
        params = {
            "project": project,
            "page": 1,
            "page_size": page_size or self.page_size,
            "include": ",".join((*include, "project")),
            "query": json.dumps(query, ensure_ascii=True, separators=(",", ":")),
            **({"fields": "all"} if with_answers else {}),
        }
        answer = self._again(lambda: self._read_page(project, params))
        return answer["tasks"], int(answer.get("total") or len(answer["tasks"]))

    def _read_page(self, project: int, params: Mapping[str, Any]) -> Json:
        answer = self._read_once("api/tasks/", params, None)
        tasks = answer.get("tasks") if isinstance(answer, dict) else None
        where = f"{self.connection.url}/api/tasks/"
        if not isinstance(tasks, list) or not all(_is_task(task) for task in tasks):
            raise ServerError(f"{where}: the answer has no list of tasks; see `fire-toolkit doctor`")
        if any(task.get("project", project) != project for task in tasks):
            raise Uncertain(
                f"{where}: asked for project {project}, got tasks of another; a proxy mixes up answers"
            )
        return answer

    def pause(self, seconds: float) -> None:
        """Wait."""
        self._pause(min(seconds, _LONGEST_PAUSE_S))

    def _read(self, path: str, params: Mapping[str, Any], past_the_end: Json = None) -> Json:
        """Return the JSON at `path`; `past_the_end` (if given) where a list has no such page.

        Asked beside the SDK's models, which take seconds for a thousand tasks and may drop what they do not
        know, but through its session, which knows how to sign requests.
        """
        return self._again(lambda: self._read_once(path, params, past_the_end))

    def _read_once(self, path: str, params: Mapping[str, Any], past_the_end: Json) -> Json:
        with server_errors(self.connection):
            answer = self._send("GET", path, {"max_retries": 0}, params=dict(params))
            if answer.status_code == 404 and past_the_end is not None:
                return past_the_end
            return _json_of(answer)

    def _send(self, method: str, path: str, once: RequestOptions, **content: Any) -> httpx.Response:
        http = self._client._client_wrapper.httpx_client
        return http.request(path, method=method, request_options=once, **content)

    def _write(self, call: Callable[[RequestOptions], Answer]) -> Answer:
        try:
            with server_errors(self.connection):
                return call({"max_retries": 0})
        except ServerError as error:
            if may_pass(error):
                raise Uncertain(str(error)) from error
            raise

    def _again(self, call: Callable[[], Answer]) -> Answer:
        """Return what `call` returns, asking again while it fails in a way that may pass."""
        for attempt in range(1, ATTEMPTS):
            try:
                return call()
            except ServerError as error:
                if not isinstance(error, Uncertain) and not may_pass(error):
                    raise
                self.pause(0.5 * 2**attempt)
        return call()


def _json_of(answer: httpx.Response) -> Json:
    """Return what the server answered; raise the SDK's error where it refused."""
    from label_studio_sdk.core.api_error import ApiError

    if answer.is_success:
        return answer.json()
    try:
        body = answer.json()
    except ValueError:
        body = answer.text[:2000]
    raise ApiError(status_code=answer.status_code, headers=dict(answer.headers), body=body)


def _is_task(task: object) -> bool:
    return isinstance(task, dict) and isinstance(task.get("id"), int) and not isinstance(task["id"], bool)


def status_of(error: ServerError) -> int:
    """Return the HTTP status behind an error; 0 where there was none."""
    return int(getattr(error.__cause__, "status_code", None) or 0)


def may_pass(error: ServerError) -> bool:
    """Whether a failure may be over when one asks again: no answer, a busy or a failing server."""
    import httpx

    status = status_of(error)
    return status >= 500 or status in _BUSY or isinstance(error.__cause__, httpx.TransportError)
