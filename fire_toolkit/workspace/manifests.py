"""Outputs and their manifest: written so that a kill leaves the old files or the new, never a mix.

Each output goes to a temporary file in its own folder and is flushed to disk; where there are several, a
commit record then names all of them; each is renamed, and the record is removed. A record found later is
carried to its end by whoever comes next. The manifest says what made the files, and from what; a file that is
no longer what its manifest says is refused, and so is an output that would overwrite what is not the
command's own. Nothing that depends on the clock or the machine is written, so the same inputs give the same
bytes.
"""

import ctypes
import errno
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from fire_toolkit.errors import FireError, FormatError, StaleError
from fire_toolkit.files import read_bytes, sha256_of

SCHEMA_VERSION = 1
MANIFEST = "manifest.json"
_SUFFIX = ".manifest.json"
_RECORD = ".fire-commit-"
# A part of what a writer was writing, or a folder that it had moved away, with its process.
_LEFT = re.compile(r"\.(?P<name>.+)[.-](?P<process>\d{1,9})(?P<moved>\.moved)?\.tmp")
_LONGEST_NAME, _LONGEST_PATH = 255, 3000  # bytes
_SAME = {"pull": "import"}  # both write the judgments
_MARKS = (b'"stage"', b'"tool_version"', b'"schema_version"')  # of a manifest of ours; one may be damaged


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

    def __bool__(self) -> bool:
        """Whether a stage wrote anything: false for `NONE`, which stands where there is no manifest."""
        return bool(self.stage)

    def as_bytes(self) -> bytes:
        """Return the manifest as its file has it."""
        return (json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n").encode()


NONE = Manifest("", "", {}, {})


def manifest_path(out: Path) -> Path:
    """Return where the manifest of an output lies: in the folder, or beside the file under its name."""
    return out / MANIFEST if out.is_dir() else out.parent / (out.name + _SUFFIX)


def manifest_of(out: Path) -> Manifest:
    """Return the manifest of an output in its place, as `manifest_at` does."""
    return manifest_at(manifest_path(out))


def manifest_at(path: Path) -> Manifest:
    """Return the manifest of ours at `path`; `NONE` where no file is there, or one of somebody's own.

    Raises:
        FormatError: it is damaged, as a file without any content is, or has a newer schema than this version
            knows.
    """
    if not path.is_file():
        return NONE
    content = read_bytes(path)
    if content.strip(b"\0 \t\r\n") and sum(mark in content for mark in _MARKS) < 2:
        return NONE
    try:
        found = json.loads(content)
        if found["schema_version"] > SCHEMA_VERSION:
            newer = f"schema {found['schema_version']}, this version knows {SCHEMA_VERSION}"
            raise FormatError(f"{path}: {newer}")
        manifest = msgspec.convert(found, Manifest)
        for name in (*manifest.inputs, *manifest.outputs):
            encoded = name.encode(errors="surrogatepass")
            if len(encoded) > _LONGEST_PATH or max(map(len, encoded.split(b"/"))) > _LONGEST_NAME or not name:
                raise TypeError("a name of a file that is empty, or longer than any can be")
    except (TypeError, KeyError, RecursionError, ValueError) as error:
        raise FormatError(f"{path}: damaged manifest ({error}); delete it and run the stage again") from None
    return manifest


def write_stage(
    texts: Mapping[Path, str | bytes], manifest: Manifest, *, at: Path, read: Iterable[Path] = ()
) -> None:
    """Write a stage's files and its manifest as one change.

    An existing file is replaced where a manifest in its folder says that the same stage wrote it. Files of
    the same manifest that an earlier run wrote and this one does not are removed.

    Args:
        texts: path → content; all in the folder of the manifest.
        manifest: without outputs: their hashes are filled in here.
        at: the manifest's path.
        read: what was read to make them.

    Raises:
        FireError: it would overwrite somebody's own file, or what was read; the folder cannot be made or
            written, or the disk is full; the old files stand.
    """
    finish_interrupted(at.parent)
    earlier, stage = manifest_at(at), manifest.stage
    own, inputs = _SAME.get(stage, stage), {path.resolve() for path in read}
    if earlier.stage and _SAME.get(earlier.stage, earlier.stage) != own:
        raise FireError(
            f"{at}: `fire-toolkit {earlier.stage}` wrote here ({', '.join(list(earlier.outputs)[:3])}); "
            f"`{stage}` does not overwrite it; choose another --out"
        )
    for path in [*texts, *([] if earlier.stage else [at])]:
        if path.resolve() in inputs:
            raise FireError(
                f"{path}: `fire-toolkit {stage}` reads this file and would overwrite it; choose another file"
            )
        if not path.exists() or path.name in earlier.outputs:
            continue
        writer = writer_of(path)
        is_own = path.is_file() and _SAME.get(writer.stage, writer.stage) == own
        if not is_own or writer.outputs.get(path.name) != sha256_of(path):
            raise FireError(
                f"{path}: already exists, and `fire-toolkit {stage}` did not write it; choose another --out, "
                "or move the file away first"
            )
    contents = {path: text.encode() if isinstance(text, str) else text for path, text in texts.items()}
    outputs = {path.name: hashlib.sha256(content).hexdigest() for path, content in sorted(contents.items())}
    write_files(contents | {at: replace(manifest, outputs=outputs).as_bytes()})
    for name in earlier.outputs.keys() - outputs.keys():
        at.with_name(name).unlink(missing_ok=True)


def write_files(contents: Mapping[Path, bytes], *, mode: int = 0o666) -> None:
    """Write files of one folder as one change: after a kill all are old or, on the next look, all new.

    mode: the rights of each, from its first byte on.

    Raises:
        FireError: the folder cannot be made or written, or the disk is full; the old files stand; or a path
            is that of a pipe or a device, which a file would replace.
    """
    folder = next(iter(contents)).parent
    for path in contents:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise FireError(f"{path}: a pipe or a device, expected the name of a file")
    parts = {path: path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in contents}
    renames = {part.name: path.name for path, part in parts.items()}
    record = folder / f"{_RECORD}{os.getpid()}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        finish_interrupted(folder)
        try:
            for path, content in contents.items():
                _write_through(parts[path], content, mode)
            if len(contents) > 1:
                parts[record] = record.with_suffix(".tmp")
                _write_through(parts[record], json.dumps(renames).encode())
                _flush_folder(folder)
                parts[record].replace(record)  # from here on the change is made
                _carry_out(record)
            else:  # the renaming of one is the whole change
                parts[path].replace(path)
                _flush_folder(folder)
        except BaseException:
            for part in parts.values() if not record.exists() else ():
                part.unlink(missing_ok=True)
            raise
    except OSError as error:
        needed = sum(map(len, contents.values()))
        hint = f"; {needed:,} bytes are needed: free some space" if error.errno == errno.ENOSPC else ""
        name = renames.get(Path(error.filename or "").name)  # of a part: that of the file it was to become
        where = folder / name if name else error.filename or folder
        raise FireError(f"{where}: cannot be written: {error.strerror}{hint}") from None


def finish_interrupted(folder: Path, *, with_folders: bool = False) -> None:
    """Carry every commit record in `folder` to its end, and remove what killed writers left behind.

    with_folders: of folders too; one that was moved away gets its name again.
    """
    hidden: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:  # no folder, or one whose names are not for us
        hidden = sorted(entry.name for entry in entries if entry.name.startswith("."))
    for name in hidden:
        if name.startswith(_RECORD) and name.endswith(".json"):
            _carry_out(folder / name)
    for left in filter(None, map(_LEFT.fullmatch, hidden)):
        import psutil

        part, its_own = folder / left[0], folder / left["name"]
        if psutil.pid_exists(int(left["process"])) or (part.is_dir() and not with_folders):
            continue
        if left["moved"] and not its_own.exists():
            part.rename(its_own)
        elif part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


def _carry_out(record: Path) -> None:
    """Rename what a commit record asks for, whatever of it was renamed before, and remove the record.

    Raises:
        FormatError: it is damaged.
    """
    try:
        renames = dict(json.loads(record.read_bytes()).items())
        for name in (*renames, *renames.values()):
            if not name or Path(name).name != name or "\0" in name or len(os.fsencode(name)) > _LONGEST_NAME:
                raise ValueError("a name that no file in its folder can have")
    except FileNotFoundError:  # another process has
        renames = {}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"{record}: damaged commit record ({error}); delete it") from None
    for part, name in renames.items():
        with suppress(FileNotFoundError):  # it was, before the interruption, or by another process
            record.with_name(part).replace(record.with_name(name))
    _flush_folder(record.parent)
    record.unlink(missing_ok=True)


