"""Annotators of the walk: they see a task's caption and media, and answer as Label Studio exports it."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Truth = Callable[[str, str], bool]


def answer(person: int, caption: str, media: str, truth: Truth, *, is_sure: bool) -> str:
    """Return a person's label: the truth, or in one of 25 cases its opposite, unless they are sure."""
    digest = hashlib.sha256(f"{person} {caption} {media}".encode()).digest()
    is_wrong = digest[0] < 10 and not is_sure
    return "relevant" if truth(caption, media) != is_wrong else "irrelevant"


def export(
    tasks: Path, person: int, out: Path, give: Callable[[int, str, str], str]
) -> list[tuple[str, str]]:
    """Answer every task of a file as one person, and save it as Label Studio's JSON export does.

    Returns:
        Caption and media of every task answered.
    """
    exported, seen = [], []
    for number, task in enumerate(json.loads(tasks.read_text()), start=1):
        shown = task["data"]
        name = next(each for each in ("video", "image", "media") if each in shown)
        seen.append((shown["caption"], shown[name]))
        label = give(person, shown["caption"], shown[name])
        exported.append({"id": number, **task, "annotations": [_annotation(number, person, label, name)]})
    out.write_text(json.dumps(exported))
    return seen


def _annotation(number: int, person: int, label: str, name: str) -> dict[str, Any]:
    choice = {
        "id": "r",
        "type": "choices",
        "from_name": "relevance",
        "to_name": name,
        "value": {"choices": [label]},
    }
    moment = "2026-11-01T10:00:00.000000Z"
    return {
        "id": 100_000 * person + number,
        "completed_by": {"id": person, "email": f"person{person}@annotators.test"},
        "result": [choice],
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": moment,
        "updated_at": moment,
        "lead_time": 4.5,
    }
