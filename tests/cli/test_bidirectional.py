"""`score --direction both`: one matrix or two runs give the same scores, whole and in folds."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from command import Fire

from fire_toolkit.measures.defaults import SCORE

BOTH = ("score", "--direction", "both")
N_ITEMS, N_EACH = 24, 2
ITEMS = [f"i{(7 * n) % N_ITEMS}" for n in range(N_ITEMS)]
TEXTS = [f"t{n}" for n in range(N_ITEMS * N_EACH)]
PAIRS = [(text, ITEMS[n // N_EACH]) for n, text in enumerate(TEXTS)]


@pytest.fixture
def matrix(folder: Path) -> np.ndarray:
    """48 texts × 24 items; items in an order that is not that of their ids."""
    positive = np.repeat(np.eye(N_ITEMS), N_EACH, axis=0)
    sims = np.random.default_rng(4).permutation(positive.size).reshape(positive.shape) / positive.size
    sims = (sims + 0.6 * positive).astype(np.float32)
    np.savez(folder / "m.npz", sims=sims, query_ids=TEXTS, doc_ids=ITEMS)
    for name in ("items.txt", "forth.doc_ids.txt"):
        (folder / name).write_text("\n".join(ITEMS) + "\n")
    (folder / "pairs.txt").write_text("".join(f"{text} 0 {item} 1\n" for text, item in PAIRS))
    cells = [(text, item, float(score)) for text, own in zip(TEXTS, sims, strict=True)
             for item, score in zip(ITEMS, own, strict=True)]  # fmt: skip
    (folder / "forth.run").write_text("".join(f"{t} Q0 {i} 0 {score!r} m\n" for t, i, score in cells))
    (folder / "back.run").write_text("".join(f"{i} Q0 {t} 0 {score!r} m\n" for t, i, score in cells))
    return sims


def scores(result: Result) -> dict[str, float]:
    return {row["measure"]: row["value"] for row in json.loads(result.stdout)}


@pytest.mark.usefixtures("matrix")
@pytest.mark.parametrize("folds", [(), ("--folds", 3)])
def test_one_matrix_and_two_runs_score_alike(fire: Fire, folds: tuple[object, ...]) -> None:
    ends = ("--qrels", "pairs.txt", "--format", "json", *folds)
    assert scores(fire(*BOTH, "forth.run", "back.run", *ends)) == pytest.approx(
        scores(fire(*BOTH, "m.npz", *ends))
    )


def test_where_the_items_are_texts_the_ways_keep_their_names(fire: Fire, matrix: np.ndarray) -> None:
    there = scores(fire(*BOTH, "m.npz", "--qrels", "pairs.txt", "--format", "json"))
    Path("back.txt").write_text("".join(f"{item} 0 {text} 1\n" for text, item in PAIRS))
    queries = "".join(f"{item}\t\thttps://example.org/{item}.jpg\n" for item in ITEMS)
    Path("items.tsv").write_text("query_id\ttext\tmedia_url\n" + queries)
    np.savez("turned.npz", sims=matrix.T, query_ids=ITEMS, doc_ids=TEXTS)
    ends = ("--qrels", "back.txt", "--queries", "items.tsv", "--format", "json")
    found = scores(fire(*BOTH, "turned.npz", *ends))
    assert found == pytest.approx(there)
    assert next(iter(found)) == "i2t_R@1"


@pytest.mark.usefixtures("matrix")
def test_the_table_and_the_file(fire: Fire, folder: Path) -> None:
    shown = fire(*BOTH, "m.npz", "--qrels", "pairs.txt", "--out", "both.csv").stdout.splitlines()
    assert [line.split()[0] for line in shown[2:]] == [
        *("t2i_R@1", "t2i_R@5", "t2i_R@10", "t2i_MedR", "t2i_MnR"),
        *("i2t_R@1", "i2t_R@5", "i2t_R@10", "i2t_MedR", "i2t_MnR", "R@Sum", "mR"),
    ]
    manifest = json.loads((folder / "both.csv.manifest.json").read_text())
    assert manifest["parameters"] == {"measures": list(SCORE), "ties": "doc-desc", "direction": "both"}
    assert (
        (folder / "both.csv").read_text().startswith("run_id,qrels,query_id,measure,value\nm,original,all,")
    )


@pytest.mark.usefixtures("matrix")
def test_what_is_missing_is_said(fire: Fire, folder: Path) -> None:
    one = fire(*BOTH, "forth.run", "--qrels", "pairs.txt", code=1).stderr
    assert "no matrix; give two runs, one for each direction" in one
    (folder / "forth.doc_ids.txt").unlink()
    two = fire(*BOTH, "forth.run", "back.run", "--qrels", "pairs.txt", "--folds", 3, code=2).stderr
    assert "--folds needs the collection's docs in their order" in two


@pytest.mark.parametrize("n_texts", [N_ITEMS * N_EACH, N_ITEMS], ids=["wide", "square"])
def test_two_models_are_no_two_directions(fire: Fire, matrix: np.ndarray, folder: Path, n_texts: int) -> None:
    """Once the second was read as the way back, turned, so that the scores were half one model's."""
    np.save(folder / "one.npy", matrix[:n_texts])
    np.save(folder / "two.npy", matrix[:n_texts] + 1)
    (folder / "texts.txt").write_text("".join(f"t{n}\n" for n in range(n_texts)))
    (folder / "fire.toml").write_text('[runs]\nquery_ids = "texts.txt"\ndoc_ids = "items.txt"\n')
    (folder / "forth.doc_ids.txt").unlink()
    told = fire(*BOTH, "one.npy", "two.npy", "--qrels", "pairs.txt", code=1).stderr
    assert f"two.npy: {n_texts} × 24, which may be texts × items of another model" in told
    assert "score each model alone" in told
    piped = (folder / "two.npy").read_bytes()
    told = fire(*BOTH, "one.npy", "-", "--qrels", "pairs.txt", code=1, stdin=piped).stderr
    assert f"-: {n_texts} × 24, which may be texts × items" in told


