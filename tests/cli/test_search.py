"""Candidates of a vector search come in with their index, and `score` refuses one that is not exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from fire_toolkit.cli import main

N_QUERIES, N_DOCS, K = 30, 200, 12


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with vectors, the nearest docs, and candidates that miss every other of them."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(2)
    docs = random.normal(size=(N_DOCS, 16)).astype(np.float32)
    queries = docs[:N_QUERIES] + 0.1 * random.normal(size=(N_QUERIES, 16)).astype(np.float32)
    np.save("q.npy", queries)
    np.save("d.npy", docs)
    scores = queries @ docs.T
    nearest = np.argsort(-scores, axis=1)
    for name, places in (("all", nearest[:, :K]), ("half", nearest[:, 0 : 2 * K : 2])):
        np.savez(f"{name}.npz", I=places, D=np.take_along_axis(scores, places, axis=1))
    rows = "".join(f"c{n},v{n},a caption\n" for n in range(N_QUERIES))
    Path("captions.csv").write_text(f"caption_id,video_id,caption\n{rows}")
    Path("videos.csv").write_text(
        "video_id,url\n" + "".join(f"v{n},http://x/{n}.mp4\n" for n in range(N_DOCS))
    )
    run("init")
    run("add-collection", "captions.csv", "videos.csv")
    return tmp_path


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


VECTORS = ("--queries-emb", "q.npy", "--items-emb", "d.npy", "--similarity", "dot")


def test_an_index_is_named_with_its_recall_and_its_scores_are_asked_for(folder: Path) -> None:
    half = ("add-run", "half.npz", "--scores", "similarity", "--index", "skips every other")
    said = run(*half, "--check-recall", "1000", *VECTORS)
    assert "skips every other: recall@10 0.500 on 30 queries" in said
    run("add-run", "all.npz", "--scores", "similarity", "--index", "exact", "--check-recall", "9", *VECTORS)
    refused = run("score", "-m", "C@1", code=1)
    assert (
        "half (skips every other: recall@10 0.500 on 30 queries): an approximate index leaves docs out"
        in refused
    )
    assert "all (" not in refused
    assert "rests on: 2 runs; half by an approximate index (skips" in run(
        "score", "-m", "C@1", "--accept-approximate"
    )
    assert "half by an approximate index" in run("compare")
    Path("runs/half.parquet.manifest.json").unlink()  # as in a copy of the file alone
    assert run("score", "-m", "C@1", code=1) == refused
    assert "half by an approximate index (skips" in run("compare")


def test_an_index_said_to_be_exact_must_find_all(folder: Path) -> None:
    exact = ("add-run", "half.npz", "--scores", "similarity", "--index", "exact")
    assert "but --index exact says that every doc was compared" in run(
        *exact, "--check-recall", "30", *VECTORS, code=1
    )
    assert not list(folder.glob("runs/*.parquet"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--scores", "similarity"), "--scores needs --index"),
        (("--index", "exact"), "--index goes with --scores"),
        (("--scores", "similarity", "--index", "x", "--check-recall", "5"), "go together"),
        (("--scores", "similarity", "--index", "x", "--embeddings"), "leave one of them out"),
        (VECTORS, "leave FILE or them out"),
    ],
)
def test_options_that_lack_another_are_refused(options: tuple[str, ...], words: str, folder: Path) -> None:
    assert words in run("add-run", "all.npz", *options, code=2)


@pytest.mark.parametrize("options", [(), VECTORS[:2], ("--scores", "similarity", *VECTORS)])
def test_without_a_file_both_vectors_are_needed(options: tuple[str, ...], folder: Path) -> None:
    assert "nothing to read: give FILE, or --queries-emb FILE and --items-emb FILE" in run(
        "add-run", *options, code=2
    )
