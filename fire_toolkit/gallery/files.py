"""The files of a gallery's data: an index of all queries, and shards that a page loads when it needs them.

All are scripts, not JSON: a page that was opened from a disk may load scripts, and may not fetch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec
import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.gallery.doubts import doubtful_labels, false_negatives
from fire_toolkit.gallery.pairs import STATES, Shown
from fire_toolkit.gallery.votes import Votes

SHARD = 2_000


@dataclass(frozen=True)
class Beside:
    """What a gallery shows beside the pairs.

    media: doc id → address, kind (`video`, `image`, `audio`), start and end in seconds (None where whole);
    texts: doc id → text; links: (query id, doc id) → where its task can be opened.
    """

    media: Mapping[str, tuple[str, str, float | None, float | None]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[tuple[str, str], str] = field(default_factory=dict)


def gallery_files(
    shown: Shown,
    votes: Votes,
    beside: Beside,
    *,
    title: str,
    subtitle: str = "",
    is_public: bool = False,
    size: int = SHARD,
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each data file, one after the other.

    Args:
        shown, votes: the pairs and the votes on them.
        beside: what else is shown.
        title, subtitle: of the page.
        is_public: no single vote and no link is written; captions are those that `shown` has.
        size: queries in a shard, 1 or more.

    Yields:
        `data/index.js`, then `data/0000.js` and so on, each with `size` queries and the index's hash: a page
        that is open while the gallery is written anew takes no shard of another index.
    """
    index = _index(shown, votes, title, subtitle, is_public, size)
    made = sha256(msgspec.json.encode(index)).hexdigest()[:16]
    yield "data/index.js", _script("index", index | {"made": made})
    for number, start in enumerate(range(0, len(shown.queries), size)):
        stop = min(start + size, len(shown.queries))
        shard = _shard(shown, votes, beside, start, stop, is_public)
        yield f"data/{number:04}.js", _script("shard", number, made, shard)


def _index(
    shown: Shown, votes: Votes, title: str, subtitle: str, is_public: bool, size: int
) -> dict[str, Any]:
    """Return what the page needs of all queries at once: ids, texts, what each has, and the two lists."""
    findings = [false_negatives(shown, votes), *doubtful_labels(shown, votes)]
    return {
        "title": title,
        "subtitle": subtitle,
        "runs": list(shown.runs),
        "states": list(STATES),
        "depth": int(shown.lists.shape[2]),
        "public": is_public,
        "size": size,
        "ids": shown.queries.tolist(),
        "texts": list(shown.texts),
        "flags": shown.flags(votes.is_split).tolist(),
        "findings": [
            {
                "why": finding.why,
                "n": finding.n,
                "query": shown.query[finding.pairs].tolist(),
                "doc": shown.docs[shown.doc[finding.pairs]].tolist(),
                "for": votes.n_for[finding.pairs].tolist(),
                "against": votes.n_against[finding.pairs].tolist(),
                "runs": shown.n_runs[finding.pairs].tolist(),
                "rank": shown.best_rank[finding.pairs].tolist(),
            }
            for finding in findings
        ],
    }


def _shard(
    shown: Shown, votes: Votes, beside: Beside, start: int, stop: int, is_public: bool
) -> dict[str, Any]:
    """Return queries from start to stop as columns; docs and labels by their places in the shard."""
    first, last = np.searchsorted(shown.query, [start, stop])
    pairs = slice(first, last)
    docs, doc = np.unique(shown.doc[pairs], return_inverse=True)
    ids = shown.docs[docs].tolist()
    places = shown.of_lists[start:stop]
    labels, label = _coded(list(shown.label[pairs]))
    content: dict[str, Any] = {
        "docs": ids,
        "media": [beside.media.get(each) for each in ids],
        "texts": [beside.texts.get(each, "") for each in ids] if beside.texts else [],
        "lists": np.where(places < 0, -1, places - first).ravel().tolist(),
        "at": np.searchsorted(shown.query[pairs], np.arange(start, stop + 1)).tolist(),
        "doc": doc.tolist(),
        "state": shown.state[pairs].tolist(),
        "original": shown.is_original[pairs].astype(int).tolist(),
        "relevant": shown.is_relevant[pairs].astype(int).tolist(),
        "labels": labels,
        "label": label,
        "for": votes.n_for[pairs].tolist(),
        "against": votes.n_against[pairs].tolist(),
    }
    if not is_public:
        content |= _votes(votes, int(first), int(last)) | _links(shown, beside, int(first), int(last))
    return content


def _votes(votes: Votes, first: int, last: int) -> dict[str, Any]:
    """Return the votes on a shard's pairs; comments and flags by the place of their vote."""
    begin, end = np.searchsorted(votes.pair, [first, last])
    own = slice(begin, end)
    labels, label = _coded(list(votes.label[own]))
    counted: Ints = votes.pair[own] - first
    notes = [
        [place, flags, comment]
        for place, (flags, comment) in enumerate(zip(votes.flags[own], votes.comment[own], strict=True))
        if flags or comment
    ]
    at = np.searchsorted(counted, np.arange(last - first + 1)).tolist()
    return {
        "vote": {"at": at, "who": votes.who[own].tolist(), "labels": labels, "label": label, "notes": notes}
    }


def _links(shown: Shown, beside: Beside, first: int, last: int) -> dict[str, Any]:
    if not beside.links:
        return {"links": []}
    queries, docs = shown.queries[shown.query[first:last]], shown.docs[shown.doc[first:last]]
    found = (beside.links.get(pair) for pair in zip(queries, docs, strict=True))
    return {"links": [[place, link] for place, link in enumerate(found) if link]}


def _coded(texts: list[str]) -> tuple[list[str], list[int]]:
    """Return the distinct texts in the order of appearance, and the place of each."""
    places: dict[str, int] = {}
    codes = [places.setdefault(text, len(places)) for text in texts]
    return list(places), codes


def _script(name: str, *content: Any) -> bytes:
    """Return a call of the page's own function; nothing in it can end a script or a line of one."""
    words = b", ".join(map(msgspec.json.encode, content))
    for sign in ("<", "\u2028", "\u2029"):
        words = words.replace(sign.encode(), f"\\u{ord(sign):04x}".encode())
    return b"gallery." + name.encode() + b"(" + words + b");\n"
