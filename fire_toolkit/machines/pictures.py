"""What a judge is shown of an item: an image as it is, or frames of a clip as JPEG pictures."""

import io
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_bytes
from fire_toolkit.media.places import file_at, part_of
from fire_toolkit.media.probe import first_video, image_format, load_pyav, open_media

_TYPES = {"jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp"}
_HEAD_BYTES = 64


Pictures = tuple[tuple[str, bytes], ...]  # each with its media type


def pictures_of(media_url: str, root: Path, *, n_frames: int, frame_px: int) -> tuple[Pictures, str]:
    """Return what is shown of an item, and the seconds of its frames joined by `;`, none of an image.

    Nothing is shown where there is no item, since captions are shown alone. root: where relative paths start.

    Raises:
        FireError: no such file, or nothing in it that can be shown.
    """
    if not media_url:
        return (), ""
    path, start_s, end_s = local_part(media_url, root)
    with path.open("rb") as stream:
        kind = image_format(stream.read(_HEAD_BYTES))
    if kind in _TYPES:
        return ((_TYPES[kind], read_bytes(path)),), ""
    if kind:
        raise FormatError(f"{path}: a picture as {kind.upper()}, expected {', '.join(_TYPES)}; convert it")
    frames = sample_frames(path, n_frames=n_frames, longest_px=frame_px, start_s=start_s, end_s=end_s)
    shown = tuple(("image/jpeg", jpeg) for _, jpeg in frames)
    return shown, ";".join(f"{seconds:g}" for seconds, _ in frames)


def local_part(media_url: str, root: Path) -> tuple[Path, float, float | None]:
    """Return the file of an item and the part that counts, from a path such as `v.mp4#t=3,5`.

    Raises:
        FormatError: it is an address, or no file is there.
    """
    address, mark, _ = media_url.partition("#t=")
    path = file_at(address, root)
    if path is None:
        raise FormatError(f"{address}: an address; machine judges are shown files: download the items first")
    if not path.is_file():
        raise FormatError(f"{path}: no such file")
    part = part_of(media_url)
    if mark and part is None:
        raise FormatError(f"{media_url}: no part in seconds behind {mark}; expected one like #t=3,5.5")
    return path, *(part or (0.0, None))


def sample_frames(
    path: Path, *, n_frames: int, longest_px: int, start_s: float = 0.0, end_s: float | None = None
) -> list[tuple[float, bytes]]:
    """Return frames of a clip, each the one shown in the middle of one of `n_frames` equal parts.

    A frame is the second at which it is shown, from the clip's beginning, and a JPEG picture of it.

    Args:
        path: the clip.
        n_frames: 1 or more; a clip of fewer frames gives each of them once.
        longest_px: longer side of the pictures; smaller frames keep their size.
        start_s, end_s: the part of the clip that counts; None: to its end.

    Raises:
        FormatError: no video can be read there, or the part that counts is empty.
        FireError: PyAV is not installed.
    """
    av = load_pyav()
    found: dict[int, tuple[float, bytes]] = {}
    try:
        with open_media(path) as container:
            stream = first_video(container)
            if stream is None:
                raise FormatError(f"{path}: no video in it")
            if stream.duration:
                length_s = float(stream.duration * stream.time_base)
            elif container.duration:
                length_s = container.duration / 1_000_000
            else:
                raise ValueError("its length is not known")
            first_s = float((stream.start_time or 0) * stream.time_base)
            end = min(length_s if end_s is None else end_s, length_s)
            if not 0 <= start_s < end:
                raise FormatError(f"{path}: {length_s:g} s long, no part from {start_s:g} to {end:g} s")
            for number in range(n_frames):
                wanted_s = start_s + (end - start_s) * (number + 0.5) / n_frames
                frame = _frame_at(container, stream, first_s + wanted_s)
                if frame is not None and frame.pts not in found:
                    found[frame.pts] = round(frame.time - first_s, 3), _jpeg(frame, longest_px)
    except (av.error.FFmpegError, OSError, ValueError) as error:
        raise FormatError(f"{path}: no frames can be read ({' '.join(str(error).split())[:100]})") from None
    if not found:
        raise FormatError(f"{path}: no frame can be decoded")
    return [found[pts] for pts in sorted(found)]


def _frame_at(container: Any, stream: Any, wanted_s: float) -> Any:
    """Return the frame that is shown at a time: the last that begins by then; the first where none does."""
    container.seek(int(wanted_s / stream.time_base), stream=stream, backward=True)
    shown = None
    for frame in container.decode(stream):
        if shown is not None and frame.time > wanted_s:
            break
        shown = frame
    return shown


def _jpeg(frame: Any, longest_px: int) -> bytes:
    picture = frame.to_image()
    if turn := getattr(frame, "rotation", 0):  # degrees counter-clockwise, as the file asks its player
        picture = picture.rotate(turn, expand=True)
    picture.thumbnail((longest_px, longest_px))
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=90)
    return buffer.getvalue()
