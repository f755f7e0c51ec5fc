"""Annotators with known habits, who answer tasks as Label Studio exports them.

Each sees by how much a caption holds, through noise of their own, and draws the line where they are
used to: a pair near the border is hard for all of them, a clear one for nobody who looks.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

RELEVANT, IRRELEVANT, AMBIGUOUS = "relevant", "irrelevant", "ambiguous"
SENSITIVE = "sensitive"
FIRST_DAY = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)

Task: TypeAlias = Mapping[str, Any]
Export: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True)
class Annotator:
    """One annotator and their habits.

    name: of the habit; user_id: the number Label Studio knows them by; noise: standard deviation of
    what they see on the border, in units of the margin (two fifths of it at a clear pair); line: the
    margin from which they say relevant; doubt: half width of the band in which they call a pair
    ambiguous; lapses: share of tasks answered without looking; skips: share of tasks passed over,
    more of them when hard; pace_s: median seconds a task.
    """

    name: str
    user_id: int
    noise: float
    line: float
    doubt: float
    lapses: float
    skips: float
    pace_s: float


ANNOTATORS = (
    Annotator("careful", 1, noise=0.2, line=0.05, doubt=0.1, lapses=0.008, skips=0.004, pace_s=9.0),
    Annotator("hasty", 2, noise=0.5, line=0.0, doubt=0.0, lapses=0.1, skips=0.015, pace_s=3.2),
    Annotator("lenient", 3, noise=0.3, line=-0.6, doubt=0.05, lapses=0.02, skips=0.005, pace_s=6.5),
    Annotator("strict", 4, noise=0.3, line=0.55, doubt=0.05, lapses=0.02, skips=0.008, pace_s=7.5),
)
REVIEWER_ID = ANNOTATORS[0].user_id


def answer_tasks(
    tasks: Sequence[Task],
    *,
    pair_ids: Mapping[str, tuple[str, str]],
    pairs: pd.DataFrame,
    seen: Mapping[str, Collection[str]],
    batch: int,
    annotators: Sequence[Annotator] = ANNOTATORS,
    seed: int = 0,
) -> dict[str, Export]:
    """Return what each annotator's project exports once all `tasks` are answered.

    Args:
        tasks: as Label Studio imports them; `task["data"]["pair_id"]` is the key. No key twice.
        pair_ids: query id and doc id of each key, each a pair of `pairs`.
        pairs: columns query_id, doc_id, relevance (0 or 1) and difficulty (0 to 1), as `World.pairs`.
        seen: names of those who had a key before; they do not get it again, and are never all.
        batch: 1 or more: the project's number and the working day; the second labels are batch 2.
        annotators: who answers; of those with as few tasks, whoever stands first gets the next.
        seed: the same seed and tasks give the same exports. An answer depends on the seed, the
            annotator, the batch and the key, not on the other tasks.

    Returns:
        By annotator name, the list of tasks with annotations that Label Studio's JSON export has.
    """
    signed = (2 * pairs["relevance"] - 1) * (1 - pairs["difficulty"])  # 1: clearly relevant, -1: clearly not
    known = dict(zip(zip(pairs["query_id"], pairs["doc_id"], strict=True), signed, strict=True))
    # Shuffled, tasks are dealt out to whoever has fewest so far, and did not have them before.
    assigned: dict[str, list[tuple[Task, float]]] = {annotator.name: [] for annotator in annotators}
    for place in np.random.default_rng([seed, 3]).permutation(len(tasks)):
        key = tasks[place]["data"]["pair_id"]
        free = [name for name in assigned if name not in seen.get(key, ())]
        own = assigned[min(free, key=lambda name: len(assigned[name]))]
        own.append((tasks[place], float(known[pair_ids[key]])))
    return {each.name: list(_export(each, assigned[each.name], batch, seed)) for each in annotators}


def _export(
    annotator: Annotator, tasks: Sequence[tuple[Task, float]], batch: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield tasks with their annotations as one annotator leaves them at a batch: time and numbers rise."""
    clock = FIRST_DAY + timedelta(days=batch - 1, minutes=3 * annotator.user_id)
    project = 10 * batch + annotator.user_id
    number = 1_000_000 * project
    for inner_id, (task, margin) in enumerate(tasks, start=1):
        crc = zlib.crc32(task["data"]["pair_id"].encode())
        rng = np.random.default_rng([seed, batch, annotator.user_id, crc])
        ids = {"task": 1_000_000 * project + inner_id, "project": project}
        opened, notes = clock, []
        for label, lead_time, comment, is_flagged in _answers(annotator, margin, rng):
            created = clock + timedelta(seconds=lead_time)
            clock = created + timedelta(milliseconds=int(rng.integers(300, 1500)))
            number += 1
            updated, editor = created, annotator.user_id
            if rng.random() < 0.01:
                updated = created + timedelta(minutes=float(rng.uniform(5, 60)))
                editor = editor if rng.random() < 0.7 else REVIEWER_ID
            result = _result(label, comment, is_flagged, rng)
            known = {
                "id": number,
                "completed_by": annotator.user_id,
                "updated_by": editor,
                "was_cancelled": label is None,
                "created_at": _stamp(created),
                "updated_at": _stamp(updated),
                "lead_time": lead_time,
                "unique_id": str(uuid.UUID(bytes=rng.bytes(16), version=4)),
                "result_count": len(result),
                "result": result,
            }
            notes.append(_UNUSED | known | ids)
        n_skipped = sum(note["was_cancelled"] for note in notes)
        yield {
            "id": ids["task"],
            "inner_id": inner_id,
            "project": project,
            "data": dict(task["data"]),
            "meta": dict(task.get("meta", {})),
            "created_at": _stamp(opened),
            "updated_at": max(note["updated_at"] for note in notes),
            "total_annotations": len(notes) - n_skipped,
            "cancelled_annotations": n_skipped,
            "total_predictions": 0,
            "drafts": [],
            "predictions": [],
            "annotations": notes,
        }


