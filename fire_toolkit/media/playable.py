"""Which media a browser plays, from container, codec and pixel format alone."""

from __future__ import annotations

from dataclasses import dataclass

PLAYS, SOME, NO, UNSEEN = "plays", "some browsers", "no", "not looked at"

_CONTAINERS = {"mp4": ("h264", "av1", "vp9"), "webm": ("vp8", "vp9", "av1")}
_CHROMIUM_CONTAINERS = (*_CONTAINERS, "mov", "mkv")
_CODECS = ("h264", "vp8", "vp9", "av1")
_DEEP = ("yuv420p10le",)
_PLAIN = ("yuv420p", "yuvj420p", "yuva420p")
_IMAGES = ("jpeg", "png", "webp", "gif")
_NAMES = {
    "h264": "H.264",
    "hevc": "HEVC",
    "mpeg4": "MPEG-4 part 2",
    "mpeg2video": "MPEG-2",
    "mpeg1video": "MPEG-1",
    "mjpeg": "Motion JPEG",
    "vp8": "VP8",
    "vp9": "VP9",
    "av1": "AV1",
    "theora": "Theora",
}


@dataclass(frozen=True)
class MediaFacts:
    """What a media file is.

    kind: `video`, `image`, or empty where it is neither; container: `mp4`, `mov`, `webm`, `mkv`, `avi`,
    ...; codec: as FFmpeg names it, or the image's format; duration_s: 0 where it is not known or has
    none; fault: why it cannot be shown by anything, or empty.
    """

    kind: str = ""
    container: str = ""
    codec: str = ""
    pixel_format: str = ""
    width: int = 0
    height: int = 0
    duration_s: float = 0.0
    fault: str = ""


@dataclass(frozen=True)
class Verdict:
    """Whether browsers play a file (`plays`, `some browsers`, `no`, `not looked at`), and why not."""

    state: str
    reason: str = ""


def judge_media(facts: MediaFacts) -> Verdict:
    """Return whether browsers play a file.

    `plays`: H.264 (8 bit, 4:2:0), AV1 and VP9 in MP4; VP8, VP9 and AV1 in WebM; JPEG, PNG, WebP and GIF.
    `some browsers`: seen to play in Chromium 156, and not in every other: those codecs in MOV or MKV, and
    other pixel formats. `no`: everything else; seen not to play in Chromium: HEVC, MPEG-4 part 2, MPEG-2
    and Motion JPEG in MP4; AVI, FLV and MPEG-TS whatever is in them.

    Examples:
        >>> judge_media(MediaFacts("video", "avi", "mpeg4", "yuv420p"))
        Verdict(state='no', reason='MPEG-4 part 2 in AVI: Chromium does not play it')
        >>> judge_media(MediaFacts("video", "mp4", "h264", "yuv420p")).state
        'plays'
    """
    if facts.fault:
        return Verdict(NO, facts.fault)
    if facts.kind == "image":
        shown = facts.codec in _IMAGES
        return Verdict(PLAYS) if shown else Verdict(NO, f"{facts.codec.upper()} picture: not every browser")
    return _judge_video(facts)


def _judge_video(facts: MediaFacts) -> Verdict:
    what = f"{_NAMES.get(facts.codec, facts.codec)} in {facts.container.upper()}"
    if facts.codec not in _CODECS or facts.container not in _CHROMIUM_CONTAINERS:
        return Verdict(NO, f"{what}: Chromium does not play it")
    if facts.codec not in _CONTAINERS.get(facts.container, ()):
        return Verdict(SOME, f"{what}: not every browser plays it")
    usual = _PLAIN if facts.codec == "h264" else (*_PLAIN, *_DEEP)
    if facts.pixel_format not in usual:
        return Verdict(SOME, f"{what}, {facts.pixel_format}: not every browser plays it")
    return Verdict(PLAYS)
