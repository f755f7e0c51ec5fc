"""What can be said of each annotator: votes, time, and agreement with peers on the same pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.agreement.votes import Grades, Votes, code_votes
from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.tables import Judgments, first_round


def annotator_profiles(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    min_pairs: int = 10,
    all_rounds: bool = False,
) -> pd.DataFrame:
    """Return one row of numbers for each annotator, to look into, not to drop anyone by.

    Args:
        judgments, grades, all_rounds: as in `agreement`.
        min_pairs: what rests on fewer pairs is nan; 1 or more.

    Returns:
        By annotator_id; columns n_votes, n_without_vote (answers that are not votes), positive_rate (of the
        votes; positive from grade 1); n_shared (pairs that others voted on too), shared_positive_rate
        and peer_positive_rate (on these pairs, own and others'), peer_agreement (the chance that another's
        vote on such a pair is the same); duration_s_q50. No judgments: no rows.

    Raises:
        UsageError: min_pairs out of range; otherwise as `agreement`.
        TableError: as `agreement`.

    Examples:
        >>> from fire_toolkit.tables import check_judgments, first_round
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": [d for d in "abcd" for _ in "uv"],
        ...     "annotator_id": ["u", "v"] * 4, "label": list("11" "10" "00" "01")}))
        >>> profiles = annotator_profiles(judgments, min_pairs=4)
        >>> profiles[["annotator_id", "n_shared", "peer_positive_rate", "peer_agreement"]]
          annotator_id  n_shared  peer_positive_rate  peer_agreement
        0            u         4                 0.5             0.5
        1            v         4                 0.5             0.5
    """
    if min_pairs < 1:
        raise UsageError(f"min_pairs is {min_pairs}; expected 1 or more")
    judgments = judgments if all_rounds else first_round(judgments)
    votes = code_votes(judgments, grades=grades)
    names = pd.factorize(judgments["annotator_id"])[1]
    columns: dict[str, Any] = {"annotator_id": np.asarray(names, dtype=object)}
    columns |= _own(votes, len(names))
    columns |= _beside_peers(votes, len(names), min_pairs)
    durations = judgments["duration_s"].groupby(votes.annotator).median().reindex(range(len(names)))
    columns["duration_s_q50"] = durations.to_numpy(dtype=np.float64)
    profiles = pd.DataFrame(columns).astype({"annotator_id": "str"})
    return profiles.sort_values("annotator_id", ignore_index=True)


def _means(values: Floats, annotator: Ints, n_annotators: int, at_least: int = 1) -> Floats:
    n = np.bincount(annotator, minlength=n_annotators)
    total = np.bincount(annotator, values, minlength=n_annotators)
    return np.asarray(np.where(n >= at_least, total / np.maximum(n, 1), np.nan))


def _is_positive(votes: Votes) -> Floats:
    """Return 1 for each label that is positive, 0 for the others, nan for those without a grade."""
    positive = (votes.grades >= 1).astype(np.float64)
    return np.asarray(np.where(np.isnan(votes.grades), np.nan, positive), dtype=np.float64)


def _own(votes: Votes, n_annotators: int) -> dict[str, Any]:
    voted = votes.value >= 0
    positive = _is_positive(votes)[votes.value[voted]]
    return {
        "n_votes": np.bincount(votes.annotator[voted], minlength=n_annotators),
        "n_without_vote": np.bincount(votes.annotator[~voted], minlength=n_annotators),
        "positive_rate": _means(positive, votes.annotator[voted], n_annotators),
    }


def _beside_peers(votes: Votes, n_annotators: int, min_pairs: int) -> dict[str, Any]:
    pairable = votes.units[votes.is_pairable]
    rows = np.flatnonzero((votes.value >= 0) & np.isin(votes.unit, pairable))
    counts = votes.counts[np.searchsorted(pairable, votes.unit[rows])]
    value, annotator = votes.value[rows], votes.annotator[rows]
    n_peers = counts.sum(axis=1) - 1
    positive = _is_positive(votes)
    own = positive[value]
    others = (counts @ positive - own) / n_peers
    agreeing = (counts[np.arange(len(rows)), value] - 1) / n_peers
    return {
        "n_shared": np.bincount(annotator, minlength=n_annotators),
        "shared_positive_rate": _means(own, annotator, n_annotators, min_pairs),
        "peer_positive_rate": _means(others, annotator, n_annotators, min_pairs),
        "peer_agreement": _means(agreeing, annotator, n_annotators, min_pairs),
    }
