"""Tasks to requests, and what became of them to `machine.csv`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.campaign.tasks import REFERENCE_URL
from fire_toolkit.errors import FireError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.machines.cache import FAILED, STORED, answer_of
from fire_toolkit.machines.judge import Answer, Judge, Request
from fire_toolkit.machines.pictures import media_hashes
from fire_toolkit.tables import MACHINE_JUDGMENTS, MachineJudgments, Tasks, check_machine_judgments
from fire_toolkit.tables.columns import listed
from fire_toolkit.tables.machine import FAILED as FAILED_STATUS
from fire_toolkit.tables.machine import OK

Place = tuple[str, str, int]


def requests_of(
    tasks: Tasks, media_sha256: Mapping[str, str], *, n_samples: int = 1, are_texts: bool = False
) -> list[Request]:
    """Return what a judge is asked: each sample of each task whose media are there, or whose items are texts.

    Pairs of one item stand together, for its pictures are then made once; items come in the order of their
    hashes, so that what a budget leaves out is not the end of a file.
    """
    columns = (tasks[name] for name in ("query_id", "doc_id", "text", "media_url"))
    rows = [
        (*row, reference)
        for *row, reference in zip(*columns, references_of(tasks), strict=True)
        if row[3] in media_sha256 and (not reference or reference in media_sha256)
    ]
    rows.sort(key=lambda row: (hashlib.sha256(row[3].encode("utf-8", "replace")).digest(), row[0], row[1]))
    return [
        Request(
            query_id,
            doc_id,
            number,
            text,
            "" if are_texts else media_url,
            media_sha256[media_url],
            reference,
            media_sha256.get(reference, ""),
            media_url if are_texts else "",
        )
        for query_id, doc_id, text, media_url, reference in rows
        for number in range(1, n_samples + 1)
    ]


def media_of(
    tasks: Tasks, root: Path, guideline: Guideline
) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return the sha256 of each file (or text) that tasks show, and for each pair that lacks one why.

    Raises:
        FireError: there is a fault in every pair.
    """
    if guideline.is_of_queries:
        return {"": ""}, {}
    if guideline.shows_texts:
        texts = tasks["media_url"].unique()
        return {text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts}, {}
    shown = [listed(tasks["media_url"]), references_of(tasks)]
    hashes, broken = media_hashes(sorted({*shown[0], *filter(None, shown[1])}), root)
    faults = {
        (query, doc): next(broken[url] for url in urls if url in broken)
        for query, doc, *urls in zip(tasks["query_id"], tasks["doc_id"], *shown, strict=True)
        if not broken.keys().isdisjoint(urls)
    }
    if faults and len(faults) == len(tasks):
        raise FireError(next(iter(faults.values())))
    return hashes, faults


def references_of(tasks: Tasks) -> Sequence[str]:
    """Return where the item is that each task's composed query starts from; empty for other queries."""
    return listed(tasks[REFERENCE_URL]) if REFERENCE_URL in tasks.columns else [""] * len(tasks)


def machine_table(
    rows: Iterable[Mapping[str, str]],
    requests: Sequence[Request],
    judge: Judge,
    *,
    judge_id: str,
    backbone: str = "",
    faults: Mapping[tuple[str, str], str] | None = None,
) -> MachineJudgments:
    """Return what a judge has said so far of every pair that it was asked.

    Args:
        rows: of the judge's cache, the earliest first.
        requests: of these pairs the answer to the caption and media as they are now counts; of others the
            last one.
        judge_id, backbone: as the user names them.
        faults: pairs that could not be asked, with the reason; they failed.
    """
    current = {_place(request): request.key(judge) for request in requests}
    found: dict[Place, tuple[str, Answer]] = {}
    for row in rows:
        place = (row["query_id"], row["doc_id"], int(row["sample_number"]))
        is_of_now = current.get(place, row["key"]) == row["key"]
        is_over = row["state"] == STORED or found.get(place, (FAILED,))[0] == FAILED
        if row["state"] in (STORED, FAILED) and is_of_now and is_over:
            found[place] = (row["state"], answer_of(row["answer"]))
    made = [_row(place, answer, judge) for place, (_, answer) in found.items()]
    answered = {place[:2] for place in found}
    made += [
        _row((*pair, 1), Answer(reason=reason), judge)
        for pair, reason in (faults or {}).items()
        if pair not in answered
    ]
    table = pd.DataFrame(made, columns=list(MACHINE_JUDGMENTS.names))
    return check_machine_judgments(table.assign(judge_id=judge_id, backbone=backbone))


def _place(request: Request) -> Place:
    return request.query_id, request.doc_id, request.sample_number


def _row(place: Place, answer: Answer, judge: Judge) -> dict[str, Any]:
    is_ok = bool(answer.label)
    return {
        "query_id": place[0],
        "doc_id": place[1],
        "sample_number": place[2],
        "score": answer.score if is_ok and answer.score is not None else np.nan,
        "label": answer.label,
        "model": judge.model,
        "revision": judge.revision or answer.fingerprint,
        "prompt_hash": judge.prompt_sha256,
        "frames": answer.frames,
        "cost": np.nan if answer.cost is None else answer.cost,
        "latency_seconds": np.nan if answer.latency_seconds is None else answer.latency_seconds,
        "status": OK if is_ok else FAILED_STATUS,
        "reason": "" if is_ok else answer.reason,
    }
