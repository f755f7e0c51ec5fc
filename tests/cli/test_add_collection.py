import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from command import run

from fire_toolkit.files import sha256_of
from fire_toolkit.formats.runs.trec import read_trec_qrels
from fire_toolkit.formats.tables.table_files import read_items, read_queries

GOLDEN = Path(__file__).parents[1] / "golden" / "collections"


def test_a_collection_is_written_with_what_it_was_made_from(tmp_path: Path) -> None:
    source = GOLDEN / "cirr" / "input"
    result = run("add-collection", source, "--out", tmp_path / "c")
    assert result.stdout == ""
    assert "cap.json: cirr (JSON entries with pairid, reference and img_set)" in result.stderr
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
    assert f"next: fire-toolkit audit --queries {out}/queries.tsv\n" in result.stderr


SOUNDS = (
    "file_name,caption_1,caption_2,path\nrain.wav,It rains,,a/rain.wav\ngate.wav,A gate,A hinge,a/gate.wav\n"
)


@pytest.mark.parametrize(
    ("columns", "queries"),
    [
        ("doc_id=file_name,text=caption_*,media_url=path", ["rain.wav#0", "gate.wav#0", "gate.wav#1"]),
        ("doc=file_name,text=caption_*", ["rain.wav#0", "gate.wav#0", "gate.wav#1"]),
        ("text=caption_*", ["rain.wav#0", "gate.wav#0", "gate.wav#1"]),  # the others by their usual names
        ("text=caption_1", ["rain.wav#0", "gate.wav#0"]),
        ("query=path,text=caption_1", ["a/rain.wav", "a/gate.wav"]),
    ],
)
def test_columns_are_named_as_import_names_them(columns: str, queries: list[str], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(SOUNDS)
    run("add-collection", tmp_path / "t.csv", "--columns", columns, "--out", tmp_path / "c")
    assert queries == read_queries(tmp_path / "c" / "queries.tsv")["query_id"].tolist()
    items = read_items(tmp_path / "c" / "items.tsv")
    assert items["doc_id"].tolist() == ["rain.wav", "gate.wav"]
    place = "" if "query=path" in columns else "a/"
    assert items["media_url"].tolist() == [f"{place}rain.wav", f"{place}gate.wav"]


@pytest.mark.parametrize(
    ("table", "columns", "told"),
    [
        ("who,what\na,b\n", "", "t.csv: columns who, what, which is not a known collection format"),
        ("who,what\na,b\n", "", "--columns 'doc_id=who,text=what'"),
        ("clip,what\na,b\n", "", "--columns 'doc_id=clip,text=what'"),
        ("who,what\na,b\n", "text=that", "columns who, what, which is not"),
        ("clip,caption\na,b\n", "text=that", "no table has the columns that; found .*: clip, caption"),
        ("clip,caption\na,b\n", "text=that", "type --columns 'doc_id=clip,text=caption'"),
        ("clip,path,said_1,said_2\na,b,c,d\n", "", r"'doc_id=clip,text=said_\*,media_url=path'"),
        ("clip,path,said_1,said_2\na,b,c,d\n", "doc=id", r"'doc_id=clip,text=said_\*,media_url=path'"),
        ("Q0\ta dog runs fast over green grass\n", "", "whose first line names its columns"),
        ("video1\ta dog runs\nvideo2\ta man cooks\n", "", "whose first line names its columns"),
        ("clip,caption\na,b\n", "txt=caption", "expected ROLE=NAME with one of query_id, text, doc_id"),
        ("clip,caption\na,b\n", "doc=clip,doc_id=caption", "doc_id is named twice"),
    ],
)
def test_a_foreign_table_says_what_to_type(table: str, columns: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(table)
    named = ["--columns", columns] if columns else []
    result = run("add-collection", tmp_path / "t.csv", *named, "--out", tmp_path / "c", code=1)
    assert result.stderr.count("\n") < 4
    assert re.search(told, result.stderr), result.stderr


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
    assert "entry 1: the name of a field: id '\\ud800relevance' contains half a character" in refused.stderr
