"""Annotators and the accounts behind them: real identities stay on this machine, behind pseudonyms.

The register holds one row for each account that was ever seen; no row is ever removed, so that a judgment
keeps its author. Each row stands in the register before its account is made.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import chain, count
from pathlib import Path

from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.labelstudio.secrets import read_secret, write_private

REGISTER = "annotators.csv"
ACTIVE, PENDING, RETIRED, DELETED, OWNER = STATES = ("active", "pending", "retired", "deleted", "owner")
# No mail can ever reach an address below .invalid (RFC 2606).
NO_MAIL = "annotators.invalid"
# What submits an answer. Never the key of the answer itself: going back would show one and keep another.
SUBMIT_KEYS = "space,ctrl+enter"
_PSEUDONYM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
_EMAIL = re.compile(r"[^@\s,\"]+@[^@\s,\"]+\.[^@\s,\".]+")


@dataclass(frozen=True)
class Annotator:
    """A row of the register; without a pseudonym, an account as a server lists it.

    state: `active`; `pending`: to be made on the server; `retired`: gets no more tasks, may not answer;
    `deleted`: gone from the server; `owner`: the account whose token is used. email: a server hides that of
    a retired account. password: as it was made here, empty if the person chose it.
    """

    pseudonym: str
    user_id: str = ""
    email: str = field(default="", repr=False)
    joined_at: str = ""
    state: str = ACTIVE
    password: str = field(default="", repr=False)


def add_rows(
    register: Sequence[Annotator], wanted: Iterable[tuple[str, str]], passwords: Iterable[str]
) -> list[Annotator]:
    """Return the register with a pending row for each wanted (pseudonym, e-mail) that it does not have.

    An empty e-mail becomes one that no mail can reach. A pseudonym that is there with the same e-mail
    stays as it is.

    Raises:
        UsageError: no pseudonym, no e-mail, or one that is another row's or a retired one's.

    Examples:
        >>> rows = add_rows([], [("A01", "")], ["secret"])
        >>> rows[0].email, rows[0].state
        ('a01@annotators.invalid', 'pending')
        >>> add_rows(rows, [("A01", "")], ["other"]) == rows
        True
    """
    rows = list(register)
    for (pseudonym, email), password in zip(wanted, passwords, strict=False):
        if not _PSEUDONYM.fullmatch(pseudonym):
            raise UsageError(
                f"{pseudonym!r} is not a valid pseudonym: use letters, digits, '.', '-' and '_' only, such "
                "as A01"
            )
        email = email.lower() or f"{pseudonym.lower()}@{NO_MAIL}"
        if not _EMAIL.fullmatch(email) or not email.isprintable():
            raise UsageError(f"{email!r} is not an e-mail address")
        same = [row for row in rows if row.pseudonym.lower() == pseudonym.lower() or row.email == email]
        if not same:
            rows.append(Annotator(pseudonym, email=email, state=PENDING, password=password))
        elif (same[0].pseudonym, same[0].email) != (pseudonym, email):
            taken = same[0].pseudonym
            raise UsageError(f"{pseudonym}: the pseudonym or the e-mail already belongs to {taken}")
        elif same[0].state not in (ACTIVE, PENDING):
            raise UsageError(f"{pseudonym} is {same[0].state}; choose another pseudonym")
    return rows


def match_accounts(register: Sequence[Annotator], accounts: Iterable[Annotator]) -> list[Annotator]:
    """Return the register brought up to the accounts that the server lists.

    An account is known by its id and the moment it was made, for ids may be used again. Accounts that
    are not known get the next free pseudonym; rows without an account become `deleted`; who was retired here
    or there stays so. The order is that of the register, new ones last by user id.

    Examples:
        >>> [row.pseudonym for row in match_accounts([], [Annotator("", "2", "x@y.z", "2026-11-20")])]
        ['A01']
    """
    listed = {(account.user_id, account.joined_at): account for account in accounts}
    by_email = {account.email: key for key, account in listed.items() if account.email}
    rows: list[Annotator] = []
    for row in register:
        key = (row.user_id, row.joined_at) if row.user_id else by_email.get(row.email, ("", ""))
        account = listed.pop(key, None)
        if account is None:
            rows.append(row if row.state == PENDING else replace(row, state=DELETED))
            continue
        state = RETIRED if row.state == RETIRED and account.state == ACTIVE else account.state
        known = replace(row, user_id=account.user_id, joined_at=account.joined_at, state=state)
        rows.append(replace(known, email=row.email or account.email))
    for account in sorted(listed.values(), key=lambda each: (len(each.user_id), each.user_id)):
        name, _, place = account.email.partition("@")
        names: Iterable[str] = (f"A{n:02d}" for n in count(1))
        if account.state == OWNER:
            names = chain(["owner"], (f"owner{n}" for n in count(2)))
        elif place == NO_MAIL and _PSEUDONYM.fullmatch(name):  # it was made by another workspace
            names = chain([name.upper()], names)
        taken = {row.pseudonym.lower() for row in rows}
        rows.append(replace(account, pseudonym=next(each for each in names if each.lower() not in taken)))
    return rows


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
        for row in rows:
            if row.state not in STATES or not _PSEUDONYM.fullmatch(row.pseudonym or ""):
                raise ValueError(f"row {row.pseudonym!r}")
        seen = [row.pseudonym.lower() for row in rows]
        if twice := sorted({name for name in seen if seen.count(name) > 1}):
            raise ValueError(f"{twice[0]!r} appears twice")
    except (csv.Error, KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{path}: damaged ({error}); restore it from a backup: it is the only record of who is who"
        ) from None
    return rows


def write_register(folder: Path, register: Iterable[Annotator]) -> None:
    """Write the register as one change, readable by the owner only."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [each.name for each in fields(Annotator)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in register)
    write_private(folder / REGISTER, text.getvalue())
