"""The tables of the FIRE paper and its findings on captions, and how they are drawn for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.agreement.table import agreement
from fire_toolkit.arrays import Bools, Floats
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.inference.intervals import change_interval, influences, mean_interval, welch_interval
from fire_toolkit.inference.judged_pairs import JudgedPairs, Runs, join_runs, own_pairs, pooled_by
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.measures.defaults import FIRST
from fire_toolkit.reporting.plots import points
from fire_toolkit.resolution.judgments import first_round
from fire_toolkit.resolution.resolve import resolve
from fire_toolkit.results import drawn_text
from fire_toolkit.tables import Judgments, Labels, PoolSources, Qrels, Queries, asked_judgments
from fire_toolkit.tables.columns import PAIR, code_pairs, pair_rows
from fire_toolkit.words import table_in

POSITIVES = "positives"
_WON = 1 - 1e-12  # the greatest value of a measure, when nothing is left to win
WIDTH = 10  # characters of a bin, which holds from_chars ≤ length < to_chars


def drawn_as(name: str) -> Callable[[Any, str], str]:
    """Return what draws a table of that name, with the columns of data/paper.toml; nan is empty."""
    columns = table_in("reporting", "data/paper.toml")[name]

    def cell(row: Mapping[Any, Any], column: str) -> str:
        value, form = row[column], columns[column][1]
        if form.startswith("p") and row["measure"] != POSITIVES:
            value *= points(row["measure"])
        return "" if value != value else f"{value:{form.removeprefix('p')}}"

    def draw(table: pd.DataFrame, form: str) -> str:
        rows = [[cell(row, column) for column in columns] for row in table.to_dict("records")]
        return drawn_text(rows, [heading for heading, _ in columns.values()], form)

    return draw


def drawn_overlaps(comparisons: pd.DataFrame, form: str) -> str:
    """Draw overlap and RBO with a row for every two runs."""
    wide = comparisons.pivot_table(index=["run_a", "run_b"], columns="measure", values="value", sort=False)
    values = zip(wide.index, wide.to_numpy(), strict=True)
    rows = [[" & ".join(pair), *(f"{value:.4f}" for value in row)] for pair, row in values]
    names = [str(name).replace("(", "\n(" if form == "table" else "(") for name in wide]
    return drawn_text(rows, ["runs", *names], form)


def describe_data(
    judgments: Judgments,
    *,
    grades: Grades,
    level: str | None = None,
    labels: Labels | None = None,
    sources: PoolSources | None = None,
    datasets: pd.Series | None = None,
) -> pd.DataFrame:
    """Return FIRE's Table 2: one row for all judgments, each dataset, and the pairs that each run pooled.

    Args:
        judgments: one row for each annotator and pair.
        grades, level: as in `agreement`; a label whose grade is None is not a vote.
        labels: what `resolve` made of all judgments; unless given, by rule fire.
        sources: which run pooled which pair; rows `run <id>` are then given, and overlap.
        datasets: index query_id, values the dataset of the query; rows `dataset <name>`.

    Returns:
        Columns group (`all` first); pairs, labels: the pairs with a first answer and the votes among
        these, as in `agreement` (see `first_round`); resolved, relevant and irrelevant (pairs with a
        label, by its relevance), disagreement (pairs without one), of all judgments together, later rounds
        included; resolved_share of the pairs, relevant_share of the resolved; multiply_labelled (pairs with
        two first votes or more), and on these alone agreeing (percent agreement), unanimous (one label),
        alpha (Krippendorff), nan with the reason in note. Most of
        `resolved_share` are pairs with one vote: it is what the paper's table calls agreement, and says
        nothing of agreement.

    Raises:
        JoinError: a judged query has no dataset.
        UsageError, TableError: as `resolve` and `agreement`.
    """
    first = first_round(judgments)
    unit = code_pairs(first)[0]
    pairs = first[PAIR].iloc[np.unique(unit, return_index=True)[1]]
    labels = resolve(asked_judgments(judgments), grades=grades).labels if labels is None else labels
    relevance = np.full(len(pairs), np.nan)
    relevance[pair_rows(labels, pairs)] = labels["relevance"]
    of_votes = {"percent_agreement": "agreeing", "unanimous": "unanimous", "alpha": "alpha"}
    rows = []
    for group, own in _groups(pairs, datasets, sources):
        votes, known = Judgments(first[own[unit]]), pd.Series(relevance[own])
        resolved = known.dropna() >= 1
        found = agreement(votes, grades=grades, level=level, statistics=[*of_votes])
        rows.append(
            {
                "group": group,
                "pairs": len(known),
                "labels": int(votes["label"].map(grades).notna().sum()),
                "resolved": len(resolved),
                "relevant": int(resolved.sum()),
                "irrelevant": int((~resolved).sum()),
                "disagreement": len(known) - len(resolved),
                "resolved_share": known.notna().mean(),
                "relevant_share": resolved.mean(),
                "multiply_labelled": int(found["n_pairable"].iloc[0]),
                **dict(zip(of_votes.values(), found["value"], strict=True)),
                "note": found["note"].iloc[-1],
            }
        )
    return pd.DataFrame(rows)


def _groups(
    pairs: pd.DataFrame, datasets: pd.Series | None, sources: PoolSources | None
) -> Iterator[tuple[str, Bools]]:
    """Yield all pairs, those of each dataset, and those that each run pooled."""
    yield "all", np.ones(len(pairs), dtype=bool)
    if datasets is not None:
        words = "judgments: {n:,} queries have no dataset ({some}); expected one for each judged query"
        found = _of_each(pairs["query_id"], datasets, words)
        for name in sorted(found.unique()):
            yield f"dataset {name}", (found == name).to_numpy(dtype=bool)
    if sources is not None:
        for run_id, own in pooled_by(sources, pair_rows(sources, pairs), len(pairs)).items():
            yield f"run {run_id}", own.to_numpy(dtype=bool)


def _of_each(queries: pd.Series | pd.Index[str], known: pd.Series, words: str) -> pd.Series:
    """Return what is known of each query by its id; raise `JoinError` in these words where some lack it."""
    found = known[~known.index.duplicated()].reindex(queries)
    missing = found.index[found.isna()].unique()
    if len(missing):
        raise JoinError(words.format(n=len(missing), all=len(found), some=", ".join(missing[:3])))
    return found


def all_and_new(
    runs: Runs, original: Qrels, augmented: Qrels, measures: Sequence[str | Measure], *, sources: PoolSources
) -> pd.DataFrame:
    """Return FIRE's Table 4: each run's score with all judgments and as if it had not been pooled.

    Args:
        runs: as in `join_runs`.
        original, augmented: qrels; the queries of `original` count.
        measures: names or measures.
        sources: which run pooled which pair.

    Returns:
        Columns run_id, pooled (`yes` or `no`), measure, original, all (by the augmented qrels), new
        (pairs that only this run pooled are as in the original qrels), change (new − all), n_own (such
        pairs), n_own_relevant (those of them that only the labels made positive).
    """
    parsed, joined = parse_measures(measures), join_runs(runs, original, augmented)
    before, after = joined.label(original), joined.label(augmented)
    gained, pooled = (after.relevance >= 1) & (before.relevance < 1), joined.pooled(sources)
    rows = []
    for run_id in joined.places:
        own, is_pooled = own_pairs(pooled, {run_id}), "yes" if run_id in pooled else "no"
        views = before, after, after.reverted(before, own)
        rankings = [joined.ranking(run_id, each) for each in views]
        counts = int(own.sum()), int((own & gained).sum())
        for measure in parsed:
            was, by_all, new = (measure.aggregate(measure.values(each)) for each in rankings)
            rows.append((run_id, is_pooled, measure.name, was, by_all, new, new - by_all, *counts))
    names = ["run_id", "pooled", "measure", "original", "all", "new", "change", "n_own", "n_own_relevant"]
    return pd.DataFrame(rows, columns=names)


def _values_of(
    joined: JudgedPairs, original: Qrels, augmented: Qrels, measures: Sequence[Measure]
) -> dict[tuple[str, Measure], list[Floats]]:
    """Return each query's values by both qrels, of each measure and run."""
    labellings = [joined.label(qrels) for qrels in (original, augmented)]
    return {
        (run_id, measure): [measure.values(joined.ranking(run_id, each)) for each in labellings]
        for measure in measures
        for run_id in joined.places
    }


