"""An address as a browser meets it: does it answer, for a page of Label Studio, in parts, with media."""

from __future__ import annotations

import io
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, BinaryIO, cast
from urllib.parse import urlsplit

from fire_toolkit.media.places import LOOPBACK_HOSTS
from fire_toolkit.media.playable import MediaFacts
from fire_toolkit.media.probe import image_format, probe_stream

if TYPE_CHECKING:
    import httpx

TIMEOUT_S = 20.0
_BLOCK_BYTES = 262_144
_MAX_BYTES = 64_000_000
_NO_ANSWER = "does not answer"
_NO_PARTS = "does not answer parts (Range): no seeking"
_NO_MEDIA = ("text/html", "text/plain", "application/json", "application/xml", "text/xml")


@dataclass(frozen=True)
class Link:
    """What an address answered; each text says what is wrong, empty if nothing is.

    fault: no media come from there; cors: the page may not read it; ranges: the player cannot seek; mixed:
    the browser blocks it on a page that came by https.
    """

    facts: MediaFacts = field(default_factory=MediaFacts)
    fault: str = ""
    cors: str = ""
    ranges: str = ""
    mixed: str = ""

    @property
    def is_silent(self) -> bool:
        """Whether nobody answered at all."""
        return self.fault.startswith(_NO_ANSWER)


def open_links(
    transport: httpx.BaseTransport | None = None,
    *,
    own: tuple[str, str] = ("", ""),
    timeout_s: float = TIMEOUT_S,
) -> httpx.Client:
    """Return an HTTP client that follows redirects, as a browser does; no proxy leads to this machine.

    own: an origin, and the Authorization that goes along to it and nowhere else.
    """
    import httpx

    def identify(request: httpx.Request) -> None:
        request.headers.pop("Authorization", None)
        if own[1] and origin_of(request.url) == own[0]:
            request.headers["Authorization"] = own[1]

    direct = {f"all://{host}": None for host in LOOPBACK_HOSTS if ":" not in host}
    return httpx.Client(
        transport=transport,
        timeout=timeout_s,
        follow_redirects=True,
        mounts=direct,
        event_hooks={"request": [identify]},
    )


def origin_of(url: httpx.URL) -> str:
    """Return scheme, host and port of an address, as browsers name it."""
    return f"{url.scheme}://{url.netloc.decode()}"


def ask_link(client: httpx.Client, url: str, origin: str) -> Link:
    """Return how `url` answers a page from `origin` that asks for its first byte; the media are not read."""
    import httpx

    try:
        with client.stream("GET", url, headers=_asking(origin, 1)) as answer:
            pass
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        return Link(fault=f"{_NO_ANSWER} ({type(error).__name__})")
    return answered(answer, origin)


def answered(answer: httpx.Response, origin: str) -> Link:
    """Return what an answer to a page from `origin`, which asked for a part, says of its address."""
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    fault = f"is {kind}, not a video or image" if kind in _NO_MEDIA else ""
    return Link(
        fault=fault if answer.is_success else f"answers {answer.status_code}",
        cors=_cors_fault([*answer.history, answer], origin),
        ranges="" if answer.status_code == 206 else _NO_PARTS,
        mixed=_mixed_fault(str(answer.url), origin),
    )


def look_at_link(client: httpx.Client, url: str, origin: str) -> Link:
    """Return how `url` answers to a page from `origin` (scheme, host and port; empty: not asked)."""
    import httpx

    headers = _asking(origin, _BLOCK_BYTES)
    try:
        with client.stream("GET", url, headers=headers) as answer:
            if not answer.is_success:
                return Link(fault=f"answers {answer.status_code}")
            head = _first_bytes(answer)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        return Link(fault=f"{_NO_ANSWER} ({type(error).__name__})")
    facts = _facts_behind(client, url, headers, answer, head)
    return replace(answered(answer, origin), facts=facts, fault=facts.fault)


def _asking(origin: str, n_bytes: int) -> dict[str, str]:
    """Return the headers with which a page from `origin` asks for the first bytes."""
    own = {"Origin": origin} if origin else {}
    return {"Range": f"bytes=0-{n_bytes - 1}", "Accept-Encoding": "identity", **own}


def _first_bytes(answer: httpx.Response) -> bytes:
    found = b""
    for piece in answer.iter_bytes():
        found += piece
        if len(found) >= _BLOCK_BYTES:
            break
    return found[:_BLOCK_BYTES]


def _facts_behind(
    client: httpx.Client, url: str, headers: dict[str, str], answer: httpx.Response, head: bytes
) -> MediaFacts:
    """Return what the address holds; nothing where the server sends no parts and the first is not enough."""
    size = _size(answer)
    if answer.status_code == 206 and size is not None:
        if image_format(head) and size > _BLOCK_BYTES:
            return MediaFacts("image", image_format(head), image_format(head))
        remote = io.BufferedReader(_Remote(client, url, headers, size, head), _BLOCK_BYTES)
        with remote:
            return probe_stream(cast(BinaryIO, remote), is_whole=False)
    if len(head) < _BLOCK_BYTES:
        return probe_stream(io.BytesIO(head), is_whole=True)
    return MediaFacts()


def _size(answer: httpx.Response) -> int | None:
    total = answer.headers.get("Content-Range", "").rpartition("/")[2]
    return int(total) if total.isascii() and total.isdigit() and len(total) < 20 else None


def _cors_fault(answers: list[httpx.Response], origin: str) -> str:
    """Return why a page from `origin` may not read the last of a chain of redirects."""
    if not origin:
        return ""
    asking, before = origin, origin
    for answer in answers:
        own = origin_of(answer.url)
        if before not in (origin, own):
            asking = "null"  # what a browser calls a page once its request was sent on elsewhere
        allowed = answer.headers.get("Access-Control-Allow-Origin", "")
        if own != origin and allowed not in ("*", asking):
            found = f"allows {allowed}" if allowed else "allows no other page"
            return f"{found} (CORS), expected {asking}"
        before = own
    return ""


def _mixed_fault(url: str, origin: str) -> str:
    parts = urlsplit(url)
    if urlsplit(origin).scheme == "https" and parts.scheme == "http" and parts.hostname not in LOOPBACK_HOSTS:
        return "http on a page that came by https: browsers block it"
    return ""


class _Remote(io.RawIOBase):
    """A file behind an address, read in parts; it ends early after 64 MB, which no header needs."""

    def __init__(
        self, client: httpx.Client, url: str, headers: dict[str, str], size: int, head: bytes
    ) -> None:
        super().__init__()
        self._client, self._url, self._headers = client, url, headers
        self._size, self._head = size, head
        self._place = 0
        self._left = _MAX_BYTES

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = max(0, start + offset)
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, target: object) -> int:
        view = memoryview(target).cast("B")  # type: ignore[arg-type]
        piece = self._piece(min(len(view), self._size - self._place))
        view[: len(piece)] = piece
        self._place += len(piece)
        return len(piece)

    def _piece(self, length: int) -> bytes:
        if length <= 0:
            return b""
        if self._place < len(self._head):
            return self._head[self._place : self._place + length]
        if self._left <= 0:
            return b""
        import httpx

        part = {"Range": f"bytes={self._place}-{self._place + length - 1}"}
        try:
            answer = self._client.get(self._url, headers={**self._headers, **part})
        except httpx.HTTPError as error:
            raise OSError(f"{type(error).__name__}") from error
        content = answer.content[:length] if answer.status_code == 206 else b""
        self._left -= max(len(content), 1)
        return content
