"""What each annotator does: alpha without them, and votes, time and agreement beside their peers'."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fire_toolkit.agreement.alpha import alphas, grade_counts, grade_labels, total_coincidences
from fire_toolkit.agreement.statistic import NO_PAIR
from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.resolution.votes import INCLUSION, Grades, Votes, code_votes
from fire_toolkit.tables import Judgments, first_round

ONE_VALUE = "without this annotator every judgment on pairs with two judgments says the same"


def leave_one_out(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str | None = None,
    inclusion: str | None = INCLUSION,
    all_rounds: bool = False,
) -> pd.DataFrame:
    """Return Krippendorff's alpha without each annotator in turn.

    Args:
        judgments, grades, level, inclusion, all_rounds: as in `agreement`; so are the errors.

    Returns:
        Columns annotator_id, n_votes (of the annotator), n_pairable (pairs with two votes that remain),
        value (alpha without the annotator), change (value − alpha of all: above 0, the annotator lowers
        agreement), note (why the value is nan; the change is nan too when alpha of all is undefined).
        One row for each annotator, by id; no judgments: no rows.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": [d for d in "abcd" for _ in "uvw"],
        ...     "annotator_id": ["u", "v", "w"] * 4, "label": list("110" "111" "000" "001")}))
        >>> leave_one_out(judgments)[["annotator_id", "value", "change"]].round(3)
          annotator_id  value  change
        0            u  0.125  -0.264
        1            v  0.125  -0.264
        2            w  1.000   0.611
    """
    judgments = judgments if all_rounds else first_round(judgments)
    votes = code_votes(judgments, grades=grades, level=level, inclusion=inclusion)
    counts, domain = grade_counts(votes.by_label, votes)
    weight, place = votes.weights * votes.is_pairable, grade_labels(votes)[0]
    whole, rows = total_coincidences(counts, weight), _shared_rows(votes)
    own_rows = rows[np.argsort(votes.annotator[rows], kind="stable")]
    n_own, matrices, n_pairable = _count(votes, rows), [], []
    for own in np.split(own_rows, np.cumsum(n_own)[:-1]) if len(n_own) else []:
        before, weights = counts[votes.pair[own]], weight[votes.pair[own]]
        after = before - np.eye(len(domain), dtype=np.int64)[place[votes.label[own]]]
        left = whole - total_coincidences(before, weights) + total_coincidences(after, weights)
        is_lost = before.sum(axis=1) == 2
        n_pairable.append(int(votes.is_pairable.sum() - is_lost.sum()))
        mean = (weight.sum() - weights[is_lost].sum()) / max(n_pairable[-1], 1)  # weights are to have mean 1
        matrices.append(np.where(np.abs(left) < 1e-9, 0.0, left) / (mean or 1.0))
    value = alphas(np.array(matrices).reshape(len(matrices), *whole.shape), domain, votes.level)
    notes = [
        "" if value == value else NO_PAIR if not n else ONE_VALUE
        for value, n in zip(value, n_pairable, strict=True)
    ]
    columns = {
        "annotator_id": pd.array(votes.annotators, dtype="str"),
        "n_votes": _count(votes, votes.voting),
        "n_pairable": np.array(n_pairable, dtype=np.int64),
        "value": value,
        "change": value - alphas(whole[None], domain, votes.level),
        "note": pd.array(notes, dtype="str"),
    }
    return pd.DataFrame(columns)


def annotator_profiles(
    judgments: Judgments, *, grades: Grades | None = None, min_pairs: int = 10, all_rounds: bool = False
) -> pd.DataFrame:
    """Return one row of numbers for each annotator, to look into, not to drop anyone by.

    Args:
        judgments, grades, all_rounds: as in `agreement`; so are the errors.
        min_pairs: what rests on fewer pairs is nan; 1 or more.

    Returns:
        By annotator_id; columns n_votes, n_without_vote (answers that are not votes), positive_rate (of the
        votes; positive from grade 1); n_shared (pairs that others voted on too), shared_positive_rate
        and peer_positive_rate (on these pairs, own and others'), peer_agreement (the chance that another's
        vote on such a pair is the same); duration_s_q50. No judgments: no rows.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
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
    votes = code_votes(judgments, grades=grades, level="nominal")
    positive = np.where(np.isnan(votes.grades), np.nan, votes.grades >= 1)
    rows = _shared_rows(votes)
    label, counts = votes.label[rows], votes.by_label[votes.pair[rows]]
    n_peers = counts.sum(axis=1) - 1
    others = (counts @ positive - positive[label]) / n_peers
    agreeing = (counts[np.arange(len(rows)), label] - 1) / n_peers
    seconds = judgments["duration_s"].groupby(votes.annotator).median()
    columns = {
        "annotator_id": pd.array(votes.annotators, dtype="str"),
        "n_votes": _count(votes, votes.voting),
        "n_without_vote": _count(votes, np.flatnonzero(votes.label < 0)),
        "positive_rate": _means(votes, votes.voting, positive[votes.label[votes.voting]], 1),
        "n_shared": _count(votes, rows),
        "shared_positive_rate": _means(votes, rows, positive[label], min_pairs),
        "peer_positive_rate": _means(votes, rows, others, min_pairs),
        "peer_agreement": _means(votes, rows, agreeing, min_pairs),
        "duration_s_q50": seconds.reindex(range(len(votes.annotators))).to_numpy(dtype=np.float64),
    }
    return pd.DataFrame(columns)


def _shared_rows(votes: Votes) -> Ints:
    """Return the rows of the votes on pairs with two votes or more."""
    return np.asarray(votes.voting[votes.is_pairable[votes.pair[votes.voting]]])


def _count(votes: Votes, rows: Ints) -> Ints:
    """Return how many of the rows are each annotator's."""
    return np.bincount(votes.annotator[rows], minlength=len(votes.annotators)).astype(np.int64)


def _means(votes: Votes, rows: Ints, values: Floats, at_least: int) -> Floats:
    """Return the mean of each annotator's values, one for each row; nan where they are too few."""
    n = _count(votes, rows)
    total = np.bincount(votes.annotator[rows], values, minlength=len(n))
    return np.asarray(np.where(n >= at_least, total / np.maximum(n, 1), np.nan))
