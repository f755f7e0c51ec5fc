"""One video to one that browsers play: pictures only, upright, one encoder thread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from fire_toolkit.media.probe import first_video, load_pyav, open_media

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


@dataclass
class Encoded:
    """How many pictures were written, and how many packets of the source were damaged and left out."""

    n_pictures: int = 0
    n_damaged: int = 0


def encode_video(source: Path, path: Path, target: Target) -> Encoded:
    """Write the first video of `source` to `path`, 8 bit 4:2:0, without sound.

    Times, sides of pixels and the way up are kept; sizes become even (a row or column is lost to
    scaling). Damaged packets are left out. The same source gives the same bytes with the same FFmpeg.

    Raises:
        FFmpegError (of PyAV): the source cannot be read, or the file not be written.
        ValueError: not one picture can be decoded.
    """
    done = Encoded()
    options = {"fflags": "+bitexact"} | ({"movflags": "+faststart"} if target.container == "mp4" else {})
    with (
        open_media(source) as reader,
        load_pyav().open(str(path), "w", format=target.container, container_options=options) as writer,
    ):
        video = first_video(reader)
        if video is None:
            raise ValueError("no video in it")
        stream: Any = None
        for picture, ticks in _pictures(reader, video, done):
            if stream is None:
                stream = _add_stream(writer, video, picture, target)
            writer.mux(stream.encode(_fitted(picture, ticks, stream)))
        if stream is None:
            raise ValueError("no picture can be decoded")
        writer.mux(stream.encode())
    return done


def _pictures(reader: Any, video: Any, done: Encoded) -> Iterator[tuple[Any, int]]:
    """Yield the pictures of a stream the right way up, each with a time of its own that rises from 0."""
    import numpy as np

    av = load_pyav()
    step = int(1 / (video.average_rate or _USUAL_RATE) / _TICK_S) or 1
    start, last = None, -1
    for packet in reader.demux(video):
        try:
            decoded = packet.decode()
        except av.error.InvalidDataError:
            done.n_damaged += 1
            continue
        for frame in decoded:
            if frame.pts is None or frame.time_base is None:  # it follows the picture before it
                ticks = last + step if done.n_pictures else 0
            else:
                ticks = round(frame.pts * frame.time_base / _TICK_S)
                start = ticks - max(last, 0) if start is None else start
                ticks -= start
            done.n_pictures += 1
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
