"""Statistics of agreement over judgments, for all of them or by group."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass

import numpy as np
import pandas as pd

from fire_toolkit.agreement.coverage import CAPTIONS, PAIRS_OF_CAPTIONS, Drawn, coverage_of
from fire_toolkit.agreement.coverage import COLUMNS as COVERAGE_COLUMNS
from fire_toolkit.agreement.intervals import Interval, Resampling, interval_of
from fire_toolkit.agreement.registry import DEFAULTS, STATISTICS
from fire_toolkit.agreement.sample import measure
from fire_toolkit.agreement.times import DERIVED, add_times
from fire_toolkit.agreement.votes import Grades, Votes, code_votes
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
    "band": "str",
    "band_probability": "float64",
    **COVERAGE_COLUMNS,
}
INCLUSION = "inclusion_probability"
# Columns that differ within a pair: a group holds all answers on the pairs with a vote of the group.
OF_ANSWERS = ("annotator_id", *DERIVED)
ALPHA_BOUNDS = "the bounds .667 and .8 are customary for alpha alone"
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


def krippendorff_alpha(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str = "nominal",
    inclusion: str | None = INCLUSION,
    all_rounds: bool = False,
) -> Coefficient:
    """Return Krippendorff's alpha of `judgments`, by the package `krippendorff`.

    Args:
        judgments: one row for each annotator and pair.
        grades: label → grade, in the guideline's order; None as a grade says that the label is not a vote
            (an escalation, say): such answers are left out and counted in the note. Without `grades`
            labels of the default guideline have its grades, numbers are their own, and other labels are
            categories without grades.
        level: nominal, ordinal, interval or ratio. Labels of equal grade are one value at the last
            three; at the nominal level every label is its own category, whatever its grade.
        inclusion: as in `agreement`.
        all_rounds: whether later answers to a pair count too, and those that were not asked of their
            annotator; see `first_round`.

    Returns:
        A `Coefficient`; its value is nan, with the reason in its note, when no pair has two votes or
        all votes on such pairs are the same.

    Raises:
        UsageError: an unknown level, a level that needs grades where a label has none.
        TableError: a label that `grades` does not hold.

    The definition is that of Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).

    Examples:
        >>> from fire_toolkit.tables import AGREEMENT, check_judgments, first_round
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": ["a", "a", "b", "b", "c", "c"],
        ...     "annotator_id": ["u", "v"] * 3, "label": ["1", "1", "0", "0", "1", "0"]}))
        >>> round(krippendorff_alpha(judgments).value, 4)
        0.4444
    """
    ((_, _, votes),) = _measured(judgments, grades, level, None, ["alpha"], inclusion, None, all_rounds)
    return measure_agreement(votes, "alpha", level=level)


def agreement(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str = "nominal",
    by: str | None = None,
    statistics: Sequence[str] = DEFAULTS,
    inclusion: str | None = INCLUSION,
    all_rounds: bool = False,
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
        inclusion: a column with the probability, in (0, 1], with which each pair was chosen for a second
            judgment; pairable pairs then weigh its inverse, and where it is not the same for all pairs with
            a vote, they stand for the single ones too (but in `resolved`, which is of the pairs at hand).
            By default the column of that name, where judgments have it. None: all weigh the same.
        all_rounds: whether later answers to a pair count too, and those that were not asked of their
            annotator; see `first_round`.

    Returns:
        Columns group, statistic, level, value, n_units, n_pairable, n_annotators, note (see
        `Coefficient`); for each group, in the order of its values, the statistics in the order given.
        No judgments: nan values for `all`, no rows with `by`.

    Raises:
        UsageError: `by` is no column, a statistic is unknown; otherwise as `krippendorff_alpha`.
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
    level: str = "nominal",
    by: str | None = None,
    statistics: Sequence[str] = DEFAULTS,
    inclusion: str | None = INCLUSION,
    cluster: str | None = None,
    all_rounds: bool = False,
    method: str = "bootstrap",
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Return what `agreement` returns, and an interval beside each value.

    Args:
        judgments, grades, level, by, statistics, inclusion, all_rounds: as in `agreement`.
        cluster, method, n_resamples, confidence, seed: as in `alpha_interval`.

    Returns:
        The columns and rows of `agreement`; then low, high, below_667, below_800, n_resampled,
        interval_note, band and band_probability (see `Interval`), coverage (the share of simulated samples
        in which such a 95% interval held the truth, nan where that is not known) and coverage_of (which
        samples). Pairs with one vote are drawn too where they enter the value.

    Raises:
        UsageError, TableError: as `agreement` and `alpha_interval`.

    Examples:
        >>> from fire_toolkit.tables import AGREEMENT, check_judgments, first_round
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": [f"d{n:02d}" for n in range(40) for _ in "uv"],
        ...     "annotator_id": ["u", "v"] * 40,
        ...     "label": (["1", "1"] * 4 + ["0", "0"] * 5 + ["1", "0"]) * 4}))
        >>> table = agreement_intervals(judgments, statistics=["percent_agreement"], method="jackknife")
        >>> table[["statistic", "value", "low", "high"]].round(3)
                   statistic  value    low   high
        0  percent_agreement    0.9  0.806  0.994
    """
    resampling = Resampling(method, n_resamples, confidence, seed)
    counted = judgments if all_rounds else first_round(judgments)
    n_pairs = len(code_pairs(counted)[1])
    drawn = Drawn.of(n_pairs, counted["query_id"].nunique(), by_cluster=cluster is not None)
    rows = _measured(judgments, grades, level, by, statistics, inclusion, cluster, all_rounds)
    return interval_rows(rows, level=level, resampling=resampling, drawn=drawn)


