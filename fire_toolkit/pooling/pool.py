"""Pooling: the pairs that a strategy chooses among the tops of the runs, and where each came from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import are_among
from fire_toolkit.errors import UsageError
from fire_toolkit.matching.joining import AnyRun
from fire_toolkit.matching.own_items import OwnItems, own_items_of, without_own_pairs
from fire_toolkit.pooling.candidates import NO_PAIRS, Budget, Candidates, Choice, Strategy, read_tops
from fire_toolkit.pooling.draws import DEPTH, design_queries
from fire_toolkit.pooling.registry import choose, parse_strategy
from fire_toolkit.results import Found
from fire_toolkit.tables import (
    Labels,
    Pool,
    PoolSources,
    Qrels,
    Queries,
    QueryDesign,
    check_machine_sample,
    check_pool,
)
from fire_toolkit.tables.checks import check_table
from fire_toolkit.tables.columns import PAIR, listed, pair_rows
from fire_toolkit.tables.further import DEEP, ORIGINAL, SHALLOW
from fire_toolkit.tables.specs import Column, TableSpec

_ROUNDS = TableSpec("pairs asked before", (Column("round", "int", minimum=1),), ())
_NOBODY = pd.DataFrame({"query_id": [], "doc_id": []}, dtype="str").assign(round=1, is_judged=False)


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
) -> Found:
    """Return what a strategy pools of the top `depth` docs of every query over `runs`, each pair once.

    A pair's round is the one in which it was first asked, by `previous` (a pool that was asked before) and
    `judged` (query_id, doc_id, and round, 1 without that column); other pairs get `round_number`, by default
    the round after the latest of both. Where any are judged the pool has a column is_judged.

    Args:
        depth: 1 or more; 0 where only the deep queries are pooled, a random share of all queries.
        strategy: by a name in `registry.STRATEGIES` with its parameters, as in `rrf(k=60)`.
        originals: their queries are the universe, their positives are marked (without them `is_original` is
            missing) and, with `include_originals`, pooled beyond the budget; those that no run found have
            best_rank missing and n_runs 0.
        labels, machine: for a strategy that reads labels, or scores of a machine judge.
        own_items: the queries, whose column `reference` names the item that each starts from, or query id
            → doc id. It is left out of every list before that is cut.

    Returns:
        pool and pool_sources, each by query_id and doc_id, and what was counted on the way; and
        - stops: for each query that any run has, query_id, n_pairs (pooled by the strategy) and reason:
          `all_docs` (no doc of the tops is left), `per_query` or `budget` (it is used up), or what else the
          strategy calls it; without rows where the strategy does not say, as `depth` without a budget;
        - query_design: which queries were drawn to be judged deep, where any were;
        - machine_sample: the pairs that a machine judge's sample could draw (see `check_machine_sample`),
          where one was drawn;
        - undrawn: the pairs of sampled strata that were not drawn (query_id, doc_id, best_rank, stratum,
          inclusion_probability), where strata were sampled;
        - again: judged pairs (query_id, doc_id) that need one more vote before the strategy can go on.

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
    numbers = {"depth": depth + (deep_queries is not None), "budget": budget, "per_query": per_query}
    asked = _asked_before(previous, judged)
    _refuse(numbers, chosen, deep_queries, labels, asked)
    if include_originals and originals is None:
        raise UsageError("original positives can be pooled only when the original qrels are given")
    own_items = own_items_of(own_items)
    universe = positives = None
    if originals is not None:
        universe = set(listed(originals["query_id"]))
        positives = originals[PAIR][originals["relevance"] >= 1]
        positives = without_own_pairs(positives, own_items) if own_items else positives
    reach, deepest = max(depth, 1), depth if deep_queries is None else max(depth, deep_depth)
    tops, counts = read_tops(runs, deepest, universe=universe, own_items=own_items, counted_depth=reach)
    labels = labels if chosen.reads_labels else None
    known: dict[str, Any] = {"positives": positives, "asked": asked, "labels": labels, "machine": machine}
    tops = replace(tops, **known, seed=seed, depth_asked=depth)
    near = tops.select(tops.rank <= reach)
    limits = Budget(*(number and min(number, 2**62) for number in (budget, per_query)))
    choice = choose(near, limits, chosen) if depth else Choice(NO_PAIRS)
    stops, again = _stops(near, choice), near.ids_of(near.query[choice.again], near.doc[choice.again])
    undrawn = choice.undrawn and _sampled(near, choice.undrawn)
    sample = choice.population and check_machine_sample(_sampled(near, choice.population).assign(seed=seed))
    design = None
    if deep_queries is not None:
        names, depths = sorted(universe or listed(tops.query_ids)), {"depth": depth, "deep": deep_depth}
        design = design_queries(names, share=deep_queries, seed=seed, **depths)
        counts["deep_queries"] = int(design["is_sampled"].sum())
    pairs, sources = _pooled(tops, near, choice, design, include_originals)
    del tops, near, choice  # which take as much memory as what is pooled
    if positives is not None:
        counts |= {"originals": len(positives), "originals_in_pool": int(pairs["is_original"].sum())}
    counts |= _mark_asked(pairs, asked, round_number)
    if previous is not None:
        _refuse_other_seed(pairs, previous)
    counts |= {f"stopped_{why}": n for why, n in sorted(stops["reason"].value_counts().items())}
    counts |= {"again": len(again)} if len(again) else {}
    drawn = {"query_design": design, "machine_sample": sample, "undrawn": undrawn, "again": again}
    tables = {"pool": check_pool(pairs), "pool_sources": sources, "stops": stops, **drawn}
    return Found({name: table for name, table in tables.items() if table is not None}, counts=counts)


