"""The register of annotators: who gets which pseudonym, and that no row is ever lost."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.labelstudio.register import (
    Annotator,
    add_rows,
    match_accounts,
    pseudonyms,
    read_register,
    write_register,
)

OWNER = Annotator("", "1", "admin@localhost", "2026-01-01", "owner")
TAKEN = [("A01", "other@x.org"), ("A02", "jo@x.org"), ("a01", ""), ("a01", "jo@x.org")]
NO_PSEUDONYMS = ["", "A 1", "ä", "-a", "a@b", "a,b", "x" * 33, "a\n"]
NO_EMAILS = ["a", "a@b", "a b@c.d", "a@b@c.d", "a@b.", "a\x00@b.c", "a,b@c.d"]


def states(rows: list[Annotator]) -> dict[str, str]:
    return {row.pseudonym: row.state for row in rows}


def test_accounts_get_the_next_free_pseudonyms_by_user_id() -> None:
    accounts = [Annotator("", "10", "b@x.y", "t"), OWNER, Annotator("", "9", "a@x.y", "t")]
    rows = match_accounts([Annotator("A01", "5", "c@x.y", "t")], accounts)
    assert {row.pseudonym: row.user_id for row in rows} == {"A01": "5", "owner": "1", "A02": "9", "A03": "10"}


def test_a_pending_row_finds_its_account_by_the_address() -> None:
    pending = add_rows([], [("Jo", "")], ["pw"])
    assert match_accounts(pending, [OWNER])[0] == pending[0]
    rows = match_accounts(pending, [Annotator("", "7", "jo@annotators.invalid", "t")])
    assert rows == [Annotator("Jo", "7", "jo@annotators.invalid", "t", "active", "pw")]


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


def test_adding_again_changes_nothing() -> None:
    rows = add_rows([], [("A01", "Jo@X.org"), ("A02", "")], ["p1", "p2"])
    assert add_rows(rows, [("A01", "jo@x.org"), ("A02", "")], ["q1", "q2"]) == rows


@pytest.mark.parametrize(
    ("wanted", "state", "words"),
    [
        *((each, "pending", "already belongs to A01") for each in TAKEN),
        *(
            (("A01", ""), state, f"A01 is {state}; choose another")
            for state in ("retired", "deleted", "owner")
        ),
        *(((name, ""), "pending", "not a valid pseudonym") for name in NO_PSEUDONYMS),
        *((("A02", email), "pending", "not an e-mail") for email in NO_EMAILS),
    ],
)
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
def test_whatever_the_server_lists_no_row_goes_and_no_pseudonym_changes(
    history: list[list[Annotator]],
) -> None:
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
