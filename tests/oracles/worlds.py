"""Small benchmarks from one seed each, in files that other programs write; needs numpy alone.

A world is a workspace of 60 queries and 90 docs, three models and annotators with known habits. What is
relevant is drawn; a model's score is noise, plus a bonus for relevant docs and another for the original.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

N_QUERIES, N_DOCS = 60, 90
MODELS = {"alpha": 0.7, "beta": 1.0, "gamma": 1.4}
WORDS = ["dog", "car", "red", "man", "ball", "tree", "water", "street", "night", "child", "guitar", "runs"]


@dataclass(frozen=True)
class World:
    """A guideline with its labels from the worst to the best, and how often people err."""

    name: str
    guideline: str
    labels: tuple[str, ...]
    seed: int
    error: float = 0.08


WORLDS = (
    World("binary", "caption-relevance-v1", ("irrelevant", "relevant"), 1),
    World("graded", "graded-relevance-v1", ("mismatch", "loose", "close", "exact"), 2),
    World("composed", "composed-image-relevance-v1", ("irrelevant", "relevant"), 3),
    World("captions", "query-validity-v1", ("unusable", "usable"), 4),
    World("texts", "passage-relevance-v1", ("irrelevant", "relevant"), 5),
    World("carried", "caption-relevance-v1", ("irrelevant", "relevant"), 6),  # pushed before anybody answers
)


def build(world: World, root: Path) -> None:
    """Put a world's collection and runs into a workspace that `init` made."""
    rng = np.random.default_rng(world.seed)
    queries = [f"q{number:03d}" for number in rng.permutation(N_QUERIES)]
    docs = [f"{'NA' if number == 7 else f'v{number:03d}'}" for number in rng.permutation(N_DOCS)]
    grades = _grades(rng, len(world.labels))
    originals = grades.argmax(axis=1)
    _write_collection(world, root, rng, queries, docs, originals)
    if world.name == "captions":
        return
    for name, noise in MODELS.items():
        scores = 1.2 * (grades > 0) + 0.6 * grades + rng.normal(0, noise, grades.shape)
        scores[np.arange(N_QUERIES), originals] += 0.8
        if name == "alpha":
            scores = np.round(scores, 1)  # ties
        _write_run(root / "runs", name, scores.astype(np.float32), queries, docs)
    likely = 1 / (1 + np.exp(1.5 - 3 * (grades > 0) - rng.normal(0, 1, grades.shape)))
    rows = [(*pair, likely[place]) for place, pair in _pairs(queries, docs)]
    lines = [f"{query},{doc},{value:.6f}" for query, doc, value in rows]
    (root / "machine.csv").write_text("\n".join(["query_id,doc_id,score", *lines]) + "\n")


def _pairs(queries: list[str], docs: list[str]) -> Iterator[tuple[tuple[int, int], tuple[str, str]]]:
    """Yield each pair with its place in an array of (queries, docs)."""
    for q, query in enumerate(queries):
        for d, doc in enumerate(docs):
            yield (q, d), (query, doc)


def _grades(rng: np.random.Generator, n_labels: int) -> Any:
    """Return (queries, docs) with the grade of each pair; each query has one of the highest at least."""
    found = np.where(
        rng.random((N_QUERIES, N_DOCS)) < 0.06, rng.integers(1, n_labels, (N_QUERIES, N_DOCS)), 0
    )
    found[np.arange(N_QUERIES), rng.integers(N_DOCS, size=N_QUERIES)] = n_labels - 1
    return found


def _write_collection(
    world: World, root: Path, rng: np.random.Generator, queries: list[str], docs: list[str], originals: Any
) -> None:
    columns, more = ["query_id", "text", "kind"], [["short", "long"][n % 2] for n in range(N_QUERIES)]
    texts = [" ".join(rng.choice(WORDS, size=4 + 3 * (n % 2))) for n in range(N_QUERIES)]
    texts[5] = texts[11]
    rows = [[query, text, kind] for query, text, kind in zip(queries, texts, more, strict=True)]
    if world.name == "composed":
        columns = [*columns, "reference"]
        rows = [
            [*row, docs[int(original + 1) % N_DOCS]] for row, original in zip(rows, originals, strict=True)
        ]
    folder = root / "collection"
    folder.mkdir(exist_ok=True)
    lines = ["\t".join(row) for row in [columns, *rows]]
    (folder / "queries.tsv").write_text("\n".join(lines) + "\n")
    qrels = [f"{query} 0 {docs[doc]} 1" for query, doc in zip(queries, originals, strict=True)]
    (folder / "qrels.txt").write_text("\n".join(qrels) + "\n")
    if world.name == "texts":
        items = [f"{doc}\t{' '.join(rng.choice(WORDS, size=9))}" for doc in docs]
        (folder / "items.tsv").write_text("doc_id\ttext\n" + "\n".join(items) + "\n")
    elif world.name != "captions":
        kind = "jpg" if "image" in world.guideline else "mp4"
        items = [f"{doc}\thttps://media.test/{doc}.{kind}" for doc in docs]
        (folder / "items.tsv").write_text("doc_id\tmedia_url\n" + "\n".join(items) + "\n")


