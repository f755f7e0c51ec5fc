"""What another rule would have made of the same judgments."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fire_toolkit.resolution.majority import majority
from fire_toolkit.resolution.vote_table import Grades, count_votes
from fire_toolkit.tables import Judgments, Labels
from fire_toolkit.tables.columns import PAIR, pair_rows

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
    both = before[[*PAIR, "label"]].merge(
        after[[*PAIR, "label"]], on=PAIR, how="outer", suffixes=("_before", "_after")
    )
    columns = ["label_before", "label_after"]
    counted = both[columns].fillna(DISPUTE).value_counts(sort=False).sort_index()
    return counted.rename("n_pairs").reset_index()


def against_majority(judgments: Judgments, labels: Labels, *, grades: Grades) -> dict[str, int]:
    """Return how many pairs a rule's labels treat otherwise than a plain majority would.

    Args:
        judgments: what the labels were made of.
        labels: of the rule.
        grades: label → relevance.

    Returns:
        same: pairs with the same label; other: with another label; gained: with a label where majority
        has a dispute; lost: in dispute where majority has a label.
    """
    votes = count_votes(judgments, grades=grades)
    before = majority(votes).label
    rows = pair_rows(votes.pairs, labels)
    place = {label: code for code, label in enumerate(votes.labels)}
    codes, found = pd.factorize(labels["label"])
    own = np.array([place.get(label, len(place)) for label in found] + [-1])[np.append(codes, -1)]
    after = own[rows]
    return {
        "same": int(((before == after) & (after >= 0)).sum()),
        "other": int(((before != after) & (before >= 0) & (after >= 0)).sum()),
        "gained": int(((before < 0) & (after >= 0)).sum()),
        "lost": int(((before >= 0) & (after < 0)).sum()),
    }
