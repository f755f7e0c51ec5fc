"""Scores, ranks and overlaps against other programs, side by side in one process: ratios and their goals.

    python benchmarks/measures.py [--full]

Medians of the CPU time of several runs of one thread, after a first one that is printed too; lists and
dicts of the peers are prepared beforehand, and so are ours. A peer that is not installed is left out with a
word. The data is made up: rankings of random docs, about five positives a query.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd

from fire_toolkit import kernels
from fire_toolkit.formats.runs.dense import QUERIES_ROWS, rank_matrix
from fire_toolkit.formats.runs.matrix import held
from fire_toolkit.formats.runs.matrix_runs import run_of_ranked
from fire_toolkit.formats.runs.native import run_bytes
from fire_toolkit.formats.runs.read import open_run, read_run
from fire_toolkit.inference.compare import compare_runs
from fire_toolkit.matching.judge_matrix import rank_pairs
from fire_toolkit.matching.ranking import ranks_in_rows, top_of_rows
from fire_toolkit.measures import code_qrels, code_run, parse_measure, score_coded
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Qrels, Run, check_qrels, check_run

EIGHT = ("C@1", "C@10", "P@10", "R@10", "RR", "AP", "nDCG@10", "Rprec")
RANX = ("hit_rate@1", "hit_rate@10", "precision@10", "recall@10", "mrr", "map", "ndcg@10", "r-precision")
TREC_EVAL = {"success.1,10", "P.10", "recall.10", "recip_rank", "map", "ndcg_cut.10", "Rprec"}


def cpu_s(work: Callable[[], Any], repeats: int = 5) -> tuple[float, float]:
    """Return the CPU seconds of the first call, and the median of those that follow.

    They are `repeats`, and as many more as together take less than .3 s.
    """
    times: list[float] = []
    while len(times) <= repeats or sum(times) < 0.3:
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return times[0], statistics.median(times[1:])


def say(what: str, ours: float, peer: str, theirs: float, goal: str = "") -> None:
    """Print one line: milliseconds, and how often ours fits into the peer's."""
    print(
        f"  {what:<27} {ours * 1e3:9.2f} ms  {peer:<36} {theirs * 1e3:9.2f} ms  ×{theirs / ours:7.2f}  {goal}"
    )


def left_out(*names: str) -> set[str]:
    """Return which modules are not installed, and say so."""
    absent = {name for name in names if find_spec(name) is None}
    for name in sorted(absent):
        print(f"  {name} is not installed: left out")
    return absent


def made_up(n_queries: int, depth: int, n_docs: int = 10_000) -> tuple[Any, Any]:
    """Return doc indices, queries × depth, and grades, 0 where a doc is no positive."""
    random = np.random.default_rng(0)
    docs = (random.integers(0, n_docs, n_queries)[:, None] + np.arange(depth) * 97) % n_docs
    grades = np.where(random.random(docs.shape) < 5 / depth, random.integers(1, 3, docs.shape), 0)
    grades[np.arange(n_queries), random.integers(0, depth, n_queries)] = 1
    return docs, grades


def as_run(docs: Any, n_docs: int = 10_000, run_id: str = "m") -> Run:
    """Return doc indices as a Run."""
    n_queries, depth = docs.shape
    query_ids = pd.Index([f"q{row:07d}" for row in range(n_queries)], dtype="str")
    doc_ids = pd.Index([f"d{row:06d}" for row in range(n_docs)], dtype="str")
    rank = np.tile(np.arange(1, depth + 1), n_queries)
    columns = {
        "run_id": pd.Categorical.from_codes(
            np.zeros(docs.size, dtype=np.int8), pd.Index([run_id], dtype="str")
        ),
        "query_id": pd.Categorical.from_codes(np.repeat(np.arange(n_queries), depth), query_ids),
        "doc_id": pd.Categorical.from_codes(docs.ravel(), doc_ids),
        "rank": rank,
        "score": -rank.astype(np.float64),
    }
    return check_run(pd.DataFrame(columns))


def as_qrels(docs: Any, grades: Any) -> Qrels:
    """Return the positives as Qrels."""
    row, place = np.nonzero(grades)
    table = {
        "query_id": [f"q{number:07d}" for number in row],
        "doc_id": [f"d{number:06d}" for number in docs[row, place]],
        "relevance": grades[row, place],
    }
    return check_qrels(pd.DataFrame(table))


