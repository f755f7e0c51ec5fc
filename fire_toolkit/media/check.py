"""Check every item before annotators see it: is it there, and will a browser show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from fire_toolkit.media.links import Link, look_at_link, open_links
from fire_toolkit.media.places import place_of
from fire_toolkit.media.playable import NO, PLAYS, UNSEEN, MediaFacts, Verdict, judge_media
from fire_toolkit.media.probe import probe_file
from fire_toolkit.tables import Items

if TYPE_CHECKING:
    import httpx

COLUMNS = ("doc_id", "media_url", "kind", "container", "codec", "pixel_format", "state", "reason", "fix")
_AT_ONCE = 8
_TRANSCODE, _SERVE = "fire-toolkit media transcode", "fire-toolkit media serve"
_COPY = "copy it again from its source"


@dataclass(frozen=True)
class Finding:
    """What a media_url points to, whether browsers show it, and the fix if not."""

    facts: MediaFacts
    verdict: Verdict
    fix: str = ""


def check_media(
    items: Items,
    *,
    root: Path,
    origin: str = "",
    kind: str = "",
    transport: httpx.BaseTransport | None = None,
    report: Callable[[int], None] = lambda n: None,
) -> pd.DataFrame:
    """Return for each item what its media are and whether a browser shows them.

    Args:
        items: media_url is a path (relative ones start at `root`) or an address.
        root: a folder.
        origin: scheme, host and port of Label Studio, which addresses must answer with CORS; needed if
            there are addresses.
        kind: `video` or `image` if the annotation page shows that kind only; empty: either.
        transport: stands in for the network.
        report: called with the number of media looked at so far, each time one is done.

    Returns:
        In the order of `items`: doc_id, media_url, kind, container, codec, pixel_format, state (`plays`,
        `some browsers`, `no`, `not looked at`; see `playable.judge_media`), reason, fix (the command or
        step that fixes it). Empty if `items` is.

    Raises:
        FireError: there are videos and PyAV is not installed.
    """
    addresses = list(dict.fromkeys(items["media_url"]))
    with open_links(transport) as client, ThreadPoolExecutor(_AT_ONCE) as pool:
        look = partial(_look, root=root, origin=origin, kind=kind, client=client)
        found = dict(zip(addresses, _reported(pool.map(look, addresses), report), strict=True))
    rows = [
        (doc_id, url, *_cells(found[url]))
        for doc_id, url in zip(items["doc_id"], items["media_url"], strict=True)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype="str")


def _reported(findings: Iterable[Finding], report: Callable[[int], None]) -> Iterable[Finding]:
    for number, finding in enumerate(findings, start=1):
        report(number)
        yield finding


def _cells(finding: Finding) -> tuple[str, ...]:
    facts, verdict = finding.facts, finding.verdict
    look = (facts.kind, facts.container, facts.codec, facts.pixel_format)
    return (*look, verdict.state, verdict.reason, finding.fix)


def _look(media_url: str, *, root: Path, origin: str, kind: str, client: httpx.Client) -> Finding:
    if not media_url:
        return Finding(MediaFacts(), Verdict(NO, "no media_url"), "give the item a path or a URL")
    place = place_of(media_url, root)
    if place.kind == "stored":
        return Finding(MediaFacts(), Verdict(UNSEEN, "Label Studio looks it up in a storage of its own"))
    if place.kind == "url":
        return of_link(look_at_link(client, media_url, origin), kind)
    return _of_kind(of_file(probe_file(place.path), place.path), kind)


def of_file(facts: MediaFacts, path: Path) -> Finding:
    """Return what the facts of a file mean."""
    verdict = judge_media(facts)
    if verdict.state == PLAYS:
        return Finding(facts, verdict)
    if facts.fault == "no such file":
        return Finding(facts, verdict, f"put it at {path}, or say where paths start (--root)")
    if facts.fault:
        return Finding(facts, verdict, _COPY)
    if facts.kind == "image":
        return Finding(facts, verdict, "save it as PNG or JPEG")
    return Finding(facts, verdict, _TRANSCODE)


def of_link(link: Link, kind: str) -> Finding:
    """Return what a look at an address means; `kind` as in `check_media`."""
    shown_as = kind or link.facts.kind
    if link.fault:
        return Finding(link.facts, Verdict(NO, link.fault), "correct media_url, or fix its server")
    if link.mixed:
        return Finding(link.facts, Verdict(NO, link.mixed), "serve it over https")
    faults = [] if shown_as == "image" else [text for text in (link.cors, link.ranges) if text]
    if faults:
        return Finding(link.facts, Verdict(NO, "; ".join(faults)), f"copy the files here, then {_SERVE}")
    if link.facts == MediaFacts():
        return Finding(link.facts, Verdict(UNSEEN, "its content was not checked"))
    fix = f"copy the files here, then {_TRANSCODE}"
    verdict = judge_media(link.facts)
    return _of_kind(Finding(link.facts, verdict, "" if verdict.state == PLAYS else fix), kind)


def _of_kind(finding: Finding, kind: str) -> Finding:
    """Return the finding, or that the page shows another kind of media."""
    found = finding.facts.kind
    if not kind or not found or found == kind or finding.verdict.state == NO:
        return finding
    reason = f"is {_a(found)}, and the guideline's page shows {_a(kind)}"
    return Finding(finding.facts, Verdict(NO, reason), f"choose a guideline for {found}s")


def _a(kind: str) -> str:
    return f"an {kind}" if kind == "image" else f"a {kind}"
