"""What commands cost as runs grow in number: `python benchmarks/scale.py [--runs 3 10 30 100]`.

Makes runs of 10,000 queries (or --queries) × 100 docs as Parquet, a file each, and lets `score` (four
measures) and `pool` (depth 10) read them from files to files. Beside them, each if it is installed:

- polars: one lazy query, its streaming engine, its own CSV writer, over long tables with ranks and without
  scores, unchecked; and "checked" over our own files, each list of which it checks as we do: ranks ascend,
  scores are finite and do not, no doc twice (no sha256, no checksum, no tie);
- DuckDB: the same long tables, one statement for each table that is written, unchecked;
- trec_eval, by pytrec_eval: our own files as dicts, one run after the other, up to 100 MB of files;
- reading alone: pandas is imported, pyarrow reads the columns of our own files, and nothing is done.

Each is a process of its own with two threads; printed are CPU seconds (user and system) and seconds by the
clock, what each run added to those of the smallest number of runs, the peak of memory, and whether the
results are equal. With --python another interpreter runs polars and DuckDB; --only does score or
pool alone.

Absolute seconds are of one machine; the ratio and the growth are what can be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from fire_toolkit.formats.runs.matrix_runs import run_of_ranked
from fire_toolkit.formats.runs.native import run_bytes
from fire_toolkit.formats.runs.ranked import Ranked
from fire_toolkit.formats.runs.score_anomalies import ScoreAnomalies

AT_ONCE, DOCS, DEPTH, POOL_DEPTH = 10_000, 50_000, 100, 10
MEASURES = ("C@1", "C@10", "AP@100", "nDCG@10")

SCORE = """
import json, sys, polars as pl
qrels = pl.read_csv("qrels.csv")
runs = pl.scan_parquet([f"long/{name}" for name in sys.argv[1:]])
rank = pl.col("rank")
hits = (
    runs.join(qrels.lazy(), on=["query_id", "doc_id"])
    .group_by("run_id")
    .agg(
        (rank == 1).sum().alias("C@1"),
        (rank <= 10).sum().alias("C@10"),
        (1 / rank).sum().alias("AP@100"),
        pl.when(rank <= 10).then(1 / (rank + 1).log(2)).sum().alias("nDCG@10"),
    )
    .sort("run_id")
    .collect(engine="streaming")
)
names = ("C@1", "C@10", "AP@100", "nDCG@10")
print(json.dumps([row[name] / qrels.height for row in hits.to_dicts() for name in names]))
"""
CHECKED = """
import json, sys, polars as pl
files = [f"runs/{name}" for name in sys.argv[1:]]
lists = pl.scan_parquet(files, include_file_paths="run_id")
ranks, scores, docs = (pl.col(name).list for name in ("ranks", "scores", "doc_ids"))
is_bad = (
    (ranks.diff().list.min() <= 0)
    | (scores.diff().list.max() > 0)
    | ~(scores.min().is_finite() & scores.max().is_finite())
    | (docs.n_unique() != docs.len())
)
lists = lists.select("run_id", "query_id", "doc_ids", "ranks", is_bad=is_bad)
bad = lists.select(pl.col("is_bad").any())
runs = lists.explode("doc_ids", "ranks").rename({"doc_ids": "doc_id", "ranks": "rank"})
"""
CHECKED_SCORE = (
    CHECKED
    + """
qrels = pl.read_csv("qrels.csv")
"""
    + SCORE[SCORE.index("rank = ") : SCORE.index('    .collect(engine="streaming")')]
    + """)
