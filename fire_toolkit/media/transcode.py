"""A collection's videos to ones that browsers play; what is finished is there, so a killed run goes on.

One video becomes pictures only, upright, by one encoder thread. A finished one's name holds a hash of its
source and of the settings; it is put in place whole, and is made again where it does not play any more.
"""

import errno
import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.errors import FireError
from fire_toolkit.files import sha256_of, text_sha256
from fire_toolkit.media.places import file_at
from fire_toolkit.media.probe import PLAYS, first_video, judge_media, load_pyav, open_media, probe_file
from fire_toolkit.tables import Items, check_items
from fire_toolkit.workspace.manifests import finish_interrupted

_TICK_S = Fraction(1, 90_000)
_USUAL_RATE = Fraction(25)


class Target(NamedTuple):
    """A form of video that browsers play: the container (and suffix), the encoder and its settings."""

    container: str
    encoder: str
    settings: dict[str, str]

    def __str__(self) -> str:
        return " ".join([self.encoder, *(f"{name}={value}" for name, value in self.settings.items())])


# Without mbtree=0, x264 was seen to give other bytes for the same pictures in 24 of 75 runs, depending on
# what the process had encoded before; with it, in none of 300.
TARGETS = {
    "h264": Target("mp4", "libx264", {"preset": "fast", "crf": "23", "mbtree": "0"}),
    "vp9": Target("webm", "libvpx-vp9", {"deadline": "good", "cpu-used": "4", "crf": "34"}),
}


def encode_video(source: Path, path: Path, target: Target) -> int:
    """Write the first video of `source` to `path`, 8 bit 4:2:0, without sound.

    Returns how many damaged packets of the source were left out. Times, sides of pixels and the way up are
    kept; sizes become even (a row or column is lost to scaling). The same source gives the same bytes with
    the same FFmpeg.

    Raises:
        FFmpegError (of PyAV): the source cannot be read, or the file not be written.
        ValueError: not one picture can be decoded.
    """
    damaged: list[Any] = []
    options = {"fflags": "+bitexact"} | ({"movflags": "+faststart"} if target.container == "mp4" else {})
    with (
        open_media(source) as reader,
        load_pyav().open(str(path), "w", format=target.container, container_options=options) as writer,
    ):
        video = first_video(reader)
        if video is None:
            raise ValueError("no video in it")
        stream: Any = None
        for picture, ticks in _pictures(reader, video, damaged):
            if stream is None:
                stream = _add_stream(writer, video, picture, target)
            writer.mux(stream.encode(_fitted(picture, ticks, stream)))
        if stream is None:
            raise ValueError("no picture can be decoded")
        writer.mux(stream.encode())
    return len(damaged)


def _pictures(reader: Any, video: Any, damaged: list[Any]) -> Iterator[tuple[Any, int]]:
    """Yield the pictures of a stream the right way up, each with a time of its own that rises from 0.

    damaged: takes the packets that cannot be decoded.
    """
    import numpy as np

    av = load_pyav()
    step = int(1 / (video.average_rate or _USUAL_RATE) / _TICK_S) or 1
    start, last = None, -1
    for packet in reader.demux(video):
        try:
            decoded = packet.decode()
        except av.error.InvalidDataError:
            damaged.append(packet)
            continue
        for frame in decoded:
            if frame.pts is None or frame.time_base is None:  # it follows the picture before it
                ticks = last + step if last >= 0 else 0
            else:
                ticks = round(frame.pts * frame.time_base / _TICK_S)
                start = ticks - max(last, 0) if start is None else start
                ticks -= start
            last = max(ticks, last + 1)
            if turns := round(frame.rotation / 90) % 4:
                turned = np.ascontiguousarray(np.rot90(frame.to_ndarray(format="rgb24"), turns))
                frame = av.VideoFrame.from_ndarray(turned, format="rgb24")
            yield frame, last


def _add_stream(writer: Any, video: Any, picture: Any, target: Target) -> Any:
    rate = video.average_rate or _USUAL_RATE
    stream = writer.add_stream(target.encoder, rate=rate, options=target.settings)
    stream.width, stream.height = (max(2, each - each % 2) for each in (picture.width, picture.height))
    stream.pix_fmt = "yuv420p"
    context = stream.codec_context
    context.time_base, context.thread_count = _TICK_S, 1
    if sides := video.sample_aspect_ratio:
        was = (video.codec_context.width, video.codec_context.height)
        context.sample_aspect_ratio = 1 / sides if (picture.width, picture.height) != was else sides
    if target.encoder == "libvpx-vp9":
        context.bit_rate = 0  # quality alone decides
    return stream


