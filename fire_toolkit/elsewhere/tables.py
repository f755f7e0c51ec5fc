"""Tables of other tools to answers: CSV, TSV, JSON and JSON Lines, by the columns that are named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fire_toolkit.campaign.tasks import split_pair_id
from fire_toolkit.elsewhere.found import AMONG_RESPONSES, BY_FILE, BY_FOLDER, SKIP, Found, FoundFile
from fire_toolkit.elsewhere.tools import COUNTS, NOT_YET, SKIPS, Tool, own_roles, tool_of
from fire_toolkit.elsewhere.values import (
    columns_of,
    has_zone,
    seconds_of,
    text_of_value,
    texts_of,
    time_of,
    value_finder,
)
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import read_text
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.syntax import parse_json
from fire_toolkit.tables.checks import is_id

ROLES = ("annotator", "query", "doc", "pair", "label", "time", "seconds", "status", "round", "comment")
_MERGED = ("all", "project", "dataset")  # doccano's file of everybody's labels together
_UNKNOWN = {"time": "when", "seconds": "how long it took", "round": "the round (all count as round 1)"}
_SHOWN = 12

Record = Mapping[str, Any]


def read_elsewhere_table(
    path: Path, columns: Mapping[str, str], *, split: str = "", kept: Collection[str] | None = None
) -> FoundFile:
    """Return the answers in a table of another tool.

    Args:
        path: CSV or TSV with a header line, JSON Lines, or JSON with a list of objects; gzip by content.
        columns: role (`ROLES`) → column: its name, a dotted way into JSON, or the beginning of several
            columns with one option each; `-`: do not read it. annotator can be `@file` or `@folder`: the name
            of the file, or of its folder. Roles that the tool always has need not be given.
        split: what stands between query and doc in the column `pair`; empty: it is a pair_id.
        kept: the annotators whose answers count (as `Prolific` lists them); None: all.

    Raises:
        FormatError: no such table; a role without a column; a row with a bad id, time, number or status, with
            its number (the first below the header is 1).
    """
    names, records = records_of(path)
    entries: Iterable[tuple[int, Record]] = enumerate(records, start=1)
    tool = tool_of(names)
    roles = {role: name for role, name in own_roles(tool, names, columns).items() if name != SKIP}
    within, dot, _ = roles.get("annotator", "").partition(".")
    lists = [record[within] for record in records if record.get(within) is not None]
    if dot and roles["annotator"] not in names and lists and all(map(_are_objects, lists)):
        # responses of Argilla's API: a row for each
        if "status" not in columns and any("status" in entry for entries in lists for entry in entries):
            roles["status"] = f"{within}.status"
        entries = [
            (n, {**record, within: entry})
            for n, record in enumerate(records, start=1)
            for entry in record.get(within) or []
        ]
    rows = _Rows(path, tool, roles, names, split, kept)
    if "annotator" not in roles and rows.are_of_responses(records):
        roles["annotator"] = AMONG_RESPONSES
    _check_roles(path, tool, roles, names)
    answers = [answer for n, record in entries for answer in rows.read(record, n)]
    used = {column for name in roles.values() for column in columns_of(name, names)}
    used |= {*rows.options, tool.rejected, tool.origin}
    return FoundFile(
        str(path),
        tool.name,
        roles,
        len(records),
        answers,
        rows.left_out,
        [name for name in names if name not in used],
        [words for role, words in _UNKNOWN.items() if role not in roles],
        rows.notes(),
    )


def records_of(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns of a file in their order, and its rows.

    A column of a name that others have too goes by its number (`fits (2)`). The two further headers of
    Qualtrics, questions and their ids, are no rows.

    Raises:
        FormatError: neither a table with a header line, nor JSON Lines, nor a list of objects.
    """
    text = read_text(path)
    start = text.lstrip()[:1]
    if start not in ("[", "{"):
        table = read_delimited(path, numbers_repeats=True)
        names = [str(name) for name in table.columns]
        rows = [dict(zip(names, row, strict=True)) for row in table.itertuples(index=False)]
        is_of_qualtrics = len(rows) > 1 and str(next(iter(rows[1].values()), "")).startswith('{"ImportId":')
        return names, rows[2 * is_of_qualtrics :]
    if start == "[":
        records = parse_json(text, str(path), as_written=True)
    else:
        lines = enumerate(text.split("\n"), start=1)
        records = [parse_json(line, str(path), line=n, as_written=True) for n, line in lines if line.strip()]
    bad = next((n for n, record in enumerate(records, start=1) if not isinstance(record, dict)), 0)
    if bad or not records:
        raise FormatError(
            f"{path}: {f'entry {bad} is not an object' if bad else 'no rows'}; expected one each"
        )
    return list(dict.fromkeys(name for record in records for name in record)), records


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


