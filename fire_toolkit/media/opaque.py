"""Addresses of media that say nothing: whoever reads one cannot look the original up."""

from __future__ import annotations

import hashlib
import hmac
import re
from pathlib import PurePosixPath

_SUFFIX = re.compile(r"\.[a-z0-9]{1,5}")


def opaque_name(key: bytes, media_url: str) -> str:
    """Return the name under which an item is served: `m/`, 32 hexadecimal digits, and the file's suffix.

    The digits are the first half of HMAC-SHA256 of `media_url` as the table of items has it, so that the same
    item keeps its address as long as the key is kept, and nobody without the key can tell which item it is.

    Examples:
        >>> opaque_name(b"secret of a workspace", "media/video7010.mp4")
        'm/abf01af76a1b40bedf1f8199393bfc29.mp4'
    """
    digits = hmac.new(key, media_url.encode(), hashlib.sha256).hexdigest()[:32]
    suffix = PurePosixPath(media_url).suffix.lower()
    return f"m/{digits}{suffix if _SUFFIX.fullmatch(suffix) else ''}"
