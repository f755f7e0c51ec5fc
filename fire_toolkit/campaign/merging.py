"""Another site's copy of a campaign's record, merged: what it asked, of whom, and what was answered."""

from collections.abc import Collection, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from fire_toolkit.campaign.keys import read_key
from fire_toolkit.campaign.ledger import Version
from fire_toolkit.campaign.numbers import add_given
from fire_toolkit.campaign.queues import MOVES
from fire_toolkit.campaign.records import BY_HAND, BY_SERVER, queue_named
from fire_toolkit.campaign.schema import KEPT
from fire_toolkit.campaign.sealed import asking
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import answered_pairs, people_asked
from fire_toolkit.errors import FormatError
from fire_toolkit.tables import Items, Queries
from fire_toolkit.words import n_of

Shown = tuple[Queries, Items | None]  # of a collection: what people see

# By table: the column of the round, which is the first, and how many of the first columns name a row.
_OF_ROUNDS = {"rounds": ("number", 1), "asked": ("round", 2), "controls": ("round", 3)}
_CAMPAIGN = "select * from campaign"


def merge_record(
    store: Store,
    path: Path,
    *,
    labels: Collection[str] | None = None,
    source: str | None = None,
    shown: Shown | None = None,
) -> list[str]:
    """Add what another copy of a record has and this one has not; return what is to be said of it.

    Rounds that began there begin here, under another number where theirs is taken by other tasks; so do the
    answers in their queues. What changed hands there has changed hands here, after what did here, but for
    what went to who has it here. Who was retired there is. Of another campaign's record the answers alone
    are taken, in nobody's queue.

    Args:
        store: the record here.
        path: the other one.
        labels: those of the guideline, where a campaign has begun here; None: any.
        source: goes before the names of another campaign's people; "-" where one name is one person in both.
        shown: the queries and items here; None: any.

    Raises:
        FormatError: the other file is damaged, or no such record; it has other queries; an answer that counts
            there has another label; somebody in another campaign's has the name of somebody here, and no
            source is given; or one is given for this campaign's own.
    """
    with Store(path) as other:
        other.check()
        query = f"select {', '.join(KEPT)} from answers order by number"
        rows = list(map(Version._make, other.select(query)))
        here, there = (each.select(_CAMPAIGN) for each in (store, other))
        if here and labels is not None and (strange := sorted({*other.labels()} - {*labels})):
            raise FormatError(
                f"{path}: labels that the guideline here does not have: {', '.join(strange)}; add them to it "
                "here too, or correct these answers there"
            )
        numbers, notes = dict[int, int](), _notes_of_texts(other, *shown) if shown else []
        if there and (not here or here[0][0] == there[0][0]):
            if source:
                raise FormatError(
                    f"{path}: of this campaign, whose people have one name here and there: no --source"
                )
            numbers, of_rounds = _numbers_here(store, other, path)
            notes += of_rounds
            _take_rounds(store, other, numbers)
        elif there:
            notes.append(
                f"{path}: of another campaign than the one here, so what it asked of whom is not known"
            )
            rows = _of_other_people(rows, store, path, source)
        if other.select("select * from unread_page"):
            notes.append(
                f"{path}: answers on its page are not in it yet; `pull` there, and import its record again"
            )
    for place, row in enumerate(rows):
        if queue := queue_named(row.queue):
            rows[place] = row._replace(queue=f"{numbers.get(queue.round, queue.round)}/{queue.annotator_id}")
    store.add_rows(rows)
    return notes


def _notes_of_texts(other: Store, queries: Queries, items: Items | None) -> list[str]:
    """Return how many pairs of another record were shown with a text that the collection here does not have.

    Raises:
        FormatError: pairs are of queries that are not here.
    """
    path, texts = other.path, dict(zip(queries["query_id"], queries["text"], strict=True))
    bodies = (
        dict(zip(items["doc_id"], items["text"], strict=True))
        if items is not None and "text" in items
        else {}
    )
    keys = other.select("select pair_id from pairs where number in (select pairs from versions)")
    pairs = list(filter(None, (read_key(key) for (key,) in keys)))
    if n_other := sum(query_id not in texts for query_id, _ in pairs):
        words = f"{n_other:,} of its {n_of(len(pairs), 'pair')} on queries that the collection does not have"
        raise FormatError(f"{path}: {words}; expected another copy of this campaign's record")
    asked = other.select("select distinct query_id, doc_id, text from asked_now where text <> ''")
    differing = [
        (query_id, doc_id, text)
        for query_id, doc_id, text in asked
        if text != texts.get(query_id) and not (doc_id in bodies and text.endswith(bodies[doc_id]))
    ]
    if not differing:
        return []
    query_id, doc_id, text = differing[0]
    words = f"{len(differing):,} of its {n_of(len(asked), 'pair')} were shown with another text than here"
    return [f"{path}: {words} (first: {query_id} {doc_id}, {text[:60]!r})"]


