"""The local Label Studio of a workspace: start, find again, look at, end.

All it needs lies in one folder that only its owner can enter: database, log, lock, pid, and
`connection.json` with address, token and the administrator's password. It listens on the loopback
only and calls nobody.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from fire_toolkit.errors import FireError, ServerError, UsageError
from fire_toolkit.labelstudio.connection import CONNECTION_FILE, Connection
from fire_toolkit.labelstudio.install import DATABASE, template_of
from fire_toolkit.labelstudio.local_api import LocalApi
from fire_toolkit.labelstudio.local_state import (
    ADMIN,
    DATA,
    LOCK,
    LOG,
    PID,
    LocalState,
    prepare_folder,
    read_log,
    read_state,
    rotate_log,
    write_state,
)
from fire_toolkit.labelstudio.process import (
    any_free_port,
    check_system,
    command_of,
    end,
    is_answered,
    is_free_port,
    launch,
    listens_on,
    memory_bytes,
    read_pid,
)
from fire_toolkit.labelstudio.server_environment import (
    checked_public_url,
    database_settings,
    server_environment,
)
from fire_toolkit.workspace.locks import POLL_S, is_locked, open_lock

HOST = "127.0.0.1"
FIRST_PORTS = range(8080, 8100)
START_LIMIT_S = 600.0
PATIENCE_S = 5.0
_TRIES = 3

Report = Callable[[str], None]


@dataclass(frozen=True)
class ServerStatus:
    """How a folder's server stands, and what is known of it.

    state: `running`; `starting`: it lives and does not answer (yet); `stopped`; `refused`: who answers
    does not accept the folder's token.
    """

    state: str
    url: str = ""
    public_url: str = ""
    version: str = ""
    pid: int | None = None
    memory_bytes: int | None = None
    database: str = ""
    database_bytes: int | None = None
    found: bool = False


def start_server(
    folder: Path,
    program: Path,
    *,
    port: int | None = None,
    media: Path | None = None,
    postgres: str | None = None,
    hooks: bool | None = None,
    public_url: str | None = None,
    limit_s: float = START_LIMIT_S,
    report: Report = lambda words: None,
) -> ServerStatus:
    """Return the folder's server once it is up: the running one, else a new one.

    Args:
        folder: holds all that the server needs; made if it is not there.
        program: the `label-studio` program.
        port: on 127.0.0.1; by default the last one, else the first free one from 8080 on.
        media: the folder below which the server may serve local files; by default `media` beside `folder`.
        postgres: `postgresql://user:password@host:port/name`; by default SQLite in the folder.
        hooks: whether it may call programs at 127.0.0.1 (webhooks); by default as the last time, first not.
        public_url: where a proxy makes it reachable to people elsewhere; by default as the last time, first
            nowhere, as with an empty one.
        limit_s: how long to wait until it is up: about 10 s, with a new PostgreSQL database 2 minutes.
        report: is told what goes on, in words.

    Raises:
        UsageError: the port is taken, the server runs already with other settings, or this is Windows.
        ServerError: it ends while starting, or is not up in time (it is left to go on).
    """
    check_system()
    folder = folder.absolute()
    prepare_folder(folder)
    deadline = time.monotonic() + limit_s
    public_url = None if public_url is None else checked_public_url(public_url)
    wanted = _Wanted(port, media.absolute() if media else None, postgres, hooks, public_url)
    for _ in range(_TRIES):
        try:
            return _find_or_start(folder, program, wanted, deadline, report)
        except _PortTaken as error:
            if port is not None:
                raise
            last = error
    raise last


class _PortTaken(ServerError):
    """Somebody took the port between our look and the server's."""


@dataclass(frozen=True)
class _Wanted:
    """The settings that were asked for; None: as before."""

    port: int | None
    media: Path | None
    postgres: str | None
    hooks: bool | None
    public_url: str | None


