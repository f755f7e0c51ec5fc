"""Pooling: the pairs that a strategy chooses among the tops of the runs, and where each came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from fire_toolkit.arrays import Ints, are_among, count_by_query, starts_of_groups
from fire_toolkit.errors import UsageError
from fire_toolkit.matching.own_items import OwnItems, own_items_of, without_own_pairs
from fire_toolkit.matching.stored_runs import AnyRun
from fire_toolkit.pooling.candidates import NO_PAIRS, Budget, Candidates, Choice, candidates_of, known_of
from fire_toolkit.pooling.deep_queries import (
    DEPTH,
    design_queries,
    known_whole,
    mark_deep,
    refuse_other_seed,
)
from fire_toolkit.pooling.machine import sample_of, with_scores
from fire_toolkit.pooling.registry import Chosen, choose, counts_of_stops, parse_strategy
from fire_toolkit.pooling.rounds import mark_asked
from fire_toolkit.pooling.tops import Tops, tops_of
from fire_toolkit.results import Result
from fire_toolkit.tables import (
    Labels,
    Pool,
    PoolSources,
    Qrels,
    Queries,
    QueryDesign,
    check_pool,
    check_pool_sources,
)
from fire_toolkit.tables.columns import PAIR, are_in, listed, pair_rows
from fire_toolkit.tables.designs import SAMPLE

_UNLIMITED = np.iinfo(np.int64).max


class _PoolingResult(NamedTuple):
    pool: Pool
    sources: PoolSources
    counts: dict[str, int]
    stops: pd.DataFrame
    again: pd.DataFrame
    undrawn: pd.DataFrame
    sample: pd.DataFrame | None
    design: QueryDesign | None


class PoolingResult(_PoolingResult, Result):
    """A pool, where each pair came from, what was counted on the way, and why no more was pooled.

    counts: name → number. stops: for each query that any run has, query_id, n_pairs (pooled by the strategy)
    and reason: `all_docs` (no doc of the tops is left), `per_query` or `budget` (it is used up), or what
    else the strategy calls it; without rows where the strategy does not say, as `depth` without a budget.
    again: judged pairs (query_id, doc_id) that need one more vote before the strategy can go on. undrawn: the
    pairs of sampled strata that were not drawn (query_id, doc_id, best_rank, stratum, inclusion_probability).
    design: which queries were drawn to be judged deep; None where none were. sample: the pairs that a machine
    judge's sample could draw (see `check_machine_sample`); None where none was drawn.
    """

    __slots__ = ()


def pool_runs(
    runs: AnyRun | Sequence[AnyRun],
    *,
    depth: int = 10,
    strategy: str = "depth",
    budget: int | None = None,
    per_query: int | None = None,
    deep_queries: float | None = None,
    deep_depth: int = DEPTH,
    seed: int = 0,
    originals: Qrels | None = None,
    include_originals: bool = False,
    labels: Labels | None = None,
    machine: pd.DataFrame | None = None,
    judged: pd.DataFrame | None = None,
    previous: Pool | None = None,
    round_number: int | None = None,
    own_items: Queries | OwnItems | None = None,
) -> PoolingResult:
    """Return what a strategy pools of the top `depth` docs of every query over `runs`, each pair once.

    A pair's round is the one in which it was first asked. Where a pool was asked before and a run comes
    later, pool all runs again: pairs known from `previous` and `judged` keep their round, the others get
    the next one.

    Args:
        runs: one Run table or several, or runs that are read a block at a time, such as
            `formats.runs.read.open_run` returns; every run id once.
        depth: docs taken from each run and query, 1 or more; 0 where only the deep queries are pooled.
        strategy: which of these are pooled, by a name in `registry.STRATEGIES` with its parameters, as in
            `rrf(k=60)`; `depth`: all.
        budget: the most pairs in all, 1 or more; None: no limit.
        per_query: the most pairs of a query, 1 or more; None: no limit.
        deep_queries: the share of the queries, above 0 and up to 1, that are drawn at random to be judged
            to `deep_depth` whole, see `draw_queries`; the pool then has the columns stratum (`shallow`:
            judged for every query; `deep`), inclusion_probability and seed. None: none.
        deep_depth: docs taken from each run for these queries, more than `depth`.
        seed: of what is drawn at random, 0 or more.
        originals: the original qrels: their queries are the universe (a run's other queries are left
            out and counted), and their positives (relevance ≥ 1) are marked `is_original`.
        include_originals: also pool the original positives that are not chosen, beyond the budget; those
            that no run found have best_rank missing and n_runs 0.
        labels: the labels so far, for a strategy that reads them.
        machine: query_id, doc_id and score of the judge that strategy `machine` names.
        judged: pairs judged before (query_id, doc_id, and round, 1 where there is no such column); where
            any are given the pool has a column `is_judged`.
        previous: a pool that was asked before.
        round_number: the round of pairs that are in neither; without it the round after the latest of
            both, 1 where nothing is known.
        own_items: the queries, whose column `reference` names the item that each starts from, or query id
            → doc id. Nobody is asked about it: it is left out of every list first, so that `depth` other
            docs are pooled, and ranks are those without it.

    Returns:
        The pool and its sources, each ordered by query_id and doc_id. Without `originals`, `is_original`
        is missing. Where anything was asked before, counts say how many of the pairs are judged
        (judged_before) and in neither table (to_ask), and the pool's latest round.

    Raises:
        UsageError: depth or a budget below 1, no run, no such strategy, a strategy that cannot do with the
            budget or reads labels where none are given of what is judged, or include_originals without
            originals.
        PluginError: a strategy returned what is not in the runs, or more than the budget.
        JoinError: a run has no query in common with the original qrels or with the other runs.

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> scored = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b", "c"], "score": [3, 2, 1]})
        >>> clip = rank_run(scored.assign(run_id="clip"))
        >>> ssb = rank_run(scored.assign(run_id="ssb", score=[1, 2, 3]))
        >>> pool_runs([clip, ssb], depth=2).pool[["doc_id", "best_rank", "n_runs"]]
          doc_id  best_rank  n_runs
        0      a          1       1
        1      b          2       2
        2      c          1       1
    """
    chosen = parse_strategy(strategy)
    _check_numbers(depth=depth + (deep_queries is not None), budget=budget, per_query=per_query)
    _check_tables(chosen, (include_originals, originals), (labels, judged), deep_queries)
    own_items = None if own_items is None else own_items_of(own_items)
    is_plain = chosen.name == "depth"  # which needs to know nothing
    universe = None if originals is None else set(listed(originals["query_id"]))
    depths = max(depth, 1), 0 if deep_queries is None else deep_depth
    tops = _tops(runs, depths, own_items, universe, with_scores=not is_plain)
    counts = {"runs": len(tops.run_ids), "extra_queries": tops.n_extra}
    counts |= {"own_items": tops.n_own} if own_items else {}
    positives = _positives(originals, own_items or {})
    asked = [table for table in (previous, judged) if table is not None and len(table)]
    limits = Budget(*(None if number is None else min(number, _UNLIMITED) for number in (budget, per_query)))

    def chosen_of(queries: tuple[int, int] | None) -> tuple[Candidates, Choice]:
        candidates = candidates_of(tops, depths[0], queries)
        if not is_plain:
            answers = labels if chosen.reads_labels else None
            known = known_of(candidates, positives=positives, asked=asked, judged=judged, labels=answers)
            candidates = with_scores(replace(candidates, known=known, seed=seed, depth_asked=depth), machine)
        return candidates, choose(candidates, limits, chosen) if depth else Choice(NO_PAIRS)

    is_apart = chosen.by_query and limits.in_all is None and (is_plain or not asked)
    pieces = map(chosen_of, tops.ranges() if is_apart and deep_queries is None else [None])
    pairs, kept, pooled, outcomes = _chosen_in_all(pieces, positives if include_originals else None)
    names = [] if deep_queries is None else sorted(universe or listed(tops.query_ids))
    design = _design(names, share=deep_queries, depth=depth, deep=deep_depth, seed=seed)
    if design is not None:
        pooled, pairs, counts["deep_queries"] = _with_deep(pooled, pairs, tops, design)
    if positives is not None:
        pairs = known_whole(_with_originals(pairs, positives, include_originals), design, seed)
        counts |= {"originals": len(positives), "originals_in_pool": int(pairs["is_original"].sum())}
    counts |= mark_asked(pairs, asked, judged, round_number) | outcomes.counts
    refuse_other_seed(pairs, previous)
    sources = PoolSources(_in_one([*kept, _as_text(pooled)]))
    return PoolingResult(check_pool(pairs), sources, counts, *outcomes, design)


def _positives(originals: Qrels | None, own_items: OwnItems) -> pd.DataFrame | None:
    if originals is None:
        return None
    positives = originals.loc[originals["relevance"] >= 1, PAIR]
    return without_own_pairs(positives, own_items) if own_items else positives


def _design(names: list[str], *, share: float | None, **drawn: int) -> QueryDesign | None:
    return None if share is None else design_queries(names, share=share, **drawn)


def _tops(
    runs: AnyRun | Sequence[AnyRun],
    depths: tuple[int, int],
    own_items: OwnItems | None,
    universe: set[str] | None,
    *,
    with_scores: bool,
) -> Tops:
    """Return the tops of runs as deep as any of the depths, of the universe's queries, which the runs fit."""
    tops = tops_of(runs, max(depths), own_items=own_items, counted_depth=depths[0], with_scores=with_scores)
    tops = tops if universe is None else tops.of_queries(universe)
    tops.check_fit(universe)
    return tops