def _refuse(
    numbers: Mapping[str, int | None],
    chosen: Strategy,
    deep_queries: float | None,
    labels: Labels | None,
    asked: pd.DataFrame,
) -> None:
    """Raise UsageError for numbers below 1, and for what does not go with a strategy."""
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise UsageError(f"{name} {number}, expected 1 or more")
    if deep_queries is not None and chosen.has_design:
        raise UsageError(f"strategy {chosen.name} has a design of its own; leave out the deep queries")
    if chosen.reads_labels and labels is None and (n_judged := int(asked["is_judged"].sum())):
        raise UsageError(
            f"strategy {chosen.name} reads labels, and none are given of the {n_judged:,} judged pairs; "
            "resolve the judgments first, or name the labels"
        )


def _pooled(
    tops: Candidates, near: Candidates, choice: Choice, design: QueryDesign | None, with_originals: bool
) -> tuple[pd.DataFrame, PoolSources]:
    """Return the pairs pooled, by query and doc, without rounds, and their sources.

    Args:
        tops: all that was read; near: the entries of it that the strategy chose from.
        design: which queries are judged as deep as was read, whole.
        with_originals: whether original positives are pooled beyond the choice. No draw decides on them, so
            in a sample they are known whole.
    """
    whole, place, positives = near, choice.pairs, tops.positives
    is_deep: Any = False  # of each pair of `whole`
    if design is not None:
        of_query = tops.query_ids.isin(design.loc[design["is_sampled"], "query_id"])
        whole = tops.select((tops.rank <= near.rank.max(initial=0)) | of_query[tops.entry_query])
        place, is_deep = np.searchsorted(whole.keys, near.keys[choice.pairs]), of_query[whole.query]
    is_taken, found = are_among(place, len(whole.starts)), whole.places_of(positives)
    is_original = are_among(found[found >= 0], len(is_taken))
    if with_originals:
        is_taken |= is_original & (whole.best_rank <= near.rank.max(initial=0))
    is_pooled = is_taken | is_deep
    pooled = whole.select(np.repeat(is_pooled, whole.n_runs))
    pairs = pooled.ids_of(pooled.query, pooled.doc)
    pairs = pairs.assign(best_rank=pooled.best_rank, n_runs=pooled.n_runs)
    rows = np.cumsum(is_pooled)[place] - 1
    for name, values in choice.columns.items():
        pairs[name] = pd.Series(values, index=rows).reindex(pairs.index).array
    if design is not None:
        is_shallow, drawn = is_taken[is_pooled], design[design["is_sampled"]]
        chance = np.where(is_shallow, 1.0, drawn["inclusion_probability"].max())
        pairs["stratum"] = np.where(is_shallow, SHALLOW, DEEP)
        pairs = pairs.assign(inclusion_probability=chance, seed=int(drawn["seed"].max()))
    if positives is not None:
        pairs["is_original"] = is_original[is_pooled]
        missed = positives[(found < 0) & with_originals].assign(best_rank=np.nan, n_runs=0, is_original=True)
        pairs = pd.concat([pairs, missed], ignore_index=True) if len(missed) else pairs
    if "stratum" in pairs:
        name = ORIGINAL if design is None else SHALLOW
        known = {"stratum": name, "inclusion_probability": 1.0, "seed": near.seed}
        is_added = pairs["stratum"].isna()
        for name in known.keys() & {*pairs}:
            pairs[name] = pairs[name].mask(is_added, known[name])
    sources = pooled.ids_of(pooled.entry_query, pooled.entry_doc, run_id=pooled.run)
    return pairs, PoolSources(sources.assign(rank=pooled.rank.astype(np.int64)))


