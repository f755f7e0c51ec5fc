"""Where a token comes from and must never appear, what a server's failures say, what the doctor finds."""

import base64
import dataclasses
import json
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

import fake_api
import httpx
import pytest
from fake_api import FakeServer
from fake_http import served

from examples import cases
from fire_toolkit.campaign.records import Campaign, QueueName, write_campaign
from fire_toolkit.errors import FireError, FormatError, ServerError, UsageError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.guidelines.label_config import config_sha256
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.connection import URL_VARIABLE, Connection, read_connection, read_secret
from fire_toolkit.labelstudio.doctor import Finding, examine
from fire_toolkit.labelstudio.places import project_mark
from fire_toolkit.media.places import checked_url

TOKEN = "0123456789abcdef0123456789abcdef01234567"
URL = "http://127.0.0.1:8080"

# The SDK itself calls a method of pydantic that is going away.
pytestmark = pytest.mark.filterwarnings("ignore:The `parse_obj` method is deprecated:DeprecationWarning")

Answer = Callable[[httpx.Request], httpx.Response]


def stored(root: Path, *, url: str = URL, token: str = TOKEN, rights: int = 0o600) -> Path:
    folder = root / ".fire/private"
    folder.mkdir(parents=True)
    path = folder / "connection.json"
    path.write_text(json.dumps({"url": url, "token": token}))
    path.chmod(rights)
    return path


def refresh_jwt(expires_in_s: float = 3600) -> str:
    """A personal token as Label Studio makes them: a JWT of token_type refresh."""
    parts = [{"alg": "HS256"}, {"token_type": "refresh", "exp": time.time() + expires_in_s}]
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*coded, "c2lnbmF0dXJl"])


def asked(answer: Answer, token: str = TOKEN, *, attempts: int = 1) -> object:
    connection = Connection(URL, token, transport=httpx.MockTransport(answer))
    return Api(connection, attempts=attempts).read("api/current-user/whoami")


# --- where a connection comes from


@pytest.mark.parametrize(
    ("environ", "url", "token"),
    [
        ({}, URL, TOKEN),
        ({URL_VARIABLE: URL + "/"}, URL, TOKEN),
        ({"FIRE_LABEL_STUDIO_TOKEN": "mine"}, URL, "mine"),
        ({URL_VARIABLE: "http://env:1/", "FIRE_LABEL_STUDIO_TOKEN": "mine"}, "http://env:1", "mine"),
    ],
)
def test_environment_wins_over_file(tmp_path: Path, environ: dict[str, str], url: str, token: str) -> None:
    stored(tmp_path)
    found = read_connection(tmp_path, environ=environ)
    assert (found.url, found.token) == (url, token)


def test_the_workspaces_token_is_not_sent_to_another_server(tmp_path: Path) -> None:
    stored(tmp_path)
    with pytest.raises(UsageError, match=r"holds a token for http://127.0.0.1:8080, not for http://other"):
        read_connection(tmp_path, environ={URL_VARIABLE: "http://other"})


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({}, "fire-toolkit labelstudio start"),
        ({"FIRE_LABEL_STUDIO_TOKEN": TOKEN}, "fire-toolkit labelstudio start"),
        ({URL_VARIABLE: "http://x"}, "no token for http://x; set FIRE_LABEL_STUDIO_TOKEN"),
    ],
)
def test_the_unknown_is_said_with_how_to_give_it(tmp_path: Path, environ: dict[str, str], words: str) -> None:
    for root in (None, tmp_path):
        with pytest.raises(UsageError, match=words):
            read_connection(root, environ=environ)


@pytest.mark.parametrize("rights", [0o644, 0o640, 0o604, 0o620, 0o601, 0o777])
def test_a_file_that_others_have_rights_on_is_refused(tmp_path: Path, rights: int) -> None:
    path = stored(tmp_path, rights=rights)
    with pytest.raises(FormatError, match=f"chmod 600 {path}"):
        read_connection(tmp_path, environ={})
    with pytest.raises(FormatError, match="others can access it"):
        read_secret(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = stored(tmp_path)
    os.chown(path, 12345, 12345)
    with pytest.raises(FormatError, match="belongs to another user"):
        read_secret(path)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", "null", '{"url": 1, "token": "t"}', '{"url": "http://x"}', "{" * 50_000, "\0"]
)
def test_a_damaged_connection_file_is_one_line(tmp_path: Path, content: str) -> None:
    path = stored(tmp_path)
    path.write_text(content)
    with pytest.raises(FireError, match=r"connection\.json") as caught:
        read_connection(tmp_path, environ={})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("token", ["", "two words", "tab\there", "ünicode", "line\nbreak", "nul\0"])
def test_what_can_be_no_token_is_refused_unseen(tmp_path: Path, token: str) -> None:
    stored(tmp_path, token=token)
    with pytest.raises(FireError) as caught:
        read_connection(tmp_path, environ={})
    assert not token or token not in str(caught.value)


@cases("url")
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked_url(url)
    assert "pass" not in str(caught.value).replace("password", "")


# --- what the client sends


