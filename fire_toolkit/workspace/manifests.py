"""Outputs and their manifest: written so that a kill leaves the old files or the new, never a mix.

Each output goes to a temporary file in its own folder and is flushed to disk; then a commit record
names all of them, each is renamed, and the record is removed. A record found later is carried to its
end by whoever comes next. The manifest says what made the files, and from what; a file that is no
longer what its manifest says is refused. Nothing that depends on the clock or the machine is written,
so the same inputs give the same bytes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FireError, FormatError, StaleError
from fire_toolkit.files import read_text, sha256_of
from fire_toolkit.syntax import parse_json
from fire_toolkit.workspace.exchange import exchange

SCHEMA_VERSION = 1
MANIFEST = "manifest.json"
_SUFFIX = ".manifest.json"
_RECORD = ".fire-commit-"
_MOVED = ".moved"
_LONGEST_NAME = 255  # bytes


@dataclass(frozen=True)
class Manifest:
    """What made a stage's files: parameters, sha256 of each input and output, counts.

    command: in a workspace, the words of the command and the folder below the workspace's in which it was
    given (`.` for that itself), so that it can be given again; else empty.
    """

    stage: str
    tool_version: str
    parameters: dict[str, Any]
    inputs: dict[str, str]
    outputs: dict[str, str] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)
    command: dict[str, Any] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION

    def as_bytes(self) -> bytes:
        """Return the manifest as its file has it."""
        return (json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n").encode()


def manifest_path(out: Path, *, is_folder: bool) -> Path:
    """Return where the manifest of an output lies: in the folder, or beside the file under its name."""
    return out / MANIFEST if is_folder else out.with_name(out.name + _SUFFIX)


def write_stage(texts: Mapping[Path, str | bytes], manifest: Manifest, *, at: Path) -> None:
    """Write a stage's files and its manifest as one change.

    Files of the same manifest that an earlier run wrote and this one does not are removed.

    Args:
        texts: path → content; all in the folder of the manifest.
        manifest: without outputs: their hashes are filled in here.
        at: the manifest's path.

    Raises:
        FireError: the folder cannot be made or written, or the disk is full; the old files stand.
    """
    earlier = read_manifest(at).outputs if at.is_file() else {}
    contents = {path: text.encode() if isinstance(text, str) else text for path, text in texts.items()}
    outputs = {path.name: hashlib.sha256(content).hexdigest() for path, content in sorted(contents.items())}
    filled = replace(manifest, outputs=outputs)
    contents[at] = filled.as_bytes()
    write_files(contents)
    for name in earlier.keys() - outputs.keys():
        at.with_name(name).unlink(missing_ok=True)


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Write files of one folder as one change: after a kill all are old or, on the next look, all new.

    Raises:
        FireError: the folder cannot be made or written, or the disk is full; the old files stand; or a path
            is that of a pipe or a device, which a file would replace.
    """
    folder = next(iter(contents)).parent
    for path in contents:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise FireError(f"{path}: a pipe or a device, expected the name of a file")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        finish_interrupted(folder)
        if len(contents) == 1:
            _write_one(*next(iter(contents.items())))
        else:
            _carry_out(_prepare(folder, contents))
    except OSError as error:
        needed = sum(map(len, contents.values()))
        hint = f"; {needed:,} bytes are needed: free some space" if error.errno == errno.ENOSPC else ""
        raise FireError(f"{error.filename or folder}: cannot be written: {error.strerror}{hint}") from None


