"""Addresses as a browser meets them: do they answer, for a page of Label Studio, in parts, with media."""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fire_toolkit.media.places import LOOPBACK_HOSTS
from fire_toolkit.media.probe import BLOCK_BYTES, MediaFacts, image_format, probe_stream

if TYPE_CHECKING:
    import httpx

_MAX_BYTES = 64_000_000
_AT_ONCE = 16
_MOST_SILENT = 2 * _AT_ONCE  # addresses of a host in a row without any answer: the others are not waited for
_NO_MEDIA = ("text/html", "text/plain", "application/json", "application/xml", "text/xml")


@dataclass(frozen=True)
class Link:
    """What an address answered; each text says what is wrong, empty if nothing is.

    fault: no media come from there; cors: the page may not read it; ranges: the player cannot seek; mixed:
    the browser blocks it on a page that came by https; facts: what media they are, where that was looked at.
    """

    fault: str = ""
    cors: str = ""
    ranges: str = ""
    mixed: str = ""
    is_silent: bool = False
    facts: MediaFacts = field(default_factory=MediaFacts)

    def hidden(self, *, needs_cors: bool) -> str:
        """Return why a page shows nothing of it; needs_cors: a script reads it, as the player's does."""
        return self.fault or self.mixed or (self.cors if needs_cors else "")


def open_links(*, own: tuple[str, str] = ("", ""), timeout_s: float = 20.0) -> httpx.Client:
    """Return an HTTP client that follows redirects, as a browser does; no proxy leads to this machine.

    own: an origin, and the Authorization that goes along to it and nowhere else.
    """
    import httpx

    def identify(request: httpx.Request) -> None:
        request.headers.pop("Authorization", None)
        if own[1] and _origin_of(request.url) == own[0]:
            request.headers["Authorization"] = own[1]

    return httpx.Client(
        timeout=timeout_s,
        follow_redirects=True,
        mounts={f"all://{host}": None for host in LOOPBACK_HOSTS if ":" not in host},
        event_hooks={"request": [identify]},
    )


def reach_media(
    urls: Collection[str],
    *,
    origin: str,
    needs_cors: bool,
    authorization: str = "",
    sample: int | None = None,
    report: Callable[[int], None] = lambda n: None,
) -> tuple[dict[str, str], int]:
    """Return what addresses answer to a page of Label Studio, several asked at once.

    That is what is wrong with each that was asked (empty: nothing), and how many answer, but not in parts, so
    that the player cannot seek.

    Args:
        urls: http or https; what follows a `#` is not sent, so that parts of one video are asked for once.
        origin: scheme, host and port of the page.
        authorization: goes along to addresses of that origin, and to no other.
        needs_cors: whether the page reads the media by a script, as Label Studio's video player does.
        sample: ask only so many, drawn at random with a fixed seed; None: all.
        report: called with 1 for each address that was asked.

    A host that leaves 32 addresses in a row without an answer is not asked for its others.
    """
    wanted = sorted({url.partition("#")[0] for url in urls})
    if sample is not None and sample < len(wanted):
        wanted = sorted(random.Random(0).sample(wanted, sample))
    silent: Counter[str] = Counter()
    with (
        open_links(own=(origin, authorization), timeout_s=10.0) as client,
        ThreadPoolExecutor(_AT_ONCE) as pool,
    ):

        def ask(url: str) -> Link:
            host = url.partition("://")[2].partition("/")[0]
            if silent[host] >= _MOST_SILENT:
                return Link(f"not asked, since {host} does not answer")
            link = ask_link(client, url, origin)
            silent[host] = silent[host] + 1 if link.is_silent else 0
            report(1)
            return link

        found = dict(zip(wanted, pool.map(ask, wanted), strict=True))
    faults = {url: link.hidden(needs_cors=needs_cors) for url, link in found.items()}
    return faults, sum(bool(link.ranges) and not faults[url] for url, link in found.items())


