"""Which pairs a round asks, and of whom: for the first time, again, and where tasks change hands later.

A round's queues are drawn once. What happens to them later are further rows of the record's table `given`:
who was ever given a pair can so be told, and nobody is given it twice.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.campaign.queue_pages import queue_pages
from fire_toolkit.campaign.queues import (
    CONTROL,
    MOVES,
    OVERLAP,
    TASK,
    TRAINING,
    Assignments,
    assign_round,
    assign_tasks,
    check_assignments,
)
from fire_toolkit.campaign.records import Round
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import left_pairs
from fire_toolkit.errors import FileNote
from fire_toolkit.tables import Qrels, Tasks, check_qrels
from fire_toolkit.words import n_of

_NO_VOTES = (TRAINING, CONTROL)
# Who had seen what when a round began; is_vote: asked in a round before it, of files that began no campaign.
_SEEN = """
select annotator_id, pair_id, max(is_vote) as is_vote from (
  select to_annotator_id as annotator_id, pair_id, 0 as is_vote from given where to_annotator_id <> ''
  and number < ifnull((select min(number) from moves where round = ?), number + 1) union all
  select annotator_id, pair_id, queue = '' from answers
  where iif(queue = '', round_said < ?, cast(queue as integer) < ?))
where pair_id <> '' group by 1, 2
"""
Key = tuple[str, str]  # an annotator and a pair


def first_round(
    number: int,
    asked: Tasks,
    loads: Mapping[str, float],
    *,
    training: Tasks | None = None,
    controls: Tasks | None = None,
    answers: Qrels | None = None,
    store: Store | None = None,
    n_captions: int = 1,
    seed: int = 0,
) -> Round:
    """Return a round of pairs that no round has asked: of the first pool, of a later model, or planned.

    Args:
        number: of the round.
        asked: the tasks, batch 2 of those to be judged twice.
        loads: id of each annotator → relative load.
        training: tasks that everybody judges first.
        controls: tasks whose answer is known, mixed in for everybody.
        answers: the known answers.
        store: the record: nobody is asked what she was given or left an answer at before. A pair that was
            asked for a vote in an earlier round, before the campaign began, is an `adjudication`; one that
            all have seen is in the tasks, and nobody has it.
        n_captions: how many captions of one item a page may have; more than 1: pages are drawn.
        seed: of the queues.

    Raises:
        UsageError, JoinError: as `assign_tasks`; or every annotator has seen every pair.

    Warns:
        FileNote: how many votes, controls and training tasks are left out, as people have seen their pairs.
    """
    nothing = pd.DataFrame({"annotator_id": [], "pair_id": [], "is_vote": []})
    seen = store.table(_SEEN, [number] * 3) if store else nothing
    is_known = asked["pair_id"].isin(seen["pair_id"])
    options: dict[str, Any] = {"n_captions": n_captions, "seed": seed}
    drawn = assign_tasks(Tasks(asked[~is_known]), loads, training=training, controls=controls, **options)
    known = set(zip(seen["annotator_id"], seen["pair_id"], strict=True))
    keys = zip(drawn["annotator_id"], drawn["pair_id"], strict=True)
    is_new = np.fromiter((key not in known for key in keys), dtype=bool)
    n_known, n_spent, drawn = int((~is_new).sum()), 0, Assignments(drawn[is_new])
    voted = set(seen.loc[seen["is_vote"] == 1, "pair_id"])
    for batch, kind in enumerate((TASK, OVERLAP), start=1):
        own = asked[is_known & (asked["batch"] == batch)]
        shown = pd.concat([seen, drawn[drawn["kind"] != CONTROL]])
        is_spent = own["pair_id"].isin(seen_by_all(shown, loads))
        is_stuck = kind == TASK and is_known.all() and is_spent.all()
        left = own if is_stuck else own[~is_spent]  # of nothing `assign_round` says why
        kinds = {pair: kind for pair in left["pair_id"] if pair not in voted}
        more = assign_round(Tasks(left), loads, seen=shown, kinds=kinds, **options)
        n_spent += int(is_spent.sum())
        both = pd.concat([drawn, more])  # a control that is a task by now is that
        drawn = Assignments(both.drop_duplicates(["annotator_id", "pair_id"], keep="last"))
    left_out = {"control or training task": (n_known, "that people had before")}
    left_out["vote"] = (
        n_spent,
        "on pairs that all have seen (`next-round --annotator NAME` asks somebody new)",
    )
    if told := [f"{n_of(n, what)} {why}" for what, (n, why) in left_out.items() if n]:
        warnings.warn(f"left out: {', '.join(told)}", FileNote, stacklevel=2)
    drawn = check_assignments(drawn.assign(position=drawn.groupby("annotator_id").cumcount() + 1))
    contents = pd.concat([table for table in (asked, training, controls) if table is not None])
    contents = contents[contents["pair_id"].isin({*asked["pair_id"], *drawn["pair_id"]})]
    return _round(number, contents, drawn, n_captions, answers)


def seen_by_all(seen: pd.DataFrame, names: Collection[str]) -> pd.Index[str]:
    """Return the keys of the pairs that all of these people have seen.

    seen: as in `assign_round`; each annotator and pair may stand there more than once.
    """
    own = seen[["annotator_id", "pair_id"]][seen["annotator_id"].isin(list(names))].drop_duplicates()
    times = own["pair_id"].value_counts()
    return times.index[times >= len(set(names))]


def next_round(
    number: int,
    tasks: Tasks,
    annotators: Iterable[str],
    *,
    seen: pd.DataFrame,
    kinds: Mapping[str, str] | None = None,
    n_captions: int = 1,
    seed: int = 0,
) -> Round:
    """Return a round of pairs that are asked again, each of somebody who has not seen it.

    Args:
        number: of the round.
        tasks: what is asked, each pair once.
        annotators, seen, kinds, n_captions: as in `assign_round`.
        seed: of the queues, which are other ones in each round.

    Raises:
        UsageError: as `assign_round`.
    """
    options: dict[str, Any] = {"kinds": kinds, "n_captions": n_captions, "seed": seed + number}
    return _round(number, tasks, assign_round(tasks, annotators, seen=seen, **options), n_captions)


def _round(
    number: int, contents: pd.DataFrame, drawn: Assignments, n_captions: int, answers: Qrels | None = None
) -> Round:
    once = contents.drop_duplicates("pair_id").sort_values("pair_id", ignore_index=True)
    once = once.assign(batch=1, position=range(1, len(once) + 1), round=number)
    nothing = pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []})
    known = check_qrels(nothing) if answers is None else answers
    return Round(number, Tasks(once), drawn, known, n_captions=n_captions)


def moved_rounds(
    rounds: Sequence[Round],
    store: Store,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    retired: Collection[str],
    seen: pd.DataFrame,
    seed: int,
) -> list[tuple[Round, pd.DataFrame]]:
    """Return the rounds in which tasks move, each with its new moves.

    sources: whose tasks move; none: everybody's, as many as leave all with equally much to do; retired: who
    then gives nothing; seen: as in `assign_round`.
    """
    left, known = left_pairs(store), set(zip(seen["annotator_id"], seen["pair_id"], strict=True))
    found, number = [], "select ifnull(max(batch), 0) + 1 from given where round = ?"
    for entry in rounds:
        own = set(entry.assignments["annotator_id"])
        giving = sorted(own & {*sources} if sources else own - {*targets} - {*retired})
        ((batch,),) = store.select(number, [entry.number])
        page_of = {
            (name, pair): (name, place)
            for name in giving
            for place, page in enumerate(queue_pages(entry, name))
            for pair in page.pairs
            if pair not in page.withdrawn
        }
        moves = move_tasks(
            entry.assignments,
            left.get(entry.number, set()),
            giving,
            targets,
            seen=known,
            batch=batch,
            page_of=page_of,
            is_share=not sources,
            seed=seed,
        )
        if len(moves):
            found.append((entry, moves))
            known |= set(zip(moves["to_annotator_id"], moves["pair_id"], strict=True))
    return found


def move_tasks(
    assignments: Assignments,
    left: Collection[Key],
    sources: Collection[str],
    targets: Collection[str],
    *,
    seen: Collection[Key],
    batch: int,
    page_of: Mapping[Key, Hashable] | None = None,
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
    listed, loads = list(pages.values()), Counter(name for name, _ in open_tasks)
    shuffled = [listed[place] for place in rng.permutation(len(listed))]
    known = set(seen)
    moved = _handed_over(shuffled, sorted(targets), loads, known, is_share=is_share)
    rows = _rows_of_targets(moved, assignments, kinds, known, rng)
    emptied = {page_of[key] for own in moved.values() for page in own for key in page if key in page_of}
    rows += [
        (name, "", pair, kinds[name, pair])
        for name, pair in sorted(left)
        if name in sources
        and kinds.get((name, pair)) in _NO_VOTES
        and (not loads[name] or page_of.get((name, pair)) in emptied)
    ]
    table = [(batch, place, *row) for place, row in enumerate(rows, start=1)]
    return pd.DataFrame(table, columns=list(MOVES))


def _handed_over(
    pages: Sequence[list[Key]], targets: Sequence[str], loads: Counter[str], seen: set[Key], *, is_share: bool
) -> dict[str, list[list[Key]]]:
    """Return what each target gets, in the order in which pages go to them.

    loads, seen: how much everybody has left to do, and may not be given; both are brought up to date.
    """
    moved: dict[str, list[list[Key]]] = {}

    def least(names: Iterable[str]) -> str:
        return min(names, key=lambda name: (loads[name], name))

    def able(page: list[Key], names: Iterable[str]) -> list[str]:
        return [name for name in names if seen.isdisjoint((name, pair) for _, pair in page)]

    def move(page: list[Key], to: str) -> None:
        loads.update({page[0][0]: -len(page), to: len(page)})
        seen.update((to, pair) for _, pair in page)
        moved.setdefault(to, []).append(page)

    if not is_share:  # those that few can take first
        for page in sorted(pages, key=lambda page: len(able(page, targets))):
            if names := able(page, targets):
                move(page, least(names))
        return moved
    own: dict[str, list[list[Key]]] = {}
    for page in pages:
        own.setdefault(page[0][0], []).append(page)
    while True:  # from who has most left to who has least, as long as that evens them out
        to = least(targets)
        giving = sorted(own, key=lambda name: (-loads[name], name))
        evening = (page for name in giving for page in own[name] if len(page) < loads[name] - loads[to])
        found = next((page for page in evening if able(page, [to])), None)
        if found is None:
            return moved
        own[found[0][0]].remove(found)
        move(found, to)


def _rows_of_targets(
    handed: Mapping[str, list[list[Key]]],
    assignments: Assignments,
    kinds: Mapping[Key, str],
    seen: set[Key],
    rng: np.random.Generator,
) -> list[tuple[str, str, str, str]]:
    """Return the moves to each target, in random order; with training and controls for who is new."""
    rows = []
    there = set(assignments["annotator_id"])
    for to, moved in sorted(handed.items()):
        mixed = [[(name, to, pair, kinds[name, pair]) for name, pair in page] for page in moved]
        n_votes = sum(map(len, mixed))
        if to not in there:
            in_order = assignments.sort_values(["position", "annotator_id"])
            of_kinds = (in_order.loc[in_order["kind"] == kind, "pair_id"] for kind in _NO_VOTES)
            training, controls = (
                [pair for pair in dict.fromkeys(own) if (to, pair) not in seen] for own in of_kinds
            )
            n_all_votes = max((~assignments["kind"].isin(_NO_VOTES)).sum(), 1)
            per_vote = float((assignments["kind"] == CONTROL).sum() / n_all_votes)
            n_controls = min(len(controls), math.ceil(n_votes * per_vote))
            chosen = [controls[place] for place in rng.permutation(len(controls))[:n_controls]]
            rows += [("", to, pair, TRAINING) for pair in training]
            mixed += [[("", to, pair, CONTROL)] for pair in chosen]
        rows += [row for place in rng.permutation(len(mixed)) for row in mixed[place]]
    return rows