def write_folder(out: Path, contents: Iterable[tuple[str, bytes | Path]], *, replaces: str = "") -> None:
    """Write a folder as one change: after a kill it is there whole, the old or the new.

    The new folder and the old change names in one step. Where the system cannot do that (Windows, some
    network file systems), a kill between two renames leaves the old one under a hidden name, and the next
    writer puts it back.

    Args:
        out: the folder, which must not be there.
        contents: file names, which may lie in a subfolder, each with bytes or a file to copy, taken one after
            the other.
        replaces: a stage, whose folder of before may be there and is replaced.

    Raises:
        FireError: it is there already, holds what no such stage wrote, or cannot be written; nothing is left
            behind.
    """
    part = out.with_name(f".{out.name}-{os.getpid()}.tmp")
    before = out.with_name(f".{out.name}-{os.getpid()}.moved.tmp")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        finish_interrupted(out.parent, with_folders=True)
        if out.exists():
            _refuse_others(out, replaces)
        folders = {part}
        for name, content in contents:
            folders.add((part / name).parent)
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            _write_through(part / name, content)
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
    manifest = manifest_at(out / MANIFEST)
    if not stage or manifest.stage != stage:
        wrong = f"no {stage}; take another name" if stage else "not overwritten; take another name or version"
        raise FireError(f"{out}: already exists, and is {wrong}")
    for path in sorted(out.rglob("*")):
        if not path.is_dir() and path.relative_to(out).as_posix() not in {MANIFEST, *manifest.outputs}:
            raise FireError(f"{path}: was not written by `{stage}`, which would delete it; move it elsewhere")


