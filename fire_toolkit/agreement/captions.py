"""Captions by how much annotators disagree on their pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.agreement.votes import Grades, code_votes
from fire_toolkit.tables import Judgments, first_round


def caption_disagreement(
    judgments: Judgments, *, grades: Grades | None = None, all_rounds: bool = False
) -> pd.DataFrame:
    """Return for each caption how many of its pairs annotators disagree on, the most first.

    Args:
        judgments, grades, all_rounds: as in `krippendorff_alpha`.

    Returns:
        Columns query_id, n_pairs (with a vote), n_pairable (with two or more), n_split (of these, with more
        than one label), disagreement (the share of disagreeing pairs of votes on a pair, averaged over the
        pairable ones). One row for each caption with a pairable pair, by n_split and disagreement, both
        falling, then id; none: no rows.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": list("ppqqq"), "doc_id": list("aaaab"), "annotator_id": list("uvuvu"),
        ...     "label": list("11101")}))
        >>> caption_disagreement(judgments)
          query_id  n_pairs  n_pairable  n_split  disagreement
        0        q        2           1        1           1.0
        1        p        1           1        0           0.0
    """
    judgments = judgments if all_rounds else first_round(judgments)
    votes = code_votes(judgments, grades=grades, cluster="query_id")
    names = np.asarray(pd.factorize(judgments["query_id"])[1], dtype=object)
    assert votes.clusters is not None
    caption, counts = votes.clusters, votes.all_counts
    n = counts.sum(axis=1)
    apart = 1 - (counts * (counts - 1)).sum(axis=1) / np.maximum(n * (n - 1), 1)
    shares = np.bincount(caption, np.where(n >= 2, apart, 0.0), minlength=len(names))
    n_pairable = np.bincount(caption[n >= 2], minlength=len(names))
    is_split = (n >= 2) & (counts.max(axis=1, initial=0) < n)
    columns: dict[str, Any] = {
        "query_id": pd.array(names, dtype="str"),
        "n_pairs": np.bincount(caption, minlength=len(names)),
        "n_pairable": n_pairable,
        "n_split": np.bincount(caption[is_split], minlength=len(names)),
        "disagreement": shares / np.maximum(n_pairable, 1),
    }
    table = pd.DataFrame(columns)[n_pairable > 0]
    order = ["n_split", "disagreement", "query_id"]
    return table.sort_values(order, ascending=[False, False, True], ignore_index=True)
