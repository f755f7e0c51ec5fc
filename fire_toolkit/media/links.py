"""Whether annotators will see every item: files by their content, addresses as a browser meets them.

An address has to answer, for a page of Label Studio, in parts, with media.
"""

from __future__ import annotations

import io
import random
import time
from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pandas as pd

from fire_toolkit.media.places import LOOPBACK_HOSTS, file_at
from fire_toolkit.media.probe import (
    BLOCK_BYTES,
    NO,
    PLAYS,
    UNSEEN,
    MediaFacts,
    image_format,
    judge_media,
    probe_file,
    probe_stream,
)
from fire_toolkit.tables import Items

if TYPE_CHECKING:
    import httpx

_MAX_BYTES = 64_000_000
_MOST_S = 30.0  # for one part, however it comes
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
    facts: MediaFacts = field(default_factory=MediaFacts)

    def hidden(self, *, needs_cors: bool) -> str:
        """Return why a page shows nothing of it; needs_cors: a script reads it, as the player's does."""
        return self.fault or self.mixed or (self.cors if needs_cors else "")


class Links:
    """Asks addresses as a browser's page does, which follows redirects; no proxy leads to this machine.

    A host that leaves 32 addresses in a row without an answer is not asked for its others.

    origin: scheme, host and port of the page (empty: any); authorization: goes along to addresses of that
    origin, and to no other.
    """

    def __init__(self, origin: str, *, authorization: str = "", timeout_s: float = 20.0) -> None:
        import httpx

        def identify(request: httpx.Request) -> None:
            request.headers.pop("Authorization", None)
            if authorization and _origin_of(request.url) == origin:
                request.headers["Authorization"] = authorization

        self._origin, self._silent = origin, Counter[str]()
        self._client = httpx.Client(
            timeout=timeout_s,
            follow_redirects=True,
            mounts={f"all://{host}": None for host in LOOPBACK_HOSTS if ":" not in host},
            event_hooks={"request": [identify]},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def ask(self, url: str, *, is_probed: bool = False) -> Link:
        """Return how `url` answers a page that asks for its first byte.

        is_probed: its beginning, and whatever else tells what media it holds, is read too.
        """
        host = url.partition("://")[2].partition("/")[0]
        if self._silent[host] >= _MOST_SILENT:
            return Link(f"not asked, since {host} does not answer")
        answer, head = self.part(url, 0, BLOCK_BYTES if is_probed else 1)
        self._silent[host] = 0 if answer else self._silent[host] + 1
        if answer is None:
            return Link(head.decode())
        link = answered(answer, self._origin)
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
            facts = probe_stream(_Remote(self, url, n_bytes, head), is_whole=False)
        return replace(link, facts=facts, fault=facts.fault)

    def part(self, url: str, start: int, n_bytes: int) -> tuple[httpx.Response | None, bytes]:
        """Return the answer to a page that asks for a part, and at most so many bytes; without one, why not.

        A connection that breaks is asked once more, as a browser does: one that was dropped says nothing of
        the address. One that times out is not.
        """
        import httpx

        headers = {"Range": f"bytes={start}-{start + n_bytes - 1}", "Accept-Encoding": "identity"}
        headers |= {"Origin": self._origin} if self._origin else {}
        until = time.monotonic() + _MOST_S
        for is_last in (False, True):
            found = b""
            try:
                with self._client.stream("GET", url, headers=headers) as answer:
                    for piece in answer.iter_bytes() if answer.is_success and n_bytes > 1 else ():
                        found += piece
                        if len(found) >= n_bytes:
                            break
                        if time.monotonic() > until:
                            raise httpx.ReadTimeout("a byte now and then")
                return answer, found[:n_bytes]
            except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
                fault = f"does not answer ({type(error).__name__})"
                if not isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError) or is_last:
                    break
        return None, fault.encode()


