"""What a media file is, by its content: images by Pillow, everything else by PyAV."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from fire_toolkit.media.playable import MediaFacts
from fire_toolkit.media.pyav import first_video, load_pyav, open_media

_HEAD_BYTES = 64
_MAX_MISSING_S = 0.5
_MAX_MISSING_SHARE = 0.05
_MICROSECONDS = 1_000_000


def probe_file(path: Path) -> MediaFacts:
    """Return what the file at `path` is; what is wrong with it stands in `fault`.

    The first picture is decoded and the rest is walked through, so that a file that was cut short is
    noticed.

    Raises:
        FireError: it is not an image, and PyAV is not installed.
    """
    if not path.exists():
        return MediaFacts(fault="no such file")
    if not path.is_file():
        return MediaFacts(fault="not a file")
    try:
        with path.open("rb") as stream:
            return probe_stream(stream, is_whole=True)
    except PermissionError:
        return MediaFacts(fault="you may not read this file")


def probe_stream(stream: BinaryIO, *, is_whole: bool) -> MediaFacts:
    """Return what a readable, seekable stream holds; `is_whole`: also look whether its end is there.

    Raises:
        FireError: it is not an image, and PyAV is not installed.
    """
    head = stream.read(_HEAD_BYTES)
    stream.seek(0)
    if not head:
        return MediaFacts(fault="empty file")
    image = image_format(head)
    return _probe_image(stream, image) if image else _probe_video(stream, head, is_whole)


def image_format(head: bytes) -> str:
    """Return the image format that the first bytes of a file show; empty for anything else.

    Examples:
        >>> image_format(b"GIF89a..."), image_format(b"RIFF....AVI ")
        ('gif', '')
    """
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if head[4:8] == b"ftyp" and head[8:12] in (b"avif", b"heic", b"heix", b"mif1"):
        return "avif" if head[8:12] == b"avif" else "heic"
    return next((name for start, name in _IMAGE_STARTS if head.startswith(start)), "")


_IMAGE_STARTS = (
    (b"\xff\xd8\xff", "jpeg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF8", "gif"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"BM", "bmp"),
)


def _probe_image(stream: BinaryIO, name: str) -> MediaFacts:
    from PIL import Image, UnidentifiedImageError  # comes with label-studio-sdk

    facts = MediaFacts("image", container=name, codec=name)
    try:
        with Image.open(stream) as picture:
            picture.load()
            width, height = picture.size
            return replace(facts, pixel_format=picture.mode, width=width, height=height)
    except UnidentifiedImageError:
        return facts if name in ("avif", "heic") else replace(facts, fault=f"damaged {name.upper()} picture")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        return replace(facts, fault=f"damaged {name.upper()} picture ({error})")


def _probe_video(stream: BinaryIO, head: bytes, is_whole: bool) -> MediaFacts:
    av = load_pyav()
    try:
        with open_media(stream) as container:
            return _facts_of(container, head, is_whole)
    except (av.error.FFmpegError, OSError, IndexError, ValueError):
        return MediaFacts(fault="neither video nor picture, or damaged from the start")


def _facts_of(container: Any, head: bytes, is_whole: bool) -> MediaFacts:
    name = _container_name(container, head)
    stream = first_video(container)
    if stream is None:
        has_audio = len(container.streams.audio) > 0
        return MediaFacts("", name, fault="sound without pictures" if has_audio else "no video in it")
    context = stream.codec_context
    facts = MediaFacts(
        "video",
        name,
        context.codec.canonical_name,
        context.pix_fmt or "",
        context.width,
        context.height,
        (container.duration or 0) / _MICROSECONDS,
    )
    return replace(facts, fault=_fault_inside(container, stream, facts.duration_s, is_whole))


def _container_name(container: Any, head: bytes) -> str:
    names = str(container.format.name).split(",")
    if "matroska" in names:
        return "webm" if b"webm" in head else "mkv"
    if "mp4" in names:
        brand = str(container.metadata.get("major_brand", "qt")).strip()
        return "mov" if brand == "qt" else "mp4"
    return names[0]


def _fault_inside(container: Any, stream: Any, duration_s: float, is_whole: bool) -> str:
    """Return what is wrong inside: no picture can be decoded, or it ends before it should."""
    av = load_pyav()
    has_picture, end_s = False, 0.0
    start_s = (container.start_time or 0) / _MICROSECONDS
    try:
        for packet in container.demux(stream, *container.streams.audio):
            has_picture = has_picture or (packet.stream is stream and _decodes(packet, av))
            if has_picture and not is_whole:
                return ""
            if packet.dts is not None and packet.time_base is not None:
                last = max(packet.dts, packet.pts or packet.dts) + (packet.duration or 0)
                end_s = max(end_s, float(last * packet.time_base))
    except av.error.FFmpegError:
        pass  # the rest cannot be read: how far it came says enough
    if not has_picture:
        return "no picture can be decoded"
    missing_s = duration_s - (end_s - start_s)
    if missing_s > max(_MAX_MISSING_S, _MAX_MISSING_SHARE * duration_s):
        return f"cut short: ends after {max(end_s - start_s, 0):.1f} of {duration_s:.1f} s"
    return ""


def _decodes(packet: Any, av: Any) -> bool:
    try:
        return bool(packet.decode())
    except av.error.FFmpegError:
        return False
