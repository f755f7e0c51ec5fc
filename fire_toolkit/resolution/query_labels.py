"""Judgments and labels of captions shown alone, as tables of queries."""

from __future__ import annotations

import pandas as pd

from fire_toolkit.tables import Judgments, Labels
from fire_toolkit.tables.validity import (
    ALONE,
    QUERY_VALIDITY,
    QueryLabels,
    QueryValidity,
    check_query_labels,
    check_query_validity,
)


def query_labels(labels: Labels, judgments: Judgments) -> QueryLabels:
    """Return one label for each query that a rule labelled.

    Args:
        labels: as `resolve` returns them for pairs of a query and the doc `*`; other pairs are left out.
        judgments: what they rest on, with the flags.

    Returns:
        By query_id; n_votes, n_agree: of `resolve`; flags: those that any annotator set, sorted, each once.
        No labels: no rows.

    Examples:
        >>> from fire_toolkit.tables import check_judgments, check_labels
        >>> labels = check_labels(pd.DataFrame({"query_id": ["q"], "doc_id": "*", "label": "unusable",
        ...     "relevance": 0, "n_judgments": 2, "n_agree": 2}))
        >>> judgments = check_judgments(pd.DataFrame({"query_id": "q", "doc_id": "*", "label": "unusable",
        ...     "annotator_id": ["u", "v"], "flags": ["unclear", "unspecific;unclear"]}))
        >>> query_labels(labels, judgments)
          query_id     label  is_usable  n_votes  n_agree               flags
        0        q  unusable      False        2        2  unclear;unspecific
    """
    own = labels[labels["doc_id"] == ALONE]
    flags = judgments[judgments["doc_id"] == ALONE].groupby("query_id")["flags"].agg(_joined)
    table = pd.DataFrame(
        {
            "query_id": own["query_id"],
            "label": own["label"],
            "is_usable": own["relevance"] >= 1,
            "n_votes": own["n_judgments"],
            "n_agree": own["n_agree"],
            "flags": own["query_id"].map(flags).fillna("").astype("str"),
        }
    )
    return check_query_labels(table.reset_index(drop=True))


def query_validity(judgments: Judgments, *, guideline: str, guideline_sha256: str) -> QueryValidity:
    """Return what each annotator said of each query that was shown alone, with the guideline shown.

    Args:
        judgments: pairs of a query and the doc `*`; others are left out.
        guideline, guideline_sha256: name and hash of what was shown.
    """
    own = judgments[judgments["doc_id"] == ALONE]
    named = own.assign(guideline=guideline, guideline_sha256=guideline_sha256)
    columns = [*QUERY_VALIDITY.names, *(name for name in ("comment", "round") if name in named)]
    return check_query_validity(named[columns].reset_index(drop=True))


def _joined(flags: pd.Series[str]) -> str:
    return ";".join(sorted(set(";".join(flags).split(";")) - {""}))
