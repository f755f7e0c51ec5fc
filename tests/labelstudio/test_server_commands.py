"""`labelstudio`, `annotators` and `doctor` as commands: exit codes, words, and no secret among them."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fake_server import write_program

from fire_toolkit.cli import main
from fire_toolkit.cli.labelstudio import stop_server
from fire_toolkit.labelstudio.connection import read_connection


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
    program = write_program(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as probe, pytest.MonkeyPatch.context() as patched:
        patched.setattr("fire_toolkit.cli.labelstudio.FIRST_PORT", probe.getsockname()[1])
        probe.close()
        return run("labelstudio", "start", *arguments, PATH=path_to(program))


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