def _write_one(path: Path, content: bytes) -> None:
    """Write one file, whose renaming is the whole change and needs no record."""
    part = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _write_through(part, content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def write_folder(
    out: Path, contents: Mapping[str, bytes] | Iterable[tuple[str, bytes | Path]], *, replaces: str = ""
) -> None:
    """Write a folder as one change: after a kill it is there whole, the old or the new.

    The new folder and the old change names in one step. Where the system cannot do that (Windows, some
    network file systems), a kill between two renames leaves the old one under a hidden name, and the next
    writer puts it back.

    Args:
        out: the folder, which must not be there.
        contents: file name, which may lie in a subfolder → bytes; or pairs of a name and bytes, or a file to
            copy, taken one after the other.
        replaces: a stage, whose folder of before may be there and is replaced.

    Raises:
        FireError: it is there already, holds what no such stage wrote, or cannot be written; nothing is left
            behind.
    """
    part = out.with_name(f".{out.name}-{os.getpid()}.tmp")
    before = out.with_name(f".{out.name}-{os.getpid()}{_MOVED}.tmp")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _clear_up(out.parent)
        if out.exists():
            _refuse_others(out, replaces)
        folders = {part}
        for name, content in contents.items() if isinstance(contents, Mapping) else contents:
            path = part / name
            folders.add(path.parent)
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_through(path, content)
        for folder in folders:
            _flush_folder(folder)
        if not (out.exists() and exchange(part, out)):
            if out.exists():
                out.rename(before)
            part.rename(out)
        _flush_folder(out.parent)
        for old in (part, before):
            shutil.rmtree(old, ignore_errors=True)
    except BaseException as error:
        if before.exists() and not out.exists():
            before.rename(out)
        shutil.rmtree(part, ignore_errors=True)
        if isinstance(error, OSError):
            raise FireError(f"{error.filename or out}: cannot be written: {error.strerror}") from None
        raise


def _refuse_others(out: Path, stage: str) -> None:
    """Raise `FireError` unless a folder holds what a stage wrote, and nothing else."""
    at = out / MANIFEST
    manifest = read_manifest(at) if stage and at.is_file() else None
    if manifest is None or manifest.stage != stage:
        what = f"no {stage}" if stage else "not overwritten"
        raise FireError(
            f"{out}: already exists, and is {what}; take another name" + (" or version" * (not stage))
        )
    known = {MANIFEST, *manifest.outputs}
    found = (path.relative_to(out).as_posix() for path in sorted(out.rglob("*")) if not path.is_dir())
    if other := next((name for name in found if name not in known), ""):
        raise FireError(
            f"{out / other}: was not written by `{stage}`, which would delete it; move it elsewhere"
        )


def _clear_up(parent: Path) -> None:
    """Remove the parts of folders whose writers were killed; what they had moved away gets its name again."""
    for part in parent.glob(".*.tmp"):
        name, _, process = part.name[1:].removesuffix(".tmp").removesuffix(_MOVED).rpartition("-")
        if not part.is_dir() or _is_alive(process):
            continue
        if part.name.endswith(f"{_MOVED}.tmp") and not (parent / name).exists():
            part.rename(parent / name)
        else:
            shutil.rmtree(part, ignore_errors=True)


def _prepare(folder: Path, contents: Mapping[Path, bytes]) -> Path:
    """Write the temporary files and, last, the commit record: from then on the change is made."""
    parts = {path: path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in contents}
    record = folder / f"{_RECORD}{os.getpid()}.json"
    part_of_record = folder / f"{_RECORD}{os.getpid()}.tmp"
    try:
        for path, content in contents.items():
            _write_through(parts[path], content)
        renames = {part.name: path.name for path, part in parts.items()}
        _write_through(part_of_record, json.dumps(renames).encode())
        _flush_folder(folder)
        part_of_record.replace(record)
    except BaseException:
        for part in (*parts.values(), part_of_record):
            part.unlink(missing_ok=True)
        raise
    return record


def finish_interrupted(folder: Path) -> None:
    """Carry every commit record in `folder` to its end, and remove what killed writers left behind."""
    try:
        with os.scandir(folder) as entries:
            hidden = sorted(entry.name for entry in entries if entry.name.startswith("."))
    except OSError:  # no folder, or one whose names are not for us
        hidden = []
    for name in hidden:
        if name.startswith(_RECORD) and name.endswith(".json"):
            _carry_out(folder / name)
    for part in (folder / name for name in hidden if name.endswith(".tmp")):
        if not part.is_dir() and not _is_alive(part.name.split(".")[-2].rpartition("-")[2]):
            part.unlink(missing_ok=True)


def _is_alive(process: str) -> bool:
    if not process.isdigit():
        return True  # somebody else's file
    import psutil

    try:
        return psutil.pid_exists(int(process))
    except OverflowError:  # no system has such a number
        return True


def _carry_out(record: Path) -> None:
    for part, name in _renames(record).items():
        _replace_if_there(record.with_name(part), record.with_name(name))
    _flush_folder(record.parent)
    record.unlink(missing_ok=True)


def _renames(record: Path) -> dict[str, str]:
    """Return what a commit record asks for; nothing when another process has carried it out."""
    try:
        renames = parse_json(record.read_text(encoding="utf-8"), "record")
        names = [name for pair in renames.items() for name in pair]
        if not all(name and Path(name).name == name and "\0" not in name for name in names):
            raise ValueError("an invalid name, or one that leads out of the folder")
        if any(len(os.fsencode(name)) > _LONGEST_NAME for name in names):
            raise ValueError("a name longer than a file can have")
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError, FormatError) as error:
        raise FormatError(f"{record}: damaged commit record ({error}); delete it") from None
    return dict(renames)


