"""Automatic matchers: pairs suggested because captions are alike; suggestions, never judgments.

A query is matched to the items of captions like its own. On real captions these stand in badly for
people (Rodriguez et al., arXiv 2210.05038: from far too few pairs to one video in ten), so what they
say goes into a pool to be judged, or beside a task as a guess, and carries its matcher's name.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from fire_toolkit.collections.duplicates import has_text, seen_beside_text
from fire_toolkit.collections.similarity import index_texts, similar_pairs
from fire_toolkit.errors import UsageError
from fire_toolkit.matching.own_items import own_items_of, without_own_pairs
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.tables import Qrels, Queries, Run
from fire_toolkit.tables.columns import PAIR, pair_rows

MAX_PAIRS = 20_000_000
_MATCHER = "tfidf"
_COLUMNS = ["query_id", "doc_id", "matcher", "score", "via_query_id"]


def match_by_similarity(queries: Queries, qrels: Qrels, *, min_similarity: float) -> pd.DataFrame:
    """Return pairs of queries with the items of similar captions.

    Args:
        queries: the captions; those without text match nothing, and captions that go with something seen
            (media_url, reference) match only captions of the same.
        qrels: original positives; a caption stands for each of its positives.
        min_similarity: the character TF-IDF cosine from which captions are alike, in (0, 1].

    Returns:
        Columns query_id, doc_id, matcher (`tfidf`), score (the highest cosine of the query with a caption
        of the item), via_query_id (that caption; of equals the first), by query_id and doc_id. Pairs
        that the qrels hold are left out. Similarity blocks keep memory to the pairs suggested.

    Raises:
        UsageError: a similarity out of range, or more than 20 million captions alike.
    """
    if not 0 < min_similarity <= 1:
        raise UsageError(f"similarity {min_similarity}, expected above 0 and at most 1")
    queries = Queries(queries[has_text(queries)])
    ids, seen, own_items = queries["query_id"].to_numpy(), seen_beside_text(queries), own_items_of(queries)
    positives = qrels.loc[qrels["relevance"] >= 1, PAIR].rename(columns={"query_id": "via_query_id"})
    found = [pd.DataFrame(columns=_COLUMNS, dtype="str").astype({"score": float})]
    n_alike = 0
    for one, other, cosines in similar_pairs(
        index_texts(queries["text"].tolist()), min_similarity=min_similarity
    ):
        n_alike += 2 * len(one)
        if n_alike > MAX_PAIRS:
            raise UsageError(
                f"more than {MAX_PAIRS:,} pairs of captions are alike from {min_similarity:.6f} on; raise it"
            )
        left, right, scores = np.r_[one, other], np.r_[other, one], np.tile(cosines, 2)
        alike = pd.DataFrame({"query_id": ids[left], "via_query_id": ids[right], "score": scores})
        beside_same = alike if seen is None else alike[seen[left] == seen[right]]
        pairs = beside_same.merge(positives, on="via_query_id")
        found.append(_best(without_own_pairs(pairs, own_items)))
    pairs = _best(pd.concat(found, ignore_index=True))
    return pairs[pair_rows(pairs, qrels) < 0].assign(matcher=_MATCHER)[_COLUMNS].reset_index(drop=True)


def _best(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return each pair once, by the caption that is most like the query's."""
    order = ["query_id", "doc_id", "score", "via_query_id"]
    return pairs.sort_values(order, ascending=[True, True, False, True]).drop_duplicates(PAIR)


def suggestion_run(suggestions: pd.DataFrame) -> Run:
    """Return suggestions as a run, named after their matcher, that can be pooled like a model's.

    Examples:
        >>> found = pd.DataFrame(
        ...     {"query_id": "q", "doc_id": ["a", "b"], "matcher": "tfidf", "score": [0.9, 1]})
        >>> suggestion_run(found)[["run_id", "doc_id", "rank"]].values.tolist()
        [['tfidf', 'b', 1], ['tfidf', 'a', 2]]
    """
    return rank_run(suggestions[[*PAIR, "score"]].assign(run_id=suggestions["matcher"]))
