"""Sheets: a queue as a CSV to fill in with any spreadsheet, and back again as answers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.campaign.keys import pair_id, split_pair_id
from fire_toolkit.campaign.ledger import ANSWERED, COLUMNS, answer_text
from fire_toolkit.campaign.task_json import ROUND
from fire_toolkit.campaign.tasks import REFERENCE_URL
from fire_toolkit.campaign.votes import FORMULAS, inert
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_files import has_columns
from fire_toolkit.formats.written import delimited_bytes
from fire_toolkit.guidelines.model import CAPTION, COMMENT, FLAGS, REFERENCE, RELEVANCE, Guideline
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.tables import Tasks
from fire_toolkit.tables.columns import listed

LABEL, PAIR = "label", "pair_id"
MARK = "audit"  # the column of an audit's sheet that says of which draw it is
_TEXT = "'"


def sheet_of(tasks: Tasks, guideline: Guideline, marks: Mapping[str, str] | None = None) -> bytes:
    """Return tasks, in their order, as a CSV to fill in: label and comment; of captions alone, flags too.

    marks: further columns, with the same text in each row.

    What a spreadsheet would take for a formula stands behind an apostrophe: a key or a file name that begins
    with a hyphen would come back as an error, and a caption may be written to do harm.
    """
    shown = {PAIR: tasks["pair_id"], CAPTION: tasks["text"]}
    shown |= {REFERENCE: tasks[REFERENCE_URL]} if guideline.shows_reference else {}
    shown |= {} if guideline.is_of_queries else {guideline.item_kind: tasks["media_url"]}
    asked = {LABEL: ""} | ({FLAGS: ""} if guideline.is_of_queries else {}) | {COMMENT: ""}
    harmless = {name: [inert(text) for text in listed(column)] for name, column in shown.items()}
    return delimited_bytes(pd.DataFrame({**harmless, **(marks or {}), **asked}, dtype="str"))


def read_sheet(path: Path, guideline: Guideline, *, seen_at: str) -> list[dict[str, str]]:
    """Return a row of the ledger for each row with a label; annotator_id: its column, or empty.

    Args:
        path: CSV or TSV with pair_id (or query_id and doc_id) and label; annotator_id, comment, flags (joined
            by `;`), created_at and duration_s where they are there, and further columns.
        guideline: has the labels; a sheet may write them in any case, as spreadsheets and people do.
        seen_at: the time of reading, which is also the version of what a sheet says.

    Raises:
        FormatError: with path and row: no such table, an unknown label, a pair twice, no pair, no time, no
            number of seconds.
    """
    rows = []
    for (annotator_id, pair), (number, record) in _labelled(path, guideline).items():
        where, created_at, seconds = f"{path}: row {number}", record.get("created_at", ""), None
        if created_at and utc_time(created_at) is None:
            raise FormatError(f"{where}: created_at is {created_at!r}, expected a time as in ISO 8601")
        if text := record.get("duration_s"):
            try:
                seconds = float(text)
            except ValueError:
                seconds = -1.0
            if not 0 <= seconds < float("inf"):
                raise FormatError(f"{where}: duration_s is {text!r}, expected seconds")
        flags = [flag.strip() for flag in record.get(FLAGS, "").split(";") if flag.strip()]
        result: list[dict[str, Any]] = [
            {"from_name": RELEVANCE, "value": {"choices": [record[LABEL]]}, "origin": "manual"}
        ]
        result += [{"from_name": FLAGS, "value": {"choices": flags}}] if flags else []
        comment = record.get(COMMENT)
        result += [{"from_name": COMMENT, "value": {"text": [comment]}}] if comment else []
        content: dict[str, Any] = {
            "id": number,
            "completed_by": None,
            "result": result,
            "updated_at": seen_at,
        }
        content |= {"created_at": created_at} if created_at else {}
        content |= {} if seconds is None else {"lead_time": seconds}
        own = {
            "source": f"file:{path.name}",
            "annotation": f"{annotator_id}#{pair}#{path.name}",
            "updated_at": seen_at,
            "state": ANSWERED,
            "seen_at": seen_at,
            "pair_id": pair,
            "annotator_id": annotator_id,
            "answer": answer_text(content),
        }
        rows.append(dict.fromkeys((*COLUMNS, ROUND), "") | own)
    return rows


def is_sheet(path: Path, *further: str) -> bool:
    """Whether a file is a sheet, with these further columns."""
    return path.suffix in (".csv", ".tsv") and path.is_file() and has_columns(path, PAIR, LABEL, *further)


def expert_votes(paths: Sequence[Path], guideline: Guideline, *, mark: str, drawn: Path) -> pd.DataFrame:
    """Return annotator_id (else the file's name), query_id, doc_id, label and relevance of experts' votes.

    mark: of the draw whose sheets these are; drawn: its file.

    Raises:
        FormatError: a sheet of another draw; else as of `read_sheet`.
    """
    rows = []
    for path in paths:
        if (read_delimited(path)[MARK].str.strip() != mark).any():
            raise FormatError(f"{path}: a sheet of another draw than {drawn}; import it where it was drawn")
        for (name, pair), (_, record) in _labelled(path, guideline).items():
            label = record[LABEL]
            rows.append((name or path.stem, *split_pair_id(pair), label, guideline.grades[label]))
    columns = ["annotator_id", "query_id", "doc_id", LABEL, "relevance"]
    found = pd.DataFrame(rows, columns=columns, dtype="object").dropna(subset="relevance")
    return found.astype(dict.fromkeys(columns, "str") | {"relevance": "int64"})


def _labelled(path: Path, guideline: Guideline) -> dict[tuple[str, str], tuple[int, dict[str, str]]]:
    """Return number and fields of each row that has a label, by annotator_id and pair_id."""
    table = read_delimited(path, required=[LABEL])
    names = [label.name for label in guideline.labels]
    known = {name.casefold(): name for name in names} | {name: name for name in names}
    found: dict[tuple[str, str], tuple[int, dict[str, str]]] = {}
    for number, values in enumerate(table.itertuples(index=False), start=1):  # 1 is below the header
        record = dict(zip(table.columns, map(str, values), strict=True))
        record[LABEL] = record[LABEL].strip()
        if not record[LABEL]:
            continue
        where = f"{path}: row {number}"
        label = known.get(record[LABEL], known.get(record[LABEL].casefold()))
        if label is None:
            raise FormatError(f"{where}: label {record[LABEL]!r}, expected one of {', '.join(sorted(names))}")
        record[LABEL] = label
        key = (record.get("annotator_id", "").strip(), _pair(record, where))
        if key in found:
            raise FormatError(f"{where}: the pair already has a label in a row above; keep one of them")
        found[key] = number, record
    return found


def _pair(record: Mapping[str, str], where: str) -> str:
    """Return the key of a row's pair."""
    try:
        if PAIR in record:
            key = record[PAIR].removeprefix(_TEXT)
            key = key if key.startswith(FORMULAS) else record[PAIR]
            split_pair_id(key)
            return key
        return pair_id(record["query_id"], record["doc_id"])
    except KeyError:
        raise FormatError(f"{where}: no column {PAIR} (nor query_id and doc_id)") from None
    except FireError as error:
        raise FormatError(f"{where}: {error}") from None
