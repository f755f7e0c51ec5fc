"""Our own page as a file for people without a server: one page for each annotator, and what comes back of it.

The page holds its tasks, keeps each answer in the browser's own database before the next caption comes, and
gives them back as a file: a head that says whose answers these are, a line for each answer, consent or answer
taken back, and an end with their number and checksum. An older file is therefore the beginning of a newer
one, and every record is known again by its time.
"""

import hashlib
import json
import os
import shutil
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fire_toolkit.campaign.carrier import Carried, Fetched
from fire_toolkit.campaign.store import Record, Store
from fire_toolkit.errors import FireError, FormatError, UsageError
from fire_toolkit.files import BOM, read_bytes, read_text, text_sha256
from fire_toolkit.guidelines.instructions import instructions_html
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.pages.answers import ANSWER, CONSENT, UNDO, checked_answer, checked_text, fold_records
from fire_toolkit.pages.desk import Desk, given_tasks
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.words import text_in
from fire_toolkit.workspace.manifests import write_files

FORM = "fire-toolkit page answers"
VERSION = 1
NAME = "judge.html"
_PARTS = ("page.css", "file.js", "page.js", "page.html")


def instructions(guideline: Guideline) -> str:
    """Return what annotators read of a guideline, as HTML."""
    return f"<article>{instructions_html(guideline.text)}</article>"


def shown_guideline(guideline: Guideline) -> dict[str, Any]:
    """Return what a page shows of a guideline: title, question, kind of item, answers and flags."""
    labels = sorted(guideline.labels, key=lambda label: label.hotkey)
    names = ("labels", labels), ("flags", guideline.flags)
    return {
        "title": guideline.title,
        "question": guideline.question,
        "kind": guideline.item_kind,
        **{
            name: [{"name": e.name, "key": e.hotkey, "words": e.description} for e in entries]
            for name, entries in names
        },
    }


def write_page(folder: Path, desk: Desk, *, consent: str) -> Path:
    """Write an annotator's page and her items' files into a folder of her own, and return the page.

    The same file takes no further space where the disk can name it twice.

    Args:
        folder: made if it is not there; files of an earlier page that are no longer shown stay.
        desk: what she is asked; neither pairs nor kinds are on the page, only names of tasks. The campaign's
            key and her name name the browser's database.
        consent: the text that comes first.

    Raises:
        FireError: the folder cannot be written, or its judge.html is no such page.
    """
    path, guideline = folder / NAME, desk.guideline
    if path.exists() and FORM.encode() not in read_bytes(path):
        raise FireError(f"{path}: already exists, and is no page to judge on; choose another --out")
    for name, file in desk.media.items():
        _place(file, folder / "media" / name)
    content = {
        "head": {
            "form": FORM,
            "version": VERSION,
            "campaign": desk.campaign_key,
            "annotator": desk.annotator_id,
            "guideline": guideline.name,
            "guideline_sha256": guideline.sha256,
        },
        "shown": shown_guideline(guideline),
        "consent": consent,
        "consent_sha256": text_sha256(consent),
        "instructions": f"<style>{text_in('pages', 'site/page.css')}</style>{instructions(guideline)}",
        "pages": [desk.shown(page) for page in desk.pages],
    }
    write_files({path: _whole(content).encode()})
    return path


def _place(source: Path, target: Path) -> None:
    """Put a file in its place, as a second name of it where the disk allows that."""
    part = target.with_name(f".{target.name}.tmp")
    try:
        if target.exists() and target.samefile(source):
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        try:
            os.link(source, part)
        except OSError:
            shutil.copyfile(source, part)
        part.replace(target)
    except OSError as error:
        raise FireError(f"{target}: cannot be written: {error.strerror}") from None


def _whole(content: Mapping[str, Any]) -> str:
    """Return the page with its style, its scripts and its content in it; nothing else may run there."""
    style, *scripts, page = (text_in("pages", f"site/{name}") for name in _PARTS)
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_source, scripts))}; style-src {_source(style)}; "
        "img-src 'self' file: http: https:; media-src 'self' file: http: https:; base-uri 'none'; "
        "form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>'
    # No caption ends the script that holds it.
    held = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
    body = f'<script type="application/json" id="content">{held}</script>\n'
    body += "\n".join(f"<script>{script}</script>" for script in scripts)
    page = page.replace('<script src="page.js" defer></script>\n', "")
    page = page.replace('<link rel="stylesheet" href="page.css">', head)
    return page.replace("</body>", f"{body}\n</body>")


