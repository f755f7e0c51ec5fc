"""Which captions gain: positives and gains by caption length, saturation, likeness to training captions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.inference.intervals import change_interval, influences, mean_interval, welch_interval
from fire_toolkit.inference.judged_pairs import JudgedPairs, Runs, join_runs, values_of
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.measures.defaults import FIRST
from fire_toolkit.tables import Qrels, Queries

LENGTH_COLUMNS = {
    "from_chars": "int64",
    "to_chars": "int64",
    "n_queries": "int64",
    "run_id": "str",
    "measure": "str",
    "original": "float64",
    "augmented": "float64",
    "delta": "float64",
    "low": "float64",
    "high": "float64",
}
SATURATION_COLUMNS = {
    "measure": "str",
    "run_id": "str",
    "original": "float64",
    "augmented": "float64",
    "left": "float64",
}
SIMILARITY_COLUMNS = {
    "run_id": "str",
    "measure": "str",
    "qrels": "str",
    "n_solved": "int64",
    "n_unsolved": "int64",
    "solved": "float64",
    "unsolved": "float64",
    "difference": "float64",
    "low": "float64",
    "high": "float64",
    "p": "float64",
}
POSITIVES = "positives"


def by_length(
    runs: Runs,
    original: Qrels,
    augmented: Qrels,
    queries: Queries,
    measures: Sequence[str | Measure],
    *,
    width: int = 10,
) -> pd.DataFrame:
    """Return positives per caption, and each run's scores and gains, by length of the caption.

    Args:
        runs, original, augmented, measures: as in `all_and_new`.
        queries: their texts; lengths are in characters.
        width: of a bin, in characters, 1 or more; a bin holds from_chars ≤ length < to_chars.

    Returns:
        Columns from_chars, to_chars, n_queries, run_id, measure, original, augmented, delta, low, high
        (limits of delta; nan where nothing is known), by bin from short to long; first the row with
        measure `positives` and no run_id, the mean number of positives; then runs and measures as
        given. Bins without a query have no row.

    Raises:
        UsageError: width below 1.
        JoinError: a query of the qrels has no text; as `join_runs`.
    """
    if width < 1:
        raise UsageError(f"width is {width}; expected 1 character or more")
    parsed = parse_measures(measures)
    joined = join_runs(runs, original, augmented)
    bins = _lengths(joined, queries) // width
    before, after = joined.label(original), joined.label(augmented)
    columns: list[tuple[str, Measure | None, Floats, Floats]] = [
        ("", None, _n_positives(before), _n_positives(after))
    ]
    for run_id in joined.places:
        views = [joined.ranking(run_id, labelling) for labelling in (before, after)]
        columns += [(run_id, m, values_of(views[0], m), values_of(views[1], m)) for m in parsed]
    rows: list[dict[str, Any]] = []
    for number in np.unique(bins):
        own = bins == number
        place: dict[str, Any] = {"from_chars": number * width, "to_chars": (number + 1) * width}
        place["n_queries"] = int(own.sum())
        for run_id, measure, *values in columns:
            early, late = (each[own] for each in values)
            row = {"run_id": run_id, "measure": POSITIVES if measure is None else measure.name}
            rows.append(place | row | _gain(early, late, measure))
    return pd.DataFrame(rows, columns=list(LENGTH_COLUMNS)).astype(LENGTH_COLUMNS)


def _lengths(joined: JudgedPairs, queries: Queries) -> Ints:
    texts = queries.set_index("query_id")["text"].reindex(joined.queries)
    if texts.isna().any():
        missing = texts.index[texts.isna()]
        raise JoinError(f"queries: {len(missing):,} of the qrels' {len(texts):,} have no text "
                        f"({', '.join(missing[:3])}); are they of another collection?")  # fmt: skip
    return np.asarray(texts.str.len(), dtype=np.int64)


def _n_positives(labelling: CodedQrels) -> Floats:
    return labelling.ideal.n_positives.astype(np.float64)


def _gain(early: Floats, late: Floats, measure: Measure | None) -> dict[str, float]:
    """Return what a bin's queries have by both qrels, and the gain with its limits; None: a plain mean."""
    if measure is None:
        old, new = float(early.mean()), float(late.mean())
        found = mean_interval(late - early)
    else:
        old, new = (measure.aggregate(values) for values in (early, late))
        before, after = (influences(values, measure) for values in (early, late))
        found = change_interval(after, before, measure)
    return {"original": old, "augmented": new, "delta": new - old, "low": found.low, "high": found.high}


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
        raise UsageError(f"saturation of {', '.join(other)} is not known; expected measures that end at 1")
    joined = join_runs(runs, original, augmented)
    labellings = [joined.label(qrels) for qrels in (original, augmented)]
    rows = []
    for measure in parsed:
        won = [_won(joined, labelling, measure) for labelling in labellings]
        shares = [_shares(each) for each in won]
        for name, early in shares[0].items():
            late = shares[1][name]
            rows.append((measure.name, name, early, late, 1 - late))
    return pd.DataFrame(rows, columns=list(SATURATION_COLUMNS)).astype(SATURATION_COLUMNS)


def _won(joined: JudgedPairs, labelling: CodedQrels, measure: Measure) -> dict[str, Bools]:
    return {
        run_id: values_of(joined.ranking(run_id, labelling), measure) >= 1 - 1e-12 for run_id in joined.places
    }


def _shares(won: dict[str, Bools]) -> dict[str, float]:
    stacked = np.stack(list(won.values()))
    shares = {run_id: float(each.mean()) for run_id, each in won.items()}
    return shares | {
        "any run": float(stacked.any(axis=0).mean()),
        "every run": float(stacked.all(axis=0).mean()),
    }


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
    values = similarity[~similarity.index.duplicated()].reindex(joined.queries).to_numpy(dtype=np.float64)
    if np.isnan(values).any():
        missing = joined.queries[np.isnan(values)]
        raise JoinError(f"similarity: {len(missing):,} of {len(values):,} queries have none "
                        f"({', '.join(missing[:3])}); expected a number for each")  # fmt: skip
    labellings = {"original": joined.label(original), "augmented": joined.label(augmented)}
    solved = {
        (run_id, measure.name, name): values_of(joined.ranking(run_id, labelling), measure) == 1
        for measure in parse_measures(measures)
        for run_id in joined.places
        for name, labelling in labellings.items()
    }
    rows = []
    for key, own in solved.items():
        parts = values[own], values[~own]
        means = [float(part.mean()) if len(part) else np.nan for part in parts]
        found = welch_interval(*parts)
        counts = (len(parts[0]), len(parts[1]))
        limits = (found.low, found.high, found.p)
        rows.append((*key, *counts, *means, means[0] - means[1], *limits))
    return pd.DataFrame(rows, columns=list(SIMILARITY_COLUMNS)).astype(SIMILARITY_COLUMNS)