hits, bad = pl.collect_all([hits, bad], engine="streaming")
assert not bad.item()
"""
    + SCORE[SCORE.index("names = ") :]
)
POOL = """
import json, sys, polars as pl
runs = pl.scan_parquet([f"long/{name}" for name in sys.argv[1:]]).filter(pl.col("rank") <= 10)
order = ["query_id", "doc_id"]
counts = pl.col("rank").min().alias("best_rank"), pl.len().alias("n_runs")
pairs = runs.group_by(order).agg(*counts).sort(order)
pairs.sink_csv("polars_pool.csv", engine="streaming")
sources = runs.select("query_id", "doc_id", "run_id", "rank").sort([*order, "run_id"])
sources.sink_csv("polars_sources.csv", engine="streaming")
print(json.dumps([sum(1 for _ in open(name)) - 1 for name in ("polars_pool.csv", "polars_sources.csv")]))
"""
CHECKED_POOL = (
    CHECKED
    + """
assert not bad.collect(engine="streaming").item()
runs = runs.filter(pl.col("rank") <= 10)
"""
    + POOL[POOL.index("order = ") :]
)
DUCKDB = """
import json, sys, duckdb
duckdb.sql("SET threads = 2; SET enable_progress_bar = false; SET preserve_insertion_order = false")
runs = duckdb.read_parquet([f"long/{name}" for name in sys.argv[1:]])
"""
DUCKDB_SCORE = (
    DUCKDB
    + """
qrels = duckdb.read_csv("qrels.csv")
sums = "sum((rank = 1)::INT), sum((rank <= 10)::INT), sum(1 / rank)"
discounted = "sum(CASE WHEN rank <= 10 THEN 1 / log2(rank + 1) ELSE 0 END)"
joined = "FROM runs JOIN qrels USING (query_id, doc_id) GROUP BY run_id ORDER BY run_id"
rows = duckdb.sql(f"SELECT {sums}, {discounted} {joined}").fetchall()
n_queries = duckdb.sql("SELECT count(*) FROM qrels").fetchall()[0][0]
print(json.dumps([value / n_queries for row in rows for value in row]))
"""
)
DUCKDB_POOL = (
    DUCKDB
    + """
pairs = "query_id, doc_id, min(rank) AS best_rank, count(*) AS n_runs"
tops = "FROM runs WHERE rank <= 10"
tables = {
    "duckdb_pool.csv": f"SELECT {pairs} {tops} GROUP BY query_id, doc_id ORDER BY query_id, doc_id",
    "duckdb_sources.csv": f"SELECT query_id, doc_id, run_id, rank {tops} ORDER BY query_id, doc_id, run_id",
}
for name, query in tables.items():
    duckdb.sql(f"COPY ({query}) TO '{name}'")
print(json.dumps([sum(1 for _ in open(name)) - 1 for name in tables]))
"""
)
TREC_EVAL = """
import json, sys, pytrec_eval
from pyarrow import parquet
qrels = {}
for line in open("qrels.txt"):
    query, _, doc, relevance = line.split()
    qrels[query] = {doc: int(relevance)}
evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"success_1,10", "map", "ndcg_cut_10"})
values = []
for name in sys.argv[1:]:
    lists = parquet.read_table(f"runs/{name}", columns=["query_id", "doc_ids", "scores"]).to_pydict()
    run = {q: dict(zip(docs, scores)) for q, docs, scores in zip(*lists.values())}
    found = evaluator.evaluate(run)
    for measure in ("success_1", "success_10", "map", "ndcg_cut_10"):
        values.append(sum(own[measure] for own in found.values()) / len(qrels))
print(json.dumps(values))
"""
READING = """
import sys, pandas
from pyarrow import parquet
options = {"read_dictionary": ["doc_ids.list.element"], "page_checksum_verification": True}
for name in sys.argv[1:]:
    file = parquet.ParquetFile(f"runs/{name}", **options)
    for group in range(file.num_row_groups):
        for _ in file.iter_batches(1 << 20, row_groups=[group], use_threads=False):
            pass
