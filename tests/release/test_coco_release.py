"""The release of a real benchmark reads back equal, by code that shares nothing with ours."""

from pathlib import Path

import pandas as pd
import pytest
from command import rows, run
from exports import export
from small_release import STATED, set_in

Pairs = set[tuple[str, str]]


def positives(path: Path) -> Pairs:
    rows = [line.split() for line in path.read_text().splitlines()]
    return {(row[0], row[2]) for row in rows if int(row[-1]) > 0}


def judge(root: Path, relevant: Pairs) -> None:
    """Answer every task as the corrected qrels do."""
    given = root / "tasks/tasks.json", root / "exports/all.json"
    export(*given, lambda *pair: "relevant" if pair in relevant else "irrelevant", lead_time=5.0)


@pytest.mark.slow
def test_a_release_of_coco_eccv_comes_back(
    coco_eccv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "work"
    run("init", root)
    monkeypatch.chdir(root)
    files = ("queries.tsv", "images.txt", "qrels.orig.txt")
    run("add-collection", *(coco_eccv / name for name in files))
    for path in sorted((coco_eccv / "runs").iterdir()):
        (root / "runs" / path.name).write_bytes(path.read_bytes())
    set_in(root, guideline="caption-image-relevance-v1", overlap=0.0, creators=["A group"])
    set_in(root, measures=["C@1", "AP"], captions="CC-BY-4.0", **STATED)
    run("pool")
    run("tasks")
    judge(root, positives(coco_eccv / "qrels.eccv.txt"))
    for command in ("import", "resolve", "augment", "score"):
        run(command)
    run("release", "--version", "1.0", "--include-runs", 5)
    folder = root / "releases/1.0"
    run("release", "check", folder)
    pooled = {(row["query_id"], row["doc_id"]) for row in rows(folder / "pool.csv")}
    original = positives(coco_eccv / "qrels.orig.txt")
    assert len(pooled) == 35_595
    assert positives(folder / "qrels.txt") == original | (pooled & positives(coco_eccv / "qrels.eccv.txt"))
    table = pd.read_parquet(folder / "data/qrels.parquet")
    assert set(zip(table["query-id"], table["corpus-id"], strict=True)) == original | pooled
    # there are none, and `datasets` loads no empty split
    assert not (folder / "data/disputes.parquet").exists()

    again = tmp_path / "again"
    run("add-collection", folder, "--out", again)
    assert positives(again / "qrels.txt") == positives(folder / "qrels.txt")
    assert (again / "queries.tsv").read_bytes() == (root / "collection/queries.tsv").read_bytes()
    items = [(path / "items.tsv").read_text().splitlines() for path in (again, root / "collection")]
    assert [line.split("\t")[0] for line in items[0]] == [line.split("\t")[0] for line in items[1]]
