"""Whose the answers in a file are: its name says it, the register of accounts, or the queue that they fit."""

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints
from fire_toolkit.campaign.coded import Coded, coded, joined, listed_rows
from fire_toolkit.campaign.kept import Columns
from fire_toolkit.campaign.ledger import answer_text
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_json import ROUND
from fire_toolkit.errors import UsageError

_NAMED = re.compile(r"(?:tasks|round-\d+)\.(?!overlap\.)(.+?)(?: - Copy| copy)?(?: ?\(\d+\))?\.(?:csv|json)")


def people_given(store: Store) -> list[str]:
    """Return everybody who was ever given a task, in the order in which they were."""
    query = "select to_annotator_id from given where to_annotator_id <> '' group by 1 order by min(rowid)"
    return [name for (name,) in store.database.select(query)]


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
    account, pair, named_in = found["annotator_id"], found["pair_id"], found[ROUND].rows().astype("int64")
    given = _given(store, pair.distinct, people)
    owners = _owners(account, pair, named_in, given, people, path, known)
    owner = Coded(account.codes, owners).unified()
    who = np.array([people.index(name) if name in people else -1 for name in owner.distinct], dtype=np.int64)
    place = pd.Index(pair.codes * len(people) + who[owner.codes])
    asked, last = given["task"], given.drop_duplicates("task", keep="last")
    at = np.where(who[owner.codes] < 0, -1, pd.Index(last["task"]).get_indexer(place))
    number = np.where(at < 0, 0, np.append(last["round"], 0)[at])
    for n in np.unique(named_in[(at >= 0) & (number != named_in)]).tolist():
        number[(named_in == n) & (at >= 0) & place.isin(asked[given["round"] == n])] = n
    queue = joined(lambda n, name: f"{n}/{name}" if n else "", coded(number.tolist()), owner)
    found = {**found, "annotator_id": owner, "queue": queue}
    whose = zip(account.distinct, owners, strict=True)
    others = {name for name, own in whose if own not in (name, known.get(name))}
    if others and any("#" in key for key in found["annotation"]):
        rows = zip(found["annotation"], *map(listed_rows, (account, owner, pair)), strict=True)
        found["annotation"] = [
            f"{who}#{of}#{key.rpartition('#')[2]}" if "#" in key and name in others else key
            for key, name, who, of in rows
        ]
    if (is_free := (number == 0) & (named_in > 1)).any():
        found["round_said"] = coded(np.where(is_free, named_in, found["round_said"].rows()).tolist())
        found["answer"] = [
            answer_text(json.loads(answer) | {ROUND: n}) if is_named else answer
            for answer, n, is_named in zip(found["answer"], named_in.tolist(), is_free.tolist(), strict=True)
        ]
    return found


def _given(store: Store, pairs: Sequence[str], people: Sequence[str]) -> pd.DataFrame:
    """Return who was ever given which of these pairs, by the rounds.

    place: the pair's place, and who: the person's, here; task: both as one number; round.
    """
    rows = store.database.select(
        "select wanted.key, to_annotator_id, round from json_each(?) as wanted "
        "cross join given on pair_id = wanted.value where to_annotator_id <> ''",
        [json.dumps(list(pairs))],
    )
    numbers = {name: number for number, name in enumerate(people)}
    place, names, number = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {"place": place, "who": [numbers[name] for name in names], "round": number}
    found = pd.DataFrame({name: np.array(column, dtype=np.int64) for name, column in columns.items()})
    found["task"] = found["place"] * len(people) + found["who"]
    return found.drop_duplicates().sort_values("round", kind="stable")


def _owners(
    account: Coded,
    pair: Coded,
    named_in: Ints,
    given: pd.DataFrame,
    people: Sequence[str],
    path: Path,
    known: Mapping[str, str],
) -> list[str]:
    """Return whose the answers of each distinct account are."""
    said = _NAMED.fullmatch(path.name)
    stranger = said[1] if said else ""
    named = max((name for name in people if f".{name}." in f".{path.name}/.{stranger}."), key=len, default="")
    rows = pd.DataFrame({"account": account.codes, "place": pair.codes, "round": named_in}).drop_duplicates()
    rows = rows[rows["place"].isin(given["place"])]
    n_asked = rows["account"].value_counts()
    both = rows.merge(given, on="place")
    both = both[(both["round_x"] == both["round_y"]) | (both["round_x"] == 0)]
    both = both.drop_duplicates(["account", "task", "round_x"])
    fitting: dict[int, Counter[str]] = {}
    for (code, who), n in Counter(zip(both["account"], both["who"], strict=True)).items():
        fitting.setdefault(code, Counter())[people[who]] = n
    owners, behind = list[str](), dict[str, list[str]]()
    for code, name in enumerate(account.distinct):
        n = n_asked.get(code, 0)
        if not n or (not named and (name in known or name in people)):
            owners.append(known.get(name, name) or stranger)
            continue
        owners.append(_owner(n, fitting.get(code, {}), name, named or stranger, people, path))
        behind.setdefault(owners[-1], []).append(name)
    for owner, accounts in behind.items():
        if len(accounts) > 1:
            raise UsageError(
                f"{path}: accounts {', '.join(sorted(accounts))} all answered tasks of {owner}; export "
                "each person's answers separately"
            )
    return owners


def _owner(
    n_asked: int, fitting: Mapping[str, int], account: str, named: str, people: Collection[str], path: Path
) -> str:
    """Return whose an account's answers are.

    fitting: how many of the tasks that it answered each annotator was given; named: whom the file names.
    """
    fits = [name for name in people if fitting.get(name) == n_asked]
    who = f"{path}: {f'account {account}' if account else 'somebody'} answered {n_asked} tasks"
    if named and (named in fits or (not fits and named in fitting)):
        return named
    if named:
        owner = f"those of {' and '.join(fits)}" if fits else f"none of them of {named}"
        raise UsageError(f"{who}, {owner}, but the file is named after {named}; rename it")
    if len(fits) != 1:
        queues = f"each in the queues of {' and '.join(fits)}" if fits else "which are in nobody's queue"
        example = path.with_name(f"{path.stem}.{next(iter(people))}{path.suffix}")
        raise UsageError(f"{who}, {queues}; name the file after its annotator, as in {example}")
    return fits[0]