def run_tables(n_queries: int, depth: int) -> None:
    """Eight measures of every query of a run."""
    print(f"eight measures a query, {n_queries:,} queries, top {depth}")
    docs, grades = made_up(n_queries, depth)
    run, qrels = as_run(docs), as_qrels(docs, grades)
    coded = code_qrels(qrels)
    prepared, measures = code_run(run, coded), [parse_measure(name) for name in EIGHT]

    def score() -> list[Any]:
        values = score_coded(prepared, coded, measures)
        return [(each, m.aggregate(each)) for m, each in zip(measures, values, strict=True)]

    first, ours = cpu_s(score, 9)
    print(f"  first call {first * 1e3:.0f} ms")
    _, without_means = cpu_s(lambda: score_coded(prepared, coded, measures), 9)
    ids = [prepared.block.doc, np.repeat(np.arange(n_queries, dtype=np.int32), depth)]
    say(
        "prepared",
        ours,
        "reading the ids once",
        cpu_s(lambda: [each.sum() for each in ids], 9)[1],
    )
    _, tables = cpu_s(lambda: score_runs(run, qrels, EIGHT), 3)
    say("prepared", ours, "score_runs on tables", tables)
    absent = left_out("ranx", "pytrec_eval", "ir_measures")
    if "ranx" not in absent:
        say("prepared", ours, "ranx, prepared lists", ranx_s(docs, grades), "goal 20")
    n_dicts = min(n_queries, 20_000)
    query_ids = [f"q{row:07d}" for row in range(n_dicts)]
    qrels_dict = {
        query_id: {
            f"d{docs[row, place]:06d}": int(grades[row, place]) for place in np.flatnonzero(grades[row])
        }
        for row, query_id in enumerate(query_ids)
    }
    run_dict = {
        query_id: {f"d{doc:06d}": float(-place) for place, doc in enumerate(docs[row])}
        for row, query_id in enumerate(query_ids)
    }
    scale = n_queries / n_dicts
    if "pytrec_eval" not in absent:
        import pytrec_eval

        evaluator = pytrec_eval.RelevanceEvaluator(qrels_dict, TREC_EVAL)
        say(
            "prepared, without means",  # pytrec_eval makes none
            without_means,
            "pytrec_eval, prepared dicts",
            scale * cpu_s(lambda: evaluator.evaluate(run_dict), 3)[1],
            "goal 25",
        )
    if "ir_measures" not in absent:
        import ir_measures

        names = ("Success@1", "Success@10", "P@10", "R@10", "RR", "AP", "nDCG@10", "Rprec")
        asked = [ir_measures.parse_measure(name) for name in names]
        evaluator = ir_measures.evaluator(asked, qrels_dict)
        say(
            "prepared",
            ours,
            "ir_measures, prepared dicts",
            scale * cpu_s(lambda: evaluator.calc_aggregate(run_dict), 1)[1],
        )


def ranx_s(docs: Any, grades: Any) -> float:
    """Return the CPU seconds of ranx on its own typed lists."""
    from numba.typed import List
    from ranx import evaluate

    depth = docs.shape[1]
    scores = np.arange(depth, 0, -1).astype(np.float64)
    judged, ranked = List(), List()
    for row in range(len(docs)):
        places = np.flatnonzero(grades[row])
        places = places[np.argsort(-grades[row, places], kind="stable")]
        judged.append(np.column_stack([docs[row, places], grades[row, places]]).astype(np.float64))
        ranked.append(np.column_stack([docs[row].astype(np.float64), scores]))
    return cpu_s(lambda: evaluate(judged, ranked, list(RANX)), 3)[1]


def dense(n_queries: int, n_docs: int = 670) -> None:
    """Top 20 and the ranks of five positives a query in a float32 matrix."""
    print(f"dense, {n_queries:,} × {n_docs} float32")
    random = np.random.default_rng(0)
    scores = random.standard_normal((n_queries, n_docs), dtype=np.float32)
    codes = random.permutation(n_docs)
    rows = np.repeat(np.arange(n_queries), 5)
    columns = random.integers(0, n_docs, rows.size)
    first, ranks = cpu_s(lambda: ranks_in_rows(scores, rows, columns, codes))
    print(f"  first call {first * 1e3:.0f} ms")
    say("ranks of all positives", ranks, "one pass over memory", cpu_s(lambda: scores.sum())[1], "goal 1/4")
    n_sorted = min(n_queries, 2000)
    _, sorting = cpu_s(lambda: [np.argsort(-row, kind="stable") for row in scores[:n_sorted]], 3)
    say("ranks of all positives", ranks, "a full sort a query", sorting * n_queries / n_sorted, "goal 100")
    first, top = cpu_s(lambda: top_of_rows(scores, 20, codes))
    print(f"  first call {first * 1e3:.0f} ms")
    _, partition = cpu_s(lambda: np.argpartition(scores, n_docs - 20, axis=1)[:, -20:], 3)
    say("stable top 20", top, "numpy.argpartition, not sorted", partition, "goal 4")
    if not left_out("torch"):
        import torch

        torch.set_num_threads(1)
        tensor = torch.from_numpy(scores)
        say(
            "stable top 20",
            top,
            "torch.topk, ties as they fall",
            cpu_s(lambda: torch.topk(tensor, 20, dim=1))[1],
            "goal 3",
        )


