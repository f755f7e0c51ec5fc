"""The files for a server that others reach: their syntax, and that they say what `labelstudio start` says.

What they do is tried with a real Label Studio and a real browser in tests/live/test_live_proxy.py.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.local_server import server_environment
from fire_toolkit.media.places import PORT

DEPLOY = Path(__file__).resolve().parents[1] / "docs" / "deploy"


@pytest.fixture
def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text()))


def test_compose_starts_label_studio_with_the_settings_of_our_own_server(compose: dict[str, Any]) -> None:
    ours = server_environment(Path("/data"), Connection("http://127.0.0.1:8080", "t", "https://name"))
    theirs = compose["services"]["label-studio"]["environment"]
    database = {name for name in theirs if "_POSTGRE_" in name or name.endswith("_DJANGO_DB")}
    assert set(theirs) - database <= set(ours)
    equal = ("ENABLE_LEGACY_API_TOKEN", "DISABLE_SIGNUP_WITHOUT_LINK", "SESSION_COOKIE_SECURE")
    names = [f"LABEL_STUDIO_{name}" for name in (*equal, "LOCAL_FILES_SERVING_ENABLED")]
    assert {name: theirs[name] for name in names} == {name: ours[name] for name in names}


def test_compose_names_only_services_volumes_and_files_that_are_there(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        assert re.fullmatch(r"[a-z/-]+:[\d.]+", service["image"])
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert source in compose["volumes"] or source == "./media" or (DEPLOY / source).is_file()


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