def _chosen_in_all(
    pieces: Iterator[tuple[Candidates, Choice]], added: pd.DataFrame | None
) -> tuple[pd.DataFrame, list[pd.DataFrame], pd.DataFrame, _Outcome]:
    """Return all pairs, the sources of each choice but the last, those of the last, and the outcomes."""
    found, kept, outcomes = [], [], []
    pooled: pd.DataFrame | None = None
    for candidates, choice in pieces:
        if pooled is not None:
            kept.append(_as_text(pooled))
        pooled, pairs = _chosen(candidates, choice, added)
        found.append(pairs)
        outcomes.append(_outcome_of(candidates, choice))
    assert pooled is not None
    stops, again = _in_one([part.stops for part in outcomes]), _in_one([part.again for part in outcomes])
    undrawn = _in_one([part.undrawn for part in outcomes])
    return _in_one(found), kept, pooled, _Outcome(stops, again, undrawn, outcomes[-1].sample)


def _in_one(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)


class _Outcome(NamedTuple):
    """Of a choice: its stops, pairs to ask again, those that a draw left out, and a judge's sample."""

    stops: pd.DataFrame
    again: pd.DataFrame
    undrawn: pd.DataFrame
    sample: pd.DataFrame | None

    @property
    def counts(self) -> dict[str, int]:
        counts = {f"stopped_{reason}": n for reason, n in counts_of_stops(self.stops["reason"]).items()}
        return counts | ({"again": len(self.again)} if len(self.again) else {})