# What Label Studio exports of an annotation, and nothing here fills.
_UNUSED: dict[str, Any] = {
    **dict.fromkeys(
        ("draft_created_at", "parent_prediction", "parent_annotation", "import_id", "last_action")
    ),
    **dict.fromkeys(("ground_truth", "bulk_created"), False),
    "prediction": {},
}


def _answers(annotator: Annotator, margin: float, rng: np.random.Generator) -> list[_Answer]:
    """Return one answer; now and then a second by the same annotator, who looked again."""
    first = _answer(annotator, margin, rng)
    if first[0] is None or rng.random() >= 0.008:
        return [first]
    label, lead_time, _, is_flagged = _answer(replace(annotator, lapses=0.0, skips=0.0), margin, rng)
    return [first, (label, lead_time, "looked again", is_flagged)]


_Answer: TypeAlias = tuple[str | None, float, str, bool]  # label (None: a skip), seconds, comment, flagged


def _answer(annotator: Annotator, margin: float, rng: np.random.Generator) -> _Answer:
    hard = 1 - abs(margin)
    pace = annotator.pace_s * (1 + 0.8 * hard) * float(np.exp(rng.normal(0, 0.4)))
    lead_time = round(max(pace, 0.8), 3)
    skips, looks = rng.random(), rng.random() >= annotator.lapses
    over = margin + rng.normal(0, annotator.noise) * (0.4 + 0.6 * hard) - annotator.line
    remark, slip = rng.random(), rng.random()
    if skips < annotator.skips * (1 + 2 * hard):
        return None, lead_time, "", False
    if not looks:
        return RELEVANT if rng.random() < 0.3 else IRRELEVANT, round(lead_time / 3, 3), "", False
    if abs(over) < annotator.doubt:
        return AMBIGUOUS, lead_time, "too close to call", False
    comment = "close to the border" if hard > 0.5 and remark < 0.15 else ""
    return RELEVANT if over > 0 else IRRELEVANT, lead_time, comment, slip < 0.002


def _result(
    label: str | None, comment: str, is_flagged: bool, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Return Label Studio's result: the choice, then flag and comment where there are any."""
    parts: list[tuple[str, str, dict[str, list[str]]]] = []
    parts += [] if label is None else [("relevance", "choices", {"choices": [label]})]
    parts += [("flags", "choices", {"choices": [SENSITIVE]})] if is_flagged else []
    parts += [("comment", "textarea", {"text": [comment]})] if comment else []
    return [
        {
            "value": value,
            "id": rng.bytes(5).hex(),
            "from_name": name,
            "to_name": "video",
            "type": kind,
            "origin": "manual",
        }
        for name, kind, value in parts
    ]


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
