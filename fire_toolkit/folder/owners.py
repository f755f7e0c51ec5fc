"""Whose the answers in a file are: its name says it, the register of accounts, or the queue that they fit."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.campaign.coded import Coded, coded, joined, listed_rows
from fire_toolkit.campaign.kept import Columns
from fire_toolkit.campaign.ledger import answer_text
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_json import ROUND
from fire_toolkit.errors import UsageError

_NAMED = re.compile(r"(?:tasks|round-\d+)\.(?!overlap\.)(.+?)(?: - Copy| copy)?(?: ?\(\d+\))?\.(?:csv|json)")
_NO_TASK = -(2**62)
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_PEOPLE = (
    "select annotator_id, people from moves join named_people using (people) where people <> 0 "
    "group by people order by min(number)"
)
_MOVES = "select pairs, people, round from moves where people <> 0 order by pairs, round"


class Given:
    """What was ever given to whom, read once for all files; people: their numbers, in the order of that."""

    def __init__(self, store: Store) -> None:
        self.people: dict[str, int] = dict(store.select(_PEOPLE))
        self._numbers = store.pair_numbers() if self.people else {}
        moves = chain.from_iterable(store.select(_MOVES))
        self._moves = np.fromiter(moves, dtype=np.int64).reshape(-1, 3).T

    def of_pairs(self, pairs: Sequence[str]) -> tuple[Ints, Ints, Ints]:
        """Return who was given which of some pairs: places of pairs, people and rounds, the last one last."""
        numbers = np.array([self._numbers.get(pair, 0) for pair in pairs], dtype=np.int64)
        first, end = (np.searchsorted(self._moves[0], numbers, side=side) for side in _SIDES)
        place = np.repeat(np.arange(len(numbers)), end - first)
        rows = np.arange(len(place)) + np.repeat(end - np.cumsum(end - first), end - first)
        return place, self._moves[1, rows], self._moves[2, rows]


def with_owners(found: Columns, given: Given, path: Path, *, known: Mapping[str, str]) -> Columns:
    """Return answers, whose annotator_id is an account's, with annotator and queue.

    An answer without a unique id is known again by annotator, pair and number, whatever its file is called.
    An id between the dots of the file's name (`tasks.A01.json`) says whose all of it is, also where this name
    is nobody's. In nobody's queue an answer is of the round that its task names.

    Args:
        found: as `columns_of_rows` has them.
        given: what was asked of whom.
        path: the file.
        known: account → annotator, where known, as of a sheet whose column names them; one that answered
            nothing that is asked keeps its own name, and so does one who has a queue.

    Raises:
        UsageError: the annotator is unclear, or two accounts answered for one annotator.
    """
    account, pair, named_in = found["annotator_id"], found["pair_id"], found[ROUND]
    people, (place, person, number) = given.people, given.of_pairs(pair.distinct)
    n_pairs, asked_in = len(pair.distinct), [0, *np.unique(number).tolist()]
    # A task: a round and a pair, by their places; of round 0, as where none is named, the last one is meant.
    named = [asked_in.index(each) if each in asked_in else -1 for each in named_in.distinct]
    tasks = np.array(named, dtype=np.int64)[named_in.codes] * n_pairs + pair.codes
    given_in = np.searchsorted(asked_in, number) * n_pairs + place
    answered = _answered(account, np.where(np.isin(pair.codes, place), tasks, _NO_TASK))
    whose = {
        name: np.unique(np.concatenate([given_in[person == own], place[person == own]]))
        for name, own in people.items()
    }
    owners = _owners(answered, whose, path, known)
    rounds = np.zeros(len(tasks), dtype=np.int64)
    for code, name in enumerate(account.distinct):
        if owners[name] in people:
            own, hers = person == people[owners[name]], account.codes == code
            share = np.zeros(len(asked_in) * n_pairs + 1, dtype=np.int64)  # the last: of no round that was
            share[given_in[own]] = share[place[own]] = number[own]
            in_round = share[np.maximum(tasks[hers], -1)]
            rounds[hers] = np.where(in_round > 0, in_round, share[pair.codes[hers]])
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


def _answered(account: Coded, tasks: Ints) -> dict[str, Ints]:
    """Return for each account the tasks that it answered of those that anybody was asked."""
    found = ((name, np.unique(tasks[account.codes == code])) for code, name in enumerate(account.distinct))
    return {name: asked[asked != _NO_TASK] for name, asked in found}


def _owners(
    answered: Mapping[str, Ints], given: Mapping[str, Ints], path: Path, known: Mapping[str, str]
) -> dict[str, str]:
    """Return whose the answers of each account are.

    answered: account → the tasks that it answered of those that anybody was asked; given: annotator → hers.
    """
    said = _NAMED.fullmatch(path.name)
    stranger = said[1] if said else ""
    named = max((name for name in given if f".{name}." in f".{path.name}/.{stranger}."), key=len, default="")
    owners, behind = dict[str, str](), dict[str, list[str]]()
    for account, asked in answered.items():
        if not len(asked) or (not named and (account in known or account in given)):
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


def _owner(asked: Ints, account: str, named: str, given: Mapping[str, Ints], path: Path) -> str:
    """Return whose an account's answers are; named: whom the file's name says."""
    n_hers = {name: int(np.isin(asked, own).sum()) for name, own in given.items()}
    fits = [name for name, n in n_hers.items() if n == len(asked)]
    who = f"{path}: {f'account {account}' if account else 'somebody'} answered {len(asked)} tasks"
    if named and (named in fits or (not fits and n_hers.get(named))):
        return named
    if named:
        owner = f"those of {' and '.join(fits)}" if fits else f"none of them of {named}"
        raise UsageError(f"{who}, {owner}, but the file is named after {named}; rename it")
    if len(fits) != 1:
        queues = f"each in the queues of {' and '.join(fits)}" if fits else "which are in nobody's queue"
        example = path.with_name(f"{path.stem}.{next(iter(given))}{path.suffix}")
        raise UsageError(f"{who}, {queues}; name the file after its annotator, as in {example}")
    return fits[0]