def by_length(
    runs: Runs,
    original: Qrels,
    augmented: Qrels,
    queries: Queries,
    measures: Sequence[str | Measure],
    *,
    most: int | None = None,
) -> pd.DataFrame:
    """Return positives per caption, and each run's scores and gains, by length of the caption.

    Args:
        runs, original, augmented, measures: as in `all_and_new`.
        queries: their texts; lengths are in characters.
        most: bins are doubled in width until so many at most hold a query; None leaves them as they are.

    Returns:
        Columns from_chars, to_chars, n_queries, run_id, measure, original, augmented, delta, low, high
        (limits of delta; nan where nothing is known), by bin from short to long; first the row with
        measure `positives` and no run_id, the mean number of positives; then runs and measures as
        given. Bins without a query have no row.

    Raises:
        JoinError: a query of the qrels has no text; as `join_runs`.
    """
    joined, parsed = join_runs(runs, original, augmented), parse_measures(measures)
    texts = queries.set_index("query_id")["text"]
    words = "queries: {n:,} of the qrels' {all:,} have no text ({some}), expected a caption of each"
    texts = _of_each(joined.queries, texts if (texts != "").any() else texts.replace("", np.nan), words)
    lengths, width = texts.str.len().to_numpy(dtype=np.int64), WIDTH
    while most is not None and len(np.unique(lengths // width)) > most:
        width *= 2
    bins = lengths // width
    counts = [joined.label(qrels).n_positives.astype(np.float64) for qrels in (original, augmented)]
    values = _values_of(joined, original, augmented, parsed)
    rows: list[tuple[Any, ...]] = []
    for number in np.unique(bins):
        own = bins == number
        place = number * width, (number + 1) * width, int(own.sum())
        old, new = (each[own] for each in counts)
        known = mean_interval(new - old)
        gain = new.mean() - old.mean(), known.low, known.high
        rows.append((*place, "", POSITIVES, old.mean(), new.mean(), *gain))
        for run_id, measure in product(joined.places, parsed):
            old, new = (each[own] for each in values[run_id, measure])
            known = change_interval(influences(new, measure), influences(old, measure), measure)
            before, after = measure.aggregate(old), measure.aggregate(new)
            gain = after - before, known.low, known.high
            rows.append((*place, run_id, measure.name, before, after, *gain))
    of_place = ["from_chars", "to_chars", "n_queries", "run_id", "measure"]
    return pd.DataFrame(rows, columns=[*of_place, "original", "augmented", "delta", "low", "high"])


def saturation(
    runs: Runs, original: Qrels, augmented: Qrels, measures: Sequence[str | Measure]
) -> pd.DataFrame:
    """Return the share of queries on which nothing is left to win: the measure has its greatest value, 1.

    Args:
        runs, original, augmented: as in `all_and_new`.
        measures: those whose best value is 1 (shares, larger is better).

    Returns:
        Columns measure, run_id, original, augmented (shares of queries), left (1 − augmented); for each
        measure the runs as given, then `any run` and `every run`: queries that at least one, or each,
        of them wins wholly. What no run wins is all that a benchmark can still measure with them.

    Raises:
        UsageError: a measure that is not a share.
    """
    parsed = parse_measures(measures)
    other = [m.name for m in parsed if m.definition.unit != "share" or not m.definition.larger_is_better]
    if other:
        raise UsageError(
            f"saturation of {', '.join(other)}; expected measures whose best value is 1, as C@10"
        )
    joined = join_runs(runs, original, augmented)
    values = _values_of(joined, original, augmented, parsed)
    rows = []
    for measure in parsed:
        won = np.stack([values[run_id, measure] for run_id in joined.places]) >= _WON
        both = [*won, won.any(axis=0), won.all(axis=0)]
        for name, own in zip([*joined.places, "any run", "every run"], both, strict=True):
            early, late = own.mean(axis=1).tolist()
            rows.append((measure.name, name, early, late, 1 - late))
    return pd.DataFrame(rows, columns=["measure", "run_id", "original", "augmented", "left"])


def by_similarity(
    runs: Runs,
    original: Qrels,
    augmented: Qrels,
    similarity: pd.Series,
    measures: Sequence[str | Measure] = (FIRST,),
) -> pd.DataFrame:
    """Return how like training captions the captions are that each run solves, and those it does not.

    Args:
        runs, original, augmented: as in `all_and_new`.
        similarity: index query_id, values the likeness of the caption to its nearest training captions.
        measures: a caption is solved by a run where the measure has its greatest value, 1: by C@k when a
            positive stands in the run's top k.

    Returns:
        Columns run_id, measure, qrels (`original`, `augmented`), n_solved, n_unsolved, solved, unsolved
        (mean similarity), difference (solved − unsolved), low, high, p (two-sided), both by Welch's t; nan
        where fewer than two captions are solved, or unsolved.

    Raises:
        JoinError: a query has no similarity, or nan.
    """
    joined = join_runs(runs, original, augmented)
    words = "similarity: {n:,} of {all:,} queries have none ({some}); expected a number for each"
    likeness = _of_each(joined.queries, similarity, words).to_numpy(dtype=np.float64)
    rows = []
    for (run_id, measure), both in _values_of(joined, original, augmented, parse_measures(measures)).items():
        for qrels, values in zip(("original", "augmented"), both, strict=True):
            parts = [likeness[is_own] for is_own in (values >= _WON, ~(values >= _WON))]
            solved, unsolved = (part.mean() if len(part) else np.nan for part in parts)
            known = welch_interval(*parts)
            row = (run_id, measure.name, qrels, *map(len, parts), solved, unsolved, solved - unsolved)
            rows.append((*row, known.low, known.high, known.p))
    names = ["run_id", "measure", "qrels", "n_solved", "n_unsolved", "solved", "unsolved"]
    return pd.DataFrame(rows, columns=[*names, "difference", "low", "high", "p"])
