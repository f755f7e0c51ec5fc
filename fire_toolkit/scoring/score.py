"""Runs × qrels × measures → scores, with notes; the same over recall, rank, or a column of the queries."""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple, NewType

import numpy as np
import pandas as pd

from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.matching.coded import code_together
from fire_toolkit.matching.joining import AnyRun, join_stored, list_stored
from fire_toolkit.measures import Measure, parse_measure, parse_measures
from fire_toolkit.measures.defaults import BY_RANK, PRECISION_AT_RECALL
from fire_toolkit.measures.definition import values_of
from fire_toolkit.measures.depths import Reach, note_depths
from fire_toolkit.measures.judged import note_unjudged, rises_of
from fire_toolkit.scoring.notes import notes_on_qrels, notes_on_run, notes_on_ties
from fire_toolkit.tables import SCORES, Qrels, Queries, Scores

BreakdownScores = NewType("BreakdownScores", pd.DataFrame)
ALL = "all"
RECALLS = tuple(step / 10 for step in range(11))
SEPARATOR = ";"
_QRELS = ("original", "augmented", "delta")
_KEYS = ["run_id", "query_id", "measure", "qrels"]


class Scoring(NamedTuple):
    """What `score_runs` returns: the Scores table, and notes on what a reader of it must know."""

    scores: Scores
    notes: tuple[str, ...]


def score_runs(
    runs: AnyRun | Sequence[AnyRun],
    qrels: Qrels,
    measures: Sequence[str | Measure],
    *,
    augmented: Qrels | None = None,
    per_query: bool = False,
    ties: str | None = None,
    doc_order: Sequence[str] | None = None,
) -> Scoring:
    """Return the scores of every run under every measure, by the original and the augmented qrels.

    The queries that count are those of `qrels`, also those without a positive, which score 0. A query
    missing from a run scores 0, and has the worst rank under MedR and MnR: one past the run's deepest
    rank. Queries that only the run has are ignored. A doc is a positive from relevance 1; below 0 it
    is pooled but not judged. Docs of equal score stand as the run has them (doc id descending) unless
    `ties` names another rule.

    Args:
        runs: Run tables, each of one or more runs; or runs that are read a block at a time and need not
            fit in memory, such as `formats.runs.read.open_run` returns.
        qrels: the original qrels.
        measures: names (see `parse_measure`) or measures; one given twice is scored once.
        augmented: the corrected qrels; its queries must be among those of `qrels`.
        per_query: whether the value of each query is listed below the aggregate.
        ties: a rule of `matching.ties.TIE_RULES` for docs of equal score, applied under each qrels by
            itself; a note then says how many queries a tie could change, and the scores at either end.
            None: the order of the run, without looking for ties.
        doc_order: for `index`: the ids of the collection's docs in their order.

    Returns:
        `scores` with columns run_id, qrels (`original`; with `augmented` also `augmented` and `delta`,
        the second minus the first), query_id (`all` for the mean or median over queries), measure,
        value (float64), ordered by: run as given; `all`, then query ids sorted; measure as given;
        original, augmented, delta. `notes`: what was missing, extra, shallow or bounded.

    Raises:
        UsageError: no run or measure given, an unknown measure, `index` without doc_order.
        TableError: two runs have one id.
        JoinError: the qrels hold no query; a run is for another split or collection, see
            `join_stored`; `augmented` has queries of its own; with `per_query`, a query's id is `all`.

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> from fire_toolkit.tables import check_qrels
        >>> scored = pd.DataFrame({"run_id": "m", "query_id": "q", "doc_id": ["a", "b"], "score": [2, 1]})
        >>> qrels = check_qrels(pd.DataFrame({"query_id": ["q"], "doc_id": ["b"], "relevance": [1]}))
        >>> score_runs(rank_run(scored), qrels, ["C@1", "RR"]).scores
          run_id     qrels query_id measure  value
        0      m  original      all     C@1    0.0
        1      m  original      all      RR    0.5
    """
    parsed = parse_measures(measures)
    stored = list_stored(runs)
    if not stored:
        raise UsageError("no run to score; give at least one run that is not empty")
    both = [qrels] if augmented is None else [qrels, augmented]
    coded = dict(zip(("original", "augmented"), code_together(*both), strict=False))
    queries = coded["original"].queries
    if per_query and ALL in queries:
        raise JoinError(
            f"qrels: a query has the id {ALL!r}, which stands for the aggregate in scores; "
            "give it another id, or score without values per query"
        )
    _check_ties(ties, doc_order, parsed)
    notes, tables, reaches, rises = [*notes_on_qrels(coded, parsed)], [], [], []
    of_ties: Any = {"with_ties": ties is not None, "doc_order": doc_order if ties == "index" else None}
    for run in stored:
        placed, cut = join_stored(run, list(coded.values()), **of_ties)
        by = {name: placed.by(each) for name, each in coded.items()}
        values = {name: values_of(tied, parsed, ties) for name, tied in by.items()}
        for name, tied in by.items() if ties is not None else ():
            if tied.tied_queries.size:
                notes += notes_on_ties(run.run_id, name, tied, values[name], parsed)
        notes += notes_on_run(run.run_id, by, parsed)
        reaches.append(Reach.of(run.run_id, list(by.values()), cut))
        of_all = [[m.aggregate(of) for m, of in zip(parsed, own, strict=True)] for own in values.values()]
        table = np.array(of_all).T[None]  # 1 or 1 + queries × measures × 1 or 3
        if per_query:
            table = np.concatenate([table, np.stack([own.T for own in values.values()], axis=-1)])
        if augmented is not None:
            table = np.concatenate([table, table[..., 1:] - table[..., :1]], axis=-1)
            rises.append(rises_of(by["augmented"], values["augmented"], parsed, ties))
        tables.append(table)
    notes += [*note_depths(reaches, parsed), *(note_unjudged(coded, rises) if rises else ())]
    axes = (
        [reach.run_id for reach in reaches],
        [ALL, *queries] if per_query else [ALL],
        [measure.name for measure in parsed],
        ["original"] if augmented is None else ["original", "augmented", "delta"],
    )
    found = np.stack(tables)
    places = np.unravel_index(np.arange(found.size), found.shape)  # the last axis fastest
    ids = [pd.Index(each, dtype="str").take(at) for each, at in zip(axes, places, strict=True)]
    columns = dict(zip(("run_id", "query_id", "measure", "qrels"), ids, strict=True))
    scores = pd.DataFrame({**columns, "value": found.ravel()})[list(SCORES.names)]
    return Scoring(Scores(scores), tuple(notes))


