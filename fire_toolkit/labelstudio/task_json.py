"""Tasks as Label Studio imports them: caption, item and key, and nothing else."""

from __future__ import annotations

from typing import Any

from fire_toolkit.errors import JoinError
from fire_toolkit.guidelines import CAPTION, Guideline
from fire_toolkit.tables import Tasks

PAIR_ID = "pair_id"
META, ROUND = "meta", "round"


def tasks_to_json(tasks: Tasks, guideline: Guideline) -> dict[int, list[dict[str, Any]]]:
    """Return the tasks of each batch as Label Studio imports them, in the order of their positions.

    Args:
        tasks: made for `guideline`.
        guideline: names the key that its labeling page reads the item from.

    Returns:
        For each batch number, rising, `{"data": {caption, <video or image>, pair_id}}` of each task.
        Every key of `data` can be seen by annotators, so there is no other. Batch 1 is always there. A task
        of a later round also has `"meta": {"round": 2}`, which comes back with its answers.

    Raises:
        JoinError: the tasks were made for another guideline.
    """
    others = sorted(set(tasks["guideline"]) - {guideline.name})
    if others:
        raise JoinError(f"tasks were made for guideline {', '.join(others)}, not for {guideline.name}")
    numbers = [1, *tasks["batch"].unique()]
    batches: dict[int, list[dict[str, Any]]] = {int(number): [] for number in numbers}
    columns = (tasks[name] for name in ("batch", "text", "media_url", "pair_id", "round"))
    for number, caption, media_url, key, asked in zip(*columns, strict=True):
        content = {CAPTION: caption, guideline.media_key: media_url, PAIR_ID: key}
        later = {META: {ROUND: int(asked)}} if asked > 1 else {}
        batches[int(number)].append({"data": content} | later)
    return batches
