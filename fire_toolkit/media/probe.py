"""What a media file is, by its content, and whether browsers play it: images by Pillow, the rest by PyAV."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FireError

PLAYS, SOME, NO, UNSEEN = "plays", "some browsers", "no", "not looked at"

# Demuxers of single files; those of playlists and lists open whatever their text names.
_FORMATS = (
    "mov,mp4,m4a,3gp,3g2,mj2 matroska,webm avi flv mpegts mpeg mpegvideo m4v h264 hevc ogg asf ivf dv mxf "
    "rm nut gif mp3 wav aac flac"
)
_IMAGE_STARTS = {
    b"\xff\xd8\xff": "jpeg",
    b"\x89PNG\r\n\x1a\n": "png",
    b"GIF8": "gif",
    b"II*\0": "tiff",
    b"MM\0*": "tiff",
    b"BM": "bmp",
}
# Where every browser plays or shows a codec, of what is no fault in itself.
_EVERYWHERE: dict[str, dict[str, tuple[str, ...]]] = {
    "video": {"h264": ("mp4",), "av1": ("mp4", "webm"), "vp9": ("mp4", "webm"), "vp8": ("webm",)},
    "audio": {"mp3": ("mp3",), "aac": ("mp4", "aac"), "flac": ("flac",), "pcm": ("wav",)},
    "image": {name: (name,) for name in ("jpeg", "png", "webp", "gif")},
}
_CHROMIUM = {  # the codecs that it plays, and in what
    "video": ("h264 av1 vp9 vp8", "mp4 webm mov mkv"),
    "audio": ("mp3 aac flac pcm opus vorbis", "mp3 mp4 aac flac wav ogg webm mov mkv"),
}
_PIXELS = ("yuv420p", "yuvj420p", "yuva420p")
_DEEP_PIXELS = "yuv420p10le"  # with any codec but H.264
_NAMES = {
    "h264": "H.264",
    "mpeg4": "MPEG-4 part 2",
    "mpeg2video": "MPEG-2",
    "mpeg1video": "MPEG-1",
    "mjpeg": "Motion JPEG",
    "theora": "Theora",
}
_NAMES |= {name: name.upper() for name in ("hevc", "vp8", "vp9", "av1")}
_MICROSECONDS = 1_000_000
BLOCK_BYTES = 262_144  # read at once


@dataclass(frozen=True)
class MediaFacts:
    """What a media file is.

    kind: `video`, `image`, `audio`, or empty where it is none; container: `mp4`, `mov`, `webm`, `mkv`, `avi`,
    ...; codec: as FFmpeg names it, or the image's format; duration_s: 0 where it is not known or has
    none; fault: why it cannot be shown by anything, or empty.
    """

    kind: str = ""
    container: str = ""
    codec: str = ""
    pixel_format: str = ""
    duration_s: float = 0.0
    fault: str = ""


def judge_media(facts: MediaFacts) -> tuple[str, str]:
    """Return whether browsers play a file (`plays`, `some browsers`, `no`), and why not.

    `plays`: H.264 (8 bit, 4:2:0), AV1 and VP9 in MP4; VP8, VP9 and AV1 in WebM; JPEG, PNG, WebP and GIF; of
    sounds MP3, WAV, FLAC and AAC.
    `some browsers`: seen to play in Chromium 156, and not in every other: those codecs in MOV or MKV, and
    other pixel formats; Opus and Vorbis. `no`: everything else; seen not to play in Chromium: HEVC, MPEG-4
    part 2, MPEG-2 and Motion JPEG in MP4; AC-3, ALAC, ADPCM and WMA; AVI, FLV and MPEG-TS with anything.

    Examples:
        >>> judge_media(MediaFacts("video", "avi", "mpeg4", "yuv420p"))
        ('no', 'MPEG-4 part 2 in AVI: Chromium does not play it')
        >>> judge_media(MediaFacts("video", "mp4", "h264", "yuv420p"))
        ('plays', '')
    """
    kind, codec, pixels = facts.kind, facts.codec.partition("_")[0], facts.pixel_format
    if facts.fault:
        return NO, facts.fault
    known, what = _EVERYWHERE[kind], f"{_NAMES.get(facts.codec, facts.codec)} in {facts.container.upper()}"
    codecs, boxes = _CHROMIUM.get(kind, (codec, facts.container))
    if codec not in codecs.split() or facts.container not in boxes.split():
        return NO, f"{what}: Chromium does not play it"
    if facts.container not in known.get(codec, ()):
        if kind == "image":
            return NO, f"{codec.upper()} picture: not every browser"
        return SOME, f"{what}: not every browser plays it"
    if kind == "video" and pixels not in _PIXELS and (pixels != _DEEP_PIXELS or codec == "h264"):
        return SOME, f"{what}, {pixels}: not every browser plays it"
    return PLAYS, ""


def load_pyav() -> Any:
    """Return the module `av`.

    Raises:
        FireError: PyAV is not installed.
    """
    try:
        import av
    except ImportError:
        raise FireError(
            "PyAV is not installed, and videos cannot be checked without it: pip install av"
        ) from None
    return av


def open_media(source: Any) -> Any:
    """Return PyAV's container of a path or a readable stream; other files that it names are not opened."""
    target = str(source) if isinstance(source, Path) else source
    options = {"format_whitelist": ",".join(_FORMATS.split())}
    return load_pyav().open(target, options=options, buffer_size=BLOCK_BYTES)


