"""Accounts on a server: made once, taken up again after a failure, shut and never deleted."""

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs

import httpx
import pytest

from fire_toolkit.errors import ServerError, UsageError
from fire_toolkit.labelstudio.accounts import Accounts
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.register import read_register

INVITATION = "invitation-token"
PAGE = '<form><input type="hidden" name="csrfmiddlewaretoken" value="C"></form>'


class Server:
    """Label Studio's accounts as the real one (1.23.2) showed them."""

    def __init__(self) -> None:
        self.users = {1: "admin@localhost"}
        self.passwords: dict[str, str] = {}
        self.calls: list[str] = []
        self.keys: list[object] = []
        self.fail: Callable[[httpx.Request], httpx.Response | None] = lambda request: None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        call = f"{request.method} {request.url.path}"
        self.calls.append(call)
        failure = self.fail(request)
        if failure is not None:
            return failure
        if call == "GET /api/current-user/whoami":
            return httpx.Response(200, json={**self.user(1), "active_organization": 4})
        if call == "GET /api/users/":
            return httpx.Response(200, json=[self.user(number) for number in self.users])
        if call == "GET /api/invite":
            return httpx.Response(200, json={"token": INVITATION, "invite_url": "/user/signup/?token=…"})
        if call == "GET /user/signup/":
            return httpx.Response(200, text=PAGE, headers={"set-cookie": "csrftoken=K"})
        if call == "POST /user/signup/":
            return self.sign_up(request)
        if call == "PATCH /api/current-user/hotkeys/":
            assert request.headers["x-csrftoken"] == "K"
            self.keys.append(json.loads(request.content)["custom_hotkeys"])
            return httpx.Response(200, json={})
        if request.method == "DELETE" and request.url.path.startswith("/api/organizations/4/memberships/"):
            return self.end(int(request.url.path.strip("/").rsplit("/", 1)[1]))
        raise AssertionError(call)

    def user(self, number: int) -> dict[str, object]:
        joined = f"2026-11-20T14:00:{number:02d}.5Z"
        return {"id": number, "email": self.users[number], "username": "u", "date_joined": joined}

    def sign_up(self, request: httpx.Request) -> httpx.Response:
        assert request.url.params["token"] == INVITATION
        assert request.headers["cookie"] == "csrftoken=K"
        form = {key: values[0] for key, values in parse_qs(request.content.decode()).items()}
        assert form["csrfmiddlewaretoken"] == "C"
        if form["email"] in self.users.values():
            words = '<ul class="field_errors"> <li>User with this email already exists</li></ul>'
            return httpx.Response(200, text=words)
        self.users[max(self.users) + 1] = form["email"]
        self.passwords[form["email"]] = form["password"]
        return httpx.Response(302, headers={"location": "/"})

    def end(self, number: int) -> httpx.Response:
        if self.users[number] == "Deleted":
            return httpx.Response(404, json={"detail": "Member not found"})
        self.users[number] = "Deleted"
        return httpx.Response(204)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def accounts(server: Server, tmp_path: Path) -> Accounts:
    connection = Connection("http://127.0.0.1:1", "t" * 40, transport=httpx.MockTransport(server))
    return Accounts(connection, tmp_path / ".fire/private")


def test_added_accounts_can_log_in_with_what_is_shown(accounts: Accounts, server: Server) -> None:
    rows = accounts.add([("B1", ""), ("A02", "Jo@Example.org")])
    assert [(row.pseudonym, row.email, row.state) for row in rows] == [
        ("B1", "b1@annotators.invalid", "active"),
        ("A02", "jo@example.org", "active"),
    ]
    assert {row.email: row.password for row in rows} == server.passwords
    assert all(len(row.password) >= 12 for row in rows)


def test_space_submits_in_a_new_account(accounts: Accounts, server: Server) -> None:
    accounts.add([("B1", "")])
    assert server.keys == [{"annotation:annotation:submit": {"key": "space,ctrl+enter", "active": True}}]


