"""What it takes to bring predictions in: `python benchmarks/ingest.py [--gigabytes 4]`.

Prints ratios and medians of five (three for the large file): the top of rows against a partition and a
lexical sort; a large .npy file against its parts (reading, hashing, the kernel) with the memory it took;
products of vectors in float64 against float32 with candidates scored again.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fire_toolkit.formats.arrays.npy import read_npy
from fire_toolkit.formats.runs.dense import QUERIES_COLUMNS, QUERIES_ROWS, rank_matrix
from fire_toolkit.formats.runs.embeddings import product_matrix
from fire_toolkit.formats.runs.matrix import held
from fire_toolkit.kernels import load_loops
from fire_toolkit.matching.ranking import top_of_rows

REPEATS = 3


def median_s(work: Callable[[], Any], repeats: int = 5) -> float:
    """Return the median of the seconds that `work` takes."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def by_partition(scores: Any, depth: int, codes: Any) -> tuple[Any, Any]:
    """Return the top of each row by numpy.partition and one lexical sort: the plain way."""
    bound = np.partition(scores, scores.shape[1] - depth, axis=1)[:, scores.shape[1] - depth]
    rows, columns = np.nonzero(scores >= bound[:, None])
    order = np.lexsort([-codes[columns], -scores[rows, columns].astype(np.float64), rows])
    return rows[order], columns[order]


