"""Statistics of agreement over judgments, for all of them or by group, with intervals if asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple

import numpy as np
import pandas as pd

from fire_toolkit.agreement.intervals import Interval, Resampling, interval_of, measure
from fire_toolkit.agreement.registry import DEFAULTS, STATISTICS
from fire_toolkit.resolution.votes import INCLUSION, Grades, Votes, code_votes, refuse_unknown_columns
from fire_toolkit.tables import AGREEMENT, Agreement, Judgments, first_round

_BESIDE = {
    "low": "float64",
    "high": "float64",
    "below_667": "float64",
    "below_800": "float64",
    "n_resampled": "int64",
    "interval_note": "str",
}
TOO_NARROW = "pairs are drawn one by one, and captions have {:.1f} each; --cluster query_id draws these whole"


def agreement(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str | None = None,
    by: str | None = None,
    statistics: Sequence[str] = DEFAULTS,
    inclusion: str | None = INCLUSION,
    all_rounds: bool = False,
    intervals: Resampling | None = None,
    cluster: str | None = None,
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
        intervals: how they are had; None: no intervals.
        cluster: for intervals, a column of `judgments`, constant within a pair (`query_id`, say): its values
            are drawn as wholes, for pairs that share the habits of one caption. None: pairs are.

    Returns:
        Columns group, statistic, level, value (nan when undefined, and then note says why), n_units (pairs
        with at least one vote), n_pairable (pairs with two or more, which alone enter the value),
        n_annotators (who cast a vote), note; with `intervals` then low, high, below_667, below_800,
        n_resampled and interval_note, see `intervals.Interval`. For each group, in the order of its values,
        the statistics in the order given. No judgments: nan values for `all`, no rows with `by`.

    Raises:
        UsageError: `by` is no column, an unknown statistic or level, a level that needs grades where a label
            has none.
        TableError: a label that `grades` does not hold; an inclusion probability out of range, or one that,
            like a cluster, differs within a pair.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": [f"d{n:02d}" for n in range(40) for _ in "uv"],
        ...     "annotator_id": ["u", "v"] * 40,
        ...     "label": (["1", "1"] * 4 + ["0", "0"] * 5 + ["1", "0"]) * 4}))
        >>> agreement(judgments)[["group", "statistic", "value", "n_pairable"]].round(4)
          group           statistic   value  n_pairable
        0   all               alpha  0.8005          40
        1   all   percent_agreement  0.9000          40
        2   all  positive_agreement  0.8889          40
        3   all          prevalence  0.4500          40
        >>> table = agreement(judgments, statistics=["alpha", "percent_agreement"], intervals=Resampling())
        >>> table[["statistic", "low", "high"]].round(1)
                   statistic  low  high
        0              alpha  0.5   0.9
        1  percent_agreement  0.8   1.0
    """
    refuse_unknown_columns(judgments, by)
    for name in statistics:
        STATISTICS.named(name)
    counted = judgments if all_rounds else first_round(judgments)
    votes = code_votes(counted, grades=grades, level=level, inclusion=inclusion, cluster=cluster)
    groups = [("all", votes)] if by is None else _groups(votes, counted, by)
    n_each = len(votes.pairs) / max(counted["query_id"].nunique(), 1)
    caution = TOO_NARROW.format(n_each) if cluster is None and n_each >= 2 else ""
    return measure_groups(groups, statistics, intervals, caution=caution)


def measure_groups(
    groups: Iterable[tuple[str, Votes]],
    statistics: Sequence[str],
    intervals: Resampling | None,
    *,
    caution: str = "",
) -> Agreement:
    """Return what `agreement` returns, for each group of votes; caution: a note on every interval."""
    rows = []
    for group, votes in groups:
        n_pairs, n_left = int((votes.n_votes > 0).sum()), len(votes.label) - len(votes.voting)
        n_people = len(np.unique(votes.annotator[votes.voting]))
        left_out = f"{n_left} answer{'s' * (n_left != 1)} without a vote left out" if n_left else ""
        for name in statistics:
            measured = value, reason = measure(votes, name)
            note = "; ".join(filter(None, [reason, left_out]))
            level = votes.level if STATISTICS[name].has_levels else "nominal"
            row = (group, name, level, value, n_pairs, len(votes.counts), n_people, note)
            beside = _beside(interval_of(votes, name, intervals, measured), caution) if intervals else ()
            rows.append((*row, *beside))
    columns = AGREEMENT.dtypes | (_BESIDE if intervals else {})
    return Agreement(pd.DataFrame(rows, columns=list(columns)).astype(columns))


def _beside(interval: Interval, caution: str) -> tuple[object, ...]:
    """Return the columns of an interval."""
    _, *numbers, note, _ = astuple(interval)
    return *numbers, "; ".join(filter(None, [note, "" if math.isnan(interval.low) else caution]))


def _groups(votes: Votes, judgments: Judgments, by: str) -> Iterator[tuple[str, Votes]]:
    codes, values = pd.factorize(judgments[by], sort=True, use_na_sentinel=True)
    if (codes < 0).any():
        yield "", votes.select(codes < 0)
    for code, value in enumerate(values):
        own = np.asarray(codes == code)
        yield str(value), votes.on_pairs_of(own) if by == "annotator_id" else votes.select(own)