def fire_scoring(n_queries: int, n_docs: int = 670) -> None:
    """Three matrices, original and augmented labels, P, R and C at 1, 5, 10 and AP: FIRE's table."""
    print(f"FIRE's scoring, three matrices {n_queries:,} × {n_docs}, original and augmented labels")
    random = np.random.default_rng(0)
    matrices = [random.standard_normal((n_queries, n_docs), dtype=np.float32) for _ in range(3)]
    original = random.integers(0, n_docs, n_queries)
    added = random.integers(0, n_docs, (n_queries, 4))
    query_ids = [f"q{row:06d}" for row in range(n_queries)]
    doc_ids = [f"v{row:04d}" for row in range(n_docs)]
    labels = [original[:, None], np.column_stack([original, added])]
    qrels = []
    for each in labels:
        pairs = {(query_ids[row], doc_ids[doc]) for row, docs in enumerate(each.tolist()) for doc in docs}
        qrels.append(
            check_qrels(
                pd.DataFrame([(*pair, 1) for pair in pairs], columns=["query_id", "doc_id", "relevance"])
            )
        )
    names = [f"{name}@{k}" for name in "PRC" for k in (1, 5, 10)] + ["AP_fire@20"]
    measures = [parse_measure(name) for name in names]

    def by_matrix() -> Any:
        docs = pd.Index(qrels[1]["doc_id"].unique())
        coded = code_qrels(qrels[0], docs=docs)
        both = coded, code_qrels(qrels[1], queries=coded.queries, docs=docs)
        means = []
        for scores in matrices:
            for each in both:
                held = [(scores, np.full(len(scores), -np.inf, dtype=scores.dtype))]
                ids = {"query_ids": pd.Index(query_ids), "doc_ids": pd.Index(doc_ids)}
                ranking = rank_pairs(held, each, **ids).under(each).ranking
                means.append([measure.aggregate(measure.per_query(ranking)) for measure in measures])
        return means

    def by_runs() -> Any:
        runs = []
        for number, scores in enumerate(matrices):
            ranked = rank_matrix(
                held("scores", scores), orientation=QUERIES_ROWS, n_queries=n_queries, docs=doc_ids, depth=20
            )
            runs.append(run_of_ranked(ranked, f"m{number}", query_ids, doc_ids, where="scores"))
        return score_runs(runs, qrels[0], names, augmented=qrels[1]).scores

    n_plain = min(n_queries, 1000)

    def plain() -> Any:
        found = []
        for scores in matrices:
            for each in labels:
                rows = [plain_row(scores[row], set(each[row].tolist())) for row in range(n_plain)]
                found.append(np.mean(rows, axis=0))
        return found

    first, took = cpu_s(by_matrix, 3)
    print(f"  first call {first * 1e3:.0f} ms")
    theirs = cpu_s(plain, 1)[1] * n_queries / n_plain
    say("from matrices to scores", took, "argsort and sets, query by query", theirs, "goal 25")
    say("through runs of the top 20", cpu_s(by_runs, 2)[1], "argsort and sets, query by query", theirs)


def plain_row(scores: Any, positives: set[int]) -> list[float]:
    """Return P, R and C at 1, 5 and 10, and AP of the top 20, of one query, in plain Python."""
    order = np.argsort(-scores).tolist()
    values = []
    for k in (1, 5, 10):
        n_found = len(set(order[:k]) & positives)
        values += [n_found / k, n_found / len(positives), float(n_found > 0)]
    precisions, n_found = [], 0
    for rank, doc in enumerate(order[:20], start=1):
        if doc in positives:
            n_found += 1
            precisions.append(n_found / rank)
    return [*values, sum(precisions) / len(precisions) if precisions else 0.0]


