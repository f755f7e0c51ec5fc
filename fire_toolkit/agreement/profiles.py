"""What can be said of each annotator: beside peers on the same pairs, on controls, in time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.agreement.specific import NO_GRADE
from fire_toolkit.agreement.times import answer_times
from fire_toolkit.agreement.votes import Grades, Votes, code_votes
from fire_toolkit.arrays import Floats, Ints, wilson_interval
from fire_toolkit.errors import UsageError
from fire_toolkit.tables import Judgments, first_round
from fire_toolkit.tables.columns import rows_of_controls


def annotator_profiles(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    controls: pd.DataFrame | None = None,
    min_pairs: int = 10,
    confidence: float = 0.95,
    all_rounds: bool = False,
) -> pd.DataFrame:
    """Return one row of numbers for each annotator, to look into, not to drop anyone by.

    Args:
        judgments, grades, all_rounds: as in `krippendorff_alpha`.
        controls: columns query_id, doc_id, label: pairs whose label is known.
        min_pairs: what rests on fewer pairs is nan, and the note says so; 1 or more.
        confidence: of the interval of control accuracy, strictly between 0 and 1.

    Returns:
        By annotator_id; columns n_votes, n_without_vote (answers that are not votes), positive_rate (of the
        votes; positive from grade 1); n_shared (pairs that others voted on too), shared_positive_rate
        and peer_positive_rate (on these pairs, own and others'), peer_agreement (the chance that another's
        vote on such a pair is the same), drift (peer_agreement on the later half of them, by created_at,
        less that on the earlier half); n_controls, control_accuracy, control_low, control_high (Wilson's
        interval, 1927); duration_s_q10, duration_s_q50, duration_s_q90; note. No judgments: no rows.

    Raises:
        UsageError: min_pairs or confidence out of range; otherwise as `krippendorff_alpha`.
        TableError: as `krippendorff_alpha`; a control given twice.

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
    if not 0 < confidence < 1:
        raise UsageError(f"confidence is {confidence}; expected a number strictly between 0 and 1")
    judgments = judgments if all_rounds else first_round(judgments)
    votes = code_votes(judgments, grades=grades)
    names = pd.factorize(judgments["annotator_id"])[1]
    columns: dict[str, Any] = {"annotator_id": np.asarray(names, dtype=object)}
    columns |= _own(votes, len(names))
    columns |= _beside_peers(votes, answer_times(judgments), len(names), min_pairs)
    columns |= _on_controls(judgments, votes, controls, len(names), confidence)
    columns |= _durations(judgments, votes.annotator, len(names))
    columns["note"] = np.array(_notes(columns, votes, min_pairs), dtype=object)
    profiles = pd.DataFrame(columns).astype({"annotator_id": "str", "note": "str"})
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


def _beside_peers(votes: Votes, times: Floats, n_annotators: int, min_pairs: int) -> dict[str, Any]:
    pairable = votes.units[votes.is_pairable]
    rows = np.flatnonzero((votes.value >= 0) & np.isin(votes.unit, pairable))
    counts = votes.counts[np.searchsorted(pairable, votes.unit[rows])]
    value, annotator = votes.value[rows], votes.annotator[rows]
    n_peers = counts.sum(axis=1) - 1
    positive = _is_positive(votes)
    own = positive[value]
    others = (counts @ positive - own) / n_peers
    agreeing = (counts[np.arange(len(rows)), value] - 1) / n_peers
    later = _later_half(times[rows], annotator)
    halves = [_means(agreeing[h], annotator[h], n_annotators, min_pairs) for h in (later == 1, later == 0)]
    return {
        "n_shared": np.bincount(annotator, minlength=n_annotators),
        "shared_positive_rate": _means(own, annotator, n_annotators, min_pairs),
        "peer_positive_rate": _means(others, annotator, n_annotators, min_pairs),
        "peer_agreement": _means(agreeing, annotator, n_annotators, min_pairs),
        "drift": halves[0] - halves[1],
    }


def _later_half(times: Floats, annotator: Ints) -> Ints:
    """Return 1 for the later half of each annotator's timed rows, 0 for the earlier, −1 without a time.

    The middle one of an odd number, and votes of the same time as the last of the earlier half, are early.
    """
    half = np.full(len(times), -1, dtype=np.int64)
    timed = np.flatnonzero(~np.isnan(times))
    for rows in pd.Series(timed).groupby(annotator[timed]).indices.values():
        own = timed[rows]
        half[own] = times[own] > np.sort(times[own])[(len(own) - 1) // 2]
    return half


def _on_controls(
    judgments: Judgments, votes: Votes, controls: pd.DataFrame | None, n_annotators: int, confidence: float
) -> dict[str, Any]:
    known = _known_labels(judgments, votes, controls)
    rows = np.flatnonzero((known >= 0) & (votes.value >= 0))
    same = (known[rows] == votes.value[rows]).astype(np.float64)
    n = np.bincount(votes.annotator[rows], minlength=n_annotators).astype(np.float64)
    right = np.bincount(votes.annotator[rows], same, minlength=n_annotators).astype(np.float64)
    low, high = wilson_interval(right, n, confidence)
    accuracy: Floats = np.where(n > 0, right / np.maximum(n, 1), np.nan)
    return {
        "n_controls": n.astype(np.int64),
        "control_accuracy": accuracy,
        "control_low": low,
        "control_high": high,
    }


def _known_labels(judgments: Judgments, votes: Votes, controls: pd.DataFrame | None) -> Ints:
    """Return the code of the known label of each judgment's pair, −1 where none is known."""
    if controls is None:
        return np.full(len(judgments), -1, dtype=np.int64)
    place = {label: code for code, label in enumerate(votes.labels)}
    codes = np.array([place.get(label, len(place)) for label in controls["label"]], dtype=np.int64)
    return np.append(codes, -1)[rows_of_controls(judgments, controls)]


def _durations(judgments: Judgments, annotator: Ints, n_annotators: int) -> dict[str, Any]:
    by_annotator = judgments["duration_s"].groupby(annotator)
    every = range(n_annotators)
    return {
        f"duration_s_q{share}": by_annotator.quantile(share / 100).reindex(every).to_numpy(dtype=np.float64)
        for share in (10, 50, 90)
    }


def _notes(columns: dict[str, Any], votes: Votes, min_pairs: int) -> list[str]:
    ungraded = [NO_GRADE] if np.isnan(votes.grades).any() else []
    names = ("n_shared", "drift", "n_controls", "duration_s_q50")
    notes = []
    for n_shared, drift, n_controls, duration in zip(*(columns[name] for name in names), strict=True):
        words = list(ungraded)
        if n_shared < min_pairs:
            words.append(f"beside peers cannot be told: {n_shared} shared pairs, fewer than {min_pairs}")
        elif np.isnan(drift):
            words.append(f"drift cannot be told: fewer than {min_pairs} timed shared pairs in a half")
        if not n_controls:
            words.append("no controls")
        if np.isnan(duration):
            words.append("no durations")
        notes.append("; ".join(words))
    return notes
