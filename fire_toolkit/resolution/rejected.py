"""Original positives that annotators call not relevant: a queue of their own."""

from __future__ import annotations

import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.tables import Labels, Pool, Qrels, check_pool
from fire_toolkit.tables.columns import PAIR


def rejected_originals(labels: Labels, original: Qrels, *, round: int) -> Pool:  # noqa: A002
    """Return the original positives whose label is not positive, as a pool to be asked again.

    Neither side is to be believed yet: an original positive was somebody's caption of this very item, and
    a label is often one annotator's (in the FIRE paper's data 23.6% of judged originals were rejected, by
    single annotators).

    Args:
        labels: of a rule.
        original: the benchmark's qrels; positive from 1.
        round: of the pool, 1 or more.

    Returns:
        A Pool, is_original true, best_rank and n_runs missing; empty when none is rejected.

    Raises:
        UsageError: `round` is below 1.

    Examples:
        >>> from fire_toolkit.tables import check_labels, check_qrels
        >>> original = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "relevance": 1}))
        >>> labels = check_labels(pd.DataFrame(
        ...     {"query_id": "q", "doc_id": ["b", "c"], "label": "no", "relevance": 0}))
        >>> rejected_originals(labels, original, round=2)[["doc_id", "is_original", "round"]]
          doc_id  is_original  round
        0      b         True      2
    """
    if round < 1:
        raise UsageError(f"round is {round}; expected 1 or more")
    positives = original.loc[original["relevance"] >= 1, PAIR]
    negative = labels.loc[labels["relevance"] < 1, PAIR]
    return check_pool(pd.DataFrame(negative.merge(positives, on=PAIR)).assign(is_original=True, round=round))
