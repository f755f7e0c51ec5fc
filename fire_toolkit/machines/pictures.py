"""What a judge is shown of an item: an image as it is, or frames of a clip."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_bytes
from fire_toolkit.media.frames import sample_frames
from fire_toolkit.media.places import file_at
from fire_toolkit.media.probe import image_format

_TYPES = {"jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp"}
_HEAD_BYTES = 64


@dataclass(frozen=True)
class Pictures:
    """The pictures of an item, each with its media type; frames: their seconds joined by `;`, no image's."""

    shown: tuple[tuple[str, bytes], ...] = ()
    frames: str = ""


def pictures_of(media_url: str, root: Path, *, n_frames: int, frame_px: int) -> Pictures:
    """Return what is shown of an item: nothing where there is none, since captions are shown alone.

    root: where relative paths start.

    Raises:
        FireError: no such file, or nothing in it that can be shown.
    """
    if not media_url:
        return Pictures()
    path, start_s, end_s = local_part(media_url, root)
    with path.open("rb") as stream:
        kind = image_format(stream.read(_HEAD_BYTES))
    if kind in _TYPES:
        return Pictures(((_TYPES[kind], read_bytes(path)),))
    if kind:
        raise FormatError(f"{path}: a picture as {kind.upper()}, expected {', '.join(_TYPES)}; convert it")
    frames = sample_frames(path, n_frames=n_frames, longest_px=frame_px, start_s=start_s, end_s=end_s)
    shown = tuple(("image/jpeg", frame.jpeg) for frame in frames)
    return Pictures(shown, ";".join(f"{frame.seconds:g}" for frame in frames))


def local_part(media_url: str, root: Path) -> tuple[Path, float, float | None]:
    """Return the file of an item and the part that counts, from a path such as `v.mp4#t=3,5`.

    Raises:
        FormatError: it is an address, or no file is there.
    """
    address, _, fragment = media_url.partition("#t=")
    path = file_at(address, root)
    if path is None:
        raise FormatError(f"{address}: an address; machine judges are shown files: download the items first")
    if not path.is_file():
        raise FormatError(f"{path}: no such file")
    start, _, end = fragment.partition(",")
    try:
        return path, float(start or 0), float(end) if end else None
    except ValueError:
        raise FormatError(f"{media_url}: {fragment!r} is not a part in seconds") from None
