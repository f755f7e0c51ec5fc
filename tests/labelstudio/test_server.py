"""The manager of the local server: what it starts, finds, refuses and ends; with a stand-in program."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from fire_toolkit.errors import FireError, FormatError, ServerError, UsageError
from fire_toolkit.labelstudio.connection import read_connection
from fire_toolkit.labelstudio.local_state import (
    LocalState,
    read_log,
    read_state,
    write_private,
    write_state,
)
from fire_toolkit.labelstudio.process import (
    any_free_port,
    command_of,
    is_free_port,
    launch,
    listens_on,
    memory_bytes,
)
from fire_toolkit.labelstudio.server import (
    ServerStatus,
    our_pid,
    server_status,
    start_server,
    stop_server,
)
from fire_toolkit.labelstudio.server_environment import database_settings, server_environment
from fire_toolkit.workspace.locks import hold_lock, is_locked, open_lock

_SPEC = importlib.util.spec_from_file_location("fake_server", Path(__file__).with_name("fake_server.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
fake_server = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(fake_server)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "work" / ".labelstudio"
    yield place
    with suppress(FireError):
        stop_server(place)


def start(folder: Path, behaviour: str = "good", **settings: object) -> ServerStatus:
    program = fake_server.write_program(folder.parent.parent, behaviour)
    settings.setdefault("port", any_free_port())
    settings.setdefault("limit_s", 20.0)
    return start_server(folder, program, **settings)  # type: ignore[arg-type]


def said(folder: Path, what: str) -> dict[str, str] | list[str]:
    line = next(line for line in (folder / "server.log").read_text().splitlines() if line.startswith(what))
    found: dict[str, str] | list[str] = json.loads(line.removeprefix(what))
    return found


# --- starting and finding again


def test_a_started_server_runs_with_a_connection_that_works(folder: Path) -> None:
    status = start(folder)
    assert (status.state, status.version, status.found) == ("running", "1.23.2", False)
    assert status.pid == our_pid(folder)
    assert status.memory_bytes is not None
    assert status.memory_bytes > 1_000_000
    connection = read_connection(folder.parent, environ={})
    assert connection.url == status.url
    assert server_status(folder).state == "running"


def test_a_second_start_finds_the_first(folder: Path) -> None:
    first = start(folder)
    second = start(folder, port=None)
    assert second.found
    assert (second.pid, second.url) == (first.pid, first.url)


def test_two_starts_at_once_make_one_server(folder: Path) -> None:
    found: list[ServerStatus] = []
    # Written once: a program that another thread still writes cannot be run ("text file busy").
    program = fake_server.write_program(folder.parent.parent, "slow")
    threads = [
        threading.Thread(target=lambda: found.append(start_server(folder, program, limit_s=20)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({status.pid for status in found}) == 1
    # One started it. Where a stranger took its port, whose start it was in the end cannot be told.
    assert len(found) == 3
    assert not all(status.found for status in found)


def test_the_server_outlives_the_command_that_started_it(folder: Path) -> None:
    program = fake_server.write_program(folder.parent.parent)
    code = (
        "from pathlib import Path; from fire_toolkit.labelstudio.server import start_server; "
        f"print(start_server(Path({str(folder)!r}), Path({str(program)!r}), port={any_free_port()}).pid)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    status = server_status(folder)
    assert (status.state, str(status.pid)) == ("running", done.stdout.strip())


def test_the_secrets_and_the_port_stay_the_same(folder: Path) -> None:
    first = start(folder)
    before = read_state(folder)
    assert stop_server(folder)
    second = start(folder, port=None)
    assert (second.url, read_state(folder)) == (first.url, before)


def test_a_killed_server_is_started_again(folder: Path) -> None:
    first = start(folder)
    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: server_status(folder).state == "stopped")
    second = start(folder, port=None)
    assert second.state == "running"
    assert second.pid != first.pid


def wait_until(condition: object) -> None:
    assert callable(condition)
    while not condition():
        time.sleep(0.02)


# --- what is on disk


def test_only_the_owner_can_read_what_the_server_leaves(folder: Path) -> None:
    start(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.rglob("*"):
        if path.name != ".gitignore":
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert (folder / ".gitignore").read_text() == "*\n"


def test_an_open_folder_is_closed(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    start(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_log_is_shown_without_secrets(folder: Path) -> None:
    start(folder)
    with (folder / "server.log").open("a") as stream:
        stream.write('"GET /user/signup/?token=INVITE HTTP/1.1" 200\n')
    shown = "\n".join(read_log(folder, lines=100))
    state = read_state(folder)
    assert state is not None
    assert state.token in (folder / "server.log").read_text()
    assert state.token not in shown
    assert state.password not in shown
    assert "INVITE" not in shown
    assert read_log(folder, lines=1) == ['"GET /user/signup/?token=*** HTTP/1.1" 200']


def test_secrets_are_on_no_command_line_and_in_no_text(folder: Path) -> None:
    start(folder)
    state = read_state(folder)
    assert state is not None
    command = " ".join(said(folder, "arguments"))
    assert command_of(our_pid(folder) or 0).endswith(command.split(" ", 1)[1])
    for text in (command, repr(state), repr(server_status(folder))):
        assert state.token not in text
        assert state.password not in text


def test_damaged_connection_data_say_what_to_keep(folder: Path) -> None:
    start(folder)
    stop_server(folder)
    (folder / "connection.json").write_text('{"url": "http://x", "token": "t"}')
    with pytest.raises(FormatError, match="move it away"):
        start(folder)


def test_a_new_server_begins_with_the_empty_database_of_its_program(folder: Path) -> None:
    programs = folder.parent.parent / "environment" / "bin"
    programs.mkdir(parents=True)
    program = fake_server.write_program(programs)
    (programs.parent / "empty-label_studio.sqlite3").write_text("tables")
    start_server(folder, program, port=any_free_port(), limit_s=20)
    database = folder / "data" / "label_studio.sqlite3"
    assert (database.read_text(), stat.S_IMODE(database.stat().st_mode)) == ("tables", 0o600)

    stop_server(folder)
    database.write_text("tables and answers")
    start_server(folder, program, limit_s=20)
    assert database.read_text() == "tables and answers"


# --- the server's environment


def test_the_server_listens_on_the_loopback_and_calls_nobody(folder: Path) -> None:
    start(folder)
    command, environ = said(folder, "arguments"), said(folder, "environment")
    assert isinstance(environ, dict)
    assert list(command)[1:4] == ["start", "--no-browser", "--internal-host"]
    assert list(command)[4] == "127.0.0.1"
    assert environ["LABEL_STUDIO_LATEST_VERSION_CHECK"] == "false"
    assert environ["LABEL_STUDIO_COLLECT_ANALYTICS"] == "false"
    assert (environ["SENTRY_DSN"], environ["FRONTEND_SENTRY_DSN"]) == ("", "")
    assert environ["LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK"] == "true"
    assert environ["LABEL_STUDIO_EDITOR_KEYMAP"] == '{"annotation:submit": {"key": "space,ctrl+enter"}}'


def test_nothing_of_our_environment_steers_the_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LABEL_STUDIO_HOST", "HEARTEX_DEBUG", "DEBUG", "DJANGO_DB", "PORT", "PYTHONPATH"):
        monkeypatch.setenv(name, "1")
    start(folder)
    environ = said(folder, "environment")
    assert not {"LABEL_STUDIO_HOST", "HEARTEX_DEBUG", "DEBUG", "DJANGO_DB", "PORT", "PYTHONPATH"} & set(
        environ
    )


def test_a_postgres_url_becomes_settings_and_is_kept(folder: Path) -> None:
    url = "postgresql://ls:p%40ss@db.example.org:6543/labels"
    status = start(folder, postgres=url)
    environ = said(folder, "environment")
    assert isinstance(environ, dict)
    # The names are those of Label Studio 1.23.2's settings (core/settings/base.py).
    wanted = {"HOST": "db.example.org", "PORT": "6543", "USER": "ls", "PASSWORD": "p@ss", "NAME": "labels"}
    assert {name: environ[f"LABEL_STUDIO_POSTGRE_{name}"] for name in wanted} == wanted
    assert environ["LABEL_STUDIO_DJANGO_DB"] == "default"
    assert status.database == "PostgreSQL labels on db.example.org"
    stop_server(folder)
    assert start(folder, port=None).database == status.database


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:secret@h/n",
        "postgresql://h/n",
        "postgresql://u:secret@h",
        "secret",
        "postgresql://u:secret@h:x/n",
    ],
)
def test_a_database_url_that_is_none_is_refused_unseen(url: str) -> None:
    with pytest.raises(UsageError, match="postgresql://user:password@host:port/name") as caught:
        database_settings(url)
    assert "secret" not in str(caught.value)


def test_the_servers_own_folder_is_never_served(folder: Path) -> None:
    for media in (folder.parent, folder, folder.parent.parent):
        with pytest.raises(UsageError, match="must not be served"):
            start(folder, media=media)


# --- ports


def test_a_given_port_that_is_taken_is_refused(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} of 127.0.0.1 is in use by another program"):
            start(folder, port=port)


def test_a_taken_last_port_is_left_for_another(folder: Path) -> None:
    first = start(folder)
    stop_server(folder)
    port = int(first.url.rsplit(":", 1)[1])
    with socket.create_server(("127.0.0.1", port)):
        second = start(folder, port=None)
        assert second.url != first.url
        assert second.state == "running"


def _blind_once(monkeypatch: pytest.MonkeyPatch, taken: int) -> None:
    """Let the manager take a taken port for free, as if it had been taken right after the look."""
    from fire_toolkit.labelstudio import server

    looks: list[int] = []

    def look(port: int) -> bool:
        looks.append(port)
        return looks == [taken] or is_free_port(port)

    monkeypatch.setattr(server, "is_free_port", look)
    monkeypatch.setattr(server, "FIRST_PORTS", (taken,))


def test_a_stranger_on_the_given_port_is_never_taken_for_ours(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Label Studio moves on to the next port when its own was taken meanwhile, and tells nobody."""
    other = folder.parent.parent / "other" / ".labelstudio"
    stranger = start(other)
    try:
        port = int(stranger.url.rsplit(":", 1)[1])
        _blind_once(monkeypatch, port)
        with pytest.raises(ServerError, match=f"another program took port {port} while"):
            start(folder, port=port)
        assert server_status(folder).state == "stopped"
        assert server_status(other).state == "running"
    finally:
        stop_server(other)


