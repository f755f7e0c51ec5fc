"""Original and augmented labels read a run equally deep; the one place where it is decided how deep.

A run kept from a matrix holds its top, and below it the original positives at their exact ranks. Where
other labels have positives that lie in none of its lists, their ranks are not known. Counting the original
positives below the top and not these would take from every gain, so none below the top counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fire_toolkit.arrays import find_pairs
from fire_toolkit.matching.coded import CodedQrels, each_once
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ranking import run_depth


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
