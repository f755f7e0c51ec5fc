"""A judge that is a Python function: CLIPScore, say, or a model of one's own."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.campaign.tasks import make_tasks
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.guidelines.grades import DEFAULT_NAME
from fire_toolkit.tables import Items, MachineJudgments, Pool, Queries, check_machine_judgments
from fire_toolkit.tables.machine import FAILED, OK

Judges = Callable[[str, str], float | str]


def judge_pairs(
    pool: Pool,
    queries: Queries,
    items: Items | None = None,
    *,
    judge: Judges,
    judge_id: str,
    backbone: str = "",
) -> MachineJudgments:
    """Return what a function says of each pair of a pool.

    Args:
        pool: the pairs.
        queries, items: their captions (column text) and media (column media_url), on either side, as
            `make_tasks` takes them: the function sees what annotators see, and nothing else.
        judge: is called with caption and media_url, and returns a score (a finite number, which rises with
            relevance) or a label (text). What it raises, and any other value, is the failure of that pair.
        judge_id: what it is called; backbone: what it is built on, as in fire.toml.

    Returns:
        One row for each pair, status `ok` or `failed` with its reason; no row for an empty pool.

    Raises:
        JoinError: a pair whose query or doc is not in the tables.

    Examples:
        >>> from fire_toolkit.tables import check_items, check_pool, check_queries
        >>> pool = check_pool(pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"]}))
        >>> queries = check_queries(pd.DataFrame({"query_id": ["q"], "text": ["a dog runs"]}))
        >>> items = check_items(pd.DataFrame({"doc_id": ["a", "b"], "media_url": ["dog.mp4", "cat.mp4"]}))
        >>> answers = judge_pairs(pool, queries, items, judge_id="names",
        ...                    judge=lambda caption, media: float(media.split(".")[0] in caption))
        >>> answers[["judge_id", "query_id", "doc_id", "score", "status"]]
          judge_id query_id doc_id  score status
        0    names        q      a    1.0     ok
        1    names        q      b    0.0     ok
    """
    tasks = make_tasks(pool, queries, items=items, guideline=read_guideline(DEFAULT_NAME), overlap=0)
    columns = (tasks[name] for name in ("query_id", "doc_id", "text", "media_url"))
    rows = [(query, doc, *_answer_of(judge, *shown)) for query, doc, *shown in zip(*columns, strict=True)]
    names = ["query_id", "doc_id", "score", "label", "latency_seconds", "status", "reason"]
    table = pd.DataFrame(rows, columns=names)
    return check_machine_judgments(table.assign(judge_id=judge_id, backbone=backbone))


def _answer_of(judge: Judges, caption: str, media_url: str) -> tuple[Any, ...]:
    """Return score, label, seconds, status and reason of one call."""
    began = time.monotonic()
    try:
        value = judge(caption, media_url)
        reason = ""
    except Exception as error:
        value, reason = "", f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - began
    if isinstance(value, str):
        reason = reason or ("" if value.strip() else "neither a score nor a label")
        return np.nan, value, seconds, FAILED if reason else OK, reason
    try:
        score = float(value)
    except (TypeError, ValueError):
        score = math.nan
    if isinstance(value, bool) or not math.isfinite(score):
        return np.nan, "", seconds, FAILED, f"returned {value!r:.60}, expected a finite number or a label"
    return score, "", seconds, OK, ""