def _of_other_people(rows: Sequence[Version], store: Store, path: Path, source: str | None) -> list[Version]:
    """Return the answers of another campaign in nobody's queue, by people whose names are not taken here."""
    own = []
    for row in rows:
        queue = queue_named(row.queue)
        name, key = row.annotator_id or (queue.annotator_id if queue else ""), row.annotation
        if source not in (None, "-") and name:  # the key of a sheet's answer says person and pair alone
            name, key = f"{source}-{name}", f"{source}-{key}"
        own.append(row._replace(annotation=key, annotator_id=name, queue=""))
    known = {row.annotation for row in own}
    answered = store.select("select annotator_id, annotation from answers")
    here = people_asked(store).union(name for name, key in answered if key not in known)
    if source != "-" and (both := sorted(here.intersection(row.annotator_id for row in own) - {""})):
        raise FormatError(
            f"{path}: of another campaign than the one here, and {', '.join(both[:5])} answered in both: one "
            "name is one person; type --source NAME to put NAME- before its people's names, or --source - if "
            "they are the same people"
        )
    return own


def _numbers_here(store: Store, other: Store, path: Path) -> tuple[dict[int, int], list[str]]:
    """Return the number here of each round of another record, and what is to be said of those that differ."""
    here, there = (dict(each.select("select number, carrier from carried")) for each in (store, other))
    drawn = {each: sorted(_moves(store, each, is_drawn=True)) for each in here}
    found, notes = dict[int, int](), list[str]()
    for number, carrier in there.items():
        own = sorted(_moves(other, number, is_drawn=True))
        known = sorted((each for each in here if drawn[each] == own), key=lambda each: each != number)
        if not known and number in here and ({*own} < {*drawn[number]} or {*drawn[number]} < {*own}):
            known = [number]  # of one of them a salvage could not read all
        taken = {*here, *found.values()}
        free = next(each for each in count(number) if each not in taken)
        if known:
            found[number] = known[0]
        elif number != free and carrier == BY_SERVER:  # its projects there have the number in their marks
            notes.append(
                f"{path}: its round {number} is on a server, and another round {number} began here; what was "
                "asked in it is not known here, and its answers count as not assigned"
            )
        else:
            found[number] = free
            is_here = f" is round {free} here, where another began" if free != number else ""
            by = "" if carrier == BY_HAND else f" is carried by {carrier}, here too"
            notes += [f"{path}: its round {number}{words}" for words in (is_here, by) if words]
    return found, notes


def _take_rounds(store: Store, other: Store, numbers: Mapping[int, int]) -> None:
    """Write down the rounds, moves and retired people of another record that this one does not have.

    What was corrected there and then answered shows here what it was answered to.
    """
    answered = {(queue.partition("/")[0], pair) for queue, pair in answered_pairs(other)}
    with asking(store) as db:
        if not db.execute(_CAMPAIGN).fetchall():
            db.executemany("insert into campaign values (?, ?, ?, ?, ?)", other.select(_CAMPAIGN))
        db.executemany("insert or ignore into retired values (?)", other.select("select * from retired"))
        for number, own in numbers.items():
            known, theirs = _moves(store, own), _moves(other, number)
            have = {(to or (name,), pair) for _, _, name, to, pair, _ in known}  # nobody has a pair twice
            new = [row for row in theirs if (row[3] or (row[2],), row[4]) not in have]
            later = max((batch for batch, *_ in known), default=0) + 1
            moved = [(own, batch - new[0][0] + later, *row) for batch, *row in new]
            drawn = {*_moves(store, own, is_drawn=True)}  # all of it, but for what a salvage could not read
            lost = [(own, *row) for row in _moves(other, number, is_drawn=True) if row not in drawn]
            add_given(db, [*lost, *moved])
            for table, (key, n) in _OF_ROUNDS.items():
                query = f"from {table} where {key} = ?"
                here = {row[1:n] for row in db.execute(f"select * {query}", [own])}
                names, chunks = other.chunks(f"select * {query} order by rowid", [number])
                insert = f"insert into {table} values ({', '.join('?' * len(names))})"
                for chunk in chunks:
                    db.executemany(insert, [(own, *row[1:]) for row in chunk if row[1:n] not in here])
            corrected = other.select("select * from corrected where round = ?", [number])
            if shown := [row[1:] for row in corrected if (str(number), row[1]) in answered]:
                here = {row[1:] for row in db.execute("select * from asked where round = ?", [own])}
                if new := [(own, *row) for row in shown if row not in here]:
                    db.executemany("insert into asked values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", new)
                    carried = "select number, carrier, captions from carried where number = ?"
                    db.execute(f"insert into rounds {carried}", [own])


def _moves(store: Store, number: int, *, is_drawn: bool = False) -> list[tuple[Any, ...]]:
    """Return what changed hands in a round, in its order; is_drawn: what was given when it began."""
    which, order = ("= 0", "number") if is_drawn else ("> 0", "batch, position")
    query = f"select {', '.join(MOVES)} from given where batch {which} and round = ? order by {order}"
    return store.select(query, [number])
