"""Tables of other tools: which wrote one, which column is what, and what to type where that is not clear."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from fire_toolkit.campaign.coded import Coded, same
from fire_toolkit.campaign.ledger import pairs_of
from fire_toolkit.campaign.task_json import PAIR_ID
from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text
from fire_toolkit.formats.columns import GUESSED, guessed_columns, line_of, pair_column
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.syntax import parse_json

_PRESETS = tomllib.loads(Path(__file__).with_name("presets.toml").read_text(encoding="utf-8"))
COUNTS, NOT_YET = _PRESETS["counts"], _PRESETS["not_yet"]
SKIPS = {word: why for why, words in _PRESETS["skips"].items() for word in words}
SKIP = "-"  # in the place of a label: the answer is not a vote; in that of a column: do not read it
_PAIR = {"query": "query_id", "doc": "doc_id"}
_SHOWN = 12


UNKNOWN = {"time": "when", "seconds": "how long it took"}
UNKNOWN |= {"round": "the round (that in which the pair was handed out, else 1)"}


class Tool(NamedTuple):
    """A tool, as `presets.toml` has it."""

    name: str
    signs: Collection[str]
    roles: Mapping[str, Collection[str]] = {}
    labels: Mapping[str, str] = {}
    states: Mapping[str, str] = {}
    note: str = ""
    merged: Collection[str] = ()
    each: str = ""
    apart: Sequence[str] = ()
    fields: str = ""
    answers: str = ""
    guess: Mapping[str, str] = {}


TOOLS = [Tool(**tool) for tool in _PRESETS["tools"]]


class FoundFile(NamedTuple):
    """A file's answers, before any label or name is given to them, and what is to be known of it.

    path: its name; tool: which wrote it; roles: role → column; n_rows; left_out: no answers, counted;
    unread: columns (or controls) that nobody looked at; unknown: what the file does not say; notes: in words;
    controls: those of a Label Studio project.

    answers: columns, with a row for what one person left at one pair: query_id, doc_id; worker (as the file
    has it; empty if the account is deleted); values ((control, value) of all that was answered); why (the
    word that makes it no vote, else empty); created_at, updated_at (UTC or empty); seconds (None if unknown);
    number (its place in the file); key (what its tool knows it by, or empty); comment; round (1 if unknown).
    """

    path: str
    tool: str
    roles: Mapping[str, str]
    n_rows: int
    answers: Mapping[str, Coded]
    left_out: Counter[str]
    unread: Sequence[str]
    unknown: Sequence[str]
    notes: Sequence[str]
    controls: Sequence[str] = ()

    @property
    def n_answers(self) -> int:
        """How many answers there are."""
        return len(self.answers["values"].codes)

    @property
    def is_round_known(self) -> bool:
        """Whether a column or the reader says in which round answers were asked."""
        return UNKNOWN["round"] not in self.unknown

    def asked_in(self, number: int) -> FoundFile:
        """Return the same of answers that were asked in a round, unless a column says in which."""
        if "round" in self.roles:
            return self
        unknown = [words for words in self.unknown if words != UNKNOWN["round"]]
        return self._replace(answers={**self.answers, "round": same(number, self.n_answers)}, unknown=unknown)


def tool_of(columns: Collection[str]) -> Tool:
    """Return the tool whose columns these are; the last, of which nothing is known, has no signs."""
    return next(tool for tool in TOOLS if set(tool.signs) <= set(columns))


LABEL_STUDIO = tool_of(["data", "annotations"])


def table_of(path: Path) -> pd.DataFrame:
    """Return the columns of a file; its rows are numbered from 1.

    A column of a name that others have too goes by its number (`fits (2)`). The two further headers of
    Qualtrics, questions and their ids, are no rows. Numbers in JSON are texts, but for those of Label Studio.

    Raises:
        FormatError: neither a table with a header line, nor JSON Lines, nor a list of objects.
    """
    text = read_text(path)
    start = text.lstrip()[:1]
    if start not in ("[", "{"):
        table = read_delimited(path, numbers_repeats=True)
        is_of_qualtrics = len(table) > 1 and str(table.iat[1, 0]).startswith('{"ImportId":')
        table = table.iloc[2 * is_of_qualtrics :]
    else:
        lines = enumerate(text.split("\n"), start=1)
        records = (
            parse_json(text, str(path), as_written=True)
            if start == "["
            else [parse_json(line, str(path), line=n, as_written=True) for n, line in lines if line.strip()]
        )
        bad = next((n for n, record in enumerate(records, start=1) if not isinstance(record, dict)), 0)
        if bad or not records:
            words = f"entry {bad} is not an object" if bad else "no rows"
            raise FormatError(f"{path}: {words}; expected one each")
        if start == "[" and all(set(LABEL_STUDIO.signs) <= record.keys() for record in records):
            records = parse_json(text, str(path))
        names = dict.fromkeys(name for record in records for name in record)
        columns = {name: [record.get(name) for record in records] for name in names}
        table = pd.DataFrame(columns, dtype="object")
    return table.set_axis(range(1, len(table) + 1), axis=0)


def names_of(table: pd.DataFrame) -> list[str]:
    """Return the names of columns, of those with objects those of what is in them (`meta.caption_id`)."""
    found: list[str] = []
    for name, values in table.items():
        keys = dict.fromkeys(key for each in values if isinstance(each, dict) for key in each)
        found += [f"{name}.{key}" for key in keys] or [str(name)]
    return found


def own_roles(tool: Tool, columns: Collection[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return role → column: those given, and those that the tool always has or that have usual names.

    A column that was given a role has no other, and a column with pairs takes the place of query and doc;
    a role that was given as `-` is not read.
    """
    free = [name for name in columns if name not in given.values()]
    known = {
        role: next((name for name in names if name in free or name.startswith(f"{tool.each}.")), "")
        for role, names in tool.roles.items()
    }
    if "pair" not in given:
        known = {role: pair_column(free, name, is_loose=False) or "" for role, name in _PAIR.items()} | known
    roles = {role: name for role, name in {**known, **given}.items() if name}
    if "status" not in given and roles.get("status") == roles.get("label"):
        roles.pop("status", None)  # Prodigy's yes or no is an answer there, not the state of one
    label = roles.get("label", "")
    if f"{label}.users" in columns:  # Argilla's flat records
        responses = {"annotator": f"{label}.users", "status": f"{label}.status"}
        roles = {role: name for role, name in responses.items() if name in columns} | roles
    return {role: name for role, name in roles.items() if name != SKIP}


