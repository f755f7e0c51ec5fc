"""Pairs that somebody escalated or flagged: for a person to look at, whatever the votes say."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fire_toolkit.resolution.vote_table import Grades
from fire_toolkit.tables import Judgments, Labels
from fire_toolkit.tables.columns import PAIR

COLUMNS = [*PAIR, "n_escalated", "n_flagged", "flags", "comments", "label"]


def flagged_pairs(judgments: Judgments, labels: Labels, *, grades: Grades) -> pd.DataFrame:
    """Return the pairs with an answer that is not a vote, or with a flag (sensitive, say).

    Args:
        judgments: one row for each annotator and pair; flags are joined by `;`.
        labels: of a rule; a pair may have a label by the votes of others, and is listed all the same.
        grades: label → grade; None as a grade says that an answer is not a vote.

    Returns:
        Columns query_id, doc_id, n_escalated (answers that are not votes), n_flagged (answers with a flag),
        flags (all of them, sorted, each once) and comments (joined by ` | `), both of these answers, and
        label (empty in a dispute); by query_id and doc_id. None: no rows.

    Examples:
        >>> from fire_toolkit.tables import check_judgments, check_labels
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": list("aab"), "annotator_id": list("uvu"),
        ...     "label": ["1", "?", "1"], "flags": ["", "", "sensitive"]}))
        >>> labels = check_labels(pd.DataFrame({
        ...     "query_id": "q", "doc_id": list("ab"), "label": "1", "relevance": 1}))
        >>> table = flagged_pairs(judgments, labels, grades={"0": 0, "1": 1, "?": None})
        >>> table[["doc_id", "n_escalated", "flags", "label"]].values.tolist()
        [['a', 1, '', '1'], ['b', 0, 'sensitive', '1']]
    """
    no_votes = [label for label, grade in grades.items() if grade is None]
    is_escalated = judgments["label"].isin(no_votes)
    is_flagged = judgments["flags"] != ""
    marked = judgments[is_escalated | is_flagged].assign(n_escalated=is_escalated, n_flagged=is_flagged)
    by_pair = marked.groupby(PAIR, sort=True)
    pairs = by_pair[["n_escalated", "n_flagged"]].sum().astype(np.int64)
    flags = by_pair["flags"].agg(lambda values: ";".join(sorted(set(";".join(values).split(";")) - {""})))
    comments = by_pair["comment"].agg(lambda values: " | ".join(value for value in values if value))
    listed = pairs.assign(flags=flags.astype("str"), comments=comments.astype("str")).reset_index()
    named = listed.merge(labels[[*PAIR, "label"]], on=PAIR, how="left")
    return named.assign(label=named["label"].fillna(""))[COLUMNS]
