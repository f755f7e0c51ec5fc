"""`add-run --approximate`: an index of faiss, where it is installed; what it finds beside NumPy."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from fire_toolkit.cli import main

N_QUERIES, N_DOCS, WIDTH, DEPTH = 300, 4000, 24, 15
VECTORS = "add-run --queries-emb q.npy --items-emb d.npy --query-ids q.txt --doc-ids d.txt --depth 15 --out"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Vectors of several lengths around 40 centres, with some docs twice, their ids, and qrels."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(6)
    centres = 2 * random.normal(size=(40, WIDTH))
    docs = centres[random.integers(40, size=N_DOCS)] + random.normal(size=(N_DOCS, WIDTH))
    docs[1::400] = docs[0]
    queries = docs[random.integers(N_DOCS, size=N_QUERIES)] + random.normal(size=(N_QUERIES, WIDTH))
    for name, vectors in (("q", queries), ("d", docs)):
        np.save(f"{name}.npy", vectors.astype(np.float32))
        Path(f"{name}.txt").write_text("".join(f"{name}{place}\n" for place in range(len(vectors))))
    Path("qrels.txt").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(N_QUERIES)))
    return tmp_path


def run(words: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, words.split())
    assert result.exit_code == code, result.output
    return result.output


def scores_of(similarity: str) -> np.ndarray:
    queries, docs = (np.load(f"{name}.npy").astype(np.float64) for name in "qd")
    if similarity == "l2":
        return -((queries[:, None, :] - docs[None]) ** 2).sum(axis=2)
    if similarity == "cosine":
        queries, docs = (vectors / np.linalg.norm(vectors, axis=1)[:, None] for vectors in (queries, docs))
    return queries @ docs.T


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
def test_what_an_index_finds_is_scored_as_if_all_were_compared(similarity: str) -> None:
    faiss = pytest.importorskip("faiss", reason="the extra `ann` is not installed")
    words = f"{VECTORS} runs --id m --similarity {similarity} --approximate .9 --check-recall 100"
    said = run(words)
    found = pd.read_parquet("runs/m.parquet")
    manifest = Path("runs/m.parquet.manifest.json")
    index = json.loads(manifest.read_text())["counts"]["index"]
    assert index["name"].startswith("faiss IVF102,SQ8, nprobe ")
    assert (index["wanted"], index["sampled"], index["is_exact"]) == (0.9, 100, False)
    assert f"{index['name']}: {index['recall']['words']}" in said
    written = (manifest.read_bytes(), Path("runs/m.parquet").read_bytes())
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1 if threads > 1 else 2)
    run(words)
    faiss.omp_set_num_threads(threads)
    assert (manifest.read_bytes(), Path("runs/m.parquet").read_bytes()) == written

    scores = scores_of(similarity)
    n_found = 0
    for query, docs, own in zip(found["query_id"], found["doc_ids"], found["scores"], strict=True):
        row = scores[int(query[1:])]
        places = np.array([int(doc[1:]) for doc in docs])
        assert np.allclose(own, row[places], atol=1e-6)
        assert list(places) == sorted(places, key=lambda place: (-round(row[place], 9), -ord_of(place)))
        n_found += (np.asarray(own[:10]) >= np.sort(row)[-10] - 1e-6).sum()
    assert 0.85 < n_found / (10 * N_QUERIES) < 1
    drawn = index["recall"]
    assert abs(n_found / (10 * N_QUERIES) - drawn["mean"]) < 2 * drawn["half_width"]


def ord_of(place: int) -> int:
    """Return the place of a doc's id in the order of ids, which are text."""
    return ORDER[f"d{place}"]


ORDER = {name: at for at, name in enumerate(sorted(f"d{place}" for place in range(N_DOCS)))}


def test_its_run_is_scored_only_where_that_is_accepted() -> None:
    pytest.importorskip("faiss", reason="the extra `ann` is not installed")
    assert "costs about as much as comparing" in run(f"{VECTORS} runs --similarity l2 --approximate 1 --id m")
    score = "score runs/m.parquet --qrels qrels.txt -m C@1"
    assert "SQ8, nprobe" in run(score, code=1)
    assert "m by an approximate index (faiss IVF102,SQ8" in run(f"{score} --accept-approximate")


def test_numbers_beyond_float32_are_refused() -> None:
    pytest.importorskip("faiss", reason="the extra `ann` is not installed")
    np.save("d.npy", 1e50 * np.load("d.npy").astype(np.float64))
    assert "a number beyond float32" in run(f"{VECTORS} runs --similarity dot --approximate .9", code=1)


def test_without_faiss_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    said = run(f"{VECTORS} runs --similarity l2 --approximate .9", code=1)
    assert "--approximate needs faiss: pip install faiss-cpu" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("add-run d.npy --approximate .9 --out runs", "--approximate is for vectors"),
        (f"{VECTORS} runs --approximate 0", "is not in the range"),
        (f"{VECTORS} runs --approximate .9 --index mine", "--index goes with --scores"),
    ],
)
def test_what_does_not_go_together_is_refused(words: str, message: str) -> None:
    assert message in run(words, code=2)