def requests_of(url: str, token: str) -> list[tuple[str, str, bytes]]:
    """Return address, authorization and content of what is sent to ask who somebody is."""
    seen: list[tuple[str, str, bytes]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((str(request.url), request.headers.get("authorization", ""), request.content))
        return httpx.Response(200, json={"id": 1, "access": "a.b.c"})

    Api(Connection(url, token, transport=httpx.MockTransport(answer))).read("api/current-user/whoami")
    return seen


def test_a_legacy_token_is_sent_as_it_is_and_a_personal_one_exchanged_for_an_access_token() -> None:
    assert requests_of(URL, TOKEN) == [(f"{URL}/api/current-user/whoami", f"Token {TOKEN}", b"")]
    personal = refresh_jwt()
    refreshed, *_, read = requests_of("http://x/team", personal)
    assert refreshed[:2] == ("http://x/team/api/token/refresh/", "")
    assert json.loads(refreshed[2]) == {"refresh": personal}
    assert read == ("http://x/team/api/current-user/whoami", "Bearer a.b.c", b"")


def test_an_expired_personal_token_is_said_without_asking() -> None:
    token = refresh_jwt(-10)
    with pytest.raises(
        ServerError, match=r"^POST http://127.0.0.1:8080/api/token/refresh/: 401: .*expired"
    ) as caught:
        Api(Connection(URL, token)).users()
    assert token not in str(caught.value)


# --- what failures say


HTML = "<!doctype html><html><body>It works!</body></html>"


@cases("status", "body", "words")
def test_a_failure_names_call_and_remedy(status: int, body: str, words: str) -> None:
    headers = {"Location": "https://x/"} if status == 301 else {}
    body = body.replace("MUCH", "x" * 10_000)
    with pytest.raises(ServerError, match=words) as caught:
        asked(lambda request: httpx.Response(status, text=body, headers=headers))
    text = str(caught.value)
    assert text.startswith(f"GET {URL}/api/current-user/whoami: ")
    assert ("<" in text, len(text) < 500, caught.value.exit_code) == (False, True, 3)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (httpx.ConnectError("refused"), r"no connection \(refused\); is it running"),
        (httpx.ConnectTimeout(""), "no connection; is it running"),
        (httpx.ReadTimeout(""), "timed out, but the server may still carry out the request"),
        (httpx.RemoteProtocolError("gone"), r"the connection broke \(gone\)"),
        (httpx.ReadError(""), "the connection broke"),
    ],
)
def test_a_broken_connection_names_call_and_remedy(
    error: httpx.TransportError, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        error.request = request
        raise error

    monkeypatch.setattr(Api, "pause", lambda *_: None)
    with pytest.raises(ServerError, match=f"^GET {URL}/api/current-user/whoami: {words}"):
        asked(answer, attempts=2)
    assert len(requests) == (1 if "no connection" in words else 2)  # who never answered is not waited for


def test_a_call_that_takes_long_is_named_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    said = Event()
    monkeypatch.setattr("fire_toolkit.labelstudio.api._LATE_S", 0)
    monkeypatch.setattr("warnings.warn", lambda note: said.set())
    assert asked(lambda request: httpx.Response(200, json=said.wait(60))) is True


@pytest.mark.parametrize(
    "body", ["null", "[null]", '[{"id": "7"}]', '{"results": [null]}', '{"results": {}}']
)
def test_a_list_of_another_shape_is_said(body: str) -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, text=body))
    with Api(Connection(URL, TOKEN, transport=transport), attempts=1) as api:
        for what, ask in {"projects": api.projects, "users": api.users}.items():
            with pytest.raises(ServerError, match=f"^{URL}/api/{what}/: the answer has no list of {what}"):
                ask()


def test_a_page_in_place_of_a_refreshed_token_is_not_label_studio() -> None:
    with pytest.raises(ServerError, match=r"^POST .*/api/token/refresh/: .*not Label Studio"):
        asked(lambda request: httpx.Response(200, text=HTML), refresh_jwt())


# --- where the token never appears


def test_the_token_is_in_no_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for token in (TOKEN, refresh_jwt()):
        connection = Connection(URL, token)
        assert token not in f"{connection!r} {connection} {[connection]}"
        answers: list[Answer] = [
            lambda request, token=token: httpx.Response(400, json={"detail": f"bad {token}"}),
            lambda request, token=token: httpx.Response(500, text=f"debug page: Token {token}"),
            lambda request: httpx.Response(200, json={"access": "a.b.c"}),
        ]
        for answer in answers:
            assert token not in _said(answer, token)
        assert token not in caplog.text
    assert {field.name for field in dataclasses.fields(Connection) if field.repr} == {"url"}


def _said(answer: Answer, token: str) -> str:
    try:
        return str(asked(answer, token))
    except ServerError as error:
        return str(error)


def test_without_encryption_each_call_has_a_connection_of_its_own() -> None:
    server = FakeServer()
    with served(server) as url, Api(Connection(url, fake_api.TOKEN)) as api:
        assert [api.read("api/current-user/whoami")["id"] for _ in range(3)] == [1, 1, 1]
    assert server.n_connections == 3


SERVER = Connection("http://127.0.0.1:1", "t" * 40)


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


@cases("address", "state")
def test_a_token_on_an_open_line_is_a_note(address: str, state: str) -> None:
    assert found(server(), Connection(address, "t" * 40))["connection"].state == state


PAGE = '<View><Choices name="c" toName="t"><Choice value="a"/></Choices></View>'


@pytest.mark.parametrize(
    ("shown", "state", "words"),
    [
        (PAGE, "good", "1 of this campaign, all pages unchanged"),
        (PAGE.replace('"a"', '"b"'), "bad", "its labeling config was changed on the server"),
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
