"""What each annotator does: alpha without them, agreement beside their peers, and what to look into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.agreement.intervals import N_RESAMPLES, Interval, interval_of
from fire_toolkit.agreement.pages import alike
from fire_toolkit.agreement.statistic import NO_PAIR
from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.resolution.judgments import first_round
from fire_toolkit.resolution.votes import Grades, Votes, code_votes
from fire_toolkit.tables import Items, Judgments
from fire_toolkit.words import n_of

ONE_VALUE = "without this annotator every judgment on pairs with two judgments says the same"
LEAST_AGREEMENT = 0.7
MIN_PAIRS = 10
LEAST_ALPHA = 0.667  # Krippendorff (2004): below it even tentative conclusions are not to be drawn
_MIN_PAIRS_OF_ALPHA = 50
_MIN_ALIKE = 20  # answers, all the same, before that is worth a look
_BY_CHANCE = 0.01
_FAST_SHARE = 0.5


def leave_one_out(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str | None = None,
    all_rounds: bool = False,
) -> pd.DataFrame:
    """Return Krippendorff's alpha without each annotator in turn.

    Args:
        judgments, grades, level: as in `agreement`; so are the errors.
        all_rounds: whether later answers to a pair count too, and those that were not asked of their
            annotator; see `first_round`.

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
    votes = code_votes(judgments, grades=grades, level=level, with_weights=True)
    without = [votes.select(votes.annotator != code) for code in range(len(votes.annotators))]
    alphas = np.array([interval_of(each, "alpha").value for each in without], dtype=np.float64)
    n_pairable = np.array([len(each.counts) for each in without], dtype=np.int64)
    notes = np.select([~np.isnan(alphas), n_pairable > 0], ["", ONE_VALUE], NO_PAIR)
    columns = {
        "annotator_id": pd.array(votes.annotators, dtype="str"),
        "n_votes": _count(votes, votes.voting),
        "n_pairable": n_pairable,
        "value": alphas,
        "change": alphas - interval_of(votes, "alpha").value,
        "note": pd.array(notes, dtype="str"),
    }
    return pd.DataFrame(columns)


def annotator_profiles(
    judgments: Judgments, *, grades: Grades | None = None, min_pairs: int = 10, all_rounds: bool = False
) -> pd.DataFrame:
    """Return one row of numbers for each annotator, to look into, not to drop anyone by.

    Args:
        judgments, grades, all_rounds: as in `leave_one_out`; so are the errors.
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
    rows = np.asarray(votes.voting[votes.is_pairable[votes.pair[votes.voting]]])
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


def _count(votes: Votes, rows: Ints) -> Ints:
    """Return how many of the rows are each annotator's."""
    return np.bincount(votes.annotator[rows], minlength=len(votes.annotators)).astype(np.int64)


def _means(votes: Votes, rows: Ints, values: Floats, at_least: int) -> Floats:
    """Return the mean of each annotator's values, one for each row; nan where they are too few."""
    n = _count(votes, rows)
    total = np.bincount(votes.annotator[rows], values, minlength=len(n))
    return np.asarray(np.where(n >= at_least, total / np.maximum(n, 1), np.nan))


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

    @property
    def words(self) -> list[str]:
        """What can be said of agreement so far, and whom to look into, a sentence each."""
        alpha, said = self.alpha, [f"no alpha yet: {self.alpha.note}"]
        if alpha.value == alpha.value:
            interval = f" (95%: {alpha.low:.3f} to {alpha.high:.3f})" if alpha.low == alpha.low else ""
            pairs = n_of(self.n_pairable, "pair")
            said = [f"alpha so far {alpha.value:.3f}{interval}, of {pairs} judged twice"]
            said += [f"note: {alpha.note}"] if alpha.note else []
        alarms = zip(self.alarms["annotator_id"], self.alarms["words"], strict=True)
        return [*said, *(f"look into {name}: {words}" for name, words in alarms)]


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
        grades, level: as in `agreement`; so are the errors.
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
    alpha, n_pairable = interval_of(votes, "alpha", N_RESAMPLES), len(votes.counts)
    people = annotator_profiles(judgments, grades=grades, min_pairs=MIN_PAIRS, all_rounds=True)
    paces = _paces(judgments, votes.pair, lengths_s)
    people = people.merge(paces, left_on="annotator_id", right_index=True, how="left")
    rows = [*_alarms(people, votes, least_agreement)]
    if n_pairable >= _MIN_PAIRS_OF_ALPHA and alpha.high < LEAST_ALPHA:
        limit = f"alpha is at most {alpha.high:.2f} (95%), below {LEAST_ALPHA}"
        rows.insert(0, ("all", "alpha", f"{limit}: little agreement beyond chance"))
    alarms = pd.DataFrame(rows, columns=["annotator_id", "alarm", "words"], dtype="str")
    return LiveQuality(alpha, interval_of(votes, "prevalence").value, n_pairable, people, alarms)


