"""The clips, their captions, and the truth of every pair.

`docs/build_demo_world.py` drew what things.csv and captions.csv hold.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.demo.scene import DURATION_S, Clip, Condition, margin, read_clips
from fire_toolkit.results import drawn_text
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import (
    Items,
    Labels,
    Pool,
    Qrels,
    Queries,
    Run,
    check_items,
    check_qrels,
    check_queries,
)
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.words import n_of, text_in


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
    *,
    n_clips: int = 60,
    n_captions: int = 100,
    media_suffix: str = ".webm",
    tables: Mapping[str, str] | None = None,
) -> World:
    """Return the demo's world, or the beginning of it.

    Args:
        n_clips: 1 or more, of 60: the first.
        n_captions: 1 or more: the first of the captions that were written of these clips.
        media_suffix: how the clips' file names end; see `film.media_suffix`.
        tables: things.csv and captions.csv of another world.
    """
    text = tables or {name: text_in("demo", name) for name in ("things.csv", "captions.csv")}
    clips = read_clips(text["things.csv"].splitlines())[:n_clips]
    known = {clip.doc_id for clip in clips}
    written = [row for row in csv.DictReader(text["captions.csv"].splitlines()) if row["doc_id"] in known]
    captions = sorted(written[:n_captions], key=lambda row: row["text"])
    ids = [f"q{number:03}" for number in range(1, len(captions) + 1)]
    conditions = {
        query_id: tuple((aspect, value) for aspect, value in map(str.split, row["conditions"].split(";")))
        for query_id, row in zip(ids, captions, strict=True)
    }
    rows = [(query_id, clip.doc_id, margin(clip, conditions[query_id]), clip.doc_id == row["doc_id"])
            for query_id, row in zip(ids, captions, strict=True) for clip in clips]  # fmt: skip
    table = pd.DataFrame(rows, columns=[*PAIR, "margin", "is_own"])
    pairs = table[PAIR].assign(
        relevance=(table["margin"] > 0).astype(np.int64), difficulty=1 - table["margin"].abs()
    )
    source = np.where(table["is_own"], "original", "new")
    truth = pairs[[*PAIR, "relevance"]].assign(source=source)[pairs["relevance"] > 0]
    texts = {"text": [row["text"] for row in captions], "level": [int(row["level"]) for row in captions]}
    items = {"media_url": [clip.doc_id + media_suffix for clip in clips], "start_s": 0.0, "end_s": DURATION_S}
    return World(
        clips=clips,
        queries=check_queries(pd.DataFrame({"query_id": ids, **texts})),
        items=check_items(pd.DataFrame({"doc_id": [clip.doc_id for clip in clips], **items})),
        original=check_qrels(truth[truth["source"] == "original"]),
        truth=check_qrels(truth),
        pairs=pairs,
        conditions=conditions,
    )


def compare_with_truth(
    world: World,
    *,
    labels: Labels,
    pool: Pool,
    runs: Sequence[Run],
    augmented: Qrels,
    measures: Sequence[str],
    shown: Sequence[str],
) -> tuple[str, pd.DataFrame]:
    """Return how near labels came to the truth, in words and scores three ways, and all of these scores.

    shown: those of the measures that stand in the words.

    Returns:
        Words, and a table with run_id, measure, original, corrected, true.
    """
    judged = labels.merge(world.pairs[[*PAIR, "relevance"]], on=PAIR, suffixes=("", "_true"))
    values: dict[str, Any] = {}
    for name, qrels in (("corrected", augmented), ("true", world.truth)):
        scores = score_runs(runs, world.original, measures, augmented=qrels).scores
        by = scores.pivot(index=["run_id", "measure"], columns="qrels", values="value")
        values |= {"original": by["original"], name: by["augmented"]}
    found = pd.DataFrame(values)
    n_right = int((judged["relevance"] == judged["relevance_true"]).sum())
    n, n_own, n_pooled = len(world.truth), len(world.original), len(world.truth.merge(pool[PAIR], on=PAIR))
    lines = (
        "\nBeside the truth, which only a made world has:",
        f"  {n_right:,} of {n_of(len(judged), 'label')} are right ({n_right / len(judged):.1%})",
        f"  the original qrels hold {n_own} of {n} positives: the other {n - n_own} count as wrong answers",
        f"  the pool holds {n_pooled} of them ({n_pooled / n:.1%}); the rest stays unjudged\n\n",
    )
    rows = [
        [run_id, *(f"{100 * values[kind][run_id, name]:.1f}" for name in shown for kind in values)]
        for run_id in dict.fromkeys(found.index.get_level_values("run_id"))
    ]
    heads = ["run", *(f"{name}\n{kind}" for name in shown for kind in values)]
    return "\n".join(lines) + drawn_text(rows, heads, "table"), found.reset_index()
