"""Scores broken down by what a column of the queries says: one score for each of its values."""

from itertools import product
from math import prod
from typing import NewType

import pandas as pd

from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.measures import parse_measure
from fire_toolkit.scoring.score import ALL
from fire_toolkit.tables import SCORES, Queries, Scores

BreakdownScores = NewType("BreakdownScores", pd.DataFrame)
SEPARATOR = ";"
_QRELS = ("original", "augmented", "delta")
_KEYS = ["run_id", "query_id", "measure", "qrels"]


def score_breakdown(scores: Scores, queries: Queries, *, column: str) -> BreakdownScores:
    """Return each score over the queries of each value of `column` alone.

    Args:
        scores: what `score_runs` returned with `per_query=True`.
        queries: every query of the scores; text in `column`. A value that holds `;` is several, and the
            query counts in each (CIRCO's semantic_aspects); an empty one is a value like others.
        column: of `queries`.

    Returns:
        Columns aspect, n_queries (how many queries have it), then those of Scores with query_id `all`;
        ordered by aspect, then as `scores`. Ranks of queries without a positive found are those of the
        whole. Each value is the mean or median over the aspect's queries; delta is augmented minus original.

    Raises:
        UsageError: the queries have no such column.
        JoinError: a query of the scores is not in `queries`; the scores hold no single queries, or not one
            row for each run, query, measure and qrels. The order of rows does not matter.

    Examples:
        >>> from fire_toolkit.tables import check_queries
        >>> rows = [("m", "original", "all", "RR", 0.5), ("m", "original", "q1", "RR", 1.0)]
        >>> names = ["run_id", "qrels", "query_id", "measure", "value"]
        >>> scores = Scores(pd.DataFrame([*rows, ("m", "original", "q2", "RR", 0.0)], columns=names))
        >>> table = pd.DataFrame({"query_id": ["q1", "q2"], "text": "a", "kind": ["x;y", "y"]})
        >>> score_breakdown(scores, check_queries(table), column="kind")[["aspect", "n_queries", "value"]]
          aspect  n_queries  value
        0      x          1    1.0
        1      y          2    0.5
    """
    if column not in queries.columns:
        raise UsageError(f"queries have no column {column!r}; found {', '.join(queries.columns)}")
    single = scores[scores["query_id"] != ALL]
    if single.empty:
        raise JoinError("scores: no values per query, which a breakdown needs; score with per_query")
    wanted = prod(scores[key].nunique() for key in _KEYS)
    if len(scores) != wanted or scores.duplicated(_KEYS).any():
        raise JoinError(
            f"scores: {len(scores):,} rows, expected one for each run, query, measure and qrels, which makes "
            f"{wanted:,}; give the table as score_runs returned it"
        )
    own = queries[queries["query_id"].isin(single["query_id"])]
    absent = sorted(set(single["query_id"]) - set(own["query_id"]))
    if absent:
        raise JoinError(
            f"queries: {len(absent):,} queries of the qrels are not among them ({absent[0]}); expected the "
            "queries of this collection"
        )
    aspects = own.assign(aspect=own[column].astype("str").str.split(SEPARATOR)).explode("aspect")
    aspects = aspects.assign(aspect=aspects["aspect"].str.strip())[["query_id", "aspect"]].drop_duplicates()
    wide = single.pivot(index="query_id", columns=["run_id", "measure", "qrels"], values="value")
    names = sorted(scores["qrels"].unique(), key=_QRELS.index)
    rows = []
    for aspect, query_ids in aspects.groupby("aspect")["query_id"]:
        part = wide.loc[query_ids]
        for run_id, measure in product(scores["run_id"].unique(), scores["measure"].unique()):
            aggregate = parse_measure(measure).aggregate
            found = [aggregate(part[run_id, measure, name].to_numpy()) for name in names[:2]]
            found += [found[1] - found[0]] if len(found) > 1 else []
            for name, value in zip(names, found, strict=True):
                rows.append((aspect, len(part), run_id, name, ALL, measure, value))
    return BreakdownScores(pd.DataFrame(rows, columns=["aspect", "n_queries", *SCORES.names]))
