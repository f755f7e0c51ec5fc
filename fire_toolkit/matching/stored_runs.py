"""Runs in every form that they are scored from, each joined with qrels: tables, files in blocks, matrices.

Here alone it is decided how deep original and augmented labels read a run. One kept from a matrix holds its
top, and below it the original positives at their exact ranks. Where other labels have positives that lie in
none of its lists, their ranks are not known. Counting the original positives below the top and not these
would take from every gain, so none below the top counts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.errors import JoinError
from fire_toolkit.matching.blocks import RunBlock, block_of
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.pair_ranks import StoredRun
from fire_toolkit.matching.ranking import LEAST_SHARED, run_depth, split_runs
from fire_toolkit.tables import Run

AnyRun = Run | StoredRun


@dataclass(frozen=True)
class HeldRun(StoredRun):
    """A Run of one run, as those take it that read runs a block at a time."""

    run_id: str
    run: Run

    def blocks(self) -> Iterable[RunBlock]:
        """Return it as one block."""
        return [block_of(self.run)]


def list_stored(runs: AnyRun | Sequence[AnyRun]) -> list[StoredRun]:
    """Return each run by itself, in the order given; a Run table may hold several.

    Raises:
        TableError: two runs have one id.
    """
    return [
        HeldRun(run_id, Run(run)) if isinstance(run, pd.DataFrame) else run
        for run_id, run in split_runs(runs).items()
    ]


@dataclass(frozen=True, eq=False)
class Cut:
    """Why a run is read to its top alone.

    depth: of the top; n_new: positives of other labels that the original ones do not have, of queries that
    the run has; n_unlisted: those of them that lie in no list; exact: the run as the original labels judge
    it, with the positives below its top.
    """

    depth: int
    n_new: int
    n_unlisted: int
    exact: JudgedRanking


def find_cut(placed: JudgedRanking, qrels: Sequence[CodedQrels]) -> Cut | None:
    """Return how a run must be cut so that all labels read it equally deep, None where they do.

    Args:
        placed: the run, whose relevances are places among the pairs.
        qrels: the labels, of the same pairs, the original ones first.
    """
    first, *rest = qrels
    if not rest or not placed.has_gap:
        return None
    new = np.any([each.relevance >= 1 for each in rest], axis=0) & (first.relevance < 1)
    n_new = int(np.count_nonzero(placed.last_rank[first.query[new]]))
    n_listed = int(np.count_nonzero(new[placed.relevance]))
    if n_listed == n_new:
        return None
    depth = run_depth(placed.n_retrieved, placed.last_rank)
    return Cut(depth, n_new, n_new - n_listed, placed.by(first).in_order)


class JoinedRun(NamedTuple):
    """A run joined with the pairs of qrels: `placed.by` gives its ranking as each of them judges it.

    cut: why it is cut at its top, None where it is not.
    """

    placed: JudgedRanking
    cut: Cut | None


def join_stored(
    run: StoredRun,
    qrels: Sequence[CodedQrels],
    *,
    with_ties: bool = False,
    doc_order: Sequence[str] | None = None,
) -> JoinedRun:
    """Return where the pairs of `qrels`, labellings of the same ones, stand in `run`, see `find_cut`.

    Args:
        run: it is read once, see `StoredRun.rank_pairs`, also for with_ties and doc_order.
        qrels: one or more, the original ones first.

    Raises:
        JoinError: the run is for another split or collection: it has fewer than half of the queries, or none
            of its docs is in the qrels, under whatever query.
    """
    ranks = run.rank_pairs(qrels[0], with_ties=with_ties, doc_order=doc_order)
    n_shared, queries = int(np.count_nonzero(ranks.last_rank)), qrels[0].queries
    if n_shared < LEAST_SHARED * len(queries):
        raise JoinError(
            f"run {run.run_id}: has {n_shared:,} of the {len(queries):,} queries of the qrels (its first: "
            f"{ranks.first_pair[0]!r}, theirs: {queries[0]!r}), expected half or more; is it a run for "
            "another split?"
        )
    if not ranks.has_known_doc:
        raise JoinError(
            f"run {run.run_id}: none of its docs (its first: {ranks.first_pair[1]!r}, theirs: "
            f"{next(iter(qrels[0].docs), '')!r}) is in the qrels; is it a run "
            "for another collection?"
        )
    placed = ranks.placed(qrels[0], with_ties=with_ties)
    cut = find_cut(placed, qrels)
    return JoinedRun(placed.to_depth(cut.depth) if cut else placed, cut)
