"""Intervals for means and medians over queries: bootstrap over queries or clusters, exact for shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints, mean
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.inference.binomial import check_confidence, clopper_pearson
from fire_toolkit.inference.resampling import Resampled, bootstrap, summable
from fire_toolkit.measures import Measure


def bootstrap_means(values: Floats, **options: Any) -> Floats:
    """Return what `bootstrap_means_of_each` does for one table, with its options."""
    return bootstrap_means_of_each([values], **options)[0]


def bootstrap_means_of_each(
    tables: Sequence[Floats],
    *,
    clusters: Ints | None = None,
    is_median: Bools | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> list[Floats]:
    """Return for each table the column means of resamples of queries, or of whole clusters of queries.

    Args:
        tables: (n_queries, n_columns) each; those of equally many queries share their draws.
        clusters: (n_queries,) code of each query's cluster from 0; clusters are drawn with replacement
            and the mean is over the queries drawn. None: each query is its own.
        is_median: (n_columns,) of which columns the median is given in place of the mean.
        n_resamples: 1 or more; seed: 0 or more.

    Returns:
        (n_resamples, n_columns) each: all columns share the draws. A table's numbers do not depend on what
        stands beside it.
    """
    columns = np.flatnonzero(is_median) if is_median is not None else np.empty(0, dtype=np.int64)
    if clusters is None:
        resampled = [Resampled(summable(values), columns) for values in tables]
    else:
        resampled = [
            Resampled(summable(cluster_sums(values, clusters)), columns, (clusters, values[:, columns]))
            for values in tables
        ]
    found: list[Floats] = []
    for sums, medians in bootstrap(resampled, n_resamples=n_resamples, seed=seed):
        n = len(tables[len(found)])
        means = sums / max(n, 1) if clusters is None else sums[:, :-1] / sums[:, -1:]
        means[:, columns] = medians
        found.append(means)
    return found


def are_medians(measures: Sequence[Measure | None]) -> Bools:
    """Return which measures aggregate by the median; None is a plain mean."""
    return np.array([m is not None and m.definition.aggregate == "median" for m in measures])


def terms_of(values: Floats, measures: Sequence[Measure | None]) -> Floats:
    """Return values, a column for each measure, as what means are taken of; None is a plain mean."""
    columns = zip(values.T, measures, strict=True)
    return np.column_stack([column if m is None else m.terms(column) for column, m in columns])


def centres(terms: Floats, measures: Sequence[Measure | None]) -> Floats:
    """Return the mean, rounded once, or the median of each column of `terms_of`, as one row."""
    columns = zip(terms.T, are_medians(measures), strict=True)
    return np.array([[np.median(column) if is_median else mean(column) for column, is_median in columns]])


def of_means(means: Floats, measures: Sequence[Measure | None]) -> Floats:
    """Return means or medians of `terms_of`, a column for each measure, as the measures' aggregates."""
    columns = zip(means.T, measures, strict=True)
    return np.column_stack([column if m is None else m.of_mean(column) for column, m in columns])


def cluster_sums(values: Floats, clusters: Ints) -> Floats:
    """Return for each cluster the sum of each column, and last the number of its queries."""
    n_clusters = int(clusters.max(initial=-1)) + 1
    columns = [np.bincount(clusters, weights=column, minlength=n_clusters) for column in values.T]
    return np.column_stack([*columns, np.bincount(clusters, minlength=n_clusters)])


def percentiles(draws: Floats, *, confidence: float) -> tuple[Floats, Floats]:
    """Return for each column the limits between which the middle `confidence` of the draws lie."""
    check_confidence(confidence)
    rest = (1 - confidence) / 2
    low, high = np.quantile(draws, [rest, 1 - rest], axis=0)
    return np.asarray(low), np.asarray(high)


def is_share_of_queries(measure: Measure) -> bool:
    """Return whether a measure is 0 or 1 for each query, so that its mean is a binomial share."""
    return measure.definition.is_binary


def exact_limits(values: Floats, *, confidence: float) -> tuple[float, float]:
    """Return the Clopper–Pearson interval of the mean of values that are 0 or 1."""
    return clopper_pearson(int(values.sum()), len(values), confidence=confidence)


def code_clusters(queries: Sequence[str] | pd.Index[str], clusters: pd.Series | None) -> Ints | None:
    """Return the cluster of each query as a code from 0; None where no clusters are given.

    Args:
        queries: the universe.
        clusters: index query_id, values of any kind (a column of Queries: a video, an annotator).

    Raises:
        JoinError: a query has no cluster.
        UsageError: there are fewer than two clusters.
    """
    if clusters is None:
        return None
    known = clusters[~clusters.index.duplicated()]
    found = known.reindex(pd.Index(queries))
    if found.isna().any():
        missing = found.index[found.isna()]
        raise JoinError(f"clusters: {len(missing):,} of {len(found):,} queries have none "
                        f"({', '.join(map(str, missing[:3]))}); expected one for each query")  # fmt: skip
    codes, values = pd.factorize(found)
    if len(values) < 2:
        raise UsageError(f"clusters: all queries are in one ({values[0]!r}); expected two or more")
    return np.asarray(codes, dtype=np.int64)
