"""Ranked lists to a Run, with anomalies counted as in matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.formats.runs.kept import are_among
from fire_toolkit.formats.runs.listed import Listed
from fire_toolkit.formats.runs.ranked import (
    Ranked,
    count_duplicates,
    count_missing,
    count_shapes,
    count_ties,
    ties_of,
)
from fire_toolkit.formats.runs.score_anomalies import ScoreAnomalies
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.tables import Run, check_run


def run_of_lists(listed: Listed, path: Path, *, run_id: str | None) -> Run:
    """Return ranked lists as a Run, ranked by the one rule unless they have ranks."""
    name = run_id or listed.run_id or path.name.removesuffix(".gz").partition(".")[0]
    same = np.zeros(len(listed.scored), dtype=np.int8)
    named = listed.scored.assign(run_id=pd.Categorical.from_codes(same, pd.Index([name], dtype="str")))
    return check_run(named, where=str(path)) if listed.has_ranks else rank_run(named, where=str(path))


def rank_lists(
    listed: Listed,
    path: Path,
    *,
    run_id: str | None,
    depth: int,
    positives: pd.DataFrame,
    others: pd.DataFrame,
    spare: int = 0,
    may_flood: bool = False,
) -> tuple[Run, ScoreAnomalies]:
    """Return the lists' top `depth`, their positives below it, and anomalies.

    Pairs whose score is NaN or infinite, and the lowest score of flooded queries, are left out and counted.

    Args:
        listed: the lists.
        path: where they come from.
        run_id: the run's id, by default theirs.
        depth: how many docs of a query are kept.
        positives: columns query_id, doc_id: pairs that are kept at any rank.
        others: further such pairs, whose ties are not counted.
        spare: 1 to keep one doc below the top too, 0 otherwise.
        may_flood: whether many docs may share the lowest score, as in a list that is cut within a tie.
    """
    anomalies = ScoreAnomalies()
    score = listed.scored["score"].to_numpy(dtype=np.float64)
    count_missing(score, anomalies, lambda place: _codes_at(listed, place))
    finite = Listed(listed.scored[np.isfinite(score)], listed.run_id, (), listed.has_ranks)
    run = run_of_lists(finite, path, run_id=run_id)
    is_positive = are_among(run, positives)
    flooded = _count_shapes(run, anomalies, may_flood=may_flood)
    run = Run(run[~flooded].reset_index(drop=True))
    is_positive = is_positive[~flooded]
    _count_ties(run, anomalies, is_positive, depth)
    query, doc = (np.asarray(run[name].cat.codes, dtype=np.int64) for name in ("query_id", "doc_id"))
    ranked = Ranked(query, doc, run["rank"].to_numpy(), run["score"].to_numpy() + 0.0, anomalies)
    count_duplicates(ranked, depth)
    kept = (run["rank"].to_numpy() <= depth + spare) | is_positive | are_among(run, others)
    return check_run(run[kept], where=str(path)), anomalies


def ids_of(listed: Listed) -> tuple[list[str], list[str]]:
    """Return the sorted ids of queries and docs, which the examples of anomalies refer to."""
    return tuple(sorted(map(str, listed.scored[name].unique())) for name in ("query_id", "doc_id"))  # type: ignore[return-value]


def _codes_at(listed: Listed, place: int) -> tuple[int, int]:
    row = listed.scored.iloc[place]
    queries, docs = ids_of(listed)
    return queries.index(str(row["query_id"])), docs.index(str(row["doc_id"]))


def _count_shapes(run: Run, anomalies: ScoreAnomalies, *, may_flood: bool) -> Any:
    """Count constant and flooded queries; return which rows are a flood."""
    query, score = run["query_id"].array.codes, run["score"].to_numpy()
    n_queries = len(run["query_id"].cat.categories)
    low, high = np.full(n_queries, np.inf), np.full(n_queries, -np.inf)
    np.minimum.at(low, query, score)
    np.maximum.at(high, query, score)
    n_docs = np.bincount(query, minlength=n_queries)
    at_low = np.bincount(query[score == low[query]], minlength=n_queries)
    at_low = np.where((low < high) & may_flood, 0, at_low)
    flooded = count_shapes(anomalies, low, high, at_low, n_docs, 0)
    return flooded[query] & (score == low[query])


def _count_ties(run: Run, anomalies: ScoreAnomalies, is_positive: Any, depth: int) -> None:
    query, score = run["query_id"].array.codes, run["score"].to_numpy()
    count_ties(anomalies, query, run["rank"].to_numpy(), score, depth)
    equal = ties_of(query, score)
    either = equal | np.append(equal[1:], False) if len(equal) else equal
    anomalies.tied_positives = int(np.count_nonzero(either & is_positive))
