"""`add-collection`, `add-run` and `snippet` as a person would use them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Fire, run

from examples import cases
from fire_toolkit.files import sha256_of
from fire_toolkit.formats.runs.trec import read_trec_qrels
from fire_toolkit.formats.tables.table_files import read_items, read_queries

GOLDEN = Path(__file__).parents[1] / "golden" / "collections"


def test_a_collection_is_written_with_what_it_was_made_from(tmp_path: Path) -> None:
    source = GOLDEN / "cirr" / "input"
    result = run("add-collection", source, "--out", tmp_path / "c")
    assert result.stdout == ""
    assert "cap.json: cirr (JSON entries with pairid, reference, caption and img_set)" in result.stderr
    assert "note: 1 soft target" in result.stderr
    assert "1 query, 4 items, 1 pair in the qrels; 3 rows of groups" in result.stderr
    for name in ("queries.tsv", "items.tsv", "qrels.txt", "groups.tsv"):
        assert (GOLDEN / "cirr" / "expected" / name).read_text() == (tmp_path / "c" / name).read_text()
    manifest = json.loads((tmp_path / "c" / "manifest.json").read_text())
    assert manifest["parameters"]["readers"] == {"cap.json": "cirr", "split.json": "items"}
    hashes = {(source / name).as_posix(): sha256_of(source / name) for name in ("cap.json", "split.json")}
    assert hashes == manifest["inputs"]
    assert manifest["counts"]["items"] == 4


@pytest.mark.parametrize("case", ["msrvtt-jsfusion", "msvd", "beir", "karpathy-coco"])
def test_what_is_written_reads_back_as_the_same_collection(case: str, tmp_path: Path) -> None:
    for source, out in ((GOLDEN / case / "input", "a"), (tmp_path / "a", "b")):
        run("add-collection", source, "--out", tmp_path / out)
        (tmp_path / out / "manifest.json").unlink()
    for name in ("queries.tsv", "items.tsv", "qrels.txt"):
        assert (tmp_path / "a" / name).read_text() == (tmp_path / "b" / name).read_text()
        assert (tmp_path / "a" / name).read_text().count("\n") > 1


def test_in_a_workspace_the_collection_goes_to_its_place(here: Path) -> None:
    (here / "fire.toml").write_text("")
    source = GOLDEN / "vatex" / "input" / "val.json"
    result = run("add-collection", source, "--name", "vatex", "--format", "json")
    counts = {"queries": 3, "items": 2, "qrels": 3, "queries_with_positive": 3, "groups": 0}
    assert json.loads(result.stdout) == counts
    assert (here / "collection/qrels.txt").is_file()
    manifest = json.loads((here / "collection/manifest.json").read_text())
    assert manifest["parameters"]["name"] == "vatex"


def test_a_foreign_file_ends_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("just words here")
    foreign = run("add-collection", tmp_path / "f", "--out", tmp_path, code=1)
    assert foreign.stderr.startswith("error: ")
    assert foreign.stderr.count("\n") == 1


def test_standard_input_makes_a_collection(tmp_path: Path) -> None:
    source = GOLDEN / "vatex" / "input" / "val.json"
    run("add-collection", source, "--out", tmp_path / "named")
    run("add-collection", "-", "--out", tmp_path / "piped", stdin=source.read_bytes())
    for name in ("queries.tsv", "items.tsv", "qrels.txt"):
        assert (tmp_path / "named" / name).read_text() == (tmp_path / "piped" / name).read_text()
    manifest = json.loads((tmp_path / "piped" / "manifest.json").read_text())
    assert manifest["inputs"] == {"-": sha256_of(source)}
    assert manifest["parameters"]["name"] == "stdin"


def test_the_next_command_names_qrels_only_where_there_are_some(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("query_id\ttext\nq\ta\n")
    out = tmp_path / "c"
    result = run("add-collection", tmp_path / "q.tsv", "--out", out)
    assert f"next: fire-toolkit audit --queries {out}/queries.tsv --out {out}/audit\n" in result.stderr


SOUNDS = (
    "file_name,caption_1,caption_2,path\nrain.wav,It rains,,a/rain.wav\ngate.wav,A gate,A hinge,a/gate.wav\n"
)


@cases("columns", "queries")
def test_columns_are_named_as_import_names_them(columns: str, queries: list[str], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(SOUNDS)
    run("add-collection", tmp_path / "t.csv", "--columns", columns, "--out", tmp_path / "c")
    assert queries == read_queries(tmp_path / "c" / "queries.tsv")["query_id"].tolist()
    items = read_items(tmp_path / "c" / "items.tsv")
    assert items["doc_id"].tolist() == ["rain.wav", "gate.wav"]
    place = "" if "query=path" in columns else "a/"
    assert items["media_url"].tolist() == [f"{place}rain.wav", f"{place}gate.wav"]


@cases("table", "columns", "told")
def test_a_foreign_table_says_what_to_type(table: str, columns: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(table)
    named = ["--columns", columns] if columns else []
    result = run("add-collection", tmp_path / "t.csv", *named, "--out", tmp_path / "c", code=1)
    assert result.stderr.count("\n") < 4
    assert re.search(told, result.stderr), result.stderr


def test_two_tables_have_names_of_their_own_and_captions_without_items_are_told(
    tmp_path: Path,
) -> None:
    (tmp_path / "t.csv").write_text("nr,shown_clip,sentence\n1,a,one\n2,b,two\n")
    (tmp_path / "v.csv").write_text("file,url\na,a.mp4\nb,b.mp4\nc,c.mp4\n")
    named = ["--columns", "doc_id=file,media_url=url", "--columns", "query_id=nr,doc_id=shown_clip"]
    given = ("add-collection", tmp_path / "t.csv", tmp_path / "v.csv", "--out", tmp_path / "c")
    run(*given, *named)
    assert (tmp_path / "c" / "qrels.txt").read_text() == "1 0 a 1\n2 0 b 1\n"
    assert read_items(tmp_path / "c" / "items.tsv")["media_url"].tolist() == ["a.mp4", "b.mp4", "c.mp4"]
    said = run(*given, *named[:2], "--columns", "query_id=nr").stderr
    assert "no positives are known" in said
    assert (
        "names the item of each caption, add --columns 'doc_id=shown_clip,text=sentence,query_id=nr'" in said
    )
    assert (
        "no table has the columns link" in run(*given, *named, "--columns", "media_url=link", code=1).stderr
    )


def test_the_line_that_is_shown_is_understood(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("clip,path,said_1,said_2\na,b,c,d\n")
    given = ("add-collection", tmp_path / "t.csv", "--out", tmp_path / "c")
    said = re.search("--columns '(.*)'", run(*given, code=1).stderr)
    assert said is not None
    run(*given, "--columns", said[1])
    assert read_queries(tmp_path / "c" / "queries.tsv")["text"].tolist() == ["c", "d"]


@pytest.mark.parametrize("name", ["karpathy-flickr", "karpathy-coco", "clotho"])
def test_texts_are_read_as_the_items_of_their_pictures_and_sounds(name: str, tmp_path: Path) -> None:
    """Each table is the other one, row for row, and each pair is the other way round."""
    for out, words in (("a", []), ("b", ["--texts-as-items"])):
        run("add-collection", GOLDEN / name / "input", *words, "--out", tmp_path / out)
    there, back = (read_queries(tmp_path / out / "queries.tsv") for out in "ab")
    items, texts = (read_items(tmp_path / out / "items.tsv") for out in "ab")
    media = items[["doc_id", "media_url"]].to_numpy().tolist()
    assert back[["query_id", "media_url"]].to_numpy().tolist() == media
    assert texts[["doc_id", "text"]].to_numpy().tolist() == there[["query_id", "text"]].to_numpy().tolist()
    pairs = [read_trec_qrels(tmp_path / out / "qrels.txt") for out in "ab"]
    forth = set(zip(pairs[0]["query_id"], pairs[0]["doc_id"], strict=True))
    assert forth == set(zip(pairs[1]["doc_id"], pairs[1]["query_id"], strict=True))
    assert json.loads((tmp_path / "b" / "manifest.json").read_text())["parameters"]["texts_as_items"]


def test_composed_queries_are_not_read_as_items(tmp_path: Path) -> None:
    given = ("add-collection", GOLDEN / "circo" / "input", "--texts-as-items", "--out", tmp_path / "c")
    assert "are not read as items" in run(*given, code=1).stderr


def test_a_submission_in_a_folder_is_not_taken_for_positives(tmp_path: Path) -> None:
    """CIRCO has examples of submissions beside its annotations, whose test split names no positive."""
    folder, images = tmp_path / "CIRCO", list(range(100, 112))
    (folder / "submission_examples").mkdir(parents=True)
    one = {"relative_caption": "in red", "shared_concept": "a dog"}
    queries = [{"id": n, "reference_img_id": images[n], **one} for n in range(2)]
    (folder / "test.json").write_text(json.dumps(queries))
    file = folder / "submission_examples/submission_test.json"
    file.write_text(json.dumps({"0": images[2:], "1": images[1:11]}))
    told = run("add-collection", folder, "--out", tmp_path / "c").stderr
    assert f"left out: {file}: 10 docs of every query, as models list them; if they are positives" in told
    assert not (tmp_path / "c/qrels.txt").exists()
    run("add-collection", folder / "test.json", file, "--out", tmp_path / "named")
    assert (tmp_path / "named/qrels.txt").read_text().count("\n") == 20
    file.write_text(json.dumps({"0": images[2:], "1": images[1:]}))  # as positives are: not all alike
    run("add-collection", folder, "--out", tmp_path / "d")
    assert (tmp_path / "d/qrels.txt").read_text().count("\n") == 21


def test_a_table_of_addresses_stands_beside_what_a_benchmark_says_of_its_items(tmp_path: Path) -> None:
    (tmp_path / "urls.csv").write_text("doc_id,media_url\nvideo2,m/2.mp4\nvideo1,m/1.mp4\n")
    data = GOLDEN / "msrvtt-data" / "input" / "data.json"
    run("add-collection", data, tmp_path / "urls.csv", "--out", tmp_path / "c")
    items = read_items(tmp_path / "c" / "items.tsv")
    assert items["media_url"].tolist() == ["m/1.mp4", "m/2.mp4"]
    assert items["source_url"].tolist() == ["https://video.example/b"] * 2


@pytest.mark.parametrize("is_first", [True, False], ids=["places first", "benchmark first"])
def test_a_table_of_addresses_sets_no_order_and_adds_no_item(here: Path, is_first: bool) -> None:
    Path("test.csv").write_text("key,vid_key,video_id,sentence\nr0,m9,video9,a dog\nr1,m3,video3,a cat\n")
    Path("urls.csv").write_text("video_id,url\nvideo1,http://m/1\nvideo3,http://m/3\nvideo9,http://m/9\n")
    names = ["urls.csv", "test.csv"][:: 1 if is_first else -1]
    said = run("add-collection", *names, "--out", "c").stderr
    assert "1 row of urls.csv left out: no item of test.csv" in said
    items = read_items("c/items.tsv")
    assert items["media_url"].tolist() == ["http://m/9", "http://m/3"]
    Path("urls.csv").write_text("video_id,url\n9,http://m/9\n")
    assert (
        "none of its 1 id is an item of test.csv"
        in run("add-collection", *names, "--out", "d", code=1).stderr
    )


def test_addresses_take_the_place_of_a_benchmarks_file_names_and_of_no_address(here: Path) -> None:
    images = [
        {"filename": f"{n}.jpg", "split": "test", "sentences": [{"raw": "a", "sentid": n}]} for n in (2, 1)
    ]
    Path("urls.csv").write_text("image,url\n1.jpg,http://m/1\n")
    Path("karpathy.json").write_text(json.dumps({"images": images}))
    said = run("add-collection", "karpathy.json", "urls.csv", "--out", "c").stderr
    assert "media_url of 1 item as urls.csv says" in said
    assert read_items("c/items.tsv")["media_url"].tolist() == ["2.jpg", "http://m/1"]
    named = run("add-collection", "karpathy.json", "--split", "test", "--out", "e").stderr
    assert "2 pairs in the qrels; split test\n" in named
    Path("captions.csv").write_text("video_id,caption,url\n1.jpg,a,http://other/1\n")
    refused = run("add-collection", "captions.csv", "urls.csv", "--out", "d", code=1).stderr
    assert "1 item in both (1.jpg); name one of the two files" in refused


def test_quotes_of_a_tsv_that_pandas_wrote_are_no_part_of_a_text(here: Path) -> None:
    caption = 'a man holds a "stop" sign'
    table = {"video_id": ["v1", "v2"], "caption": [caption, "a dog, running"]}
    pd.DataFrame(table).to_csv("captions.tsv", sep="\t", index=False)
    run("add-collection", "captions.tsv", "--out", "collection")
    assert read_queries("collection/queries.tsv")["text"].tolist() == [caption, "a dog, running"]


def test_a_field_whose_name_holds_half_a_character_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "in"
    shutil.copytree(GOLDEN / "multivent" / "input", source)
    file = source / "multivent_2_train_judgments.jsonl"
    first, second, *rest = file.read_text().splitlines()
    file.write_text("\n".join([first, second.replace('"relevance"', '"\\ud800relevance"'), *rest]) + "\n")
    refused = run("add-collection", source, "--out", tmp_path / "c", code=1)
    assert refused.stderr.count("\n") == 1
    assert "an unpaired surrogate" in refused.stderr


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
    assert "b/sim.npy: runs/sim.parquet is the run of another file; --name NAME" in told
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
    assert "note: 2 docs of 3 not in collection/items.tsv, so not relevant (cafe" in told
    assert ", 1 but for case, zeros or composed letters): check the run's ids" in told
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
