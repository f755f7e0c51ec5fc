"""Which captions gain: positives and gains by caption length, saturation, likeness to training captions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.draws import check_draws, draw_orders
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.inference.intervals import (
    are_medians,
    bootstrap_means,
    bootstrap_means_of_each,
    of_means,
    percentiles,
    terms_of,
)
from fire_toolkit.inference.judged_pairs import JudgedPairs, Runs, Tell, join_runs, silent, values_of
from fire_toolkit.inference.resampling import summable
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.measures.defaults import solved_at
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
    confidence: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return positives per caption, and each run's scores and gains, by length of the caption.

    Args:
        runs, original, augmented, measures: as in `all_and_new`.
        queries: their texts; lengths are in characters.
        width: of a bin, in characters, 1 or more; a bin holds from_chars ≤ length < to_chars.
        confidence, n_resamples, seed: of the bootstrap interval of delta, over the bin's queries.

    Returns:
        Columns from_chars, to_chars, n_queries, run_id, measure, original, augmented, delta, low, high
        (limits of delta; nan in a bin of one query), by bin from short to long; first the row with
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
    of_column = [None, *parsed * len(joined.places)]
    columns = [("", POSITIVES, _n_positives(before), _n_positives(after))]
    for run_id in joined.places:
        views = [joined.ranking(run_id, labelling) for labelling in (before, after)]
        columns += [(run_id, m.name, values_of(views[0], m), values_of(views[1], m)) for m in parsed]
    rows: list[dict[str, Any]] = []
    for number in np.unique(bins):
        own = bins == number
        early, late = (np.column_stack([column[side][own] for column in columns]) for side in (2, 3))
        early, late = (terms_of(side, of_column) for side in (early, late))
        low, high = _limits(early, late, of_column, confidence, n_resamples, seed)
        is_median = are_medians(of_column)
        centres = [np.where(is_median, np.median(v, axis=0), v.mean(axis=0)) for v in (early, late)]
        means = of_means(np.stack(centres), of_column)
        place: dict[str, Any] = {"from_chars": number * width, "to_chars": (number + 1) * width}
        place["n_queries"] = int(own.sum())
        for column, (run_id, name, *_) in enumerate(columns):
            row = {"run_id": run_id, "measure": name, "original": means[0][column]}
            row |= {"augmented": means[1][column], "delta": means[1][column] - means[0][column]}
            rows.append(place | row | {"low": low[column], "high": high[column]})
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


def _limits(
    early: Floats,
    late: Floats,
    measures: list[Measure | None],
    confidence: float,
    n_resamples: int,
    seed: int,
) -> tuple[Floats, Floats]:
    """Return the limits of the gain of each column's aggregate, from its terms."""
    if len(early) < 2:
        nothing = np.full(early.shape[1], np.nan)
        return nothing, nothing
    both = measures * 2
    terms = np.hstack([early, late])
    draws = bootstrap_means(terms, is_median=are_medians(both), n_resamples=n_resamples, seed=seed)
    draws = of_means(draws, both)
    parts = np.split(draws, 2, axis=1)
    return percentiles(parts[1] - parts[0], confidence=confidence)


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
    *,
    k: int = 1,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    tell: Tell = silent,
) -> pd.DataFrame:
    """Return how like training captions the captions are that each run solves, and those it does not.

    Args:
        runs, original, augmented: as in `all_and_new`.
        similarity: index query_id, values the likeness of the caption to its nearest training captions.
        k: a caption is solved when a positive stands in the run's top k (C@k).
        confidence, n_resamples, seed: of the interval (bootstrap) and the test (labels permuted).
        tell: is told what is being worked on, for those who wait.

    Returns:
        Columns run_id, measure, qrels (`original`, `augmented`), n_solved, n_unsolved, solved, unsolved
        (mean similarity), difference (solved − unsolved), low, high, p (two-sided, (c + 1) / (B + 1));
        nan where all captions, or none, are solved.

    Raises:
        JoinError: a query has no similarity, or nan.
    """
    check_draws(n_resamples, seed)
    joined = join_runs(runs, original, augmented)
    values = similarity[~similarity.index.duplicated()].reindex(joined.queries).to_numpy(dtype=np.float64)
    if np.isnan(values).any():
        missing = joined.queries[np.isnan(values)]
        raise JoinError(f"similarity: {len(missing):,} of {len(values):,} queries have none "
                        f"({', '.join(missing[:3])}); expected a number for each")  # fmt: skip
    measure = solved_at(k)
    labellings = {"original": joined.label(original), "augmented": joined.label(augmented)}
    solved = {
        (run_id, name): values_of(joined.ranking(run_id, labelling), measure) == 1
        for run_id in joined.places
        for name, labelling in labellings.items()
    }
    p_values = permutation_p(values, list(solved.values()), n_resamples=n_resamples, seed=seed)
    tell(f"{n_resamples:,} resamples of {len(joined.places)} runs")
    limits = _limits_between(values, list(solved.values()), confidence, n_resamples, seed)
    rows = []
    for ((run_id, name), own), p, between in zip(solved.items(), p_values, limits, strict=True):
        means = [float(part.mean()) if len(part) else np.nan for part in (values[own], values[~own])]
        counts = (int(own.sum()), int((~own).sum()))
        rows.append((run_id, measure.name, name, *counts, *means, means[0] - means[1], *between, p))
    return pd.DataFrame(rows, columns=list(SIMILARITY_COLUMNS)).astype(SIMILARITY_COLUMNS)


def _limits_between(
    values: Floats, chosen: Sequence[Bools], confidence: float, n_resamples: int, seed: int
) -> list[tuple[float, float]]:
    """Return for each choice the limits of the mean of chosen values less that of others.

    nan where all, or none, are chosen.
    """
    defined = [own for own in chosen if own.any() and not own.all()]
    draws = [
        bootstrap_means_of_each(parts, n_resamples=n_resamples, seed=seed + place)
        for place, parts in enumerate(
            [[values[own, None] for own in defined], [values[~own, None] for own in defined]]
        )
    ]
    between = (percentiles(one - other, confidence=confidence) for one, other in zip(*draws, strict=True))
    limits = iter([(float(low[0]), float(high[0])) for low, high in between])
    return [next(limits) if own.any() and not own.all() else (np.nan, np.nan) for own in chosen]


def permutation_p(values: Floats, chosen: Sequence[Bools], *, n_resamples: int, seed: int) -> list[float]:
    """Return for each choice the two-sided p of the difference of the means of chosen values and others.

    Who is chosen is drawn anew: all choices share the draws. Equal sums count, and are told exactly.
    nan where all, or none, are chosen.
    """
    centred = summable(values[:, None] - values.mean())[:, 0]
    n_chosen = np.array([int(own.sum()) for own in chosen])
    is_defined = (n_chosen > 0) & (n_chosen < len(values))
    ends, end_of = np.unique(n_chosen[is_defined], return_inverse=True)
    sums = np.empty((n_resamples, len(ends)))
    if len(ends):
        orders = draw_orders(centred, least=int(ends[0]), n_resamples=n_resamples, seed=seed)
        for rest, drawn in zip(sums, orders, strict=True):
            rest[:] = np.add.reduceat(drawn, ends)[::-1].cumsum()[::-1]
    sums = centred.sum() - sums[:, end_of]
    observed = np.array([centred[own].sum() for own in chosen])[is_defined]
    n_as_far = np.count_nonzero(np.abs(sums) >= np.abs(observed), axis=0)
    p_values = np.full(len(chosen), np.nan)
    p_values[is_defined] = (n_as_far + 1) / (n_resamples + 1)
    return list(p_values.tolist())