def _asked_before(previous: Pool | None, judged: pd.DataFrame | None) -> pd.DataFrame:
    """Return the pairs that were asked, each once, with their first round and whether they are judged."""
    found = [_NOBODY]
    for table in (each for each in (previous, judged) if each is not None and len(each)):
        rounds = check_table(_ROUNDS, table[["round"]])["round"].to_numpy() if "round" in table else 1
        found.append(table[PAIR].assign(round=rounds, is_judged=table is judged))
    by_pair = pd.concat(found[1:] or found).groupby(PAIR, sort=False, as_index=False)
    return by_pair.agg({"round": "min", "is_judged": "max"})


def _mark_asked(pairs: pd.DataFrame, asked: pd.DataFrame, round_number: int | None) -> dict[str, int]:
    """Give pairs the round in which they were first asked and say which are judged; return what was counted.

    The next round is the one after the latest of those in which pairs were first asked.
    """
    counts = {"judged_before": 0, "pairs": len(pairs), "queries": int(pairs["query_id"].nunique())}
    pairs["round"] = number = round_number or 1 + int(asked["round"].to_numpy().max(initial=0))
    if len(asked):
        rows = pair_rows(pairs, asked)
        pairs["round"] = np.append(asked["round"], number)[rows]
        counts["to_ask"] = int((rows < 0).sum())
        counts["round"] = number if counts["to_ask"] else int(pairs["round"].to_numpy().max(initial=1))
    if asked["is_judged"].any():
        pairs["is_judged"] = np.append(asked["is_judged"], False)[rows]
        counts["judged_before"] = int(pairs["is_judged"].sum())
    return counts


def _refuse_other_seed(pairs: pd.DataFrame, previous: Pool) -> None:
    """Raise UsageError for a sample of another seed than that of the earlier pool."""
    if not {"seed"} <= set(pairs) & set(previous) or not len(previous) * len(pairs):
        return
    earlier, now = previous["seed"].iloc[0], pairs["seed"].iloc[0]
    if earlier != now:
        raise UsageError(
            f"the earlier pool was drawn with seed {earlier}, this one with {now}; a sample of two designs "
            f"gives no estimate, expected --seed {earlier}"
        )


def _stops(candidates: Candidates, choice: Choice) -> pd.DataFrame:
    """Return how many pairs of each query were chosen and why no more, for the queries that any run has."""
    table = pd.DataFrame({"query_id": candidates.query_ids, "n_pairs": candidates.count(choice.pairs)})
    reasons = pd.Series(list(choice.stops) or [""] * len(table), dtype="str")
    is_told = (candidates.n_pairs > 0) & bool(len(choice.stops))
    return table.assign(reason=reasons)[is_told].reset_index(drop=True)


def _sampled(candidates: Candidates, choice: Choice) -> pd.DataFrame:
    """Return pairs of a draw with their best rank and the columns that the draw gave them."""
    columns: Any = {name: values for name, values in choice.columns.items() if name != "seed"}
    ids = candidates.ids_of(candidates.query[choice.pairs], candidates.doc[choice.pairs])
    return ids.assign(best_rank=candidates.best_rank[choice.pairs], **columns)


def pairs_to_ask(pool: Pool) -> Pool:
    """Return the pairs of a pool that nobody was asked: of its latest round, and not judged.

    Earlier rounds were asked before; a pool that was never asked has one round and is returned whole.

    Examples:
        >>> pool = check_pool(pd.DataFrame({"query_id": "q", "doc_id": list("abc"), "round": [1, 2, 2],
        ...                                 "is_judged": [False, False, True]}))
        >>> pairs_to_ask(pool)["doc_id"].tolist()
        ['b']
    """
    kept = pool["round"] == pool["round"].max()
    if "is_judged" in pool.columns:
        kept &= ~pool["is_judged"]
    return Pool(pool[kept].reset_index(drop=True))
