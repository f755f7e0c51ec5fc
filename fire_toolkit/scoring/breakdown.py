"""Scores broken down by what a column of the queries says: one score for each of its values."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import NewType

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints
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
    wide = single.pivot(index="query_id", columns=["run_id", "measure", "qrels"], values="value")
    names = sorted(scores["qrels"].unique(), key=_QRELS.index)
    run_ids, measures = (scores[key].unique() for key in ("run_id", "measure"))
    rows = []
    for aspect, own in _queries_of(list(wide.index), queries, column).items():
        for run_id, measure in product(run_ids, measures):
            aggregate = parse_measure(measure).aggregate
            found = [aggregate(wide[run_id, measure, name].to_numpy()[own]) for name in names[:2]]
            found += [found[1] - found[0]] if len(found) > 1 else []
            for name, value in zip(names, found, strict=True):
                rows.append((aspect, own.size, run_id, name, ALL, measure, value))
    return BreakdownScores(pd.DataFrame(rows, columns=["aspect", "n_queries", *SCORES.names]))


def _queries_of(query_ids: list[str], queries: Queries, column: str) -> dict[str, Ints]:
    """Return the places of each value's queries among `query_ids`, values sorted."""
    values = dict(zip(queries["query_id"], queries[column].astype("str"), strict=True))
    absent = [query_id for query_id in query_ids if query_id not in values]
    if absent:
        raise JoinError(
            f"queries: {len(absent):,} queries of the qrels are not among them ({absent[0]}); expected the "
            "queries of this collection"
        )
    found: dict[str, list[int]] = {}
    for place, query_id in enumerate(query_ids):
        for value in dict.fromkeys(part.strip() for part in values[query_id].split(SEPARATOR)):
            found.setdefault(value, []).append(place)
    return {value: np.array(found[value], dtype=np.int64) for value in sorted(found)}
