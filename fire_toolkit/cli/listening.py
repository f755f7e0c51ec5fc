"""`pull --listen`: pull whenever the server hints that something has changed, and now and then anyway."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fire_toolkit.campaign.records import read_campaign
from fire_toolkit.cli.common import n_of, say
from fire_toolkit.cli.fetching import derive_judgments, pull_once
from fire_toolkit.cli.locking import workspace_lock
from fire_toolkit.cli.quality import refresh_page
from fire_toolkit.cli.server_options import connection_from, private_folder
from fire_toolkit.errors import ServerError, UsageError
from fire_toolkit.labelstudio.api import Api, status_of
from fire_toolkit.labelstudio.connection import checked_url
from fire_toolkit.labelstudio.local_state import prepare_folder
from fire_toolkit.labelstudio.projects import campaign_projects
from fire_toolkit.workspace.locks import Busy, hold_lock

if TYPE_CHECKING:
    from fire_toolkit.campaign.carrier import Fetched
    from fire_toolkit.campaign.records import Campaign
    from fire_toolkit.labelstudio.connection import Connection
    from fire_toolkit.labelstudio.hooks import HintListener

QUIET_S = 1.0  # answers come in handfuls: those of a second are pulled together


def listen(
    root: Path,
    url: str | None,
    token_file: Path | None,
    *,
    host: str,
    port: int,
    hook_url: str | None,
    every: float,
    page: Path | None,
    as_json: bool,
) -> None:
    """Pull at every hint, and every `every` seconds without one, until Ctrl-C or SIGTERM.

    page: the team's page, written again whenever something has come in.
    """
    from fire_toolkit.labelstudio.hooks import HintListener, hook_path
    from fire_toolkit.serving import stoppable

    campaign = read_campaign(root)
    if campaign is None:
        raise UsageError("nothing was pushed from this workspace; push first")
    connection = connection_from(url, token_file)
    if not hook_url and not connection.is_local:
        raise click.UsageError(
            f"--hook-url is needed: the address at which {connection.url} reaches this machine, "
            "like http://192.0.2.7:8791 (with --host and --port)"
        )
    prepare_folder(private_folder())
    lock = private_folder() / "listen.lock"
    with hold_lock(lock, wait_s=0, what="another `pull --listen`"), stoppable() as stopped:
        listener = HintListener(hook_path(campaign.key), host=host, port=port)
        base = checked_url(hook_url) if hook_url else f"http://{host}:{listener.server_port}"
        with listener, _hooks(connection, campaign, listener, base + listener.path) as hooks:
            say(f"pulling at every hint of the server, and every {every:g} s; Ctrl-C stops")
            _pull_on(root, url, token_file, listener, hooks, every, page, stopped, as_json=as_json)
    say("stopped")


def _pull_on(
    root: Path,
    url: str | None,
    token_file: Path | None,
    listener: HintListener,
    hooks: _Hooks,
    every: float,
    page: Path | None,
    stopped: threading.Event,
    *,
    as_json: bool,
) -> None:
    is_first, is_hinted = True, False
    while not stopped.is_set():
        if not is_hinted:
            hooks.add()
        try:
            with workspace_lock():
                pulled = pull_once(root, url, token_file)
                has_news = is_first or any(pulled.counts.values())
                if has_news:
                    derive_judgments(root, pulled, as_json=as_json)
                    refresh_page(page, reload_s=math.ceil(every))
        except (ServerError, Busy) as error:
            hooks.note(str(error))
        else:
            if pulled.notes and not has_news:
                hooks.note("; ".join(pulled.notes))
            hooks.weigh(pulled, is_hinted=is_hinted or is_first)
            is_first = False
        is_hinted = listener.hint.wait(every)
        if is_hinted:
            time.sleep(QUIET_S)
            listener.hint.clear()


@dataclass
class _Hooks:
    """The campaign's hooks at the server; what goes wrong with them is said once and stops nothing."""

    connection: Connection
    campaign: Campaign
    listener: HintListener
    address: str
    last_note: str = ""
    is_refused: bool = False
    is_silent: bool = False

    def note(self, words: str) -> None:
        """Say words, unless they were the last ones."""
        if words != self.last_note:
            say(f"note: {words}")
            self.last_note = words

    def add(self) -> None:
        """Give projects that have none a hook, unless the server has refused one."""
        from fire_toolkit.labelstudio.hooks import add_hooks

        if self.is_refused:
            return
        try:
            with Api(self.connection) as api:
                found = campaign_projects(api, self.campaign).values()
                projects = [int(project["id"]) for projects in found for project in projects]
                add_hooks(api, projects, self.address, self.listener.secret)
        except ServerError as error:
            is_reserved = status_of(error) == 403 and "reserved network" in str(error)
            self.is_refused = is_reserved or status_of(error) == 400
            advice = _MAY_NOT_CALL if self.is_refused else ""
            self.note(f"no hints: {error}{advice}; pulling by the clock only")

    def remove(self) -> None:
        """Take the campaign's hooks away, also those that an earlier listener left."""
        from fire_toolkit.labelstudio.hooks import remove_hooks

        try:
            with Api(self.connection) as api:
                remove_hooks(api, self.listener.path)
        except ServerError as error:
            self.note(
                f"the server keeps hooks of this campaign ({error}); the next `pull --listen` removes them"
            )

    def weigh(self, pulled: Fetched, *, is_hinted: bool) -> None:
        """Say once that hints do not come, if there were answers and no hint of them."""
        n_unseen = sum(pulled.counts.values())
        if n_unseen and not (is_hinted or self.is_refused or self.is_silent):
            self.is_silent = True
            self.note(f"{n_of(n_unseen, 'change')} came without a hint; can the server reach {self.address}?")


_MAY_NOT_CALL = (
    " (the server may not call this address: start the workspace's own with `labelstudio start --hooks`; "
    "another one's administrator sets USE_DEFAULT_BANNED_SUBNETS and USER_ADDITIONAL_BANNED_SUBNETS)"
)


@contextmanager
def _hooks(
    connection: Connection, campaign: Campaign, listener: HintListener, address: str
) -> Iterator[_Hooks]:
    hooks = _Hooks(connection, campaign, listener, address)
    hooks.remove()
    try:
        yield hooks
    finally:
        hooks.remove()
