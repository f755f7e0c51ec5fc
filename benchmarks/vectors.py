"""What ranking vectors costs: `python benchmarks/vectors.py [--docs 50000 200000] [--queries 1000]`.

Makes vectors of docs and of queries near some of them, and lets `add-run` rank them, exactly and by
`--approximate .95`. Beside it faiss reads the same files and writes its lists: its flat search, which
compares all docs, and its HNSW graph. Each is a process of its own, on two threads; printed are CPU seconds
(user and system) with their ratio to those of `add-run`, exact, the peak of memory, the share of the nearest
ten docs that were found, and of queries whose ten are in our order. faiss is left out if it is not installed.

Absolute seconds are of one machine; the ratios, the growth and what was found are what can be compared.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from pyarrow import parquet
from scale import OURS, run

DEPTH = 100
FAISS = """
import sys, numpy as np, faiss
kind, depth = sys.argv[1], int(sys.argv[2])
queries, docs = np.load("q.npy"), np.load("d.npy", mmap_mode="r")
index = faiss.index_factory(docs.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
for start in range(0, len(docs), 50_000):
    index.add(np.ascontiguousarray(docs[start : start + 50_000]))
if kind != "Flat":
    index.hnsw.efSearch = 128
scores, places = index.search(queries, depth)
np.savez(f"{kind}.npz", ids=places, scores=scores)
"""


def main() -> None:
    """Make the files and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=int, nargs="+", default=[50_000, 200_000])
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--width", type=int, default=256)
    given = parser.parse_args()
    for n_docs in given.docs:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            with ProcessPoolExecutor(
                1, get_context("spawn")
            ) as maker:  # a child's peak begins at its parent's
                maker.submit(make_files, folder, given.queries, n_docs, given.width).result()
            print(f"{given.queries:,} queries × {n_docs:,} docs × {given.width}")
            compare(folder)


def make_files(folder: Path, n_queries: int, n_docs: int, width: int) -> None:
    """Write vectors of length 1: 500 centres in 40 dimensions and what is around them, with noise in all."""
    random = np.random.default_rng(0)
    within = random.normal(size=(40, width)).astype(np.float32)
    centres = random.normal(size=(500, 40)).astype(np.float32)
    docs = np.lib.format.open_memmap(folder / "d.npy", "w+", np.float32, (n_docs, width))
    for start in range(0, n_docs, 50_000):
        n = min(50_000, n_docs - start)
        inner = centres[random.integers(500, size=n)] + random.normal(size=(n, 40)).astype(np.float32)
        docs[start : start + n] = unit(inner @ within + 1.5 * random.normal(size=(n, width)))
    near = docs[np.sort(random.permutation(n_docs)[:n_queries])]
    np.save(folder / "q.npy", unit(near + 0.05 * random.normal(size=near.shape)))
    for name, n in (("q", len(near)), ("d", n_docs)):
        (folder / f"{name}.txt").write_text("".join(f"{name}{place:08}\n" for place in range(n)))


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32)


def compare(folder: Path) -> None:
    """Run each and print what it cost and found."""
    files = "--queries-emb q.npy --items-emb d.npy --query-ids q.txt --doc-ids d.txt --similarity dot --out ."
    ours = [*OURS, "add-run", *files.split(), "--depth", str(DEPTH), "--id"]
    theirs = [sys.executable, "-c", FAISS]
    exact = run([*ours, "exact"], folder)
    best = np.array(parquet.read_table(folder / "exact.parquet")["doc_ids"].to_pylist())[:, :10]
    for name, words in (
        ("add-run", None),
        ("faiss flat", [*theirs, "Flat", str(DEPTH)]),
        ("faiss HNSW32", [*theirs, "HNSW32", str(DEPTH)]),
        ("add-run --approximate .95", [*ours, "near", "--approximate", ".95"]),
    ):
        cost = exact if words is None else run(words, folder)
        if cost.output is None:
            print(f"  {name:27} did not run; is faiss-cpu installed?")
            continue
        found = best if words is None else lists_of(folder, words)
        share = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(best, found, strict=True)])
        print(
            f"  {name:27}{cost.seconds:8.1f} s{cost.seconds / exact.seconds:7.2f}×{cost.megabytes:8,.0f} MB"
            f"   recall@10 {share:.3f}, in our order {(found == best).all(axis=1).mean():.1%}"
        )


def lists_of(folder: Path, words: list[str]) -> np.ndarray:
    """Return the first ten docs of each query, by their ids."""
    if "near" in words:
        lists = parquet.read_table(folder / "near.parquet")["doc_ids"].to_pylist()
        return np.array([[*own[:10], *[""] * (10 - len(own))] for own in lists])
    with np.load(folder / f"{words[3]}.npz") as found:
        return np.array([[f"d{place:08}" for place in own] for own in found["ids"][:, :10]])


if __name__ == "__main__":
    main()
