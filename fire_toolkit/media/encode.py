"""One video to one that browsers play: pictures only, upright, one encoder thread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.media.pyav import first_video, load_pyav, open_media

_TICKS_PER_S = 90_000
_USUAL_RATE = Fraction(25)


@dataclass(frozen=True)
class Target:
    """A form of video that browsers play: the file's kind, the encoder and its settings."""

    suffix: str
    container: str
    encoder: str
    settings: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return " ".join([self.encoder, *(f"{name}={value}" for name, value in self.settings)])


# Without mbtree=0, x264 was seen to give other bytes for the same pictures in 24 of 75 runs, depending on
# what the process had encoded before; with it, in none of 300.
TARGETS = {
    "h264": Target(".mp4", "mp4", "libx264", (("preset", "fast"), ("crf", "23"), ("mbtree", "0"))),
    "vp9": Target(".webm", "webm", "libvpx-vp9", (("deadline", "good"), ("cpu-used", "4"), ("crf", "34"))),
}


@dataclass(frozen=True)
class Encoded:
    """How many pictures were written, and how many packets of the source were damaged and left out."""

    n_pictures: int
    n_damaged: int


def check_target(name: str) -> Target:
    """Return the target of that name.

    Raises:
        UsageError: no such target.
        FireError: PyAV is not installed, or has no encoder for it.
    """
    if name not in TARGETS:
        raise UsageError(f"{name!r}: expected one of {', '.join(TARGETS)}")
    target = TARGETS[name]
    if target.encoder not in load_pyav().codecs_available:
        others = ", ".join(other for other in TARGETS if other != name)
        raise FireError(f"this PyAV has no encoder {target.encoder}; choose {others}")
    return target


def encode_video(source: Path, path: Path, target: Target) -> Encoded:
    """Write the first video of `source` to `path`, 8 bit 4:2:0, without sound.

    Times, sides of pixels and the way up are kept; sizes become even (a row or column is lost to
    scaling). Damaged packets are left out. The same source gives the same bytes with the same FFmpeg.

    Raises:
        FFmpegError (of PyAV): the source cannot be read, or the file not be written.
        ValueError: not one picture can be decoded.
    """
    av = load_pyav()
    options = {"movflags": "+faststart", "fflags": "+bitexact"}
    if target.container != "mp4":
        del options["movflags"]
    with (
        open_media(source) as reader,
        av.open(str(path), "w", format=target.container, container_options=options) as writer,
    ):
        video = first_video(reader)
        if video is None:
            raise ValueError("no video in it")
        pictures = _Pictures(video, av)
        stream: Any = None
        for frame in pictures.frames(reader):
            if stream is None:
                stream = _add_stream(writer, video, frame, target)
            writer.mux(stream.encode(_fitted(frame, stream, av)))
        if stream is None:
            raise ValueError("no picture can be decoded")
        writer.mux(stream.encode())
    return Encoded(pictures.n_decoded, pictures.n_damaged)


class _Pictures:
    """The pictures of a stream in order, each with a time of its own that rises from 0."""

    def __init__(self, video: Any, av: Any) -> None:
        self._video, self._av = video, av
        self._step = int(_TICKS_PER_S / (video.average_rate or _USUAL_RATE)) or 1
        self._first: int | None = None
        self._last = -1
        self.n_decoded = self.n_damaged = 0

    def frames(self, reader: Any) -> Iterator[Any]:
        for packet in reader.demux(self._video):
            try:
                decoded = packet.decode()
            except self._av.error.InvalidDataError:
                self.n_damaged += 1
                continue
            for frame in decoded:
                self.n_decoded += 1
                yield self._upright(frame, self._time_of(frame))

    def _time_of(self, frame: Any) -> int:
        """Return a picture's time in ticks; one without a time follows the picture before it."""
        if frame.pts is None or frame.time_base is None:
            ticks = self._last + self._step if self.n_decoded > 1 else 0
        else:
            ticks = round(frame.pts * frame.time_base * _TICKS_PER_S)
            self._first = ticks - max(self._last, 0) if self._first is None else self._first
            ticks -= self._first
        self._last = max(ticks, self._last + 1)
        return self._last

    def _upright(self, frame: Any, ticks: int) -> Any:
        """Return the picture turned as a player would turn it, with its time."""
        import numpy as np

        turns = round(frame.rotation / 90) % 4
        if turns:
            turned = np.ascontiguousarray(np.rot90(frame.to_ndarray(format="rgb24"), turns))
            frame = self._av.VideoFrame.from_ndarray(turned, format="rgb24")
        frame.pts, frame.time_base = ticks, Fraction(1, _TICKS_PER_S)
        return frame


def _add_stream(writer: Any, video: Any, frame: Any, target: Target) -> Any:
    rate = video.average_rate or _USUAL_RATE
    stream = writer.add_stream(target.encoder, rate=rate, options=dict(target.settings))
    stream.width, stream.height = _even(frame.width), _even(frame.height)
    stream.pix_fmt = "yuv420p"
    context = stream.codec_context
    context.time_base = Fraction(1, _TICKS_PER_S)
    context.thread_count = 1
    sides = video.sample_aspect_ratio
    if sides:
        is_turned = (frame.width, frame.height) != (video.codec_context.width, video.codec_context.height)
        context.sample_aspect_ratio = 1 / sides if is_turned else sides
    if target.encoder == "libvpx-vp9":
        context.bit_rate = 0  # quality alone decides
    return stream


def _even(length: int) -> int:
    return max(2, length - length % 2)


def _fitted(frame: Any, stream: Any, av: Any) -> Any:
    """Return the picture in the stream's size and pixel format, free to become any kind of picture."""
    ranges = av.video.reformatter.ColorRange
    is_full = frame.color_range == ranges.JPEG or frame.format.name.startswith(("yuvj", "rgb", "gbr", "gray"))
    fitted = frame.reformat(
        width=stream.width,
        height=stream.height,
        format="yuv420p",
        src_color_range=ranges.JPEG if is_full else ranges.MPEG,
        dst_color_range=ranges.MPEG,
    )
    fitted.pts, fitted.time_base = frame.pts, frame.time_base
    fitted.pict_type = av.video.frame.PictureType.NONE
    return fitted