def first_video(container: Any) -> Any:
    """Return the first video stream of a known codec that is no cover picture of music, or None."""
    for stream in container.streams.video:
        if stream.codec_context and not stream.disposition & type(stream.disposition).attached_pic:
            return stream
    return None


def probe_file(path: Path) -> MediaFacts:
    """Return what the file at `path` is; what is wrong with it stands in `fault`.

    The first picture is decoded and the rest is walked through, so that a file that was cut short is
    noticed.

    Raises:
        FireError: it is not an image, and PyAV is not installed.
    """
    if not path.is_file():
        return MediaFacts(fault="not a file" if path.exists() else "no such file")
    try:
        with path.open("rb") as stream:
            return probe_stream(stream, is_whole=True)
    except PermissionError:
        return MediaFacts(fault="you may not read this file")


def probe_stream(stream: Any, *, is_whole: bool) -> MediaFacts:
    """Return what a readable, seekable stream holds; `is_whole`: also look whether its end is there.

    Raises:
        FireError: it is not an image, and PyAV is not installed.
    """
    head = stream.read(64)
    stream.seek(0)
    if not head:
        return MediaFacts(fault="empty file")
    if image := image_format(head):
        return _probe_image(stream, image)
    av = load_pyav()
    try:
        with open_media(stream) as container:
            return _probe_video(container, head, is_whole)
    except (av.error.FFmpegError, OSError, IndexError, ValueError):
        return MediaFacts(fault="neither video nor picture, or damaged from the start")


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
    return next((name for start, name in _IMAGE_STARTS.items() if head.startswith(start)), "")


def _probe_image(stream: Any, name: str) -> MediaFacts:
    from PIL import Image, UnidentifiedImageError  # comes with label-studio-sdk

    facts = MediaFacts("image", container=name, codec=name)
    try:
        with Image.open(stream) as picture:
            picture.load()
            return replace(facts, pixel_format=picture.mode)
    except UnidentifiedImageError:
        return facts if name in ("avif", "heic") else replace(facts, fault=f"damaged {name.upper()} picture")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        return replace(facts, fault=f"damaged {name.upper()} picture ({error})")


def _probe_video(container: Any, head: bytes, is_whole: bool) -> MediaFacts:
    names = str(container.format.name).split(",")
    name = names[0]
    if "matroska" in names:
        name = "webm" if b"webm" in head else "mkv"
    elif "mp4" in names:
        name = "mov" if str(container.metadata.get("major_brand", "qt")).strip() == "qt" else "mp4"
    video = first_video(container)
    stream = video or next((each for each in container.streams.audio if each.codec_context), None)
    if stream is None:
        return MediaFacts("", name, fault="neither video nor sound of a known codec in it")
    context = stream.codec_context
    duration_s = (container.duration or 0) / _MICROSECONDS
    fault = _fault_inside(container, stream, duration_s, is_whole)
    codec = context.codec.canonical_name
    if video is None:
        return MediaFacts("audio", "mp4" if name == "mov" else name, codec, "", duration_s, fault)
    return MediaFacts("video", name, codec, context.pix_fmt or "", duration_s, fault)


def _fault_inside(container: Any, stream: Any, duration_s: float, is_whole: bool) -> str:
    """Return what is wrong inside: nothing of a stream can be decoded, or it ends before it should."""
    unreadable = load_pyav().error.FFmpegError
    is_decoded, end_s = False, 0.0
    with suppress(unreadable):  # where the rest cannot be read, how far it came says enough
        others = [each for each in container.streams.audio if each is not stream]
        for packet in container.demux(stream, *others):
            if packet.stream is stream and not is_decoded:
                with suppress(unreadable):
                    is_decoded = bool(packet.decode())
            if is_decoded and not is_whole:
                return ""
            if packet.dts is not None and packet.time_base is not None:
                last = max(packet.dts, packet.pts or packet.dts) + (packet.duration or 0)
                end_s = max(end_s, float(last * packet.time_base))
    if not is_decoded:
        return f"no {'picture' if stream.type == 'video' else 'sound'} can be decoded"
    length_s = end_s - (container.start_time or 0) / _MICROSECONDS
    if duration_s - length_s > max(0.5, 0.05 * duration_s):
        return f"cut short: ends after {max(length_s, 0):.1f} of {duration_s:.1f} s"
    return ""
