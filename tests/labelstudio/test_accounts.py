"""Accounts on a server: made once, taken up again, shut and never deleted; the register of annotators."""

import json
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import cases
from fire_toolkit.errors import FormatError, ServerError, UsageError
from fire_toolkit.labelstudio.accounts import (
    Accounts,
    Annotator,
    add_rows,
    match_accounts,
    pseudonyms,
    read_register,
    write_register,
)
from fire_toolkit.labelstudio.connection import Connection

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


Fault = Callable[[Server, httpx.Request], httpx.Response | None]


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def accounts(server: Server, tmp_path: Path) -> Accounts:
    connection = Connection("http://127.0.0.1:1", "t" * 40, transport=httpx.MockTransport(server))
    return Accounts(connection, tmp_path / ".fire/private")


def test_accounts_can_log_in_and_are_made_once(accounts: Accounts, server: Server, tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def look(request: httpx.Request) -> None:
        if request.method == "POST":
            seen.append([row.state for row in read_register(tmp_path / ".fire/private")])

    server.fail = look
    rows = accounts.add([("B1", ""), ("A02", "Jo@Example.org")])
    assert seen == [["owner", "pending", "pending"]] * 2
    names = [("B1", "b1@annotators.invalid", "active"), ("A02", "jo@example.org", "active")]
    assert [(row.pseudonym, row.email, row.state) for row in rows] == names
    assert {row.email: row.password for row in rows} == server.passwords
    assert all(len(row.password) >= 12 for row in rows)
    keys = {"annotation:annotation:submit": {"key": "space,ctrl+enter", "active": True}}
    assert server.keys == [keys, keys]  # space submits
    assert accounts.add([("B1", "")]) == rows[:1]
    assert server.calls.count("POST /user/signup/") == 2


def lost(server: Server, request: httpx.Request) -> httpx.Response | None:
    if request.method == "POST":
        server.sign_up(request)
        raise httpx.ReadError("gone", request=request)
    return None


def failed(server: Server, request: httpx.Request) -> httpx.Response | None:
    return httpx.Response(500, text="<html>") if b"a02" in request.content else None


@pytest.mark.parametrize(
    ("fault", "words"), [(lost, "the connection broke"), (failed, r"A02 was not accepted \(500\)")]
)
def test_what_failed_is_taken_up_again(accounts: Accounts, server: Server, fault: Fault, words: str) -> None:
    wanted = [("A01", ""), ("A02", ""), ("A03", "")]
    server.fail = partial(fault, server)
    with pytest.raises(ServerError, match=words):
        accounts.add(wanted)
    server.fail = lambda request: None
    rows = accounts.add(wanted)
    assert [row.state for row in rows] == ["active"] * 3
    assert {row.email: row.password for row in rows} == server.passwords


COMPLAINT = '<ul class="field_errors">\n <li>Enter a valid &quot;email&quot;.</li></ul>'


@pytest.mark.parametrize(
    ("call", "answer", "words"),
    [
        ("GET", httpx.Response(403, text="no"), "403: no sign-up page; make the account in Label Studio"),
        (
            "POST",
            httpx.Response(200, text=COMPLAINT),
            r'A01 was not accepted \(200: Enter a valid "email"\.\)',
        ),
    ],
)
def test_a_refusal_to_sign_up_is_shown_without_the_invitation(
    accounts: Accounts, server: Server, call: str, answer: httpx.Response, words: str
) -> None:
    server.fail = lambda request: (
        answer if (request.method, request.url.path) == (call, "/user/signup/") else None
    )
    with pytest.raises(ServerError, match=words) as caught:
        accounts.add([("A01", "")])
    assert INVITATION not in str(caught.value)


def test_a_retired_account_is_shut_once_and_not_deleted(accounts: Accounts, server: Server) -> None:
    accounts.add([("A01", ""), ("A02", "")])
    (row,) = rows = accounts.retire(["A01"])
    assert (row.pseudonym, row.state, row.email) == ("A01", "retired", "a01@annotators.invalid")
    assert accounts.retire(["A01"]) == rows
    ended = "DELETE /api/organizations/4/memberships/2/"
    assert [call for call in server.calls if call.startswith("DELETE")] == [ended]
    states = {row.pseudonym: row.state for row in accounts.refresh()}
    assert states == {"owner": "owner", "A01": "retired", "A02": "active"}


@pytest.mark.parametrize(
    ("name", "words"), [("B9", "no annotator is called 'B9'; active: A01"), ("owner", "owns the token")]
)
def test_who_cannot_retire_is_said_first(accounts: Accounts, server: Server, name: str, words: str) -> None:
    accounts.add([("A01", "")])
    with pytest.raises(UsageError, match=words):
        accounts.retire(["A01", name])
    assert not any(call.startswith("DELETE") for call in server.calls)


OWNER = Annotator("", "1", "admin@localhost", "2026-01-01", "owner")


def states(rows: list[Annotator]) -> dict[str, str]:
    return {row.pseudonym: row.state for row in rows}


def test_accounts_get_the_next_free_pseudonyms_by_user_id() -> None:
    accounts = [Annotator("", "10", "b@x.y", "t"), OWNER, Annotator("", "9", "a@x.y", "t")]
    rows = match_accounts([Annotator("A01", "5", "c@x.y", "t")], accounts)
    assert {row.pseudonym: row.user_id for row in rows} == {"A01": "5", "owner": "1", "A02": "9", "A03": "10"}


def test_a_retired_account_keeps_its_row_and_its_hidden_address() -> None:
    before = [Annotator("A01", "2", "a@x.y", "t", "active", "pw")]
    after = match_accounts(before, [Annotator("", "2", "", "t", "retired")])
    assert after == [Annotator("A01", "2", "a@x.y", "t", "retired", "pw")]
    assert match_accounts(after, [Annotator("", "2", "a@x.y", "t")])[0].state == "retired"


def test_a_deleted_account_keeps_its_row_but_not_its_number() -> None:
    rows = match_accounts([Annotator("A01", "2", "a@x.y", "t")], [Annotator("", "2", "b@x.y", "later")])
    assert states(rows) == {"A01": "deleted", "A02": "active"}
    assert pseudonyms(rows) == {"2": "A02"}


def test_an_account_made_here_before_the_register_was_lost_gets_its_pseudonym_back() -> None:
    accounts = [Annotator("", "2", "x@y.z", "t"), Annotator("", "3", "b07@annotators.invalid", "t")]
    assert [row.pseudonym for row in match_accounts([], accounts)] == ["A01", "B07"]


@cases("wanted", "state", "words")
def test_what_can_be_no_new_row_is_refused(wanted: tuple[str, str], state: str, words: str) -> None:
    row = Annotator("A01", email="jo@x.org" if state == "pending" else "a01@annotators.invalid", state=state)
    with pytest.raises(UsageError, match=words):
        add_rows([row], [wanted], ["p"])


_ACCOUNTS = st.lists(
    st.builds(
        Annotator,
        st.just(""),
        st.integers(1, 6).map(str),
        st.sampled_from(["", "a@x.y", "b@x.y", "A01@annotators.invalid"]),
        st.sampled_from(["t1", "t2"]),
        st.sampled_from(["active", "retired"]),
    ),
    max_size=5,
    unique_by=lambda account: account.user_id,
)


@given(st.lists(_ACCOUNTS, max_size=5))
def test_whatever_the_server_lists_no_row_goes_and_no_name_changes(history: list[list[Annotator]]) -> None:
    rows: list[Annotator] = []
    for accounts in history:
        before, rows = rows, match_accounts(rows, accounts)
        identities = [(row.pseudonym, row.user_id, row.joined_at) for row in rows]
        assert identities[: len(before)] == [(row.pseudonym, row.user_id, row.joined_at) for row in before]
        assert len({row.pseudonym.lower() for row in rows}) == len(rows)
        assert set(pseudonyms(rows)) == {account.user_id for account in accounts}
        assert match_accounts(rows, accounts) == rows


def test_the_register_is_read_as_it_was_written_and_is_private(tmp_path: Path) -> None:
    assert read_register(tmp_path) == []
    joined = "2026-01-01T00:00:00+00:00"
    rows = [Annotator("A01", "2", "a@x.y", joined, "active", 'p,"w'), Annotator("owner", "1", state="owner")]
    write_register(tmp_path, rows)
    assert read_register(tmp_path) == rows
    (path,) = tmp_path.iterdir()
    assert (path.name, stat.S_IMODE(path.stat().st_mode)) == ("annotators.csv", 0o600)
    path.chmod(0o644)
    with pytest.raises(FormatError, match="chmod 600"):
        read_register(tmp_path)


HEAD = "pseudonym,user_id,email,joined_at,state,password\n"
DAMAGED = ["A,1\n", "A01,1,e,t,odd,p\n", ",1,e,t,active,p\n", 2 * "A,1,e,t,active,p\n"]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", *(HEAD + rows for rows in DAMAGED)])
def test_a_damaged_register_is_not_guessed_at(tmp_path: Path, text: str) -> None:
    path = tmp_path / "annotators.csv"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(FormatError, match=r"annotators\.csv: damaged .*restore it"):
        read_register(tmp_path)


def test_address_and_password_are_in_no_repr() -> None:
    assert repr(Annotator("A01", "2", "jo@x.org", "t", "active", "secret")) == (
        "Annotator(pseudonym='A01', user_id='2', joined_at='t', state='active')"
    )
