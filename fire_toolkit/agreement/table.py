"""Statistics of agreement over judgments, for all of them or by group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

import numpy as np
import pandas as pd

from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.votes import Grades, Votes, code_votes
from fire_toolkit.errors import UsageError
from fire_toolkit.tables import Agreement, Judgments

COLUMNS = {
    "group": "str",
    "statistic": "str",
    "level": "str",
    "value": "float64",
    "n_units": "int64",
    "n_pairable": "int64",
    "n_annotators": "int64",
    "note": "str",
}


@dataclass(frozen=True)
class Coefficient:
    """A statistic of agreement and what it rests on.

    value: nan when undefined, and then `note` says why; n_units: pairs with at least one vote;
    n_pairable: pairs with at least two, which alone enter the value; n_annotators: who cast a vote.
    """

    value: float
    n_units: int
    n_pairable: int
    n_annotators: int
    note: str


def krippendorff_alpha(
    judgments: Judgments, *, grades: Grades | None = None, level: str = "nominal"
) -> Coefficient:
    """Return Krippendorff's alpha of `judgments`, by the package `krippendorff`.

    Args:
        judgments: one row for each annotator and pair.
        grades: label → grade, in the guideline's order; None as a grade says that the label is no vote
            (an escalation, say): such answers are left out and counted in the note. Without `grades`
            every label is a category of its own; if all labels are numbers they are their own grades.
        level: nominal, ordinal, interval or ratio. Labels of equal grade are one value at the last
            three; at the nominal level every label is its own category, whatever its grade.

    Returns:
        A `Coefficient`; its value is nan, with the reason in its note, when no pair has two votes or
        all votes on such pairs are the same.

    Raises:
        UsageError: an unknown level, a level that needs grades where a label has none.
        TableError: a label that `grades` does not hold.

    The definition is that of Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": ["a", "a", "b", "b", "c", "c"],
        ...     "annotator_id": ["u", "v"] * 3, "label": ["1", "1", "0", "0", "1", "0"]}))
        >>> round(krippendorff_alpha(judgments).value, 4)
        0.4444
    """
    return measure_agreement(code_votes(judgments, grades=grades, level=level), "alpha", level=level)


def agreement(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str = "nominal",
    by: str | None = None,
    statistics: Sequence[str] = ("alpha", "percent_agreement"),
) -> Agreement:
    """Return the statistics of agreement of `judgments`, for all of them or for each group.

    Args:
        judgments: one row for each annotator and pair.
        grades, level: as in `krippendorff_alpha`.
        by: a column of `judgments`. `annotator_id`: for each annotator the pairs that this annotator
            voted on, with everyone's judgments on them; any other column: the judgments with that
            value, a missing value being the group of the empty text. None: one group, `all`.
        statistics: names in `STATISTICS`. All but `alpha` and `gwet_ac2` are nominal at any level.
            `percent_agreement` is the share of agreeing votes, averaged over pairable pairs;
            `positive_agreement` and `negative_agreement` (PA+ and PA−) look at one side of it;
            `unanimous` is the share of pairable pairs with one label, `resolved` that of all pairs on
            which a label has more than half of the votes.

    Returns:
        Columns group, statistic, level, value, n_units, n_pairable, n_annotators, note (see
        `Coefficient`); for each group, in the order of its values, the statistics in the order given.
        No judgments: nan values for `all`, no rows with `by`.

    Raises:
        UsageError: `by` is no column, a statistic is unknown; otherwise as `krippendorff_alpha`.
        TableError: a label that `grades` does not hold.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": ["a", "a", "b", "b", "c", "c"],
        ...     "annotator_id": ["u", "v"] * 3, "label": ["1", "1", "0", "0", "1", "0"]}))
        >>> agreement(judgments)[["group", "statistic", "value", "n_pairable"]].round(4)
          group          statistic   value  n_pairable
        0   all              alpha  0.4444           3
        1   all  percent_agreement  0.6667           3
    """
    if by is not None and by not in judgments.columns:
        raise UsageError(f"judgments have no column {by!r}; found {', '.join(judgments.columns)}")
    unknown = [name for name in statistics if name not in STATISTICS]
    if unknown:
        raise UsageError(f"statistic {unknown[0]!r} is unknown; expected some of {', '.join(STATISTICS)}")
    votes = code_votes(judgments, grades=grades, level=level)
    groups = [("all", votes)] if by is None else _groups(votes, judgments, by)
    rows = []
    for group, members in groups:
        for name in statistics:
            coefficient = measure_agreement(members, name, level=level)
            shown_level = level if STATISTICS[name].has_levels else "nominal"
            rows.append((group, name, shown_level, *astuple(coefficient)))
    return Agreement(pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS))


def measure_agreement(votes: Votes, statistic: str, *, level: str) -> Coefficient:
    """Return the named statistic of `votes` with the numbers of units behind it."""
    value, reason = STATISTICS[statistic].compute(votes, level)
    n_left = votes.n_without_vote
    left_out = f"{n_left} answer{'s' * (n_left != 1)} without a vote left out" if n_left else ""
    note = "; ".join(part for part in (reason, left_out) if part)
    return Coefficient(value, len(votes.units), len(votes.counts), votes.n_annotators, note)


def _groups(votes: Votes, judgments: Judgments, by: str) -> Iterator[tuple[str, Votes]]:
    codes, values = pd.factorize(judgments[by], sort=True, use_na_sentinel=True)
    if (codes < 0).any():
        yield "", votes.select(codes < 0)
    for code, value in enumerate(values):
        if by == "annotator_id":
            own = votes.annotator[np.flatnonzero(codes == code)[0]]
            yield str(value), votes.of_annotator(int(own))
        else:
            yield str(value), votes.select(codes == code)