def _find_or_start(
    folder: Path, program: Path, wanted: _Wanted, deadline: float, report: Report
) -> ServerStatus:
    while (lock := open_lock(folder / LOCK)) is None:
        _check_same(folder, wanted)
        existing = _await_existing(folder, deadline, report)
        if existing is not None:
            return existing
    try:
        state = _settled(folder, wanted)
        write_state(folder, state)
        rotate_log(folder)
        if not state.postgres:
            _prepare_database(folder, program)
        launch(
            _command(program, folder, state.port),
            lock=lock,
            pid_file=folder / PID,
            log=folder / LOG,
            folder=folder,
            environ=server_environment(folder / DATA, state),
        )
    finally:
        os.close(lock)
    return _await_up(folder, state, deadline, report)


def _check_same(folder: Path, wanted: _Wanted) -> None:
    """Refuse settings that a running server does not have."""
    state = read_state(folder)
    if state is None:
        return
    given = {
        "--port": (wanted.port, state.port),
        "--media": (str(wanted.media) if wanted.media else None, state.media),
        "--postgres": (wanted.postgres, state.postgres),
        "--hooks": (wanted.hooks, state.hooks),
        "--public-url": (wanted.public_url, state.public_url),
    }
    other = [name for name, (asked, there) in given.items() if asked is not None and asked != there]
    if other:
        raise UsageError(
            f"the server is already running at {state.url} with another {', '.join(other)}; stop it first "
            "(`fire-toolkit labelstudio stop`)"
        )


def _settled(folder: Path, wanted: _Wanted) -> LocalState:
    """Return the state of the server to start: what was before, changed where something is given."""
    earlier = read_state(folder)
    state = earlier or LocalState.new()
    chosen = _chosen_port(wanted.port, earlier.port if earlier else None)
    media = wanted.media or Path(state.media or folder.parent / "media").absolute()
    if folder.is_relative_to(media):
        raise UsageError(
            f"{media}: contains the server's own folder, which must not be served; choose another"
        )
    return state.with_settings(
        port=chosen,
        media=str(media),
        postgres=wanted.postgres,
        hooks=wanted.hooks,
        public_url=wanted.public_url,
    )


def _chosen_port(given: int | None, last: int | None) -> int:
    if given is not None:
        if not is_free_port(given):
            raise UsageError(
                f"port {given} of {HOST} is in use by another program; choose another, or omit --port"
            )
        return given
    wanted = [last] if last else []
    return next((port for port in (*wanted, *FIRST_PORTS) if is_free_port(port)), None) or any_free_port()


def _prepare_database(folder: Path, program: Path) -> None:
    """Begin with the empty database that was made with the program, which saves one to two minutes."""
    database, template = folder / DATA / DATABASE, template_of(program)
    if database.exists() or not template.is_file():
        return
    database.parent.mkdir(mode=0o700, exist_ok=True)
    part = database.with_name(f"{DATABASE}.part")
    shutil.copyfile(template, part)
    part.chmod(0o600)
    part.replace(database)


def _command(program: Path, folder: Path, port: int) -> list[str]:
    arguments = ["start", "--no-browser", "--internal-host", HOST, "--port", str(port)]
    return [str(program), *arguments, "--data-dir", str(folder / DATA), "--log-level", "WARNING"]


def _await_existing(folder: Path, deadline: float, report: Report) -> ServerStatus | None:
    """Return the server that holds the lock, once it is up; None if it has let go of the lock."""
    while is_locked(folder / LOCK):
        status = server_status(folder)
        if _is_up(folder, status):
            return replace(status, found=True)
        _check_deadline(folder, deadline)
        report("the server is already starting")
        time.sleep(POLL_S * 2)
    return None


def _await_up(folder: Path, state: LocalState, deadline: float, report: Report) -> ServerStatus:
    started = time.monotonic()
    while not _is_up(folder, status := server_status(folder)):
        if not is_locked(folder / LOCK):
            raise ServerError(f"Label Studio ended while starting: {_last_line(folder)}; see {folder / LOG}")
        _check_port_is_ours(folder, state)
        _check_deadline(folder, deadline)
        report(f"starting Label Studio: {time.monotonic() - started:.0f} s")
        time.sleep(POLL_S * 2)
    LocalApi(Connection(state.url, state.token)).allow_tokens()
    return status


