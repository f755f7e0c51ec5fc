"""Tasks as Label Studio imports them: caption, item and key, and nothing else."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from fire_toolkit.campaign.tasks import REFERENCE_URL
from fire_toolkit.errors import JoinError
from fire_toolkit.formats.written import field_texts, joined_lines
from fire_toolkit.guidelines.model import CAPTION, REFERENCE, Guideline
from fire_toolkit.tables import Tasks
from fire_toolkit.tables.columns import Texts, bytes_of

PAIR_ID = "pair_id"
META, ROUND = "meta", "round"
_ESCAPED = np.isin(np.arange(256), [*range(32), ord('"'), ord("\\")])


def task_lines(tasks: Tasks, guideline: Guideline) -> dict[int, bytes]:
    """Return for each batch the JSON list of what `tasks_to_json` returns, a task a line, in UTF-8.

    Raises:
        JoinError: as `tasks_to_json`.
    """
    others = sorted(set(tasks["guideline"].unique()) - {guideline.name})
    if others:
        raise JoinError(f"tasks were made for guideline {', '.join(others)}, not for {guideline.name}")
    batches = sorted({1, *map(int, tasks["batch"].unique())})
    return {number: _lines(tasks[tasks["batch"] == number], guideline) for number in batches}


def _lines(tasks: pd.DataFrame, guideline: Guideline) -> bytes:
    if tasks.empty:
        return b"[]\n"
    columns = shown_columns(guideline).items()
    spelled = {key: _quoted(field_texts(tasks[name])) for key, name in columns}
    parts = [part for name, column in spelled.items() for part in (f", {_json(name)}: ", column)]
    later = tasks["round"].map(
        {n: f", {_json(META)}: {_json({ROUND: int(n)})}" if n > 1 else "" for n in tasks["round"].unique()}
    )
    parts = ['{"data": {', str(parts[0])[2:], *parts[1:], "}", field_texts(later.astype("str")), "},"]
    *blocks, last = joined_lines(parts)
    return b"".join([b"[\n", *blocks, last.removesuffix(b",\n"), b"\n]\n"])


def shown_columns(guideline: Guideline) -> dict[str, str]:
    """Return the column of tasks behind each key of a task's data."""
    columns = {CAPTION: "text", REFERENCE: REFERENCE_URL, guideline.item_kind: "media_url"}
    return {key: columns[key] for key in guideline.data_keys} | {PAIR_ID: "pair_id"}


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False)


def _quoted(texts: Texts) -> Texts:
    """Return texts as JSON has them, those that need no escape at once."""
    if _ESCAPED[np.frombuffer(bytes_of(texts), dtype=np.uint8)].any():
        coded = texts.dictionary_encode()
        return pa.array(map(_json, coded.dictionary.to_pylist()), pa.large_string()).take(coded.indices)
    quote, nothing = (pa.scalar(mark, pa.large_string()) for mark in ('"', ""))
    return compute.binary_join_element_wise(quote, texts, quote, nothing)


def tasks_to_json(tasks: Tasks, guideline: Guideline) -> dict[int, list[dict[str, Any]]]:
    """Return the tasks of each batch as Label Studio imports them, in the order of their positions.

    Args:
        tasks: made for `guideline`.
        guideline: names the key that its labeling page reads the item from.

    Returns:
        For each batch number, rising, `{"data": {caption, <video or image>, pair_id}}` of each task; without
        an item where the guideline shows captions alone, with reference where its page shows that of a
        composed query.
        Every key of `data` can be seen by annotators, so there is no other. Batch 1 is always there. A task
        of a later round also has `"meta": {"round": 2}`, which comes back with its answers.

    Raises:
        JoinError: the tasks were made for another guideline.

    Examples:
        >>> from fire_toolkit.formats.tables.guideline_files import read_guideline
        >>> from fire_toolkit.tables import check_pool, check_queries
        >>> pool = check_pool(pd.DataFrame({"query_id": "q", "doc_id": ["d1", "d2"]}))
        >>> queries = check_queries(pd.DataFrame({"query_id": ["q"], "text": "a dog runs"}))
        >>> rules = read_guideline("caption-relevance-v1")
        >>> from fire_toolkit.campaign.tasks import make_tasks
        >>> made = tasks_to_json(make_tasks(pool, queries, guideline=rules, overlap=0), rules)
        >>> sorted(made), len(made[1])
        ([1], 2)
    """
    return {number: json.loads(lines) for number, lines in task_lines(tasks, guideline).items()}


def round_of(meta: object) -> int:
    """Return the round that a task of this toolkit names; 1 where it names none, or something else."""
    found = meta.get(ROUND) if isinstance(meta, dict) else None
    return found if type(found) is int and 1 <= found < 2**63 else 1
