"""Labels that a machine judge considers wrong: suggestions, and no more."""

from __future__ import annotations

import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.tables import Labels
from fire_toolkit.tables.columns import PAIR

LEAST_DOUBT = 0.9


def doubted_labels(labels: Labels, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs whose label a judge considers wrong, the most doubtful first.

    A judge may be wrong, and its doubts are no sample. The doubt in a positive label is 1 − P(yes), in
    another one P(yes); pairs without a score are not doubted.

    Args:
        labels: people's.
        scores: query_id, doc_id and score, from 0 to 1.

    Raises:
        UsageError: scores that are no probabilities.

    Examples:
        >>> from fire_toolkit.tables import check_labels
        >>> labels = check_labels(
        ...     pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "label": "x", "relevance": [1, 0]}))
        >>> doubted_labels(labels, labels[PAIR].assign(score=[0.05, 0.2]))["doc_id"].tolist()
        ['a']
    """
    known = scores["score"].dropna()
    if not known.between(0, 1).all():
        raise UsageError(
            f"scores lie between {known.min():g} and {known.max():g}; doubts need probabilities, from 0 to 1"
        )
    pairs = labels[[*PAIR, "relevance"]].merge(scores, on=PAIR)
    pairs["doubt"] = pairs["score"].mask(pairs["relevance"] >= 1, 1 - pairs["score"])
    found = pairs[pairs["doubt"] >= LEAST_DOUBT].sort_values(["doubt", *PAIR], ascending=[False, True, True])
    return found[PAIR].reset_index(drop=True)
