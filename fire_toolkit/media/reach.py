"""Whether the addresses of tasks answer as a browser needs it: each is asked for its first byte."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fire_toolkit.media.links import Link, ask_link, open_links

if TYPE_CHECKING:
    import httpx

AT_ONCE = 16
TIMEOUT_S = 10.0
_MOST_SILENT = 2 * AT_ONCE  # addresses of a host in a row without any answer: the others are not waited for


@dataclass(frozen=True)
class Reached:
    """What addresses answered: those that were asked, with what is wrong with each (empty: nothing).

    n_without_parts: how many answer, but not in parts, so that the player cannot seek.
    """

    faults: dict[str, str]
    n_without_parts: int = 0

    @property
    def bad(self) -> dict[str, str]:
        """The addresses at which a browser shows nothing, with the reason."""
        return {url: fault for url, fault in self.faults.items() if fault}


def reach_media(
    urls: Collection[str],
    *,
    origin: str,
    needs_cors: bool,
    authorization: str = "",
    sample: int | None = None,
    transport: httpx.BaseTransport | None = None,
    report: Callable[[int], None] = lambda n: None,
) -> Reached:
    """Return what the addresses answer to a page of Label Studio, several asked at once.

    Args:
        urls: http or https; what follows a `#` is not sent, so that parts of one video are asked for once.
        origin: scheme, host and port of the page.
        authorization: goes along to addresses of that origin, and to no other.
        needs_cors: whether the page reads the media by a script, as Label Studio's video player does.
        sample: ask only so many, drawn at random with a fixed seed; None: all.
        transport: stands in for the network.
        report: called with 1 for each address that was asked.

    A host that leaves 32 addresses in a row without an answer is not asked for its others.
    """
    wanted = sorted({url.partition("#")[0] for url in urls})
    if sample is not None and sample < len(wanted):
        wanted = sorted(random.Random(0).sample(wanted, sample))
    with (
        open_links(transport, own=(origin, authorization), timeout_s=TIMEOUT_S) as client,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        asker = _Asker(client, origin, report)
        found = dict(zip(wanted, pool.map(asker.ask, wanted), strict=True))
    faults = {
        url: link.fault or link.mixed or (link.cors if needs_cors else "") for url, link in found.items()
    }
    n_without_parts = sum(bool(link.ranges) and not faults[url] for url, link in found.items())
    return Reached(faults, n_without_parts)


@dataclass(frozen=True)
class _Asker:
    """Asks for addresses, and no longer for those of a host that stays silent."""

    client: httpx.Client
    origin: str
    report: Callable[[int], None]
    silent: Counter[str] = field(default_factory=Counter)

    def ask(self, url: str) -> Link:
        host = url.partition("://")[2].partition("/")[0]
        if self.silent[host] >= _MOST_SILENT:
            return Link(fault=f"not asked, since {host} does not answer")
        link = ask_link(self.client, url, self.origin)
        self.silent[host] = self.silent[host] + 1 if link.is_silent else 0
        self.report(1)
        return link
