"""`add-run` and `snippet` as a person would use them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from command import Fire

from fire_toolkit.files import sha256_of

# R@1: rows 2 of 3, columns 3 of 3 (a tie)
SQUARE = np.array([[9, 1, 2], [1, 9, 2], [7, 3, 1]], dtype=np.float32)


@pytest.fixture
def square(folder: Path) -> Path:
    np.save(folder / "m.npy", SQUARE)
    (folder / "m.query_ids.txt").write_text("1\n2\n3\n")
    (folder / "m.doc_ids.txt").write_text("a\nb\nc\n")
    (folder / "square.txt").write_text("1 0 a 1\n2 0 b 1\n3 0 b 1\n")
    return folder


def test_a_run_is_written_with_what_was_recognised_and_why(fire: Fire, square: Path) -> None:
    result = fire("add-run", "m.npy", "--orientation", "queries-rows", "--out", "runs", "--id", "mine")
    said = "m.npy: a NumPy array, .npy (begins with \\x93NUMPY); rows are queries, as --orientation says"
    assert said in result.stderr
    manifest = json.loads((square / "runs/mine.parquet.manifest.json").read_text())
    assert manifest["inputs"]["m.npy"] == sha256_of(square / "m.npy")
    assert set(manifest["inputs"]) == {"m.npy", "m.query_ids.txt", "m.doc_ids.txt"}
    counts = {"reader": "npy", "orientation": "queries-rows", "rows": 9, "tied_in_top": 0}
    assert {name: manifest["counts"][name] for name in counts} == counts
    before = (square / "runs/mine.parquet").read_bytes()
    fire("add-run", "m.npy", "--orientation", "queries-rows", "--out", "runs", "--id", "mine")
    assert before == (square / "runs/mine.parquet").read_bytes()


def test_a_square_matrix_is_refused_with_both_readings(fire: Fire, square: Path) -> None:
    line = fire("add-run", "m.npy", "--out", "runs", "--qrels", "square.txt", code=1).stderr
    assert "queries-rows gives R@1 66.67; queries-columns gives R@1 100" in line
    assert not (square / "runs").exists()


def test_the_workspace_knows_qrels_and_where_runs_lie(fire: Fire, square: Path) -> None:
    fire("init")
    shutil.copy("square.txt", "collection/qrels.txt")
    fire("add-run", "clip.run", "--id", "clip")
    assert (square / "runs/clip.parquet").is_file()
    assert "clip" in fire("score", "--format", "csv").stdout


def test_a_run_takes_no_other_files_place_unless_it_is_named(fire: Fire, square: Path) -> None:
    """Each model's folder may have a file of the same name, and a file several versions."""
    add = ("add-run", "--orientation", "queries-rows", "--out", "runs")
    ids = ("--query-ids", "m.query_ids.txt", "--doc-ids", "m.doc_ids.txt")
    for name in ("a/sim.npy", "b/sim.npy", "clip.v1.npy", "clip.v2.npy", "b/my model.npy"):
        Path(name).parent.mkdir(exist_ok=True)
        np.save(name, SQUARE + len(name) + ord(name[0]))
    fire(*add, *ids, "a/sim.npy")
    before = Path("runs/sim.parquet").read_bytes()
    told = fire(*add, *ids, "b/sim.npy", code=1).stderr
    assert "b/sim.npy: runs/sim.parquet is the run of another file; give this one a name of its own" in told
    assert Path("runs/sim.parquet").read_bytes() == before
    fire(*add, *ids, "a/sim.npy")  # the same file again
    told = fire(*add, *ids, "b/sim.npy", "--name", "sim").stderr
    assert "note: runs/sim.parquet was the run of another file, which this one replaces" in told
    assert Path("runs/sim.parquet").read_bytes() != before
    fire(*add, *ids, "clip.v1.npy", "clip.v2.npy")
    assert sorted(path.name for path in Path("runs").glob("clip*.parquet")) == [
        "clip.v1.parquet",
        "clip.v2.parquet",
    ]
    told = fire(*add, *ids, "b/my model.npy", code=1).stderr
    assert "its run would be called 'my model', with white space" in told


