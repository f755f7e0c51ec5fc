"""What corrected labels mean, in one run: the sample pool and, where it is, a benchmark of COCO captions.

Scores with their bounds and intervals, differences that hold, FIRE's tables, overlap, orders,
what each run brought, reusability and the cost of settling a new run, printed as the commands print
them. Of the COCO captions the last system is not pooled: it is the new run.

    python examples/certainty.py [COCO_ECCV_FOLDER]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from fire_toolkit import read_pool
from fire_toolkit.cli import main
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.written import delimited_text
from fire_toolkit.tables import Labels, check_labels

SAMPLE = Path(__file__).resolve().parents[1] / "pools" / "sample"
MEASURES = ("-m", "C@1", "-m", "C@10", "-m", "nDCG@10")


def fire(*arguments: str | Path) -> None:
    """Run one command as a person would, and show it with what it prints; stop where it fails."""
    words = [str(argument) for argument in arguments]
    print("\n$ fire-toolkit", *words, flush=True)
    code = main.main(words, standalone_mode=False)
    if code:
        sys.exit(code)


def show_all(runs: list[Path], queries: Path, original: Path, labels: Path, sources: Path, out: Path) -> None:
    """Run every command of comparison and certainty on one benchmark."""
    augmented = out / "augmented.txt"
    fire("augment", "--qrels", original, "--labels", labels, "--out", augmented)
    both = ("--qrels", original, "--augmented", augmented)
    pool_sources = ("--pool-sources", sources)
    shutil.copy(sources, out / "pool_sources.csv")  # beside the augmented qrels, where scores look for it
    for policy in ("union", "drop"):
        fire("score", "--honest", *runs, *both, "--policy", policy, *MEASURES)
    fire("difference", *runs[:3], *both, *MEASURES[:4])
    fire("report", "table1", *runs, *both)
    fire("report", "table3", *runs[:3])
    fire("report", "table4", *runs, *both, *pool_sources)
    fire("report", "length", runs[0], *both, "--queries", queries)
    fire("report", "saturation", *runs, *both)
    # For want of training captions, those of the benchmark: each is its own nearest.
    fire("report", "similarity", *runs[:2], *both, "--queries", queries, "--train", queries)
    fire("compare", *runs[:3], "--depth", "5", "--depth", "10", "--ties", "a")
    for show in ("agreement", "swaps"):
        fire("orders", *runs, "--qrels", original, "--qrels", augmented, *MEASURES, "--show", show)
    fire("own", *pool_sources, "--labels", labels, "--qrels", original)
    fire("reuse", *runs, *both, *pool_sources)
    fire("reuse", *runs, *both, *pool_sources, *MEASURES, "--show", "orders")
    fire("coverage", runs[-1], *both, "--out", out / "settle" / "pool.csv")


def sample(out: Path) -> None:
    """The sample pool: judgments resolved, all five runs pooled."""
    judgments, sources = SAMPLE / "judgments.csv", SAMPLE / "pool_sources.csv"
    fire("resolve", judgments, "--out", out / "labels")
    fire("report", "table2", "--judgments", judgments, "--pool-sources", sources)
    runs = sorted((SAMPLE / "runs").glob("*.run"))
    show_all(runs, SAMPLE / "queries.tsv", SAMPLE / "qrels.txt", out / "labels", sources, out)


def coco(folder: Path, out: Path) -> None:
    """COCO captions: four systems pooled at depth 10, their pairs labelled as people corrected them."""
    runs = sorted((folder / "runs").glob("*.run.gz"))
    original = folder / "qrels.orig.txt"
    fire("pool", *runs[:-1], "--depth", "10", "--qrels", original, "--out", out / "pool")
    labels = out / "labels.csv"
    labels.write_text(delimited_text(labels_of(out / "pool", folder / "qrels.eccv.txt")), encoding="utf-8")
    show_all(runs, folder / "queries.tsv", original, labels, out / "pool" / "pool_sources.csv", out)


def labels_of(pool: Path, corrected: Path) -> Labels:
    """Return for every pooled pair whether the corrected qrels hold it as a positive."""
    pairs = read_pool(pool)[["query_id", "doc_id"]]
    found = pairs.merge(read_qrels(corrected), on=["query_id", "doc_id"], how="left")
    relevance = (found["relevance"] >= 1).astype(int)
    label = relevance.map({1: "relevant", 0: "irrelevant"})
    return check_labels(pairs.assign(relevance=relevance, label=label))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as made:
        sample(Path(made) / "sample")
        if len(sys.argv) == 2:
            (Path(made) / "coco").mkdir()
            coco(Path(sys.argv[1]), Path(made) / "coco")
