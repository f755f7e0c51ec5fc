"""What the doctor finds, with a stand-in server; that every fault comes with what fixes it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from fire_toolkit.campaign.records import Campaign, QueueName, write_campaign, write_marks
from fire_toolkit.guidelines.label_config import config_sha256
from fire_toolkit.labelstudio import doctor
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.doctor import Finding, check_way, examine, exit_code
from fire_toolkit.labelstudio.projects import project_mark

ENVIRON = {"FIRE_LABEL_STUDIO_URL": "http://127.0.0.1:1", "FIRE_LABEL_STUDIO_TOKEN": "t" * 40}
Answer = Callable[[httpx.Request], httpx.Response]


def server(*, release: str = "1.23.2", ahead_s: float = 0, token_status: int = 200) -> Answer:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/version":
            date = format_datetime(datetime.now(UTC) + timedelta(seconds=ahead_s), usegmt=True)
            return httpx.Response(200, json={"release": release}, headers={"Date": date})
        return httpx.Response(token_status, json={"id": 1, "detail": "Invalid token."})

    return answer


def found(answer: Answer, *, environ: dict[str, str] | None = None) -> dict[str, Finding]:
    transport = httpx.MockTransport(answer)
    findings = examine(None, environ=ENVIRON if environ is None else environ, transport=transport)
    assert all(finding.fix for finding in findings if finding.state != "good")
    return {finding.name: finding for finding in findings}


def test_all_is_well() -> None:
    findings = found(server())
    assert {name: finding.state for name, finding in findings.items()} == dict.fromkeys(
        ("sdk", "codecs", "disk", "connection", "server", "clock", "token"), "good"
    )
    assert exit_code(findings.values()) == 0


def test_no_connection_is_ours_to_mend() -> None:
    findings = found(server(), environ={})
    assert findings["connection"].fix == "fire-toolkit labelstudio start"
    assert "server" not in findings
    assert exit_code(findings.values()) == 1


def test_a_silent_server_is_the_servers_fault() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    findings = found(answer)
    assert findings["server"].words == "GET http://127.0.0.1:1/api/version: ConnectError refused"
    assert exit_code(findings.values()) == 3


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(200, text="<html>hello</html>"),
        httpx.Response(200, json=["1.23"]),
        httpx.Response(404, json={}),
    ],
)
def test_something_else_at_the_address_is_said(response: httpx.Response) -> None:
    findings = found(lambda request: response)
    assert "this is not Label Studio" in findings["server"].words
    assert exit_code(findings.values()) == 3


@pytest.mark.parametrize(("release", "state"), [("1.23.0", "good"), ("1.9.0", "note"), ("2.0.0", "bad")])
def test_another_version_is_said(release: str, state: str) -> None:
    assert found(server(release=release))["server"].state == state


def test_a_refused_token_is_said_without_the_token() -> None:
    findings = found(server(token_status=401))
    assert findings["token"].state == "bad"
    assert "does not accept the token" in findings["token"].words
    assert "http://127.0.0.1:1/user/account" in findings["token"].fix
    assert not any("t" * 40 in repr(finding) for finding in findings.values())
    assert exit_code(findings.values()) == 3


@pytest.mark.parametrize(("ahead_s", "words"), [(600, "behind the server"), (-600, "ahead of the server")])
def test_a_wrong_clock_is_said(ahead_s: float, words: str) -> None:
    clock = found(server(ahead_s=ahead_s))["clock"]
    assert (clock.state, words in clock.words) == ("bad", True)


def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(free=5e8))
    findings = found(server())
    assert findings["disk"].state == "bad"
    assert exit_code(findings.values()) == 1


def test_missing_codecs_are_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_codec_tools", lambda: {"PyAV": False, "ffmpeg": False})
    findings = found(server())
    assert findings["codecs"].state == "note"
    assert exit_code(findings.values()) == 0


@pytest.mark.parametrize(
    ("url", "state"),
    [
        ("http://labels.example.org", "note"),
        ("https://labels.example.org", "good"),
        ("http://localhost:1", "good"),
    ],
)
def test_a_token_on_an_open_line_is_a_note(url: str, state: str) -> None:
    assert check_way(Connection(url, "t")).state == state


PAGE = '<View><Choices name="c" toName="t"><Choice value="a"/></Choices></View>'


@pytest.mark.parametrize(
    ("shown", "state", "words"),
    [
        (PAGE, "good", "1 of this campaign, all pages unchanged"),
        (PAGE.replace('"a"', '"b"'), "bad", 'gone: <Choice value="a">; new: <Choice value="b">'),
    ],
)
def test_a_page_that_was_edited_by_hand_is_said(tmp_path: Path, shown: str, state: str, words: str) -> None:
    campaign = Campaign("key", "g-v1", "0" * 64, config_sha256(PAGE), PAGE, False)
    write_campaign(tmp_path, campaign)
    project = {
        "id": 7,
        "title": "A01",
        "description": project_mark(campaign, QueueName(1, "A01")),
        "label_config": shown,
    }
    foreign = {"id": 8, "title": "other", "description": "", "label_config": "<View/>"}
    well = server()

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/projects/":
            return httpx.Response(200, json={"results": [project, foreign], "next": None})
        return well(request)

    findings = examine(tmp_path, environ=ENVIRON, transport=httpx.MockTransport(answer))
    last = findings[-1]
    assert (last.name, last.state, words in last.words) == ("projects", state, True)
    assert exit_code(findings) == (0 if state == "good" else 3)


@pytest.mark.parametrize(
    ("born", "words", "fix"),
    [
        ("2026", "project 7 (1/A01) has lost its mark", "campaign key round 1 queue A01"),
        ("2027", "project 7 (1/A01) was deleted, with 0 answers", "fire-toolkit push"),
    ],
)
def test_a_project_that_was_pulled_and_is_gone_is_said(
    tmp_path: Path, born: str, words: str, fix: str
) -> None:
    write_campaign(tmp_path, Campaign("key", "g-v1", "0" * 64, config_sha256(PAGE), PAGE, False))
    source = "org-1-2020"
    key = f"{source}#7#2026"
    write_marks(tmp_path, {key: "2026-11-20T12:00:00Z", f"{key} queue": "1/A01"})
    project = {"id": 7, "title": "A01", "description": "", "label_config": PAGE, "created_at": born}
    well = server()

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/projects/":
            return httpx.Response(200, json={"results": [project], "next": None})
        if request.url.path == "/api/organizations/":
            return httpx.Response(200, json=[{"id": 1, "created_at": "2020"}])
        return well(request)

    findings = examine(tmp_path, environ=ENVIRON, transport=httpx.MockTransport(answer))
    (gone,) = [each for each in findings if each.name == "projects" and each.state == "bad"]
    assert words in gone.words
    assert fix in gone.fix


def test_a_file_that_others_can_read_is_said(tmp_path: Path) -> None:
    (tmp_path / ".labelstudio").mkdir()
    path = tmp_path / ".labelstudio" / "connection.json"
    path.write_text("{}")
    path.chmod(0o644)
    finding = examine(tmp_path, environ={})[-1]
    assert (finding.state, f"chmod 600 {path}" in finding.words) == ("bad", True)
