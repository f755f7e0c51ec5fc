"""A matrix of scores joined with qrels: the ranks of the judged docs, counted, without sorting anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.errors import JoinError
from fire_toolkit.measures.coded import CodedQrels
from fire_toolkit.measures.judged_ranking import JudgedRanking
from fire_toolkit.ranking import ranks_in_rows


def judge_matrix(
    scores: npt.NDArray[Any],
    coded: CodedQrels,
    *,
    query_ids: Sequence[str],
    doc_ids: Sequence[str],
    depth: int | None = None,
) -> JudgedRanking:
    """Return where the docs of the qrels stand when each row of `scores` is ranked by the one rule.

    Equal to `judge_run` of the run that `rank_run` makes of all cells, or of its top `depth`.

    Args:
        scores: (len(query_ids), len(doc_ids)) floats, finite.
        coded: the qrels; queries that the matrix lacks have an empty ranking, its others are counted.
        query_ids, doc_ids: of the rows and columns, each once.
        depth: ranks below it count as not retrieved; None keeps all.

    Raises:
        JoinError: the shape does not fit the ids, an id stands twice, or a score is not finite.

    Examples:
        >>> from fire_toolkit.measures.coded import code_qrels
        >>> from fire_toolkit.tables import check_qrels
        >>> qrels = check_qrels(pd.DataFrame({"query_id": ["q"], "doc_id": ["b"], "relevance": [1]}))
        >>> scores = np.array([[0.7, 0.5, 0.5]])
        >>> judge_matrix(scores, code_qrels(qrels), query_ids=["q"], doc_ids=["a", "b", "c"]).first_positive
        array([3.])
    """
    rows, docs = pd.Index(list(query_ids), dtype="str"), pd.Index(list(doc_ids), dtype="str")
    _check(scores, rows, docs)
    tie_codes = np.empty(len(docs), dtype=np.int64)
    tie_codes[np.argsort(docs.to_numpy(dtype=object), kind="stable")] = np.arange(len(docs))
    to_row, to_column = rows.get_indexer(coded.queries), docs.get_indexer(coded.docs)
    row, column = to_row[coded.query], to_column[coded.doc]
    place = np.flatnonzero((row >= 0) & (column >= 0))
    rank = ranks_in_rows(scores, row[place], column[place], tie_codes)[0]
    deepest = len(docs) if depth is None else min(depth, len(docs))
    if depth is not None:
        place, rank = place[rank <= depth], rank[rank <= depth]
    order = np.lexsort((rank, coded.query[place]))
    place = place[order]
    n_retrieved = np.where(to_row >= 0, deepest, 0)
    return JudgedRanking(
        query=coded.query[place],
        rank=rank[order].astype(np.float64),
        relevance=coded.relevance[place],
        n_retrieved=n_retrieved,
        ideal_query=coded.ideal[0],
        ideal_grade=coded.ideal[1],
        n_nonrelevant=coded.n_nonrelevant,
        worst_rank=int(n_retrieved.max(initial=0)) + 1,
        n_contiguous=n_retrieved,
        strata=coded.strata_at(place),
        n_extra_queries=len(rows) - int(np.count_nonzero(to_row >= 0)),
    )


def _check(scores: npt.NDArray[Any], rows: pd.Index[str], docs: pd.Index[str]) -> None:
    if scores.shape != (len(rows), len(docs)):
        raise JoinError(
            f"scores of shape {scores.shape}, expected ({len(rows)}, {len(docs)}): a row for each query id, "
            "a column for each doc id"
        )
    for name, ids in (("query", rows), ("doc", docs)):
        if not ids.is_unique:
            raise JoinError(f"{name} id {ids[ids.duplicated()][0]!r} is given twice; expected each once")
    if scores.dtype.kind != "f" or not np.isfinite(scores.sum(dtype=np.float64) if scores.size else 0.0):
        raise JoinError("scores that are NaN or infinite, or no floats; expected finite numbers")
