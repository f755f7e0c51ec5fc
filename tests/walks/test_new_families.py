"""Sounds, segments, fashion, passages and news: from the benchmark's own files to scores, by numpy."""

import csv
import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from command import rows, run

GOLDEN = Path(__file__).parents[1] / "golden" / "collections"
N = 24


def golden(folder: Path, case: str) -> list[tuple[str, str]]:
    """The files of a golden case."""
    shutil.copytree(GOLDEN / case / "input", folder, dirs_exist_ok=True)
    lines = [line.split() for line in (GOLDEN / case / "expected/qrels.txt").read_text().splitlines()]
    return [(query, doc) for query, _, doc, grade in lines if int(grade) > 0]


def miracl(folder: Path) -> list[tuple[str, str]]:
    """A folder as MIRACL's: passages in parts, the last of one line; topics without names; two splits."""
    names = [f"{'విజయవాడ' if n % 2 else 'доктор'}#{n}" for n in range(N)]
    for part, own in enumerate((names[:15], names[15:-1], names[-1:])):
        lines = [json.dumps({"docid": name, "title": "", "text": f"పాఠం {name}"}) for name in own]
        (folder / f"corpus-{part}.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    (folder / "topics.tsv").write_text("".join(f"{n}\tఏది {n}?\n" for n in range(2 * N)))
    (folder / "LICENSE").write_text("Apache-2.0\n")
    (folder / "qrels").mkdir()
    for split, start in (("dev", 0), ("train", N)):
        pairs = [f"{start + n}\t{names[(5 * n) % N]}\t1" for n in range(N)]
        lines = ["query-id\tcorpus-id\tscore", *pairs, f"{start}\t{names[1]}\t0"]
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return [(str(n), names[(5 * n) % N]) for n in range(N)]


def multivent(folder: Path) -> list[tuple[str, str]]:
    """MultiVENT 2.0: queries of both splits, the judgments of one, videos whose ids tables would change."""
    names = ["-4Yx_00-Qa1", "0e1234567", "NA", *(f"{n}0123456789" for n in range(3, N))]
    for split, kind in (("train", "news"), ("test", "held_out")):
        with (folder / f"multivent_2_{split}_queries.csv").open("w", newline="") as stream:
            queries = [(f"{kind}_{n}", f'عاصفة "{n}", 风暴') for n in range(N)]
            csv.writer(stream).writerows([("Query_id", "query"), *queries])
    entries = [
        {"query_id": f"news_{n}", "doc_id": names[(n + shift) % N], "relevance": int(not shift)}
        for n in range(N)
        for shift in (0, 3)
    ]
    lines = "".join(json.dumps(entry) + "\n" for entry in entries)
    (folder / "multivent_2_train_judgments.jsonl").write_text(lines)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    (folder / "videos.csv").write_text("doc_id,media_url\n" + "".join(f"{n},{n}.mp4\n" for n in names))
    return [(f"news_{n}", names[n]) for n in range(N)]


@pytest.mark.parametrize(
    ("case", "options", "guideline", "kind"),
    [
        ("clotho", [], "caption-sound-relevance-v1", "audio"),
        ("youcook2", ["--split", "validation"], "caption-relevance-v1", "video"),
        ("fashioniq", [], "composed-image-relevance-v1", "image"),
        ("miracl", ["--split", "dev"], "passage-relevance-v1", "text"),
        ("multivent", [], "caption-relevance-v1", "video"),
    ],
)
def test_from_files_to_scores(case: str, options: list[str], guideline: str, kind: str, here: Path) -> None:
    (here / "downloads").mkdir()
    make = {"miracl": miracl, "multivent": multivent}.get(case)
    positives = make(here / "downloads") if make else golden(here / "downloads", case)
    run("init", "--guideline", guideline)
    run("add-collection", "downloads", *options)
    docs = [row["doc_id"] for row in rows(Path("collection/items.tsv"), "\t")]
    queries = [row["query_id"] for row in rows(Path("collection/queries.tsv"), "\t")]
    assert sorted(queries) == sorted({query for query, _ in positives})
    scores = np.random.default_rng(3).random((len(queries), len(docs)))
    is_positive = np.array([[(query, doc) in positives for doc in docs] for query in queries])
    assert is_positive.sum() == len(positives)
    scores[is_positive] += 0.3
    np.save("model.npy", scores)
    ids = ("--query-ids", "collection/queries.tsv", "--doc-ids", "collection/items.tsv")
    run("add-run", "model.npy", *ids, "--orientation", "queries-rows")
    best = np.where(is_positive, scores, -1).max(axis=1)
    ranks = 1 + (scores > best[:, None]).sum(axis=1)
    printed = rows(run("score", "-m", "C@1", "-m", "C@5", "-m", "MedR", "--format", "csv"))
    found = {row["measure"]: float(row["value"]) for row in printed if row["query_id"] == "all"}
    expected = {"C@1": np.mean(ranks <= 1), "C@5": np.mean(ranks <= 5), "MedR": np.median(ranks)}
    assert found == pytest.approx(expected, abs=1e-9)
    run("pool", "--depth", "2")
    run("tasks")
    file = next(path for path in sorted(Path("tasks").rglob("*.json")) if "manifest" not in path.name)
    assert {"caption", kind, "pair_id"} <= {*json.loads(file.read_text())[0]["data"]}
