"""The clips, their captions, and the truth of every pair, all from one seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fire_toolkit.demo.captions import Caption, write_captions
from fire_toolkit.demo.clips import make_clips
from fire_toolkit.demo.scene import DURATION_S, Clip, Condition, margin
from fire_toolkit.errors import UsageError
from fire_toolkit.tables import Items, Qrels, Queries, check_items, check_qrels, check_queries
from fire_toolkit.tables.columns import PAIR


@dataclass(frozen=True)
class World:
    """Clips and captions with known truth.

    clips: in the order of their doc ids.
    queries: columns query_id, text, level (1 general to 3 specific).
    items: columns doc_id, media_url (a file name), start_s, end_s.
    original: qrels with each caption's own clip alone, as a benchmark made from captions has.
    truth: qrels with every pair that holds; source is original or new.
    pairs: every query and doc with relevance (0 or 1) and difficulty (0 clear to 1 on the border).
    conditions: what each query asks, by query id.
    """

    clips: tuple[Clip, ...]
    queries: Queries
    items: Items
    original: Qrels
    truth: Qrels
    pairs: pd.DataFrame
    conditions: dict[str, tuple[Condition, ...]]


def make_world(
    *, seed: int = 0, n_clips: int = 60, n_captions: int = 100, media_suffix: str = ".webm"
) -> World:
    """Return a world of `n_clips` clips and `n_captions` captions of them.

    Args:
        seed: the same seed gives the same world.
        n_clips: 1 or more.
        n_captions: 1 or more, with different texts; clips take turns, and so do levels.
        media_suffix: how the clips' file names end; see `encode.media_suffix`.

    Raises:
        UsageError: a count below 1, or more captions than there are different texts.
    """
    if n_clips < 1 or n_captions < 1:
        raise UsageError(f"{n_clips} clips, {n_captions} captions: expected 1 or more of each")
    rng = np.random.default_rng([seed, 1])
    clips = make_clips(n_clips, rng=rng)
    captions = write_captions(clips, n_captions=n_captions, rng=rng)
    return _tabulate(clips, captions, media_suffix)


def _tabulate(clips: tuple[Clip, ...], captions: Sequence[Caption], media_suffix: str) -> World:
    digits = max(3, len(str(len(captions))))
    shuffled = sorted(captions, key=lambda caption: caption.text)
    asked = {f"q{number:0{digits}}": caption for number, caption in enumerate(shuffled, start=1)}
    rows = [
        {"query_id": query_id, "doc_id": clip.doc_id, "margin": margin(clip, caption.conditions)}
        for query_id, caption in asked.items()
        for clip in clips
    ]
    margins = pd.DataFrame(rows)
    pairs = margins[PAIR].assign(
        relevance=(margins["margin"] > 0).astype(np.int64), difficulty=1 - margins["margin"].abs()
    )
    own = pd.DataFrame({"query_id": list(asked), "doc_id": [caption.doc_id for caption in asked.values()]})
    true = pairs.loc[pairs["relevance"] > 0, ["query_id", "doc_id", "relevance"]]
    is_own = pd.MultiIndex.from_frame(true[PAIR]).isin(pd.MultiIndex.from_frame(own))
    levels = [caption.level for caption in asked.values()]
    texts = [caption.text for caption in asked.values()]
    files = [clip.doc_id + media_suffix for clip in clips]
    ids = [clip.doc_id for clip in clips]
    return World(
        clips=clips,
        queries=check_queries(pd.DataFrame({"query_id": list(asked), "text": texts, "level": levels})),
        items=check_items(
            pd.DataFrame({"doc_id": ids, "media_url": files, "start_s": 0.0, "end_s": DURATION_S})
        ),
        original=check_qrels(own.assign(relevance=1, source="original")),
        truth=check_qrels(true.assign(source=np.where(is_own, "original", "new"))),
        pairs=pairs,
        conditions={query_id: caption.conditions for query_id, caption in asked.items()},
    )
