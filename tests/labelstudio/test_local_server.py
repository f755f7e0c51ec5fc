"""The local server by a stand-in program: what is started, found, refused and ended; and its commands."""

import json
import os
import secrets
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result
from fake_server import write_program

from fire_toolkit.cli import main
from fire_toolkit.errors import FireError, FormatError, ServerError, UsageError
from fire_toolkit.labelstudio import local_server
from fire_toolkit.labelstudio.connection import Connection, read_connection
from fire_toolkit.labelstudio.local_server import server_environment, start_server, stop_server
from fire_toolkit.workspace.locks import hold_lock, is_locked


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "work" / ".fire/private"
    yield place
    with suppress(FireError):
        stop_server(place)


def any_free_port() -> int:
    """Return a port that is free, as are two behind it; all below those that the system gives to clients."""
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        with suppress(OSError):
            for each in range(port, port + 3):
                socket.create_server(("127.0.0.1", each)).close()
            return port


@pytest.fixture(autouse=True)
def first_port(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> int:
    """The first port that a server here looks at: one that no other test has."""
    monkeypatch.setattr(local_server, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(local_server, "FIRST_PORT", port := any_free_port())
    return port


def start(folder: Path, behaviour: str = "good", public_url: str = "") -> Connection:
    """Start a stand-in."""
    program = write_program(folder.parents[2], behaviour)
    return start_server(folder, program, public_url=public_url or None)


def pid_of(folder: Path) -> int:
    process = local_server.server_process(folder)
    assert process is not None
    return process.pid


# --- starting and finding again


@pytest.mark.parametrize("n", [1, 3])
def test_starts_at_once_make_a_server_for_each_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    monkeypatch.setattr(local_server, "is_free_port", lambda port: True)  # none of them listens yet
    # Written once: a program that another thread still writes cannot be run ("text file busy").
    program, places = write_program(tmp_path), [tmp_path / str(at % n) / ".fire/private" for at in range(3)]
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda place: start_server(place, program), places))
    assert sum(map(stop_server, places)) == len({server.url for server in found}) == n