def _fitted(picture: Any, ticks: int, stream: Any) -> Any:
    """Return the picture in the stream's size and pixel format, free to become any kind of picture."""
    video = load_pyav().video
    ranges = video.reformatter.ColorRange
    names = ("yuvj", "rgb", "gbr", "gray")
    is_full = picture.color_range == ranges.JPEG or picture.format.name.startswith(names)
    fitted = picture.reformat(
        width=stream.width,
        height=stream.height,
        format="yuv420p",
        src_color_range=ranges.JPEG if is_full else ranges.MPEG,
        dst_color_range=ranges.MPEG,
    )
    fitted.pts, fitted.time_base = ticks, _TICK_S
    fitted.pict_type = video.frame.PictureType.NONE
    return fitted


DONE, THERE, PLAYED, FAILED, ELSEWHERE = "transcoded", "done before", "plays", "failed", "not a file here"
_NOT_WRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS)


def transcode_media(
    items: Items,
    *,
    root: Path,
    out: Path,
    target: Target,
    report: Callable[[int, str], None] = lambda n, name: None,
) -> tuple[Items, pd.DataFrame]:
    """Make every video of `items` that browsers do not all play into one that they do.

    Args:
        items: media_url is a path (relative ones start at `root`) or an address; addresses stay.
        root: a folder.
        out: where the videos go; made if it is not there. What an earlier, perhaps killed, run finished
            there is kept if it is still whole.
        target: see `TARGETS`.
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
    rows: list[tuple[str, str, str]] = []
    moved: dict[str, str] = {}
    for number, media_url in enumerate(dict.fromkeys(items["media_url"]), start=1):
        report(number, Path(media_url).name)
        source, made = file_at(media_url, root), None
        try:
            state, made, reason = _finished(source, out, target) if source else (ELSEWHERE, None, "")
        except ValueError as error:
            state, reason = FAILED, str(error)
        if made:
            path, base = made.resolve(), root.resolve()
            moved[media_url] = (path.relative_to(base) if path.is_relative_to(base) else path).as_posix()
        rows.append((media_url, state, reason))
    files = pd.DataFrame(rows, columns=["media_url", "state", "reason"], dtype="str")
    urls = [moved.get(url, url) for url in items["media_url"]]
    return check_items(items.assign(media_url=urls)), files


def _finished(source: Path, out: Path, target: Target) -> tuple[str, Path | None, str]:
    """Return the new video of a source, as it was made before or is made now, None where the source plays.

    The text says how many damaged packets were left out.

    Raises:
        ValueError: it cannot be done with this source; the text says why.
    """
    if not source.is_file():
        raise ValueError("no such file")
    key = text_sha256(f"{sha256_of(source)} {target}")[:12]  # tells sources of one name apart
    made = out / f"{source.stem[:80]}-{key}.{target.container}"
    if judge_media(probe_file(made))[0] == PLAYS:
        return THERE, made, ""
    facts = probe_file(source)
    state, reason = judge_media(facts)
    if state == PLAYS:
        return PLAYED, None, ""
    if facts.fault or facts.kind != "video":
        raise ValueError(reason)
    part = out / f".{made.name}.{os.getpid()}.tmp"
    pyav_fault = load_pyav().error.FFmpegError
    try:
        n_damaged = encode_video(source, part, target)
        new = probe_file(part)
        state, reason = judge_media(new)
        if state != PLAYS:
            raise ValueError(f"the new video does not play ({reason})")
        if facts.duration_s and new.duration_s < facts.duration_s - max(1.0, 0.05 * facts.duration_s):
            raise ValueError(f"only {new.duration_s:.1f} of {facts.duration_s:.1f} s can be decoded")
        with part.open("rb+") as stream:
            os.fsync(stream.fileno())
        part.replace(made)
    except (pyav_fault, OSError) as error:
        if isinstance(error, pyav_fault) and error.errno not in _NOT_WRITABLE:
            raise ValueError(f"cannot be decoded ({error.strerror})") from None
        raise FireError(
            f"{out}: cannot be written: {os.strerror(error.errno or 0)}; what is finished stays: free some "
            "space and run the same command again"
        ) from None
    finally:
        part.unlink(missing_ok=True)
    return DONE, made, f"{n_damaged} damaged packets left out" if n_damaged else ""