def _source(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def is_answer_file(path: Path) -> bool:
    """Whether a file begins as one that a written page saves."""
    with path.open("rb") as stream:
        return stream.read(100).removeprefix(BOM).startswith(f'{{"form":"{FORM}"'.encode())


def take_files(paths: Sequence[Path], carried: Carried) -> Fetched:
    """Add the answers in files of written pages to the record, as far as it does not have them.

    All files are read before anything is added.

    Raises:
        FormatError: a file is cut short, damaged, or holds what is not an answer.
        UsageError: it belongs to another campaign, to nobody asked here, or to another guideline.
    """
    notes, found = [], []
    for path in paths:
        records, n_unknown = _records(path, carried)
        found.append(records)
        if n_unknown:
            notes.append(
                f"{path}: {n_unknown} answers left out: their captions have changed since the page was "
                "written, or their round is not in this workspace"
            )
    with Store(carried.store) as kept:
        for records in found:
            fold_records(records, carried.campaign.key, kept)
        return Fetched(kept.counts, (*notes, *kept.notes))


def _records(path: Path, carried: Carried) -> tuple[list[Record], int]:
    """Return the records of a file by round and pair, and how many are of tasks that are not known."""
    head, *lines = _whole_lines(path)
    annotator_id = _owner(head, f"{path}:1", carried)
    names = given_tasks(carried.rounds, annotator_id, carried.campaign.key)
    records: list[Record] = []
    n_unknown = 0
    for number, line in enumerate(lines, start=2):
        try:
            kind, at = line.get("kind"), utc_time(str(line.get("at")))
            if kind not in (ANSWER, UNDO, CONSENT) or not at:
                raise FormatError("expected kind answer, undo or consent, and at, a time")
            asked = names.get(checked_text(line, "task", 100))
            key = checked_text(line, "key", 100)
            record = {"kind": kind, "annotator": annotator_id, "at": at, "key": key}
            if kind == ANSWER and asked:
                n, place = line.get("n"), line.get("position")
                if type(n) is not int or type(place) is not int or place < 1:
                    raise FormatError("expected numbers n and position, from 1")
                record |= checked_answer(line, carried.guideline) | {"n": n, "position": place}
                record |= {"page": checked_text(line, "page", 100)}
        except FormatError as error:
            raise FormatError(f"{path}:{number}: {error}") from None
        if asked and kind != CONSENT:
            records.append(record | {"round": asked[0], "pair": asked[1]})
        n_unknown += not asked and kind == ANSWER
    return records, n_unknown


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    """Return what the lines before the end hold; a file that lacks some, or was changed, is refused."""
    texts = read_text(path).replace("\r\n", "\n").rstrip("\n").split("\n")
    body = "".join(f"{text}\n" for text in texts[:-1]).encode("utf-8", "surrogatepass")
    end = {"records": len(texts) - 2, "crc32": zlib.crc32(body)}
    try:
        found = [json.loads(text) for text in texts]
    except (ValueError, RecursionError):
        found = []
    if len(found) < 2 or found[-1] != end or not all(isinstance(line, dict) for line in found):
        raise FormatError(
            f"{path}: cut short or changed since the page saved it (its last line does not fit the rest); "
            "ask for the file again: the annotator opens the page and saves it once more"
        )
    return found[:-1]


def _owner(head: Mapping[str, Any], where: str, carried: Carried) -> str:
    """Return whose answers a file holds; `UsageError` unless they were asked for here, as they stand."""
    key, guideline = carried.campaign.key, carried.guideline
    people = sorted({name for entry in carried.rounds for name in entry.given["annotator_id"]})
    judged_by = str(head.get("guideline_sha256"))
    troubles = {
        f"written in version {head.get('version')}, this reads version {VERSION}": (
            head.get("version") != VERSION
        ),
        f"answers of campaign {head.get('campaign')}, this one is {key}; import them in the workspace whose "
        "`page write` made the page": head.get("campaign") != key,
        f"answers of {head.get('annotator')!r}, who has no tasks on our own page here; expected one of "
        f"{', '.join(people)}": head.get("annotator") not in people,
        f"judged by guideline {head.get('guideline')} ({judged_by[:12]}), which is now {guideline.name} "
        f"({guideline.sha256[:12]}); put the guideline back as it was to take these answers, or have them "
        "given again on a page written now": judged_by != guideline.sha256,
    }
    if wrong := [words for words, is_so in troubles.items() if is_so]:
        raise UsageError(f"{where}: {wrong[0]}")
    return str(head["annotator"])