print("null")
"""


class Peer(NamedTuple):
    """A program that does the same work: whether our interpreter runs it, and the most MB it is given."""

    program: str
    is_ours: bool = False
    most: int = 1_000_000


PEERS = {
    "score": {
        "polars": Peer(SCORE),
        "polars, checked": Peer(CHECKED_SCORE),
        "DuckDB": Peer(DUCKDB_SCORE),
        "trec_eval": Peer(TREC_EVAL, is_ours=True, most=100),
        "reading alone": Peer(READING, is_ours=True),
    },
    "pool": {
        "polars": Peer(POOL),
        "polars, checked": Peer(CHECKED_POOL),
        "DuckDB": Peer(DUCKDB_POOL),
        "reading alone": Peer(READING, is_ours=True),
    },
}


class Cost(NamedTuple):
    """CPU seconds, seconds by the clock, peak MB, and what was printed."""

    seconds: float
    clock: float
    megabytes: float
    output: str | None


def main() -> None:
    """Make the files and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[3, 10, 30, 100])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", choices=["score", "pool"])
    parser.add_argument("--python", default=sys.executable, help="has polars and DuckDB")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        with ProcessPoolExecutor(1, get_context("spawn")) as maker:  # a child's peak begins at its parent's
            maker.submit(make_files, folder, max(given.runs), given.queries).result()
        first: dict[tuple[str, str], tuple[int, float]] = {}
        for n_runs in given.runs:
            names = [f"m{number:03}.parquet" for number in range(n_runs)]
            for what, command in (("score", score_command), ("pool", pool_command)):
                if given.only in (what, None):
                    compare(what, folder, command(names), names, given.python, first)


def score_command(names: list[str]) -> list[str]:
    """Return our command that scores these runs."""
    measures = [word for name in MEASURES for word in ("-m", name)]
    runs = [f"runs/{name}" for name in names]
    return [*OURS, "score", *runs, "--qrels", "qrels.txt", *measures, "--format", "json"]


def pool_command(names: list[str]) -> list[str]:
    """Return our command that pools these runs."""
    runs = [f"runs/{name}" for name in names]
    return [*OURS, "pool", *runs, "--depth", str(POOL_DEPTH), "--out", "pool"]


OURS = [sys.executable, "-m", "fire_toolkit"]


def compare(
    what: str,
    folder: Path,
    ours: list[str],
    names: list[str],
    python: str,
    first: dict[tuple[str, str], tuple[int, float]],
) -> None:
    """Run the command and its peers, and print what each cost, and whether they agree."""
    own = run(ours, folder)
    found = summary(own.output or "", folder)
    show(what, "ours", own, len(names), first)
    for name, peer in PEERS[what].items():
        if sum((folder / "runs" / run_name).stat().st_size for run_name in names) > peer.most * 1e6:
            continue
        other = run([sys.executable if peer.is_ours else python, "-c", peer.program, *names], folder)
        if other.output is None:
            print(f"  {name} did not run")
            continue
        theirs = json.loads(other.output)
        is_same = theirs is None or np.allclose(found, theirs, atol=1e-12)
        show(what, name, other, len(names), first)
        print(
            f"  ours beside {name}: {own.seconds / other.seconds:.2f} of the CPU, "
            f"{own.clock / other.clock:.2f} of the clock, {own.megabytes / other.megabytes:.2f} of the peak"
            + ("" if theirs is None else "; equal" if is_same else "; DIFFERENT")
        )


def show(
    what: str, who: str, cost: Cost, n_runs: int, first: dict[tuple[str, str], tuple[int, float]]
) -> None:
    """Print what a program cost, and each run beyond the smallest number."""
    least, seconds = first.setdefault((what, who), (n_runs, cost.seconds))
    each = f"{(cost.seconds - seconds) / (n_runs - least) * 1000:7.0f} ms a run" if n_runs > least else ""
    print(
        f"{what} {n_runs} runs, {who:16}{cost.seconds:9.2f} s of CPU,{cost.clock:7.2f} s,"
        f"{cost.megabytes:7,.0f} MB{each}",
        flush=True,
    )