def test_docs_that_are_no_items_are_told(fire: Fire, square: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fire("init", "w")
    monkeypatch.chdir(square / "w")
    Path("collection/items.tsv").write_text("doc_id\tmedia_url\ncaf\xe9\tu\nb\tu\n")  # as Linux writes it
    Path("../m.run").write_text("1 Q0 cafe\u0301 1 3 m\n1 Q0 b 2 2 m\n1 Q0 x 3 1 m\n")  # and as macOS does
    told = fire("add-run", "../m.run").stderr
    assert "note: 2 docs of 3 are no items of collection/items.tsv and count as not relevant (cafe" in told
    assert "; 1 differ from an item only in case, zeros or composed letters: check the run's ids" in told
    Path("collection/items.tsv").write_text("doc_id\tmedia_url\ncafe\u0301\tu\nb\tu\nx\tu\n")
    assert "no items" not in fire("add-run", "../m.run").stderr


@pytest.mark.parametrize("run_id", ["../../evil", "/etc/evil", ".hidden", "a/b", "..", "%2e%2e"])
def test_a_run_id_cannot_leave_the_folder(fire: Fire, folder: Path, run_id: str) -> None:
    (folder / "evil.run").write_text(f"1 Q0 a 1 9 {run_id}\n")
    fire("add-run", "evil.run", "--out", "runs/inner")
    written = list(folder.rglob("*.parquet"))
    assert [folder / "runs/inner"] == [path.parent for path in written]
    scored = fire("score", written[0], "--qrels", "qrels.txt", "-m", "C@1", "--format", "csv")
    assert f"{run_id},original" in scored.stdout


def test_counts_as_json(fire: Fire, folder: Path) -> None:
    report = json.loads(fire("add-run", "clip.run", "ssb.run", "--out", "runs", "--format", "json").stdout)
    assert [run["run_id"] for run in report["runs"]] == ["clip", "ssb"]
    assert [report["runs"][1]["tied_in_top"], report["runs"][1]["tied_positives"] + 1] == [1, 1]


def test_vectors_in_two_files(fire: Fire, folder: Path) -> None:
    np.save(folder / "text.npy", np.eye(3, 4)[::-1])
    np.save(folder / "video.npy", np.eye(4))
    for name, ids in (("text.query_ids", "x y z"), ("video.doc_ids", "a b c d")):
        (folder / f"{name}.txt").write_text(ids.replace(" ", "\n"))
    fire("add-run", "text.npy", "video.npy", "--similarity", "cosine", "--allow", "flood", "--out", "runs")
    counts = json.loads((folder / "runs/text.parquet.manifest.json").read_text())["counts"]
    assert [counts["similarity"], counts["rows"]] == ["cosine", 12]


def test_what_a_vector_search_gave_is_scored_as_any_run(fire: Fire, folder: Path) -> None:
    np.savez(folder / "m.npz", I=[[1, 0], [0, -1]], D=[[0.5, 0.75], [0.25, np.inf]], query_ids=["1", "2"])
    (folder / "docs.txt").write_text("a\nb\n")
    (folder / "qrels.txt").write_text("1 0 b 1\n2 0 a 1\n")
    asked = ("--doc-ids", "docs.txt", "--out", "runs")
    said = fire("add-run", "m.npz", "--scores", "distance", *asked).stderr
    assert "1 id is padding; 1 query has fewer docs than are kept" in said
    said = fire("score", "runs/m.parquet", "--qrels", "qrels.txt", "-m", "C@1", "--format", "csv").stdout
    assert said.splitlines()[1] == "m,original,all,C@1,1.0"


def test_a_mask_in_a_file_of_its_own(fire: Fire, folder: Path) -> None:
    np.savez(folder / "m.npz", sims=[[3, 1], [9, 9], [1, 3]], query_ids=["1", "2"], doc_ids=["a", "b"])
    np.save(folder / "mask.npy", np.array([True, False, True]))
    fire("add-run", "m.npz", "--mask", "mask.npy", "--name", "m", "--out", "runs")
    counts = json.loads((folder / "runs/m.parquet.manifest.json").read_text())["counts"]
    assert [counts["rows"], counts["padding"]] == [4, 1]


def test_snippets_are_listed_and_printed(fire: Fire) -> None:
    assert "lavis" in fire("snippet").stdout
    assert "np.savez" in fire("snippet", "lavis").stdout


def test_standard_input_of_any_format_is_read_by_content(fire: Fire, square: Path) -> None:
    """What `cat m.npy | fire-toolkit add-run -` reads is what `fire-toolkit add-run m.npy` reads."""
    ids = ("--query-ids", "m.query_ids.txt", "--doc-ids", "m.doc_ids.txt", "--orientation", "queries-rows")
    raw = (square / "m.npy").read_bytes()
    result = fire("add-run", "-", *ids, "--id", "m", "--out", "piped", stdin=raw)
    assert "-: a NumPy array, .npy" in result.stderr
    fire("add-run", "m.npy", *ids, "--id", "m", "--out", "named")
    assert (square / "piped/m.parquet").read_bytes() == (square / "named/m.parquet").read_bytes()
    manifest = json.loads((square / "piped/m.parquet.manifest.json").read_text())
    assert manifest["inputs"]["-"] == sha256_of(square / "m.npy")


@pytest.mark.parametrize("command", ["add-run", "add-collection"])
def test_standard_input_is_named_in_errors_as_it_was_given(fire: Fire, command: str) -> None:
    result = fire(command, "-", "--out", "out", stdin=b"\x00\x01", code=1)
    assert result.stderr.startswith("error: -: ")
