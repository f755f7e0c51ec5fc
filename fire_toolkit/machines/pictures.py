"""What a judge is shown of an item: an image as it is, or frames of a clip."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import read_bytes, sha256_of
from fire_toolkit.media.frames import sample_frames
from fire_toolkit.media.places import place_of
from fire_toolkit.media.probe import image_format

_TYPES = {"jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp"}
_HEAD_BYTES = 64
_KEPT = 16  # items whose pictures are held


@dataclass(frozen=True)
class Pictures:
    """The pictures of an item, each with its media type; seconds: when each frame is shown, no image."""

    shown: tuple[tuple[str, bytes], ...]
    seconds: tuple[float, ...] = ()

    @property
    def frames(self) -> str:
        """The times of the frames, joined by `;`."""
        return ";".join(f"{each:g}" for each in self.seconds)

    @property
    def sha256(self) -> str:
        """The hash of the pictures, one after the other."""
        return hashlib.sha256(b"".join(content for _, content in self.shown)).hexdigest()


class Album:
    """The pictures of items, made when they are first asked for; those of a few items are held.

    root: where relative paths start.
    """

    def __init__(self, root: Path, *, n_frames: int, frame_px: int) -> None:
        self._root, self._n_frames, self._frame_px = root, n_frames, frame_px
        self._held: OrderedDict[str, Pictures] = OrderedDict()
        self._guard = Lock()

    def pictures(self, media_url: str) -> Pictures:
        """Return what is shown of an item: nothing where there is none, since captions are shown alone.

        Raises:
            FireError: no such file, or nothing in it that can be shown.
        """
        if not media_url:
            return Pictures(())
        with self._guard:
            if (found := self._held.get(media_url)) is not None:
                self._held.move_to_end(media_url)
                return found
        made = self._made(media_url)
        with self._guard:
            self._held[media_url] = made
            while len(self._held) > _KEPT:
                self._held.popitem(last=False)
        return made

    def _made(self, media_url: str) -> Pictures:
        path, start_s, end_s = local_part(media_url, self._root)
        with path.open("rb") as stream:
            kind = image_format(stream.read(_HEAD_BYTES))
        if kind in _TYPES:
            return Pictures(((_TYPES[kind], read_bytes(path)),))
        if kind:
            raise FormatError(
                f"{path}: a picture as {kind.upper()}, expected {', '.join(_TYPES)}; convert it"
            )
        frames = sample_frames(
            path, n_frames=self._n_frames, longest_px=self._frame_px, start_s=start_s, end_s=end_s
        )
        return Pictures(
            tuple(("image/jpeg", frame.jpeg) for frame in frames), tuple(f.seconds for f in frames)
        )


def local_part(media_url: str, root: Path) -> tuple[Path, float, float | None]:
    """Return the file of an item and the part that counts, from a path such as `v.mp4#t=3,5`.

    Raises:
        FormatError: it is an address, or no file is there.
    """
    address, _, fragment = media_url.partition("#t=")
    place = place_of(address, root)
    if place.kind != "file":
        raise FormatError(f"{address}: an address; machine judges are shown files: download the items first")
    if not place.path.is_file():
        raise FormatError(f"{place.path}: no such file")
    start, _, end = fragment.partition(",")
    try:
        return place.path, float(start or 0), float(end) if end else None
    except ValueError:
        raise FormatError(f"{media_url}: {fragment!r} is not a part in seconds") from None


def media_hashes(urls: list[str], root: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the sha256 of each item's file, and for each other item why there is none."""
    hashes: dict[str, str] = {}
    faults: dict[str, str] = {}
    of_files: dict[Path, str] = {}
    for url in urls:
        try:
            path = local_part(url, root)[0]
            hashes[url] = of_files.setdefault(path, "") or sha256_of(path)
            of_files[path] = hashes[url]
        except FireError as error:
            faults[url] = str(error)
    return hashes, faults
