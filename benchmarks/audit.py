"""Audit made-up captions for equal and nearly equal ones; print rates and the peak of memory.

Usage: python benchmarks/audit.py [CAPTIONS]    (27,763 by default, as many as FIRE has)
"""

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.collections.duplicates import duplicate_captions, near_duplicates
from fire_toolkit.formats.tables.delimited import delimited_text
from fire_toolkit.formats.tables.table_files import read_queries
from fire_toolkit.tables import Queries, check_queries

N_WORDS = 10_000
SHARE_EQUAL, SHARE_NEAR = 0.05, 0.02


def made_up_captions(n_captions: int) -> Queries:
    """Captions of 5 to 14 words of a Zipf vocabulary; some repeat another, some but for one word."""
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    weights = 1 / np.arange(1, len(letters) + 1)
    sizes = rng.integers(2, 10, size=N_WORDS)
    vocabulary = np.array(
        ["".join(rng.choice(letters, size=size, p=weights / weights.sum())) for size in sizes], dtype=object
    )
    frequency = 1 / np.arange(1, N_WORDS + 1)
    lengths = rng.integers(5, 15, size=n_captions)
    words = vocabulary[rng.choice(N_WORDS, size=lengths.sum(), p=frequency / frequency.sum())]
    ends = np.cumsum(lengths)
    texts = [" ".join(words[end - n : end]) for end, n in zip(ends, lengths, strict=True)]
    for row in rng.integers(0, n_captions, size=int(SHARE_EQUAL * n_captions)):
        texts[row] = texts[(row * 7919) % n_captions]
    for row in rng.integers(0, n_captions, size=int(SHARE_NEAR * n_captions)):
        texts[row] = texts[(row * 104729) % n_captions] + " on"
    ids = [f"q{row:07d}" for row in range(n_captions)]
    return check_queries(pd.DataFrame({"query_id": ids, "text": texts}))


def peak_mb() -> float:
    """The largest memory this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(name: str, n_captions: int, work: Callable[[], Any]) -> Any:
    """Do `work`; print its time, rate and the peak of memory so far."""
    start = time.perf_counter()
    done = work()
    seconds = time.perf_counter() - start
    print(f"{name:<18} {seconds:7.1f} s {n_captions / seconds:12,.0f} captions/s   peak {peak_mb():7,.0f} MB")
    return done


def write_captions(path: Path, n_captions: int) -> None:
    """Write made-up captions as a TSV, in a process of its own, whose memory does not count."""
    path.write_text(delimited_text(made_up_captions(n_captions), delimiter="\t"), encoding="utf-8")


def main() -> None:
    """Measure."""
    n_captions = int(sys.argv[1]) if len(sys.argv) > 1 else 27_763
    print(f"before                                            peak {peak_mb():7,.0f} MB")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "queries.tsv"
        maker = multiprocessing.get_context("spawn").Process(target=write_captions, args=(path, n_captions))
        maker.start()
        maker.join()
        queries = timed("read captions", n_captions, lambda: read_queries(path))
    equal = timed("equal captions", n_captions, lambda: duplicate_captions(queries))
    near = timed("near duplicates", n_captions, lambda: near_duplicates(queries, min_similarity=0.9))
    print(f"{len(equal):,} equal an earlier one; {len(near):,} near pairs")


if __name__ == "__main__":
    main()
