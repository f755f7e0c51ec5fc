"""What a judge finds odd in people's work: labels to look at again.

Suggestions, and no more: a judge may be wrong, and its doubts are no sample. Answers to what it doubts are of
kind `recheck`, which no rate of errors counts.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.tables import Labels
from fire_toolkit.tables.columns import PAIR

DOUBTS = [*PAIR, "label", "relevance", "score", "doubt"]


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


def _check_probabilities(scores: pd.DataFrame) -> None:
    known = scores["score"].dropna()
    if not known.between(0, 1).all():
        raise UsageError(
            f"scores lie between {known.min():g} and {known.max():g}; doubts need probabilities, from 0 to 1"
        )
