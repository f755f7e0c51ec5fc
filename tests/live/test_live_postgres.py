"""A campaign of several projects a queue with PostgreSQL behind Label Studio, where it is installed."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_server import LiveServer
from test_live_campaign import Site, _tasks, answer

from fire_toolkit.campaign.ledger import read_ledger
from fire_toolkit.labelstudio.server import server_status, start_server, stop_server

PASSWORD = "p@ss word/1"
IN_URL = "p%40ss%20word%2F1"


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, or None if it is not installed."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in reversed(folders) if (folder / "initdb").is_file()), None)


def as_its_user(*command: str | Path) -> None:
    """Run a program of PostgreSQL, which refuses to run as root."""
    user = "postgres" if os.geteuid() == 0 else None
    words = [str(word) for word in command]
    subprocess.run(words, check=True, capture_output=True, cwd="/", user=user, group=user)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The URL of an empty database of a PostgreSQL of our own, on the loopback."""
    place = programs()
    if place is None:
        pytest.skip("no PostgreSQL: apt-get install postgresql")
    root = Path(tempfile.mkdtemp(prefix="fire-postgres-"))
    if os.geteuid() == 0:
        shutil.chown(root, "postgres")
    (root / "password").write_text(PASSWORD)
    (root / "password").chmod(0o644)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    cluster = root / "data"
    as_its_user(
        place / "initdb", "-D", cluster, "-U", "ls", "-A", "scram-sha-256", f"--pwfile={root / 'password'}"
    )
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={root}"
    options += " -c fsync=off -c synchronous_commit=off -c full_page_writes=off"  # its migrations write much
    as_its_user(place / "pg_ctl", "-D", cluster, "-w", "-l", root / "log", "-o", options, "start")
    try:
        environment = {**os.environ, "PGPASSWORD": PASSWORD}
        create = [str(place / "createdb"), "-h", "127.0.0.1", "-p", str(port), "-U", "ls", "label studio"]
        subprocess.run(create, check=True, env=environment)
        yield f"postgresql://ls:{IN_URL}@127.0.0.1:{port}/label%20studio"
    finally:
        as_its_user(place / "pg_ctl", "-D", cluster, "-m", "fast", "stop")
        shutil.rmtree(root, ignore_errors=True)


def test_a_campaign_on_postgresql(
    database: str, live_program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = LiveServer(tmp_path, live_program)
    monkeypatch.chdir(tmp_path)
    site = Site(server, tmp_path, "http://media.test/clip.webm")
    site.run("init", ".")
    try:
        start_server(server.folder, live_program, postgres=database)
        status = server_status(server.folder)
        assert (status.state, status.database.split()[0]) == ("running", "PostgreSQL")
        assert PASSWORD not in str(status)
        assert not list(server.folder.rglob("*.sqlite3"))
        http = server.as_annotator("ANN")
        site.make_tasks(20, overlap=0.0)
        several = ("--tasks-per-project", "12")
        assert site.counts("push", "--check-media", "0", "--annotator", "ANN", *several)["added"] == 20
        assert site.counts("push", "--check-media", "0")["added"] == 0
        parts = site.projects()
        assert {name: len(_tasks(http, number)) for name, number in parts.items()} == {
            "1/ANN": 12,
            "1/ANN/2": 8,
        }
        project = parts["1/ANN"]
        tasks = sorted(task["id"] for task in _tasks(http, project))
        made = [answer(http, task, project, "relevant") for task in tasks[:5]]
        assert site.counts("pull")["new"] == 5

        assert stop_server(server.folder)
        start_server(server.folder, live_program)  # the database is remembered
        http.patch(f"/api/annotations/{made[0]['id']}/", json={"lead_time": 9.0}).raise_for_status()
        http.delete(f"/api/annotations/{made[1]['id']}/").raise_for_status()
        answer(http, tasks[5], project, None)
        answer(http, _tasks(http, parts["1/ANN/2"])[0]["id"], parts["1/ANN/2"], "relevant")
        counts = site.counts("pull")
        assert [counts[key] for key in ("new", "edited", "deleted")] == [2, 1, 1]
        with server.as_admin() as admin:
            admin.delete(f"/api/tasks/{tasks[2]}/").raise_for_status()
        assert site.counts("pull", "--full")["deleted"] == 1
        assert json.loads(site.run("doctor", "--format", "json").stdout)
        assert len(read_ledger(tmp_path / "ledger")) == 10
    finally:
        server.opened.close()
        stop_server(server.folder)
