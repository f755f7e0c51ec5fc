"""How fast strategies pool: `python benchmarks/pooling.py [--queries 1000] [--docs 1000] [--runs 10]`.

Prints the CPU time of each strategy beside that of the pool of all docs, tables in and out. The runs are
made up: each query has three times as many docs as a run ranks, by a common score and noise of the run's own.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.pooling import pool_runs
from fire_toolkit.tables import Run

N_DOCS = 50_000
WORK: Mapping[str, Mapping[str, int]] = {
    "depth": {},
    "rrf": {"per_query": 100},
    "rbp": {"per_query": 100},
    "combmnz": {"per_query": 100},
    "rrf(k=10)": {"budget": 105},  # times the number of queries
    "move-to-front": {"per_query": 100},
    "strata(1:10:1,11:1000:.1)": {},
    "settle(C@10)": {},
}


def make_runs(n_queries: int, n_docs: int, n_runs: int) -> list[Run]:
    """Return runs of so many docs for each query, in rank order."""
    rng = np.random.default_rng(0)
    query_ids = [f"q{n:05}" for n in range(n_queries)]
    doc_ids = [f"d{n:05}" for n in range(N_DOCS)]
    near = (rng.integers(N_DOCS, size=(n_queries, 1)) + 7 * np.arange(3 * n_docs)) % N_DOCS
    common = rng.random(near.shape, dtype=np.float32)
    runs = []
    for number in range(n_runs):
        score = common + rng.random(near.shape, dtype=np.float32)
        best = np.argsort(-score, axis=1)[:, :n_docs]
        query = np.repeat(np.arange(n_queries, dtype=np.int16), n_docs)
        doc = np.take_along_axis(near, best, axis=1).ravel().astype(np.int32)
        columns = {
            "run_id": pd.Categorical.from_codes(np.zeros(len(doc), dtype=np.int8), [f"m{number:02}"]),
            "query_id": pd.Categorical.from_codes(query, pd.Index(query_ids, dtype="str")),
            "doc_id": pd.Categorical.from_codes(doc, pd.Index(doc_ids, dtype="str")),
            "rank": np.tile(np.arange(1, n_docs + 1), n_queries),
            "score": np.take_along_axis(score, best, axis=1).ravel().astype(np.float64),
        }
        runs.append(Run(pd.DataFrame(columns, copy=False)))
    return runs


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (("queries", 1000), ("docs", 1000), ("runs", 10)):
        parser.add_argument(f"--{name}", type=int, default=number)
    given = parser.parse_args()
    runs = make_runs(given.queries, given.docs, given.runs)
    print(f"{given.queries:,} queries × {given.docs:,} docs × {given.runs} runs")
    first = 0.0
    for strategy, limits in WORK.items():
        options: dict[str, Any] = dict(limits)
        if "budget" in options:
            options["budget"] *= given.queries
        began = time.process_time()
        result = pool_runs(runs, depth=given.docs, strategy=strategy, **options)
        took = time.process_time() - began
        first = first or took
        print(f"{strategy:25} {result.counts['pairs']:12,} pairs {took:7.2f} s, {took / first:.2f} of depth")
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