def _stem(path: Path) -> str:
    """Return a file's name without its kind; what else stands behind a dot is part of it (ann.lee.jsonl)."""
    return re.sub(r"(?:\.(?:jsonl?|csv|tsv|txt|gz))+$", "", path.name, flags=re.IGNORECASE)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _check_roles(path: Path, tool: Tool, roles: Mapping[str, str], names: Sequence[str]) -> None:
    needed = ["annotator", "label", *(() if "pair" in roles else ("query", "doc"))]
    missing = [role for role in needed if role not in roles]
    if missing:
        example = ",".join(f"{role}=COLUMN" for role in missing)
        of_file = (
            "; annotator=@file or @folder where its name says whose it is" if "annotator" in missing else ""
        )
        raise FormatError(
            f"{path}: which column is {' and which '.join(missing)}? Type --columns {example}{of_file}; "
            f"found ({tool.name}): {_some(names)}"
        )
    if tool.name == "doccano" and roles["annotator"] == BY_FILE and _stem(path) in _MERGED:
        raise FormatError(
            f"{path}: the labels of everybody together, so whose they are is lost; export a project without "
            "shared annotations, which gives a file for each person"
        )


class _Rows:
    """Reads rows one by one, counting what is not an answer.

    options: Potato's columns with one option each where the label has a column of its own too, which holds
    something only where the others say several things.
    """

    def __init__(
        self,
        path: Path,
        tool: Tool,
        roles: Mapping[str, str],
        names: Sequence[str],
        split: str,
        kept: Collection[str] | None,
    ) -> None:
        self._path, self._tool, self._roles, self._split, self._kept = path, tool, roles, split, kept
        self.left_out: Counter[str] = Counter()
        self._n_without_zone = self._n_without_status = self._n_sessions = 0
        label = roles.get("label", "")
        is_double = tool.name == "Potato" and label in names
        self.options = columns_of(label, [each for each in names if each != label]) if is_double else []
        self._other = value_finder(label, self.options) if self.options else None
        self._find: dict[str, Callable[[Record], Any]] = {}
        of_file = {BY_FILE: _stem(path), BY_FOLDER: path.resolve().parent.name}
        for role, name in roles.items():
            if role == "annotator" and name in of_file:
                self._find[role] = lambda record, whose=of_file[name]: whose  # type: ignore[misc]
            elif finder := value_finder(name, names):
                self._find[role] = finder
            else:
                raise FormatError(f"{path}: no column {name} ({role}); found {_some(names)}")

    def are_of_responses(self, records: Sequence[Record]) -> bool:
        """Whether answers are lists of responses, each with its annotator, as Argilla has them."""
        try:
            values = map(self._label, records)
            return _are_of_people(next(filter(None, values), None))
        except FormatError:
            return False  # said with its row where the row is read

    def read(self, record: Record, number: int) -> Iterator[Found]:
        """Yield the answers in a row."""
        try:
            for worker, value, status in self._responses(record):
                if answer := self._answer(
                    record, text_of_value(worker), value, text_of_value(status), number
                ):
                    yield answer
        except FireError as error:
            raise FormatError(f"{self._path}: row {number}: {error}") from None

    def _label(self, record: Record) -> Any:
        return self._get("label", record) or (self._other(record) if self._other else None)

    def _responses(self, record: Record) -> Iterable[tuple[Any, Any, Any]]:
        """Return who answered what in a row, and of which status that is."""
        value, worker, status = (
            self._label(record),
            self._get("annotator", record),
            self._get("status", record),
        )
        if self._roles["annotator"] == AMONG_RESPONSES:
            responses = value or []
            if not _are_of_people(responses):
                raise FormatError(
                    f"{self._roles['label']}: expected a list of responses with user_id and value"
                )
            self._n_without_status += sum("status" not in each for each in responses)
            return [(each["user_id"], each["value"], each.get("status")) for each in responses]
        if not isinstance(worker, list):
            return [(worker, value, status)]
        values = value if isinstance(value, list) else []
        states = status if isinstance(status, list) else [None] * len(values)
        if not len(worker) == len(values) == len(states):
            raise FormatError(f"{len(values)} answers by {len(worker)} annotators, expected as many")
        return zip(worker, values, states, strict=True)

    def _answer(self, record: Record, worker: str, value: Any, status: str, number: int) -> Found | None:
        if text_of_value(record.get(self._tool.rejected)):
            status = "Rejected"  # reviewed in the file, and perhaps not on the platform yet
        why, texts = self._why(status), texts_of(value)
        origin = record.get(self._tool.origin)
        kind = text_of_value(origin.get("kind") if isinstance(origin, dict) else origin)
        reasons = {
            "by a machine": kind.lower() not in ("", "human"),
            "without an annotator": not worker,
            f"not submitted ({status})": status.lower() in NOT_YET,
            "without an answer": not (texts or why),
        }
        if reason := next((words for words, is_so in reasons.items() if is_so), ""):
            self.left_out[reason] += 1
            return None
        if self._kept is not None and worker not in self._kept:
            why = "left out (by --submissions)"
        self._n_sessions += worker[:4].isdigit() and worker[4:5] == "-" and worker[10:11] == "_"
        time = text_of_value(self._get("time", record))
        moment = self._at("time", time_of, time)
        self._n_without_zone += bool(time) and not has_zone(time)
        query_id, doc_id = self._pair(record)
        return Found(
            query_id,
            doc_id,
            worker,
            () if why else tuple((self._roles["label"], text) for text in texts),
            why,
            moment,
            moment,
            self._at("seconds", seconds_of, text_of_value(self._get("seconds", record))),
            number,
            comment="" if why else text_of_value(self._get("comment", record)),
            round=self._round(text_of_value(self._get("round", record))),
        )

    def _get(self, role: str, record: Record) -> Any:
        return self._find[role](record) if role in self._find else None

    def _at(self, role: str, read: Callable[[str], Any], text: str) -> Any:
        try:
            return read(text)
        except FormatError as error:
            raise FormatError(f"{self._roles[role]} is {error}; {role}=- leaves it unread") from None

    def _why(self, status: str) -> str:
        """Return why a status makes an answer no vote; empty where it counts."""
        known = status.lower()
        if known in COUNTS or known in NOT_YET:
            return ""
        if known not in SKIPS:
            raise FormatError(
                f"{self._roles.get('status', 'status')} is {status!r}, expected a known word (approved, "
                "submitted, rejected, ignored, draft …); status=- leaves it unread"
            )
        return f"{SKIPS[known]} ({status})"

    def _pair(self, record: Record) -> tuple[str, str]:
        if "pair" in self._roles:
            text = text_of_value(self._get("pair", record))
            if not self._split:
                return split_pair_id(text)
            query_id, found, doc_id = text.partition(self._split)
            if not found:
                raise FormatError(
                    f"pair is {text!r}, expected query and doc with {self._split!r} between them"
                )
        else:
            query_id, doc_id = (text_of_value(self._get(role, record)) for role in ("query", "doc"))
        for role, value in (("query", query_id), ("doc", doc_id)):
            if not is_id(value):
                raise FormatError(f"{role} is {value[:40]!r}, expected an id without white space")
        return query_id, doc_id

    def _round(self, text: str) -> int:
        if text and not (text.isascii() and text.isdigit() and 1 <= int(text) < 2**31):
            raise FormatError(f"round is {text!r}, expected a whole number from 1")
        return int(text or 1)

    def notes(self) -> list[str]:
        """Return sentences on what was found in all rows."""
        notes = [self._tool.note] if self._tool.note else []
        if self._n_without_zone:
            notes.append(f"{self._n_without_zone:,} times do not say their zone; they count as UTC")
        if self._n_without_status:
            notes.append(
                f"{self._n_without_status:,} responses do not say whether they were submitted, drafts or "
                "discarded, and all count; records.to_list(flatten=True) says it"
            )
        if self._tool.name == "Prodigy" and self._n_sessions:
            notes.append(
                f"{self._n_sessions:,} answers are from unnamed sessions, so their authors are unknown; each "
                "session counts as a person"
            )
        return notes