def test_a_chosen_port_that_is_taken_meanwhile_is_left_for_another(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        _blind_once(monkeypatch, port)
        status = start(folder, port=None)
        assert status.state == "running"
        assert not status.url.endswith(f":{port}")


def test_a_running_server_is_not_given_another_port(folder: Path) -> None:
    start(folder)
    for settings in (
        {"port": any_free_port()},
        {"postgres": "postgresql://u:p@h/n"},
        {"media": folder.parent},
    ):
        with pytest.raises(UsageError, match="is already running"):
            start(folder, **{"port": None, **settings})


# --- failures while starting


def test_a_server_that_ends_at_once_shows_its_last_words(folder: Path) -> None:
    with pytest.raises(ServerError, match=r"ended while starting: .*disk I/O error; see .*server\.log"):
        start(folder, "fails")


def test_a_server_that_is_slow_is_waited_for_by_the_next_start(folder: Path) -> None:
    with pytest.raises(ServerError, match="not up yet"):
        start(folder, "slow", limit_s=0.3)
    status = start(folder, "slow", port=None)
    assert (status.state, status.found) == ("running", True)


def test_a_server_that_never_comes_up_can_be_stopped(folder: Path) -> None:
    with pytest.raises(ServerError, match="not up yet"):
        start(folder, "never up", limit_s=0.5)
    assert server_status(folder).state == "starting"
    assert stop_server(folder)
    assert server_status(folder).state == "stopped"


def test_a_refused_token_says_where_to_allow_it(folder: Path) -> None:
    with pytest.raises(
        ServerError, match="does not accept this folder's token; log in there as admin@localhost"
    ):
        start(folder, "refuses")


# --- stopping


def test_stop_ends_just_that_server(folder: Path) -> None:
    other = folder.parent.parent / "other" / ".labelstudio"
    start(folder)
    start(other)
    try:
        assert stop_server(folder)
        assert (server_status(folder).state, server_status(other).state) == ("stopped", "running")
    finally:
        stop_server(other)


def test_stop_without_a_server_does_nothing(folder: Path) -> None:
    assert not stop_server(folder)
    start(folder)
    assert stop_server(folder)
    assert not stop_server(folder)


def test_a_reused_pid_is_left_alone(folder: Path) -> None:
    start(folder)
    stop_server(folder)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        (folder / "server.pid").write_text(str(stranger.pid))
        assert server_status(folder).state == "stopped"
        assert not stop_server(folder)
        assert stranger.poll() is None
        stranger.kill()


def test_a_pid_that_does_not_hold_the_lock_is_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fire_toolkit.labelstudio import server

    monkeypatch.setattr(server, "PATIENCE_S", 0.3)
    start(folder)
    stop_server(folder)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        (folder / "server.pid").write_text(str(stranger.pid))
        with hold_lock(folder / "server.lock", wait_s=1, what="a test"):
            assert our_pid(folder) is None
            assert server_status(folder).state == "starting"
            with pytest.raises(FireError, match="held by an unknown process"):
                stop_server(folder)
        assert stranger.poll() is None
        stranger.kill()


def test_a_server_that_ignores_the_request_is_forced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fire_toolkit.labelstudio import process, server

    start(folder, "stubborn")
    monkeypatch.setattr(server, "end", lambda pid, lock: process.end(pid, lock, patience_s=1.0))
    assert stop_server(folder)
    assert server_status(folder).state == "stopped"


# --- processes


def test_the_lock_lives_as_long_as_the_process(tmp_path: Path) -> None:
    lock = open_lock(tmp_path / "lock")
    assert lock is not None
    launch(
        ["/bin/sh", "-c", "read word < fifo"],
        lock=lock,
        pid_file=tmp_path / "pid",
        log=tmp_path / "log",
        folder=_with_fifo(tmp_path),
        environ=os.environ,
    )
    os.close(lock)
    assert is_locked(tmp_path / "lock")
    (tmp_path / "fifo").write_text("go\n")
    wait_until(lambda: not is_locked(tmp_path / "lock"))


def _with_fifo(folder: Path) -> Path:
    os.mkfifo(folder / "fifo")
    return folder


def test_a_held_lock_is_waited_for_in_vain(tmp_path: Path) -> None:
    second = hold_lock(tmp_path / "lock", wait_s=0.2, what="b")
    first = hold_lock(tmp_path / "lock", wait_s=1, what="a")
    with first, pytest.raises(FireError, match="b is still running"):
        second.__enter__()


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="this system does not tell who listens")
def test_who_listens_on_a_port_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as own:
        port = own.getsockname()[1]
        assert listens_on(os.getpid(), port) is True
        assert listens_on(os.getppid(), port) is not True
    assert listens_on(os.getpid(), port) is False


