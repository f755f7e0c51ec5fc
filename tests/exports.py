"""What comes back of tasks: what Label Studio exports of a file, and sheets that were filled in."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from command import rows, write_table

from fire_toolkit.campaign.keys import split_pair_id


def answered(
    tasks: Path,
    label_of: Callable[[str, str], str],
    *,
    account: int = 1,
    at: str = "2026-01-01T00:00:00Z",
    **fields: object,
) -> list[dict[str, Any]]:
    """Return the tasks of a file with an account's answer to each; fields: more of every answer."""
    found: list[dict[str, Any]] = json.loads(tasks.read_text())
    for number, task in enumerate(found, 1):
        choices = {"choices": [label_of(*split_pair_id(task["data"]["pair_id"]))]}
        result = [{"from_name": "relevance", "type": "choices", "value": choices}]
        answer = {"id": number, "completed_by": account, "result": result, "created_at": at, "updated_at": at}
        task |= {"id": number, "annotations": [answer | fields]}
    return found


def export(tasks: Path, to: Path, label_of: Callable[[str, str], str], **how: Any) -> int:
    """Write an export of a file's tasks, and return how many there are."""
    found = answered(tasks, label_of, **how)
    to.write_text(json.dumps(found))
    return len(found)


def fill_in(sheet: Path, to: Path, label_of: Callable[[str, str], str], n: int | None = None) -> list[str]:
    """Fill in the first n rows of a sheet, save it, and return their pairs' keys."""
    table = rows(sheet)
    keys = [row["pair_id"].removeprefix("'") for row in table[:n]]
    for row, key in zip(table, keys, strict=False):
        row["label"] = label_of(*split_pair_id(key))
    write_table(to, table)
    return keys
