"""Runs × qrels × measures → scores, with notes on what a reader of the scores must know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.measures import (
    CodedQrels,
    JudgedRanking,
    Measure,
    code_qrels,
    code_run,
    judge_run,
    parse_measure,
    score_coded,
)
from fire_toolkit.measures.segments import Floats
from fire_toolkit.measures.ties import TIE_RULES, TiedRanking, find_ties, order_by_index
from fire_toolkit.ranking import check_run_fits, split_runs
from fire_toolkit.tables import Qrels, Run, Scores

ALL = "all"

View = Callable[[Measure], JudgedRanking]


@dataclass(frozen=True)
class Note:
    """Something that a reader of the scores must know.

    kind: one word; run_id and qrels: what it is about, empty when about all; n: how many queries (for
    `depths`: runs); text: the plain sentence.
    """

    kind: str
    run_id: str
    qrels: str
    n: int
    text: str

    def __str__(self) -> str:
        return self.text


class Scoring(NamedTuple):
    """What `score_runs` returns: the Scores table and the notes."""

    scores: Scores
    notes: tuple[Note, ...]


def score_runs(
    runs: Run | Sequence[Run],
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
        runs: Run tables, each of one or more runs.
        qrels: the original qrels.
        measures: names (see `parse_measure`) or measures; one given twice is scored once.
        augmented: the corrected qrels; its queries must be among those of `qrels`.
        per_query: whether the value of each query is listed below the aggregate.
        ties: a rule of `measures.ties.TIE_RULES` for docs of equal score, applied under each qrels by
            itself; a note then says how many queries a tie could change, and the scores at either end.
            None: the order of the run, without looking for ties.
        doc_order: for `index`: the ids of the collection's docs in their order.

    Returns:
        `scores` with columns run_id, qrels (`original`; with `augmented` also `augmented` and `delta`,
        the second minus the first), query_id (`all` for the mean or median over queries), measure,
        value (float64), ordered by: run as given; `all`, then query ids sorted; measure as given;
        original, augmented, delta. `notes`: what was missing, extra, shallow or bounded.

    Raises:
        UsageError: no run or measure given, an unknown measure or tie rule, `index` without doc_order.
        TableError: two runs have one id.
        JoinError: the qrels hold no query; a run is for another split or collection, see
            `check_run_fits`; `augmented` has queries of its own; with `per_query`, a query's id is `all`.

    Examples:
        >>> from fire_toolkit.ranking import rank_run
        >>> from fire_toolkit.tables import check_qrels
        >>> scored = pd.DataFrame({"run_id": "m", "query_id": "q", "doc_id": ["a", "b"], "score": [2, 1]})
        >>> qrels = check_qrels(pd.DataFrame({"query_id": ["q"], "doc_id": ["b"], "relevance": [1]}))
        >>> score_runs(rank_run(scored), qrels, ["C@1", "RR"]).scores
          run_id     qrels query_id measure  value
        0      m  original      all     C@1    0.0
        1      m  original      all      RR    0.5
    """
    parsed = _parse_all(measures)
    by_id = split_runs(runs)
    if not by_id:
        raise UsageError("no run to score; give at least one run that is not empty")
    coded = _code_both(qrels, augmented)
    queries = coded["original"].queries
    if per_query and ALL in queries:
        raise JoinError(
            f"qrels: a query has the id {ALL!r}, which stands for the aggregate in scores; "
            "give it another id, or score without values per query"
        )
    _check_ties(ties, doc_order)
    notes = _positives_notes(coded)
    values, rankings = [], {}
    for run_id, run in by_id.items():
        if ties == "index" and doc_order is not None:
            run = order_by_index(run, doc_order)
        coded_run = code_run(run, coded["original"])
        rankings[run_id] = {name: judge_run(coded_run, which) for name, which in coded.items()}
        own = rankings[run_id]["original"]
        sizes = {"n_shared": np.count_nonzero(own.n_retrieved), "n_found": own.query.size}
        check_run_fits(run, queries, coded["original"].docs, **sizes)
        if ties is None:
            by_qrels = [score_coded(coded_run, which, parsed) for which in coded.values()]
        else:
            tied = {name: find_ties(run, own, queries) for name, own in rankings[run_id].items()}
            by_qrels = [_score_view(partial(own.view, rule=ties), parsed) for own in tied.values()]
            notes += _ties_notes(run_id, tied, parsed)
        values.append(_score_run(by_qrels, parsed, per_query=per_query))
        notes += _run_notes(run_id, rankings[run_id]["original"], parsed)
        notes += _bound_notes(run_id, rankings[run_id], parsed)
    notes += _depth_notes({run_id: views["original"] for run_id, views in rankings.items()}, parsed)
    names = ["original", "augmented", "delta"][: 1 if augmented is None else 3]
    query_ids = [ALL, *queries] if per_query else [ALL]
    scores = _table(np.stack(values), list(by_id), query_ids, [m.name for m in parsed], names)
    return Scoring(scores, tuple(notes))