def checked(path: Path) -> Path:
    """Return `path`; refuse it if a manifest beside it says that other bytes were written.

    A file without a manifest is somebody's own and passes.

    Raises:
        StaleError: the bytes are not those that the stage wrote.
    """
    finish_interrupted(path.parent)
    writer, folder = writer_of(path), path.absolute().parent
    written = {writer.outputs.get(name) for name in (path.name, f"{folder.name}/{path.name}")} - {None}
    if written and sha256_of(path) not in written:
        raise StaleError(
            f"{path}: changed since `fire-toolkit {writer.stage}` wrote it; run that again, or delete its "
            "manifest to keep the file as it is"
        )
    return path


def writer_of(path: Path | None) -> Manifest:
    """Return the manifest of the stage that wrote `path`; `NONE` for a file of somebody's own, or no file.

    It is the file's own, its folder's, that of the folder above (`qrels/test.tsv` of a release), or that of a
    file written with it.

    Raises:
        FormatError: the manifest beside it is damaged.
    """
    if path is None or not path.name:  # the folder `.`
        return NONE
    name, folder = path.name, path.absolute().parent
    own = {path.with_name(name + _SUFFIX): name, path.with_name(MANIFEST): name}
    own[folder.parent / MANIFEST] = f"{folder.name}/{name}"
    for at, its_name in own.items():
        if its_name in (manifest := manifest_at(at)).outputs:
            return manifest
    others = [manifest_at(at) for at in sorted(path.parent.glob(f"*{_SUFFIX}")) if at not in own]
    found = [each for each in others if name in each.outputs]
    sha256 = sha256_of(path) if len(found) > 1 and path.is_file() else ""
    return next((each for each in found if each.outputs[name] == sha256), [*found, NONE][0])


def _write_through(path: Path, content: bytes | Path, mode: int = 0o666) -> None:
    path.touch(mode)
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


_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_HERE = -100  # AT_FDCWD: relative paths are of the current folder
_CANNOT = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}


def exchange(one: Path, other: Path) -> bool:
    """Give each of two paths what the other names, in one step; return False where that cannot be done.

    Linux and macOS can on most file systems; network file systems and Windows cannot.

    Raises:
        OSError: the system can, and did not: a path is not there or may not be written.
    """
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "linux":
        call, arguments = "renameat2", (_HERE, names[0], _HERE, names[1], ctypes.c_uint(_SWAP))
    elif sys.platform == "darwin":
        call, arguments = "renamex_np", (*names, ctypes.c_uint(_SWAP))
    else:
        return False
    function = getattr(ctypes.CDLL(None, use_errno=True), call, None)
    if function is None or function(*arguments) == 0:
        return function is not None
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(one))
