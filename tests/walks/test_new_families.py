"""Sounds, segments, fashion, passages and news: from the benchmark's own files to scores, by numpy."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from fire_toolkit.cli import main

N = 24


def fire(*arguments: object) -> str:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == 0, (arguments, done.output)
    return done.stdout


def clotho(folder: Path) -> list[int]:
    """Clotho: a CSV with a row for each recording, whose name holds blanks, and its five captions."""
    with (folder / "clotho_captions_evaluation.csv").open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["file_name", *(f"caption_{n}" for n in range(1, 6))])
        rows.writerows(
            [f"rain, take {n} 100%.wav", *(f"rain {n}, heard {m}" for m in range(5))] for n in range(N)
        )
    return [n for n in range(N) for _ in range(5)]


def youcook2(folder: Path) -> list[int]:
    """YouCook2: segments of videos under `database`, each with its sentence; two splits."""
    found = {
        f"vid_{video}": {
            "subset": "validation" if video < N // 3 else "training",
            "video_url": f"https://example.org/{video}",
            "annotations": [
                {"id": n, "segment": [10 * n, 10 * n + 9], "sentence": f"step {n} of {video}"}
                for n in range(3)
            ],
        }
        for video in range(N)
    }
    (folder / "youcookii_annotations_trainval.json").write_text(json.dumps({"database": found}))
    return list(range(N))


def fashioniq(folder: Path) -> list[int]:
    """FashionIQ: two captions for each candidate and target, the split's images, and their attributes."""
    names = [f"B{n:03}" for n in range(N)]
    entries = [
        {"candidate": names[n], "target": names[(n + 1) % N], "captions": [f"is longer {n}", "is red "]}
        for n in range(N)
    ]
    attributes = {name: [["floral"], ["cotton", "knit"], [], ["zip"], []] for name in names}
    for name, content in (("cap", entries), ("split", names), ("asin2attr", attributes)):
        (folder / f"{name}.dress.val.json").write_text(json.dumps(content))
    return [(n + 1) % N for n in range(N)]


def miracl(folder: Path) -> list[int]:
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
    return [(5 * n) % N for n in range(N)]


def multivent(folder: Path) -> list[int]:
    """MultiVENT 2.0: queries of both splits, the judgments of one, videos whose ids tables would change."""
    names = ["-4Yx_00-Qa1", "0e1234567", "NA", *(f"{n}0123456789" for n in range(3, N))]
    for split, kind in (("train", "news"), ("test", "held_out")):
        with (folder / f"multivent_2_{split}_queries.csv").open("w", newline="") as stream:
            rows = csv.writer(stream)
            rows.writerow(["Query_id", "query"])
            rows.writerows([f"{kind}_{n}", f'عاصفة "{n}", 风暴'] for n in range(N))
    entries = [
        {"query_id": f"news_{n}", "doc_id": names[(n + shift) % N], "relevance": int(not shift)}
        for n in range(N)
        for shift in (0, 3)
    ]
    lines = "".join(json.dumps(entry) + "\n" for entry in entries)
    (folder / "multivent_2_train_judgments.jsonl").write_text(lines)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    with (folder / "videos.csv").open("w") as stream:
        stream.write("doc_id,media_url\n" + "".join(f"{name},{name}.mp4\n" for name in names))
    return list(range(N))


@pytest.mark.parametrize(
    ("make", "options", "guideline", "url"),
    [
        (clotho, [], "caption-sound-relevance-v1", "rain, take 0 100%.wav"),
        (youcook2, ["--split", "validation"], "caption-relevance-v1", "vid_0_0"),
        (fashioniq, [], "composed-image-relevance-v1", "B000"),
        (miracl, ["--split", "dev"], "passage-relevance-v1", "доктор#0"),
        (multivent, [], "caption-relevance-v1", "-4Yx_00-Qa1.mp4"),
    ],
)
def test_from_files_to_scores(
    make: Callable[[Path], list[int]], options: list[str], guideline: str, url: str, here: Path
) -> None:
    downloads = here / "downloads"
    downloads.mkdir()
    positive = np.array(make(downloads))
    fire("init", "--guideline", guideline)
    fire("add-collection", downloads, *options)
    items = list(csv.DictReader(io.StringIO(Path("collection/items.tsv").read_text()), delimiter="\t"))
    queries = Path("collection/queries.tsv").read_text().splitlines()[1:]
    assert (len(queries), items[0]["media_url"]) == (len(positive), url)
    scores = np.random.default_rng(3).random((len(queries), len(items)))
    scores[np.arange(len(queries)), positive] += 0.3
    np.save("model.npy", scores)
    ids = ("--query-ids", "collection/queries.tsv", "--doc-ids", "collection/items.tsv")
    fire("add-run", "model.npy", *ids, "--orientation", "queries-rows")
    own = scores[np.arange(len(queries)), positive]
    ranks = 1 + (scores > own[:, None]).sum(axis=1)
    printed = csv.DictReader(
        io.StringIO(fire("score", "-m", "C@1", "-m", "C@5", "-m", "MedR", "--format", "csv"))
    )
    found = {row["measure"]: float(row["value"]) for row in printed if row["query_id"] == "all"}
    expected = {"C@1": np.mean(ranks <= 1), "C@5": np.mean(ranks <= 5), "MedR": np.median(ranks)}
    assert found == pytest.approx(expected, abs=1e-9)
    fire("pool", "--depth", "2")
    fire("tasks")
    file = next(path for path in sorted(Path("tasks").rglob("*.json")) if "manifest" not in path.name)
    shown = json.loads(file.read_text())[0]["data"]
    kinds = {
        "clotho": "audio",
        "youcook2": "video",
        "fashioniq": "image",
        "miracl": "text",
        "multivent": "video",
    }
    assert {"caption", kinds[make.__name__], "pair_id"} <= {*shown}
