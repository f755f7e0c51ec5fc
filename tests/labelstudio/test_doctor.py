"""What the doctor finds, with a stand-in server; that every fault comes with what fixes it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from fire_toolkit.campaign.records import Campaign, QueueName, write_campaign
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.guidelines.label_config import config_sha256
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.doctor import Finding, examine
from fire_toolkit.labelstudio.projects import project_mark

SERVER = Connection("http://127.0.0.1:1", "t" * 40)
Answer = Callable[[httpx.Request], httpx.Response]


def server(*, release: str = "1.23.2", token_status: int = 200) -> Answer:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/version":
            return httpx.Response(200, json={"release": release})
        return httpx.Response(token_status, json={"id": 1, "detail": "Invalid token."})

    return answer


def found(answer: Answer, at: Connection = SERVER) -> dict[str, Finding]:
    findings = list(examine(dataclasses.replace(at, transport=httpx.MockTransport(answer))))
    assert all(finding.fix for finding in findings if finding.state != "good")
    return {finding.name: finding for finding in findings}


@pytest.mark.parametrize(("release", "state"), [("1.23.0", "good"), ("1.9.0", "note"), ("2.0.0", "note")])
def test_all_is_well_but_for_another_version(release: str, state: str) -> None:
    findings = {name: finding.state for name, finding in found(server(release=release)).items()}
    assert findings == {"connection": "good", "server": state, "token": "good"}


@pytest.mark.parametrize(("status", "body"), [(200, "<html>hello</html>"), (200, '["1.23"]'), (404, "{}")])
def test_something_else_at_the_address_is_said(status: int, body: str) -> None:
    findings = found(lambda request: httpx.Response(status, text=body))
    assert "not Label Studio" in findings["server"].words
    assert findings["server"].is_servers


def test_a_refused_token_is_said_without_the_token() -> None:
    findings = found(server(token_status=401))
    assert findings["token"].state == "bad"
    assert "does not accept the token" in findings["token"].words
    assert "http://127.0.0.1:1/user/account" in findings["token"].fix
    assert not any("t" * 40 in repr(finding) for finding in findings.values())
    assert findings["token"].is_servers


@pytest.mark.parametrize(
    ("address", "state"),
    [
        ("http://labels.example.org", "note"),
        ("https://labels.example.org", "good"),
        ("http://localhost:1", "good"),
    ],
)
def test_a_token_on_an_open_line_is_a_note(address: str, state: str) -> None:
    assert found(server(), Connection(address, "t" * 40))["connection"].state == state


PAGE = '<View><Choices name="c" toName="t"><Choice value="a"/></Choices></View>'


@pytest.mark.parametrize(
    ("shown", "state", "words"),
    [
        (PAGE, "good", "1 of this campaign, all pages unchanged"),
        (PAGE.replace('"a"', '"b"'), "bad", 'gone: <Choice value="a">; new: <Choice value="b">'),
    ],
)
def test_a_page_that_was_edited_by_hand_is_said(tmp_path: Path, shown: str, state: str, words: str) -> None:
    campaign = Campaign("key", "g-v1", "0" * 64, config_sha256(PAGE), PAGE)
    write_campaign(tmp_path, campaign)
    mark = project_mark(campaign, QueueName(1, "A01"))
    own = {"id": 7, "title": "A01", "description": mark, "label_config": shown}
    foreign = {"id": 8, "title": "other", "description": "", "label_config": "<View/>"}
    well = server()

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/projects/":
            return httpx.Response(200, json={"results": [own, foreign], "next": None})
        return well(request)

    begun = (tmp_path, campaign, read_guideline("query-validity-v1"))
    (last,) = list(examine(dataclasses.replace(SERVER, transport=httpx.MockTransport(answer)), begun))[3:]
    assert (last.name, last.state, words in last.words) == ("projects", state, True)
