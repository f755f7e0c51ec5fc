"""Who judges what, and in which order: tasks to one queue for each annotator."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NewType, TypeVar

import numpy as np
import pandas as pd

from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.tables import FOURTH, Tasks
from fire_toolkit.tables.checks import check_table
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.design import RECHECK
from fire_toolkit.tables.ids import is_id
from fire_toolkit.tables.specs import Column, TableSpec

Assignments = NewType("Assignments", pd.DataFrame)
_T = TypeVar("_T")

MOST_CAPTIONS = 10  # on one page
TRAINING = "training"
TASK = "task"
OVERLAP = "overlap"
CONTROL = "control"
ADJUDICATION = "adjudication"
KINDS = (TRAINING, TASK, OVERLAP, CONTROL, ADJUDICATION, RECHECK, FOURTH)

ASSIGNMENTS = TableSpec(
    "assignments",
    (
        Column("annotator_id", "id"),
        Column("pair_id", "id"),
        Column("position", "int", minimum=1),
        Column("kind", "id"),
    ),
    ("annotator_id", "pair_id"),
    order=("annotator_id", "position"),
)
MOVES = ("batch", "position", "annotator_id", "to_annotator_id", "pair_id", "kind")  # of tasks, later


def check_assignments(table: pd.DataFrame, *, where: str = "") -> Assignments:
    """Return `table` as Assignments, or raise `TableError` with all that is wrong with it.

    position: 1-based place in the annotator's queue; kind: `training` (first in the queue, no vote),
    `task` (a pair's first annotator), `overlap` (its second), `control` (the answer is known, no vote),
    `adjudication` (asked again), `recheck` (asked again because somebody doubted the label), `fourth` (a
    vote that no label counts). No annotator has a pair twice.
    """
    return Assignments(check_table(ASSIGNMENTS, table, where=where))


def assign_tasks(
    tasks: Tasks,
    annotators: Iterable[str] | Mapping[str, float],
    *,
    training: Tasks | None = None,
    controls: Tasks | None = None,
    n_captions: int = 1,
    seed: int = 0,
) -> Assignments:
    """Return who judges which pair at which place: each annotator a queue of its own random order.

    Args:
        tasks: batch 1: pairs that one annotator judges; batch 2: those of them that a second one judges.
        annotators: ids, for equal loads; or id → relative load (above 0).
        training: pairs that everybody judges first, in the order of their positions; none of them may be
            in `tasks`.
        controls: pairs whose answer is known: everybody judges them, at random places after the training.
            An annotator who has a control as task or training has it once, as that.
        n_captions: how many pairs of one item (media_url) a page may have. With more than 1 pages are drawn
            and not pairs: a page goes to one annotator whole, so do the doubled pairs of an item to a second
            one, and controls stand among the pairs of their item.
        seed: 0 or more; the same seed, pairs and annotators give the same queues, whatever the order of rows.

    Returns:
        One row for each annotator and pair. Loads of task and overlap together (in pages, where these
        are drawn) differ by at most one with equal weights; else each next judgment goes where load per
        weight is least (Webster's method), as far as two different annotators for each doubled pair allow.
        Who shares doubled pairs with whom is random. No task: only training and controls.

    Raises:
        UsageError: no annotator, one twice, an invalid id, a weight or seed out of range; one annotator
            though pairs are to be judged twice.
        JoinError: a training pair is among the tasks; a doubled pair has no first task.

    Examples:
        >>> from fire_toolkit.tables import check_tasks
        >>> tasks = check_tasks(pd.DataFrame({
        ...     "pair_id": ["a", "b", "a"], "query_id": "q", "doc_id": ["x", "y", "x"], "text": "t",
        ...     "media_url": "m", "guideline": "g", "batch": [1, 1, 2], "position": [1, 2, 1]}))
        >>> assign_tasks(tasks, ["ann", "bob"])[["annotator_id", "pair_id", "kind"]].values.tolist()
        [['ann', 'a', 'task'], ['ann', 'b', 'task'], ['bob', 'a', 'overlap']]
    """
    weights = _weights(annotators)
    rng = generator(seed)
    items = _items([tasks, training, controls], n_captions)
    first, doubled = (sorted(tasks.loc[tasks["batch"] == batch, "pair_id"]) for batch in (1, 2))
    if len(tasks) and (further := int(tasks["batch"].max())) > 2:
        raise JoinError(f"tasks have a batch {further}; expected 1 and, for a second annotator, 2")
    if alone := sorted(set(doubled) - set(first)):
        raise JoinError(f"{len(alone)} doubled pairs are not in batch 1 ({', '.join(alone[:3])})")
    if len(doubled) and len(weights) == 1:
        raise UsageError(
            f"{len(doubled)} pairs need two annotators, and {next(iter(weights))!r} is the only one; "
            "add an annotator, or make the tasks with overlap 0"
        )
    trained: list[str] = []
    if training is not None:
        trained = list(dict.fromkeys(training.sort_values(["batch", "position"])["pair_id"]))
    known = [] if controls is None else sorted(set(controls["pair_id"]) - set(trained))
    if both := sorted(set(trained) & set(first)):
        raise JoinError(
            f"{len(both)} training pairs are also tasks ({', '.join(both[:3])}), so annotators would see "
            "them twice; leave them out of the pool with `pool --judged`, or out of the training"
        )
    loads = dict.fromkeys(weights, 0)
    kinds: dict[str, dict[str, str]] = {name: dict.fromkeys(known, CONTROL) for name in weights}
    rooms = {item: max(1, n_captions - n) for item, n in Counter(items.get(p, "") for p in known).items()}
    pages = _pages(doubled, items, n_captions, rng, rooms)
    for page, (one, other) in zip(pages, _two_for_each(len(pages), weights, loads, rng), strict=True):
        kinds[one] |= dict.fromkeys(page, TASK)
        kinds[other] |= dict.fromkeys(page, OVERLAP)
    pages = _pages(sorted(set(first) - set(doubled)), items, n_captions, rng, rooms)
    for page, name in zip(pages, _shuffled(_seats(len(pages), weights, loads), rng), strict=True):
        kinds[name] |= dict.fromkeys(page, TASK)
    first_of_all = [(pair, TRAINING) for pair in trained]
    return _queues({name: [*first_of_all, *_random_order(kinds[name], items, rng)] for name in kinds})


def assign_round(
    tasks: Tasks,
    annotators: Iterable[str] | Mapping[str, float],
    *,
    seen: pd.DataFrame,
    kinds: Mapping[str, str] | None = None,
    n_captions: int = 1,
    seed: int = 0,
) -> Assignments:
    """Return who is asked again: each pair goes to one annotator who has not seen it.

    Args:
        tasks: the pairs to ask again; batches do not matter.
        annotators: ids of those who can be asked; or id → relative load.
        seen: columns annotator_id and pair_id: who answered, skipped or was given which pair before.
        kinds: of the assignments, by pair; of those that it does not name, adjudication.
        n_captions: as in `assign_tasks`: pairs of one item that the same people can judge make new pages.
        seed: as in `assign_tasks`.

    Returns:
        One row for each pair. Pairs that few can judge are given first, each to
        the least loaded; so loads are as even as that allows, within one when everybody can judge all.

    Raises:
        UsageError: as in `assign_tasks`; or every annotator has seen a pair.
    """
    weights = _weights(annotators)
    names = list(weights)
    rng = generator(seed)
    pairs = sorted(set(tasks["pair_id"]))
    of_pairs = dict.fromkeys(pairs, ADJUDICATION) | dict(kinds or {})
    known = seen[seen["pair_id"].isin(pairs)].groupby("pair_id")["annotator_id"].agg(set).to_dict()
    able = {pair: [name for name in names if name not in known.get(pair, ())] for pair in pairs}
    stuck = [pair for pair in pairs if not able[pair]]
    if stuck:
        first = " ".join(tasks[PAIR][tasks["pair_id"] == stuck[0]].iloc[0])
        words = f"{len(stuck)} of {len(pairs)} pairs have been seen by every annotator (first: {first})"
        raise UsageError(f"{words}; name one who has not seen them (--annotator)")
    loads = dict.fromkeys(names, 0)
    given: dict[str, dict[str, str]] = {name: {} for name in names}
    items = _items([tasks], n_captions)
    alike = {pair: f"{item} {' '.join(sorted(able[pair]))}" for pair, item in items.items()}
    pages = _shuffled(_pages(pairs, alike, n_captions, rng), rng)
    for page in sorted(pages, key=lambda page: len(able[page[0]])):
        name = min(able[page[0]], key=lambda name: (loads[name] / weights[name], name))
        loads[name] += len(page)
        given[name] |= {pair: of_pairs[pair] for pair in page}
    return _queues({name: _random_order(given[name], items, rng) for name in names})


def _items(tables: Iterable[Tasks | None], n_captions: int) -> dict[str, str]:
    """Return the item of each pair, where pages have several captions; else nothing."""
    there = [table for table in tables if table is not None and n_captions > 1]
    return {pair: url or pair for t in there for pair, url in zip(t["pair_id"], t["media_url"], strict=True)}


def _pages(
    pairs: Sequence[str],
    items: Mapping[str, str],
    n_captions: int,
    rng: np.random.Generator,
    rooms: Mapping[str, int] | None = None,
) -> list[tuple[str, ...]]:
    """Return pairs as pages of one item and at most `n_captions` pairs, chosen at random, of even size.

    rooms: how many pairs of an item fit on a page where controls come onto it.
    """
    if n_captions == 1:
        return [(pair,) for pair in pairs]
    by_item: dict[str, list[str]] = {}
    for pair in _shuffled(pairs, rng):
        by_item.setdefault(items[pair], []).append(pair)
    most = dict.fromkeys(by_item, n_captions) | dict(rooms or {})
    return [page for item, own in sorted(by_item.items()) for page in even_pages(own, most[item])]


def even_pages(own: Sequence[_T], n_captions: int) -> list[tuple[_T, ...]]:
    """Return what belongs to one item in as few pages as hold it, whose sizes differ by at most one.

    Examples:
        >>> even_pages("abcdefg", 3)
        [('a', 'b', 'c'), ('d', 'e'), ('f', 'g')]
    """
    n_pages = -(-len(own) // n_captions)
    return [tuple(map(own.__getitem__, part)) for part in np.array_split(np.arange(len(own)), n_pages)]


def _weights(annotators: Iterable[str] | Mapping[str, float]) -> dict[str, float]:
    named = list(annotators)
    if not named:
        raise UsageError("no annotator given; give at least one")
    bad = [name for name in named if not is_id(name)]
    if bad or len(set(named)) < len(named):
        raise UsageError(
            f"annotators {', '.join(map(str, named))}: expected ids without white space, each once"
        )
    weights = annotators if isinstance(annotators, Mapping) else dict.fromkeys(named, 1.0)
    wrong = [name for name in named if not 0 < weights[name] < float("inf")]
    if wrong:
        raise UsageError(f"the load of {wrong[0]} is {weights[wrong[0]]}, expected a number above 0")
    return {name: float(weights[name]) for name in sorted(named)}


def generator(seed: int) -> np.random.Generator:
    """Return the random numbers of a seed; `UsageError` below 0."""
    if seed < 0:
        raise UsageError(f"seed is {seed}, expected 0 or more")
    return np.random.default_rng(seed)


def _seats(
    n: int, weights: Mapping[str, float], loads: dict[str, int], *, limit: int | None = None
) -> list[str]:
    """Return who takes each of `n` judgments, at most `limit` each, and add them to `loads`."""
    most = n if limit is None else limit

    def turns(name: str) -> Iterator[tuple[float, str]]:
        return (((loads[name] + turn + 0.5) / weights[name], name) for turn in range(most))

    seats = [name for _, name in islice(heapq.merge(*map(turns, weights)), n)]
    for name in seats:
        loads[name] += 1
    return seats


def _two_for_each(
    n: int, weights: Mapping[str, float], loads: dict[str, int], rng: np.random.Generator
) -> list[tuple[str, str]]:
    """Return two different annotators for each of `n` pairs, paired at random.

    Nobody has more than `n` of the 2n seats, so an annotator paired with herself can always swap
    with somebody in a pair that she is not in.
    """
    seats = _shuffled(_seats(2 * n, weights, loads, limit=n), rng)
    ones, others = seats[:n], seats[n:]
    for place in range(n):
        name = ones[place]
        if others[place] != name:
            continue
        free = next(p for p in rng.permutation(n) if name not in (ones[p], others[p]))
        others[place], others[free] = others[free], name
    return list(zip(ones, others, strict=True))


def _shuffled(values: Iterable[_T], rng: np.random.Generator) -> list[_T]:
    listed = list(values)
    return [listed[place] for place in rng.permutation(len(listed))]


def _random_order(
    kinds: Mapping[str, str], items: Mapping[str, str], rng: np.random.Generator
) -> list[tuple[str, str]]:
    """Return pairs and their kinds in random order; where pages have several captions, item by item."""
    order = _shuffled(sorted(kinds), rng)
    if items:
        places = {item: place for place, item in enumerate(_shuffled(sorted({items[p] for p in order}), rng))}
        order.sort(key=lambda pair: places[items[pair]])
    return [(pair, kinds[pair]) for pair in order]


def _queues(found: Mapping[str, list[tuple[str, str]]]) -> Assignments:
    """Return the table of queues that are given as pairs and their kinds."""
    rows = [
        (name, pair, position, kind)
        for name, queue in found.items()
        for position, (pair, kind) in enumerate(queue, start=1)
    ]
    return check_assignments(pd.DataFrame(rows, columns=list(ASSIGNMENTS.names)))