def _check_ties(ties: str | None, doc_order: Sequence[str] | None, measures: list[Measure]) -> None:
    if ties == "index" and doc_order is None:
        raise UsageError(
            "the tie rule 'index' needs the collection's docs in their order, which a run does not hold; "
            "name the file that lists them (doc_ids), or choose another rule"
        )
    open_ones = [m.name for m in measures if not m.definition.is_linear] if ties == "expected" else []
    if open_ones:
        raise UsageError(
            f"the tie rule 'expected' has no closed form for {', '.join(open_ones)}; leave them out, or "
            "choose another rule"
        )


def score_curves(
    runs: AnyRun | Sequence[AnyRun],
    qrels: Qrels,
    *,
    augmented: Qrels | None = None,
    depth: int = 100,
    recalls: Sequence[float] = RECALLS,
) -> pd.DataFrame:
    """Return the precision–recall curve of runs, and their vectors over the ranks 1 to `depth`.

    Args:
        runs, qrels, augmented: as in `score_runs`.
        depth: the last rank, 1 or more; past the end of a list CG, DCG and recall stay as they are.
        recalls: where interpolated precision is given, each in [0, 1].

    Returns:
        Columns run_id, qrels (original, augmented, delta), curve, at and value, means over queries: the
        curve `IPrec` at each of `recalls` (SHREC's precision–recall curve), then `P`, `R`, `CG`, `nCG`,
        `DCG`, `nDCG`, `DCG_J` and `nDCG_J` at each rank. Each value is that of the measure of the name, such
        as `nDCG@7`; `R` against `P` is the curve without interpolation.

    Raises:
        UsageError: a depth below 1, a recall outside [0, 1], no run.
        JoinError: as `score_runs`.

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> from fire_toolkit.tables import check_qrels
        >>> scored = pd.DataFrame({"run_id": "m", "query_id": "q", "doc_id": ["a", "b"], "score": [2, 1]})
        >>> qrels = check_qrels(pd.DataFrame({"query_id": ["q"], "doc_id": ["b"], "relevance": [1]}))
        >>> curves = score_curves(rank_run(scored), qrels, depth=2, recalls=[0.5])
        >>> curves[curves["curve"].isin(["IPrec", "R"])]
          run_id     qrels  curve   at  value
        0      m  original  IPrec  0.5    0.5
        3      m  original      R  1.0    0.0
        4      m  original      R  2.0    1.0
    """
    if depth < 1:
        raise UsageError(f"depth is {depth}; expected a rank from 1")
    points = [
        (PRECISION_AT_RECALL, float(recall), f"{PRECISION_AT_RECALL}(recall={recall})") for recall in recalls
    ]
    points += [(curve, float(rank), f"{curve}@{rank}") for curve in BY_RANK for rank in range(1, depth + 1)]
    measures = [parse_measure(name) for _, _, name in points]
    scores = score_runs(runs, qrels, measures, augmented=augmented).scores
    run_ids, names = (list(dict.fromkeys(scores[key])) for key in ("run_id", "qrels"))
    # Rows are runs × measures × qrels; a curve's points are wanted one below the other.
    values = scores["value"].to_numpy().reshape(len(run_ids), len(points), len(names)).swapaxes(1, 2)
    n_lists = len(run_ids) * len(names)
    return pd.DataFrame(
        {
            "run_id": np.repeat(np.array(run_ids, dtype=object), len(names) * len(points)),
            "qrels": np.tile(np.repeat(np.array(names, dtype=object), len(points)), len(run_ids)),
            "curve": [curve for curve, _, _ in points] * n_lists,
            "at": [at for _, at, _ in points] * n_lists,
            "value": values.ravel(),
        }
    )


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
