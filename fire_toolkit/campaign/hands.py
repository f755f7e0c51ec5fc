"""Whose hands tasks are in while a round runs: what `annotators` moves, and what nobody will answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from fire_toolkit.campaign.ledger import Ledger
from fire_toolkit.campaign.moves import Moves, move_tasks
from fire_toolkit.campaign.progress import left_pairs
from fire_toolkit.campaign.queue_pages import queue_pages
from fire_toolkit.campaign.queues import CONTROL, TRAINING
from fire_toolkit.campaign.records import Round
from fire_toolkit.campaign.rounds import seen_pairs


def free_tasks(rounds: Sequence[Round], ledger: Ledger, names: Collection[str]) -> dict[str, int]:
    """Return for each of these annotators how many tasks to be judged have no answer."""
    found: dict[str, int] = {}
    left = left_pairs(ledger, rounds)
    for entry in rounds:
        rows = entry.assignments[~entry.assignments["kind"].isin([TRAINING, CONTROL])]
        for name, pair in zip(rows["annotator_id"], rows["pair_id"], strict=True):
            if name in names and (name, pair) in left[entry.number]:
                found[name] = found.get(name, 0) + 1
    return found


def moved_rounds(
    rounds: Sequence[Round],
    ledger: Ledger,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    retired: Collection[str],
    seed: int,
) -> list[tuple[Round, Moves]]:
    """Return the rounds in which tasks move, each with its new moves.

    sources: whose tasks move; none: everybody's, as many as leave all with equally much to do; retired: who
    then gives nothing.
    """
    left = left_pairs(ledger, rounds)
    seen = set(seen_pairs(rounds, ledger).itertuples(index=False, name=None))
    found = []
    for entry in rounds:
        own = set(entry.assignments["annotator_id"])
        giving = sorted(own & {*sources} if sources else own - {*targets} - {*retired})
        batch = int(entry.moves["batch"].max()) + 1 if len(entry.moves) else 1
        moves = move_tasks(
            entry.assignments,
            left[entry.number],
            giving,
            targets,
            seen=seen,
            batch=batch,
            page_of=_pages_of(entry, giving),
            is_share=not sources,
            seed=seed,
        )
        if len(moves):
            found.append((entry, moves))
            seen |= set(zip(moves["to_annotator_id"], moves["pair_id"], strict=True))
    return found


def _pages_of(entry: Round, names: Collection[str]) -> dict[tuple[str, str], tuple[str, int]]:
    """Return the page on which each of these annotators has each pair."""
    return {
        (name, pair): (name, number)
        for name in names
        for number, page in enumerate(queue_pages(entry, name))
        for pair in page.pairs
        if pair not in page.withdrawn
    }


def count_moved(moved: Sequence[tuple[Round, Moves]], targets: Sequence[str]) -> dict[str, Any]:
    """Return how many tasks that are judged move, and to whom."""
    to = dict.fromkeys(targets, 0)
    for _, moves in moved:
        for name, target in zip(moves["annotator_id"], moves["to_annotator_id"], strict=True):
            if name and target:
                to[target] += 1
    return {"moved": sum(to.values()), "to": to}
