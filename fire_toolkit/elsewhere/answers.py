"""What people answered in files of other tools: a row for each answer, by the columns that are named."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.campaign.coded import Coded, coded, column_codes, distinct_rows, joined, same
from fire_toolkit.campaign.keys import split_pair_id
from fire_toolkit.elsewhere.tables import (
    COUNTS,
    NOT_YET,
    SKIPS,
    UNKNOWN,
    FoundFile,
    line_to_type,
    names_of,
    own_roles,
    some_of,
    table_of,
    tool_of,
)
from fire_toolkit.elsewhere.values import (
    are_objects,
    are_of_people,
    as_it_is,
    author_of,
    chosen_texts,
    controls_in,
    find_columns,
    kind_of,
    round_of,
    seconds_of,
    text_of_value,
    texts_of,
    time_of,
)
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.resolution.judgments import times_in_form
from fire_toolkit.tables.ids import is_id, spelling_of

ROLES = ("annotator", "query", "doc", "pair", "label", "time", "seconds", "status", "round", "comment")
BY_FILE, BY_FOLDER = "@file", "@folder"  # in the place of a column: whose the answers are, its name says
_AMONG_RESPONSES, _EACH = "@responses", "@each"
_SESSION = re.compile(r"[0-9]{4}-.{5}_")


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
    table = table_of(path)
    rows = _Rows(path, table, columns)
    answers = rows.answers(split, kept, controls)
    unread = [name for name in map(str, table) if name not in rows.used]
    if rows.tool.each:
        unread = [name for name in rows.controls if name not in rows.chosen]
    unknown = [words for role, words in UNKNOWN.items() if role not in rows.roles]
    found = (rows.left_out, unread, unknown, rows.notes, rows.controls)
    return FoundFile(str(path), rows.tool.name, rows.roles, len(table), answers, *found)


class _Rows:
    """The rows of a table, each of one response, read column by column.

    tool: which wrote it; roles: role → column; used: columns that were looked at; controls: those of a Label
    Studio project, and those chosen; left_out: what is no answer, counted; notes: in words.
    """

    def __init__(self, path: Path, table: pd.DataFrame, columns: Mapping[str, str]) -> None:
        self._path, self._table = path, table
        self.tool = tool = tool_of(table.columns)
        self.roles = roles = own_roles(tool, table.columns, columns)
        self.controls: list[str] = []
        self.chosen: Sequence[str] = []
        apart = ((name, each) for name in tool.apart if name in table for each in table[name])
        self.left_out = Counter(name for name, own in apart if isinstance(own, list) for _ in own)
        self.notes = [tool.note] if tool.note else []
        self._whose = {BY_FILE: _stem(path), BY_FOLDER: path.resolve().parent.name}
        self._at: dict[str, tuple[list[str], Callable[..., Any]]] = {}  # role → columns, what makes its value
        for role, name in roles.items():
            if role != "annotator" or name not in self._whose:
                self._at[role] = self._find(role, name)
        self.used = {name for names, _ in self._at.values() for name in names}
        self._spread()
        self._check_roles()
        for role in [role for role in columns if role in self._at] if len(self._table) else ():
            if "." in roles[role] and all(each is None for each in self._read(role, as_it_is)):
                raise self._no_column(role, roles[role])  # a way into JSON that leads nowhere

    def _find(self, role: str, name: str) -> tuple[list[str], Callable[..., Any]]:
        names = list(map(str, self._table))
        name = f"data.{name}" if self.tool.each and f"data.{name}" in names_of(self._table) else name
        found = find_columns(name, names)
        if found is None:
            raise self._no_column(role, name)
        options = find_columns(name, [each for each in names if each != name])
        if self.tool.name == "Potato" and role == "label" and name in names and options:
            # The columns with one option each say the answer; this one only where those say several things.
            columns, of_options = options
            return [name, *columns], lambda own, *each: own or of_options(*each)
        return found

    def _no_column(self, role: str, name: str) -> FormatError:
        names = names_of(self._table)
        return FormatError(
            f"{self._path}: no column {name} ({role}); found {some_of(names)}; "
            f"if the guess is right, type {line_to_type(names, self.roles, self.tool, wrong=role)}"
        )

    def _spread(self) -> None:
        """Give each response a row of its own, where a row holds several."""
        people = self.roles.get("annotator", "")
        within, table = people.partition(".")[0], self._table
        ways: Mapping[str, str] = {}
        if people not in table and within in table:  # Label Studio's annotations, responses of Argilla's API
            column, entries = within, [each or [] for each in table[within]]
            if not all(map(are_objects, entries)):
                if self.tool.each:
                    raise FormatError(f"{self._path}: {within}: expected a list of objects in each task")
                return
            if "status" not in self.roles and any("status" in each for own in entries for each in own):
                ways = {"status": "status"}
                self.roles["status"] = f"{within}.status"
        elif people in table and any(isinstance(each, list) for each in table[people]):  # lists side by side
            ways = {role: role for role in ("annotator", "label", "status") if role in self._at}
            parts = (self._read(role, as_it_is) for role in ways)
            lists = enumerate(zip(*parts, strict=True))
            column, entries = _EACH, [self._beside(row, ways, each) for row, each in lists]
        elif "label" in self._at and "annotator" not in self.roles:  # a list of responses
            column, entries = _EACH, self._read("label", lambda value: value or [])
            if not are_of_people(next(filter(None, entries), None)):
                return
            ways = {"annotator": "user_id", "label": "value", "status": "status"}
            bad = next((row for row, each in enumerate(entries) if not are_of_people(each)), None)
            if bad is not None:
                words = f"{self.roles['label']}: expected a list of responses with user_id and value"
                raise FormatError(f"{self._path}: {self._place(bad)}: {words}")
            self.roles["annotator"] = _AMONG_RESPONSES
            self._note(
                "responses do not say whether they were submitted, drafts or discarded, and all count; "
                "records.to_list(flatten=True) says it",
                sum("status" not in each for own in entries for each in own),
            )
        else:
            return
        values = pd.Series(entries, table.index, dtype="object")
        self._table = table.assign(**{column: values}).loc[list(map(bool, entries))].explode(column)
        for role, way in ways.items():
            self._at[role] = find_columns(f"{column}.{way}", [column])  # type: ignore[assignment]

    def _beside(self, row: int, roles: Collection[str], parts: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the responses of a row whose annotators, answers and states are lists beside each other."""
        workers, answers, *_ = lists = [
            each if isinstance(each, list) else [each] * (each is not None) for each in parts
        ]
        if len({*map(len, lists)}) > 1:
            words = f"{len(answers)} answers by {len(workers)} annotators, expected as many"
            raise FormatError(f"{self._path}: {self._place(row)}: {words}")
        return [dict(zip(roles, each, strict=True)) for each in zip(*lists, strict=True)]

    def _check_roles(self) -> None:
        """Refuse a table in which a role has no column, or whose answers are nobody's."""
        path, roles = self._path, self.roles
        needed = ["annotator", "label", *(() if "pair" in roles else ("query", "doc"))]
        if missing := [role for role in needed if role not in roles]:
            names = names_of(self._table)
            of_file = "; annotator=@file or @folder where its name says whose it is"
            line = line_to_type(names, roles, self.tool) + of_file * ("annotator" in missing)
            raise FormatError(
                f"{path}: which column is {' and which '.join(missing)}? If the guess is right, type {line}; "
                f"found ({self.tool.name}): {some_of(names)}"
            )
        if roles["annotator"] == BY_FILE and _stem(path) in self.tool.merged:
            raise FormatError(
                f"{path}: the labels of everybody together, so whose they are is lost; export a project "
                "without shared annotations, which gives a file for each person"
            )

    def answers(
        self, split: str, kept: Collection[str] | None, controls: Callable[[Collection[str]], Sequence[str]]
    ) -> dict[str, Coded]:
        """Return the answers, see `FoundFile`; of a Label Studio project none is left out."""
        tool, label = self.tool, self.roles["label"]
        if tool.each:
            known = (name for each in self._read("label", controls_in) for name in each)
            self.controls = list(dict.fromkeys(known))
            self.chosen = controls(self.controls)
            self.roles["label"] = ", ".join(self.chosen)
        read_worker = author_of if tool.each else text_of_value
        read_values = partial(chosen_texts, self.chosen) if tool.each else partial(_texts, label)
        worker, values = self._each("annotator", read_worker), self._each("label", read_values)
        no = self._state("Rejected")
        rejected = self._each("rejected")  # in the file, and perhaps not on the platform yet
        status = self._each("status", self._state)
        state = joined(lambda is_no, state: no if is_no else state, rejected, status)
        kind = self._each("origin", kind_of)
        if not tool.each:
            reasons = joined(_why_not, worker, values, state, kind)
            self.left_out.update(filter(None, reasons.rows()))
            is_in = np.array([not reason for reason in reasons.distinct], dtype=bool)[reasons.codes]
            worker, values, state = (each.of_rows(is_in) for each in (worker, values, state))
            self._table = self._table[is_in]
        is_out = worker.named(lambda who: kept is not None and who not in kept)
        out = "left out (by --submissions)"
        why = joined(lambda is_out, state: out if is_out else state[1], is_out, state)
        updated, n_without = self._times("time")
        created = self._times("created")[0] if "created" in self._at else updated
        query_ids, doc_ids = self._ids(split)
        found = {
            "query_id": query_ids,
            "doc_id": doc_ids,
            "worker": worker,
            "values": joined(lambda why, values: () if why else values, why, values),
            "why": why,
            "created_at": created,
            "updated_at": updated
            if created is updated
            else joined(lambda time, first: time or first, updated, created),
            "seconds": self._each("seconds", self._of_role("seconds", seconds_of)),
            "comment": joined(lambda why, text: "" if why else text, why, self._each("comment")),
            "round": self._each("round", round_of),
        }
        n_rows = len(self._table)
        found |= {"number": Coded(np.arange(n_rows), self._table.index.tolist()), "key": same("", n_rows)}
        if tool.each:
            found |= self._names_of_annotations(worker)
        self._note("times do not say their zone; they count as UTC", n_without)
        n_unnamed = worker.count(_SESSION.match) * (tool.name == "Prodigy")
        words = "answers are from unnamed sessions, so their authors are unknown; each counts as a person"
        self._note(words, n_unnamed)
        return {name: each.unified() for name, each in found.items()}

    def _read(self, role: str, read: Callable[[Any], Any] = text_of_value) -> list[Any]:
        """Return what is read of each row's value."""
        return list(self._each(role, read).rows())

    def _each(self, role: str, read: Callable[[Any], Any] = text_of_value) -> Coded:
        """Return what is read of each row's value, of equal texts once; an error says its row."""
        if role not in self._at:
            value = self._whose.get(self.roles.get(role, ""))
            return Coded(np.zeros(len(self._table), dtype=np.int64), [read(value)])
        names, combine = self._at[role]
        columns = [self._table[name] for name in names]
        codes, rows = distinct_rows(list(map(column_codes, columns)))
        found, parts = [], zip(*(values.iloc[rows].tolist() for values in columns), strict=True)
        for row, values in zip(rows.tolist(), parts, strict=True):
            try:
                found.append(read(combine(*values)))
            except FireError as error:
                raise FormatError(f"{self._path}: {self._place(row)}: {error}") from None
        return Coded(codes, found)

    def _times(self, role: str) -> tuple[Coded, int]:
        """Return each row's time, and how many of them do not say their zone."""
        names, combine = self._at.get(role, ([], as_it_is))
        column = self._table[names[0]] if len(names) == 1 and combine is as_it_is else self._table.index
        if isinstance(column.dtype, pd.StringDtype):
            codes, texts = column.array.factorize(use_na_sentinel=False)
            if (found := times_in_form(texts)) is not None:
                return Coded(codes, found.to_pylist()).unified(), 0
        times = self._each(role, self._of_role(role, time_of))
        return times.named(itemgetter(0)), times.count(lambda time: not time[1])

    def _place(self, row: int) -> str:
        number = self._table.index[row]
        if not self.tool.each:
            return f"row {number}"
        own: Any = self._table["id"].iat[row] if "id" in self._table else "unknown"
        return f"task {number} (id {own})"

    def _of_role(self, role: str, read: Callable[[str], Any]) -> Callable[[Any], Any]:
        """Return what reads a time or seconds; what is none is said with its column."""

        def read_text_of(value: Any) -> Any:
            try:
                return read(text_of_value(value))
            except FormatError as error:
                raise FormatError(f"{self.roles[role]} is {error}; {role}=- leaves it unread") from None

        return read_text_of

    def _state(self, value: Any) -> tuple[str, str]:
        """Return an answer's state, and why it makes the answer no vote; empty where it counts."""
        text = text_of_value(value)
        known = self.tool.states.get(text, text).lower()
        if known in COUNTS or known in NOT_YET:
            return text, ""
        if known not in SKIPS:
            raise FormatError(
                f"{self.roles.get('status', 'status')} is {text!r}, expected a known word (approved, "
                "submitted, rejected, ignored, draft …); status=- leaves it unread"
            )
        return text, SKIPS[known] if SKIPS[known] == known else f"{SKIPS[known]} ({text})"

    def _ids(self, split: str) -> tuple[Coded, Coded]:
        """Return the query_id and the doc_id of each row."""
        if "pair" not in self.roles:
            texts = (value for role in ("query", "doc") for value in self._each(role, as_it_is).distinct)
            encode = spelling_of(list({value for value in texts if isinstance(value, str)}))
            query_ids, doc_ids = (
                self._each(role, partial(self._id, role, encode=encode)) for role in ("query", "doc")
            )
            return query_ids, doc_ids
        named = self._each("pair").distinct
        encode = spelling_of([part for text in named for part in text.split(split, 1)] if split else [])

        def read_pair(value: Any) -> tuple[str, str]:
            text = text_of_value(value)
            if not split:
                return split_pair_id(text)
            query_id, found, doc_id = text.partition(split)
            if not found:
                raise FormatError(f"pair is {text!r}, expected query and doc with {split!r} between them")
            return self._id("pair", query_id, encode=encode), self._id("pair", doc_id, encode=encode)

        pairs = self._each("pair", read_pair)
        return pairs.named(itemgetter(0)), pairs.named(itemgetter(1))

    def _id(self, role: str, value: Any, *, encode: Callable[[str], str] = str) -> str:
        named = f"{self.roles[role]} ({role})"
        if isinstance(value, float):
            raise FormatError(f"{named} is the number {value}, expected an id: text, or a whole number")
        text = encode(text_of_value(value))
        if not is_id(text):
            raise FormatError(f"{named} is {text[:40]!r}, expected an id without white space")
        return text

    def _names_of_annotations(self, worker: Coded) -> dict[str, Coded]:
        """Return what Label Studio knows answers by, and note whose they are."""
        annotations = self._table[self.tool.each].tolist()
        projects = self._table["project"] if "project" in self._table else [None] * len(annotations)
        numbers = [each.get("id") for each in annotations]
        keys = [
            str(each.get("unique_id") or f"{each.get('project', project)}#{number}")
            for each, project, number in zip(annotations, projects, numbers, strict=True)
        ]
        n_true = sum(each.get("ground_truth") is True for each in annotations)
        n_deleted = worker.count(lambda who: not who)
        self._note("annotations are by deleted accounts; each counts as an annotator of its own", n_deleted)
        self._note("annotations are marked as ground truth, and count as answers of their annotators", n_true)
        are_numbers = (isinstance(number, int) and abs(number) < 2**63 for number in numbers)
        known = (number if is_one else 0 for number, is_one in zip(numbers, are_numbers, strict=True))
        return {"number": coded(map(int, known)), "key": coded(keys)}

    def _note(self, words: str, n: int) -> None:
        self.notes += [f"{n:,} {words}"] * (n > 0)


def _texts(label: str, value: Any) -> tuple[tuple[str, str], ...]:
    return tuple((label, text) for text in texts_of(value))


def _why_not(worker: str, values: Sequence[object], state: tuple[str, str], kind: str) -> str:
    """Return why a response is no answer; empty if it is one."""
    status, why = state
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
