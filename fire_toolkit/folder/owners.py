"""Whose the answers in a file are: its name says it, the register of accounts, or the queue that they fit."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

import numpy as np

from fire_toolkit.campaign.coded import coded, distinct_rows, joined, listed_rows
from fire_toolkit.campaign.kept import Columns
from fire_toolkit.campaign.ledger import answer_text
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_json import ROUND
from fire_toolkit.errors import UsageError

_NAMED = re.compile(r"(?:tasks|round-\d+)\.(?!overlap\.)(.+?)(?: - Copy| copy)?(?: ?\(\d+\))?\.(?:csv|json)")
_PEOPLE = (
    "select annotator_id from moves join named_people using (people) where people <> 0 "
    "group by people order by min(number)"
)
# Who was given the pair of each answer, in which round (the one that it names, else the last), and whether
# the answer can be to that: one that names no round can.
_HANDS = """
select place, annotator_id, ifnull(max(iif(moves.round = named, named, null)), max(moves.round)),
  max(named in (0, moves.round))
from named_rounds cross join pairs using (pair_id) cross join moves on moves.pairs = pairs.number
join named_people using (people) where people <> 0 group by place, people
"""


def people_given(store: Store) -> list[str]:
    """Return everybody who was ever given a task, in the order of the first one."""
    return [name for (name,) in store.select(_PEOPLE)]


def with_owners(
    found: Columns, store: Store, path: Path, *, people: Sequence[str], known: Mapping[str, str]
) -> Columns:
    """Return answers, whose annotator_id is an account's, with annotator and queue.

    An answer without a unique id is known again by annotator, pair and number, whatever its file is called.
    An id between the dots of the file's name (`tasks.A01.json`) says whose all of it is, also where this name
    is nobody's. In nobody's queue an answer is of the round that its task names.

    Args:
        found: as `columns_of_rows` has them.
        store: the record, which has what was asked of whom.
        path: the file.
        people: as `people_given` has them.
        known: account → annotator, where known, as of a sheet whose column names them; one that answered
            nothing that is asked keeps its own name, and so does one who has a queue.

    Raises:
        UsageError: the annotator is unclear, or two accounts answered for one annotator.
    """
    columns = account, pair, named_in = found["annotator_id"], found["pair_id"], found[ROUND]
    codes, rows = distinct_rows([each.codes for each in columns])
    names, *of_tasks = (each.of_rows(rows).rows().tolist() for each in columns)
    hands = list[tuple[int, str, int, int]]()
    with store.aside() as db:
        if people:
            db.execute("create temp table named_rounds (place integer, pair_id text, named integer)")
            db.executemany("insert into named_rounds values (?, ?, ?)", zip(count(), *of_tasks, strict=False))
            hands = db.execute(_HANDS).fetchall()
            db.execute("drop table named_rounds")
    n_asked = Counter(names[place] for place in {place for place, *_ in hands})
    n_hers = Counter((names[place], name) for place, name, _, is_hers in hands if is_hers)
    n_of = {who: (n_asked[who], {name: n_hers[who, name] for name in people}) for who in account.distinct}
    owners = _owners(n_of, people, path, known)
    given_in = {(place, name): number for place, name, number, _ in hands}
    asked_in = [given_in.get((place, owners[name]), 0) for place, name in enumerate(names)]
    rounds = np.array(asked_in, dtype=np.int64)[codes]
    owner = account.named(owners.__getitem__)
    queue = joined(lambda number, name: f"{number}/{name}" if number else "", coded(rounds.tolist()), owner)
    found = {**found, "annotator_id": owner, "queue": queue}
    others = {name for name, own in owners.items() if own not in (name, known.get(name))}
    if others and any("#" in key for key in found["annotation"]):
        entries = zip(found["annotation"], *map(listed_rows, (account, owner, pair)), strict=True)
        found["annotation"] = [
            f"{who}#{of}#{key.rpartition('#')[2]}" if "#" in key and name in others else key
            for key, name, who, of in entries
        ]
    free = np.where(rounds > 0, 0, np.array(named_in.distinct, dtype=np.int64)[named_in.codes]).tolist()
    if max(free, default=0) > 1:
        found["round_said"] = coded(max(n, 1) for n in free)
        found["answer"] = [
            answer_text(json.loads(answer) | {ROUND: n}) if n > 1 else answer
            for answer, n in zip(found["answer"], free, strict=True)
        ]
    return found


def _owners(
    n_of: Mapping[str, tuple[int, Mapping[str, int]]],
    people: Sequence[str],
    path: Path,
    known: Mapping[str, str],
) -> dict[str, str]:
    """Return whose the answers of each account are.

    n_of: account → how many tasks it answered of those that anybody was asked, then of each annotator.
    """
    said = _NAMED.fullmatch(path.name)
    stranger = said[1] if said else ""
    named = max((name for name in people if f".{name}." in f".{path.name}/.{stranger}."), key=len, default="")
    owners, behind = dict[str, str](), dict[str, list[str]]()
    for account, (n_asked, n_hers) in n_of.items():
        if not n_asked or (not named and (account in known or account in people)):
            owners[account] = known.get(account, account) or stranger
            continue
        owners[account] = _owner(n_asked, n_hers, account, named or stranger, path)
        behind.setdefault(owners[account], []).append(account)
    for owner, accounts in behind.items():
        if len(accounts) > 1:
            raise UsageError(
                f"{path}: accounts {', '.join(sorted(accounts))} all answered tasks of {owner}; export "
                "each person's answers separately"
            )
    return owners


def _owner(n_asked: int, n_hers: Mapping[str, int], account: str, named: str, path: Path) -> str:
    """Return whose an account's answers are; named: whom the file's name says."""
    fits = [name for name, n in n_hers.items() if n == n_asked]
    who = f"{path}: {f'account {account}' if account else 'somebody'} answered {n_asked} tasks"
    if named and (named in fits or (not fits and n_hers.get(named))):
        return named
    if named:
        owner = f"those of {' and '.join(fits)}" if fits else f"none of them of {named}"
        raise UsageError(f"{who}, {owner}, but the file is named after {named}; rename it")
    if len(fits) != 1:
        queues = f"each in the queues of {' and '.join(fits)}" if fits else "which are in nobody's queue"
        example = path.with_name(f"{path.stem}.{next(iter(n_hers))}{path.suffix}")
        raise UsageError(f"{who}, {queues}; name the file after its annotator, as in {example}")
    return fits[0]
