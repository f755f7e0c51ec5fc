"""Tasks that change hands while a round runs: what was given to one annotator and goes to another.

A round's queues are drawn once. What happens to them later are further rows of the record's table `given`:
who was ever given a pair can so be told, and nobody is given it twice.
"""

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fire_toolkit.campaign.queues import CONTROL, TRAINING, Assignments

MOVES = ("batch", "position", "annotator_id", "to_annotator_id", "pair_id", "kind")
_NO_VOTES = (TRAINING, CONTROL)
Key = tuple[str, str]  # an annotator and a pair


@dataclass
class _Hands:
    """Who has how much left to do, and may not be given what; `moved` has what each gets: pages of tasks."""

    loads: Counter[str]
    seen: set[Key]
    moved: dict[str, list[list[Key]]]

    def able(self, page: list[Key], targets: Iterable[str]) -> list[str]:
        return [name for name in targets if self.seen.isdisjoint((name, pair) for _, pair in page)]

    def move(self, page: list[Key], to: str) -> None:
        self.loads[page[0][0]] -= len(page)
        self.loads[to] += len(page)
        self.seen.update((to, pair) for _, pair in page)
        self.moved.setdefault(to, []).append(page)


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
    rng, page_of = np.random.default_rng([seed, batch]), page_of or {}
    columns = (assignments[name] for name in ("annotator_id", "pair_id", "kind"))
    kinds = {(name, pair): kind for name, pair, kind in zip(*columns, strict=True)}
    open_tasks = sorted(key for key in left if kinds.get(key, CONTROL) not in _NO_VOTES)
    pages: dict[tuple[str, Hashable], list[Key]] = {}
    for key in open_tasks:
        if key[0] in sources:
            pages.setdefault((key[0], page_of.get(key, key[1])), []).append(key)
    listed = list(pages.values())
    hands = _Hands(Counter(name for name, _ in open_tasks), set(seen), {})
    shuffled = [listed[place] for place in rng.permutation(len(listed))]
    (_share if is_share else _move_all)(hands, shuffled, sorted(targets))
    rows = _rows_of_targets(hands, assignments, kinds, rng)
    moved = (key for own in hands.moved.values() for page in own for key in page)
    emptied = {page_of[key] for key in moved if key in page_of}
    rows += [
        (name, "", pair, kinds[name, pair])
        for name, pair in sorted(left)
        if name in sources
        and kinds.get((name, pair)) in _NO_VOTES
        and (not hands.loads[name] or page_of.get((name, pair)) in emptied)
    ]
    table = [(batch, place, *row) for place, row in enumerate(rows, start=1)]
    return pd.DataFrame(table, columns=list(MOVES))


def _move_all(hands: _Hands, pages: list[list[Key]], targets: list[str]) -> None:
    """Move each page to somebody who can take it, those that few can take first."""
    for page in sorted(pages, key=lambda page: len(hands.able(page, targets))):
        if able := hands.able(page, targets):
            hands.move(page, min(able, key=lambda name: (hands.loads[name], name)))


def _share(hands: _Hands, pages: list[list[Key]], targets: list[str]) -> None:
    """Move pages one by one from who has most left to who has least, as long as that evens them out."""
    own: dict[str, list[list[Key]]] = {}
    for page in pages:
        own.setdefault(page[0][0], []).append(page)
    while True:
        to = min(targets, key=lambda name: (hands.loads[name], name))
        giving = sorted(own, key=lambda name: (-hands.loads[name], name))
        evening = (p for name in giving for p in own[name] if len(p) < hands.loads[name] - hands.loads[to])
        found = next((page for page in evening if hands.able(page, [to])), None)
        if found is None:
            return
        own[found[0][0]].remove(found)
        hands.move(found, to)


def _rows_of_targets(
    hands: _Hands, assignments: Assignments, kinds: Mapping[tuple[str, str], str], rng: np.random.Generator
) -> list[tuple[str, str, str, str]]:
    """Return the moves to each target, in random order; with training and controls for who is new."""
    rows = []
    there = set(assignments["annotator_id"])
    for to, moved in sorted(hands.moved.items()):
        mixed = [[(name, to, pair, kinds[name, pair]) for name, pair in page] for page in moved]
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
