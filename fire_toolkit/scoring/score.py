"""Runs × qrels × measures → scores, with notes on what a reader of the scores must know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import Floats
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.matching.coded import code_together
from fire_toolkit.matching.stored_runs import AnyRun, join_stored, list_stored
from fire_toolkit.matching.ties import TIE_RULES
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.measures.depths import Reach, note_depths
from fire_toolkit.scoring.judging import judge_tied
from fire_toolkit.scoring.notes import (
    Note,
    note_bounds,
    note_measures,
    note_positives,
    note_run,
    note_sparse,
    note_ties,
)
from fire_toolkit.tables import Qrels, Scores

ALL = "all"


class Scoring(NamedTuple):
    """What `score_runs` returns: the Scores table, and notes on what a reader of it must know."""

    scores: Scores
    notes: tuple[Note, ...]


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
        UsageError: no run or measure given, an unknown measure or tie rule, `index` without doc_order.
        TableError: two runs have one id.
        JoinError: the qrels hold no query; a run is for another split or collection, see
            `check_run_fits`; `augmented` has queries of its own; with `per_query`, a query's id is `all`.

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
    notes = note_measures(parsed) + note_positives(coded) + note_sparse(coded, parsed)
    values: list[Floats] = []
    reaches: list[Reach] = []
    for run in stored:
        order = doc_order if ties == "index" else None
        joined, cut = join_stored(run, list(coded.values()), with_ties=ties is not None, doc_order=order)
        judged = {name: judge_tied(tied, parsed, ties=ties) for name, tied in zip(coded, joined, strict=True)}
        values.append(_score_run([each.values for each in judged.values()], parsed, per_query=per_query))
        notes += note_ties(run.run_id, judged, parsed)
        notes += note_run(run.run_id, joined[0].ranking, parsed)
        notes += note_bounds(run.run_id, judged, parsed)
        reaches.append(Reach.of(run.run_id, [tied.ranking for tied in joined], cut))
    on_depths = note_depths(reaches, parsed)
    notes += [Note("depths", "", "", len(reaches), on_depths)] if on_depths else []
    names = ["original"] if augmented is None else ["original", "augmented", "delta"]
    query_ids = [ALL, *queries] if per_query else [ALL]
    run_ids = [reach.run_id for reach in reaches]
    scores = _table(np.stack(values), run_ids, query_ids, [m.name for m in parsed], names)
    return Scoring(scores, tuple(notes))


def _check_ties(ties: str | None, doc_order: Sequence[str] | None, measures: list[Measure]) -> None:
    if ties is not None and ties not in TIE_RULES:
        raise UsageError(f"no tie rule {ties!r}; expected one of {', '.join(TIE_RULES)}")
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


def _score_run(by_qrels: list[Floats], measures: list[Measure], *, per_query: bool) -> Floats:
    """Return values of shape (1 or 1 + queries, measures, 1 or 3); the first row is the aggregate."""
    aggregates = [[m.aggregate(row) for m, row in zip(measures, each, strict=True)] for each in by_qrels]
    values = np.array(aggregates).T[None]
    if per_query:
        values = np.concatenate([values, np.stack([each.T for each in by_qrels], axis=-1)])
    if len(by_qrels) == 2:
        values = np.concatenate([values, values[..., 1:] - values[..., :1]], axis=-1)
    return values


def _table(
    values: Floats, run_ids: list[str], query_ids: list[str], measures: list[str], names: list[str]
) -> Scores:
    """Return the array (runs, queries, measures, qrels) as rows, the last axis fastest."""
    codes: tuple[npt.NDArray[Any], ...] = np.unravel_index(np.arange(values.size), values.shape)
    labels = [pd.Index(ids, dtype="str") for ids in (run_ids, query_ids, measures, names)]
    run_id, query_id, measure, name = (ids.take(place) for ids, place in zip(labels, codes, strict=True))
    columns = {"run_id": run_id, "qrels": name, "query_id": query_id, "measure": measure}
    return Scores(pd.DataFrame({**columns, "value": values.ravel()}))
