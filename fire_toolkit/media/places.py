"""Where an item is: a file here, an address on the network, or something that Label Studio looks up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

PORT = 8790  # of `media serve`
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_OF_LABEL_STUDIO = ("/data/local-files/", "/data/upload/")
_BUCKETS = ("s3://", "s3s://", "gs://", "gcs://", "azure-blob://", "azure_blob://")


@dataclass(frozen=True)
class Place:
    """What a media_url leads to: a `file` (with its path), a `url`, or `stored` (Label Studio's own)."""

    kind: Literal["file", "url", "stored"]
    path: Path = Path()


def place_of(media_url: str, root: Path) -> Place:
    """Return where `media_url` leads; a relative path starts at `root`.

    `stored` are the addresses that Label Studio resolves itself: its local files and uploads, and
    buckets (`s3://`, `gs://`, ...).

    Examples:
        >>> place_of("videos/v1.mp4", Path("/data")).path.as_posix()
        '/data/videos/v1.mp4'
        >>> place_of("https://example.org/v1.mp4", Path("/data")).kind
        'url'
        >>> place_of("s3://bucket/v1.mp4", Path("/data")).kind
        'stored'
    """
    if media_url.startswith(_OF_LABEL_STUDIO):
        return Place("stored")
    if not _SCHEME.match(media_url):
        return Place("file", root / media_url)
    scheme = media_url.partition(":")[0].lower()
    if scheme == "file":
        return Place("file", Path(unquote(urlsplit(media_url).path)))
    return Place("url") if scheme in ("http", "https") else Place("stored")


def is_showable(media_url: str) -> bool:
    """Whether a page of Label Studio can open `media_url`: an address, its own storage, or a bucket.

    Examples:
        >>> is_showable("https://example.org/v1.mp4"), is_showable("/data/local-files/?d=clips/v1.mp4")
        (True, True)
        >>> is_showable("gs://bucket/v1.mp4"), is_showable("media/v1.mp4"), is_showable("/data/v1.mp4")
        (True, False, False)
    """
    is_address = media_url.lower().startswith(("http://", "https://"))
    return is_address or media_url.startswith((*_OF_LABEL_STUDIO, *_BUCKETS))


def is_public_address(address: str) -> bool:
    """Whether an address leads to the network, beyond this machine, and holds no name or password.

    Examples:
        >>> is_public_address("https://example.org/v1.mp4"), is_public_address("http://127.0.0.1:8790/v1.mp4")
        (True, False)
    """
    parts = urlsplit(address)
    is_web = parts.scheme in ("http", "https") and "@" not in parts.netloc
    return is_web and parts.hostname not in (None, *LOOPBACK_HOSTS)