def line_to_type(names: Sequence[str], roles: Mapping[str, str], tool: Tool, *, wrong: str = "") -> str:
    """Return the option that names the columns which every table needs, by the best guesses at them.

    Args:
        names: of what the table holds.
        roles: role → column, as far as known; that of the role `wrong` is not there.
        tool: which wrote it.

    Examples:
        >>> names = ["Answer.fits.No", "Answer.fits.Yes", "Input.clip", "Input.text", "WorkerId"]
        >>> line_to_type(names, {"annotator": "WorkerId"}, TOOLS[0])
        "--columns 'annotator=WorkerId,query=Input.text,doc=Input.clip,label=Answer.fits'"
    """
    known = {role: name for role, name in {**tool.guess, **roles}.items() if role != wrong}
    for answers in filter(None, (re.match(tool.answers, name) for name in names if tool.answers)):
        users = f"{answers[0]}.users"  # Argilla's flat records
        known = {"label": answers[0]} | ({"annotator": users} if users in names else {}) | known
    needed = [role for role in GUESSED if "pair" not in known or role not in _PAIR]
    by_name = {name.removeprefix(tool.fields): name for name in names if name.startswith(tool.fields)}
    in_order = [*sorted(by_name, key=lambda name: not name.lower().endswith("id")), *names]
    guessed = guessed_columns(in_order, {role: GUESSED[role] for role in needed}, known)
    own = {role for role, name in roles.items() if name.startswith(f"{LABEL_STUDIO.each}.")}
    found = {role: guessed.get(role, "COLUMN") for role in needed if role not in own}
    found |= {"pair": known["pair"]} if "pair" in known else {}
    line = line_of({role: by_name.get(name, name) for role, name in found.items()})
    return line + " --split TEXT" * ("pair" in known)


def how_to_read(path: Path, error: str, labels: Collection[str] = ()) -> str:
    """Return what to type for a file that was refused because another tool, or another project, wrote it.

    Empty if it is neither; error: why it was refused; labels: of the guideline, which need no --label.
    """
    try:
        table = table_of(path)
    except FormatError:
        return ""
    tool, names = tool_of(table.columns), names_of(table)
    contents = table["data"] if tool.each else table.filter([PAIR_ID]).to_dict("records")
    if (tool.each or "annotation_id" in table) and any(pairs_of(contents)):
        return ""  # of tasks that were made here: why it was refused is all that is to be said
    if ": not JSON" in error and any(pairs_of(contents)) and "label" in names:
        return f"{path}: a sheet, which a workspace reads (`fire-toolkit init`), without --out"
    if tool.each:
        names = [name for name in names if name.startswith("data.")]
    asked = (
        "a project that was not made here (its tasks name no pair_id)"
        if tool.each
        else "judgments made elsewhere"
    )
    line = line_to_type(names, own_roles(tool, table.columns, {}), tool)
    guess = re.search(r"\blabel=([^,']+)", line)
    values = table[guess[1]] if guess and guess[1] in table.columns else [""]
    is_known = not tool.each and {str(value) for value in values} <= {*labels}
    more = "" if is_known else f" --label {'CONTROL:' * bool(tool.each)}VALUE=LABEL"
    words = (
        f"{tool.name} with {asked}? Found {some_of(names)}; if the guess is right, type {line}{more}; "
        "--dry-run shows what is understood"
    )
    if tool.signs:
        return f"{path}: is this {words}"
    return f"{error}. Or is it {words}" if ": not JSON" in error else ""


@contextmanager
def hinting(paths: Collection[Path], labels: Collection[str]) -> Iterator[None]:
    """Say what to type where a file is refused inside because another tool, or another project, wrote it."""
    try:
        yield
    except FormatError as error:
        path = next((path for path in paths if str(error).startswith(f"{path}:")), None)
        if path and (words := how_to_read(path, str(error), labels)):
            raise FormatError(words) from None
        raise


def some_of(names: Sequence[str]) -> str:
    """Return the first of many names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def read_submissions(path: Path) -> set[str]:
    """Return the participants in Prolific's export of submissions whose work counts.

    No column but Participant id and Status is read. Of a participant with several submissions one that
    was approved, or awaits review, is enough.

    Raises:
        FormatError: no columns Participant id and Status, or a status that is not known.
    """
    columns = ("Participant id", "Status")
    table = read_delimited(path, required=columns, only=columns)
    states = table["Status"].str.strip().str.lower()
    odd = sorted(set(table["Status"][~states.isin([*COUNTS, *NOT_YET, *SKIPS])]))
    if odd:
        raise FormatError(f"{path}: Status is {', '.join(odd[:3])}, expected APPROVED, REJECTED, RETURNED …")
    return set(table["Participant id"][states.isin(COUNTS)].str.strip())
