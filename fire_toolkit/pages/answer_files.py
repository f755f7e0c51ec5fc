"""The files in which answers come back from written pages, into the ledger.

A file is the browser's whole record up to the moment when it was saved: a head that says whose answers these
are, a line for each answer, consent or answer taken back, and an end with their number and checksum. An
older file is therefore the beginning of a newer one, and every record is known again by its time.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fire_toolkit.campaign.carrier import Fetched, fetched
from fire_toolkit.campaign.records import BY_PAGE, Campaign, Round
from fire_toolkit.campaign.store import Record, Store
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import read_text, without_mark
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.pages.answers import ANSWER, CONSENT, UNDO, checked_answer, checked_text, fold_records
from fire_toolkit.pages.desk import task_names
from fire_toolkit.pages.written import FORM, VERSION
from fire_toolkit.resolution.judgments import utc_time


def is_answer_file(path: Path) -> bool:
    """Whether a file begins as one that a written page saves."""
    with path.open("rb") as stream:
        start = stream.read(100)
    return without_mark(start).startswith(f'{{"form":"{FORM}"'.encode())


def take_files(
    paths: Sequence[Path],
    campaign: Campaign,
    rounds: Sequence[Round],
    guideline: Guideline,
    store: Path,
) -> Fetched:
    """Add the answers in files of written pages to the record `store`, as far as it does not have them.

    All files are read before anything is added.

    Raises:
        FormatError: a file is cut short, damaged, or holds what is not an answer.
        UsageError: it belongs to another campaign, to nobody asked here, or to another guideline.
    """
    own = [entry for entry in rounds if entry.carrier == BY_PAGE]
    found = [_records(path, campaign.key, own, guideline) for path in paths]
    notes = [
        f"{path}: {n_unknown} answers left out: their captions have changed since the page was written, or "
        "their round is not in this workspace"
        for path, (_, n_unknown) in zip(paths, found, strict=True)
        if n_unknown
    ]
    with Store(store) as kept:
        for records, _ in found:
            fold_records(records, campaign.key, kept)
        return fetched(kept.counts, n_projects=len(paths), notes=[*notes, *kept.notes])


def _records(
    path: Path, campaign_key: str, rounds: Sequence[Round], guideline: Guideline
) -> tuple[list[Record], int]:
    """Return the records of a file by round and pair, and how many are of tasks that are not known."""
    head, *lines = _whole_lines(path)
    annotator_id = _owner(head, f"{path}:1", campaign_key, rounds, guideline)
    names = task_names(rounds, annotator_id, campaign_key)
    records: list[Record] = []
    n_unknown = 0
    for number, line in enumerate(lines, start=2):
        try:
            record = _record(line, annotator_id, names, guideline)
        except FormatError as error:
            raise FormatError(f"{path}:{number}: {error}") from None
        if record is not None:
            records.append(record)
        n_unknown += record is None and line.get("kind") == ANSWER
    return records, n_unknown


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    """Return what the lines before the end hold; a file that lacks some, or was changed, is refused."""
    texts = read_text(path).replace("\r\n", "\n").rstrip("\n").split("\n")
    found = [_parsed(text) for text in texts]
    body = "".join(f"{text}\n" for text in texts[:-1]).encode("utf-8", "surrogatepass")
    end = {"records": len(texts) - 2, "crc32": zlib.crc32(body)}
    if len(texts) < 2 or found[-1] != end or None in found:
        raise FormatError(
            f"{path}: cut short or changed since the page saved it (its last line does not fit the rest); "
            "ask for the file again: the annotator opens the page and saves it once more"
        )
    return [line for line in found[:-1] if line is not None]


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _owner(
    head: Mapping[str, Any], where: str, campaign_key: str, rounds: Sequence[Round], guideline: Guideline
) -> str:
    """Return whose answers a file holds; `UsageError` unless they were asked for here, as they stand."""
    if head.get("version") != VERSION:
        raise UsageError(f"{where}: written in version {head.get('version')}, this reads version {VERSION}")
    if head.get("campaign") != campaign_key:
        raise UsageError(
            f"{where}: answers of campaign {head.get('campaign')}, this one is {campaign_key}; import them "
            "in the workspace whose `page write` made the page"
        )
    people = sorted({name for entry in rounds for name in entry.given["annotator_id"]})
    if head.get("annotator") not in people:
        raise UsageError(
            f"{where}: answers of {head.get('annotator')!r}, who has no tasks on our own page here; "
            f"expected one of {', '.join(people)}"
        )
    judged_by = str(head.get("guideline_sha256"))
    if judged_by != guideline.sha256:
        raise UsageError(
            f"{where}: judged by guideline {head.get('guideline')} ({judged_by[:12]}), "
            f"which is now {guideline.name} ({guideline.sha256[:12]}); put the guideline back as it was to "
            "take these answers, or have them given again on a page written now"
        )
    return str(head["annotator"])


def _record(
    line: Mapping[str, Any], annotator_id: str, names: Mapping[str, Any], guideline: Guideline
) -> Record | None:
    """Return a line as our own page keeps it; None for consent, and for a task that is not known."""
    kind, at = line.get("kind"), utc_time(str(line.get("at")))
    if kind not in (ANSWER, UNDO, CONSENT) or not at:
        raise FormatError("expected kind answer, undo or consent, and at, a time")
    asked = names.get(checked_text(line, "task", 100))
    if kind == CONSENT or asked is None:
        return None
    own = {"n": line.get("n"), "kind": kind, "annotator": annotator_id, "at": at}
    own |= {"key": checked_text(line, "key", 100), "round": asked[0], "pair": asked[1]}
    if kind == UNDO:
        return own
    place = line.get("position")
    if type(own["n"]) is not int or type(place) is not int or place < 1:
        raise FormatError("expected numbers n and position, from 1")
    return (
        own | checked_answer(line, guideline) | {"page": checked_text(line, "page", 100), "position": place}
    )
