"""Whose the answers in a file are: its name says it, the register of accounts, or the queue that they fit."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from fire_toolkit.campaign.coded import coded, joined, listed_rows
from fire_toolkit.campaign.kept import Columns
from fire_toolkit.campaign.ledger import answer_text
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_json import ROUND
from fire_toolkit.errors import UsageError

Task = tuple[int, int]  # the round that a task names, 0 if it names none, and its pair's place in the file
Given = Mapping[str, Mapping[Task, int]]  # annotator → what was asked of her → in which round
_NAMED = re.compile(r"(?:tasks|round-\d+)\.(?!overlap\.)(.+?)(?: - Copy| copy)?(?: ?\(\d+\))?\.(?:csv|json)")
_PEOPLE = "select to_annotator_id from given where to_annotator_id <> '' group by 1 order by min(rowid)"
_GIVEN = (
    "select wanted.key, to_annotator_id, round from json_each(?) as wanted "
    "cross join given on pair_id = wanted.value where to_annotator_id <> '' order by round"
)


def people_given(store: Store) -> list[str]:
    """Return everybody who was ever given a task, in the order in which they were."""
    return [name for (name,) in store.database.select(_PEOPLE)]


def with_owners(
    found: Columns, store: Store, people: Sequence[str], path: Path, *, known: Mapping[str, str]
) -> Columns:
    """Return answers, whose annotator_id is an account's, with annotator and queue.

    An answer without a unique id is known again by annotator, pair and number, whatever its file is called.
    An id between the dots of the file's name (`tasks.A01.json`) says whose all of it is, also where this name
    is nobody's. In nobody's queue an answer is of the round that its task names.

    Args:
        found: as `columns_of_rows` has them.
        store: the record, which says what was asked of whom.
        people: everybody who was ever given a task.
        path: the file.
        known: account → annotator, where known, as of a sheet whose column names them; one that answered
            nothing that is asked keeps its own name, and so does one who has a queue.

    Raises:
        UsageError: the annotator is unclear, or two accounts answered for one annotator.
    """
    account, pair, named_in = found["annotator_id"], found["pair_id"], listed_rows(found[ROUND])
    given: dict[str, dict[Task, int]] = {name: {} for name in people}
    for place, name, number in store.database.select(_GIVEN, [json.dumps(pair.distinct)]):
        given[name][number, place] = given[name][0, place] = number  # 0: in the last round
    tasks, accounts = list(zip(named_in, pair.codes.tolist(), strict=True)), listed_rows(account)
    is_asked = {place for _, place in chain.from_iterable(given.values())}
    answered: dict[str, set[Task]] = {name: set() for name in account.distinct}
    for name, task in zip(accounts, tasks, strict=True):
        if task[1] in is_asked:
            answered[name].add(task)
    owners = _owners(answered, given, path, known)
    theirs = {name: given.get(owner, {}) for name, owner in owners.items()}
    rounds = [
        theirs[name].get(task) or theirs[name].get((0, task[1]), 0)
        for name, task in zip(accounts, tasks, strict=True)
    ]
    owner = account.named(owners.__getitem__)
    queue = joined(lambda number, name: f"{number}/{name}" if number else "", coded(rounds), owner)
    found = {**found, "annotator_id": owner, "queue": queue}
    others = {name for name, own in owners.items() if own not in (name, known.get(name))}
    if others and any("#" in key for key in found["annotation"]):
        rows = zip(found["annotation"], accounts, *map(listed_rows, (owner, pair)), strict=True)
        found["annotation"] = [
            f"{who}#{of}#{key.rpartition('#')[2]}" if "#" in key and name in others else key
            for key, name, who, of in rows
        ]
    free = [0 if number else named for number, named in zip(rounds, named_in, strict=True)]
    if max(free, default=0) > 1:
        found["round_said"] = coded(max(n, 1) for n in free)
        found["answer"] = [
            answer_text(json.loads(answer) | {ROUND: n}) if n > 1 else answer
            for answer, n in zip(found["answer"], free, strict=True)
        ]
    return found


def _owners(
    answered: Mapping[str, set[Task]], given: Given, path: Path, known: Mapping[str, str]
) -> dict[str, str]:
    """Return whose the answers of each account are.

    answered: account → the tasks that it answered of those that anybody was asked.
    """
    said = _NAMED.fullmatch(path.name)
    stranger = said[1] if said else ""
    named = max((name for name in given if f".{name}." in f".{path.name}/.{stranger}."), key=len, default="")
    owners, behind = dict[str, str](), dict[str, list[str]]()
    for account, asked in answered.items():
        if not asked or (not named and (account in known or account in given)):
            owners[account] = known.get(account, account) or stranger
            continue
        owners[account] = _owner(asked, account, named or stranger, given, path)
        behind.setdefault(owners[account], []).append(account)
    for owner, accounts in behind.items():
        if len(accounts) > 1:
            raise UsageError(
                f"{path}: accounts {', '.join(sorted(accounts))} all answered tasks of {owner}; export "
                "each person's answers separately"
            )
    return owners


def _owner(asked: set[Task], account: str, named: str, given: Given, path: Path) -> str:
    """Return whose an account's answers are; named: whom the file's name says."""
    fits = [name for name, own in given.items() if asked <= own.keys()]
    who = f"{path}: {f'account {account}' if account else 'somebody'} answered {len(asked)} tasks"
    if named and (named in fits or (not fits and asked & given.get(named, {}).keys())):
        return named
    if named:
        owner = f"those of {' and '.join(fits)}" if fits else f"none of them of {named}"
        raise UsageError(f"{who}, {owner}, but the file is named after {named}; rename it")
    if len(fits) != 1:
        queues = f"each in the queues of {' and '.join(fits)}" if fits else "which are in nobody's queue"
        example = path.with_name(f"{path.stem}.{next(iter(given))}{path.suffix}")
        raise UsageError(f"{who}, {queues}; name the file after its annotator, as in {example}")
    return fits[0]
