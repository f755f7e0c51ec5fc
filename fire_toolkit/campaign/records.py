"""What a campaign asked, of whom, under which page: its key, rounds, queues and places, in its record.

All of it is written before anything is sent, so that whatever is cut short can be taken up again with the
same queues. Nothing is changed: what moves to other hands, and what a task shows now, are further rows.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.campaign.numbers import add_given
from fire_toolkit.campaign.page_json import first_three, key_words
from fire_toolkit.campaign.queues import ASSIGNMENTS, MOVES, TASK, Assignments, check_assignments
from fire_toolkit.campaign.sealed import asking
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.tasks import REFERENCE_URL
from fire_toolkit.campaign.views import answered_pairs
from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.tables import TASKS, Qrels, Tasks, check_qrels, check_tasks
from fire_toolkit.tables.columns import PAIR, listed
from fire_toolkit.words import n_of
from fire_toolkit.workspace.database import STORE

FOLDER = "campaign"
BY_SERVER = "labelstudio"
BY_HAND = "folder"
BY_PAGE = "page"
CORRECTED = (BY_SERVER, BY_PAGE)  # carriers that show what a task is corrected to after its round has begun
_SHOWN = ("text", "media_url", "reference_url")  # what a task shows, which may change until it is answered
_KNOWN = ("query_id", "doc_id", "relevance")


@dataclass(frozen=True)
class Campaign:
    """A campaign: its key on every server, its guideline, the page that was shown."""

    key: str
    guideline: str
    guideline_sha256: str
    config_sha256: str
    label_config: str


@dataclass(frozen=True)
class Round:
    """What a round asks of whom: each pair once in `tasks`, who has it in `assignments`; what carries it.

    n_captions: how many captions of one item a page may have; hands: `given`, where tasks have changed hands
    since the queues were drawn; `assignments` are the queues as they are now.
    """

    number: int
    tasks: Tasks
    assignments: Assignments
    controls: Qrels
    carrier: str = BY_SERVER
    n_captions: int = 1
    hands: pd.DataFrame | None = None

    @cached_property
    def given(self) -> pd.DataFrame:
        """All that was ever given to somebody in this round, in the order of the queues.

        annotator_id, pair_id, position, kind; batch: the occasion, 0 when queues were drawn; is_there:
        whether the annotator still has it.
        """
        return self.assignments.assign(batch=0, is_there=True) if self.hands is None else self.hands

    @cached_property
    def by_pair(self) -> pd.DataFrame:
        """The tasks, found by their pair_id."""
        return self.tasks.set_index("pair_id", drop=False)

    @cached_property
    def items(self) -> dict[str, tuple[str, str]]:
        """What is shown with each pair's caption: media_url and reference_url, or empty."""
        pairs, urls = listed(self.tasks["pair_id"]), listed(self.tasks["media_url"])
        has_references = REFERENCE_URL in self.tasks
        references = listed(self.tasks[REFERENCE_URL]) if has_references else [""] * len(pairs)
        return dict(zip(pairs, zip(urls, references, strict=True), strict=True))

    @property
    def drawn(self) -> pd.DataFrame:
        """The queues as they were drawn."""
        return self.given[self.given["batch"] == 0]


@dataclass(frozen=True)
class QueueName:
    """A queue: the round and the annotator it was made for."""

    round: int
    annotator_id: str

    def __str__(self) -> str:
        return f"{self.round}/{self.annotator_id}"


@lru_cache(1 << 12)
def queue_named(text: str) -> QueueName | None:
    """Return the queue that `str` of it names; None for any other text."""
    number, slash, annotator_id = text.partition("/")
    return QueueName(int(number), annotator_id) if slash and number.isdigit() and annotator_id else None


def write_campaign(root: Path, campaign: Campaign) -> None:
    """Write the campaign's record; a campaign that is there stays."""
    there = Rounds(root).campaign
    if there not in (None, campaign):
        raise UsageError(f"{root / STORE}: another campaign has already begun here; use another workspace")
    if there is None:
        with Store.at(root / STORE) as store, asking(store) as db:
            db.execute("insert into campaign values (?, ?, ?, ?, ?)", astuple(campaign))


