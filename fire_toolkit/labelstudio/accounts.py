"""The accounts of a server: list, make, retire. No account is ever deleted, for its answers would lose
their author.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from contextlib import AbstractContextManager
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

from fire_toolkit.errors import ServerError, UsageError
from fire_toolkit.labelstudio.annotators import (
    ACTIVE,
    OWNER,
    PENDING,
    Account,
    Annotator,
    add_rows,
    match_accounts,
    read_register,
    write_register,
)
from fire_toolkit.labelstudio.connection import Connection, browser, open_client
from fire_toolkit.labelstudio.failures import server_errors
from fire_toolkit.labelstudio.private_files import prepare_folder
from fire_toolkit.workspace.locks import hold_lock

if TYPE_CHECKING:
    import httpx
    from label_studio_sdk.base_client import LabelStudioBase

# What submits an answer. Never the key of the answer itself: going back would show one and keep another.
SUBMIT_KEYS = "space,ctrl+enter"
_HOTKEYS = {"annotation:annotation:submit": {"key": SUBMIT_KEYS, "active": True}}
_HIDDEN = "Deleted"
_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_COMPLAINT = re.compile(r'class="field_errors">\s*<li>(.*?)</li>', re.DOTALL)


class Accounts:
    """A server's accounts, and the register of a workspace's private folder that gives them pseudonyms."""

    def __init__(
        self, connection: Connection, folder: Path, *, transport: httpx.BaseTransport | None = None
    ) -> None:
        prepare_folder(folder)
        self._connection = connection
        self._folder = folder
        self._transport = transport
        self._client: LabelStudioBase = open_client(connection, transport=transport)

    def refresh(self) -> list[Annotator]:
        """Return the register after bringing it up to what the server lists.

        Raises:
            ServerError: the server fails.
        """
        accounts = self._listed()
        with self._lock():
            register = match_accounts(read_register(self._folder), accounts)
            write_register(self._folder, register)
        return register

    def add(self, wanted: Iterable[tuple[str, str]]) -> list[Annotator]:
        """Make the accounts that are not there yet; return the rows of all wanted ones, in that order.

        Args:
            wanted: pseudonym and e-mail of each; without an e-mail one that no mail can reach.

        Each row stands in the register before its account is made; what was cut short is taken up
        again by the same call.

        Raises:
            UsageError: a pseudonym or an e-mail is taken.
            ServerError: the server fails or refuses an account.
        """
        wanted = list(wanted)
        self.refresh()
        with self._lock():
            passwords = (secrets.token_urlsafe(12) for _ in wanted)
            register = add_rows(read_register(self._folder), wanted, passwords)
            write_register(self._folder, register)
        names = [pseudonym for pseudonym, _ in wanted]
        pending = [row for row in register if row.state == PENDING and row.pseudonym in names]
        invitation = self._invitation() if pending else ""
        for row in pending:
            self._sign_up(invitation, row)
        by_name = {row.pseudonym: row for row in self.refresh()}
        return [by_name[name] for name in names]

    def retire(self, names: Iterable[str]) -> list[Annotator]:
        """Deactivate annotators and return their rows; what they answered stays theirs.

        Raises:
            UsageError: no annotator is called so, or it is the owner of the token.
            ServerError: the server fails.
        """
        names = list(names)
        register = {row.pseudonym: row for row in self.refresh()}
        for name in names:
            if name not in register:
                known = ", ".join(row.pseudonym for row in register.values() if row.state == ACTIVE)
                raise UsageError(f"no annotator is called {name!r}; active: {known or 'none'}")
            if register[name].state == OWNER:
                raise UsageError(f"{name} owns the token in use and cannot be retired with it")
            if register[name].state == PENDING:
                raise UsageError(
                    f"{name} has no account yet; create it with `fire-toolkit annotators add {name}`"
                )
        organisation = self._me()[1]
        for name in names:
            if register[name].state == ACTIVE:
                self._end_membership(organisation, register[name])
        by_name = {row.pseudonym: row for row in self.refresh()}
        return [by_name[name] for name in names]

    def _invitation(self) -> str:
        """Return the token of the sign-up page."""
        with server_errors(self._connection):
            token = self._client.organizations.invites.get_invite_link().token
        if not token:
            raise ServerError(
                f"{self._connection.url}: the server returned no invitation; see its People page"
            )
        return str(token)

    @property
    def login_url(self) -> str:
        """The address at which annotators log in."""
        return f"{self._connection.page_url}/user/login/"

    def _lock(self) -> AbstractContextManager[int]:
        return hold_lock(self._folder / "annotators.lock", wait_s=30, what="another change of annotators")

    def _me(self) -> tuple[str, int]:
        """Return our own user id and the organisation's number."""
        with server_errors(self._connection):
            me = self._client.users.whoami()
        if me.id is None or me.active_organization is None:
            raise ServerError(
                f"{self._connection.url}: the token's account has no organisation; use another token"
            )
        return str(me.id), int(me.active_organization)

    def _listed(self) -> list[Account]:
        own, _ = self._me()
        with server_errors(self._connection):
            users = self._client.users.list()
        return [
            Account(
                str(user.id),
                "" if user.email in (None, _HIDDEN) else str(user.email),
                "" if user.date_joined is None else user.date_joined.isoformat(),
                is_owner=str(user.id) == own,
            )
            for user in users
        ]

    def _end_membership(self, organisation: int, row: Annotator) -> None:
        try:
            with server_errors(self._connection):
                self._client.organizations.members.delete(
                    organisation, int(row.user_id), request_options={"max_retries": 0}
                )
        except ServerError as error:
            if getattr(error.__cause__, "status_code", None) != 404:  # 404: ended before
                raise

    def _sign_up(self, invitation: str, row: Annotator) -> None:
        """Make an account as its owner would on the sign-up page: the API makes none with a password."""
        path, params = "/user/signup/", {"token": invitation}
        with server_errors(self._connection), browser(self._connection, transport=self._transport) as client:
            page = client.get(path, params=params)
            form = {"email": row.email, "password": row.password, "csrfmiddlewaretoken": _csrf(page)}
            answer = client.post(
                path, params=params, data=form, headers={"Referer": f"{self._connection.url}{path}"}
            )
            if answer.status_code == 302:
                self._let_space_submit(client)
                return
        words = "; ".join(unescape(text).strip() for text in _COMPLAINT.findall(answer.text))
        if answer.status_code == 200 and "already exists" in words:
            return  # made before; the register finds it by its e-mail
        raise ServerError(
            f"POST {self._connection.url}{path}: {row.pseudonym} was not accepted ({answer.status_code}"
            f"{': ' + words if words else ''}); see `fire-toolkit doctor`"
        )

    def _let_space_submit(self, client: httpx.Client) -> None:
        """Set the new account's key; a server that cannot do so leaves it at Ctrl+Enter."""
        headers = {"X-CSRFToken": client.cookies.get("csrftoken") or "", "Referer": self._connection.url}
        client.patch("/api/current-user/hotkeys/", json={"custom_hotkeys": _HOTKEYS}, headers=headers)


def _csrf(page: httpx.Response) -> str:
    found = _CSRF.search(page.text)
    if page.status_code != 200 or found is None:
        raise ServerError(
            f"GET {page.request.url.copy_with(query=None)}: {page.status_code}: no sign-up page; make the "
            "account in Label Studio (Organization, Add Members), then run `fire-toolkit annotators add`"
        )
    return found[1]