def _replace_if_there(part: Path, path: Path) -> None:
    try:
        part.replace(path)
    except FileNotFoundError:
        return  # renamed before the interruption


def _write_through(path: Path, content: bytes | Path) -> None:
    with path.open("wb") as stream:
        if isinstance(content, bytes):
            stream.write(content)
        else:
            with content.open("rb") as source:
                shutil.copyfileobj(source, stream, 1 << 20)
        stream.flush()
        os.fsync(stream.fileno())


def _flush_folder(folder: Path) -> None:
    if not hasattr(os, "O_DIRECTORY"):
        return  # Windows opens no folders
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_manifest(path: Path) -> Manifest:
    """Return the manifest at `path`.

    Raises:
        FormatError: it is not a manifest, or has a newer schema than this version knows.
    """
    found = parse_json(read_text(path), str(path))
    try:
        if found["schema_version"] > SCHEMA_VERSION:
            raise FormatError(
                f"{path}: schema {found['schema_version']}, this version knows {SCHEMA_VERSION}"
            )
        manifest = Manifest(**found)
    except (TypeError, KeyError) as error:
        raise _damaged(path, str(error)) from None
    for name, kind in _KINDS.items():
        if type(value := getattr(manifest, name)) is not kind:
            raise _damaged(path, f"{name} is a {type(value).__name__}")
    hashes = (*manifest.inputs.values(), *manifest.outputs.values())
    if not all(isinstance(text, str) for text in hashes):
        raise _damaged(path, "a hash that is not text")
    return manifest


_KINDS = {"stage": str, "tool_version": str, "schema_version": int} | dict.fromkeys(
    ("parameters", "inputs", "outputs", "counts", "command"), dict
)


def _damaged(path: Path, reason: str) -> FormatError:
    return FormatError(f"{path}: damaged manifest ({reason}); delete it and run the stage again")


def verify(path: Path) -> str:
    """Return the sha256 of `path`; refuse it if a manifest beside it says that other bytes were written.

    A file without a manifest is somebody's own and passes.

    Raises:
        StaleError: the bytes are not those that the stage wrote.
    """
    finish_interrupted(path.parent)
    found, sha256 = _manifest_of(path), sha256_of(path)
    if found is not None and found[1].outputs[path.name] != sha256:
        at, manifest = found
        raise StaleError(
            f"{path}: changed since `fire-toolkit {manifest.stage}` wrote it; run that again, or delete "
            f"{at.name} to keep the file as it is"
        )
    return sha256


def writer_of(path: Path) -> Manifest | None:
    """Return the manifest of the stage that wrote `path`; None for a file of somebody's own.

    Raises:
        FormatError: the manifest beside it is damaged.
    """
    found = _manifest_of(path)
    return None if found is None else found[1]


def _manifest_of(path: Path) -> tuple[Path, Manifest] | None:
    """Return the manifest that lists a file: its own, its folder's, or that of a file written with it."""
    own = (path.with_name(path.name + _SUFFIX), path.with_name(MANIFEST))
    for at in own:
        if at.is_file() and path.name in (manifest := read_manifest(at)).outputs:
            return at, manifest
    others = [at for at in sorted(path.parent.glob(f"*{_SUFFIX}")) if at.is_file() and at not in own]
    found = [(at, each) for at in others if path.name in (each := read_manifest(at)).outputs]
    if len(found) < 2:
        return found[0] if found else None
    sha256 = sha256_of(path) if path.is_file() else ""
    return next((each for each in found if each[1].outputs[path.name] == sha256), found[0])