def item_seconds(items: Items) -> pd.Series | None:
    """Return doc_id → seconds that the item lasts: end_s − start_s, or a column duration_s; None: unknown."""
    if {"start_s", "end_s"} <= set(items.columns) and items["end_s"].notna().any():
        seconds = items["end_s"] - items["start_s"]
    elif "duration_s" in items.columns:
        seconds = pd.to_numeric(items["duration_s"], errors="coerce")
    else:
        return None
    return pd.Series(seconds.to_numpy(), index=items["doc_id"])


def _paces(judgments: Judgments, pair: Ints, lengths_s: pd.Series | None) -> pd.DataFrame:
    """Return for each annotator the columns of `live_quality` that are of seconds."""
    timed = judgments.assign(pair=pair)[["pair", "annotator_id", "duration_s"]].dropna()
    timed = timed[timed.duplicated("pair", keep=False)]
    both = timed.merge(timed, on="pair", suffixes=("", "_peer"))
    both = both[both["annotator_id"] != both["annotator_id_peer"]]
    own = both.drop_duplicates(["annotator_id", "pair"]).groupby("annotator_id")["duration_s"]
    peers = both.groupby("annotator_id")["duration_s_peer"]
    known = pd.Series(dtype="float64") if lengths_s is None else lengths_s
    lengths = judgments["doc_id"].map(known).astype("float64")
    seconds = judgments["duration_s"].astype("float64")
    if "page_s" in judgments.columns:  # an item is seen once for all captions of its page
        seconds = judgments["page_s"].astype("float64").fillna(seconds)
    is_timed = lengths.notna() & seconds.notna()
    of_answers = pd.DataFrame({"n_timed": is_timed, "n_faster": is_timed & (seconds < lengths)})
    counts = of_answers.groupby(judgments["annotator_id"]).sum().astype("int64")
    medians = pd.DataFrame({"shared_duration_s": own.median(), "peer_duration_s": peers.median()})
    return medians.reindex(counts.index).join(counts)


def _alarms(people: pd.DataFrame, votes: Votes, least_agreement: float) -> Iterator[tuple[str, str, str]]:
    """Yield annotator, alarm and words."""
    n_labels = len(votes.labels)
    cells = votes.annotator[votes.voting] * n_labels + votes.label[votes.voting]
    counts = np.bincount(cells, minlength=len(people) * n_labels).reshape(-1, n_labels)
    totals = counts.sum(axis=0)
    row: dict[Any, Any]
    for own, row in zip(counts, people.to_dict("records"), strict=True):
        name = str(row["annotator_id"])
        if row["n_timed"] >= MIN_PAIRS and row["n_faster"] > _FAST_SHARE * row["n_timed"]:
            few = f"{row['n_faster']:,} of {row['n_timed']:,}"
            yield name, "fast", f"{few} answers took less time than the item lasts"
        n, n_others = int(own.sum()), int(totals.sum() - own.sum())
        if n >= _MIN_ALIKE and (own > 0).sum() == 1 and n_others:
            label = int(own.argmax())
            share = (totals[label] - n + 1) / (n_others + 2)  # never quite 1 (Laplace)
            if share**n < _BY_CHANCE:
                said = f"all {n:,} votes are {votes.labels[label]!r}"
                yield name, "one_answer", f"{said}; of the others' votes {100 * share:.0f}% are"
        if row["n_shared"] >= MIN_PAIRS and row["peer_agreement"] < least_agreement:
            words = f"{100 * row['peer_agreement']:.0f}% of {row['n_shared']:,} shared pairs"
            yield name, "agreement", f"agrees with others on {words}"