@pytest.fixture
def partial(folder: Path) -> None:
    """Qrels of every other text, as in ECCV Caption, and those of the items, which hold all texts."""
    (folder / "some.txt").write_text("".join(f"{text} 0 {item} 1\n" for text, item in PAIRS[::2]))
    (folder / "items.qrels").write_text("".join(f"{item} 0 {text} 1\n" for text, item in PAIRS))


@pytest.mark.usefixtures("matrix", "partial")
def test_texts_that_no_qrels_hold_are_refused(fire: Fire) -> None:
    for runs in (("m.npz",), ("forth.run", "back.run")):
        refused = fire(*BOTH, *runs, "--qrels", "some.txt", code=1).stderr
        assert "24 texts are ranked that are not queries of the qrels (t" in refused
        assert "--back" in refused


@pytest.mark.usefixtures("partial")
@pytest.mark.parametrize("folds", [(), ("--folds", 3)])
def test_the_items_have_qrels_of_their_own(fire: Fire, matrix: np.ndarray, folds) -> None:
    ends = ("--qrels", "some.txt", "--back", "items.qrels", "--format", "json", *folds)
    result = fire(*BOTH, "m.npz", *ends)
    assert "known for some docs only" not in result.stderr
    assert "below the top" not in result.stderr
    found = scores(result)
    assert found == pytest.approx(scores(fire(*BOTH, "forth.run", "back.run", *ends)))
    if not folds:
        owner = np.arange(len(matrix)) // N_EACH
        of_item = np.array([(matrix[:, n] > matrix[owner == n, n].max()).sum() + 1 for n in range(N_ITEMS)])
        assert found["i2t_R@1"] == pytest.approx(np.mean(of_item == 1))
        assert found["i2t_MnR"] == pytest.approx(np.mean(of_item))
        best = matrix.argmax(axis=1) == owner
        assert found["t2i_R@1"] == pytest.approx(np.mean(best[::2]))


@pytest.mark.parametrize("ids", ["table", "named columns"])
def test_rows_of_the_way_back_are_the_docs(fire: Fire, matrix: np.ndarray, folder: Path, ids: str) -> None:
    np.save(folder / "forth.npy", matrix)
    np.save(folder / "back.npy", matrix.T)
    texts, items = ["query_id", *TEXTS], ["doc_id", *ITEMS]
    if ids == "table":  # each names both: the text of its row, and its item
        texts = ["caption_id,video_id", *map(",".join, PAIRS)]
        items = ["video_id,caption_id", *(f"{item},{text}" for text, item in PAIRS[::N_EACH])]
    for name, lines in (("texts.csv", texts), ("items.csv", items)):
        (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "fire.toml").write_text('[runs]\nquery_ids = "texts.csv"\ndoc_ids = "items.csv"\n')
    ends = ("--qrels", "pairs.txt", "--format", "json")
    found = scores(fire(*BOTH, "forth.npy", "back.npy", *ends))
    assert found == pytest.approx(scores(fire(*BOTH, "m.npz", *ends)))
    best = matrix.argmax(axis=0) // N_EACH == np.arange(N_ITEMS)
    assert found["i2t_R@1"] == pytest.approx(best.mean())