def test_adding_twice_makes_no_second_account(accounts: Accounts, server: Server) -> None:
    first = accounts.add([("A01", "")])
    assert accounts.add([("A01", "")]) == first
    assert server.calls.count("POST /user/signup/") == 1


def test_an_answer_that_got_lost_is_found_again(accounts: Accounts, server: Server) -> None:
    def lose(request: httpx.Request) -> None:
        if request.method == "POST":
            server.sign_up(request)
            raise httpx.ReadError("gone", request=request)

    server.fail = lose
    with pytest.raises(ServerError, match="the connection broke"):
        accounts.add([("A01", "")])
    server.fail = lambda request: None
    rows = accounts.add([("A01", "")])
    assert {row.email: row.password for row in rows} == server.passwords
    assert [row.state for row in rows] == ["active"]


def test_a_failure_in_the_middle_is_taken_up_again(accounts: Accounts, server: Server) -> None:
    server.fail = lambda request: httpx.Response(500, text="<html>") if b"a02" in request.content else None
    with pytest.raises(ServerError, match=r"A02 was not accepted \(500\)"):
        accounts.add([("A01", ""), ("A02", ""), ("A03", "")])
    server.fail = lambda request: None
    rows = accounts.add([("A01", ""), ("A02", ""), ("A03", "")])
    assert [row.state for row in rows] == ["active"] * 3
    assert {row.email: row.password for row in rows} == server.passwords


def test_a_page_that_is_no_sign_up_page_says_how_else(accounts: Accounts, server: Server) -> None:
    server.fail = lambda request: (
        httpx.Response(403, text="no") if request.url.path == "/user/signup/" else None
    )
    with pytest.raises(ServerError, match="403: no sign-up page; make the account in Label Studio") as caught:
        accounts.add([("A01", "")])
    assert INVITATION not in str(caught.value)


def test_what_the_server_complains_about_is_shown(accounts: Accounts, server: Server) -> None:
    words = '<ul class="field_errors">\n <li>Enter a valid &quot;email&quot;.</li></ul>'
    server.fail = lambda request: httpx.Response(200, text=words) if request.method == "POST" else None
    with pytest.raises(ServerError, match=r'A01 was not accepted \(200: Enter a valid "email"\.\)') as caught:
        accounts.add([("A01", "")])
    assert INVITATION not in str(caught.value)


def test_a_retired_account_is_shut_and_not_deleted(accounts: Accounts, server: Server) -> None:
    accounts.add([("A01", ""), ("A02", "")])
    rows = accounts.retire(["A01"])
    assert [(row.pseudonym, row.state, row.email) for row in rows] == [
        ("A01", "retired", "a01@annotators.invalid")
    ]
    assert [call for call in server.calls if call.startswith("DELETE")] == [
        "DELETE /api/organizations/4/memberships/2/"
    ]
    assert {row.pseudonym: row.state for row in accounts.refresh()} == {
        "owner": "owner",
        "A01": "retired",
        "A02": "active",
    }


def test_retiring_again_does_nothing(accounts: Accounts, server: Server) -> None:
    accounts.add([("A01", "")])
    assert accounts.retire(["A01"]) == accounts.retire(["A01"])
    assert sum(call.startswith("DELETE") for call in server.calls) == 1


@pytest.mark.parametrize(
    ("name", "words"), [("B9", "no annotator is called 'B9'; active: A01"), ("owner", "owns the token")]
)
def test_who_cannot_be_retired_is_said_before_anything_is_done(
    accounts: Accounts, server: Server, name: str, words: str
) -> None:
    accounts.add([("A01", "")])
    with pytest.raises(UsageError, match=words):
        accounts.retire(["A01", name])
    assert not any(call.startswith("DELETE") for call in server.calls)


def test_the_register_stands_before_the_account_is_made(
    accounts: Accounts, server: Server, tmp_path: Path
) -> None:
    seen: list[list[str]] = []

    def look(request: httpx.Request) -> None:
        if request.method == "POST":
            seen.append([row.state for row in read_register(tmp_path / ".fire/private")])

    server.fail = look
    accounts.add([("A01", "")])
    assert seen == [["owner", "pending"]]
