"""Annotators and their accounts on a server: real identities stay on this machine, behind pseudonyms.

The register holds one row for each account that was ever seen; no row is ever removed, so that a judgment
keeps its author. Each row stands in the register before its account is made. Accounts are shut, and never
deleted.
"""

from __future__ import annotations

import csv
import io
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from html import unescape
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from fire_toolkit.errors import FormatError, ServerError, UsageError
from fire_toolkit.labelstudio.connection import (
    CONNECTION_FILE,
    PRIVATE,
    Connection,
    prepare_folder,
    read_connection_file,
    read_secret,
)
from fire_toolkit.workspace.locks import hold_lock
from fire_toolkit.workspace.manifests import write_files

if TYPE_CHECKING:
    from fire_toolkit.labelstudio.api import Api  # with the HTTP library, which takes .2 s

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
        times = Counter(str(row.pseudonym).lower() for row in rows)
        for row in rows:
            if row.state not in STATES or not _PSEUDONYM.fullmatch(row.pseudonym or ""):
                raise ValueError(f"row {row.pseudonym!r}")
            if times[row.pseudonym.lower()] > 1:
                raise ValueError(f"{row.pseudonym!r} appears twice")
    except (csv.Error, KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{path}: damaged ({error}); restore it from a backup: it is the only record of who is who"
        ) from None
    return rows


def private_words(folder: Path) -> tuple[list[str], list[str], list[str]]:
    """Return what nobody else may read of a private folder: pseudonyms, e-mails; passwords, tokens and keys.

    Raises:
        FormatError: a file is damaged, or others can read it.
    """
    register = read_register(folder)
    hidden = [row.password for row in register]
    hidden += [read_secret(path).strip() for path in sorted(folder.glob("*.key"))]
    if (folder / CONNECTION_FILE).exists():
        stored = read_connection_file(folder / CONNECTION_FILE)
        hidden += [stored.token, stored.password]
    emails = [row.email for row in register if not row.email.endswith(NO_MAIL)]
    return [row.pseudonym for row in register], emails, hidden