class Rounds(Sequence[Round]):
    """The rounds of the workspace `root`, which are read when they are first looked at, and its campaign.

    carrier: only those that it carries.
    """

    def __init__(self, root: Path, carrier: str | None = None) -> None:
        query = "select number, carrier, captions from carried"
        self._path, rows, found = root / STORE, [], []
        if os.path.lexists(self._path):
            with Store.at(self._path) as store:
                found = [row for row in store.select(query) if carrier in (None, row[1])]
                rows = store.select("select * from campaign")
        self.campaign = Campaign(*rows[0]) if rows else None
        self.carriers = {number: name for number, name, _ in found}
        self.captions = {number: n_captions for number, _, n_captions in found}
        self._read: dict[int, Round] = {}

    def __len__(self) -> int:
        return len(self.carriers)

    def __getitem__(self, place: Any) -> Any:
        numbers = list(self.carriers)[place]
        return list(map(self.numbered, numbers)) if isinstance(place, slice) else self.numbered(numbers)

    def numbered(self, number: int) -> Round:
        """Return the round of a number."""
        if number in self._read:
            return self._read[number]
        where = f"{self._path}: round {number}"
        with Store.at(self._path) as store:
            asked = store.table("select * from asked_now where round = ? order by position", [number])
            known = store.table("select query_id, doc_id, relevance from controls where round = ?", [number])
            hands = store.table(
                "select annotator_id, pair_id, kind, batch, is_there, row_number() over "
                "(partition by people order by batch, position, number) as position from hands "
                "join named_people using (people) join named_pairs using (pairs) "
                "where round = ? order by batch, hands.position, number",
                [number],
            )
        is_there = hands["is_there"].to_numpy(dtype=bool)
        is_as_drawn = is_there.all() and not hands["batch"].any()
        self._read[number] = Round(
            number,
            _tasks(asked, where),
            check_assignments(hands if is_there.all() else hands[is_there], where=where),
            check_qrels(known, where=where),
            self.carriers[number],
            self.captions[number],
            None if is_as_drawn else hands.assign(is_there=is_there),
        )
        return self._read[number]


def _tasks(asked: pd.DataFrame, where: str) -> Tasks:
    unused = ["reference_url"] if asked["reference_url"].isna().all() else []
    return check_tasks(asked.drop(columns=unused), where=where)


def tasks_of_pairs(store: Store, pairs: pd.DataFrame) -> Tasks:
    """Return what the tasks of pairs (query_id, doc_id) show, in the first round that asks each."""
    names = list(map("\x1f".join, zip(pairs["query_id"], pairs["doc_id"], strict=True)))
    asked = store.table(
        "select * from asked_now where query_id || char(31) || doc_id in (select value from json_each(?)) "
        "order by round, position",
        [json.dumps(names)],
    )
    return _tasks(asked.drop_duplicates("pair_id"), str(store.path))


def other_caption(store: Store) -> Callable[[str, str, str], bool]:
    """Return what says of a queue, a pair and a caption whether the round shows another one now.

    Without a caption (empty), and of a pair that the round does not ask, it does not. Only rounds that were
    written more than once have captions that were corrected; those of all others are not read.
    """
    rows = store.select("select cast(round as text), pair_id, text from corrected")
    now = {(number, pair): text for number, pair, text in rows}
    return lambda queue, pair, text: text not in ("", now.get((queue.partition("/")[0], pair), text))


def with_moves(root: Path, drawn: Round) -> Round:
    """Return a round as it was drawn with what has changed hands in the workspace `root` since."""
    there = _round_there(root, drawn.number)
    if there is None or not _are_same(drawn.drawn, there.drawn, ASSIGNMENTS.names):
        return drawn
    return replace(drawn, assignments=there.assignments, hands=there.hands)


def add_moves(root: Path, moved: Iterable[tuple[Round, pd.DataFrame]]) -> None:
    """Write further moves of rounds, all or none; those that are there stay."""
    rows = [(entry.number, *row) for entry, moves in moved for row in _rows(moves, MOVES)]
    with Store.at(root / STORE) as store, asking(store) as db:
        add_given(db, rows)


def take_back_answered(store: Store) -> list[str]:
    """Take from who has them now the tasks that were answered by who had them before; return what to say.

    An answer may come late, or be read at another site, after its task has moved.
    """
    found = store.select("select * from answered_before")
    if not found:
        return []
    with asking(store) as db:
        rows = enumerate(found, start=1)
        add_given(db, [(number, batch, n, name, "", *of) for n, (number, batch, name, *of) in rows])
    words = "answered by somebody from whom it had moved; nobody else is asked any more"
    return [f"{n_of(len(found), 'task')}, each {words}"]


