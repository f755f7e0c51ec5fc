"""What a judge finds odd in people's work: labels to look at again, and queries without a sure answer.

Suggestions, and no more: a judge may be wrong, and its doubts are no sample. Answers to what it doubts are of
kind `recheck`, which no rate of errors counts.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.tables import Labels, Qrels
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.validity import ALONE

DOUBTS = [*PAIR, "label", "relevance", "score", "doubt"]
QUERIES = ["query_id", "doc_id", "score", "best_score"]


def doubtful_labels(labels: Labels, scores: pd.DataFrame, *, least: float = 0.9) -> pd.DataFrame:
    """Return people's labels that a judge considers wrong, the most doubtful first.

    Args:
        labels: one relevance a judged pair.
        scores: query_id, doc_id and score, P(yes) from 0 to 1.
        least: the doubt from which on a label is returned, above .5 and up to 1. The doubt in a positive
            label is 1 − P(yes), in another one P(yes).

    Returns:
        Columns query_id, doc_id, label, relevance, score, doubt; ties by query_id and doc_id. Pairs without
        a score are not doubted.

    Raises:
        UsageError: `least` out of range, or scores that are no probabilities.

    Examples:
        >>> from fire_toolkit.tables import check_labels
        >>> labels = check_labels(pd.DataFrame({
        ...     "query_id": "q", "doc_id": list("abc"), "label": "x", "relevance": [1, 0, 1]}))
        >>> scores = pd.DataFrame({"query_id": "q", "doc_id": list("abc"), "score": [0.97, 0.95, 0.01]})
        >>> doubtful_labels(labels, scores)[["doc_id", "relevance", "doubt"]]
          doc_id  relevance  doubt
        0      c          1   0.99
        1      b          0   0.95
    """
    if not 0.5 < least <= 1:
        raise UsageError(f"least doubt {least:g}, expected a number above 0.5 and up to 1")
    _check_probabilities(scores)
    pairs = labels[[*PAIR, "label", "relevance"]].merge(scores[[*PAIR, "score"]], on=PAIR)
    pairs["doubt"] = np.where(pairs["relevance"] >= 1, 1 - pairs["score"], pairs["score"])
    found = pairs[pairs["doubt"] >= least].sort_values(["doubt", *PAIR], ascending=[False, True, True])
    return found.reset_index(drop=True)[DOUBTS]


def doubtful_queries(original: Qrels | None, scores: pd.DataFrame, *, most: float = 0.1) -> pd.DataFrame:
    """Return queries whose own positives a judge considers wrong: their caption may not fit, or say nothing.

    Args:
        original: the benchmark's qrels; None where no pair was judged, but captions alone.
        scores: as in `doubtful_labels`; or of captions that the judge saw alone (doc `*`).
        most: a query is returned where no original positive, or the caption alone, has a score above this.

    Returns:
        Columns query_id, doc_id (its original positive of the highest score, or `*`), score, best_score (of
        any doc that the judge scored for it); by score, then query_id. Queries without a scored positive
        are left out.

    Raises:
        UsageError: scores that are no probabilities.
    """
    _check_probabilities(scores)
    own = scores.loc[scores["doc_id"] == ALONE, [*PAIR, "score"]]
    if original is not None:
        pairs = original.loc[original["relevance"] >= 1, PAIR]
        own = pd.concat([own, pairs.merge(scores[[*PAIR, "score"]], on=PAIR)])
    best = scores.groupby("query_id")["score"].max().rename("best_score")
    first = own.sort_values(["score", "doc_id"], ascending=[False, True]).drop_duplicates("query_id")
    found = first[first["score"] <= most].join(best, on="query_id").sort_values(["score", "query_id"])
    return found.reset_index(drop=True)[QUERIES]


def _check_probabilities(scores: pd.DataFrame) -> None:
    known = scores["score"].dropna()
    if not known.between(0, 1).all():
        raise UsageError(
            f"scores lie between {known.min():g} and {known.max():g}; doubts need probabilities, from 0 to 1"
        )
