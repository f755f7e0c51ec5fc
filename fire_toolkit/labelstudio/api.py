"""The calls of a campaign to a server, and what goes wrong there, in words.

Reads are asked again after a failure. A write is sent once: the server may have carried it out although it
failed, so it is for the caller to look before sending it again (`CallFailed.may_pass`). The SDK exchanges
tokens; its models take seconds for a thousand tasks and may drop what they do not know, so answers are taken
as JSON. No error of the SDK, or of the HTTP library below it, gets past this file.
"""

import json
import re
import ssl
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from itertools import count
from threading import Timer
from typing import Any

import httpx

from fire_toolkit.campaign.task_json import PAIR_ID
from fire_toolkit.errors import FileNote, ServerError
from fire_toolkit.labelstudio.connection import Connection

_LATE_S = 5.0
_BUSY = (408, 409, 425, 429)
_MAX_DETAIL = 300
_JWT = re.compile(r"\beyJ[\w-]+\.[\w-]+(\.[\w-]*)?")
_BROKE = "the connection broke{}; run the command again"
_UNHEARD = "no connection{}; is it running? `fire-toolkit labelstudio start` starts a local one; else check "
_UNHEARD += "the URL"
_TIMED_OUT = "timed out, but the server may still carry out the request; see its log, then run it again"
# By status, else by its hundreds.
_ADVICE = {
    2: "the answer is not JSON, so this is not Label Studio's API; check the URL",
    3: "redirects to {}; give the server's own address as the URL",
    4: "the server refused the request",
    5: "the server failed; see its log (.fire/private/server.log), then run the command again",
    401: "the server does not accept the token; copy it again from Account & Settings in Label Studio, or, "
    "if it is a legacy token, allow those under Organization, API Tokens Settings",
    403: "this account is not allowed to do that; use the token of one that is",
    404: "not found: it was deleted, or the URL is not Label Studio's",
    **dict.fromkeys(
        (413, 414), "more than the server accepts at once; a proxy in front of it may set the limit"
    ),
    **dict.fromkeys(
        (429, 502, 503, 504), "the server is busy or still starting; run the command again later"
    ),
}


class CallFailed(ServerError):
    """A call to a server that failed.

    status: that of the answer, 0 where there was none; may_pass: the server was busy or silent, so that it
    may have carried the call out, or may do so when asked again.
    """

    def __init__(self, words: str, *, status: int = 0, may_pass: bool = False) -> None:
        super().__init__(words)
        self.status, self.may_pass = status, may_pass


@cache
def _trusted(*, trust_env: bool) -> ssl.SSLContext:
    """Return which certificates count; to read them takes 20 ms, so that clients share them."""
    return httpx.create_ssl_context(trust_env=trust_env)


Json = Any
Task = dict[str, Any]
Project = dict[str, Any]
Filter = tuple[str, str, str, object]  # of the Data Manager: field, operator, type, value

# What is counted and compared, of projects (of one that was just made not counted yet) and of tasks.
_KINDS: dict[str, Any] = {"data": dict, "annotations": list, "task_number": int | None}
_KINDS |= dict.fromkeys(("total_annotations_number", "skipped_annotations_number"), int | None)
_KEYS_AT_ONCE = 500
_LONGEST_PAUSE_S = 30.0
_SWEEPS = _STALE_PAGES = 5
_LISTED = "id,title,description,label_config,created_at"
_LISTED += ",task_number,total_annotations_number,skipped_annotations_number"


