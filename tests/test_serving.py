"""What serves until it is told to stop, and the files for a server that others reach."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pyarrow import csv

from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.local_server import server_environment
from fire_toolkit.media.places import PORT
from fire_toolkit.media.serving import stoppable


def test_a_stop_ends_the_block_quietly_and_is_known_even_where_its_exception_is_lost() -> None:
    """As in an object's __del__, where Python reports an exception and goes on."""
    before = signal.getsignal(signal.SIGTERM)
    for is_lost in (True, False):
        with stoppable() as stopped:
            assert not stopped.is_set()
            with contextlib.suppress(KeyboardInterrupt if is_lost else ()):
                os.kill(os.getpid(), signal.SIGTERM)
                stopped.wait()
            assert is_lost, "the block went on"
        assert stopped.is_set()
        assert signal.getsignal(signal.SIGTERM) == before


def test_no_signal_is_lost_while_files_are_read() -> None:
    """Arrow's own handlers lose about one in 80: of these 500 some in all but two of a thousand times."""
    n_sent, n_caught, n_read, raw = 500, 0, 0, pa.py_buffer(b"a,b\n" + b"1,2\n" * 2000)

    def count(number: int, frame: object) -> None:
        nonlocal n_caught
        n_caught += 1

    def send() -> None:
        for n in range(n_sent):
            os.kill(os.getpid(), signal.SIGTERM)
            enough = n_read + 100  # a signal that is not lost is caught after the file that is being read
            while n_caught <= n and n_read < enough:
                time.sleep(0.0005)
            if n_caught <= n:
                return

    with stoppable():
        before = signal.signal(signal.SIGTERM, count)
        thread = threading.Thread(target=send)
        thread.start()
        while thread.is_alive():
            csv.read_csv(pa.BufferReader(raw), csv.ReadOptions(use_threads=False))
            n_read += 1
        signal.signal(signal.SIGTERM, before)
    assert n_caught == n_sent


DEPLOY = Path(__file__).resolve().parents[1] / "docs" / "deploy"


@pytest.fixture
def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text()))


def test_compose_names_what_is_there_and_has_the_settings_of_our_own_server(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        assert re.fullmatch(r"[a-z/-]+:[\d.]+", service["image"])
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert source in compose["volumes"] or source == "./media" or (DEPLOY / source).is_file()
    ours = server_environment(Path("/data"), Connection("http://127.0.0.1:8080", "t", "https://name"))
    theirs = compose["services"]["label-studio"]["environment"]
    database = {name for name in theirs if "_POSTGRE_" in name or name.endswith("_DJANGO_DB")}
    assert set(theirs) - database <= set(ours)
    equal = ("ENABLE_LEGACY_API_TOKEN", "DISABLE_SIGNUP_WITHOUT_LINK", "SESSION_COOKIE_SECURE")
    for name in (*equal, "LOCAL_FILES_SERVING_ENABLED"):
        assert theirs[f"LABEL_STUDIO_{name}"] == ours[f"LABEL_STUDIO_{name}"]


def test_proxies_lead_to_the_ports_that_are_the_defaults() -> None:
    for name in ("Caddyfile", "nginx.conf"):
        assert set(re.findall(r"127\.0\.0\.1:(\d+)", (DEPLOY / name).read_text())) == {"8080", str(PORT)}


def test_the_caddyfile_is_valid(tmp_path: Path) -> None:
    program = shutil.which("caddy")
    if program is None:
        pytest.skip("no caddy: apt-get install caddy")
    command = [program, "adapt", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]
    environ = {"FIRE_HOST": "labels.example.org", "HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environ)
    assert (done.returncode, "labels.example.org" in done.stdout) == (0, True), done.stderr