def overlaps(n_queries: int, depth: int = 10) -> None:
    """Overlap and the RBO family of the three pairs of three runs."""
    print(f"overlap, average overlap, four RBO; 3 pairs of runs, {n_queries:,} queries, top {depth}")
    random = np.random.default_rng(0)
    base = random.standard_normal((n_queries, 200), dtype=np.float32)
    lists = [
        np.argsort(-(base + random.standard_normal(base.shape, dtype=np.float32)), axis=1)[:, :depth]
        for _ in range(3)
    ]
    runs = [as_run(docs, run_id=name) for docs, name in zip(lists, "abc", strict=True)]
    first, ours = cpu_s(lambda: compare_runs(runs, depth=depth))
    print(f"  first call {first * 1e3:.0f} ms")
    if left_out("rbo"):
        return
    from rbo import RankingSimilarity

    n_slow = min(n_queries, 2000)
    pairs = [
        (a[row].tolist(), b[row].tolist())
        for a, b in ((0, 1), (0, 2), (1, 2))
        for a, b in [(lists[a], lists[b])]
        for row in range(n_slow)
    ]
    _, one = cpu_s(lambda: [RankingSimilarity(a, b).rbo(p=0.9) for a, b in pairs], 3)
    _, ext = cpu_s(lambda: [RankingSimilarity(a, b).rbo_ext(p=0.9) for a, b in pairs], 3)
    scale = n_queries / n_slow
    say("all six of three pairs", ours, "rbo package: the cheaper of its scores", min(one, ext) * scale)
    say("all six of three pairs", ours, "rbo package: truncated and ext", (one + ext) * scale, "goal 200")
    say("all six of three pairs", ours, "rbo package: six such scores", 3 * (one + ext) * scale)


def files(n_queries: int, depth: int = 100) -> None:
    """From a file to scores."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    print(f"files, a run of {n_queries * depth:,} lines")
    docs, grades = made_up(n_queries, depth)
    qrels = as_qrels(docs, grades)
    falling = -np.sort(-np.random.default_rng(1).random(docs.shape, dtype=np.float32), axis=1)
    run = check_run(as_run(docs).assign(score=falling.ravel().astype(np.float64)))
    coded = pa.dictionary(pa.int32(), pa.string())
    names = ["query_id", "Q0", "doc_id", "rank", "score", "run_id"]
    types = {"query_id": coded, "doc_id": coded, "run_id": coded, "score": pa.float64()}
    with tempfile.TemporaryDirectory() as folder:
        text, table = Path(folder, "run.trec"), Path(folder, "run.parquet")
        with text.open("w") as out:
            for row in range(n_queries):
                out.writelines(
                    f"q{row:07d} Q0 d{doc:06d} {place + 1} {-place - 1} m\n"
                    for place, doc in enumerate(docs[row])
                )
        table.write_bytes(run_bytes(run))

        def arrow() -> Any:
            return csv.read_csv(
                text,
                read_options=csv.ReadOptions(column_names=names, use_threads=False),
                parse_options=csv.ParseOptions(delimiter=" ", quote_char=False),
                convert_options=csv.ConvertOptions(column_types=types, include_columns=list(types)),
            )

        def as_text() -> Any:
            return parquet.ParquetFile(table, page_checksum_verification=True).read(use_threads=False)

        def as_codes() -> Any:
            ids = ["doc_ids.list.element"]
            file = parquet.ParquetFile(table, page_checksum_verification=True, read_dictionary=ids)
            return [
                file.read_row_group(each, use_threads=False) for each in range(file.metadata.num_row_groups)
            ]

        first, ours = cpu_s(lambda: score_runs(read_run(text), qrels, EIGHT), 3)
        print(f"  first call {first * 1e3:.0f} ms")
        say("TREC text to scores", ours, "pyarrow reads the text", cpu_s(arrow, 3)[1], "goal 1/1.3")
        _, ours = cpu_s(lambda: score_runs(open_run(table), qrels, EIGHT), 3)
        say("Parquet to scores", ours, "pyarrow reads it, ids as text", cpu_s(as_text, 3)[1])
        say("Parquet to scores", ours, "pyarrow reads it, ids as codes", cpu_s(as_codes, 3)[1])
        _, ours = cpu_s(lambda: read_run(table), 3)
        say("Parquet to a Run", ours, "pyarrow reads it, ids as codes", cpu_s(as_codes, 3)[1])
        scores = np.random.default_rng(0).standard_normal((n_queries, 670), dtype=np.float32)
        np.savez(Path(folder, "m.npz"), scores)
        for name, letter, count in (("query_ids", "q0", n_queries), ("doc_ids", "v", 670)):
            Path(folder, f"m.{name}.txt").write_text("".join(f"{letter}{row:06d}\n" for row in range(count)))
        _, ours = cpu_s(lambda: read_run(Path(folder, "m.npz"), depth=20), 3)
        wanted = qrels["doc_id"].str.slice(3).astype(int) % 670  # other docs for the same queries
        pairs = qrels.assign(doc_id="v" + wanted.astype("str").str.zfill(6))
        pairs = check_qrels(pairs.drop_duplicates(["query_id", "doc_id"]))
        _, loaded = cpu_s(lambda: np.load(Path(folder, "m.npz"))["arr_0"], 3)
        _, scored = cpu_s(lambda: score_runs(open_run(Path(folder, "m.npz")), pairs, EIGHT), 3)
        say("npz to scores", scored, "numpy loads the npz", loaded)
        say(
            "npz to a Run, top 20",
            ours,
            "numpy loads the npz",
            loaded,
        )


def cost_per_query(n_queries: int) -> None:
    """Three models, top 100, from files by `score` in a process of its own: cost a query, peak memory."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import measures; "
    here = str(Path(__file__).parent)
    with tempfile.TemporaryDirectory() as folder:
        for work in ("write_models", "score_models"):
            call = f"{code} measures.{work}(*sys.argv[2:])"
            subprocess.run([sys.executable, "-c", call, here, str(n_queries), folder], check=True)