class Api(httpx.Client):
    """A server and how to talk to it; as a context manager it closes its connections.

    `read`, `write`, `change` and what rests on them go with the token; the requests of an HTTP client (`get`,
    `post`) without. Without encryption each call has a connection of its own: Label Studio sends an answer in
    two parts, and on a connection that is kept the second one waits 40 ms for word of the first. No redirect
    is followed; no proxy leads to a server on this machine.

    Args:
        connection: address and token, of either kind.
        timeout_s: limit for each connect, write, and wait for an answer.
        attempts: how often a read is sent.

    Raises:
        CallFailed: in all calls: no answer, or one that refuses or fails; a personal token that has expired.
            It names the call, what happened and what to do, and never the token.
    """

    page_size = 1000

    def __init__(self, connection: Connection, *, timeout_s: float = 60.0, attempts: int = 6) -> None:
        self.connection, self._attempts, self._was_heard = connection, attempts, False
        super().__init__(
            base_url=connection.url,
            transport=connection.transport,
            timeout=timeout_s,
            limits=httpx.Limits(max_keepalive_connections=0 if connection.url.startswith("http:") else 20),
            verify=_trusted(trust_env=not connection.is_local),
            trust_env=not connection.is_local,
        )

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request and return the answer, whatever its status; a `FileNote` says that it takes long."""
        call = _call_of(request)
        late = Timer(_LATE_S, warnings.warn, [FileNote(f"{call}: no answer for {_LATE_S:.0f} s; waiting")])
        late.daemon = True
        late.start()
        try:
            answer = super().send(request, **options)
        except httpx.HTTPError as error:
            is_unheard = isinstance(error, httpx.ConnectTimeout | httpx.ConnectError)
            is_late = isinstance(error, httpx.TimeoutException)
            words = _UNHEARD if is_unheard else _TIMED_OUT if is_late else _BROKE
            reason = f" ({_short(str(error))})" if str(error) else ""
            # A server that never answered is not there: nothing will come of asking it again.
            may_pass = isinstance(error, httpx.TransportError) and (self._was_heard or not is_unheard)
            raise self._failed(call, words.format(reason), may_pass=may_pass) from error
        finally:
            late.cancel()
        self._was_heard = True
        return answer

    def content_of(self, answer: httpx.Response) -> Any:
        """Return the JSON of an answer.

        Raises:
            CallFailed: the server refused, or it is no JSON.
        """
        body: Any = answer.text[:2000]
        with suppress(ValueError):
            body = answer.json()
            if answer.is_success:
                return body
        location = answer.headers.get("location", "nowhere")
        raise self.refusal(_call_of(answer.request), answer.status_code, body, location)

    def refusal(self, call: str, status: int, body: Any, location: str = "") -> CallFailed:
        """Return what an answer that is not what was asked for means and what to do, as an error."""
        if isinstance(body, dict):
            body = body.get("validation_errors") or body.get("detail") or body
        said = _short(str(body or ""))
        kind = min(max(status // 100, 2), 5)  # servers send others too, such as 101 and 999
        words = f"{status}: {_ADVICE.get(status, _ADVICE[kind]).format(location)}"
        words += f" (it says: {said})" if said and "<" not in said[:200] else ""  # no web page
        return self._failed(call, words, status=status, may_pass=status >= 500 or status in _BUSY)

    def _failed(self, call: str, words: str, **what: Any) -> CallFailed:
        """Return an error that says what went wrong with a call, without anything secret."""
        text = f"{call}: {words}"
        text = text.replace(self.connection.token, "***") if self.connection.token else text
        return CallFailed(_JWT.sub("***", text), **what)

    @cached_property
    def _sdk(self) -> Any:
        # The SDK's own `LabelStudio` adds converters of labeling pages, which take .8 s to load.
        from label_studio_sdk.base_client import LabelStudioBase

        url, token = f"{self.connection.url}/", self.connection.token
        return LabelStudioBase(base_url=url, api_key=token, httpx_client=self)._client_wrapper

    @property
    def authorization(self) -> str:
        """The Authorization header that the token makes; a personal one is exchanged for it now and then."""
        from label_studio_sdk.core.api_error import ApiError

        call = f"POST {self.connection.url}/api/token/refresh/"
        try:
            return str(self._sdk.get_headers()["Authorization"])
        except ApiError as error:
            raise self.refusal(call, error.status_code or 401, error.body) from error
        except ValueError as error:  # no JSON, or none with a token
            raise self.refusal(call, 200, "") from error

    def pause(self, seconds: float) -> None:
        """Wait."""
        time.sleep(min(seconds, _LONGEST_PAUSE_S))

    def asked(self, method: str, path: str, **content: Any) -> httpx.Response:
        """Return what the server answers to one request with the token, whatever its status."""
        headers = {"Authorization": self.authorization} | content.pop("headers", {})
        return self.request(method, path, headers=headers, **content)

    def write(self, method: str, path: str, **content: Any) -> Json:
        """Send a request once, with the token, and return the JSON that the server answers."""
        return self.content_of(self.asked(method, path, **content))

    def read(self, path: str, **params: Any) -> Json:
        """Return the JSON at `path`."""
        return self._again(lambda: self.write("GET", path, params=params))

    def change(self, path: str, content: Mapping[str, Any]) -> None:
        """Change something, which done twice does no harm."""
        self._again(lambda: self.write("PATCH", path, json=dict(content)))

    def _again(self, call: Callable[[], Json]) -> Json:
        """Return what `call` returns, asking again while it fails in a way that may pass."""
        for attempt in range(1, self._attempts):
            try:
                return call()
            except CallFailed as error:
                if not error.may_pass:
                    raise
            self.pause(0.5 * 2**attempt)
        return call()

    def entries(self, what: str, answer: Json, key: str = "") -> list[dict[str, Any]]:
        """Return the objects that an answer lists (under `key`), each with its number; or `ServerError`."""
        found = answer if not key else answer.get(key) if isinstance(answer, dict) else None
        entries: list[Any] = found if isinstance(found, list) else [None]
        if not all(isinstance(entry, dict) and type(entry.get("id")) is int for entry in entries) or any(
            not isinstance(entry[name], _KINDS[name]) for entry in entries for name in _KINDS.keys() & entry
        ):
            where = f"{self.connection.url}/api/{what}/"
            raise ServerError(f"{where}: the answer has no list of {what}; see `fire-toolkit doctor`")
        return entries

    def users(self) -> list[dict[str, Any]]:
        """Return the accounts that are to be seen."""
        return self.entries("users", self.read("api/users/"))

    def identity(self) -> str:
        """Return what tells this server from others, wherever it is reached: its organisation's birth."""
        found = self.read("api/organizations/")
        organisation = found[0] if isinstance(found, list) and found else {}
        born = organisation.get("created_at") if isinstance(organisation, dict) else None
        return f"org-{organisation['id']}-{born}" if born else self.connection.url

    def projects(self) -> list[Project]:
        """Return what stands in a list of all projects to be seen, by number, with the server's counts.

        task_number, total_annotations_number (without skips) and skipped_annotations_number are counts.
        """
        found: dict[int, Project] = {}
        for page in count(1):
            try:
                answer = self.read("api/projects/", page=page, page_size=100, ordering="id", include=_LISTED)
            except CallFailed as error:
                if page == 1 or error.status != 404:  # 404: past the end, since projects went meanwhile
                    raise
                break
            results = self.entries("projects", answer, "results")
            found |= {project["id"]: project for project in results}
            if not results or not answer.get("next"):
                break
        return [found[number] for number in sorted(found)]

    def project(self, number: int) -> Project:
        """Return a project with its settings."""
        return dict(self.read(f"api/projects/{number}/"))

    def task_page(
        self,
        project: int,
        *,
        filters: Sequence[Filter] = (),
        ordering: str = "tasks:id",
        include: Sequence[str] = ("id", "data"),
        page_size: int | None = None,
    ) -> tuple[list[Task], int]:
        """Return the first tasks that pass all filters, in order, and how many pass in all."""
        names = ("filter", "operator", "type", "value")
        items = [dict(zip(names, (f"filter:tasks:{field}", *rest), strict=True)) for field, *rest in filters]
        query = {"filters": {"conjunction": "and", "items": items}, "ordering": [ordering]}
        params = {
            "project": project,
            "page": 1,
            "page_size": page_size or self.page_size,
            "include": ",".join((*include, "project")),
            "query": json.dumps(query, separators=(",", ":")),
            **({"fields": "all"} if "annotations" in include else {}),
        }

        def ask() -> tuple[list[Task], int]:
            answer = self.write("GET", "api/tasks/", params=params)
            tasks, total = self.entries("tasks", answer, "tasks"), answer.get("total")
            if type(total) is not int or any(task.get("project", project) != project for task in tasks):
                words = f"asked for project {project}, got other tasks or no count; a proxy mixes up answers"
                raise CallFailed(f"{self.connection.url}/api/tasks/: {words}", may_pass=True)
            return tasks, total

        found: tuple[list[Task], int] = self._again(ask)
        return found

    def sweep(
        self, project: int, *, include: Sequence[str] = ("id", "data"), filters: Sequence[Filter] = ()
    ) -> Iterator[list[Task]]:
        """Yield all tasks that pass, in stretches, by number; one that changes meanwhile may come twice.

        Each page is asked for as the tasks above the highest number so far, so that nothing shifts when tasks
        go. The server says how many there are: if fewer came, the sweep begins again.

        Raises:
            ServerError: the pages do not add up after several sweeps, or the server fails for good.
        """
        for _ in range(_SWEEPS):
            found, totals, n_stale = set[int](), list[int](), 0
            while n_stale <= _STALE_PAGES:
                last = max(found, default=0)
                beyond = [*filters, ("id", "greater", "Number", last)]
                page, total = self.task_page(project, filters=beyond, include=include)
                fresh = {task["id"]: task for task in page if task["id"] > last}
                found |= fresh.keys()
                totals.append(total)
                n_stale += not fresh
                if fresh:
                    yield [fresh[number] for number in sorted(fresh)]
                if not page or total <= len(fresh):
                    break
            if len(found) >= totals[0]:
                return
            self.pause(1)
        raise ServerError(
            f"{self.connection.url}: project {project} reports {totals[0]} such tasks, but its pages have "
            f"{len(found)}; is somebody deleting tasks? Run the command again"
        )

    def tasks_with_keys(
        self, project: int, keys: Sequence[str], *, include: Sequence[str] = ("id", "data")
    ) -> list[Task]:
        """Return the tasks whose pair_id is one of `keys`, each once, asking in small portions.

        A server or a proxy that finds an address too long is asked for fewer at once.
        """
        portion, place, found = _KEYS_AT_ONCE, 0, dict[int, Task]()
        while place < len(keys):
            condition = (f"data.{PAIR_ID}", "in_list", "List", list(keys[place : place + portion]))
            try:
                for page in self.sweep(project, include=include, filters=[condition]):
                    found |= {task["id"]: task for task in page}
            except CallFailed as error:
                if error.status != 414 or portion == 1:
                    raise
                portion //= 2
                continue
            place += portion
        return list(found.values())


def _call_of(request: httpx.Request) -> str:
    """Return what a request is called in a message: method and address, without what may be secret."""
    return f"{request.method} {request.url.copy_with(query=None, fragment=None, userinfo=b'')}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_DETAIL else text[:_MAX_DETAIL] + "…"
