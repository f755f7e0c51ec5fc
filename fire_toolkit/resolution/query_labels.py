"""Judgments and labels of captions shown alone, as tables of queries."""

from __future__ import annotations

from fire_toolkit.tables import Judgments, Labels
from fire_toolkit.tables.validity import (
    ALONE,
    QUERY_VALIDITY,
    QueryLabels,
    QueryValidity,
    check_query_labels,
    check_query_validity,
)


def label_queries(
    labels: Labels, judgments: Judgments, *, guideline: str, guideline_sha256: str
) -> tuple[QueryLabels, QueryValidity]:
    """Return one label for each query that a rule labelled, and what each annotator said of each query.

    Args:
        labels: as `resolve` returns them for pairs of a query and the doc `*`; other pairs are left out.
        judgments: what they rest on, with the flags.
        guideline, guideline_sha256: name and hash of what was shown.

    Returns:
        QueryLabels by query_id; n_votes, n_agree: of `resolve`; flags: those that any annotator set, sorted,
        each once. No labels: no rows. QueryValidity, with the guideline shown.

    Examples:
        >>> import pandas as pd
        >>> from fire_toolkit.tables import check_judgments, check_labels
        >>> labels = check_labels(pd.DataFrame({"query_id": ["q"], "doc_id": "*", "label": "unusable",
        ...     "relevance": 0, "n_judgments": 2, "n_agree": 2}))
        >>> judgments = check_judgments(pd.DataFrame({"query_id": "q", "doc_id": "*", "label": "unusable",
        ...     "annotator_id": ["u", "v"], "flags": ["unclear", "unspecific;unclear"]}))
        >>> label_queries(labels, judgments, guideline="usable-v1", guideline_sha256="0" * 64)[0]
          query_id     label  is_usable  n_votes  n_agree               flags
        0        q  unusable      False        2        2  unclear;unspecific
    """
    own, said = (each[each["doc_id"] == ALONE].reset_index(drop=True) for each in (labels, judgments))
    flags = (
        said["flags"]
        .groupby(said["query_id"])
        .agg(lambda given: ";".join(sorted({*";".join(given).split(";")} - {""})))
    )
    found = own[["query_id", "label"]].assign(
        is_usable=own["relevance"] >= 1,
        n_votes=own["n_judgments"],
        n_agree=own["n_agree"],
        flags=own["query_id"].map(flags).fillna("").astype("str"),
    )
    shown = said.assign(guideline=guideline, guideline_sha256=guideline_sha256)
    names = [*QUERY_VALIDITY.names, *(name for name in ("comment", "round") if name in shown)]
    return check_query_labels(found), check_query_validity(shown[names])