def summary(output: str, folder: Path) -> list[float]:
    """Return our scores, run after run, or the number of our pairs and of their sources."""
    if output.lstrip().startswith("["):
        return [row["value"] for row in json.loads(output)]
    return [sum(1 for _ in (folder / "pool" / name).open()) - 1 for name in ("pool.csv", "pool_sources.csv")]


def run(arguments: list[str], folder: Path) -> Cost:
    """Run a command in the folder, and return what it took."""
    environment = os.environ | {"OMP_NUM_THREADS": "2", "POLARS_MAX_THREADS": "2"}
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            arguments, cwd=folder, env=environment, stdout=output, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        clock = time.perf_counter() - start
        output.seek(0)
        text = output.read()
    seconds = usage.ru_utime + usage.ru_stime
    return Cost(seconds, clock, usage.ru_maxrss / 1024, None if status else text)


def make_files(folder: Path, n_runs: int, n_queries: int) -> None:
    """Write qrels and runs, ours and as long tables; what is there stays."""
    for name in ("runs", "long"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    sizes = (("query", n_queries), ("doc", DOCS))
    queries, docs = (np.array([f"{what}{n:06}" for n in range(size)]) for what, size in sizes)
    positives, base = rng.integers(0, DOCS, n_queries), rng.integers(0, DOCS, (n_queries, 1))
    lines = zip(queries, docs[positives], strict=True)
    (folder / "qrels.txt").write_text("".join(f"{query} 0 {doc} 1\n" for query, doc in lines))
    (folder / "qrels.csv").write_text(
        "query_id,doc_id\n" + "".join(f"{q},{d}\n" for q, d in zip(queries, docs[positives], strict=True))
    )
    for number in range(n_runs):
        name = f"m{number:03}.parquet"
        if not (folder / "long" / name).exists():
            make_run(folder, name, base, positives, (queries, docs), np.random.default_rng(number))


def make_run(
    folder: Path,
    name: str,
    base: np.ndarray,
    positives: np.ndarray,
    ids: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
) -> None:
    """Write a run whose docs are near those of the others, with half of the positives in its top ten."""
    run_id = name.removesuffix(".parquet")
    fields = ("run_id", "query_id", "doc_id")
    schema = pa.schema([*((field, pa.string()) for field in fields), ("rank", pa.int64())])
    docs, scores = [], []
    with parquet.ParquetWriter(folder / "long" / f".{name}", schema, compression="zstd") as long:
        for start in range(0, len(base), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            doc, score = some_lists(base[part], positives[part], rng)
            query, rank = np.repeat(ids[0][part], DEPTH), np.tile(np.arange(1, DEPTH + 1), len(doc))
            columns = [pa.array([run_id] * rank.size), query, ids[1][doc.ravel()], rank]
            long.write_table(pa.table([pa.array(column) for column in columns], schema=schema))
            docs.append(doc.ravel())
            scores.append(score.ravel())
    query, rank = np.repeat(np.arange(len(base)), DEPTH), np.tile(np.arange(1, DEPTH + 1), len(base))
    ranked = Ranked(query, np.concatenate(docs), rank, np.concatenate(scores), ScoreAnomalies())
    table = run_of_ranked(ranked, run_id, list(ids[0]), list(ids[1]), where=name)
    (folder / "runs" / name).write_bytes(run_bytes(table))
    (folder / "long" / f".{name}").rename(folder / "long" / name)


def some_lists(
    base: np.ndarray, positives: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return docs and scores of some queries, queries × docs."""
    near = np.argsort(rng.random((len(base), 220)) + np.linspace(0, 1, 220), axis=1)[:, :DEPTH]
    doc = (base + 7 * near) % DOCS
    found = np.flatnonzero((rng.random(len(base)) < 0.5) & ~(doc == positives[:, None]).any(axis=1))
    doc[found, rng.integers(0, 10, found.size)] = positives[found]
    return doc, -np.sort(-rng.random((len(base), DEPTH)), axis=1)


if __name__ == "__main__":
    main()
