"""Statistics of agreement over judgments, for all of them or by group."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass

import numpy as np
import pandas as pd

from fire_toolkit.agreement.intervals import Resampling, interval_of
from fire_toolkit.agreement.registry import DEFAULTS, STATISTICS
from fire_toolkit.agreement.sample import measure
from fire_toolkit.agreement.votes import Grades, Votes, code_votes, level_for
from fire_toolkit.errors import UsageError
from fire_toolkit.results import Shown
from fire_toolkit.tables import AGREEMENT, Agreement, Judgments, first_round
from fire_toolkit.tables.columns import code_pairs

INTERVAL_COLUMNS = {
    "low": "float64",
    "high": "float64",
    "below_667": "float64",
    "below_800": "float64",
    "n_resampled": "int64",
    "interval_note": "str",
}
INCLUSION = "inclusion_probability"
TOO_NARROW = "pairs are drawn one by one, and captions have {:.1f} each; --cluster query_id draws these whole"


@dataclass(frozen=True)
class Coefficient(Shown):
    """A statistic of agreement and what it rests on.

    value: nan when undefined, and then `note` says why; n_units: pairs with at least one vote;
    n_pairable: pairs with at least two, which alone enter the value; n_annotators: who cast a vote.
    """

    value: float
    n_units: int
    n_pairable: int
    n_annotators: int
    note: str


def agreement(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str | None = None,
    by: str | None = None,
    statistics: Sequence[str] = DEFAULTS,
    inclusion: str | None = INCLUSION,
    all_rounds: bool = False,
) -> Agreement:
    """Return the statistics of agreement of `judgments`, for all of them or for each group.

    Args:
        judgments: one row for each annotator and pair.
        grades: label → grade, in the guideline's order; None as a grade says that the label is not a vote
            (an escalation, say): such answers are left out and counted in the note. Without `grades`
            labels of the default guideline have its grades, numbers are their own, and other labels are
            categories without grades.
        level: nominal, ordinal, interval or ratio; None: ordinal where `grades` are given and three labels
            or more have one, else nominal. Labels of equal grade are one value at the last three; at the
            nominal level every label is its own category, whatever its grade.
        by: a column of `judgments`. `annotator_id`: for each annotator the pairs that this annotator
            voted on, with everyone's judgments on them; any other column: the judgments with that
            value, a missing value being the group of the empty text. None: one group, `all`.
        statistics: names in `STATISTICS`. All but `alpha` are nominal at any level.
            `alpha` is Krippendorff's (Computing Krippendorff's Alpha-Reliability, 2011), by the package
            `krippendorff`; `percent_agreement` is the share of agreeing votes, averaged over pairable pairs;
            `positive_agreement` and `negative_agreement` (PA+ and PA−) look at one side of it;
            `unanimous` is the share of pairable pairs with one label.
        inclusion: a column with the probability, in (0, 1], with which each pair was chosen for a second
            judgment; pairable pairs then weigh its inverse, and where it is not the same for all pairs with
            a vote, they stand for the single ones too.
            By default the column of that name, where judgments have it. None: all weigh the same.
        all_rounds: whether later answers to a pair count too, and those that were not asked of their
            annotator; see `first_round`.

    Returns:
        Columns group, statistic, level, value, n_units, n_pairable, n_annotators, note (see
        `Coefficient`); for each group, in the order of its values, the statistics in the order given.
        No judgments: nan values for `all`, no rows with `by`.

    Raises:
        UsageError: `by` is no column, an unknown statistic or level, a level that needs grades where a label
            has none.
        TableError: a label that `grades` does not hold.

    Examples:
        >>> from fire_toolkit.tables import AGREEMENT, check_judgments, first_round
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": ["a", "a", "b", "b", "c", "c"],
        ...     "annotator_id": ["u", "v"] * 3, "label": ["1", "1", "0", "0", "1", "0"]}))
        >>> agreement(judgments)[["group", "statistic", "value", "n_pairable"]].round(4)
          group           statistic   value  n_pairable
        0   all               alpha  0.4444           3
        1   all   percent_agreement  0.6667           3
        2   all  positive_agreement  0.6667           3
        3   all          prevalence  0.5000           3
    """
    level = level_for(grades, level)
    measured = _measured(judgments, grades, level, by, statistics, inclusion, None, all_rounds)
    rows = [
        (group, name, level_of(name, level), *astuple(measure_agreement(votes, name, level=level)))
        for group, name, votes in measured
    ]
    return Agreement(pd.DataFrame(rows, columns=list(AGREEMENT.names)).astype(AGREEMENT.dtypes))


def agreement_intervals(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str | None = None,
    by: str | None = None,
    statistics: Sequence[str] = DEFAULTS,
    inclusion: str | None = INCLUSION,
    cluster: str | None = None,
    all_rounds: bool = False,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Return what `agreement` returns, and an interval beside each value.

    Args:
        judgments, grades, level, by, statistics, inclusion, all_rounds: as in `agreement`.
        cluster, n_resamples, confidence, seed: as in `alpha_interval`.

    Returns:
        The columns and rows of `agreement`; then low, high, below_667, below_800, n_resampled and
        interval_note (see `Interval`). Shares (per cent agreement, PA+ and PA−, prevalence and the like) have
        Wilson's score interval, see `inference.shares`; the kappas of every two annotators a linearised
        one, value ± t · standard error; the others that of `alpha_interval`. Pairs with one vote count
        where they enter the value.

    Raises:
        UsageError, TableError: as `agreement` and `alpha_interval`.

    Examples:
        >>> from fire_toolkit.tables import AGREEMENT, check_judgments, first_round
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": [f"d{n:02d}" for n in range(40) for _ in "uv"],
        ...     "annotator_id": ["u", "v"] * 40,
        ...     "label": (["1", "1"] * 4 + ["0", "0"] * 5 + ["1", "0"]) * 4}))
        >>> table = agreement_intervals(judgments, statistics=["percent_agreement"])
        >>> table[["statistic", "value", "low", "high"]].round(3)
                   statistic  value    low  high
        0  percent_agreement    0.9  0.769  0.96
    """
    resampling = Resampling(n_resamples, confidence, seed)
    level = level_for(grades, level)
    counted = judgments if all_rounds else first_round(judgments)
    n_each = len(code_pairs(counted)[1]) / max(counted["query_id"].nunique(), 1)
    caution = TOO_NARROW.format(n_each) if cluster is None and n_each >= 2 else ""
    rows = _measured(judgments, grades, level, by, statistics, inclusion, cluster, all_rounds)
    return interval_rows(rows, level=level, resampling=resampling, caution=caution)