def write_register(folder: Path, register: Iterable[Annotator]) -> None:
    """Write the register as one change, readable by the owner only."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [each.name for each in fields(Annotator)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in register)
    write_files({folder / REGISTER: text.getvalue().encode()}, mode=PRIVATE)


_HOTKEYS = {"annotation:annotation:submit": {"key": SUBMIT_KEYS, "active": True}}
_HIDDEN = "Deleted"
_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_COMPLAINT = re.compile(r'class="field_errors">\s*<li>(.*?)</li>', re.DOTALL)


class Accounts:
    """A server's accounts, and the register of a workspace's private folder that gives them pseudonyms.

    Raises, in all calls:
        ServerError: the server fails, or refuses an account.
    """

    def __init__(self, connection: Connection, folder: Path) -> None:
        prepare_folder(folder)
        self._connection, self._folder = connection, folder

    def _api(self) -> Api:
        from fire_toolkit.labelstudio.api import Api

        return Api(self._connection)

    def refresh(self, wanted: Sequence[tuple[str, str]] = ()) -> list[Annotator]:
        """Return the register after bringing it up to what the server lists, with rows for all wanted."""
        with self._api() as api:
            own, users = self._me(api)[0], api.users()
        accounts = []
        for user in users:
            email = "" if user.get("email") in (None, _HIDDEN) else str(user["email"])
            joined = str(user.get("date_joined") or "")
            joined = joined and datetime.fromisoformat(joined).isoformat()
            state = OWNER if str(user["id"]) == own else ACTIVE if email else RETIRED
            accounts.append(Annotator("", str(user["id"]), email, joined, state))
        what = "another change of annotators"
        with hold_lock(self._folder / "annotators.lock", wait_s=30, what=what):
            register = match_accounts(read_register(self._folder), accounts)
            register = add_rows(register, wanted, (secrets.token_urlsafe(12) for _ in wanted))
            write_register(self._folder, register)
        return register

    def add(self, wanted: Iterable[tuple[str, str]]) -> list[Annotator]:
        """Make the accounts that are not there yet; return the rows of all wanted ones, in that order.

        Args:
            wanted: pseudonym and e-mail of each; without an e-mail one that no mail can reach.

        What was cut short is taken up again by the same call.

        Raises:
            UsageError: as `add_rows`.
        """
        wanted = list(wanted)
        names = [pseudonym for pseudonym, _ in wanted]
        pending = [row for row in self.refresh(wanted) if row.state == PENDING and row.pseudonym in names]
        if pending:
            with self._api() as api:
                invitation = api.read("api/invite").get("token")
            if not invitation:
                url = self._connection.url
                raise ServerError(f"{url}: the server returned no invitation; see its People page")
            for row in pending:
                self._sign_up(str(invitation), row)
        by_name = {row.pseudonym: row for row in self.refresh()}
        return [by_name[name] for name in names]

    def retire(self, names: Iterable[str]) -> list[Annotator]:
        """Deactivate annotators and return their rows; what they answered stays theirs.

        Raises:
            UsageError: no annotator is called so, or it is the owner of the token.
        """
        names = list(names)
        register = {row.pseudonym: row for row in self.refresh()}
        known = ", ".join(row.pseudonym for row in register.values() if row.state == ACTIVE) or "none"
        for name in names:
            if name not in register:
                raise UsageError(f"no annotator is called {name!r}; active: {known}")
            if register[name].state == OWNER:
                raise UsageError(f"{name} owns the token in use and cannot be retired with it")
            if register[name].state == PENDING:
                todo = f"create it with `fire-toolkit annotators add {name}`"
                raise UsageError(f"{name} has no account yet; {todo}")
        with self._api() as api:
            memberships = f"api/organizations/{self._me(api)[1]}/memberships"
            for row in (register[name] for name in names if register[name].state == ACTIVE):
                answer = api.asked("DELETE", f"{memberships}/{row.user_id}/")
                if not answer.is_success and answer.status_code != 404:  # 404: ended before
                    api.content_of(answer)
        by_name = {row.pseudonym: row for row in self.refresh()}
        return [by_name[name] for name in names]

    def _me(self, api: Api) -> tuple[str, int]:
        """Return our own user id and the organisation's number."""
        me = api.read("api/current-user/whoami")
        with suppress(TypeError, KeyError, ValueError):
            return str(int(me["id"])), int(me["active_organization"])
        raise ServerError(
            f"{self._connection.url}: the token's account has no organisation; use another token"
        )

    def _sign_up(self, invitation: str, row: Annotator) -> None:
        """Make an account as its owner would on the sign-up page: the API makes none with a password."""
        path, params = "/user/signup/", {"token": invitation}
        with self._api() as client:
            page = client.get(path, params=params)
            csrf = _CSRF.search(page.text)
            if page.status_code != 200 or csrf is None:
                raise ServerError(
                    f"GET {page.request.url.copy_with(query=None)}: {page.status_code}: no sign-up page; "
                    "make the account in Label Studio (Organization, Add Members), then run `fire-toolkit "
                    "annotators add`"
                )
            form = {"email": row.email, "password": row.password, "csrfmiddlewaretoken": csrf[1]}
            from_here = {"Referer": f"{self._connection.url}{path}"}
            answer = client.post(path, params=params, data=form, headers=from_here)
            if answer.status_code == 302:  # a server that cannot set the key leaves it at Ctrl+Enter
                from_here["X-CSRFToken"] = client.cookies.get("csrftoken") or ""
                keys = {"custom_hotkeys": _HOTKEYS}
                client.patch("/api/current-user/hotkeys/", json=keys, headers=from_here)
                return
        words = "; ".join(unescape(text).strip() for text in _COMPLAINT.findall(answer.text))
        if answer.status_code == 200 and "already exists" in words:
            return  # made before; the register finds it by its e-mail
        raise ServerError(
            f"POST {self._connection.url}{path}: {row.pseudonym} was not accepted ({answer.status_code}"
            f"{': ' + words if words else ''}); see `fire-toolkit doctor`"
        )