def test_the_server_outlives_the_command_that_started_it(folder: Path, first_port: int) -> None:
    program = write_program(folder.parents[2])
    code = (
        "from pathlib import Path\nfrom fire_toolkit.labelstudio import local_server as own\n"
        f"own.FIRST_PORT = {first_port}\n"
        f"print(own.start_server(Path({str(folder)!r}), Path({str(program)!r})).url)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, start_new_session=True)
    assert start(folder).url == done.stdout.strip()


def test_a_killed_server_is_started_again_with_its_secrets_port_and_public_address(folder: Path) -> None:
    first, pid = start(folder, public_url="https://labels.example.org"), pid_of(folder)
    os.kill(pid, signal.SIGKILL)
    while is_locked(folder / local_server.LOCK):
        time.sleep(0.02)
    assert start(folder) == first
    assert pid_of(folder) != pid


def test_the_connection_to_another_server_is_not_overwritten(folder: Path) -> None:
    folder.mkdir(parents=True)
    path = folder / "connection.json"
    path.touch(0o600)
    path.write_text('{"url": "http://x", "token": "t"}')
    with pytest.raises(UsageError, match="move it away"):
        start(folder)
    path.write_text("{")
    with pytest.raises(FormatError, match="expected"):
        start(folder)


def test_a_server_is_local_silent_and_keeps_its_secrets(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = {"LABEL_STUDIO_HOST", "HEARTEX_DEBUG", "DEBUG", "DJANGO_DB", "PORT", "PYTHONPATH"}
    for name in ours:
        monkeypatch.setenv(name, "1")
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    server = start(folder)
    log = dict(line.split(" ", 1) for line in (folder / "server.log").read_text().splitlines()[:2])
    command, environ = json.loads(log["arguments"]), json.loads(log["environment"])
    assert command[1:5] == ["start", "--no-browser", "--internal-host", "127.0.0.1"]
    assert environ["LABEL_STUDIO_LATEST_VERSION_CHECK"] == "false"
    assert environ["LABEL_STUDIO_COLLECT_ANALYTICS"] == "false"
    assert (environ["SENTRY_DSN"], environ["FRONTEND_SENTRY_DSN"]) == ("", "")
    assert environ["LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK"] == "true"
    assert environ["LABEL_STUDIO_EDITOR_KEYMAP"] == '{"annotation:submit": {"key": "space,ctrl+enter"}}'
    assert not ours & set(environ)
    for secret in (server.token, server.password):
        assert secret not in log["arguments"] + repr(server)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (folder / ".gitignore").read_text() == "*\n"
    for path in set(folder.rglob("*")) - {folder / ".gitignore"}:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_behind_a_proxy_with_tls_forms_are_taken_and_cookies_kept_from_the_open(tmp_path: Path) -> None:
    def settings(public_url: str) -> dict[str, str]:
        return server_environment(tmp_path, Connection("http://127.0.0.1:1", "t", public_url))

    name = "LABEL_STUDIO_SESSION_COOKIE_SECURE"
    assert settings("https://a.example.org")["LABEL_STUDIO_CSRF_TRUSTED_ORIGINS"] == "https://a.example.org"
    assert [settings(url)[name] for url in ("https://a.example.org", "http://a", "")] == ["1", "0", "0"]


# --- ports


def test_a_free_port_is_found_and_kept(
    folder: Path, first_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", first_port)):
        first = start(folder)
        assert urlsplit(first.url).port > first_port  # type: ignore[operator]
    stop_server(folder)
    assert start(folder) == first
    stop_server(folder)
    monkeypatch.setattr(local_server, "FIRST_PORT", other := any_free_port())
    with socket.create_server(("127.0.0.1", urlsplit(first.url).port or 0)):
        assert start(folder).url == f"http://127.0.0.1:{other}"


def test_a_server_on_the_port_is_never_taken_for_ours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Label Studio moves on to the next port when its own was taken meanwhile, and tells nobody."""
    other = folder.parents[2] / "other" / ".fire/private"
    monkeypatch.setattr(local_server, "is_free_port", lambda port: True)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(local_server, "gettempdir", lambda: str(other.parents[1]))
        start(other)
    try:
        with pytest.raises(ServerError, match="the server does not accept the token"):
            start(folder)
    finally:
        stop_server(other)


# --- failures while starting


def test_a_slow_server_is_stopped_or_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for is_stopped in (True, False):
        with monkeypatch.context() as patched:
            patched.setattr(local_server, "START_LIMIT_S", 0.0)
            with pytest.raises(ServerError, match="not up yet"):
                start(folder, "slow")
        pid = pid_of(folder)
        if is_stopped:
            assert stop_server(folder)
            assert not is_locked(folder / local_server.LOCK)
    (folder.parents[2] / "label-studio-slow.go").touch()
    start(folder, "slow")
    assert pid_of(folder) == pid


def test_a_refused_token_says_where_to_allow_it(folder: Path) -> None:
    words = r"does not accept the token; .* allow those under Organization"
    with pytest.raises(ServerError, match=words):
        start(folder, "refuses")


# --- stopping


def test_a_running_server_is_given_no_other_settings_and_stop_ends_just_that_server(folder: Path) -> None:
    other = folder.parents[2] / "other" / ".fire/private"
    assert not stop_server(folder)
    start(folder, "stubborn")  # milder signals do nothing to it
    with pytest.raises(UsageError, match="runs already at"):
        start(folder, public_url="https://labels.example.org")
    start(other)
    try:
        assert stop_server(folder)
        assert (is_locked(folder / local_server.LOCK), is_locked(other / local_server.LOCK)) == (False, True)
    finally:
        stop_server(other)


def test_who_holds_the_lock_and_is_no_server_is_left_alone(folder: Path) -> None:
    folder.mkdir(parents=True)
    held = hold_lock(folder / "server.lock", wait_s=1, what="a test")
    with held, pytest.raises(FireError, match="being started here"):
        stop_server(folder)


def run(*arguments: str, **environ: str) -> Result:
    return CliRunner().invoke(main, arguments, env={"FIRE_LABEL_STUDIO_URL": "", **environ})


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace, which is the current folder."""
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    assert run("init").exit_code == 0
    yield place
    stop_server(place / ".fire/private")


def path_to(program: Path) -> str:
    """A PATH on which the program is label-studio."""
    place = program.parent / "bin"
    place.mkdir(exist_ok=True)
    (place / "label-studio").unlink(missing_ok=True)
    (place / "label-studio").symlink_to(program)
    return f"{place}{os.pathsep}{os.environ['PATH']}"


def started(tmp_path: Path, *arguments: str) -> Result:
    return run("labelstudio", "start", *arguments, PATH=path_to(write_program(tmp_path)))


def test_start_and_stop_in_a_workspace_without_a_word_of_its_secrets(root: Path, tmp_path: Path) -> None:
    result = started(tmp_path)
    server = read_connection(root, environ={})
    assert (result.exit_code, result.stdout) == (0, f"{server.url}\n"), result.output
    assert result.stderr.startswith("waiting for Label Studio")
    assert result.stderr.splitlines()[-1] == "next: fire-toolkit annotators add A01 A02"
    texts = [result.output, run("doctor").output]
    texts += [each.read_text() for each in root.rglob("*") if each.is_file() and ".fire" not in each.parts]
    assert [secret for secret in (server.token, server.password) for text in texts if secret in text] == []
    assert "the server is stopped" in run("labelstudio", "stop").stderr
    assert "no server runs here" in run("labelstudio", "stop").stderr


def test_a_server_that_is_started_again_names_what_follows(root: Path, tmp_path: Path) -> None:
    (root / "pairs.csv").write_text("query_id,doc_id\nq,d\n")
    (root / "collection" / "queries.tsv").write_text("query_id\ttext\nq\ta dog\n")
    (root / "collection" / "items.tsv").write_text("doc_id\tmedia_url\nd\thttps://films.example/d.mp4\n")
    assert run("tasks", "pairs.csv").exit_code == 0
    assert run("push", "--carrier", "page", "--annotator", "A01").exit_code == 0
    assert started(tmp_path).stderr.splitlines()[-1] == "next: fire-toolkit page serve"


def test_a_server_behind_a_proxy_says_where_annotators_open_it(root: Path, tmp_path: Path) -> None:
    with_path = started(tmp_path, "--public-url", "https://labels.example.org/team")
    assert "has a path; expected scheme and host" in with_path.stderr
    result = started(tmp_path, "--public-url", "http://Labels.example.org/")
    assert "annotators open http://labels.example.org, which your proxy must pass on to it" in result.stderr
    assert "passwords and answers travel unencrypted" in result.stderr


def test_what_is_missing_is_said_with_what_mends_it(root: Path) -> None:
    result = run("labelstudio", "start", PATH="/nowhere")
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "Label Studio is not installed" in result.stderr
    assert "pip install label-studio==1.23.2" in result.stderr
    result = run("annotators", "add")
    assert (result.exit_code, "fire-toolkit labelstudio start" in result.stderr) == (1, True)
    assert run("annotators", "retire").exit_code == 2
    result = run("doctor")
    assert (result.exit_code, result.stdout[:16]) == (1, "BAD   connection")
    assert "-> fire-toolkit labelstudio start" in result.stdout
    assert "server  " not in result.stdout


def test_outside_a_workspace_nothing_is_started(here: Path) -> None:
    for command in ("start", "stop"):
        result = run("labelstudio", command)
        assert (result.exit_code, "fire-toolkit init" in result.stderr) == (2, True)
    assert run("annotators", "add", FIRE_LABEL_STUDIO_URL="http://127.0.0.1:9").exit_code == 2


def test_a_server_that_fails_is_exit_code_3(root: Path, tmp_path: Path) -> None:
    program = write_program(tmp_path, "fails")
    result = run("labelstudio", "start", PATH=path_to(program))
    assert result.exit_code == 3
    assert result.stderr.splitlines()[-1].startswith("error: Label Studio ended while starting; see ")
    assert "disk I/O error" in (root / ".fire/private" / "server.log").read_text()


def test_the_doctor_ends_with_3_where_the_server_is_silent(root: Path) -> None:
    environ = {"FIRE_LABEL_STUDIO_URL": "http://127.0.0.1:9", "FIRE_LABEL_STUDIO_TOKEN": "t" * 40}
    result = run("doctor", **environ)
    assert (result.exit_code, "t" * 40 in result.output) == (3, False)
    assert "GET http://127.0.0.1:9/api/version: no connection" in result.stdout
