"""Automatic matchers: pairs suggested because captions are alike; suggestions, never judgments.

A query is matched to the items of captions like its own. On real captions these stand in badly for
people (Rodriguez et al., arXiv 2210.05038: from far too few pairs to one video in ten), so what they
say goes into a pool to be judged, or beside a task as a guess, and carries its matcher's name.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.collections.duplicates import has_text, seen_beside_text
from fire_toolkit.collections.ngrams import NgramIndex, index_texts
from fire_toolkit.collections.similarity import compared_once
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
    index = index_texts(queries["text"].tolist())
    found: list[pd.DataFrame] = []
    n_alike = 0
    for left, right, scores in _alike(index, min_similarity):
        n_alike += len(left)
        if n_alike > MAX_PAIRS:
            raise UsageError(
                f"more than {MAX_PAIRS:,} pairs of captions are alike from {min_similarity:.6f} on; raise it"
            )
        found.append(_items_of(queries, qrels, left, right, scores))
    return _suggestions(found, qrels)


def suggestion_run(suggestions: pd.DataFrame) -> Run:
    """Return suggestions as a run, named after their matcher, that can be pooled like a model's.

    Examples:
        >>> found = pd.DataFrame(
        ...     {"query_id": "q", "doc_id": ["a", "b"], "matcher": "tfidf", "score": [0.9, 1]})
        >>> suggestion_run(found)[["run_id", "doc_id", "rank"]].values.tolist()
        [['tfidf', 'b', 1], ['tfidf', 'a', 2]]
    """
    return rank_run(suggestions[[*PAIR, "score"]].assign(run_id=suggestions["matcher"]))


def _alike(index: NgramIndex, min_similarity: float) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield pairs of different captions with their cosines, each pair both ways."""
    for rows, others, cosines in compared_once(index):
        i, j = np.nonzero(cosines >= min_similarity)
        both = np.concatenate([rows[i], others[j]]), np.concatenate([others[j], rows[i]])
        yield *both, np.tile(cosines[i, j], 2)


def _items_of(queries: Queries, qrels: Qrels, left: Ints, right: Ints, scores: Floats) -> pd.DataFrame:
    """Return the items of the captions `right` for the queries `left`, each pair once, at its best.

    A query's own item is never among them.
    """
    if (seen := seen_beside_text(queries)) is not None:
        same = seen[left] == seen[right]
        left, right, scores = left[same], right[same], scores[same]
    ids = queries["query_id"].to_numpy()
    alike = pd.DataFrame({"query_id": ids[left], "via_query_id": ids[right], "score": scores})
    positives = qrels.loc[qrels["relevance"] >= 1, PAIR]
    pairs = alike.merge(positives.rename(columns={"query_id": "via_query_id"}), on="via_query_id")
    return _best(without_own_pairs(pairs, own_items_of(queries)))


def _best(pairs: pd.DataFrame) -> pd.DataFrame:
    order = ["query_id", "doc_id", "score", "via_query_id"]
    ordered = pairs.sort_values(order, ascending=[True, True, False, True])
    return ordered.drop_duplicates(PAIR)


def _suggestions(found: list[pd.DataFrame], qrels: Qrels) -> pd.DataFrame:
    pairs = (
        _best(pd.concat(found, ignore_index=True)) if found else pd.DataFrame({name: [] for name in _COLUMNS})
    )
    new = pairs[pair_rows(pairs, qrels) < 0].assign(matcher=_MATCHER)
    return new[_COLUMNS].reset_index(drop=True)