def test_memory_and_command_of_no_process() -> None:
    gone = 2**22 + 1
    assert (command_of(gone), memory_bytes(gone)) == ("", None)
    assert "python" in command_of(os.getpid())


def test_only_a_server_with_hooks_may_call_this_machine_and_no_network_beside_it(tmp_path: Path) -> None:
    without = LocalState.new()
    assert not any("BANNED" in name for name in server_environment(tmp_path, without))
    settings = server_environment(tmp_path, replace(without, hooks=True))
    assert settings["LABEL_STUDIO_USE_DEFAULT_BANNED_SUBNETS"] == "false"
    banned = [ip_network(net) for net in settings["LABEL_STUDIO_USER_ADDITIONAL_BANNED_SUBNETS"].split(",")]
    for address, is_banned in (
        ("127.0.0.1", False),
        ("::1", True),
        ("169.254.169.254", True),
        ("10.1.2.3", True),
    ):
        assert any(ip_address(address) in net for net in banned) is is_banned


def test_connection_data_of_before_hooks_are_read(tmp_path: Path) -> None:
    write_state(tmp_path, LocalState.new())
    path = tmp_path / "connection.json"
    content = json.loads(path.read_text())
    assert content.pop("hooks") is False
    write_private(path, json.dumps(content))
    state = read_state(tmp_path)
    assert state is not None
    assert state.hooks is False