def _are_of_people(value: Any) -> bool:
    return _are_objects(value) and all({"value", "user_id"} <= each.keys() for each in value)


def read_submissions(path: Path) -> set[str]:
    """Return the participants in Prolific's export of submissions whose work counts.

    No column but Participant id and Status is read. Of a participant with several submissions one that
    was approved, or awaits review, is enough.

    Raises:
        FormatError: no columns Participant id and Status, or a status that is not known.
    """
    columns = ("Participant id", "Status")
    table = read_delimited(path, required=columns, only=columns)
    known = {*COUNTS, *NOT_YET, *SKIPS}
    odd = sorted({status for status in table["Status"] if status.strip().lower() not in known})
    if odd:
        raise FormatError(f"{path}: Status is {', '.join(odd[:3])}, expected APPROVED, REJECTED, RETURNED …")
    return {
        person.strip()
        for person, status in zip(table["Participant id"], table["Status"], strict=True)
        if status.strip().lower() in COUNTS
    }


def how_to_read_table(path: Path) -> str:
    """Return what a table of another tool is, and what to type to read it; empty if it is no table.

    It begins with the name of the tool, or with `a table`.
    """
    try:
        names, _ = records_of(path)
    except FormatError:
        return ""
    tool = tool_of(names)
    known = own_roles(tool, names, {})
    wanted = [f"{role}=COLUMN" for role in ("annotator", "query", "doc", "label") if role not in known]
    return (
        f"{tool.name} with judgments made elsewhere ({_some(names)})? Type --columns "
        f"{','.join(wanted)} --label "
        "VALUE=LABEL; --dry-run shows what is understood"
    )
