"""What a media server answers, as pure functions: paths, parts of files, who may read them.

After RFC 9110 (ranges and conditions, sections 13 and 14) and the Fetch standard (CORS).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import PurePosixPath
from urllib.parse import quote, unquote_to_bytes, urlsplit

METHODS = "GET, HEAD, OPTIONS"
_RANGE = re.compile(r"bytes[ \t]*=[ \t]*([0-9]{0,30})[ \t]*-[ \t]*([0-9]{0,30})[ \t]*", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LOOPBACK = ("127.0.0.1", "localhost")
_TYPES = {
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".webm": "video/webm",
    ".ogv": "video/ogg",
    ".mov": "video/quicktime",
    ".mkv": "video/x-matroska",
    ".avi": "video/x-msvideo",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
}


@dataclass(frozen=True)
class Answer:
    """Status, headers, and which bytes of the file follow (`length` from `start` on)."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    start: int = 0
    length: int = 0


def url_path(name: str) -> str:
    """Return the path under which a file with this relative name is asked for.

    Examples:
        >>> url_path("clips/50% off?.mp4")
        '/clips/50%25%20off%3F.mp4'
    """
    return "/" + quote(name, safe="/")


def requested_name(target: str) -> str | None:
    """Return the relative name that a request's target asks for; None for one that leads elsewhere.

    The target is decoded once. None: no path, no UTF-8, control characters, a backslash, an empty part, or
    a part that is `.` or `..`.

    Examples:
        >>> requested_name("/clips/50%25%20off%3F.mp4?x=1")
        'clips/50% off?.mp4'
        >>> requested_name("/clips/%2e%2e/secret") is None
        True
    """
    path = re.split(r"[?#]", target, maxsplit=1)[0]
    if not path.startswith("/"):
        return None
    try:
        name = unquote_to_bytes(path[1:]).decode("utf-8")
    except UnicodeError:
        return None
    if _CONTROL.search(name) or "\\" in name:
        return None
    return None if any(part in ("", ".", "..") for part in name.split("/")) else name


def content_type(name: str) -> str:
    """Return the media type of a file by its name."""
    return _TYPES.get(PurePosixPath(name).suffix.lower(), "application/octet-stream")


def wanted_part(header: str | None, size: int) -> tuple[int, int] | None:
    """Return start and length of the part that a Range header asks for, of a file of `size` bytes.

    None: the whole file is to be sent, because there is no header, it cannot be read, names another unit
    or several parts. A length of 0: no such part (416).

    Examples:
        >>> wanted_part("bytes=2-4", 10), wanted_part("bytes=-3", 10), wanted_part("bytes=8-", 10)
        ((2, 3), (7, 3), (8, 2))
        >>> wanted_part("bytes=10-", 10), wanted_part("bytes=0-1,4-5", 10)
        ((0, 0), None)
    """
    found = _RANGE.fullmatch(header.strip()) if header is not None else None
    if found is None or found.groups() == ("", ""):
        return None
    first, last = found.groups()
    if not first:
        length = min(int(last), size)
        return (size - length, length) if length else (0, 0)
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        return 0, 0
    end = min(int(last), size - 1) if last else size - 1
    return int(first), end - int(first) + 1


def file_tag(size: int, modified_ns: int) -> str:
    """Return an entity tag that changes when the file does."""
    return f'"{modified_ns:x}-{size:x}"'


def answer_file(
    request: Mapping[str, str], *, name: str, size: int, modified_ns: int, has_body: bool = True
) -> Answer:
    """Return the answer to a request for a file.

    Args:
        request: its headers, by their names as usually written.
        name: the file's name, which decides its media type.
        size: bytes; modified_ns: when it was changed last.
        has_body: False for HEAD: the same headers, and no bytes follow.
    """
    tag, date = file_tag(size, modified_ns), formatdate(modified_ns // 1_000_000_000, usegmt=True)
    headers = {
        "ETag": tag,
        "Last-Modified": date,
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",
        "X-Content-Type-Options": "nosniff",
    }
    if _names_tag(request.get("If-None-Match"), tag):
        return Answer(304, headers)
    condition = request.get("If-Range")
    part = wanted_part(request.get("Range"), size) if condition in (None, tag, date) else None
    if part == (0, 0):
        return Answer(416, {**headers, "Content-Range": f"bytes */{size}", "Content-Length": "0"})
    start, length = part or (0, size)
    headers |= {"Content-Type": content_type(name), "Content-Length": str(length)}
    if part:
        headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{size}"
    return Answer(206 if part else 200, headers, start, length if has_body else 0)


def _names_tag(header: str | None, tag: str) -> bool:
    named = [text.strip().removeprefix("W/") for text in (header or "").split(",")]
    return tag in named or named == ["*"]


def allowed_origins(origins: Collection[str]) -> frozenset[str]:
    """Return the pages' origins that may read; a loopback one goes by both of its names.

    Examples:
        >>> sorted(allowed_origins(["http://127.0.0.1:8080"]))
        ['http://127.0.0.1:8080', 'http://localhost:8080']
    """
    found = set(origins)
    for origin in origins:
        parts = urlsplit(origin)
        if parts.hostname in _LOOPBACK:
            port = f":{parts.port}" if parts.port else ""
            found |= {f"{parts.scheme}://{host}{port}" for host in _LOOPBACK}
    return frozenset(found)


def cors_headers(origin: str | None, allowed: Collection[str]) -> dict[str, str]:
    """Return the headers that let a page from `origin` read the answer; only `Vary` for any other page."""
    if origin is None or origin not in allowed:
        return {"Vary": "Origin"}
    return {
        "Vary": "Origin",
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Expose-Headers": "Accept-Ranges, Content-Length, Content-Range, ETag",
    }


def is_known_host(header: str | None, hosts: Collection[str]) -> bool:
    """Whether a Host header names this server; another name can be a page's trick to pass for its own.

    Examples:
        >>> is_known_host("localhost:8790", ["localhost"]), is_known_host("evil.example:8790", ["localhost"])
        (True, False)
    """
    if header is None:
        return False
    try:
        return urlsplit(f"//{header}").hostname in hosts
    except ValueError:
        return False
