"""How a campaign goes while people judge: agreement so far, annotators beside peers, what to look into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.agreement.annotators import annotator_profiles
from fire_toolkit.agreement.intervals import Interval, Resampling, interval_of, measure
from fire_toolkit.agreement.pages import alike
from fire_toolkit.resolution.votes import Grades, code_votes
from fire_toolkit.tables import Items, Judgments, first_round

RESAMPLING = Resampling(n_resamples=2000)
LEAST_AGREEMENT = 0.7
MIN_PAIRS = 10
LEAST_ALPHA = 0.667  # Krippendorff (2004): below it even tentative conclusions are not to be drawn
_MIN_PAIRS_OF_ALPHA = 50
_MIN_ALIKE = 20  # answers, all the same, before that is worth a look
_BY_CHANCE = 0.01
_FAST_SHARE = 0.5


class LiveQuality(NamedTuple):
    """What `live_quality` returns.

    alpha: of the first answers so far; its note says where fewer than ten positives were judged twice;
    prevalence: the share of positives among them; n_pairable: pairs with two of them; people: a row for each
    annotator; alarms: columns annotator_id (`all` for the campaign), alarm (`alpha`, `fast`, `one_answer`,
    `agreement`) and words.
    """

    alpha: Interval
    prevalence: float
    n_pairable: int
    people: pd.DataFrame
    alarms: pd.DataFrame


def live_quality(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str | None = None,
    lengths_s: pd.Series | None = None,
    least_agreement: float = LEAST_AGREEMENT,
) -> LiveQuality:
    """Return the agreement of the first answers so far, and what can be said of who gave them.

    Args:
        judgments: one row for each annotator and pair; answers of later rounds are left out.
        grades, level: as in `agreement`.
        lengths_s: doc_id → length of the item, in seconds, where known.
        least_agreement: agreement with peers below this is an alarm.

    Returns:
        alpha with its interval, captions drawn as wholes; people, by annotator_id: columns of
        `annotator_profiles` (n_votes, n_without_vote, positive_rate, n_shared, shared_positive_rate,
        peer_positive_rate, peer_agreement, duration_s_q50), shared_duration_s and peer_duration_s (medians on
        the pairs that others judged too, own and others'), n_timed (answers whose time and item's length are
        known) and n_faster (of these, how many took less than the item lasts).
        Alarms: the whole interval of alpha, from 50 pairs on, lies below .667; more than half of 10 or more
        timed answers were faster than their item; 20 or more votes all
        the same, where that has a chance below .01 by the shares of all others' votes; agreement with peers
        on 10 pairs or more below `least_agreement`. An alarm is a reason to look, not a verdict.

    Raises:
        UsageError, TableError: as `agreement`.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": [f"q{n}" for n in range(12) for _ in "uv"], "doc_id": "d",
        ...     "annotator_id": ["u", "v"] * 12, "label": ["1", "0"] * 9 + ["0", "0"] * 3}))
        >>> live_quality(judgments).alarms["words"].tolist()
        ['agrees with others on 25% of 12 shared pairs', 'agrees with others on 25% of 12 shared pairs']
    """
    judgments = first_round(judgments)
    votes = code_votes(judgments, grades=grades, level=level, cluster=alike(judgments))
    alpha, n_pairable = interval_of(votes, "alpha", RESAMPLING), len(votes.counts)
    people = annotator_profiles(judgments, grades=grades, min_pairs=MIN_PAIRS, all_rounds=True)
    seconds = judgments.assign(pair=votes.pair)
    people = people.set_index("annotator_id").join(_paces(seconds)).join(_faster(seconds, lengths_s))
    people = people.reset_index().astype(dict.fromkeys(["n_timed", "n_faster"], "int64"))
    rows = [*_alarms(people, Judgments(judgments[votes.label >= 0]), least_agreement)]
    if n_pairable >= _MIN_PAIRS_OF_ALPHA and alpha.high < LEAST_ALPHA:
        limit = f"alpha is at most {alpha.high:.2f} (95%), below {LEAST_ALPHA}"
        rows.insert(0, ("all", "alpha", f"{limit}: little agreement beyond chance"))
    alarms = pd.DataFrame(rows, columns=["annotator_id", "alarm", "words"], dtype="str")
    return LiveQuality(alpha, measure(votes, "prevalence")[0], n_pairable, people, alarms)


def item_seconds(items: Items) -> pd.Series | None:
    """Return doc_id → seconds that the item lasts: end_s − start_s, or a column duration_s; None: unknown."""
    if {"start_s", "end_s"} <= set(items.columns) and items["end_s"].notna().any():
        seconds = items["end_s"] - items["start_s"]
    elif "duration_s" in items.columns:
        seconds = pd.to_numeric(items["duration_s"], errors="coerce")
    else:
        return None
    return pd.Series(seconds.to_numpy(), index=items["doc_id"])


def _paces(judgments: pd.DataFrame) -> pd.DataFrame:
    """Return for each annotator the median seconds on shared pairs, own and those of the others there."""
    timed = judgments[["pair", "annotator_id", "duration_s"]].dropna()
    timed = timed[timed.duplicated("pair", keep=False)]
    both = timed.merge(timed, on="pair", suffixes=("", "_peer"))
    both = both[both["annotator_id"] != both["annotator_id_peer"]]
    own = both.drop_duplicates(["annotator_id", "pair"]).groupby("annotator_id")["duration_s"]
    peers = both.groupby("annotator_id")["duration_s_peer"]
    paces = pd.DataFrame({"shared_duration_s": own.median(), "peer_duration_s": peers.median()})
    return paces.reindex(sorted(set(judgments["annotator_id"])))


def _faster(judgments: pd.DataFrame, lengths_s: pd.Series | None) -> pd.DataFrame:
    """Return for each annotator how many answers are timed with a known length, and how many were faster."""
    known = pd.Series(dtype="float64") if lengths_s is None else lengths_s
    lengths = judgments["doc_id"].map(known).astype("float64")
    seconds = judgments["duration_s"].astype("float64")
    if "page_s" in judgments.columns:  # an item is seen once for all captions of its page
        seconds = judgments["page_s"].astype("float64").fillna(seconds)
    is_timed = lengths.notna() & seconds.notna()
    by = pd.DataFrame({"n_timed": is_timed, "n_faster": is_timed & (seconds < lengths)})
    return by.groupby(judgments["annotator_id"]).sum()


def _alarms(people: pd.DataFrame, votes: Judgments, least_agreement: float) -> Iterator[tuple[str, str, str]]:
    """Yield annotator, alarm and words."""
    counts = votes.groupby(["annotator_id", "label"]).size().unstack(fill_value=0)
    totals = counts.sum()
    row: dict[Any, Any]
    for row in people.to_dict("records"):
        name = str(row["annotator_id"])
        if row["n_timed"] >= MIN_PAIRS and row["n_faster"] > _FAST_SHARE * row["n_timed"]:
            few = f"{row['n_faster']:,} of {row['n_timed']:,}"
            yield name, "fast", f"{few} answers took less time than the item lasts"
        own = counts.loc[name] if name in counts.index else totals[:0]
        n, n_others = own.to_numpy().sum(), totals.to_numpy().sum() - own.to_numpy().sum()
        if n >= _MIN_ALIKE and (own > 0).sum() == 1 and n_others:
            label = str(own.idxmax())
            share = float((totals[label] - n + 1) / (n_others + 2))  # never quite 1 (Laplace)
            if share**n < _BY_CHANCE:
                said = f"all {n:,} votes are {label!r}"
                yield name, "one_answer", f"{said}; of the others' votes {100 * share:.0f}% are"
        if row["n_shared"] >= MIN_PAIRS and row["peer_agreement"] < least_agreement:
            share = 100 * row["peer_agreement"]
            words = f"agrees with others on {share:.0f}% of {row['n_shared']:,} shared pairs"
            yield name, "agreement", words