def peak_mb() -> float:
    """Return the most memory this process has held (Linux; its parent's where the system counts that too)."""
    status = Path("/proc/self/status")
    if status.is_file():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def write_models(n_queries: str, folder: str, depth: int = 100) -> None:
    """Write three runs and qrels."""
    docs, grades = made_up(int(n_queries), depth)
    scores = -np.sort(-np.random.default_rng(1).random(docs.shape, dtype=np.float32), axis=1)
    with Path(folder, "qrels").open("w") as out:
        for row, place in zip(*np.nonzero(grades), strict=True):
            out.write(f"q{row:07d} 0 d{docs[row, place]:06d} {grades[row, place]}\n")
    for model in range(3):
        run = as_run(np.roll(docs, model, axis=1), run_id=f"m{model}")
        run = check_run(run.assign(score=scores.ravel().astype(np.float64)))
        Path(folder, f"m{model}").write_bytes(run_bytes(run))


def score_models(n_queries: str, folder: str) -> None:
    """Score the three runs as the command does, after a first few, and print cost and memory."""
    from click.testing import CliRunner

    from fire_toolkit.cli import main as command

    few = Path(folder, "few")
    few.mkdir()
    write_models("1000", str(few))
    kernels.load_loops()
    took = 0.0
    for place in (few, Path(folder)):
        runs = [str(place / f"m{model}") for model in range(3)]
        asked = [word for name in EIGHT for word in ("--measure", name)]
        began = time.process_time()
        result = CliRunner().invoke(command, ["score", *runs, "--qrels", str(place / "qrels"), *asked])
        took = time.process_time() - began
        if result.exit_code:
            raise SystemExit(result.output)
    cost = f"{took / int(n_queries) / 3 * 1e6:6.2f} µs a query and model"
    print(f"  {int(n_queries):>9,} queries × top 100 × 3 models: {cost}, peak {peak_mb():6,.0f} MB")


def cold() -> None:
    """The first use in a new process, with machine code kept from before and without."""
    print("loading and first use of the compiled join, seconds of a new process")
    code = (
        "import time; began = time.perf_counter()\n"
        "import numpy as np; from fire_toolkit import kernels; from fire_toolkit.matching import lookup\n"
        "at = time.perf_counter(); kernels.load_loops()\n"
        "one = np.zeros(1, np.int64); few = np.zeros(20_000, np.int32)\n"
        "lookup.find_judged(few, few.astype(np.int64), (one, one), few[:1], one, np.array([0, 1]), 1)\n"
        "print(f'{at - began:.2f} imports, {time.perf_counter() - at:.2f} loops')"
    )
    with tempfile.TemporaryDirectory() as folder:
        for what in ("without kept code", "with kept code"):
            done = subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "NUMBA_CACHE_DIR": folder},
                capture_output=True,
                text=True,
                check=True,
            )
            print(f"  {what:<20} {done.stdout.strip()}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="the sizes of the documentation; takes minutes")
    full = parser.parse_args().full
    print("compiled loops" if kernels.load_loops() else "numba is not installed: plain NumPy")
    for n_queries, depth in ((27_763, 20), (100_000, 100)) if full else ((5_000, 20), (5_000, 100)):
        run_tables(n_queries, depth)
    dense(27_763 if full else 5_000)
    fire_scoring(27_763 if full else 3_000)
    overlaps(27_763 if full else 5_000)
    files(30_000 if full else 3_000)
    print("cost per query, from files by the command score")
    for n_queries in (10_000, 100_000, 1_000_000) if full else (2_000, 10_000):
        cost_per_query(n_queries)
    cold()


if __name__ == "__main__":
    main()
