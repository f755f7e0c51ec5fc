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

from fire_toolkit.arrays import find_pairs
from fire_toolkit.matching.blocks import RunBlock, block_of
from fire_toolkit.matching.coded import CodedQrels, each_once
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.pair_ranks import StoredRun
from fire_toolkit.matching.ranking import check_run_fits, run_depth, split_runs
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


def find_cut(rankings: Sequence[JudgedRanking], qrels: Sequence[CodedQrels]) -> Cut | None:
    """Return how a run must be cut so that all labels read it equally deep, None where they do.

    Args:
        rankings: one run as each of the labels judges it, the original ones first.
        qrels: the labels, of one universe and the same docs.
    """
    if len(rankings) < 2 or not rankings[0].has_gap:
        return None
    original = rankings[0]
    first, *rest = (coded.positives for coded in qrels)
    pairs, n_docs = each_once([coded.pairs for coded in rest]), max(len(first.docs), 1)
    new = pairs[find_pairs(pairs, first.pairs, len(first.queries) * n_docs) < 0]
    n_new = int(np.count_nonzero(original.last_rank[new // n_docs]))
    width = int(original.last_rank.max()) + 1
    keys = [each.found.query * width + each.found.rank.astype(np.int64) for each in rankings]
    n_listed = int(np.count_nonzero(~np.isin(each_once(keys[1:]), keys[0])))
    if n_listed == n_new:
        return None
    depth = run_depth(original.n_retrieved, original.last_rank)
    return Cut(depth, n_new, n_new - n_listed, original)


class JoinedRun(NamedTuple):
    """A run joined with each of some qrels; cut: why all are cut at the run's top, None where none is."""

    rankings: list[JudgedRanking]
    cut: Cut | None


def join_stored(
    run: StoredRun,
    qrels: Sequence[CodedQrels],
    union: CodedQrels,
    *,
    with_ties: bool = False,
    doc_order: Sequence[str] | None = None,
) -> JoinedRun:
    """Return where the docs of each of `qrels`, which have one universe and the same docs, stand in `run`.

    All are read equally deep, see `find_cut`.

    Args:
        run: it is read once, see `StoredRun.rank_pairs`, also for with_ties and doc_order.
        qrels: one or more, the original ones first.
        union: all their pairs, see `all_pairs`.

    Raises:
        JoinError: the run is for another split or collection, see `check_run_fits`.
    """
    ranks = run.rank_pairs(union, with_ties=with_ties, doc_order=doc_order)
    check_run_fits(
        run.run_id,
        union.queries,
        first=ranks.first_pair,
        n_shared=int(np.count_nonzero(ranks.last_rank)),
        has_known_doc=ranks.has_known_doc,
    )
    rankings = [ranks.under(coded, with_ties=with_ties) for coded in qrels]
    cut = find_cut([each.in_order for each in rankings], qrels)
    return JoinedRun([each.to_depth(cut.depth) for each in rankings] if cut else rankings, cut)


def judge_stored(run: StoredRun, coded: CodedQrels) -> JudgedRanking:
    """Return where the docs of the qrels stand in `run`, which fits them, see `join_stored`."""
    return join_stored(run, [coded], coded).rankings[0]
