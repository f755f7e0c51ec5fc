"""What another rule would have made of the same judgments."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fire_toolkit.resolution.majority import majority
from fire_toolkit.resolution.vote_table import Grades, count_votes
from fire_toolkit.tables import Judgments, Labels
from fire_toolkit.tables.columns import pair_rows


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
