"""What another rule would have made of the same judgments."""

from __future__ import annotations

import pandas as pd

from fire_toolkit.tables import Labels

DISPUTE = "[dispute]"


def label_changes(before: Labels, after: Labels) -> pd.DataFrame:
    """Return how many pairs went from which label to which, between two rules on the same judgments.

    Args:
        before, after: labels of the two rules; a pair that only one of them has is a dispute of the other.

    Returns:
        Columns label_before, label_after (a label, or `[dispute]`), n_pairs; one row for each combination
        that occurs, unchanged ones included, by label_before and label_after. Pairs that both rules leave
        in dispute are not counted. No labels: no rows.

    Examples:
        >>> from fire_toolkit.resolution import resolve
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": list("aaab"), "annotator_id": list("uvwu"),
        ...     "label": list("1011")}))
        >>> fire, _ = resolve(judgments, grades={"0": 0, "1": 1})
        >>> unanimous, _ = resolve(judgments, grades={"0": 0, "1": 1}, rule="unanimous")
        >>> label_changes(fire, unanimous)
          label_before label_after  n_pairs
        0            1           1        1
        1            1   [dispute]        1
    """
    key = ["query_id", "doc_id"]
    both = before[[*key, "label"]].merge(
        after[[*key, "label"]], on=key, how="outer", suffixes=("_before", "_after")
    )
    columns = ["label_before", "label_after"]
    counted = both[columns].fillna(DISPUTE).value_counts(sort=False).sort_index()
    return counted.rename("n_pairs").reset_index()
