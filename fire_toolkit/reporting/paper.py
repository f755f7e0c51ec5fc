"""The tables of the FIRE paper and its findings on captions, and how they are drawn for people."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.agreement.table import agreement
from fire_toolkit.arrays import Bools, Floats
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.inference.intervals import change_interval, influences, mean_interval, welch_interval
from fire_toolkit.inference.judged_pairs import JudgedPairs, Runs, join_runs, own_pairs, pooled_by
from fire_toolkit.inference.limits import Estimate
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.measures.defaults import FIRST
from fire_toolkit.reporting.plots import points
from fire_toolkit.resolution.judgments import first_round
from fire_toolkit.resolution.resolve import resolve
from fire_toolkit.resolution.votes import INCLUSION
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
    voted = {*PAIR, "annotator_id", "label", INCLUSION}
    first = Judgments(first[[name for name in first.columns if name in voted]])
    unit = code_pairs(first)[0]
    pairs = first[PAIR].iloc[np.unique(unit, return_index=True)[1]]
    labels = resolve(asked_judgments(judgments), grades=grades).labels if labels is None else labels
    relevance = np.full(len(pairs), np.nan)
    relevance[pair_rows(labels, pairs)] = labels["relevance"]
    rows = []
    for group, own in _groups(pairs, datasets, sources):
        votes = Judgments(first[own[unit]])
        names = ["percent_agreement", "unanimous", "alpha"]
        found = agreement(votes, grades=grades, level=level, statistics=names)
        of_votes = dict(zip(("agreeing", "unanimous", "alpha"), found["value"], strict=True))
        n_pairs, n_resolved = int(own.sum()), int((~np.isnan(relevance[own])).sum())
        n_relevant = int((relevance[own] >= 1).sum())
        is_vote = votes["label"].map({label: grade is not None for label, grade in grades.items()})
        rows.append(
            {
                "group": group,
                "pairs": n_pairs,
                "labels": int(is_vote.eq(True).sum()),
                "resolved": n_resolved,
                "relevant": n_relevant,
                "irrelevant": n_resolved - n_relevant,
                "disagreement": n_pairs - n_resolved,
                "resolved_share": n_resolved / n_pairs if n_pairs else np.nan,
                "relevant_share": n_relevant / n_resolved if n_resolved else np.nan,
                "multiply_labelled": int(found["n_pairable"].iloc[0]),
                **of_votes,
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
        found = pairs["query_id"].map(datasets[~datasets.index.duplicated()])
        if found.isna().any():
            missing = pairs.loc[found.isna(), "query_id"].unique()
            some = ", ".join(missing[:3])
            raise JoinError(f"judgments: {len(missing):,} queries have no dataset ({some}); "
                            "expected one for each judged query")  # fmt: skip
        for name in sorted(found.unique()):
            yield f"dataset {name}", (found == name).to_numpy(dtype=bool)
    if sources is not None:
        for run_id, own in pooled_by(sources, pair_rows(sources, pairs), len(pairs)).items():
            yield f"run {run_id}", own.to_numpy(dtype=bool)


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
    parsed = parse_measures(measures)
    joined = join_runs(runs, original, augmented)
    before, after = joined.label(original), joined.label(augmented)
    pooled = joined.pooled(sources)
    rows = []
    for run_id in joined.places:
        own = own_pairs(pooled, {run_id})
        gained = own & (after.relevance >= 1) & (before.relevance < 1)
        views = {"original": before, "all": after, "new": after.reverted(before, own)}
        rankings = {name: joined.ranking(run_id, each) for name, each in views.items()}
        for measure in parsed:
            row: dict[str, Any] = {"run_id": run_id, "pooled": "yes" if run_id in pooled else "no"}
            row["measure"] = measure.name
            row |= {name: measure.aggregate(measure.values(each)) for name, each in rankings.items()}
            row["change"] = row["new"] - row["all"]
            rows.append(row | {"n_own": int(own.sum()), "n_own_relevant": int(gained.sum())})
    return pd.DataFrame(rows)


def _values_of(
    joined: JudgedPairs, original: Qrels, augmented: Qrels, measures: Sequence[str | Measure]
) -> dict[tuple[str, Measure], list[Floats]]:
    """Return each query's values by both qrels, of each measure and run."""
    labellings = [joined.label(qrels) for qrels in (original, augmented)]
    return {
        (run_id, measure): [measure.values(joined.ranking(run_id, each)) for each in labellings]
        for measure in parse_measures(measures)
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
    joined = join_runs(runs, original, augmented)
    texts = queries.set_index("query_id")["text"].reindex(joined.queries)
    missing = texts.index[texts.isna() | bool((texts == "").all())]
    if len(missing):
        raise JoinError(f"queries: {len(missing):,} of the qrels' {len(texts):,} have no text "
                        f"({', '.join(missing[:3])}), expected a caption of each")  # fmt: skip
    lengths, width = texts.str.len().to_numpy(dtype=np.int64), WIDTH
    while most is not None and len(np.unique(lengths // width)) > most:
        width *= 2
    bins = lengths // width
    counts = [joined.label(qrels).n_positives.astype(np.float64) for qrels in (original, augmented)]
    values = _values_of(joined, original, augmented, measures)
    of_runs = [(run_id, measure, values[run_id, measure]) for run_id in joined.places
               for measure in dict.fromkeys(each for _, each in values)]  # fmt: skip
    rows = []
    for number in np.unique(bins):
        own = bins == number
        place = {"from_chars": number * width, "to_chars": (number + 1) * width, "n_queries": int(own.sum())}
        early, late = (each[own] for each in counts)
        row = _gain(early.mean(), late.mean(), mean_interval(late - early))
        rows.append(place | {"run_id": "", "measure": POSITIVES} | row)
        for run_id, measure, both in of_runs:
            old, new = (measure.aggregate(each[own]) for each in both)
            before, after = (influences(each[own], measure) for each in both)
            row = _gain(old, new, change_interval(after, before, measure))
            rows.append(place | {"run_id": run_id, "measure": measure.name} | row)
    return pd.DataFrame(rows)


def _gain(old: float, new: float, known: Estimate) -> dict[str, float]:
    return {"original": old, "augmented": new, "delta": new - old, "low": known.low, "high": known.high}


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
        won = {run_id: np.stack(values[run_id, measure]) >= _WON for run_id in joined.places}
        every = np.stack(list(won.values()))
        for name, own in {**won, "any run": every.any(axis=0), "every run": every.all(axis=0)}.items():
            early, late = own.mean(axis=1).tolist()
            row = {"measure": measure.name, "run_id": name, "original": early, "augmented": late}
            rows.append(row | {"left": 1 - late})
    return pd.DataFrame(rows)


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
    likeness = similarity[~similarity.index.duplicated()].reindex(joined.queries).to_numpy(dtype=np.float64)
    if np.isnan(likeness).any():
        missing = joined.queries[np.isnan(likeness)]
        raise JoinError(f"similarity: {len(missing):,} of {len(likeness):,} queries have none "
                        f"({', '.join(missing[:3])}); expected a number for each")  # fmt: skip
    rows = []
    for (run_id, measure), both in _values_of(joined, original, augmented, measures).items():
        for qrels, values in zip(("original", "augmented"), both, strict=True):
            is_solved = values >= _WON
            parts = {"solved": likeness[is_solved], "unsolved": likeness[~is_solved]}
            known = welch_interval(*parts.values())
            means = {name: float(part.mean()) if len(part) else np.nan for name, part in parts.items()}
            row: dict[str, Any] = {"run_id": run_id, "measure": measure.name, "qrels": qrels}
            row |= {f"n_{name}": len(part) for name, part in parts.items()} | means
            row["difference"] = means["solved"] - means["unsolved"]
            rows.append(row | {"low": known.low, "high": known.high, "p": known.p})
    return pd.DataFrame(rows)
