"""How fast comparisons and tests are: `python benchmarks/comparison.py [--queries 27763]`.

Prints medians of three of the CPU time (all threads) and ratios to rbo and scipy where these are
installed; nothing of this project needs them. The runs are made up: three rankings of 670 docs of which
each query has one to five positives, so that the values of a query are those of real measures.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.inference import leave_out
from fire_toolkit.inference.compare import compare_runs
from fire_toolkit.inference.intervals import bootstrap_means
from fire_toolkit.inference.judged_pairs import join_runs, values_of
from fire_toolkit.kernels import load_loops
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.measures import parse_measure
from fire_toolkit.tables import Qrels, Run, check_pool_sources, check_qrels

MEASURES = ["C@1", "C@5", "C@10", "R@10", "P@10", "AP@10", "RR@10", "nDCG@10"]
N_RESAMPLES = 10_000


def cpu_s(work: Callable[[], Any], repeats: int = 3) -> float:
    """Return the median of the CPU seconds that `work` takes, after one call to warm up."""
    work()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return statistics.median(times)


def make_runs(n_queries: int, n_runs: int, n_docs: int = 670, depth: int = 10) -> tuple[list[Run], Qrels]:
    """Return runs whose docs lean to one to five positives of each query, and the positives."""
    rng = np.random.default_rng(0)
    queries, docs = [f"q{n:05}" for n in range(n_queries)], np.array([f"d{n:03}" for n in range(n_docs)])
    n_positives = rng.integers(1, 6, size=n_queries)
    positives = [rng.choice(n_docs, size=n, replace=False) for n in n_positives]
    rows = [(query, docs[doc], 1) for query, own in zip(queries, positives, strict=True) for doc in own]
    qrels = check_qrels(pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]))
    common = rng.random((n_queries, n_docs), dtype=np.float32)
    runs = []
    for number in range(n_runs):
        scores = common + rng.random((n_queries, n_docs), dtype=np.float32)
        for query, own in enumerate(positives):
            scores[query, own] += 0.4 + 0.1 * (number % 3)
        top = np.argsort(-scores, axis=1)[:, :depth]
        columns = {
            "run_id": f"m{number:02}",
            "query_id": np.repeat(queries, depth),
            "doc_id": docs[top.ravel()],
            "score": np.take_along_axis(scores, top, axis=1).ravel(),
        }
        runs.append(rank_run(pd.DataFrame(columns)))
    return runs, qrels


def overlap(runs: list[Run]) -> None:
    """All pairs of three runs: six scores of each query, against scores of the package rbo."""
    n_lists = 3 * runs[0]["query_id"].nunique()
    print(f"compiled loops: {load_loops()}")
    whole = cpu_s(lambda: compare_runs(runs, depth=10))
    print(f"overlap and RBO, {n_lists:,} pairs of lists, tables in and out: {whole:.3f} s "
          f"({1e6 * whole / n_lists:.3f} µs a pair, six scores)")  # fmt: skip
    if importlib.util.find_spec("rbo"):
        from rbo import RankingSimilarity

        lists = [run["doc_id"].astype(str).to_numpy().reshape(-1, 10).tolist() for run in runs[:2]]
        some = list(zip(lists[0], lists[1], strict=True))[:2000]
        cost = {
            name: cpu_s(lambda name=name: [getattr(RankingSimilarity(a, b), name)(p=0.9) for a, b in some])
            for name in ("rbo", "rbo_ext")
        }
        one, two = (which(cost.values()) * n_lists / len(some) / whole for which in (min, sum))
        each = ", ".join(f"{name} {1e6 * cost_s / len(some):.1f} µs" for name, cost_s in cost.items())
        print(f"  rbo: {each}; ratio to the cheaper {one:.0f}, to both {two:.0f}, to six such {3 * two:.0f}")


def bootstrap(values: np.ndarray) -> None:
    """The bootstrap of all measures together, against scipy's of one."""
    own = cpu_s(lambda: bootstrap_means(values, n_resamples=N_RESAMPLES))
    print(f"bootstrap of {values.shape[1]} measures, {len(values):,} × {N_RESAMPLES:,}: {own:.2f} s")
    if importlib.util.find_spec("scipy"):
        from scipy import stats

        column = (values[:, 5],)
        options = {"n_resamples": N_RESAMPLES, "method": "percentile", "batch": 64}
        theirs = cpu_s(lambda: stats.bootstrap(column, np.mean, **options), repeats=1)
        print(f"  scipy, one measure: {theirs:.2f} s; ratio {theirs / own:.1f}")


def leaving_out(n_queries: int) -> None:
    """Leave-one-out of 20 runs, against joining and scoring them anew each time."""
    runs, original = make_runs(n_queries, 20)
    pooled = pd.concat([run.astype({"run_id": "str", "query_id": "str", "doc_id": "str"}) for run in runs])
    sources = check_pool_sources(pooled[["query_id", "doc_id", "run_id", "rank"]])
    pairs = sources.drop_duplicates(["query_id", "doc_id"])[["query_id", "doc_id"]]
    relevance = (np.random.default_rng(1).random(len(pairs)) < 0.1).astype(int)
    both = pd.concat([original, pairs.assign(relevance=relevance)])
    augmented = check_qrels(both.groupby(["query_id", "doc_id"], as_index=False)["relevance"].max())
    measures = ["C@10", "AP@10", "nDCG@10"]
    own = cpu_s(lambda: leave_out(runs, original, augmented, measures, sources=sources), repeats=1)

    def once() -> None:
        joined = join_runs(runs, original, augmented)
        for run_id in joined.places:
            for name in measures:
                values_of(joined.ranking(run_id, joined.label(augmented)), parse_measure(name))

    anew = cpu_s(once, repeats=1)
    print(f"leave-one-out of 20 runs, {n_queries:,} queries: {own:.2f} s; "
          f"joined and scored anew 20 times {20 * anew:.1f} s; ratio {20 * anew / own:.1f}")  # fmt: skip


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=27_763)
    n_queries = parser.parse_args().queries
    runs, qrels = make_runs(n_queries, 3)
    overlap(runs)
    joined = join_runs(runs, qrels)
    labelling = joined.label(qrels)
    values = {
        run_id: np.column_stack(
            [values_of(joined.ranking(run_id, labelling), parse_measure(m)) for m in MEASURES]
        )
        for run_id in joined.places
    }
    load_loops()
    bootstrap(next(iter(values.values())))
    bootstrap(np.random.default_rng(3).random((n_queries, 8)))
    leaving_out(min(n_queries, 2000))


if __name__ == "__main__":
    main()
