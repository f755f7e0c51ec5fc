"""Check every item before annotators see it: is it there, and will a browser show it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from fire_toolkit.media.links import ask_link, open_links
from fire_toolkit.media.places import file_at
from fire_toolkit.media.probe import NO, PLAYS, UNSEEN, MediaFacts, judge_media, probe_file
from fire_toolkit.tables import Items

if TYPE_CHECKING:
    import httpx

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
    with open_links() as client, ThreadPoolExecutor(8) as pool:
        addresses = list(dict.fromkeys(items["media_url"]))
        look = partial(_look, root=root, origin=origin, kind=kind, client=client)
        for url, (facts, *said) in zip(addresses, pool.map(look, addresses), strict=True):
            found[url] = (facts.kind, facts.container, facts.codec, facts.pixel_format, *said)
            report(len(found))
    rows = [(doc, url, *found[url]) for doc, url in zip(items["doc_id"], items["media_url"], strict=True)]
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype="str")


def _look(
    media_url: str, *, root: Path, origin: str, kind: str, client: httpx.Client
) -> tuple[MediaFacts, str, str, str]:
    """Return the facts, state, reason and fix of one item."""
    if not media_url:
        return MediaFacts(), NO, "no media_url", "give the item a path or a URL"
    path = file_at(media_url, root)
    if media_url.lower().startswith(("http:", "https:")):  # one that is mistyped does not answer
        link = ask_link(client, media_url, origin, is_probed=True)
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
