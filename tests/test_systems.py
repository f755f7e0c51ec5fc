"""What macOS or Windows lack is not asked for there; here it is taken away, one call at a time."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import fire_toolkit
from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.labelstudio.connection import prepare_folder, read_secret
from fire_toolkit.labelstudio.local_server import start_server
from fire_toolkit.workspace.locks import hold_lock
from fire_toolkit.workspace.manifests import Manifest, finish_interrupted, write_stage

MODULES = sorted(Path(fire_toolkit.__file__).parent.rglob("*.py"))
OF_ONE_SYSTEM = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "msvcrt", "winreg", "_winapi"}


def test_no_module_needs_one_system_to_be_imported() -> None:
    mentioned = re.compile(rf"\b({'|'.join(OF_ONE_SYSTEM)})\b")
    texts = {path: path.read_text(encoding="utf-8") for path in MODULES}
    found = {path: text for path, text in texts.items() if mentioned.search(text)}
    assert any("import fcntl" in text for text in found.values())
    for path, text in found.items():
        names = set()
        for node in ast.parse(text).body:
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module or "")
        assert not names & OF_ONE_SYSTEM, path


def test_files_are_one_change_where_no_folder_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def refuse_folders(path: Path, *rest: int) -> int:
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied")
        return real(path, *rest)

    monkeypatch.delattr(os, "O_DIRECTORY")
    monkeypatch.setattr(os, "open", refuse_folders)
    manifest = Manifest("pool", "0", {}, {})
    write_stage({tmp_path / "a.csv": "a\n"}, manifest, at=tmp_path / "manifest.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "manifest.json"]


def test_what_a_killed_writer_left_is_removed_and_nothing_of_a_living_one(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for process in (gone.pid, os.getpid(), 10**30):
        (tmp_path / f".a.csv.x-{process}.tmp").write_text("")
    finish_interrupted(tmp_path)
    left = {path.name.split("-")[1] for path in tmp_path.iterdir()}
    assert left == {f"{os.getpid()}.tmp", f"{10**30}.tmp"}


def test_secrets_are_read_where_files_have_no_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "geteuid")
    (tmp_path / "token").write_text("secret")
    (tmp_path / "token").chmod(0o666)  # what Windows says of any file
    assert read_secret(tmp_path / "token") == "secret"
    prepare_folder(tmp_path / "server")
    assert (tmp_path / "server" / ".gitignore").is_file()


def test_a_lock_keeps_others_out_by_calls_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: set[tuple[int, int]] = set()

    def locking(handle: int, mode: int, n_bytes: int) -> None:
        found = os.fstat(handle)
        if (mode, n_bytes) != (2, 1) or (found.st_dev, found.st_ino) in held:
            raise PermissionError(13, "Permission denied")
        held.add((found.st_dev, found.st_ino))

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    with (
        hold_lock(tmp_path / "lock", wait_s=0, what="a"),
        pytest.raises(FireError, match="b is still running"),
    ):
        hold_lock(tmp_path / "lock", wait_s=0, what="b").__enter__()


def test_a_local_server_needs_groups_of_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg")
    with pytest.raises(UsageError, match="start one and set FIRE_LABEL_STUDIO_URL"):
        start_server(tmp_path / "server", Path("label-studio"))
    assert list(tmp_path.iterdir()) == []
