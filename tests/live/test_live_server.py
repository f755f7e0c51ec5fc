"""The local server with the real Label Studio: where it listens, and what it writes."""

import stat
from pathlib import Path
from urllib.parse import urlsplit

from live_server import LiveServer


def test_it_runs_on_the_loopback_only(live_server: LiveServer) -> None:
    port = urlsplit(live_server.connection.url).port
    assert port is not None
    addresses = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    assert f"0100007F:{port:04X}" in addresses  # 127.0.0.1, as the kernel writes it
    assert f"00000000:{port:04X}" not in addresses


def test_only_its_owner_reads_what_the_server_writes_and_no_log_has_a_token(live_server: LiveServer) -> None:
    live_server.annotator("L01")
    folder = live_server.folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in set(folder.rglob("*")) - {folder / ".gitignore"}:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert live_server.connection.token not in (folder / "server.log").read_text()
    header = (folder / "data" / "label_studio.sqlite3").read_bytes()[:20]
    assert header[18:20] == b"\x02\x02"  # read and write version 2: sqlite.org/fileformat.html, section 1.3.3
