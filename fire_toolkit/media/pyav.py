"""PyAV, imported when it is needed, and opened so that a file cannot lead it to other files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from fire_toolkit.errors import FireError

# Demuxers of single files; those of playlists and lists open whatever their text names.
_FORMATS = (
    "mov,mp4,m4a,3gp,3g2,mj2 matroska,webm avi flv mpegts mpeg mpegvideo m4v h264 hevc ogg asf ivf dv mxf "
    "rm nut gif mp3 wav aac flac"
)


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


def open_media(source: Path | BinaryIO) -> Any:
    """Return PyAV's container of a file or a readable stream; other files that it names are not opened."""
    av = load_pyav()
    target = str(source) if isinstance(source, Path) else source
    return av.open(target, options={"format_whitelist": ",".join(_FORMATS.split())})


def first_video(container: Any) -> Any:
    """Return the first video stream that is not a cover picture of a piece of music, or None."""
    return next((stream for stream in container.streams.video if not _is_cover(stream)), None)


def _is_cover(stream: Any) -> bool:
    flags = stream.disposition
    return bool(flags & type(flags).attached_pic)