def _parse_all(measures: Sequence[str | Measure]) -> list[Measure]:
    if isinstance(measures, str) or not measures:
        raise UsageError(f"measures: found {measures!r}, expected a list of names such as ['C@1', 'AP']")
    return list(dict.fromkeys(parse_measure(m) if isinstance(m, str) else m for m in measures))


def _code_both(qrels: Qrels, augmented: Qrels | None) -> dict[str, CodedQrels]:
    docs = None
    if augmented is not None:
        docs = pd.Index(pd.concat([table["doc_id"] for table in (qrels, augmented)]).unique())
    coded = {"original": code_qrels(qrels, docs=docs)}
    queries = coded["original"].queries
    if queries.empty:
        raise JoinError("qrels: no query found, expected at least one judged pair")
    if augmented is not None:
        extra = pd.Index(augmented["query_id"].unique()).difference(queries)
        if not extra.empty:
            raise JoinError(
                f"augmented qrels: {_queries(len(extra))} not in the original qrels ({_some(extra)}); "
                "expected the corrected form of the original qrels"
            )
        coded["augmented"] = code_qrels(augmented, queries=queries, docs=docs)
    return coded


def _check_ties(ties: str | None, doc_order: Sequence[str] | None) -> None:
    if ties is not None and ties not in TIE_RULES:
        raise UsageError(f"no tie rule {ties!r}; expected one of {', '.join(TIE_RULES)}")
    if ties == "index" and doc_order is None:
        raise UsageError(
            "the tie rule 'index' needs the collection's docs in their order, which a run does not hold; "
            "name the file that lists them (--doc-ids), or choose another rule"
        )


def _score_run(by_qrels: list[Floats], measures: list[Measure], *, per_query: bool) -> Floats:
    """Return values of shape (1 or 1 + queries, measures, 1 or 3); the first row is the aggregate."""
    aggregates = [[m.aggregate(row) for m, row in zip(measures, each, strict=True)] for each in by_qrels]
    values = np.array(aggregates).T[None]
    if per_query:
        values = np.concatenate([values, np.stack([each.T for each in by_qrels], axis=-1)])
    if len(by_qrels) == 2:
        values = np.concatenate([values, values[..., 1:] - values[..., :1]], axis=-1)
    return values


def _score_view(view: View, measures: list[Measure]) -> Floats:
    """Return the values of measures × queries."""
    views: dict[tuple[int, bool], JudgedRanking] = {}
    rows = []
    for measure in measures:
        key = (measure.level, measure.condensed)
        if key not in views:
            views[key] = view(measure)
        rows.append(measure.per_query(views[key]))
    return np.stack(rows)


def _table(
    values: Floats, run_ids: list[str], query_ids: list[str], measures: list[str], names: list[str]
) -> Scores:
    """Return the array (runs, queries, measures, qrels) as rows, the last axis fastest."""
    codes: tuple[npt.NDArray[Any], ...] = np.unravel_index(np.arange(values.size), values.shape)
    labels = [pd.Index(ids, dtype="str") for ids in (run_ids, query_ids, measures, names)]
    run_id, query_id, measure, name = (ids.take(place) for ids, place in zip(labels, codes, strict=True))
    columns = {"run_id": run_id, "qrels": name, "query_id": query_id, "measure": measure}
    return Scores(pd.DataFrame({**columns, "value": values.ravel()}))


def _positives_notes(coded: dict[str, CodedQrels]) -> list[Note]:
    notes = []
    for name, which in coded.items():
        has_positive = np.zeros(len(which.queries), dtype=bool)
        has_positive[which.query[which.relevance >= 1]] = True
        n = int(np.count_nonzero(~has_positive))
        if n:
            text = f"{name} qrels: {_queries(n, of=has_positive.size)} without a positive; they score 0"
            notes.append(Note("no_positive", "", name, n, text))
    return notes


