"""One run under each qrels, a block of its lists at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fire_toolkit.measures import CodedQrels, JudgedRanking, Measure, code_run, judge_run, score_coded
from fire_toolkit.measures.blocks import RunBlock, StoredRun, block_of
from fire_toolkit.measures.judged_ranking import join_rankings
from fire_toolkit.measures.segments import Floats
from fire_toolkit.measures.ties import TiedRanking, find_ties, order_by_index
from fire_toolkit.ranking import check_run_fits
from fire_toolkit.tables import Run


@dataclass(frozen=True)
class HeldRun:
    """A Run of one run, as `judge_blocks` takes it."""

    run_id: str
    run: Run

    def blocks(self) -> Iterable[RunBlock]:
        """Return it as one block."""
        return [block_of(self.run)]


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """One run under each qrels, by the name of the qrels.

    rankings: the run joined with them. tied: the same with the tied groups, where these were looked for.
    looped: measures × queries, of the measures that were asked for.
    """

    rankings: dict[str, JudgedRanking]
    tied: dict[str, TiedRanking]
    looped: dict[str, Floats]


def judge_blocks(
    run: StoredRun,
    coded: Mapping[str, CodedQrels],
    looped: Sequence[Measure],
    *,
    with_ties: bool,
    doc_order: Sequence[str] | None = None,
) -> JudgedRun:
    """Return `run` under each of `coded`, which have one universe and the same docs.

    Args:
        run: its blocks are read once, and each is dropped before the next.
        coded: the qrels by name; the first decide whether the run is one for them.
        looped: measures that have a loop (`has_loop`), which are computed on each block.
        with_ties: whether tied groups are looked for.
        doc_order: docs of equal score are put in this order first.

    Raises:
        JoinError: the run is for another split or collection, see `check_run_fits`.
    """
    queries = next(iter(coded.values())).queries
    rankings: dict[str, list[JudgedRanking]] = {name: [] for name in coded}
    tied: dict[str, list[TiedRanking]] = {name: [] for name in coded}
    values: dict[str, Floats] = {name: np.empty((len(looped), len(queries))) for name in coded}
    first, n_shared, has_known_doc, place = None, 0, False, 0
    for block in run.blocks():
        first = first or block.first_pair
        if doc_order is not None:
            block = order_by_index(block, doc_order, run_id=run.run_id)
        stop = len(queries) if block.is_last else bisect_right(queries, block.queries[-1], lo=place)
        within = {name: which.between(place, stop) for name, which in coded.items()}
        coded_run = code_run(block, next(iter(within.values())))
        for name, which in within.items():
            ranking = judge_run(coded_run, which)
            rankings[name].append(ranking)
            if with_ties:
                tied[name].append(find_ties(coded_run, ranking))
            if looped:
                values[name][:, place:stop] = score_coded(coded_run, which, looped)
        n_shared += np.count_nonzero(coded_run.stop > coded_run.start)
        has_known_doc = (
            has_known_doc
            or any(parts[-1].query.size for parts in rankings.values())
            or coded_run.has_known_doc
        )
        place = stop
    check_run_fits(
        run.run_id, queries, first=first or ("", ""), n_shared=n_shared, has_known_doc=has_known_doc
    )
    joined = {name: join_rankings(parts, coded[name]) for name, parts in rankings.items()}
    groups = {name: TiedRanking.joined(parts, joined[name]) for name, parts in tied.items() if parts}
    return JudgedRun(joined, groups, values)
