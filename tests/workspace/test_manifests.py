"""Outputs are one change: a kill at any step leaves the old files or the new."""

import errno
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from brought import refused

from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import sha256_of
from fire_toolkit.workspace import manifests as storage
from fire_toolkit.workspace.manifests import (
    Manifest,
    checked,
    finish_interrupted,
    manifest_at,
    write_stage,
    writer_of,
)

# A forked child of a process with threads may hang; this one only writes files and is killed.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")

OLD = {"a.csv": "old a\n", "b.csv": "old b\n"}
NEW = {"a.csv": "new a\n", "b.csv": "new b\n"}


def write(folder: Path, texts: dict[str, str]) -> None:
    manifest = Manifest("pool", "0", {"depth": 1}, {"in": "0"})
    at = folder / "manifest.json"
    write_stage({folder / name: text for name, text in texts.items()}, manifest, at=at)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.name != "manifest.json"}


def killed_at(step: int, folder: Path) -> int:
    """Write NEW over what is there in a child that is killed at its step-th system call; return its end."""
    calls = 0

    def counted(function: Callable[..., object]) -> Callable[..., object]:
        def wrapper(*args: object, **options: object) -> object:
            nonlocal calls
            calls += 1
            if calls == step:
                os.kill(os.getpid(), 9)
            return function(*args, **options)

        return wrapper

    child = os.fork()
    if child == 0:
        try:
            for name in ("open", "replace", "unlink"):
                setattr(Path, name, counted(getattr(Path, name)))
            os.fsync = counted(os.fsync)
            write(folder, NEW)
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_kill_at_every_step_leaves_all_old_or_all_new_and_no_litter(tmp_path: Path) -> None:
    seen = set()
    for step in range(1, 100):
        folder = tmp_path / str(step)
        write(folder, OLD)
        code = killed_at(step, folder)
        finish_interrupted(folder)
        found = contents(folder)
        assert found in (OLD, NEW), f"step {step}"
        assert all(checked(folder / name) for name in ("a.csv", "b.csv"))
        seen.add((code, found["a.csv"]))
        if code == 0:
            break
        killed_at(step, folder)
        write(folder, NEW)  # which clears up by itself
        assert contents(folder) == NEW
    assert seen == {(-9, "old a\n"), (-9, "new a\n"), (0, "new a\n")}


def is_full(part: Path, *_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", str(part))


@pytest.mark.parametrize(
    ("call", "error", "expected"),
    [
        ("_write_through", is_full, (FireError, r"/a\.csv: cannot be written: No space.*bytes are needed")),
        ("_flush_folder", KeyboardInterrupt(), (KeyboardInterrupt, "^$")),
    ],
)
def test_a_failure_in_the_middle_leaves_the_old_files_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    error: BaseException | Callable[..., None],
    expected: tuple[type[BaseException], str],
) -> None:
    write(tmp_path, OLD)
    monkeypatch.setattr(storage, call, Mock(side_effect=error))
    with pytest.raises(expected[0], match=expected[1]):
        write(tmp_path, NEW)
    assert contents(tmp_path) == OLD


def test_a_file_that_is_no_longer_written_is_removed(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    (tmp_path / "theirs.txt").write_text("x")
    write(tmp_path, {"a.csv": "new a\n"})
    assert contents(tmp_path) == {"a.csv": "new a\n", "theirs.txt": "x"}


def test_the_manifest_names_stage_parameters_inputs_and_outputs(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    manifest = manifest_at(tmp_path / "manifest.json")
    assert (manifest.stage, manifest.parameters, manifest.inputs) == ("pool", {"depth": 1}, {"in": "0"})
    # sha256 of "old a\n" by coreutils' sha256sum
    assert manifest.outputs["a.csv"] == "c8518d7e574626e44644fb5dd1348aec70ed95b22336992a981336f5a0c69be3"
    assert set(manifest.outputs) == {"a.csv", "b.csv"}


NAMELESS = """{"stage": "pool", "tool_version": "0", "schema_version": 1, "inputs": {}, "parameters": {},
    "outputs": {"": "0"}}"""
DAMAGED = ["", '["stage", "tool_version"]', '{"stage": 1, "schema_version": 99}', "\x00"]


@pytest.mark.parametrize(
    ("text", "words"), [*((text, "") for text in DAMAGED), (NAMELESS, ".*a name of a file that is empty")]
)
def test_a_damaged_manifest_is_a_clear_error(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=rf"manifest\.json{words}"):
        manifest_at(path)


@pytest.mark.parametrize("damage", ["all", "the end", "a letter"])
def test_a_damaged_manifest_of_ours_beside_a_file_is_refused(tmp_path: Path, damage: str) -> None:
    write(tmp_path, OLD)
    at = tmp_path / "manifest.json"
    text = at.read_text()
    at.write_text({"all": "", "the end": text[:60], "a letter": text.replace("t", "T", 1)}[damage])
    refused("manifest.json", checked, tmp_path / "a.csv")


@pytest.mark.parametrize("text", ["{}", "[1, 2]", '{"name": "my data", "stage": 2}', "not JSON {"])
@pytest.mark.parametrize("place", ["manifest.json", "other.manifest.json", "../manifest.json"])
def test_a_manifest_of_somebody_is_left_alone(tmp_path: Path, text: str, place: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "own.csv").write_text("x\n")
    (folder / place).write_text(text)
    assert not writer_of(folder / "own.csv")
    assert checked(folder / "own.csv") == folder / "own.csv"
    write_stage({folder / "new.csv": ""}, Manifest("pool", "1", {}, {}), at=folder / "new.csv.manifest.json")
    assert (folder / place).read_text() == text


def test_a_manifest_of_somebody_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "my data"}')
    with pytest.raises(FireError, match=r"manifest\.json: already exists, and `fire-toolkit pool` did not"):
        write_stage({tmp_path / "a.csv": ""}, Manifest("pool", "1", {}, {}), at=tmp_path / "manifest.json")


@pytest.mark.parametrize("name", ["../victim", "", "a" * 300, "half \ud800", "nul\0"])
def test_a_foreign_commit_record_is_refused_and_touches_no_other_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (tmp_path / "victim").write_text("mine")
    (folder / ".a.1.tmp").write_text("evil")
    (folder / ".fire-commit-1.json").write_text(json.dumps({".a.1.tmp": name}))
    refused("damaged commit record", finish_interrupted, folder)
    assert (tmp_path / "victim").read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for name in ("pipe", "link"):
        with pytest.raises(FireError, match=f"{name}: a pipe or a device, expected the name of a file"):
            storage.write_files({tmp_path / name: b"x"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]
    assert not (tmp_path / "pipe").is_file()
    assert (tmp_path / "link").is_symlink()


def test_a_file_that_may_have_changed_is_hashed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, one, other = tmp_path / "a.csv", *(hashlib.sha256(text).hexdigest() for text in (b"1", b"2"))
    path.write_bytes(b"1")
    assert sha256_of(path) == one
    path.write_bytes(b"2")  # as long as before, and in the same moment
    assert sha256_of(path) == other
    now = path.stat()
    monkeypatch.setattr("fire_toolkit.files.time.time", lambda: now.st_ctime + 60)
    assert sha256_of(path) == other
    monkeypatch.setattr("fire_toolkit.files.hashlib.file_digest", None)
    assert sha256_of(path) == other  # without reading it
    monkeypatch.undo()
    path.write_bytes(b"1")
    while path.stat().st_ctime_ns == now.st_ctime_ns:  # a moment later
        os.utime(path, ns=(now.st_atime_ns, now.st_mtime_ns))  # as a copy that keeps times does
    assert sha256_of(path) == one