def write_rounds(root: Path, *entries: Round) -> None:
    """Write rounds, all or none; one that is there stays, and must be the same but for what can be corrected.

    Captions and addresses may change on the carriers of `CORRECTED`. A round that is written again for
    another carrier is that one's from then on.

    Raises:
        UsageError: another round of that number has begun.
        FireError: a task that would show another caption or item has an answer, in the record or on our page.
    """
    written = []
    for entry in entries:
        there = refuse_other_round(root, entry)
        if there and entry.carrier in (there.carrier, BY_HAND) and entry.carrier not in CORRECTED:
            continue
        names = [name for name in TASKS.names if name in entry.tasks.columns]
        known = set() if there is None else set(_rows(there.tasks, names))
        shown = entry.tasks.loc[[row not in known for row in _rows(entry.tasks, names)]]
        written.append((entry, there, names, shown))
    changed = {(str(e.number), pair) for e, there, _, shown in written if there for pair in shown["pair_id"]}
    with Store.at(root / STORE) as store, asking(store) as db:
        if changed:  # looked at while nobody can answer on our page
            found = [(*queue.partition("/"), pair) for queue, pair in sorted(answered_pairs(store))]
            refuse_answered(len(changed), [(who, pair) for n, _, who, pair in found if (n, pair) in changed])
        for entry, there, names, shown in written:
            if len(shown) or there is None or there.carrier != entry.carrier:  # a corrected one has two
                own = [entry.number, entry.carrier, entry.n_captions]
                db.execute("insert into rounds values (?, ?, ?)", own)
            _insert(db, "asked", names, _rows(shown, names))
            if there is not None:
                continue
            is_nobodys = ~entry.tasks["pair_id"].isin(entry.drawn["pair_id"])
            left = entry.tasks[["pair_id"]][is_nobodys].assign(annotator_id="", position=0, kind=TASK)
            drawn = pd.concat([entry.drawn, left]) if len(left) else entry.drawn
            drawn = drawn.assign(batch=0, to_annotator_id=drawn["annotator_id"], annotator_id="")
            given = [(entry.number, *row) for row in _rows(drawn, MOVES)]
            add_given(db, given, _rows(entry.tasks, ("pair_id", *PAIR)))
            known_answers = [(entry.number, *row) for row in _rows(entry.controls, _KNOWN)]
            _insert(db, "controls", ("round", *_KNOWN), known_answers)


def refuse_answered(n_changed: int, answered: Sequence[tuple[str, str]]) -> None:
    """Raise a `FireError` where tasks that would show something else were answered already.

    answered: the annotator and the key of each.
    """
    if answered:
        words = [f"{name}: {key_words(key)}" for name, key in answered]
        raise FireError(
            f"{n_changed:,} tasks have another caption or media_url now, and {len(answered):,} of them were "
            f"answered already ({first_three(words)}); nothing was sent. An answer belongs to what was "
            "shown: correct it back to that and run `tasks`, or ask these pairs in another workspace"
        )


def refuse_other_round(root: Path, entry: Round) -> Round | None:
    """Return the round of that number which has begun; `UsageError` if it is another."""
    if (there := _round_there(root, entry.number)) is None:
        return None
    where = f"{root / STORE}: round {entry.number}"
    if there.carrier == entry.carrier == BY_SERVER and there.n_captions != entry.n_captions:
        raise UsageError(
            f"{where} is on the server with at most {there.n_captions} captions a page, now "
            f"{entry.n_captions}; push without --captions to continue it"
        )
    asks = [name for name in TASKS.names if name in entry.tasks.columns]
    is_shown_anew = entry.carrier == BY_SERVER or entry.carrier == there.carrier == BY_PAGE
    fixed = [name for name in asks if not (is_shown_anew and name in _SHOWN)]
    tables: dict[str, tuple[pd.DataFrame, pd.DataFrame, Sequence[str]]] = {
        "tasks": (entry.tasks, there.tasks, fixed),
        "assignments": (entry.drawn, there.drawn, ASSIGNMENTS.names),
        "controls": (entry.controls, there.controls, _KNOWN),
    }
    changed = [name for name, (own, other, names) in tables.items() if not _are_same(own, other, names)]
    if changed:
        raise UsageError(
            f"{where} was assigned differently ({', '.join(changed)} would change); "
            "push without new inputs to continue it, or begin another campaign in another workspace"
        )
    return there


def _round_there(root: Path, number: int) -> Round | None:
    rounds = Rounds(root)
    return rounds.numbered(number) if number in rounds.carriers else None


def _are_same(one: pd.DataFrame, other: pd.DataFrame, names: Sequence[str]) -> bool:
    there = all(name in other.columns for name in names)
    return there and sorted(_rows(one, names)) == sorted(_rows(other, names))


def _rows(table: pd.DataFrame, names: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name].tolist() for name in names), strict=True))


def _insert(
    db: sqlite3.Connection, table: str, names: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    marks = ", ".join("?" * len(names))
    db.executemany(f"insert into {table} ({', '.join(names)}) values ({marks})", rows)


def read_retired(root: Path) -> set[str]:
    """Return the annotators who were retired from the campaign."""
    with Store.at(root / STORE) as store:
        return {name for (name,) in store.select("select annotator_id from retired")}


def write_retired(root: Path, names: Iterable[str]) -> None:
    """Write down who was retired, beside those who were."""
    with Store.at(root / STORE) as store, asking(store) as db:
        db.executemany("insert or ignore into retired values (?)", [(name,) for name in names])


def record_stamp(store: Store) -> tuple[int, ...]:
    """Return numbers that change whenever something more is asked or given, or somebody retires."""
    counts = (f"(select max(rowid) from {name})" for name in ("campaign", "rounds", "asked", "moves"))
    (found,) = store.select(f"select {', '.join(counts)}, (select count(*) from retired)")
    return tuple(found)