def _is_up(folder: Path, status: ServerStatus) -> bool:
    if status.state == "refused":
        raise ServerError(
            f"{status.url} does not accept this folder's token; log in there as {ADMIN} (password in "
            f"{folder / CONNECTION_FILE}) and allow legacy tokens under Organization, API Tokens Settings"
        )
    return status.state == "running"


def _check_deadline(folder: Path, deadline: float) -> None:
    if time.monotonic() > deadline:
        raise ServerError(
            "the server is not up yet; run the same command again to wait for it, or see "
            f"{folder / LOG}; `fire-toolkit labelstudio stop` stops it"
        )


def _check_port_is_ours(folder: Path, state: LocalState) -> None:
    """Raise if somebody else took the port while ours was starting; ours is ended then."""
    pid = our_pid(folder)
    if pid is None or not is_answered(state.port):
        return
    if listens_on(pid, state.port) is False:
        end(pid, folder / LOCK)
        raise _PortTaken(
            f"another program took port {state.port} while Label Studio was starting; start it again"
        )


def our_pid(folder: Path) -> int | None:
    """Return the pid of the folder's server, or None; a stranger's pid is never returned."""
    pid = read_pid(folder / PID)
    if pid is None or not is_locked(folder / LOCK):
        return None
    return pid if str(folder / DATA) in command_of(pid) else None


def server_status(folder: Path) -> ServerStatus:
    """Return how the folder's server stands.

    `running` means: our process lives, it holds the port itself, and it accepts our token; whoever else
    may answer at that address is not shown the token (where the system tells who holds a port).

    Raises:
        FormatError: `connection.json` is damaged, or others can read it.
    """
    folder = folder.absolute()
    state = read_state(folder)
    if state is None or not is_locked(folder / LOCK):
        return ServerStatus("stopped", database=_database(folder, state))
    pid = our_pid(folder)
    status = ServerStatus(
        "starting", url=state.url, public_url=state.public_url, pid=pid, database=_database(folder, state)
    )
    api = LocalApi(Connection(state.url, state.token))
    if pid is None or listens_on(pid, state.port) is False or not api.is_up():
        return status
    accepted = api.accepts_us(state.email)
    if accepted is None:
        return status
    return replace(
        status,
        state="running" if accepted else "refused",
        version=api.version(),
        memory_bytes=memory_bytes(pid),
        database_bytes=_size(folder / DATA / DATABASE),
    )


def _database(folder: Path, state: LocalState | None) -> str:
    if state is not None and state.postgres:
        settings = database_settings(state.postgres)
        return f"PostgreSQL {settings['POSTGRE_NAME']} on {settings['POSTGRE_HOST']}"
    return f"SQLite {folder / DATA / DATABASE}"


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def stop_server(folder: Path) -> bool:
    """End the folder's server and nothing else; return whether there was one.

    Raises:
        FireError: it runs but its pid is not known, or it does not end.
    """
    folder = folder.absolute()
    if not is_locked(folder / LOCK):
        (folder / PID).unlink(missing_ok=True)
        return False
    pid = _patiently(lambda: our_pid(folder))
    if pid is None:
        if not is_locked(folder / LOCK):
            return False
        raise FireError(f"{folder / LOCK}: held by an unknown process; wait a moment and try again")
    end(pid, folder / LOCK)
    (folder / PID).unlink(missing_ok=True)
    return True


def _patiently(ask: Callable[[], int | None]) -> int | None:
    deadline = time.monotonic() + PATIENCE_S
    while (answer := ask()) is None and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return answer


def _last_line(folder: Path) -> str:
    lines = read_log(folder, lines=1)
    return lines[0] if lines else "its log is empty"