def _run_notes(run_id: str, ranking: JudgedRanking, measures: list[Measure]) -> list[Note]:
    lengths, of = ranking.n_retrieved[ranking.n_retrieved > 0], ranking.n_queries
    known = ranking.n_contiguous[ranking.n_retrieved > 0]
    has_gap = known < lengths
    missing, extra = of - lengths.size, ranking.n_extra_queries
    cutoff = max((measure.k for measure in measures if measure.k is not None), default=0)
    shallow = int(np.count_nonzero((lengths < cutoff) & ~has_gap))
    n_gaps = int(np.count_nonzero(has_gap))
    top = int(known[has_gap].min(initial=ranking.worst_rank))
    deeper = [measure.name for measure in measures if measure.depth is None or measure.depth > top]
    said = [
        ("missing", missing, f"{_queries(missing, of=of)} of the qrels missing from the run; they score 0"),
        ("extra", extra, f"{_queries(extra)} not in the qrels; they are ignored"),
        (
            "shallow",
            shallow,
            f"{_queries(shallow, of=of)} with fewer docs than the cutoff {cutoff} (shortest {lengths.min()})",
        ),
        (
            "gaps",
            n_gaps if deeper else 0,
            f"{_queries(n_gaps, of=of)} whose ranks below {top} are known for some docs "
            f"only; {', '.join(deeper)} read further, and take the others as unjudged and not relevant",
        ),
    ]
    return [Note(kind, run_id, "", n, f"{run_id}: {text}") for kind, n, text in said if n]


def _bound_notes(run_id: str, rankings: dict[str, JudgedRanking], measures: list[Measure]) -> list[Note]:
    notes = []
    for measure in measures:
        for name, ranking in rankings.items() if measure.definition.unit == "rank" else ():
            view = measure.view(ranking)
            n = int(np.count_nonzero(np.isinf(view.first_positive)))
            text = (
                f"{run_id}: {_queries(n, of=view.n_queries)} without a positive found by the {name} qrels; "
                f"{measure.name} takes their rank as {view.worst_rank}, a lower bound"
            )
            notes += [Note("bounded", run_id, name, n, text)] if n else []
    return notes


def _ties_notes(run_id: str, tied: dict[str, TiedRanking], measures: list[Measure]) -> list[Note]:
    notes = []
    for name, own in tied.items():
        if not own.has_ties:
            continue
        low, high = (
            _score_view(partial(own.view, rule=rule), measures) for rule in ("pessimistic", "optimistic")
        )
        differs = low != high
        n = int(np.count_nonzero(differs.any(axis=0)))
        ends = ", ".join(
            f"{measure.name} {_shown(low[i], measure)} to {_shown(high[i], measure)}"
            for i, measure in enumerate(measures)
            if differs[i].any()
        )
        text = (
            f"{run_id}: docs of equal score could change {_queries(n, of=own.ranking.n_queries)} "
            f"by the {name} qrels; pessimistic to optimistic: {ends}"
        )
        notes += [Note("ties", run_id, name, n, text)] if n else []
    return notes


def _shown(values: Floats, measure: Measure) -> str:
    value = measure.aggregate(values)
    return f"{100 * value:.1f}" if measure.definition.unit == "share" else f"{value:.1f}"


def _depth_notes(rankings: dict[str, JudgedRanking], measures: list[Measure]) -> list[Note]:
    whole = [m.name for m in measures if m.depth is None]
    depths = {run_id: ranking.worst_rank - 1 for run_id, ranking in rankings.items()}
    if not whole or len(set(depths.values())) == 1:
        return []
    said = ", ".join(f"{run_id} {depth}" for run_id, depth in depths.items())
    text = f"{', '.join(whole)} read whole lists, whose depths differ ({said}); compare at one depth"
    return [Note("depths", "", "", len(depths), text)]


def _queries(n: int, of: int | None = None) -> str:
    if of is not None:
        return f"{n:,} of {of:,} queries"
    return f"{n:,} {'query' if n == 1 else 'queries'}"


def _some(ids: Sequence[str] | pd.Index[str] | npt.NDArray[Any]) -> str:
    return ", ".join(map(str, ids[:3])) + (", ..." if len(ids) > 3 else "")
