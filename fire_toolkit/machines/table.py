"""Tasks to requests, and what became of them to `machine.csv`, and in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
import pandas as pd

from fire_toolkit.campaign.tasks import REFERENCE_URL
from fire_toolkit.errors import FireError
from fire_toolkit.files import sha256_of, text_sha256
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.machines.judge import Answer, Judge, Request
from fire_toolkit.machines.pictures import local_part
from fire_toolkit.machines.run import Place, Spending
from fire_toolkit.reporting.templates import rendered
from fire_toolkit.tables import MachineJudgments, Tasks, check_machine_judgments
from fire_toolkit.tables.columns import listed
from fire_toolkit.tables.further import FAILED, OK

Faults = dict[tuple[str, str], str]


def requests_of(
    tasks: Tasks, root: Path, guideline: Guideline, *, n_samples: int = 1
) -> tuple[list[Request], Faults]:
    """Return what a judge is asked, each sample of each pair, and why a pair cannot be shown.

    Pairs of one item stand together, for its pictures are then made once; items come in the order of their
    hashes, so that what a budget leaves out is not the end of a file. root: where relative paths start.

    Raises:
        FireError: no pair can be shown.
    """
    references = listed(tasks[REFERENCE_URL]) if REFERENCE_URL in tasks.columns else [""] * len(tasks)
    columns = (listed(tasks[name]) for name in ("query_id", "doc_id", "text", "media_url"))
    rows = list(zip(*columns, references, strict=True))
    hashes = {row[3]: text_sha256(row[3]) for row in rows} if guideline.shows_texts else {}
    broken: dict[str, str] = {}
    urls = dict.fromkeys([*(row[3] for row in rows), *filter(None, references)])
    of_files: dict[Path, str] = {}  # each is read once
    for url in urls if guideline.shows_media else ():
        try:
            path = local_part(url, root)[0]
            hashes[url] = of_files[path] = of_files.get(path) or sha256_of(path)
        except FireError as error:
            broken[url] = str(error)
    faults = {row[:2]: broken[url] for row in rows for url in row[:2:-1] if url in broken}
    if faults and len(faults) == len(rows):
        raise FireError(next(iter(faults.values())))
    found = []
    for query_id, doc_id, text, item, reference in sorted(
        rows, key=lambda row: (text_sha256(row[3]), *row[:2])
    ):
        if (query_id, doc_id) not in faults:
            url, item_text = ("", item) if guideline.shows_texts else (item, "")
            seen = (url, hashes.get(item, ""), reference, hashes.get(reference, ""), item_text)
            found += [Request(query_id, doc_id, n, text, *seen) for n in range(1, n_samples + 1)]
    return found, faults


def machine_table(
    rows: Iterable[tuple[str, Place, Answer]],
    requests: Sequence[Request],
    judge: Judge,
    *,
    faults: Mapping[tuple[str, str], str],
) -> MachineJudgments:
    """Return what a judge has said so far of every pair that it was asked.

    Args:
        rows: of the judge's cache, the earliest first.
        requests: of these pairs the answer to the caption and media as they are now counts; of others the
            last one.
        faults: pairs that could not be asked, with the reason; they failed.
    """
    current = {request.place: request.key(judge) for request in requests}
    found: dict[Place, Answer] = {}
    for key, place, answer in rows:
        if current.get(place, key) != key:
            continue
        if answer.is_final or place not in found or not found[place].is_final:
            found[place] = answer
    pairs = {place[:2] for place in found}
    found |= {(*pair, 1): Answer(reason=why) for pair, why in faults.items() if pair not in pairs}
    said = pd.DataFrame(map(asdict, found.values()), columns=[each.name for each in fields(Answer)])
    is_ok, names = said["label"] != "", ["query_id", "doc_id", "sample_number"]
    table = pd.DataFrame(list(found), columns=names).assign(
        **said[["label", "score", "reason", "frames", "cost", "latency_seconds"]],
        status=np.where(is_ok, OK, FAILED),
        judge_id=judge.name,
        backbone=judge.backbone,
        model=judge.model,
        revision=judge.revision or said["fingerprint"],
        prompt_hash=judge.prompt_sha256,
    )
    table.loc[~is_ok, "score"], table.loc[is_ok, "reason"] = np.nan, ""
    numbers = dict.fromkeys(("score", "cost", "latency_seconds"), np.float64)
    return check_machine_judgments(table.astype(numbers))


def run_in_words(
    table: MachineJudgments, judge: Judge, counts: Mapping[str, int], spending: Spending, folder: Path
) -> list[str]:
    """Return what a run of a judge counted and cost; why answers failed, and what the server did not give."""
    reasons = table.loc[table["status"] != OK, "reason"].value_counts()
    found = {"reasons": list(reasons.items()), "has_scores": table["score"].notna().any()}
    found |= {"judge": judge, "spending": spending, "folder": folder, **counts}
    n_versions = len({*table["revision"]} - {""})
    return rendered("machines", "run.txt", **found, n_versions=n_versions).splitlines()
