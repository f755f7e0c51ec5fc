"""Statistics of agreement over judgments, for all of them or by group, and how they are drawn for people."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.agreement.intervals import N_RESAMPLES, Interval, interval_of
from fire_toolkit.agreement.pages import alike, has_pages, page_effects
from fire_toolkit.agreement.registry import DEFAULTS, STATISTICS
from fire_toolkit.errors import JoinError, TableError, UsageError
from fire_toolkit.resolution.votes import Grades, Votes, code_votes
from fire_toolkit.results import drawn_text
from fire_toolkit.tables import AGREEMENT, Agreement, Judgments
from fire_toolkit.tables.columns import PAIR, code_pairs
from fire_toolkit.words import n_of

# What is drawn, one and several, by its column.
UNITS = {"query_id": ("query", "queries"), "doc_id": ("item", "items"), "": ("pair", "pairs")}
TOO_NARROW = "pairs are drawn one by one, and queries have {:.1f} each; --cluster query_id draws these whole"
_NUMBERS = ("low", "high", "below_667", "below_800")
_BESIDE = {**dict.fromkeys(_NUMBERS, "float64"), "n_resampled": "int64", "interval_note": "str"}
KEYS = [*PAIR, "annotator_id"]
_EFFECTS = ("mean place of positives", "neighbours both positive")
LENGTHS = (5, 10, 15, 20)
_UNEVEN = 0.1  # by which a round's share of the pairs judged twice may differ from that of all pairs
# What is one number for all rows stands in the words below the table.
_SAID_BELOW = ("level", "n_units", "n_pairable", "n_annotators", "n_resampled")
_NOTES = ("note", "interval_note")
_HEADINGS = {
    "statistic": "measure",
    "n_units": "pairs",
    "n_pairable": "judged twice+",
    "n_annotators": "annotators",
    "below_667": "P(< .667)",
    "below_800": "P(< .8)",
    "n_resampled": "resampled",
}


def agreement(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str | None = None,
    by: str | None = None,
    statistics: Sequence[str] = DEFAULTS,
    n_resamples: int | None = None,
    seed: int = 0,
    cluster: str | None = None,
) -> Agreement:
    """Return the statistics of agreement of `judgments`, for all of them or for each group.

    Args:
        judgments: one row for each annotator and pair, see `first_round`. A column inclusion_probability is
            the chance, in (0, 1], with which each pair was chosen for a second judgment: pairable pairs weigh
            its inverse, and where it is not the same for all pairs with a vote, they stand for the single
            ones too.
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
        statistics: names in `STATISTICS`. All but `alpha` are nominal at any level; that one is had by the
            package `krippendorff`.
        n_resamples: how often weights are drawn for intervals, 1 or more; None: no intervals.
        seed: of these draws.
        cluster: for intervals, a column of `judgments`, constant within a pair (`query_id`, say): its values
            are drawn as wholes, for pairs that share the habits of one caption. None: pairs are.

    Returns:
        Columns group, statistic, level, value (nan when undefined, and then note says why), n_units (pairs
        with at least one vote), n_pairable (pairs with two or more, which alone enter the value),
        n_annotators (who cast a vote), note; with intervals then low, high, below_667, below_800,
        n_resampled and interval_note, see `intervals.Interval`. For each group, in the order of its values,
        the statistics in the order given. No judgments: nan values for `all`, no rows with `by`.

    Raises:
        UsageError: `by` or `cluster` is no column, an unknown statistic or level, a level that needs grades
            where a label has none.
        TableError: a label that `grades` does not hold; an inclusion probability out of range, or one that,
            like a cluster, differs within a pair.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": [f"d{n:02d}" for n in range(40) for _ in "uv"],
        ...     "annotator_id": ["u", "v"] * 40,
        ...     "label": (["1", "1"] * 4 + ["0", "0"] * 5 + ["1", "0"]) * 4}))
        >>> table = agreement(judgments, statistics=["alpha", "prevalence"], n_resamples=1000)
        >>> table[["statistic", "value", "n_pairable", "low", "high"]].round(1)
            statistic  value  n_pairable  low  high
        0       alpha    0.8          40  0.5   0.9
        1  prevalence    0.4          40  0.3   0.6
    """
    for name in statistics:
        STATISTICS.named(name)
    for column in (by, cluster):
        if column is not None and column not in judgments.columns:
            raise UsageError(f"judgments have no column {column!r}; found {', '.join(judgments.columns)}")
    votes = code_votes(judgments, grades=grades, level=level, with_weights=True, cluster=cluster)
    groups: Iterable[tuple[str, Votes]] = [("all", votes)]
    if by is not None:
        codes, values = pd.factorize(judgments[by], sort=True, use_na_sentinel=True)
        chosen = votes.on_pairs_of if by == "annotator_id" else votes.select
        named = ((str(value), codes == code) for code, value in ((-1, ""), *enumerate(values)))
        groups = ((value, chosen(own)) for value, own in named if own.any())
    n_each = len(votes.pairs) / max(judgments["query_id"].nunique(), 1)
    caution = TOO_NARROW.format(n_each) if cluster is None and n_each >= 2 else ""
    measured = (
        (group, own, {name: interval_of(own, name, n_resamples, seed=seed) for name in statistics})
        for group, own in groups
    )
    return _table_of(measured, has_intervals=n_resamples is not None, caution=caution)


class AgreementSummary(NamedTuple):
    """Agreement with intervals, and what it rests on.

    table: as `agreement` returns it with intervals; n_pairs_by_votes: how many pairs have 0, 1, 2, … votes;
    cluster: `query_id` where the intervals draw captions whole, `doc_id` where items (judged on pages of
    several captions), empty where they draw pairs; design_effect: how many times larger the variance of
    alpha is by these than by pairs (Kish 1965), nan without.
    """

    table: pd.DataFrame
    n_pairs_by_votes: tuple[int, ...]
    cluster: str
    design_effect: float


def agreement_summary(
    judgments: Judgments, *, grades: Grades | None = None, level: str | None = None
) -> AgreementSummary:
    """Return alpha, percent agreement, agreement on positives and prevalence, with what they rest on.

    Captions (query_id) are drawn whole where they have two pairs or more on average, since pairs of a caption
    are alike, else pairs. Where there are pages of several captions, what a page shows is drawn whole in any
    case. Arguments and errors are those of `agreement`.
    """
    cluster = alike(judgments)
    by_cluster = code_votes(judgments, grades=grades, level=level, with_weights=True, cluster=cluster)
    by_pair = replace(by_cluster, cluster=None)
    n_judged = int((by_cluster.n_votes > 0).sum())
    n_each = tuple(np.bincount(by_cluster.n_votes, minlength=2).tolist())
    is_alone = not has_pages(judgments) and n_judged < 2 * max(judgments[cluster].nunique(), 1)
    votes = by_pair if is_alone else by_cluster
    found = {name: interval_of(votes, name, N_RESAMPLES) for name in DEFAULTS}
    table = _table_of([("all", votes, found)], has_intervals=True)
    if is_alone:
        return AgreementSummary(table, n_each, "", math.nan)
    whole, one = found["alpha"].standard_error, interval_of(by_pair, "alpha", N_RESAMPLES).standard_error
    return AgreementSummary(table, n_each, cluster, (whole / one) ** 2 if one > 0 else math.nan)


def _table_of(
    measured: Iterable[tuple[str, Votes, Mapping[str, Interval]]], *, has_intervals: bool, caution: str = ""
) -> Agreement:
    """Return what `agreement` returns of groups, their votes and statistics; caution: of every interval."""
    rows = []
    for group, votes, of_group in measured:
        n_left = len(votes.label) - len(votes.voting)
        left_out = f"{n_left} answer{'s' * (n_left != 1)} without a vote left out" if n_left else ""
        of_whom = (votes.n_votes > 0).sum(), len(votes.counts), len(np.unique(votes.annotator[votes.voting]))
        for name, found in of_group.items():
            note = "; ".join(filter(None, [found.about, left_out]))
            level = votes.level if STATISTICS[name].has_levels else "nominal"
            row: tuple[object, ...] = (group, name, level, found.value, *of_whom, note)
            if has_intervals:
                cautions = [found.note, "" if math.isnan(found.low) else caution]
                row += (*astuple(found)[1:6], "; ".join(filter(None, cautions)))
            rows.append(row)
    columns = {each.name: each.dtype for each in AGREEMENT.columns} | (_BESIDE if has_intervals else {})
    return Agreement(pd.DataFrame(rows, columns=list(columns)).astype(columns))


def join_columns(judgments: Judgments, table: pd.DataFrame, *, by: str | None = None) -> Judgments:
    """Return `judgments` with the columns of another table of queries, docs, pairs or annotators.

    Args:
        judgments: columns that they have stay as they are.
        table: with some of query_id, doc_id, annotator_id, which join it, and columns to group by. From
            a column text a column text_words is made: the number of words, in steps of five.
        by: the column that will group. If it is of `table`, a pair may stand there several times, and
            its judgments are then in several groups: of each run that pooled it, say.

    Returns:
        Rows by query_id, doc_id, annotator_id and the order of `table`; values without a partner are
        missing.

    Raises:
        TableError: `table` has none of the ids, or nothing else.
        JoinError: no judgment has a partner in `table`.
        UsageError: `table` has several rows for a judgment and does not hold `by`.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": list("ab"), "annotator_id": "u", "label": "1"}))
        >>> sources = pd.DataFrame({"query_id": "q", "doc_id": list("aab"), "run_id": ["x", "y", "x"]})
        >>> join_columns(judgments, sources, by="run_id")[["doc_id", "run_id"]].values.tolist()
        [['a', 'x'], ['a', 'y'], ['b', 'x']]
    """
    on = [name for name in KEYS if name in table.columns]
    new = [name for name in table.columns if name not in judgments.columns]
    if not on or not new:
        raise TableError(
            f"joined table has columns {', '.join(map(str, table.columns))}; expected some of "
            f"{', '.join(KEYS)}, and a column that judgments do not have"
        )
    added = table[[*on, *new]].drop_duplicates()
    if "text" in new:
        steps = [f"{low + 1}-{high}" for low, high in pairwise((0, *LENGTHS))]
        labels = [*steps, f"{LENGTHS[-1] + 1} or more"]
        n_words = [len(text.split()) for text in added["text"]]
        added = added.assign(text_words=pd.cut(n_words, bins=[-1, *LENGTHS, np.inf], labels=labels))
    joined = judgments.merge(added, on=on, how="left", indicator="_partner")
    if len(judgments) and not (joined["_partner"] == "both").any():
        raise JoinError(f"no judgment has its {', '.join(on)} in the joined table; is it of these judgments?")
    if len(joined) > len(judgments) and by not in added.columns:
        raise UsageError(
            f"joined table has several rows for one {', '.join(on)}, so its judgments would count several "
            f"times; group by one of {', '.join(new)}"
        )
    return Judgments(joined.drop(columns="_partner"))


def draw_agreement(measured: pd.DataFrame, form: str, *, by: str | None, is_summary: bool) -> str:
    """Return rows of agreement as a table, without their notes.

    by: the column that groups; is_summary: leave out the chances of alpha below its customary bounds, and
    what was resampled.
    """
    left_out = ("below_667", "below_800", "n_resampled") if is_summary else ()
    shown = measured.drop(columns=[*_NOTES, *left_out], errors="ignore")
    if by is None:
        one_number = [name for name in _SAID_BELOW if name in shown.columns and shown[name].nunique() == 1]
        shown = shown.drop(columns=["group", *one_number])
    if form != "table":
        shown["statistic"] = [STATISTICS[name].title or name for name in shown["statistic"]]
    if "low" in shown.columns:
        limits = "{:.4f} to {:.4f}" if form == "table" else "[{:.3f}, {:.3f}]"
        ends = zip(shown.pop("low"), shown.pop("high"), strict=True)
        interval = [limits.format(low, high) if low == low else "not known" for low, high in ends]
        shown.insert(list(shown.columns).index("value") + 1, "95%", interval)
    rows = [
        [f"{x:.4f}" if isinstance(x, float) else x if isinstance(x, str) else f"{x:,}" for x in row]
        for row in shown.itertuples(index=False)
    ]
    return drawn_text(rows, [{"group": by, **_HEADINGS}.get(name) or name for name in shown.columns], form)


def notes_of_rows(measured: pd.DataFrame) -> list[str]:
    """Return each note on rows of agreement once, behind the rows that it is of where it is not of all."""
    keys, notes = ["group", "statistic"], []
    for column in (name for name in _NOTES if name in measured.columns):
        is_told = [note in said and column != "note" for note, said in measured[[column, "note"]].to_numpy()]
        for note, own in measured[(measured[column] != "") & ~np.array(is_told)].groupby(column, sort=False):
            by = [key for key in keys if len(own) == measured[key].isin(own[key]).sum()][-1:] or keys
            names = [" ".join(map(str, row)) for row in own[by].drop_duplicates().to_numpy()]
            of_rows = ", ".join(name.removeprefix("all ") for name in names)
            notes.append(str(note) if len(own) == len(measured) else f"{of_rows}: {note}")
    return notes


def words_of_differing_votes(judgments: Judgments) -> list[str]:
    """Return a note where no round says so, and last votes seem asked because the first differ."""
    pairs = code_pairs(judgments)[0]
    n_votes = np.bincount(pairs)
    is_most = n_votes == n_votes.max(initial=0)
    n_most = int(is_most.sum())
    if n_votes.max(initial=0) < 3 or n_most < 10:
        return []
    is_split = judgments["label"].groupby(pairs).nunique().to_numpy() > 1
    fewer = is_split[~is_most & (n_votes > 1)]
    if not is_split[is_most].all() or not len(fewer) or fewer.mean() > 0.5:
        return []
    return [
        f"all {n_of(n_most, 'pair')} with {n_votes.max()} votes have votes that differ, {fewer.mean():.0%} "
        "of the others: if the last vote was asked because of it, this is not how far annotators agree; "
        "say so in a column round, 1 for first answers"
    ]


def words_of_uneven_rounds(judgments: Judgments) -> list[str]:
    """Return a note where a round has far more, or fewer, of the pairs judged twice than of all pairs."""
    if "round" not in judgments:
        return []
    first, n_votes = np.unique(code_pairs(judgments)[0], return_index=True, return_counts=True)[1:]
    rounds, place = np.unique(judgments["round"].to_numpy()[first], return_inverse=True)
    of_all, of_twice = (np.bincount(each, minlength=len(rounds)) for each in (place, place[n_votes > 1]))
    share, shown = of_all / len(first), of_twice / max(of_twice.sum(), 1)
    if not of_twice.any() or np.abs(shown - share).max() <= _UNEVEN:
        return []
    most = int((shown - share).argmax())
    return [
        f"round {rounds[most]} has {share[most]:.0%} of the pairs and {shown[most]:.0%} of those judged "
        "twice, on which agreement rests: it is not that of all pairs (--by round)"
    ]


def words_of_pages(judgments: Judgments, grades: Grades | None) -> list[str]:
    """Return that answers of one page are not independent, and what order and neighbours did to them."""
    effects = page_effects(judgments, grades=grades)
    if effects.empty:
        return []
    numbers = zip(*(effects[name] for name in ("observed", "expected", "p_value")), strict=True)
    words = [
        f"{name} {observed:.3f}, {expected:.3f} by chance ({'p < .001' if p < 0.001 else f'p {p:.3f}'})"
        for name, (observed, expected, p) in zip(_EFFECTS, numbers, strict=True)
    ]
    return [
        f"several captions were judged on one page ({n_of(int(effects['n_pages'].iloc[0]), 'page')}); "
        f"such answers are not independent, so intervals draw {UNITS[alike(judgments)][1]} whole; "
        f"{'; '.join(words)}"
    ]
