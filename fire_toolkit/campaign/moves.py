"""Tasks that change hands while a round runs: what was given to one annotator and goes to another.

A round's queues are drawn once. What happens to them later are further rows of the record's table `given`:
who was ever given a pair can so be told, and nobody is given it twice.
"""

import math
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from fire_toolkit.campaign.queues import CONTROL, TRAINING, Assignments

MOVES = ("batch", "position", "annotator_id", "to_annotator_id", "pair_id", "kind")
_NO_VOTES = (TRAINING, CONTROL)


@dataclass(frozen=True)
class _Unit:
    """What moves as a whole: the unanswered tasks of one page of an annotator, most often one."""

    source: str
    pairs: tuple[str, ...]


@dataclass
class _Hands:
    """Who has how much left to do, and who may not be given what; kept up to date while tasks are moved."""

    loads: dict[str, int]
    seen: set[tuple[str, str]]
    moved: dict[str, list[_Unit]] = field(default_factory=dict)

    def able(self, unit: _Unit, targets: Iterable[str]) -> list[str]:
        return [name for name in targets if not any((name, pair) in self.seen for pair in unit.pairs)]

    def move(self, unit: _Unit, to: str) -> None:
        self.loads[unit.source] -= len(unit.pairs)
        self.loads[to] += len(unit.pairs)
        self.seen.update((to, pair) for pair in unit.pairs)
        self.moved.setdefault(to, []).append(unit)


def move_tasks(
    assignments: Assignments,
    left: Collection[tuple[str, str]],
    sources: Collection[str],
    targets: Collection[str],
    *,
    seen: Collection[tuple[str, str]],
    batch: int,
    page_of: Mapping[tuple[str, str], Hashable] | None = None,
    is_share: bool = False,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the moves that give unanswered tasks of `sources` to `targets`.

    Args:
        assignments: the queues of a round as they are now.
        left: (annotator, pair) of every task without an answer.
        sources: whose tasks are moved.
        targets: who gets them; not in `sources`.
        seen: (annotator, pair) of everybody who was given a pair, or left anything at it, in any round.
        batch: the number of this occasion.
        page_of: (annotator, pair) → its page, where several captions are judged together; pages move whole.
            None: each task is a page.
        is_share: move only as many as make what each of `sources` and `targets` has left even; else all.
        seed: of the order.

    Returns:
        batch, position, annotator_id (who had the task; empty: it is new to the queue), to_annotator_id
        (empty: nobody is asked any more), pair_id and kind.
        Pages go to the one with least left to do among those who have seen none of their pairs, those that
        few can take first; a page of which each target has seen something stays where it is. Controls of a
        page that moves are given to nobody. A target that is new to the round gets its
        training too, and as large a share of controls as the others have. The controls and the training of a
        source that has nothing else left to do are given to nobody: a queue of nothing but controls would
        show which they are.
    """
    rng = np.random.default_rng([seed, batch])
    columns = (assignments[name] for name in ("annotator_id", "pair_id", "kind"))
    kinds = {(name, pair): kind for name, pair, kind in zip(*columns, strict=True)}
    open_tasks = sorted(key for key in left if kinds.get(key, CONTROL) not in _NO_VOTES)
    loads = {name: sum(owner == name for owner, _ in open_tasks) for name in (*sources, *targets)}
    hands = _Hands(loads, set(seen))
    units = _units([key for key in open_tasks if key[0] in set(sources)], page_of or {})
    shuffled = [units[place] for place in rng.permutation(len(units))]
    (_share if is_share else _move_all)(hands, shuffled, sources, sorted(targets))
    rows = _rows_of_targets(hands, assignments, kinds, rng)
    rows += [
        (name, "", pair, kinds[name, pair])
        for name, pair in _left_alone(hands, left, kinds, page_of or {})
        if name in set(sources)
    ]
    table = [(batch, place, *row) for place, row in enumerate(rows, start=1)]
    return pd.DataFrame(table, columns=list(MOVES))


def _units(tasks: list[tuple[str, str]], page_of: Mapping[tuple[str, str], Hashable]) -> list[_Unit]:
    """Return the tasks of each page as one unit, in the order of their first."""
    pages: dict[tuple[str, Hashable], list[str]] = {}
    for name, pair in tasks:
        pages.setdefault((name, page_of.get((name, pair), pair)), []).append(pair)
    return [_Unit(name, tuple(pairs)) for (name, _), pairs in pages.items()]


def _left_alone(
    hands: _Hands,
    left: Collection[tuple[str, str]],
    kinds: Mapping[tuple[str, str], str],
    page_of: Mapping[tuple[str, str], Hashable],
) -> list[tuple[str, str]]:
    """Return training and controls that nothing is left beside, in the queue or on a page that moved."""
    keys = [(unit.source, pair) for units in hands.moved.values() for unit in units for pair in unit.pairs]
    emptied = {page_of[key] for key in keys if key in page_of}
    return [
        key
        for key in sorted(left)
        if kinds.get(key) in _NO_VOTES and (not hands.loads.get(key[0], 1) or page_of.get(key) in emptied)
    ]


def _move_all(hands: _Hands, units: list[_Unit], sources: Collection[str], targets: list[str]) -> None:
    """Move each unit to somebody who can take it, those that few can take first."""
    for unit in sorted(units, key=lambda unit: len(hands.able(unit, targets))):
        able = hands.able(unit, targets)
        if able:
            hands.move(unit, min(able, key=lambda name: (hands.loads[name], name)))


def _share(hands: _Hands, units: list[_Unit], sources: Collection[str], targets: list[str]) -> None:
    """Move units one by one from who has most left to who has least, as long as that evens them out."""
    own = {name: [unit for unit in units if unit.source == name] for name in sources}
    while True:
        to = min(targets, key=lambda name: (hands.loads[name], name))
        more = {name: hands.loads[name] - hands.loads[to] for name in sorted(own)}
        giving = sorted(more, key=lambda name: -hands.loads[name])
        evening = (unit for name in giving for unit in own[name] if len(unit.pairs) < more[name])
        found = next((unit for unit in evening if hands.able(unit, [to])), None)
        if found is None:
            return
        own[found.source].remove(found)
        hands.move(found, to)


def _rows_of_targets(
    hands: _Hands, assignments: Assignments, kinds: Mapping[tuple[str, str], str], rng: np.random.Generator
) -> list[tuple[str, str, str, str]]:
    """Return the moves to each target, in random order; with training and controls for who is new."""
    rows = []
    there = set(assignments["annotator_id"])
    for to, moved in sorted(hands.moved.items()):
        mixed = [[(u.source, to, pair, kinds[u.source, pair]) for pair in u.pairs] for u in moved]
        n_votes = sum(map(len, mixed))
        if to not in there:
            in_order = assignments.sort_values(["position", "annotator_id"])
            of_kinds = (in_order.loc[in_order["kind"] == kind, "pair_id"] for kind in _NO_VOTES)
            training, controls = (
                [pair for pair in dict.fromkeys(own) if (to, pair) not in hands.seen] for own in of_kinds
            )
            n_all_votes = max((~assignments["kind"].isin(_NO_VOTES)).sum(), 1)
            per_vote = float((assignments["kind"] == CONTROL).sum() / n_all_votes)
            n_controls = min(len(controls), math.ceil(n_votes * per_vote))
            chosen = [controls[place] for place in rng.permutation(len(controls))[:n_controls]]
            rows += [("", to, pair, TRAINING) for pair in training]
            mixed += [[("", to, pair, CONTROL)] for pair in chosen]
        rows += [row for place in rng.permutation(len(mixed)) for row in mixed[place]]
    return rows
