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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.errors import FireError
from fire_toolkit.files import sha256_of
from fire_toolkit.media.encode import Target, encode_video
from fire_toolkit.media.places import place_of
from fire_toolkit.media.playable import PLAYS, judge_media
from fire_toolkit.media.probe import probe_file
from fire_toolkit.media.pyav import load_pyav
from fire_toolkit.tables import Items, check_items
from fire_toolkit.workspace.manifests import finish_interrupted

RECORD = "transcoded.jsonl"
DONE, THERE, PLAYED, FAILED, ELSEWHERE = "transcoded", "done before", "plays", "failed", "not a file here"
COLUMNS = ("media_url", "state", "output", "reason")
_MAX_STEM = 80


@dataclass(frozen=True)
class Finished:
    """A finished video: hashes of source and output, the settings, the output's name, what was left out."""

    source_sha256: str
    settings: str
    output: str
    output_sha256: str
    n_pictures: int
    n_damaged: int


@dataclass(frozen=True)
class Transcoded:
    """items: with media_url of the new files; files: a row for each medium (see `transcode_media`)."""

    items: Items
    files: pd.DataFrame

    @property
    def counts(self) -> dict[str, int]:
        """How many media are in each state."""
        return {str(state): int(n) for state, n in self.files["state"].value_counts(sort=False).items()}


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
        FireError: PyAV is not installed; the disk is full or `out` cannot be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FireError(f"{out}: cannot be made: {error.strerror}") from None
    finish_interrupted(out)
    record = read_record(out)
    rows: list[tuple[str, str, str, str]] = []
    for number, media_url in enumerate(dict.fromkeys(items["media_url"]), start=1):
        report(number, Path(media_url).name)
        place = place_of(media_url, root)
        if place.kind != "file":
            rows.append((media_url, ELSEWHERE, "", ""))
            continue
        rows.append((media_url, *_transcode(place.path, out, target, record)))
    files = pd.DataFrame(rows, columns=list(COLUMNS), dtype="str")
    outputs = {row[0]: _written(out / row[2], root) for row in rows if row[2]}
    moved = items.assign(media_url=[outputs.get(url, url) for url in items["media_url"]])
    return Transcoded(check_items(moved), files)


def _written(path: Path, root: Path) -> str:
    """Return a path as it stands in items: relative to `root` where it lies below it."""
    whole, base = path.resolve(), root.resolve()
    return whole.relative_to(base).as_posix() if whole.is_relative_to(base) else whole.as_posix()


def _transcode(
    source: Path, out: Path, target: Target, record: dict[tuple[str, str], Finished]
) -> tuple[str, str, str]:
    if not source.is_file():
        return FAILED, "", "no such file"
    sha256 = sha256_of(source)
    finished = record.get((sha256, str(target)))
    if finished is not None and _is_whole(out, finished):
        return THERE, finished.output, _damage(finished)
    facts = probe_file(source)
    verdict = judge_media(facts)
    if verdict.state == PLAYS:
        return PLAYED, "", ""
    if facts.fault or facts.kind != "video":
        return FAILED, "", verdict.reason
    try:
        finished = _make(source, sha256, facts.duration_s, out, target)
    except ValueError as error:
        return FAILED, "", str(error)
    _remember(out, finished)
    record[sha256, str(target)] = finished
    return DONE, finished.output, _damage(finished)


def _damage(finished: Finished) -> str:
    return f"{finished.n_damaged} damaged packets left out" if finished.n_damaged else ""


def _is_whole(out: Path, finished: Finished) -> bool:
    path = out / finished.output
    return path.is_file() and sha256_of(path) == finished.output_sha256


def output_name(source: Path, sha256: str, target: Target) -> str:
    """Return the name of a source's new video: its own, and the start of its hash against doubles.

    Examples:
        >>> from fire_toolkit.media.encode import TARGETS
        >>> output_name(Path("v1.avi"), "0a1b2c3d4e5f", TARGETS["h264"])
        'v1-0a1b2c3d.mp4'
    """
    return f"{source.stem[:_MAX_STEM]}-{sha256[:8]}{target.suffix}"


def _make(source: Path, sha256: str, duration_s: float, out: Path, target: Target) -> Finished:
    """Encode into a temporary file, look whether it plays and is as long as its source, put it in place.

    Raises:
        ValueError: it cannot be done with this source; the text says why.
    """
    name = output_name(source, sha256, target)
    part = out / f".{name}.{os.getpid()}.tmp"
    try:
        encoded = encode_video(source, part, target)
        _check_result(part, duration_s)
        with part.open("rb+") as stream:
            os.fsync(stream.fileno())
        output_sha256 = sha256_of(part)
        part.replace(out / name)
    except load_pyav().error.FFmpegError as error:
        _raise_if_full(error, out)
        raise ValueError(f"cannot be decoded ({error.strerror})") from None
    except OSError as error:
        raise FireError(f"{out}: cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
    return Finished(sha256, str(target), name, output_sha256, encoded.n_pictures, encoded.n_damaged)


def _raise_if_full(error: Any, out: Path) -> None:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
        raise FireError(
            f"{out}: cannot be written: {os.strerror(error.errno)}; what is finished stays: free some space "
            "and run the same command again"
        ) from None


def _check_result(path: Path, duration_s: float) -> None:
    facts = probe_file(path)
    verdict = judge_media(facts)
    if verdict.state != PLAYS:
        raise ValueError(f"the new video does not play ({verdict.reason})")
    if duration_s and facts.duration_s < duration_s - max(1.0, 0.05 * duration_s):
        raise ValueError(f"only {facts.duration_s:.1f} of {duration_s:.1f} s can be decoded")


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
            is_name = Path(finished.output).name == finished.output
        except (ValueError, TypeError, RecursionError):
            continue
        if is_name:
            found[finished.source_sha256, finished.settings] = finished
    return found


def _remember(out: Path, finished: Finished) -> None:
    """Add a line and flush it to disk; what a kill left of a line before it is ended first."""
    line = json.dumps(asdict(finished), ensure_ascii=False) + "\n"
    try:
        with (out / RECORD).open("ab+") as stream:
            if stream.tell() > 0:
                stream.seek(-1, os.SEEK_END)
                line = line if stream.read(1) == b"\n" else "\n" + line
            stream.write(line.encode())
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise FireError(f"{out / RECORD}: cannot be written: {error.strerror}") from None
