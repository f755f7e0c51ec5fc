"""Runs in every form that they are scored from: tables, files read a block at a time, matrices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.matching.alike import Cut, find_cut
from fire_toolkit.matching.blocks import RunBlock, StoredRun, block_of
from fire_toolkit.matching.coded import CodedQrels, all_pairs, code_run
from fire_toolkit.matching.judge_matrix import MatrixSource
from fire_toolkit.matching.judged_ranking import JudgedRanking, judge_run
from fire_toolkit.matching.ranking import check_run_fits, refuse_twice, split_runs
from fire_toolkit.matching.ties import TiedRanking, find_ties, order_by_index, untied
from fire_toolkit.tables import Run

AnyRun = Run | StoredRun | MatrixSource


@dataclass(frozen=True)
class HeldRun:
    """A Run of one run, as those take it that read runs a block at a time."""

    run_id: str
    run: Run

    def blocks(self) -> Iterable[RunBlock]:
        """Return it as one block."""
        return [block_of(self.run)]


def list_stored(runs: AnyRun | Sequence[AnyRun]) -> list[StoredRun | MatrixSource]:
    """Return each run by itself, in the order given; a Run table may hold several.

    Raises:
        TableError: two runs have one id.
    """
    given = runs if isinstance(runs, Sequence) else [runs]
    stored: list[StoredRun | MatrixSource] = []
    for each in given:
        if isinstance(each, pd.DataFrame):
            stored += [HeldRun(run_id, run) for run_id, run in split_runs(Run(each)).items()]
        else:
            stored.append(each)
    ids = [run.run_id for run in stored]
    twice = next((run_id for place, run_id in enumerate(ids) if run_id in ids[:place]), None)
    if twice is not None:
        refuse_twice(twice)
    return stored


def judge_stored(run: StoredRun | MatrixSource, coded: CodedQrels) -> JudgedRanking:
    """Return where the docs of the qrels stand in `run`: what `judge_run` returns of the same run whole.

    Raises:
        JoinError: the run is for another split or collection, see `check_run_fits`.
    """
    return join_stored(run, [coded]).rankings[0].ranking


class JoinedRun(NamedTuple):
    """A run joined with each of some qrels; cut: why all are cut at the run's top, None where none is."""

    rankings: list[TiedRanking]
    cut: Cut | None


def join_stored(
    run: StoredRun | MatrixSource,
    qrels: Sequence[CodedQrels],
    *,
    with_ties: bool = False,
    doc_order: Sequence[str] | None = None,
) -> JoinedRun:
    """Return where the docs of each of `qrels`, which have one universe and the same docs, stand in `run`.

    All are read equally deep, see `alike.find_cut`.

    Args:
        run: its blocks are read once, and each is dropped before the next.
        qrels: one or more, the original ones first.
        with_ties: whether ties are looked for; else no doc counts as tied.
        doc_order: docs of equal score stand in this order; None leaves the order of the run.

    Raises:
        JoinError: the run is for another split or collection, see `check_run_fits`.
    """
    rankings, first, has_known_doc = _joined(run, qrels, with_ties, doc_order)
    n_shared = int(np.count_nonzero(rankings[0].ranking.last_rank))
    check_run_fits(run.run_id, qrels[0].queries, first=first, n_shared=n_shared, has_known_doc=has_known_doc)
    cut = find_cut([tied.ranking for tied in rankings], qrels)
    return JoinedRun([tied.to_depth(cut.depth) for tied in rankings] if cut else rankings, cut)


def _joined(
    run: StoredRun | MatrixSource,
    qrels: Sequence[CodedQrels],
    with_ties: bool,
    doc_order: Sequence[str] | None,
) -> tuple[list[TiedRanking], tuple[str, str], bool]:
    """Return the rankings, query and doc of the run's first row, and whether any doc is one of the qrels."""
    if isinstance(run, MatrixSource):
        ranks = run.rank_pairs(all_pairs(qrels), doc_order)
        return [ranks.under(coded) for coded in qrels], run.first_pair, ranks.has_known_doc
    queries = qrels[0].queries
    parts: list[list[TiedRanking]] = [[] for _ in qrels]
    first, known, place = ("", ""), False, 0
    for block in run.blocks():
        first = first if parts[0] else block.first_pair
        if doc_order is not None:
            block = order_by_index(block, doc_order, run_id=run.run_id)
        stop = block.stop_in(queries, place)
        within = [coded.of(np.arange(place, stop)) for coded in qrels]
        coded_run = code_run(block, within[0])
        for own, coded in zip(parts, within, strict=True):
            ranking = judge_run(coded_run, coded)
            own.append(find_ties(coded_run, ranking) if with_ties else untied(ranking))
            known = known or ranking.query.size > 0
        known = known or coded_run.has_known_doc
        place = stop
    joined = [TiedRanking.joined(own, coded) for own, coded in zip(parts, qrels, strict=True)]
    return joined, first, known


def top_blocks(run: StoredRun | MatrixSource, depth: int | None) -> Iterable[RunBlock]:
    """Return the lists of `run` in blocks that hold at least each query's top `depth`, all without one."""
    return [block_of(run.top(depth))] if isinstance(run, MatrixSource) else run.blocks()
