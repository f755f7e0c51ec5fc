"""A collection's videos to ones that browsers play; what is done is remembered, so a killed run goes on.

Beside the videos lies `transcoded.jsonl`: a line for each finished one, with the hash of its source, the
settings, and its own hash. A line is written once the file is in place; a file that is no longer what its
line says is made again.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from fire_toolkit.errors import FireError
from fire_toolkit.files import sha256_of
from fire_toolkit.media.encode import TARGETS, Target, encode_video
from fire_toolkit.media.places import file_at
from fire_toolkit.media.probe import PLAYS, judge_media, load_pyav, probe_file
from fire_toolkit.tables import Items, check_items
from fire_toolkit.workspace.manifests import finish_interrupted

RECORD = "transcoded.jsonl"
DONE, THERE, PLAYED, FAILED, ELSEWHERE = "transcoded", "done before", "plays", "failed", "not a file here"
_NOT_WRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS)


class Finished(NamedTuple):
    """A finished video: hashes of source and output, the settings, the output's name, what was left out."""

    source_sha256: str
    settings: str
    output: str
    output_sha256: str
    n_pictures: int
    n_damaged: int


class Transcoded(NamedTuple):
    """items: with media_url of the new files; files: a row for each medium (see `transcode_media`)."""

    items: Items
    files: pd.DataFrame


def transcode_media(
    items: Items,
    *,
    root: Path,
    out: Path,
    target: Target,
    report: Callable[[int, str], None] = lambda n, name: None,
) -> Transcoded:
    """Make every video of `items` that browsers do not all play into one that they do.

    Args:
        items: media_url is a path (relative ones start at `root`) or an address; addresses stay.
        root: a folder.
        out: where the videos go; made if it is not there. What an earlier, perhaps killed, run finished
            there is kept if it is still whole.
        target: see `encode.TARGETS`.
        report: called before each medium with its number and name.

    Returns:
        The items, in their order, with paths of the new videos (relative to `root` where they lie below
        it), and for each different media_url a row: state `transcoded`, `done before`, `plays` (left as
        it is), `not a file here`, or `failed` with a reason; its item keeps the old media_url then.

    Raises:
        FireError: PyAV is not installed, or has no encoder for the target; the disk is full or `out` cannot
            be written.
    """
    if target.encoder not in load_pyav().codecs_available:
        others = ", ".join(name for name, other in TARGETS.items() if other != target)
        raise FireError(f"this PyAV has no encoder {target.encoder}; choose {others}")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FireError(f"{out}: cannot be made: {error.strerror}") from None
    finish_interrupted(out)
    record = read_record(out)
    rows: list[tuple[str, str, str]] = []
    moved: dict[str, str] = {}
    for number, media_url in enumerate(dict.fromkeys(items["media_url"]), start=1):
        report(number, Path(media_url).name)
        source = file_at(media_url, root)
        if source is None:
            rows.append((media_url, ELSEWHERE, ""))
            continue
        try:
            state, finished = _finished(source, out, target, record)
        except ValueError as error:
            rows.append((media_url, FAILED, str(error)))
            continue
        n_damaged = finished.n_damaged if finished else 0
        rows.append((media_url, state, f"{n_damaged} damaged packets left out" if n_damaged else ""))
        if finished:
            path, base = (out / finished.output).resolve(), root.resolve()
            moved[media_url] = (path.relative_to(base) if path.is_relative_to(base) else path).as_posix()
    files = pd.DataFrame(rows, columns=["media_url", "state", "reason"], dtype="str")
    urls = [moved.get(url, url) for url in items["media_url"]]
    return Transcoded(check_items(items.assign(media_url=urls)), files)


def _finished(
    source: Path, out: Path, target: Target, record: dict[tuple[str, str], Finished]
) -> tuple[str, Finished | None]:
    """Return the new video of a source, as it was made before or is made now; None where the source plays.

    Raises:
        ValueError: it cannot be done with this source; the text says why.
    """
    if not source.is_file():
        raise ValueError("no such file")
    key = (sha256_of(source), str(target))
    known = record.get(key)
    if known and (out / known.output).is_file() and sha256_of(out / known.output) == known.output_sha256:
        return THERE, known
    facts = probe_file(source)
    verdict = judge_media(facts)
    if verdict.state == PLAYS:
        return PLAYED, None
    if facts.fault or facts.kind != "video":
        raise ValueError(verdict.reason)
    pyav_fault = load_pyav().error.FFmpegError
    try:
        record[key] = _make(source, key[0], facts.duration_s, out, target)
        _remember(out, record[key])
    except (pyav_fault, OSError) as error:
        if isinstance(error, pyav_fault) and error.errno not in _NOT_WRITABLE:
            raise ValueError(f"cannot be decoded ({error.strerror})") from None
        raise FireError(
            f"{out}: cannot be written: {os.strerror(error.errno or 0)}; what is finished stays: free some "
            "space and run the same command again"
        ) from None
    return DONE, record[key]


def _make(source: Path, sha256: str, duration_s: float, out: Path, target: Target) -> Finished:
    """Encode into a temporary file, look whether it plays and is as long as its source, put it in place."""
    name = f"{source.stem[:80]}-{sha256[:8]}.{target.container}"  # the hash tells sources of one name apart
    part = out / f".{name}.{os.getpid()}.tmp"
    try:
        encoded = encode_video(source, part, target)
        facts = probe_file(part)
        verdict = judge_media(facts)
        if verdict.state != PLAYS:
            raise ValueError(f"the new video does not play ({verdict.reason})")
        if duration_s and facts.duration_s < duration_s - max(1.0, 0.05 * duration_s):
            raise ValueError(f"only {facts.duration_s:.1f} of {duration_s:.1f} s can be decoded")
        with part.open("rb+") as stream:
            os.fsync(stream.fileno())
        output_sha256 = sha256_of(part)
        part.replace(out / name)
    finally:
        part.unlink(missing_ok=True)
    return Finished(sha256, str(target), name, output_sha256, encoded.n_pictures, encoded.n_damaged)


def read_record(out: Path) -> dict[tuple[str, str], Finished]:
    """Return what was finished in `out`, by the source's hash and the settings.

    A line that cannot be read (a kill cut it short) counts as not finished; a later line replaces an
    earlier one.
    """
    path = out / RECORD
    found: dict[tuple[str, str], Finished] = {}
    for line in path.read_bytes().splitlines() if path.is_file() else []:
        try:
            finished = Finished(**json.loads(line))
            if Path(finished.output).name == finished.output:
                found[finished.source_sha256, finished.settings] = finished
        except (ValueError, TypeError, RecursionError):
            continue
    return found


def _remember(out: Path, finished: Finished) -> None:
    """Add a line and flush it to disk; what a kill left of a line before it is ended first."""
    line = json.dumps(finished._asdict(), ensure_ascii=False) + "\n"
    with (out / RECORD).open("ab+") as stream:
        if stream.tell() > 0:
            stream.seek(-1, os.SEEK_END)
            line = line if stream.read(1) == b"\n" else "\n" + line
        stream.write(line.encode())
        stream.flush()
        os.fsync(stream.fileno())
