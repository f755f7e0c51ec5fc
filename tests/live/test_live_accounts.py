"""Annotators' accounts on the real server: made, retired, deleted; what becomes of their answers."""

import re
from typing import Any

import httpx
import pytest
from live_server import LiveServer

from fire_toolkit.labelstudio.accounts import pseudonyms

CONFIG = '<View><Text name="t" value="$t"/><Choices name="c" toName="t"><Choice value="a"/></Choices></View>'
ANSWER: dict[str, Any] = {
    "result": [{"from_name": "c", "to_name": "t", "type": "choices", "value": {"choices": ["a"]}}]
}


def first_task(http: httpx.Client, project: int) -> int:
    """Return the number of a project's first task; 0 where none is shown."""
    tasks = http.get("/api/tasks/", params={"project": project}).json().get("tasks")
    return int(tasks[0]["id"]) if tasks else 0


def answer_first_task(http: httpx.Client, project: int) -> httpx.Response:
    number = first_task(http, project)
    return http.post(f"/api/tasks/{number}/annotations/", params={"project": project}, json=ANSWER)


def test_a_retired_annotator_may_answer_no_more_and_loses_nothing(live_server: LiveServer) -> None:
    project = live_server.project("retire", CONFIG, [{"t": "x", "pair_id": "q|d"}])
    person = live_server.annotator("R01")
    assert live_server.annotator("R01") == person  # and no second account
    with pytest.raises(PermissionError):
        live_server.logged_in(person.email, "another password")
    http = live_server.as_annotator("R01")
    assert answer_first_task(http, project).status_code == 201
    session = live_server.logged_in(person.email, person.password)

    (row,) = rows = live_server.accounts().retire(["R01"])
    assert (row.pseudonym, row.state, row.email) == ("R01", "retired", person.email)

    assert answer_first_task(http, project).status_code == 404  # no task is shown any more
    with live_server.as_admin() as admin:
        task = first_task(admin, project)
    for client in (http, session, live_server.logged_in(person.email, person.password)):
        assert client.get(f"/api/tasks/{task}/").status_code == 403
        assert client.get(f"/api/projects/{project}/next").status_code == 403
    (annotation,) = live_server.answers(project)["q|d"]
    assert pseudonyms(rows)[str(annotation["completed_by"])] == "R01"


def test_a_deleted_account_keeps_its_row_and_its_answer_loses_the_author(live_server: LiveServer) -> None:
    project = live_server.project("delete", CONFIG, [{"t": "x", "pair_id": "q|d"}])
    person = live_server.annotator("D01")
    assert answer_first_task(live_server.as_annotator("D01"), project).status_code == 201
    with live_server.as_admin() as http:
        assert http.delete(f"/api/users/{person.user_id}/").status_code == 204

    rows = live_server.accounts().refresh()
    assert {row.pseudonym: row.state for row in rows}["D01"] == "deleted"
    assert person.user_id not in pseudonyms(rows)
    (annotation,) = live_server.answers(project)["q|d"]
    assert annotation["completed_by"] is None


def test_nobody_signs_up_without_an_invitation(live_server: LiveServer) -> None:
    url = f"{live_server.connection.url}/user/signup/"
    with httpx.Client(trust_env=False, timeout=None) as browser:
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', browser.get(url).text)
        assert found is not None
        form = {"email": "x@example.org", "password": "own-secret-1", "csrfmiddlewaretoken": found[1]}
        assert browser.post(url, data=form, headers={"Referer": url}).status_code == 403