def reach_media(
    urls: Collection[str],
    links: Links,
    *,
    needs_cors: bool,
    sample: int | None = None,
    report: Callable[[int], None] = lambda n: None,
) -> tuple[dict[str, str], int]:
    """Return what addresses answer to a page of Label Studio, several asked at once.

    That is what is wrong with each that was asked (empty: nothing), and how many answer, but not in parts, so
    that the player cannot seek.

    Args:
        urls: http or https; what follows a `#` is not sent, so that parts of one video are asked for once.
        links: asks as the page does.
        needs_cors: whether the page reads the media by a script, as Label Studio's video player does.
        sample: ask only so many, drawn at random with a fixed seed; None: all.
        report: called with 1 for each address that was asked.
    """
    wanted = sorted({url.partition("#")[0] for url in urls})
    if sample is not None and sample < len(wanted):
        wanted = sorted(random.Random(0).sample(wanted, sample))
    found: dict[str, Link] = {}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for url, link in zip(wanted, pool.map(links.ask, wanted), strict=True):
            found[url] = link
            report(1)
    faults = {url: link.hidden(needs_cors=needs_cors) for url, link in found.items()}
    return faults, sum(bool(link.ranges) and not faults[url] for url, link in found.items())


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

    def __init__(self, links: Links, url: str, size: int, head: bytes) -> None:
        self._links, self._url, self._size, self._head = links, url, size, head
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
            answer, piece = self._links.part(self._url, start, n_bytes)
            if answer is None or answer.status_code != 206:
                raise OSError("it answers no more")
            self._left -= len(piece)
        self._place += len(piece)
        return piece


COLUMNS = ("doc_id", "media_url", "kind", "container", "codec", "pixel_format", "state", "reason", "fix")
TRANSCODE = "fire-toolkit media transcode"
_REMEDIES = {"image": "save it as PNG or JPEG", "audio": "save it as MP3 or WAV"}
_FETCH = "copy the files here, then "


def check_media(
    items: Items,
    *,
    root: Path,
    origin: str = "",
    kind: str = "",
    report: Callable[[int], None] = lambda n: None,
) -> pd.DataFrame:
    """Return for each item what its media are and whether a browser shows them.

    Args:
        items: media_url is a path (relative ones start at `root`) or an address.
        root: a folder.
        origin: scheme, host and port of Label Studio, which addresses must answer with CORS; needed if
            there are addresses.
        kind: `video`, `image` or `audio` if the annotation page shows that kind only; empty: either.
        report: called with the number of media looked at so far, each time one is done.

    Returns:
        In the order of `items`: doc_id, media_url, kind, container, codec, pixel_format, state (`plays`,
        `some browsers`, `no`, `not looked at`; see `probe.judge_media`), reason, fix (the command or
        step that fixes it). Empty if `items` is.

    Raises:
        FireError: there are videos and PyAV is not installed.
    """
    found: dict[str, tuple[str, ...]] = {}
    with Links(origin) as links, ThreadPoolExecutor(8) as pool:
        addresses = list(dict.fromkeys(items["media_url"]))
        look = partial(_look, root=root, kind=kind, links=links)
        for url, (facts, *said) in zip(addresses, pool.map(look, addresses), strict=True):
            found[url] = (facts.kind, facts.container, facts.codec, facts.pixel_format, *said)
            report(len(found))
    rows = [(doc, url, *found[url]) for doc, url in zip(items["doc_id"], items["media_url"], strict=True)]
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype="str")


def _look(media_url: str, *, root: Path, kind: str, links: Links) -> tuple[MediaFacts, str, str, str]:
    """Return the facts, state, reason and fix of one item."""
    if not media_url:
        return MediaFacts(), NO, "no media_url", "give the item a path or a URL"
    path = file_at(media_url, root)
    if media_url.lower().startswith(("http:", "https:")):  # one that is mistyped does not answer
        link = links.ask(media_url, is_probed=True)
        facts = link.facts
        is_read = (kind or facts.kind) != "image"  # by a script of the page, which also seeks
        unread = "; ".join(filter(None, (link.cors, link.ranges))) if is_read else ""
        for reason, fix in (
            (link.fault, "correct media_url, or fix its server"),
            (link.mixed, "serve it over https"),
            (unread, f"{_FETCH}fire-toolkit media serve"),
        ):
            if reason:
                return facts, NO, reason, fix
        if facts == MediaFacts():
            return facts, UNSEEN, "its content was not checked", ""
    elif path is None:
        return MediaFacts(), UNSEEN, "Label Studio looks it up in a storage of its own", ""
    else:
        facts = probe_file(path)
    state, reason = judge_media(facts)
    fix = _FETCH + TRANSCODE if path is None else _REMEDIES.get(facts.kind, TRANSCODE)
    if facts.fault == "no such file":
        fix = f"put it at {path}, or say where paths start ([media] root in fire.toml)"
    elif facts.fault:
        fix = "copy it again from its source"
    elif kind and facts.kind not in ("", kind) and state != NO:
        state, reason = NO, f"its kind is {facts.kind}, and the guideline's page shows {kind}"
        fix = f"choose a guideline for {facts.kind}"
    return facts, state, reason, "" if state == PLAYS else fix
