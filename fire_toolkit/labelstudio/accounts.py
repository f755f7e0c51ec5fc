"""Annotators' accounts on a server: made once, shut and never deleted, each under a pseudonym."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from html import unescape
from pathlib import Path

from fire_toolkit.errors import ServerError, UsageError
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.calls import Browser, CallFailed
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.register import (
    ACTIVE,
    OWNER,
    PENDING,
    RETIRED,
    SUBMIT_KEYS,
    Annotator,
    add_rows,
    match_accounts,
    read_register,
    write_register,
)
from fire_toolkit.labelstudio.secrets import prepare_folder
from fire_toolkit.workspace.locks import hold_lock

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

    def refresh(self, wanted: Sequence[tuple[str, str]] = ()) -> list[Annotator]:
        """Return the register after bringing it up to what the server lists, with rows for all wanted."""
        with Api(self._connection) as api:
            own, users = self._me(api)[0], api.read("api/users/")
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
            with Api(self._connection) as api:
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
        with Api(self._connection) as api:
            memberships = f"api/organizations/{self._me(api)[1]}/memberships"
            for row in (register[name] for name in names if register[name].state == ACTIVE):
                try:
                    api.write("DELETE", f"{memberships}/{row.user_id}/")
                except CallFailed as error:
                    if error.status != 404:  # 404: ended before
                        raise
        by_name = {row.pseudonym: row for row in self.refresh()}
        return [by_name[name] for name in names]

    @property
    def login_url(self) -> str:
        """The address at which annotators log in."""
        return f"{self._connection.page_url}/user/login/"

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
        with Browser(self._connection) as client:
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