def _outcome_of(candidates: Candidates, choice: Choice) -> _Outcome:
    left = Choice(NO_PAIRS) if choice.undrawn is None else choice.undrawn
    columns: dict[str, Any] = {name: left.columns.get(name, []) for name in SAMPLE}
    columns = {"best_rank": candidates.best_rank[left.pairs]} | columns
    undrawn = _pairs_at(candidates, left.pairs).assign(**columns)
    again = _pairs_at(candidates, choice.again)
    return _Outcome(_stops(candidates, choice), again, undrawn, sample_of(candidates, choice))


def _check_numbers(**numbers: int | None) -> None:
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise UsageError(f"{name} {number}, expected 1 or more")


def _check_tables(
    chosen: Chosen,
    of_originals: tuple[bool, Qrels | None],
    of_labels: tuple[Labels | None, pd.DataFrame | None],
    deep_queries: float | None,
) -> None:
    if of_originals[0] and of_originals[1] is None:
        raise UsageError("original positives can be pooled only when the original qrels are given")
    labels, judged = of_labels
    if deep_queries is not None and chosen.name in ("settle", "strata", "machine"):
        raise UsageError(f"strategy {chosen.name} has a design of its own; leave out the deep queries")
    if chosen.reads_labels and labels is None and judged is not None and len(judged):
        raise UsageError(
            f"strategy {chosen.name} reads labels, and none are given of the {len(judged):,} judged pairs; "
            "resolve the judgments first, or name the labels"
        )


