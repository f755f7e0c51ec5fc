"""Outputs are one change: a kill at any step leaves the old files or the new."""

import errno
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fire_toolkit.errors import FireError, FormatError, StaleError
from fire_toolkit.files import sha256_of
from fire_toolkit.workspace import manifests as storage
from fire_toolkit.workspace.manifests import (
    Manifest,
    check_outputs,
    finish_interrupted,
    manifest_path,
    read_manifest,
    verify,
    write_stage,
    writer_of,
)

# A forked child of a process with threads may hang; this one only writes files and is killed.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")

OLD = {"a.csv": "old a\n", "b.csv": "old b\n"}
NEW = {"a.csv": "new a\n", "b.csv": "new b\n"}


def write(folder: Path, texts: dict[str, str]) -> None:
    manifest = Manifest("pool", "0", {"depth": 1}, {"in": "0"})
    at = manifest_path(folder, is_folder=True)
    write_stage({folder / name: text for name, text in texts.items()}, manifest, at=at)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.name != "manifest.json"}


def in_child(work: Callable[[], None]) -> int:
    """Run `work` in a forked child and return its exit code; -9 is a kill in the middle."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at(step: int, folder: Path) -> int:
    """Write NEW over what is there in a child that is killed at its step-th system call on files."""
    calls = 0

    def counted(function: Callable[..., object]) -> Callable[..., object]:
        def wrapper(*args: object, **options: object) -> object:
            nonlocal calls
            calls += 1
            if calls == step:
                os.kill(os.getpid(), 9)
            return function(*args, **options)

        return wrapper

    def work() -> None:
        Path.open = counted(Path.open)  # type: ignore[method-assign]
        Path.replace = counted(Path.replace)  # type: ignore[method-assign]
        Path.unlink = counted(Path.unlink)  # type: ignore[method-assign]
        os.fsync = counted(os.fsync)
        write(folder, NEW)

    return in_child(work)


def test_a_kill_at_every_step_leaves_all_old_or_all_new_and_no_litter(tmp_path: Path) -> None:
    seen = set()
    for step in range(1, 100):
        folder = tmp_path / str(step)
        write(folder, OLD)
        code = killed_at(step, folder)
        finish_interrupted(folder)
        found = contents(folder)
        assert found in (OLD, NEW), f"step {step}"
        verify(folder / "a.csv")
        verify(folder / "b.csv")
        seen.add((code, found["a.csv"]))
        if code == 0:
            break
    assert seen == {(-9, "old a\n"), (-9, "new a\n"), (0, "new a\n")}


def test_writing_again_after_a_kill_gives_the_new_files(tmp_path: Path) -> None:
    for step in (2, 9, 14):
        folder = tmp_path / str(step)
        write(folder, OLD)
        killed_at(step, folder)
        write(folder, NEW)
        assert contents(folder) == NEW


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    write(tmp_path / "one", NEW)
    write(tmp_path / "two", NEW)
    first = (tmp_path / "one" / "manifest.json").read_bytes()
    assert first == (tmp_path / "two" / "manifest.json").read_bytes()


def test_a_full_disk_says_path_and_bytes_and_leaves_the_old_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, OLD)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "a.csv"))

    monkeypatch.setattr(storage, "_write_through", full)
    with pytest.raises(FireError, match=r"a\.csv: cannot be written: No space left.*bytes are needed"):
        write(tmp_path, NEW)
    assert contents(tmp_path) == OLD


def test_an_error_in_the_middle_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, OLD)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(storage, "_flush_folder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, NEW)
    assert contents(tmp_path) == OLD


def test_a_file_changed_by_hand_is_refused_with_what_mends_it(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    (tmp_path / "a.csv").write_text("mine\n")
    with pytest.raises(
        StaleError, match=r"a\.csv: changed since `fire-toolkit pool` wrote it; run that again"
    ):
        verify(tmp_path / "a.csv")
    verify(tmp_path / "b.csv")


def test_a_file_without_a_manifest_passes(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("x\n")
    assert verify(tmp_path / "own.csv") == sha256_of(tmp_path / "own.csv")


def test_a_file_that_is_no_longer_written_is_removed(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    (tmp_path / "theirs.txt").write_text("x")
    write(tmp_path, {"a.csv": "new a\n"})
    assert contents(tmp_path) == {"a.csv": "new a\n", "theirs.txt": "x"}


def test_the_manifest_names_stage_parameters_inputs_and_outputs(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    manifest = read_manifest(tmp_path / "manifest.json")
    assert (manifest.stage, manifest.parameters, manifest.inputs) == ("pool", {"depth": 1}, {"in": "0"})
    # sha256 of "old a\n" by coreutils' sha256sum
    assert manifest.outputs["a.csv"] == "c8518d7e574626e44644fb5dd1348aec70ed95b22336992a981336f5a0c69be3"
    assert set(manifest.outputs) == {"a.csv", "b.csv"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema_version": 99}', "\x00"])
def test_a_damaged_manifest_is_a_clear_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"manifest\.json"):
        read_manifest(path)


@pytest.mark.parametrize("text", ["{}", "[1, 2]", '{"name": "my data", "stage": 2}', "not JSON {"])
@pytest.mark.parametrize("place", ["manifest.json", "other.manifest.json", "../manifest.json"])
def test_a_manifest_of_somebody_is_left_alone(tmp_path: Path, text: str, place: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "own.csv").write_text("x\n")
    (folder / place).write_text(text)
    assert writer_of(folder / "own.csv") is None
    assert verify(folder / "own.csv") == sha256_of(folder / "own.csv")
    check_outputs([folder / "new.csv"], stage="pool")
    assert (folder / place).read_text() == text


def test_a_manifest_of_somebody_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "my data"}')
    with pytest.raises(FireError, match=r"manifest\.json: already exists, and `fire-toolkit pool` did not"):
        check_outputs([tmp_path / "a.csv"], stage="pool", at=tmp_path / "manifest.json")


@pytest.mark.parametrize(
    "damage", [lambda text: "", lambda text: text[:60], lambda text: text.replace("t", "T", 1)]
)
def test_a_damaged_manifest_of_ours_beside_a_file_is_refused(
    tmp_path: Path, damage: Callable[[str], str]
) -> None:
    write(tmp_path, OLD)
    at = tmp_path / "manifest.json"
    at.write_text(damage(at.read_text()))
    with pytest.raises(FormatError, match=r"manifest\.json"):
        verify(tmp_path / "a.csv")


def test_an_output_without_a_name_is_a_damaged_manifest(tmp_path: Path) -> None:
    about = {
        "stage": "pool",
        "tool_version": "0",
        "schema_version": 1,
        "inputs": {},
        "outputs": {"": "0"},
        "parameters": {},
    }
    (tmp_path / "manifest.json").write_text(json.dumps(about))
    with pytest.raises(FormatError, match="a file without a name"):
        read_manifest(tmp_path / "manifest.json")


def test_a_foreign_commit_record_does_not_touch_other_folders(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (folder / "part").write_text("evil")
    (folder / ".fire-commit-1.json").write_text(json.dumps({"part": "../victim"}))
    with pytest.raises(FormatError, match="damaged commit record"):
        finish_interrupted(folder)
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["", "a" * 300, "half \ud800", "nul\0"])
def test_a_commit_record_with_a_name_that_no_file_has_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / ".fire-commit-1.json").write_text(json.dumps({".a.1.tmp": name}))
    with pytest.raises(FormatError, match="damaged commit record"):
        finish_interrupted(tmp_path)


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


def test_a_file_is_hashed_anew_whenever_it_may_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