def top_rows() -> None:
    """Compare the kernels on float32 rows."""
    random = np.random.default_rng(0)
    print("top of rows, GB/s (partition + lexsort → this), ratio")
    for n_docs, depth in ((1000, 10), (1000, 100), (5000, 100), (70_000, 10), (70_000, 100)):
        n_rows = max(1, (4 << 20) // n_docs)
        scores = random.standard_normal((n_rows, n_docs)).astype(np.float32)
        codes = random.permutation(n_docs)
        plain = median_s(lambda s=scores, d=depth, c=codes: by_partition(s, d, c))
        ours = median_s(lambda s=scores, d=depth, c=codes: top_of_rows(s, d, c))
        rate = scores.nbytes / 1e9
        print(
            f"  {n_docs:>6} docs, top {depth:>3}: {rate / plain:.2f} → {rate / ours:.2f}, {plain / ours:.1f}×"
        )


def large_file(gigabytes: float, folder: Path) -> None:
    """Read a large .npy file in a process of its own, by rows and by columns, and each part of that alone."""
    n_docs = 20_000
    n_rows = int(gigabytes * 1e9 / 4 / n_docs)
    path = folder / "large.npy"
    write_large(path, n_rows, n_docs)
    size = path.stat().st_size / 1e9
    print(f"a .npy of {size:.1f} GB ({n_rows} × {n_docs}), top 100, GB/s; each the median of {REPEATS}")
    alone = {
        "read alone": median_s(lambda: read_through(path, None), REPEATS),
        "hash alone": median_s(hash_alone, REPEATS) * size,
        "read and hash, one after the other": median_s(lambda: read_through(path, hashlib.sha256()), REPEATS),
        "top 101 alone, of rows in memory": median_s(top_alone, REPEATS) * size,
    }
    for name, seconds in alone.items():
        print(f"  {name}: {size / seconds:.2f}")
    plain = alone["read and hash, one after the other"]
    for orientation in (QUERIES_ROWS, QUERIES_COLUMNS):
        command = [sys.executable, __file__, "--child", str(path), "--orientation", orientation]
        done = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(REPEATS)]
        found = sorted(tuple(map(float, one.stdout.split())) for one in done)
        seconds, main_s, megabytes = found[len(found) // 2]
        print(
            f"  {orientation}, whole: {size / seconds:.2f}, {seconds / plain:.2f}× of read and hash; "
            f"{main_s / size:.2f} s of ranking a GB; peak {megabytes:.0f} MB"
        )


def read_through(path: Path, digest: Any) -> None:
    """Read a file in blocks from the disk, not from memory, and hash it where a digest is given."""
    forget(path)
    block = bytearray(32 << 20)
    with path.open("rb", buffering=0) as stream:
        while n_bytes := stream.readinto(block):
            if digest is not None:
                digest.update(memoryview(block)[:n_bytes])


def forget(path: Path) -> None:
    """Let the system drop what it holds of a file, so that all read it from the disk alike."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def hash_alone() -> None:
    """Hash a gigabyte in memory."""
    digest, block = hashlib.sha256(), bytes(25_000_000)
    for _ in range(40):
        digest.update(block)


def top_alone() -> None:
    """Take the top of a gigabyte of rows, the same block of 32 MB again and again."""
    scores, codes = top_alone_rows()
    for _ in range(int(1e9 / scores.nbytes)):
        top_of_rows(scores, 101, codes)


@functools.cache
def top_alone_rows() -> tuple[Any, Any]:
    """Return a block of random rows and the docs' codes."""
    random = np.random.default_rng(3)
    return random.standard_normal((400, 20_000)).astype(np.float32), random.permutation(20_000)


def write_large(path: Path, n_rows: int, n_docs: int) -> None:
    """Write random rows, a block at a time."""
    block = np.random.default_rng(1).standard_normal((max(1, (64 << 20) // (4 * n_docs)), n_docs))
    block = block.astype(np.float32)
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(
            stream, {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_docs)}
        )
        for start in range(0, n_rows, len(block)):
            block += np.float32(1e-3)
            stream.write(block[: n_rows - start].tobytes())


def child(path: Path, orientation: str) -> None:
    """Rank one file and print seconds, the ranking thread's CPU seconds, and peak megabytes."""
    from fire_toolkit.formats.runs.matrix import FileMatrix, Hasher

    matrix = read_npy(path).matrices[""]
    assert isinstance(matrix, FileMatrix)
    n_rows, n_columns = matrix.shape
    n_queries, n_docs = (n_rows, n_columns) if orientation == QUERIES_ROWS else (n_columns, n_rows)
    docs = [f"d{n}" for n in range(n_docs)]
    positives = (np.arange(n_queries), np.arange(n_queries) % n_docs)
    load_loops()
    forget(path)
    began, began_main = time.perf_counter(), time.thread_time()
    rank_matrix(
        matrix.watched(None, Hasher()),
        orientation=orientation,
        n_queries=n_queries,
        docs=docs,
        depth=100,
        positives=positives,
    )
    seconds, main_s = time.perf_counter() - began, time.thread_time() - began_main
    print(seconds, main_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def products() -> None:
    """Compare float64 products with float32 ones whose best K + 16 are scored again in float64."""
    random = np.random.default_rng(2)
    depth = 100
    for n_queries, n_docs in ((2000, 5000), (400, 50_000)):
        queries, docs = (random.standard_normal((n, 512)).astype(np.float32) for n in (n_queries, n_docs))
        codes = np.arange(n_docs)
        names = [f"d{n:06}" for n in range(n_docs)]
        product = product_matrix(held("q", queries), held("d", docs), similarity="dot")
        doubles = median_s(
            lambda p=product, n=n_queries, d=names: rank_matrix(
                p, orientation=QUERIES_ROWS, n_queries=n, docs=d, depth=depth
            ),
            3,
        )

        def again(queries: Any = queries, docs: Any = docs, codes: Any = codes) -> None:
            for start in range(0, len(queries), 100):
                part = queries[start : start + 100]
                rows, columns = top_of_rows(part @ docs.T, depth + 16, codes)
                pairs = part[rows].astype(np.float64), docs[columns].astype(np.float64)
                exact = np.round(np.einsum("ij,ij->i", *pairs), 9)
                np.lexsort([-codes[columns], -exact, rows])

        singles = median_s(again, 3)
        print(
            f"products of {n_queries} × {n_docs} × 512, top {depth}: float64 {doubles:.2f} s; "
            f"float32 and again {singles:.2f} s; ratio {doubles / singles:.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--child", type=Path)
    parser.add_argument("--orientation")
    given = parser.parse_args()
    if given.child:
        child(given.child, given.orientation)
        return
    top_rows()
    products()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        large_file(given.gigabytes, Path(folder))


if __name__ == "__main__":
    main()
