"""The local server with the real Label Studio: found again, restarted, never mistaken."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from live_server import LiveServer

from fire_toolkit.errors import UsageError
from fire_toolkit.labelstudio.install import VERSION
from fire_toolkit.labelstudio.local_state import read_log
from fire_toolkit.labelstudio.process import listens_on
from fire_toolkit.labelstudio.server import server_status, start_server, stop_server

CONFIG = '<View><Text name="t" value="$t"/><Choices name="c" toName="t"><Choice value="a"/></Choices></View>'


def toolkit(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a session of its own, as from another terminal that closes afterwards."""
    return subprocess.run(
        [sys.executable, "-m", "fire_toolkit", *arguments, "--folder", str(root), "--format", "json"],
        capture_output=True,
        text=True,
        timeout=120,
        start_new_session=True,
        check=True,
    )


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_pinned_version_runs_on_the_loopback_only(live_server: LiveServer) -> None:
    status = server_status(live_server.folder)
    assert (status.state, status.version) == ("running", VERSION)
    assert status.pid is not None
    assert status.memory_bytes is not None
    assert 100e6 < status.memory_bytes < 2e9
    port = httpx.URL(status.url).port
    assert port is not None
    assert listens_on(status.pid, port)
    addresses = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    assert f"0100007F:{port:04X}" in addresses  # 127.0.0.1, as the kernel writes it
    assert f"00000000:{port:04X}" not in addresses


def test_what_the_server_writes_only_its_owner_can_read(live_server: LiveServer) -> None:
    assert stat.S_IMODE(live_server.folder.stat().st_mode) == 0o700
    for path in live_server.folder.rglob("*"):
        if path.name != ".gitignore":
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_the_database_keeps_a_write_ahead_log(live_server: LiveServer) -> None:
    header = (live_server.folder / "data" / "label_studio.sqlite3").read_bytes()[:20]
    assert header[18:20] == b"\x02\x02"  # read and write version 2: sqlite.org/fileformat.html, section 1.3.3


def test_another_terminal_finds_the_server(live_server: LiveServer) -> None:
    before = server_status(live_server.folder)
    found = json.loads(toolkit(live_server.root, "labelstudio", "start").stdout)
    assert (found["found"], found["pid"], found["url"]) == (True, before.pid, before.url)
    shown = json.loads(toolkit(live_server.root, "labelstudio", "status").stdout)
    assert (shown["state"], shown["pid"]) == ("running", before.pid)


def test_another_workspace_is_refused_the_port(live_server: LiveServer, tmp_path: Path) -> None:
    port = httpx.URL(server_status(live_server.folder).url).port
    with pytest.raises(UsageError, match="is in use by another program"):
        start_server(tmp_path / ".labelstudio", live_server.program, port=port)
    assert not stop_server(tmp_path / ".labelstudio")
    assert server_status(live_server.folder).state == "running"


def test_the_log_names_no_token(live_server: LiveServer) -> None:
    live_server.annotator("L01")
    shown = "\n".join(read_log(live_server.folder, lines=10_000))
    assert "/user/signup/?token=***" in shown
    assert live_server.connection.token not in (live_server.folder / "server.log").read_text()


def test_a_killed_server_comes_back_with_address_token_and_data(live_server: LiveServer) -> None:
    number = live_server.project("kept", CONFIG, [{"t": "x", "pair_id": "q|d"}])
    before, token = server_status(live_server.folder), live_server.connection.token
    assert before.pid is not None
    os.kill(before.pid, signal.SIGKILL)
    wait_until(lambda: server_status(live_server.folder).state == "stopped")
    after = start_server(live_server.folder, live_server.program)
    assert (after.state, after.url, live_server.connection.token) == ("running", before.url, token)
    assert after.pid != before.pid
    with live_server.as_admin() as http:
        assert http.get(f"/api/projects/{number}/").json()["task_number"] == 1


def test_stop_and_a_stale_pid(live_server: LiveServer) -> None:
    assert json.loads(toolkit(live_server.root, "labelstudio", "stop").stdout) == {"stopped": True}
    assert json.loads(toolkit(live_server.root, "labelstudio", "stop").stdout) == {"stopped": False}
    (live_server.folder / "server.pid").write_text(str(os.getpid()))
    assert server_status(live_server.folder).state == "stopped"
    again = json.loads(toolkit(live_server.root, "labelstudio", "start").stdout)
    assert (again["state"], again["found"]) == ("running", False)
    assert again["pid"] != os.getpid()