def interval_rows(
    rows: Iterable[tuple[str, str, Votes]],
    *,
    level: str,
    resampling: Resampling,
    drawn: Drawn,
    bounds: str = ALPHA_BOUNDS,
) -> pd.DataFrame:
    """Return the columns of `agreement_intervals`, a row for each group and statistic of some votes.

    drawn: whether clusters or pairs are, by which it is known how often such intervals hold; bounds: a note
    on those of statistics other than alpha.
    """
    found = []
    by_cluster = drawn.design == CAPTIONS
    caution = TOO_NARROW.format(drawn.n_each) if drawn.design == PAIRS_OF_CAPTIONS else ""
    for group, name, votes in rows:
        measured = measure(votes, name, level)
        coefficient = _with_numbers(votes, *measured)
        interval = interval_of(
            votes, name, level=level, resampling=resampling, measured=measured, by_cluster=by_cluster
        )
        key = (group, name, level_of(name, level))
        is_known = resampling.confidence == 0.95 and not math.isnan(interval.low)
        coverage = coverage_of(votes, name, resampling.method, drawn) if is_known else (math.nan, "")
        found.append((*key, *astuple(coefficient), *_beside(interval, caution, bounds), *coverage))
    columns = AGREEMENT.dtypes | INTERVAL_COLUMNS
    return pd.DataFrame(found, columns=list(columns)).astype(columns)


def level_of(statistic: str, level: str) -> str:
    """Return the level of measurement that a statistic takes account of."""
    return level if STATISTICS[statistic].has_levels else "nominal"


def _beside(interval: Interval, caution: str, bounds: str) -> tuple[object, ...]:
    """Return what stands in INTERVAL_COLUMNS before the coverage."""
    numbers = (interval.low, interval.high, interval.below_667, interval.below_800)
    band = (interval.band, interval.band_probability)
    without = [] if math.isnan(interval.low) or not math.isnan(interval.below_667) else [bounds]
    cautions = [] if math.isnan(interval.low) else [caution]
    note = "; ".join(part for part in (interval.note, *without, *cautions) if part)
    return (*numbers, interval.n_resampled, note, *band)


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
    if by in DERIVED and by not in judgments.columns:
        judgments = add_times(judgments)
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
        yield str(value), votes.on_pairs_of(own) if by in OF_ANSWERS else votes.select(own)
