"""The whole loop on real data: COCO captions whose corrected positives are known (ECCV Caption).

Five lexical systems are pooled at depth 10, the pooled pairs become Label Studio tasks, and the answers
are taken from the corrected qrels, written as Label Studio would export them. Import, agreement,
resolution, augmentation and scoring are the commands that a person would type.

    python examples/coco_eccv.py COCO_ECCV_FOLDER [OUT_FOLDER]
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from fire_toolkit.campaign.keys import split_pair_id
from fire_toolkit.formats.collections.qrels import read_qrels

MEASURES = ("C@1", "C@5", "C@10", "R@10", "AP@50", "nDCG@10", "Judged@10")


def run(*arguments: str | Path) -> str:
    """Run one command as a person would, show it, and return what it printed."""
    print("$ fire-toolkit", *arguments, file=sys.stderr)
    command = [sys.executable, "-m", "fire_toolkit", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def positives(path: Path) -> set[tuple[str, str]]:
    """Return the positive pairs of a qrels file."""
    qrels = read_qrels(path)
    kept = qrels[qrels["relevance"] >= 1]
    return set(zip(kept["query_id"], kept["doc_id"], strict=True))


def answers(tasks: list[dict[str, object]], relevant: set[tuple[str, str]]) -> list[dict[str, object]]:
    """Return an export in which one annotator has answered every task as `relevant` says."""
    return [
        {
            "id": number,
            "data": task["data"],
            "annotations": [
                {
                    "id": number,
                    "completed_by": 1,
                    "was_cancelled": False,
                    "created_at": "2026-01-01T00:00:00Z",
                    "updated_at": "2026-01-01T00:00:00Z",
                    "lead_time": 5.0,
                    "result": [
                        {
                            "from_name": "relevance",
                            "to_name": "image",
                            "type": "choices",
                            "value": {"choices": [_label(task, relevant)]},
                        }
                    ],
                }
            ],
        }
        for number, task in enumerate(tasks, start=1)
    ]


def _label(task: dict[str, object], relevant: set[tuple[str, str]]) -> str:
    return "relevant" if split_pair_id(task["data"]["pair_id"]) in relevant else "irrelevant"  # type: ignore[index]


def main(source: Path, out: Path) -> None:
    """Run the loop, check that it gives exactly what it must, and print the corrected table."""
    runs = sorted((source / "runs").glob("*.run.gz"))
    original, corrected = source / "qrels.orig.txt", source / "qrels.eccv.txt"
    guideline = "caption-image-relevance-v1"
    run("pool", *runs, "--depth", "10", "--qrels", original, "--out", out / "pool")
    queries = ("--queries", source / "queries.tsv")
    task_file = out / "tasks.json"
    run("tasks", out / "pool", *queries, "--guideline", guideline, "--overlap", "0", "--out", task_file)
    tasks = json.loads(task_file.read_text(encoding="utf-8"))
    export = json.dumps(answers(tasks, positives(corrected)))
    (out / "export.json").write_text(export, encoding="utf-8")
    run("import", out / "export.json", "--guideline", guideline, "--out", out / "judgments.csv")
    run("resolve", out / "judgments.csv", "--guideline", guideline, "--out", out / "labels")
    run("augment", "--qrels", original, "--labels", out / "labels", "--out", out / "qrels.txt")

    pooled = {split_pair_id(task["data"]["pair_id"]) for task in tasks}
    expected = positives(original) | (pooled & positives(corrected))
    if positives(out / "qrels.txt") != expected:
        sys.exit("the augmented qrels are not original ∪ (pooled ∩ corrected)")
    print(
        f"{len(pooled):,} pairs judged; the {len(expected):,} positives are original ∪ (pooled ∩ corrected)"
    )
    options = [part for name in MEASURES for part in ("-m", name)]
    print(run("score", "--qrels", original, "--augmented", out / "qrels.txt", *runs, *options), end="")
    print(run("compare", *runs), end="")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) == 3 else "coco-eccv-out"))
