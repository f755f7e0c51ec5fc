"""The files of a gallery's data: an index of all queries, and shards that a page loads when it needs them.

All are scripts, not JSON: a page that was opened from a disk may load scripts, and may not fetch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from fire_toolkit.gallery.pairs import STATES, TOP, Shown, Votes, findings
from fire_toolkit.tables import Items, Queries
from fire_toolkit.tables.columns import code_texts, listed
from fire_toolkit.tables.ids import spellings

SHARD = 2_000


@dataclass(frozen=True)
class Beside:
    """What a gallery shows beside the pairs.

    media: doc id → address, kind (`video`, `image`, `audio`), start and end in seconds (None where whole);
    texts: doc id → text; links: (query id, doc id) → where its task can be opened; starts: query id → the
    name in `media` of what is seen of the query itself, called `start`; own_id: an id as it is shown,
    the benchmark's own.
    """

    media: Mapping[str, tuple[str, str, float | None, float | None]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[tuple[str, str], str] = field(default_factory=dict)
    starts: Mapping[str, str] = field(default_factory=dict)
    start: str = ""
    own_id: Callable[[str], str] = str


def texts_of(items: Items) -> dict[str, str]:
    """Return what is read of items that are texts, with their titles; nothing of others."""
    if "text" not in items:
        return {}
    title = items.get("title", pd.Series("", items.index)).fillna("")
    both = zip(items["doc_id"], title, items["text"].fillna(""), strict=True)
    return {doc: f"{head}\n{text}".strip() for doc, head, text in both}


def seen_items(items: Items, queries: Queries, starts: Mapping[str, str]) -> Items:
    """Return what is seen: items that are no texts, whose address is their id, and queries as `starts`."""
    if texts := texts_of(items):
        is_id = items["media_url"].isin(spellings(items["doc_id"]))
        items = Items(items[~(items["doc_id"].map(texts).ne("") & is_id)])
    if "media_url" in queries:
        seen = pd.DataFrame({"doc_id": starts.values(), "media_url": queries["media_url"]})
        items = Items(pd.concat([items, seen], ignore_index=True))
    return items


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
    of_pairs = {
        "query": shown.query,
        "doc": shown.docs.map(beside.own_id).to_numpy(dtype=object)[shown.doc],
        "for": votes.n_for,
        "against": votes.n_against,
        "top": shown.n_runs(TOP),
        "rank": shown.best_rank,
    }
    index: dict[str, Any] = {
        "title": title,
        "subtitle": subtitle,
        "start": beside.start,
        "runs": list(shown.runs),
        "states": list(STATES),
        "depth": int(shown.lists.shape[2]),
        "top": TOP,
        "public": is_public,
        "size": size,
        "ids": [*map(beside.own_id, shown.queries)],
        "texts": list(shown.texts),
        "flags": shown.flags(votes.is_split).tolist(),
        "findings": [
            {"why": why, "n": n} | {name: each[pairs].tolist() for name, each in of_pairs.items()}
            for why, pairs, n in findings(shown, votes)
        ],
    }
    made = sha256(msgspec.json.encode(index)).hexdigest()[:16]
    yield "data/index.js", _script("index", index | {"made": made})
    for number, start in enumerate(range(0, len(shown.queries), size)):
        stop = min(start + size, len(shown.queries))
        shard = _shard(shown, votes, beside, start, stop, is_public)
        yield f"data/{number:04}.js", _script("shard", number, made, shard)


def _shard(
    shown: Shown, votes: Votes, beside: Beside, start: int, stop: int, is_public: bool
) -> dict[str, Any]:
    """Return queries from start to stop as columns; docs and labels by their places in the shard.

    Votes stand beside the pairs, their comments and flags by the place of the vote.
    """
    first, last = np.searchsorted(shown.query, [start, stop])
    pairs = slice(first, last)
    docs, doc = np.unique(shown.doc[pairs], return_inverse=True)
    ids = shown.docs[docs].tolist()
    places = shown.lists[start:stop]
    labels, label = _coded(shown.label[first:last])
    content: dict[str, Any] = {
        "docs": [*map(beside.own_id, ids)],
        "media": [beside.media.get(each) for each in ids],
        "texts": [beside.texts.get(each, "") for each in ids] if beside.texts else [],
        "starts": [beside.media.get(beside.starts.get(each, "")) for each in shown.queries[start:stop]],
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
    if is_public:
        return content
    linked = pairs if beside.links else slice(0)
    of_pairs = listed(shown.queries[shown.query[linked]]), listed(shown.docs[shown.doc[linked]])
    named = enumerate(zip(*of_pairs, strict=True))
    links = [[place, link] for place, pair in named if (link := beside.links.get(pair))]
    own = votes.table.iloc[slice(*np.searchsorted(votes.table["pair"], [first, last]))]
    labels, label = _coded(listed(own["label"]))
    at = np.searchsorted(own["pair"], np.arange(first, last + 1)).tolist()
    said = enumerate(zip(listed(own["flags"]), listed(own["comment"]), strict=True))
    notes = [[place, *both] for place, both in said if both != ("", "")]
    vote = {"at": at, "who": own["who"].tolist(), "labels": labels, "label": label, "notes": notes}
    return content | {"vote": vote, "links": links}


def _coded(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return the distinct texts in the order of appearance, and the place of each."""
    codes, distinct = code_texts(texts)
    return distinct.to_pylist(), codes.tolist()


def _script(name: str, *content: Any) -> bytes:
    """Return a call of the page's own function; nothing in it can end a script or a line of one."""
    words = b", ".join(map(msgspec.json.encode, content))
    for sign in ("<", "\u2028", "\u2029"):
        words = words.replace(sign.encode(), f"\\u{ord(sign):04x}".encode())
    return b"gallery." + name.encode() + b"(" + words + b");\n"
