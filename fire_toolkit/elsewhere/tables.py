"""Files of other tools to answers: tables by the columns that are named, and Label Studio's exports."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.campaign.tasks import split_pair_id
from fire_toolkit.elsewhere.files import LABEL_STUDIO, annotations_of, some_of, table_of, tasks_of
from fire_toolkit.elsewhere.tools import COUNTS, NOT_YET, SKIPS, Tool, line_to_type, own_roles, tool_of
from fire_toolkit.elsewhere.values import (
    are_objects,
    are_of_people,
    as_it_is,
    find_columns,
    kind_of,
    round_of,
    seconds_of,
    text_of_value,
    texts_of,
    time_of,
)
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import read_text
from fire_toolkit.tables.blanks import spelling_of
from fire_toolkit.tables.checks import is_id

ROLES = ("annotator", "query", "doc", "pair", "label", "time", "seconds", "status", "round", "comment")
AMONG_RESPONSES = "@responses"
BY_FILE, BY_FOLDER = "@file", "@folder"  # in the place of a column: whose the answers are, its name says
_UNKNOWN = {"time": "when", "seconds": "how long it took"}
_UNKNOWN |= {"round": "the round (that in which the pair was handed out, else 1)"}


class FoundFile(NamedTuple):
    """A file's answers, before any label or name is given to them, and what is to be known of it.

    path: its name; tool: which wrote it; roles: role → column; n_rows; left_out: no answers, counted;
    unread: columns (or controls) that nobody looked at; unknown: what the file does not say; notes: in words;
    controls: those of a Label Studio project.

    answers: a row for what one person left at one pair: query_id, doc_id; worker (as the file has it; empty
    if the account is deleted); values ((control, value) of all that was answered); why (the word that makes
    it no vote, else empty); created_at, updated_at (UTC or empty); seconds (nan if unknown); number (its
    place in the file); key (what its tool knows it by, or empty); comment; round (1 if unknown).
    """

    path: str
    tool: str
    roles: Mapping[str, str]
    n_rows: int
    answers: pd.DataFrame
    left_out: Counter[str]
    unread: Sequence[str]
    unknown: Sequence[str]
    notes: Sequence[str]
    controls: Sequence[str] = ()

    @property
    def is_round_known(self) -> bool:
        """Whether a column or the reader says in which round answers were asked."""
        return _UNKNOWN["round"] not in self.unknown

    def asked_in(self, number: int) -> FoundFile:
        """Return the same of answers that were asked in a round, unless a column says in which."""
        if "round" in self.roles:
            return self
        unknown = [words for words in self.unknown if words != _UNKNOWN["round"]]
        return self._replace(answers=self.answers.assign(round=number), unknown=unknown)


def read_elsewhere(
    path: Path,
    columns: Mapping[str, str],
    *,
    split: str = "",
    kept: Collection[str] | None = None,
    controls: Callable[[Collection[str]], Sequence[str]] = list,
) -> FoundFile:
    """Return the answers in a table of another tool, or in an export of a project that was not made here.

    Args:
        path: CSV or TSV with a header line, JSON Lines, or JSON with a list of objects; gzip by content.
        columns: role (`ROLES`) → column: its name, a dotted way into JSON, or the beginning of several
            columns with one option each; `-`: do not read it. annotator can be `@file` or `@folder`: the name
            of the file, or of its folder. Roles that the tool always has need not be given. Of a Label Studio
            export: `query` and `doc` → where a task has them (`data.caption_id`, or `caption_id`).
        split: what stands between query and doc in the column `pair`; empty: it is a pair_id.
        kept: the annotators whose answers count (as `Prolific` lists them); None: all.
        controls: of a Label Studio project's controls, those whose values are labels; others are not read.

    Raises:
        FormatError: no such table; a role without a column; a row with a bad id, time, number or status, with
            its number (the first below the header is 1).
    """
    if columns.keys() == {"query", "doc"} and (tasks := tasks_of(read_text(path), str(path))):
        try:
            table = annotations_of(tasks, str(path))
        except FormatError as error:
            words = str(error)
            raise FormatError(words if words.startswith(f"{path}:") else f"{path}: {words}") from None
        return _of_project(path, table, columns, controls)
    table = table_of(path)
    n_rows, tool = len(table), tool_of(table.columns)
    roles = own_roles(tool, table.columns, columns)
    within, dot, _ = roles.get("annotator", "").partition(".")
    lists = [value for value in table[within] if value is not None] if dot and within in table else []
    if lists and roles["annotator"] not in table and all(map(are_objects, lists)):
        # responses of Argilla's API: a row for each
        if "status" not in columns and any("status" in entry for entries in lists for entry in entries):
            roles["status"] = f"{within}.status"
        table = table[[bool(entries) for entries in table[within]]].explode(within)
    rows = _Rows(path, table, tool, roles)
    rows.check_roles()
    answers = rows.answers(split, kept)
    unread = [name for name in map(str, table) if name not in rows.used]
    unknown = [words for role, words in _UNKNOWN.items() if role not in roles]
    return FoundFile(str(path), tool.name, roles, n_rows, answers, rows.left_out, unread, unknown, rows.notes)


def _of_project(
    path: Path,
    table: pd.DataFrame,
    columns: Mapping[str, str],
    controls: Callable[[Collection[str]], Sequence[str]],
) -> FoundFile:
    """Return the answers in the annotations of a Label Studio project that was not made here."""
    known = list(dict.fromkeys(name for answers in table["@answers"] for name in answers))
    chosen = controls(known)
    fields = {name for content in table["data"] for name in content}
    given = {role: f"data.{name}" if name in fields else name for role, name in columns.items()}
    rows = _Rows(path, table, tool_of(table.columns), own_roles(tool_of(table.columns), table.columns, given))
    answers = rows.answers("", None, chosen)
    left_out, notes = Counter(table.attrs["left_out"]), table.attrs["notes"]
    roles = {**columns, "label": ", ".join(chosen)}
    unread, unknown = [name for name in known if name not in chosen], [_UNKNOWN["round"]]
    n_tasks = table.attrs["n_tasks"]
    return FoundFile(
        str(path), LABEL_STUDIO, roles, n_tasks, answers, +left_out, unread, unknown, notes, known
    )


class _Rows:
    """The rows of a table, read column by column.

    used: columns that were looked at; left_out: what is no answer, counted; notes: in words.
    """

    def __init__(self, path: Path, table: pd.DataFrame, tool: Tool, roles: dict[str, str]) -> None:
        self._path, self._table, self._tool, self._roles = path, table, tool, roles
        self._names = list(map(str, table))
        self.left_out: Counter[str] = Counter()
        self.notes = [tool.note] if tool.note else []
        self._whose = {BY_FILE: _stem(path), BY_FOLDER: path.resolve().parent.name}
        self._found = {}
        for role, name in roles.items():
            if role != "annotator" or name not in self._whose:
                found = find_columns(name, self._names)
                if found is None:
                    raise FormatError(
                        f"{path}: no column {name} ({role}); found {some_of(self._names)}; "
                        f"if the guess is right, type {line_to_type(self._names, roles, wrong=role)}"
                    )
                self._found[role] = found
        for role, name in (("rejected", tool.rejected), ("origin", tool.origin)):
            if name in table:
                self._found[role] = ([name], as_it_is)
        label = roles.get("label", "")
        if tool.name == "Potato" and label in table:
            # The columns with one option each say the answer; this one only where those say several things.
            options = find_columns(label, [name for name in self._names if name != label])
            self._found |= {"options": options} if options else {}
        self.used = {name for columns, _ in self._found.values() for name in columns}
        if "annotator" not in roles and are_of_people(next(filter(None, self._labels()), None)):
            roles["annotator"] = AMONG_RESPONSES

    def check_roles(self) -> None:
        """Refuse a table in which a role has no column, or whose answers are nobody's."""
        path, roles, tool = self._path, self._roles, self._tool
        needed = ["annotator", "label", *(() if "pair" in roles else ("query", "doc"))]
        if missing := [role for role in needed if role not in roles]:
            example = line_to_type(self._names, roles)
            of_file = "; annotator=@file or @folder where its name says whose it is"
            raise FormatError(
                f"{path}: which column is {' and which '.join(missing)}? If the guess is right, type "
                f"{example}{of_file * ('annotator' in missing)}; found ({tool.name}): {some_of(self._names)}"
            )
        if roles["annotator"] == BY_FILE and _stem(path) in tool.merged:
            raise FormatError(
                f"{path}: the labels of everybody together, so whose they are is lost; export a project "
                "without shared annotations, which gives a file for each person"
            )

    def answers(
        self, split: str, kept: Collection[str] | None, controls: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """Return the answers, see `FoundFile`; controls: of an export, from which none is left out."""
        found = self._responses()
        rows = found["row"].tolist()
        states = self._each(found["status"].tolist(), rows)
        rejected = self._values("rejected", rows)  # reviewed in the file, and perhaps not on the platform yet
        states = ["Rejected" if text_of_value(no) else it for no, it in zip(rejected, states, strict=True)]
        workers = self._each(found["worker"].tolist(), rows)
        whys = states if controls is not None else self._each(states, rows, self._why)
        given = self._each(found["values"].tolist(), rows, lambda value: self._given(value, controls))
        columns = {"worker": workers, "why": whys, "values": given}
        found = found.assign(**{name: pd.Series(each, dtype="object") for name, each in columns.items()})
        if controls is None:
            kinds = self._each(self._values("origin", rows), rows, kind_of)
            reasons = list(map(_why_not, workers, kinds, states, given, whys))
            self.left_out.update(filter(None, reasons))
            found = found[[not reason for reason in reasons]].copy()
        if kept is not None:
            found.loc[~found["worker"].isin(kept), "why"] = "left out (by --submissions)"
        found["values"] = [() if why else it for why, it in zip(found["why"], found["values"], strict=True)]
        rows = found["row"].tolist()
        ids = self._pairs(rows, split)
        times = self._of_role("time", rows, time_of)
        updated = [time for time, _ in times]
        made = self._each(self._values("created", rows), rows) if "created" in self._found else updated
        columns = {
            "query_id": [query_id for query_id, _ in ids],
            "doc_id": [doc_id for _, doc_id in ids],
            "created_at": made,
            "updated_at": [time or first for time, first in zip(updated, made, strict=True)],
            "seconds": self._of_role("seconds", rows, seconds_of),
            "number": self._values("number", rows)
            if "number" in self._found
            else list(self._table.index[rows]),
            "key": self._each(self._values("key", rows), rows),
            "comment": self._each(self._values("comment", rows), rows),
            "round": self._each(self._values("round", rows), rows, round_of),
        }
        found = found.assign(
            **{name: pd.Series(list(values), found.index) for name, values in columns.items()}
        )
        found.loc[found["why"] != "", "comment"] = ""
        self._note(found["worker"], sum(not has_zone for _, has_zone in times))
        return found.drop(columns=["row", "status"]).reset_index(drop=True)

    def _responses(self) -> pd.DataFrame:
        """Return the row of each response, whose it is, its values and status; a row can hold several."""
        rows = range(len(self._table))
        workers, states = (self._values(role, rows) for role in ("annotator", "status"))
        found: list[tuple[int, Any, Any, Any]] = []
        for row, worker, value, status in zip(rows, workers, self._labels(), states, strict=True):
            if self._roles["annotator"] == AMONG_RESPONSES:
                if not are_of_people(value or []):
                    words = f"{self._roles['label']}: expected a list of responses with user_id and value"
                    raise FormatError(f"{self._path}: {self._place(row)}: {words}")
                found += [(row, each["user_id"], each["value"], each.get("status")) for each in value or []]
            elif not isinstance(worker, list):
                found.append((row, worker, value, status))
            else:
                values = value if isinstance(value, list) else []
                given = status if isinstance(status, list) else [None] * len(values)
                if not len(worker) == len(values) == len(given):
                    words = f"{len(values)} answers by {len(worker)} annotators, expected as many"
                    raise FormatError(f"{self._path}: {self._place(row)}: {words}")
                found += zip([row] * len(values), worker, values, given, strict=True)
        return pd.DataFrame(found, columns=["row", "worker", "values", "status"], dtype="object")

    def _labels(self) -> list[Any]:
        """Return what each row holds of answers."""
        rows = range(len(self._table))
        labels = self._values("label", rows)
        if "options" not in self._found:
            return labels
        return [one or other for one, other in zip(labels, self._values("options", rows), strict=True)]

    def _values(self, role: str, rows: Sequence[int]) -> list[Any]:
        """Return what the columns of a role hold in rows (by their order); None where no column has it."""
        if role not in self._found:
            return [self._whose.get(self._roles.get(role, ""))] * len(rows)
        names, combine = self._found[role]
        columns = [self._table[name].to_numpy(dtype="object").take(rows).tolist() for name in names]
        if combine is as_it_is:
            return list(columns[0])
        return self._each(zip(*columns, strict=True), rows, lambda values: combine(*values))

    def _each(
        self, values: Iterable[Any], rows: Sequence[int], read: Callable[[Any], Any] = text_of_value
    ) -> list[Any]:
        """Return what is read of each value, of equal texts once; an error says its row."""
        known: dict[str, Any] = {}
        found: list[Any] = []
        try:
            for value in values:
                if type(value) is not str:
                    found.append(read(value))
                else:
                    if value not in known:
                        known[value] = read(value)
                    found.append(known[value])
        except FireError as error:
            raise FormatError(f"{self._path}: {self._place(rows[len(found)])}: {error}") from None
        return found

    def _place(self, row: int) -> str:
        place = self._table.index[row]
        return place if isinstance(place, str) else f"row {place}"

    def _of_role(self, role: str, rows: Sequence[int], read: Callable[[str], Any]) -> list[Any]:
        """Return times or seconds; what is none is said with its column."""

        def read_text_of(value: Any) -> Any:
            try:
                return read(text_of_value(value))
            except FormatError as error:
                raise FormatError(f"{self._roles[role]} is {error}; {role}=- leaves it unread") from None

        return self._each(self._values(role, rows), rows, read_text_of)

    def _given(self, value: Any, controls: Sequence[str] | None) -> tuple[tuple[str, str], ...]:
        """Return each text that was answered, with its control."""
        if controls is None:
            return tuple((self._roles["label"], text) for text in texts_of(value))
        answered = {name: value.get(name, ()) for name in controls}
        for name, texts in answered.items():
            if isinstance(texts, str):
                raise FormatError(f"control {name} is of type {texts}, which does not answer a question")
        return tuple(dict.fromkeys((name, text) for name, texts in answered.items() for text in texts))

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

    def _pairs(self, rows: Sequence[int], split: str) -> list[tuple[str, str]]:
        def read_pair(value: Any) -> tuple[str, str]:
            text = text_of_value(value)
            if not split:
                return split_pair_id(text)
            query_id, found, doc_id = text.partition(split)
            if not found:
                raise FormatError(f"pair is {text!r}, expected query and doc with {split!r} between them")
            return self._id("query", query_id), self._id("doc", doc_id)

        if "pair" in self._roles:
            return self._each(self._values("pair", rows), rows, read_pair)
        named = {role: self._values(role, rows) for role in ("query", "doc")}
        texts = [value for values in named.values() for value in values if isinstance(value, str)]
        read = partial(self._id, encode=spelling_of(texts))
        ids = (self._each(values, rows, partial(read, role)) for role, values in named.items())
        return list(zip(*ids, strict=True))

    def _id(self, role: str, value: Any, *, encode: Callable[[str], str] = str) -> str:
        fields = self._table.attrs.get("fields", "")
        named = f"{self._roles[role]} ({role})" if fields else role
        if isinstance(value, float):
            raise FormatError(f"{named} is the number {value}, expected an id: text, or a whole number")
        text = encode(text_of_value(value))
        if not is_id(text):
            more = f"; found {fields}" if fields else ""
            raise FormatError(f"{named} is {text[:40]!r}, expected an id without white space{more}")
        return text

    def _note(self, workers: Iterable[str], n_without_zone: int) -> None:
        """Note what was found in all rows."""
        n_without_status = 0
        if self._roles["annotator"] == AMONG_RESPONSES:
            n_without_status = sum("status" not in each for value in self._labels() for each in value or ())
        n_sessions = sum(who[:4].isdigit() and who[4:5] == "-" and who[10:11] == "_" for who in workers)
        notes = {
            "times do not say their zone; they count as UTC": n_without_zone,
            "responses do not say whether they were submitted, drafts or discarded, and all count; "
            "records.to_list(flatten=True) says it": n_without_status,
            "answers are from unnamed sessions, so their authors are unknown; each session counts as a "
            "person": n_sessions * (self._tool.name == "Prodigy"),
        }
        self.notes += [f"{n:,} {words}" for words, n in notes.items() if n]


def _why_not(worker: str, kind: str, status: str, values: Sequence[object], why: str) -> str:
    """Return why a response is no answer; empty if it is one."""
    reasons = {
        "by a machine": kind not in ("", "human"),
        "without an annotator": not worker,
        f"not submitted ({status})": status.lower() in NOT_YET,
        "without an answer": not (values or why),
    }
    return next((words for words, is_so in reasons.items() if is_so), "")


def _stem(path: Path) -> str:
    """Return a file's name without its kind; what else stands behind a dot is part of it (ann.lee.jsonl)."""
    return re.sub(r"(?:\.(?:jsonl?|csv|tsv|txt|gz))+$", "", path.name, flags=re.IGNORECASE)