def _chosen(
    candidates: Candidates, choice: Choice, added: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the sources and the pairs of a choice, and of pairs that are added to it where a run has them.

    Ids of the sources are categories of all ids, sorted.
    """
    is_chosen = are_among(choice.pairs, len(candidates.starts))
    if added is not None:
        places = candidates.places_of(added)
        is_chosen[places[places >= 0]] = True
    is_kept = slice(None) if is_chosen.all() else np.repeat(is_chosen, candidates.n_runs)
    sources = _sources(candidates, is_kept)
    pairs = _pairs_of(sources)
    for name, values in choice.columns.items():
        column = pd.Series(values, index=choice.pairs).reindex(np.flatnonzero(is_chosen))
        pairs[name] = column.array
    return sources, pairs


def _sources(candidates: Candidates, is_kept: Any) -> pd.DataFrame:
    ids = {
        "query_id": (candidates.entry_query, candidates.query_ids),
        "doc_id": (candidates.entry_doc, candidates.doc_ids),
        "run_id": (candidates.run, candidates.run_ids),
    }
    columns: dict[str, Any] = {
        name: pd.Categorical.from_codes(codes[is_kept], categories, validate=False)
        for name, (codes, categories) in ids.items()
    }
    return pd.DataFrame(columns | {"rank": candidates.rank[is_kept]}, copy=False)


def _pairs_at(candidates: Candidates, places: Ints) -> pd.DataFrame:
    ids = (candidates.query_ids[candidates.query[places]], candidates.doc_ids[candidates.doc[places]])
    return pd.DataFrame(dict(zip(PAIR, ids, strict=True)), dtype="str")


def _with_deep(
    sources: pd.DataFrame, pairs: pd.DataFrame, tops: Tops, design: QueryDesign
) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Return sources and pairs of a pool with all docs of the queries judged deep, and their number."""
    drawn = design[design["is_sampled"]]
    deep = candidates_of(tops.of_queries(set(drawn["query_id"])), int(drawn["depth"].max()))
    whole, deep_pairs = _chosen(deep, Choice(np.arange(len(deep.starts))), None)
    rest = _as_text(sources)
    rest = rest[~are_in(rest["query_id"], drawn["query_id"])]
    all_sources = check_pool_sources(pd.concat([rest, _as_text(whole)]))
    return all_sources, mark_deep(pairs, deep_pairs, design), len(drawn)


def _stops(candidates: Candidates, choice: Choice) -> pd.DataFrame:
    """Return how many pairs of each query were chosen and why no more, for the queries that any run has."""
    n_chosen = count_by_query(candidates.query[choice.pairs].astype(np.int64), len(candidates.query_ids))
    table = pd.DataFrame({"query_id": candidates.query_ids, "n_pairs": n_chosen})
    reasons = pd.Series(list(choice.stops) or [""] * len(table), dtype="str")
    is_told = (candidates.n_pairs > 0) & bool(len(choice.stops))
    return table.assign(reason=reasons)[is_told].reset_index(drop=True)


def _as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its categories as text."""
    coded = [name for name in table.columns if isinstance(table[name].dtype, pd.CategoricalDtype)]
    return table.assign(**{name: _text_of(table[name]) for name in coded})


def _text_of(column: pd.Series) -> Any:
    texts = pa.array(column.cat.categories.array, pa.large_string())
    return pd.array(texts.take(pa.array(column.cat.codes.to_numpy())), dtype="str")


def _pairs_of(pooled: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs of ordered sources, each once, with their best rank and their number of runs."""
    starts = starts_of_groups(*(pooled[name].cat.codes.to_numpy() for name in PAIR))
    rank = pooled["rank"].to_numpy()
    best_rank = np.minimum.reduceat(rank, starts) if len(starts) else rank
    n_runs = np.diff(starts, append=len(pooled))
    return _as_text(pooled[PAIR].iloc[starts].reset_index(drop=True)).assign(
        best_rank=best_rank, n_runs=n_runs
    )


def _with_originals(pairs: pd.DataFrame, positives: pd.DataFrame, include: bool) -> pd.DataFrame:
    rows = pair_rows(positives, pairs)
    marked = pairs.assign(is_original=are_among(rows[rows >= 0], len(pairs)))
    if not include or (rows >= 0).all():
        return marked
    missed = positives.loc[rows < 0, PAIR].assign(best_rank=np.nan, n_runs=0, is_original=True)
    return pd.concat([marked, missed], ignore_index=True)
