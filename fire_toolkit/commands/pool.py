"""`pool`: runs to the pairs that are to be judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import pandas as pd

from fire_toolkit.commands.command import stage
from fire_toolkit.commands.types import Before, Option, PooledQueries, Runs, Table
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.pooling.registry import parse_strategy
from fire_toolkit.pooling.settle import SETTLED
from fire_toolkit.pooling.words import changes_in_words, counts_in_words, takes_all
from fire_toolkit.results import Found, Next
from fire_toolkit.tables import Labels, Pool, PoolSources, Qrels

DRAWN = "inclusion_probability"
_IF_ANY = ("stops", "undrawn")  # of which there is no table without rows
_OF_SAMPLE = ("depth", "strategy", "budget", "per_query", "deep_queries", "deep_depth", "seed")


@stage("pool")
def pool(
    runs: Runs,
    qrels: Annotated[Qrels | None, Table("original_if_named")] = None,
    *,
    queries: PooledQueries = None,
    judged: Annotated[pd.DataFrame | None, Table("judged_before", is_several=True)] = None,
    previous: Annotated[Pool | None, Table("previous_pool", metavar="POOL")] = None,
    labels: Annotated[Labels | None, Table("labels_so_far")] = None,
    judge_scores: Annotated[pd.DataFrame | None, Table("scores_of_judge", is_told=True)] = None,
    asked_before: Annotated[Before | None, Table("asked_before", is_told=True)] = None,
    depth: Annotated[int, Option(setting=("pool", "depth"), least=0)] = 10,
    strategy: Annotated[str, Option(metavar="NAME", setting=("pool", "strategy"))] = "depth",
    budget: Annotated[int | None, Option(metavar="N", setting=("pool", "budget"), least=1)] = None,
    per_query: Annotated[int | None, Option(metavar="N", setting=("pool", "per_query"), least=1)] = None,
    deep_queries: Annotated[
        float | None, Option(metavar="SHARE", setting=("pool", "deep_queries"), least=0, most=1)
    ] = None,
    deep_depth: Annotated[int, Option(setting=("pool", "deep_depth"), least=1)] = 50,
    seed: Annotated[int, Option(setting=("pool", "seed"), least=0)] = 0,
    include_originals: Annotated[bool, Option(setting=("pool", "include_originals"))] = False,
) -> Found:
    """Pool the top docs of several runs into the pairs that people are to judge.

    RUN is a file that `add-run` wrote, TREC text or a matrix (rows are queries); NAME=PATH gives it a name.
    Docs are ordered by score, then by doc id, both descending. A query's own item is never pooled.

    For a model that comes later, pool all runs again: the pool says which runs brought each pair, in which
    round it was first asked, and whether it is judged, and `tasks` asks only what is new.

    Args:
        runs: The runs.
        qrels: Original qrels: their queries are pooled, their positives marked.
        queries: The queries: their own items (column reference) are not pooled.
        judged: Pairs judged before, which are marked and not asked again: judgments, labels, qrels or a
            release (may be repeated); a workspace's own judgments count without it.
        previous: An earlier pool whose pairs were handed out: they keep their round, the others get the
            next. [default: the workspace's, once it was handed out]
        labels: The labels that `resolve` wrote, for strategies that read labels. [default: the workspace's]
        judge_scores: The score of each pair by the judge that strategy machine names.
        asked_before: What a workspace knows of what was asked: rounds, changes of runs, people's pace.
        depth: Docs taken from each run and query.
        strategy: Which of these are pooled: all (depth), or the first by reciprocal rank fusion
            ('rrf(k=60)'), a sample ('strata(1:10:1,11:50:.1)'), or in rounds (move-to-front,
            'settle(C@10)'), or in a machine judge's order ('machine(judge=NAME)'); see docs/pools.md.
        budget: Pool at most N pairs in all.
        per_query: Pool at most N pairs a query.
        deep_queries: Judge a random share of the queries, such as .1 and never below 40 queries, to
            --deep-depth whole.
        deep_depth: Docs taken for these queries.
        seed: Seed of what is drawn at random.
        include_originals: Also pool original positives that no run found, or the strategy left out; beyond
            the budget.

    Examples:
        >>> import fire_toolkit as fire
        >>> run = fire.run([[1, 2]], "clip", query_ids=["q"], doc_ids=["x", "y"])
        >>> found = fire.pool([run], depth=1)
        >>> found.pool[["query_id", "doc_id", "best_rank", "n_runs"]]
          query_id doc_id  best_rank  n_runs
        0        q      y          1       1
        >>> found.counts["pairs"]
        1
    """
    before = asked_before or Before()
    asked: dict[str, Any] = {"depth": depth, "strategy": strategy, "budget": budget, "per_query": per_query}
    asked |= {"deep_queries": deep_queries, "deep_depth": deep_depth, "seed": seed}
    asked |= {"include_originals": include_originals}
    limits = {name: asked[name] or None for name in ("budget", "per_query", "deep_queries")}
    result = pool_runs(
        runs,
        **(asked | limits),
        originals=qrels,
        labels=labels,
        machine=judge_scores,
        judged=judged,
        previous=previous,
        round_number=before.round,
        own_items=queries,
    )
    pooled, sources = Pool(result.tables["pool"]), PoolSources(result.tables["pool_sources"])
    if before.drawn is not None and DRAWN not in pooled:
        _refuse_to_lose_sample(before.drawn)
    known: dict[str, Any] = {"judged": judged, "labels": before.labels, "is_whole": takes_all(asked)}
    changes = changes_in_words(before.sources, pooled, sources, **known) if before.sources is not None else ()
    if (chosen := parse_strategy(strategy)).name == "settle":  # which holds for these runs alone
        n_open = int((result.tables["stops"]["reason"] != SETTLED).sum())
        of_runs = {"runs": dict(sorted(before.run_hashes.items())), "open_queries": n_open}
        asked["settled"] = {"measure": chosen.parameters["measure"], **of_runs}
    is_done = result.counts.get("to_ask", len(pooled)) == 0
    words = counts_in_words(result.counts, asked, before.seconds)
    tables = {name: table for name, table in result.tables.items() if len(table) or name not in _IF_ANY}
    return replace(
        result,
        tables=tables | {"again": result.tables["again"]},
        files={f"{name}.csv": table for name, table in tables.items() if name != "again"},
        parameters=asked,
        words=f"{words}\nnothing new to ask" if is_done else words,
        said=[*changes],
        next="" if is_done else Next("tasks {given}", "--queries {QUERIES} --out {out}/tasks.json"),
    )


def _refuse_to_lose_sample(was: Mapping[str, Any]) -> None:
    """Raise UsageError where a sample that was handed out would be written over by a pool that is none."""
    names = [name for name in _OF_SAMPLE if was.get(name)]
    raise UsageError(
        f"{was['path']}: this pool is a sample that was handed out; the one that would replace it is not a "
        "sample, so nothing could be estimated from the answers; draw it by the same design"
        + (f": {', '.join(f'{name} = {was[name]!r}' for name in names)}" if names else "")
        + " (as options, or under [pool] in fire.toml)"
    )