def interval_rows(
    rows: Iterable[tuple[str, str, Votes]],
    *,
    level: str,
    resampling: Resampling,
    caution: str = "",
    by_cluster: bool = True,
) -> pd.DataFrame:
    """Return the columns of `agreement_intervals`, a row for each group and statistic of some votes.

    caution: a note on every interval; by_cluster: as in `interval_of`.
    """
    found = []
    for group, name, votes in rows:
        measured = measure(votes, name, level)
        coefficient = _with_numbers(votes, *measured)
        interval = interval_of(
            votes, name, level=level, resampling=resampling, measured=measured, by_cluster=by_cluster
        )
        cautions = [interval.note, "" if math.isnan(interval.low) else caution]
        numbers = (interval.low, interval.high, interval.below_667, interval.below_800)
        beside = (*numbers, interval.n_resampled, "; ".join(part for part in cautions if part))
        found.append((group, name, level_of(name, level), *astuple(coefficient), *beside))
    columns = AGREEMENT.dtypes | INTERVAL_COLUMNS
    return pd.DataFrame(found, columns=list(columns)).astype(columns)


def level_of(statistic: str, level: str) -> str:
    """Return the level of measurement that a statistic takes account of."""
    return level if STATISTICS[statistic].has_levels else "nominal"


def _measured(
    judgments: Judgments,
    grades: Grades | None,
    level: str,
    by: str | None,
    statistics: Sequence[str],
    inclusion: str | None,
    cluster: str | None,
    all_rounds: bool,
) -> Iterator[tuple[str, str, Votes]]:
    """Yield group and statistic of each row of the table, and the votes behind it."""
    judgments = judgments if all_rounds else first_round(judgments)
    inclusion = usable_inclusion(judgments, inclusion)
    if by is not None and by not in judgments.columns:
        raise UsageError(f"judgments have no column {by!r}; found {', '.join(judgments.columns)}")
    for name in statistics:
        STATISTICS.named(name)
    votes = code_votes(judgments, grades=grades, level=level, inclusion=inclusion, cluster=cluster)
    for group, members in [("all", votes)] if by is None else _groups(votes, judgments, by):
        for name in statistics:
            yield group, name, members


def usable_inclusion(judgments: Judgments, inclusion: str | None) -> str | None:
    """Return the column of inclusion probabilities; None where it is the usual one and is not known."""
    is_unknown = INCLUSION not in judgments or judgments[INCLUSION].isna().all()
    return None if inclusion == INCLUSION and is_unknown else inclusion


def measure_agreement(votes: Votes, statistic: str, *, level: str) -> Coefficient:
    """Return the named statistic of `votes`, weighted if they are, with the numbers behind it."""
    return _with_numbers(votes, *measure(votes, statistic, level))


def _with_numbers(votes: Votes, value: float, reason: str) -> Coefficient:
    """Return a value and its note with the numbers behind it."""
    notes = [reason]
    n_left = votes.n_without_vote
    if n_left:
        notes.append(f"{n_left} answer{'s' * (n_left != 1)} without a vote left out")
    note = "; ".join(note for note in notes if note)
    return Coefficient(value, len(votes.units), len(votes.counts), votes.n_annotators, note)


def _groups(votes: Votes, judgments: Judgments, by: str) -> Iterator[tuple[str, Votes]]:
    codes, values = pd.factorize(judgments[by], sort=True, use_na_sentinel=True)
    if (codes < 0).any():
        yield "", votes.select(codes < 0)
    for code, value in enumerate(values):
        own = np.asarray(codes == code)
        yield str(value), votes.on_pairs_of(own) if by == "annotator_id" else votes.select(own)