def _write_run(folder: Path, name: str, scores: Any, queries: list[str], docs: list[str]) -> None:
    if name == "beta":  # a matrix with its ids
        np.savez(folder / f"{name}.npz", sims=scores, query_ids=np.array(queries), doc_ids=np.array(docs))
        return
    lines = []
    for query, row in zip(queries, scores, strict=True):
        best = sorted(range(N_DOCS), key=lambda doc: (row[doc], docs[doc]), reverse=True)[:40]
        lines += [f"{query} Q0 {docs[doc]} {rank} {row[doc]:.6f} {name}" for rank, doc in enumerate(best, 1)]
    (folder / f"{name}.run").write_text("\n".join(lines) + "\n")


def answers(world: World, tasks: Path, annotator: int, moment: str) -> str:
    """Return a Label Studio export in which one person answers every task of a file, erring at times."""
    exported = []
    for number, task in enumerate(json.loads(tasks.read_text()), 1):
        label = _answer(world, json.dumps(task["data"], sort_keys=True), annotator)
        result = [{"from_name": "relevance", "type": "choices", "value": {"choices": [label]}}]
        annotation = {"id": 10_000 * annotator + number, "completed_by": annotator, "result": result}
        annotation |= {"created_at": moment, "updated_at": moment, "lead_time": 3.5 + annotator}
        exported.append({"id": number, **task, "annotations": [annotation]})
    return json.dumps(exported)


def _answer(world: World, shown: str, annotator: int) -> str:
    """Return a label: one that all agree on, but for each person's own errors; escalated at times."""
    truth, own = (_draw(text) for text in (shown, f"{annotator} {shown}"))
    if own > 0.995:
        return "ambiguous"
    best = len(world.labels) - 1
    of_pair = int(4 * truth * len(world.labels)) if truth < 0.25 else 0
    errs = own < world.error
    return world.labels[best - of_pair if errs else of_pair]


def _draw(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


def hostile(root: Path) -> list[str]:
    """Write twenty files that cannot be right into a folder, and return their names."""
    line = "q1 Q0 d1 1 0.5 m\n"
    files: dict[str, str | bytes] = {
        "short_line.run": line + "q1 Q0 d2 2 0.4\n",
        "not_a_number.run": line + "q1 Q0 d2 2 high m\n",
        "nan_score.run": line + "q1 Q0 d2 2 nan m\n",
        "twice.run": line + line,
        "empty.run": "",
        "two_names.run": line + "q1 Q0 d2 2 0.4 other\n",
        "latin1.run": line.encode() + "q1 Q0 caf\xe9 2 0.4 m\n".encode("latin-1"),
        "nul.run": line + "q1 Q0 d\0 2 0.4 m\n",
        "other_queries.run": "x1 Q0 d1 1 0.5 m\n",
        "three_columns.qrels": "q1 0 d1\n",
        "text_grade.qrels": "q1 0 d1 yes\n",
        "twice.qrels": "q1 0 d1 1\nq1 0 d1 0\n",
        "negative.qrels": "q1 0 d1 -3\n",
        "cut.json": '[{"id": 1, "data": {"caption": "a"',
        "not_tasks.json": '{"a": 1}',
        "no_header.csv": "q1,d1,A01,relevant\n",
        "torn_quote.csv": 'query_id,doc_id,annotator_id,label\nq1,d1,A01,"relevant\n',
        "pickle.npy": _npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
        "claims_much.npy": _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999, 99999), }"),
        "not_a_zip.npz": b"PK\x03\x04 no zip",
    }
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (root / "good.run").write_text(line)
    (root / "good.qrels").write_text("q1 0 d1 1\n")
    return list(files)


def _npy(header: str) -> bytes:
    """Return an array file that ends after its header."""
    return b"\x93NUMPY\x01\x00v\x00" + header.ljust(117).encode() + b"\n"
