"""Annotators and their pseudonyms: the real identities stay on this machine.

The register holds one row for each account that was ever seen; no row is ever removed, so that a
judgment keeps its author's pseudonym when the account is retired or deleted. The server's part is in
`accounts`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import chain
from pathlib import Path

from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.labelstudio.connection import read_secret
from fire_toolkit.labelstudio.private_files import write_private

REGISTER = "annotators.csv"
ACTIVE = "active"
PENDING = "pending"
RETIRED = "retired"
DELETED = "deleted"
OWNER = "owner"
STATES = (ACTIVE, PENDING, RETIRED, DELETED, OWNER)
# No mail can ever reach an address below .invalid (RFC 2606).
NO_MAIL = "annotators.invalid"
_PSEUDONYM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
_EMAIL = re.compile(r"[^@\s,\"]+@[^@\s,\"]+\.[^@\s,\".]+")


@dataclass(frozen=True)
class Account:
    """A user as the server lists it; email is empty where the server hides it (a retired account)."""

    user_id: str
    email: str
    joined_at: str
    is_owner: bool = False


@dataclass(frozen=True)
class Annotator:
    """A row of the register.

    state: `active`; `pending`: to be made on the server; `retired`: gets no more tasks, may not answer;
    `deleted`: gone from the server; `owner`: the account whose token is used. password: as it was made
    here, empty if the person chose it.
    """

    pseudonym: str
    user_id: str = ""
    email: str = field(default="", repr=False)
    joined_at: str = ""
    state: str = ACTIVE
    password: str = field(default="", repr=False)


def checked_pseudonym(text: str) -> str:
    """Return a pseudonym as it is.

    Raises:
        UsageError: not 1 to 32 letters, digits, dots, dashes and underscores, a letter or digit first.
    """
    if not _PSEUDONYM.fullmatch(text):
        raise UsageError(
            f"{text!r} is not a valid pseudonym: use letters, digits, '.', '-' and '_' only, such as A01"
        )
    return text


def checked_email(text: str) -> str:
    """Return an e-mail address in lower case, as the server keeps it.

    Raises:
        UsageError: it is not one.
    """
    if not _EMAIL.fullmatch(text) or not text.isprintable():
        raise UsageError(f"{text!r} is not an e-mail address")
    return text.lower()


def add_rows(
    register: Sequence[Annotator], wanted: Iterable[tuple[str, str]], passwords: Iterable[str]
) -> list[Annotator]:
    """Return the register with a pending row for each wanted (pseudonym, e-mail) that it does not have.

    An empty e-mail becomes one that no mail can reach. A pseudonym that is there with the same e-mail
    stays as it is.

    Raises:
        UsageError: a pseudonym or e-mail is taken by another row, or belongs to a retired one.

    Examples:
        >>> rows = add_rows([], [("A01", "")], ["secret"])
        >>> rows[0].email, rows[0].state
        ('a01@annotators.invalid', 'pending')
        >>> add_rows(rows, [("A01", "")], ["other"]) == rows
        True
    """
    rows = list(register)
    for (pseudonym, email), password in zip(wanted, passwords, strict=False):
        checked_pseudonym(pseudonym)
        email = checked_email(email) if email else f"{pseudonym.lower()}@{NO_MAIL}"
        same = [row for row in rows if row.pseudonym.lower() == pseudonym.lower() or row.email == email]
        if not same:
            rows.append(Annotator(pseudonym, email=email, state=PENDING, password=password))
            continue
        row = same[0]
        if (row.pseudonym, row.email) != (pseudonym, email):
            raise UsageError(f"{pseudonym}: the pseudonym or the e-mail already belongs to {row.pseudonym}")
        if row.state not in (ACTIVE, PENDING):
            raise UsageError(f"{pseudonym} is {row.state}; choose another pseudonym")
    return rows


def match_accounts(register: Sequence[Annotator], accounts: Iterable[Account]) -> list[Annotator]:
    """Return the register brought up to what the server lists.

    An account is known by its id and the moment it was made, for ids may be used again. Accounts that
    are not known get the next free pseudonym; rows without an account become `deleted`; an account
    whose e-mail the server hides was retired there. The order is that of the register, new ones last by
    user id.

    Examples:
        >>> [row.pseudonym for row in match_accounts([], [Account("2", "x@y.z", "2026-11-20")])]
        ['A01']
    """
    listed = {(account.user_id, account.joined_at): account for account in accounts}
    by_email = {account.email: key for key, account in listed.items() if account.email}
    rows: list[Annotator] = []
    for row in register:
        key = (row.user_id, row.joined_at) if row.user_id else by_email.get(row.email, ("", ""))
        account = listed.pop(key, None)
        rows.append(_updated(row, account))
    for account in sorted(listed.values(), key=lambda each: (len(each.user_id), each.user_id)):
        rows.append(_updated(Annotator(_next_pseudonym(rows, account)), account))
    return rows


def _updated(row: Annotator, account: Account | None) -> Annotator:
    if account is None:
        return row if row.state == PENDING else replace(row, state=DELETED)
    known = replace(
        row, user_id=account.user_id, joined_at=account.joined_at, email=row.email or account.email
    )
    if account.is_owner:
        return replace(known, state=OWNER)
    is_retired = not account.email or row.state == RETIRED
    return replace(known, state=RETIRED if is_retired else ACTIVE)


def _next_pseudonym(rows: Sequence[Annotator], account: Account) -> str:
    if account.is_owner:
        return _first_free(rows, ("owner", *(f"owner{n}" for n in range(2, 1000))))
    name, _, place = account.email.partition("@")
    earlier = [name.upper()] if place == NO_MAIL and _PSEUDONYM.fullmatch(name) else []
    return _first_free(rows, chain(earlier, (f"A{n:02d}" for n in range(1, 100_000))))


def _first_free(rows: Sequence[Annotator], names: Iterable[str]) -> str:
    taken = {row.pseudonym.lower() for row in rows}
    return next(name for name in names if name.lower() not in taken)


def pseudonyms(register: Iterable[Annotator]) -> dict[str, str]:
    """Return user id → pseudonym of every account that is on the server, retired ones too.

    Ids of deleted accounts are left out: the server may have given them to somebody else, and names no
    author any more.
    """
    return {row.user_id: row.pseudonym for row in register if row.user_id and row.state != DELETED}


def read_register(folder: Path) -> list[Annotator]:
    """Return the register in a workspace's private folder; empty if there is none.

    Raises:
        FormatError: it is damaged, or others can read it.
    """
    path = folder / REGISTER
    if not path.exists():
        return []
    reader = csv.DictReader(io.StringIO(read_secret(path)), strict=True)
    names = [each.name for each in fields(Annotator)]
    try:
        rows = [Annotator(**{name: record[name] for name in names}) for record in reader]
        _check_rows(rows)
    except (csv.Error, KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{path}: damaged ({error}); restore it from a backup: it is the only record of who is who"
        ) from None
    return rows


def _check_rows(rows: Sequence[Annotator]) -> None:
    for row in rows:
        if row.state not in STATES or not _PSEUDONYM.fullmatch(row.pseudonym or ""):
            raise ValueError(f"row {row.pseudonym!r}")
    names = [row.pseudonym.lower() for row in rows]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{twice[0]!r} appears twice")


def write_register(folder: Path, register: Iterable[Annotator]) -> None:
    """Write the register as one change, readable by the owner only."""
    path = folder / REGISTER
    text = io.StringIO()
    writer = csv.DictWriter(text, [each.name for each in fields(Annotator)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in register)
    write_private(path, text.getvalue())
