"""Scores broken down by what a column of the queries says: one score for each of its values."""

from __future__ import annotations

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
    if set(scores["query_id"]) == {ALL}:
        raise JoinError("scores: no values per query, which a breakdown needs; score with per_query")
    keys = ["run_id", "query_id", "measure", "qrels"]
    axes = [list(dict.fromkeys(scores[key])) for key in keys]
    axes[1] = [ALL, *(query_id for query_id in axes[1] if query_id != ALL)]
    axes[3].sort(key=_QRELS.index)
    run_ids, query_ids, measures, names = axes
    places = pd.MultiIndex.from_product(axes, names=keys)
    given = scores.set_index(keys)["value"]
    if len(given) != len(places) or not given.index.is_unique or not places.isin(given.index).all():
        raise JoinError(
            f"scores: {len(given):,} rows, expected one for each run, query, measure and qrels, which makes "
            f"{len(places):,}; give the table as score_runs returned it"
        )
    ordered = given.reindex(places).reset_index()[list(SCORES.names)]
    values = ordered["value"].to_numpy().reshape([len(axis) for axis in axes])
    parsed = [parse_measure(name) for name in measures]
    whole = ordered[ordered["query_id"] == ALL].reset_index(drop=True)
    parts = []
    for aspect, own in _queries_of(query_ids[1:], queries, column).items():
        of_own = values[:, 1 + own][..., : min(2, len(names))]
        found = np.array([[[m.aggregate(of_own[r, :, i, n]) for n in range(of_own.shape[-1])]
                           for i, m in enumerate(parsed)] for r in range(len(run_ids))])  # fmt: skip
        if len(names) > 1:
            found = np.concatenate([found, found[..., 1:] - found[..., :1]], axis=-1)
        part = whole.assign(value=found.ravel())
        part.insert(0, "aspect", aspect)
        part.insert(1, "n_queries", own.size)
        parts.append(part)
    return BreakdownScores(pd.concat(parts, ignore_index=True))


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