def ask_link(client: httpx.Client, url: str, origin: str, *, is_probed: bool = False) -> Link:
    """Return how `url` answers a page from `origin` (empty: any) that asks for its first byte.

    is_probed: its beginning, and whatever else tells what media it holds, is read too.
    """
    answer, head = _ask(client, url, origin, 0, BLOCK_BYTES if is_probed else 1)
    if answer is None:
        return Link(head.decode(), is_silent=True)
    link = answered(answer, origin)
    if not is_probed or not answer.is_success:
        return link
    total = answer.headers.get("Content-Range", "").rpartition("/")[2]
    n_bytes = int(total) if total.isascii() and total.isdigit() and len(total) < 20 else 0
    is_part, facts = answer.status_code == 206, MediaFacts()
    if len(head) == n_bytes or (not is_part and len(head) < BLOCK_BYTES):
        facts = probe_stream(io.BytesIO(head), is_whole=True)
    elif image := image_format(head):
        facts = MediaFacts("image", image, image)
    elif is_part and n_bytes:
        facts = probe_stream(_Remote(client, url, origin, n_bytes, head), is_whole=False)
    return replace(link, facts=facts, fault=facts.fault)


def answered(answer: httpx.Response, origin: str) -> Link:
    """Return what an answer to a page from `origin`, which asked for a part, says of its address."""
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    fault = f"is {kind}, not a video or image" if kind in _NO_MEDIA else ""
    is_blocked = answer.url.scheme == "http" and answer.url.host not in LOOPBACK_HOSTS
    mixed = "http on a page that came by https: browsers block it"
    return Link(
        fault=fault if answer.is_success else f"answers {answer.status_code}",
        cors=_cors_fault([*answer.history, answer], origin) if origin else "",
        ranges="" if answer.status_code == 206 else "does not answer parts (Range): no seeking",
        mixed=mixed if is_blocked and origin.startswith("https://") else "",
    )


def _ask(
    client: httpx.Client, url: str, origin: str, start: int, n_bytes: int
) -> tuple[httpx.Response | None, bytes]:
    """Return the answer to a page that asks for a part, and at most so many bytes; without one, why not.

    A connection that breaks is asked once more, as a browser does: one that was dropped says nothing of the
    address. One that times out is not.
    """
    import httpx

    headers = {"Range": f"bytes={start}-{start + n_bytes - 1}", "Accept-Encoding": "identity"}
    headers |= {"Origin": origin} if origin else {}
    for is_last in (False, True):
        found = b""
        try:
            with client.stream("GET", url, headers=headers) as answer:
                for piece in answer.iter_bytes() if answer.is_success and n_bytes > 1 else ():
                    found += piece
                    if len(found) >= n_bytes:
                        break
            return answer, found[:n_bytes]
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            fault = f"does not answer ({type(error).__name__})"
            if not isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError) or is_last:
                break
    return None, fault.encode()


def _cors_fault(answers: list[httpx.Response], origin: str) -> str:
    """Return why a page from `origin` may not read the last of a chain of redirects."""
    asking, before = origin, origin
    for answer in answers:
        own = _origin_of(answer.url)
        if before not in (origin, own):
            asking = "null"  # what a browser calls a page once its request was sent on elsewhere
        allowed = answer.headers.get("Access-Control-Allow-Origin", "")
        if own != origin and allowed not in ("*", asking):
            return f"allows {allowed or 'no other page'} (CORS), expected {asking}"
        before = own
    return ""


def _origin_of(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode()}"


class _Remote:
    """A file behind an address, read in parts; it ends early after 64 MB, which no header needs."""

    def __init__(self, client: httpx.Client, url: str, origin: str, size: int, head: bytes) -> None:
        self._asked, self._size, self._head = (client, url, origin), size, head
        self._place, self._left = 0, _MAX_BYTES

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = max(0, start + offset)
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, n_bytes: int) -> bytes:
        start, n_bytes = self._place, min(n_bytes, self._size - self._place, self._left)
        piece = self._head[start : start + max(n_bytes, 0)]
        if not piece and n_bytes > 0:
            answer, piece = _ask(*self._asked, start, n_bytes)
            if answer is None or answer.status_code != 206:
                raise OSError("it answers no more")
            self._left -= len(piece)
        self._place += len(piece)
        return piece
