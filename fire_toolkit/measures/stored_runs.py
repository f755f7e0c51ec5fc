"""Runs in every form that they are scored from: tables, files read a block at a time, matrices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fire_toolkit.matching.blocks import RunBlock, StoredRun, block_of
from fire_toolkit.matching.coded import CodedQrels, code_run
from fire_toolkit.matching.judge_matrix import MatrixSource, PairRanks
from fire_toolkit.matching.judged_ranking import JudgedRanking, join_rankings, judge_run
from fire_toolkit.matching.ranking import check_run_fits, refuse_twice, split_runs
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
    if isinstance(run, MatrixSource):
        return rank_matrix_pairs(run, coded).under(coded).ranking
    parts: list[JudgedRanking] = []
    first, has_known_doc, place = ("", ""), False, 0
    for block in run.blocks():
        first = first if parts else block.first_pair
        stop = block.stop_in(coded.queries, place)
        within = coded.between(place, stop)
        coded_run = code_run(block, within)
        parts.append(judge_run(coded_run, within))
        has_known_doc = has_known_doc or parts[-1].query.size > 0 or coded_run.has_known_doc
        place = stop
    n_shared = sum(np.count_nonzero(part.last_rank) for part in parts)
    check_run_fits(run.run_id, coded.queries, first=first, n_shared=n_shared, has_known_doc=has_known_doc)
    return join_rankings(parts, coded)


def rank_matrix_pairs(
    run: MatrixSource, coded: CodedQrels, doc_order: Sequence[str] | None = None
) -> PairRanks:
    """Return where the pairs of `coded` stand in a matrix, which must be one for these qrels.

    Raises:
        JoinError: as for `judge_stored`.
    """
    ranks = run.rank_pairs(coded, doc_order)
    n_shared = np.count_nonzero(ranks.n_retrieved)
    has_known_doc = ranks.has_known_doc
    check_run_fits(
        run.run_id, coded.queries, first=run.first_pair, n_shared=n_shared, has_known_doc=has_known_doc
    )
    return ranks


def top_blocks(run: StoredRun | MatrixSource, depth: int | None) -> Iterable[RunBlock]:
    """Return the lists of `run` in blocks that hold at least each query's top `depth`, all without one."""
    return [block_of(run.top(depth))] if isinstance(run, MatrixSource) else run.blocks()
