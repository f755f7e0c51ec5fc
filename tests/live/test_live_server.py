"""The local server with the real Label Studio: found again, restarted, never mistaken."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from live_server import LiveServer

from fire_toolkit.cli.labelstudio import LOCK, server_process
from fire_toolkit.workspace.locks import is_locked

CONFIG = '<View><Text name="t" value="$t"/><Choices name="c" toName="t"><Choice value="a"/></Choices></View>'


def toolkit(server: LiveServer, *arguments: str) -> str:
    """Run the command in a session of its own, as from another terminal that closes afterwards."""
    (server.root / "fire.toml").touch()
    command = [sys.executable, "-m", "fire_toolkit", "labelstudio", *arguments]
    path = f"{server.program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        env={**os.environ, "PATH": path},
        cwd=server.root,
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    return done.stdout + done.stderr


def pid_of(server: LiveServer) -> int:
    process = server_process(server.folder)
    assert process is not None
    return process.pid


def test_it_runs_on_the_loopback_only(live_server: LiveServer) -> None:
    port = urlsplit(live_server.connection.url).port
    assert port is not None
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


def test_the_log_names_no_token(live_server: LiveServer) -> None:
    live_server.annotator("L01")
    assert live_server.connection.token not in (live_server.folder / "server.log").read_text()


def test_a_killed_server_comes_back_with_address_token_and_data(live_server: LiveServer) -> None:
    number = live_server.project("kept", CONFIG, [{"t": "x", "pair_id": "q|d"}])
    before, process = live_server.connection, server_process(live_server.folder)
    assert process is not None
    process.kill()
    while is_locked(live_server.folder / LOCK):
        time.sleep(0.1)
    assert live_server.start() == before
    assert pid_of(live_server) != process.pid
    with live_server.as_admin() as http:
        assert http.get(f"/api/projects/{number}/").json()["task_number"] == 1


def test_stop_and_start_again(live_server: LiveServer) -> None:
    assert "the server is stopped" in toolkit(live_server, "stop")
    assert "no server runs here" in toolkit(live_server, "stop")
    toolkit(live_server, "start")
    assert is_locked(live_server.folder / LOCK)
