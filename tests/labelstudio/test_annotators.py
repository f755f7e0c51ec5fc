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


def states(rows: list[Annotator]) -> dict[str, str]:
    return {row.pseudonym: row.state for row in rows}


def test_accounts_get_the_next_free_pseudonyms_by_user_id() -> None:
    accounts = [Annotator("", "10", "b@x.y", "t"), OWNER, Annotator("", "9", "a@x.y", "t")]
    rows = match_accounts([Annotator("A01", "5", "c@x.y", "t")], accounts)
    assert [(row.pseudonym, row.user_id) for row in rows] == [
        ("A01", "5"),
        ("owner", "1"),
        ("A02", "9"),
        ("A03", "10"),
    ]


def test_a_pending_row_finds_its_account_by_the_address() -> None:
    rows = match_accounts(
        add_rows([], [("Jo", "")], ["pw"]), [Annotator("", "7", "jo@annotators.invalid", "t")]
    )
    assert rows == [Annotator("Jo", "7", "jo@annotators.invalid", "t", "active", "pw")]


def test_a_pending_row_without_account_stays_pending() -> None:
    rows = add_rows([], [("A01", "")], ["pw"])
    assert match_accounts(rows, [OWNER])[0] == rows[0]


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
    rows = match_accounts(
        [], [Annotator("", "2", "x@y.z", "t"), Annotator("", "3", "b07@annotators.invalid", "t")]
    )
    assert [row.pseudonym for row in rows] == ["A01", "B07"]


def test_adding_again_changes_nothing() -> None:
    rows = add_rows([], [("A01", "Jo@X.org"), ("A02", "")], ["p1", "p2"])
    assert add_rows(rows, [("A01", "jo@x.org"), ("A02", "")], ["q1", "q2"]) == rows


@pytest.mark.parametrize(
    "wanted",
    [[("A01", "other@x.org")], [("A02", "jo@x.org")], [("a01", "")], [("a01", "jo@x.org")]],
)
def test_a_taken_name_or_address_is_refused(wanted: list[tuple[str, str]]) -> None:
    rows = add_rows([], [("A01", "jo@x.org")], ["p"])
    with pytest.raises(UsageError, match="already belongs to A01"):
        add_rows(rows, wanted, ["q"])


@pytest.mark.parametrize("state", ["retired", "deleted", "owner"])
def test_a_name_that_had_its_time_is_not_used_again(state: str) -> None:
    with pytest.raises(UsageError, match=f"A01 is {state}; choose another"):
        add_rows([Annotator("A01", "2", "a01@annotators.invalid", "t", state)], [("A01", "")], ["p"])


@pytest.mark.parametrize("text", ["", "A 1", "ä", "-a", "a@b", "a,b", "x" * 33, "a\n"])
def test_what_is_no_pseudonym_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a valid pseudonym"):
        add_rows([], [(text, "")], [""])


@pytest.mark.parametrize("text", ["a", "a@b", "a b@c.d", "a@b@c.d", "a@b.", "a\x00@b.c", "a,b@c.d"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not an e-mail"):
        add_rows([], [("A01", text)], [""])


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
    rows = [
        Annotator("A01", "2", "a@x.y", "2026-01-01T00:00:00+00:00", "active", 'p,"w'),
        Annotator("owner", "1", "", "", "owner"),
    ]
    write_register(tmp_path, rows)
    assert read_register(tmp_path) == rows
    assert stat.S_IMODE((tmp_path / "annotators.csv").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["annotators.csv"]


def test_no_register_is_empty(tmp_path: Path) -> None:
    assert read_register(tmp_path) == []


HEAD = "pseudonym,user_id,email,joined_at,state,password\n"


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n",
        HEAD + "A01,1,e,t,odd,p\n",
        HEAD + ",1,e,t,active,p\n",
        HEAD + "A,1\n",
        HEAD + 2 * "A,1,e,t,active,p\n",
    ],
)
def test_a_damaged_register_is_not_guessed_at(tmp_path: Path, text: str) -> None:
    path = tmp_path / "annotators.csv"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(FormatError, match=r"annotators\.csv: damaged .*restore it"):
        read_register(tmp_path)


def test_a_register_that_others_can_read_is_refused(tmp_path: Path) -> None:
    write_register(tmp_path, [])
    (tmp_path / "annotators.csv").chmod(0o644)
    with pytest.raises(FormatError, match="chmod 600"):
        read_register(tmp_path)


def test_address_and_password_are_in_no_repr() -> None:
    assert repr(Annotator("A01", "2", "jo@x.org", "t", "active", "secret")) == (
        "Annotator(pseudonym='A01', user_id='2', joined_at='t', state='active')"
    )
