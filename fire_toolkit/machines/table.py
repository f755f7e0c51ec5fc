"""Tasks to requests, and what became of them to `machine.csv`, and in words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    hashes: dict[str, str] = {}
    broken: dict[str, str] = {}
    if guideline.shows_texts:
        hashes = {row[3]: text_sha256(row[3]) for row in rows}
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
    rows.sort(key=lambda row: (hashlib.sha256(row[3].encode("utf-8", "replace")).digest(), row[0], row[1]))
    found = []
    for query_id, doc_id, text, item, reference in rows:
        for number in range(1, n_samples + 1) if (query_id, doc_id) not in faults else ():
            url, item_text = ("", item) if guideline.shows_texts else (item, "")
            seen = (url, hashes.get(item, ""), reference, hashes.get(reference, ""), item_text)
            found.append(Request(query_id, doc_id, number, text, *seen))
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


def counts_in_words(counts: Mapping[str, int], spending: Spending) -> str:
    """Return what a run of a judge counted beyond its answers, and what it cost."""
    words = f" ({counts['stored_before']:,} were there before); {counts['failed']:,} failed"
    if spending.tokens:
        money = f", cost {spending.money:,.4f}" if spending.price else ""
        words += f"; {spending.tokens:,} tokens{money} so far"
    if counts["not_asked"]:
        words += f"; the budget is spent: {counts['not_asked']:,} not asked"
    return words


def remarks(table: pd.DataFrame, judge: Judge) -> Iterator[str]:
    """Yield why answers failed, and what the server did not give."""
    reasons = table.loc[table["status"] != OK, "reason"].value_counts()
    for reason, number in reasons.head(5).items():
        yield f"failed {number:,} times: {reason}"
    if len(reasons) > 5:
        yield f"and {len(reasons) - 5:,} further reasons: see machine.csv"
    if (table["status"] == OK).any() and table["score"].isna().all() and judge.logprobs:
        yield "note: the server gives no probabilities of tokens: there are labels, and no P(yes)"
    if (versions := len({*table["revision"]} - {""})) > 1:
        yield f"note: the server named {versions} versions of itself (column revision): answers may differ"
