"""Tables of items by any usual names; qrels with strata and as JSON."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command import run

from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.collections import read_collection
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.axis_ids import read_ids

CAPTIONS = "caption_id,video_id,caption\nc2,v9,a dog\nc1,v7,a cat\n"


def put(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    "header",
    ["video_id,media_url", "image,path", "clip,url", "name,file", "file_name,uri", "doc_id,filepath"],
)
def test_an_id_and_a_place_are_a_table_of_items(header: str, tmp_path: Path) -> None:
    items = put(tmp_path, "items.csv", f"{header},frames\nv7,m/v7.mp4,3\nv9,m/v9.mp4,4\n")
    collection, recognised = read_collection([put(tmp_path, "c.csv", CAPTIONS), items])
    assert recognised[1].why.endswith(": items")
    assert list(collection.items["media_url"]) == ["m/v7.mp4", "m/v9.mp4"]
    assert list(collection.items["frames"]) == ["3", "4"]
    assert collection.notes == []


@pytest.mark.parametrize("header", ["video", "Image_id", '"doc_id"'])
def test_a_list_of_items_may_have_a_header(header: str, tmp_path: Path) -> None:
    items = put(tmp_path, "items.csv", f"{header}\nv7\nv9\nv8\n")
    collection, _ = read_collection([put(tmp_path, "c.csv", CAPTIONS), items])
    assert list(collection.items["doc_id"]) == ["v7", "v9", "v8"]


def test_what_may_be_a_header_of_a_list_is_named(tmp_path: Path) -> None:
    items = put(tmp_path, "items.csv", "index\nv7\nv9\n")
    with pytest.raises(FormatError, match=r"items.csv:1: 'index' looks like a header, .* doc_id above it"):
        read_collection([put(tmp_path, "c.csv", CAPTIONS), items])


def test_a_table_may_be_as_a_spreadsheet_saves_it(tmp_path: Path) -> None:
    table = put(tmp_path, "c.csv", '\ufeffVideo;Caption\nv9;"a dog; asleep, at home"\nv5;a cat\n')
    collection, formats = read_collection([table])
    assert list(collection.queries["text"]) == ["a dog; asleep, at home", "a cat"]
    assert list(collection.items["doc_id"]) == ["v9", "v5"]
    assert "Caption as text, Video as doc_id" in str(formats)
    assert read_ids(table, "doc_id") == ["v9", "v5"]


def test_captions_may_stand_beside_the_place_of_their_item(tmp_path: Path) -> None:
    rows = "video_id,caption,url\nv9,a dog,http://m/9\nv5,a cat,\nv9,a pup,\nv2,a cow,http://m/2\n"
    collection, formats = read_collection([put(tmp_path, "c.csv", rows)])
    assert list(collection.queries["query_id"]) == ["v9#0", "v5#0", "v9#1", "v2#0"]
    assert list(collection.items["doc_id"]) == ["v9", "v5", "v2"]
    assert list(collection.items["media_url"]) == ["http://m/9", "v5", "http://m/2"]
    assert "url as media_url" in str(formats)
    assert collection.notes[0].startswith("1 item has no media_url and cannot be shown to annotators ('v5')")


def test_two_places_of_one_item_are_refused(tmp_path: Path) -> None:
    rows = "video_id,caption,url\nv9,a dog,http://m/9\nv9,a pup,http://m/8\n"
    with pytest.raises(FormatError, match="url of 'v9' is 'http://m/9' and 'http://m/8', expected one"):
        read_collection([put(tmp_path, "c.csv", rows)])


def test_ids_in_the_place_of_media_are_counted_and_said(tmp_path: Path) -> None:
    captions = put(tmp_path, "c.csv", CAPTIONS)
    assert read_collection([captions])[0].notes[0] == (
        "2 items have no media_url and cannot be shown to annotators ('v9', 'v7'), and no file lists items: "
        "before tasks, add a table of items with doc_id and media_url"
    )
    items = put(tmp_path, "i.csv", "video_id,url\nv9,v9\nv7,http://m/7\n")
    notes = read_collection([captions, items])[0].notes
    assert notes[0].startswith("1 item has no media_url and cannot be shown to annotators ('v9'): before")
    files = put(tmp_path, "d.json", '[{"video": "1@N0_2.avi", "description": "a"}]')
    assert read_collection([files])[0].notes == []


def test_strata_go_through_a_collection_and_give_the_score_of_the_plain_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"q 0 d{n} {1 + n // 4} {[1, 0, -1, 1, -1, 0, 1, -1][n]}" for n in range(8)]
    plain = put(tmp_path, "plain.qrels", "\n".join(lines) + "\n")
    put(tmp_path, "t.tsv", "qid\tquery\nq\ta dog\n")
    put(tmp_path, "a.run", "".join(f"q Q0 d{n} {n + 1} {9 - n} a\n" for n in range(8)))
    monkeypatch.chdir(tmp_path)

    def score(qrels: str) -> str:
        return run("score", "a.run", "--qrels", qrels, "-m", "xinfAP", "--format", "csv").stdout

    run("add-collection", "t.tsv", "plain.qrels", "--out", "c")
    assert sorted((tmp_path / "c" / "qrels.txt").read_text().splitlines()) == sorted(lines)
    assert score("plain.qrels") == score("c/qrels.txt")
    put(tmp_path, "four.qrels", "".join(f"q 0 d{n} {line.split()[-1]}\n" for n, line in enumerate(lines)))
    assert score("plain.qrels") != score("four.qrels")
    assert plain.is_file()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"12": [391895, 7], "007": ["a"]}, [("007", "a", 1), ("12", "391895", 1), ("12", "7", 1)]),
        ({"q": {"d1": 0, "d2": 3}}, [("q", "d1", 0), ("q", "d2", 3)]),
        ({"q": ["d"], "r": []}, [("q", "d", 1)]),
    ],
)
def test_json_of_docs_under_queries_is_qrels(
    content: object, expected: list[tuple[str, str, int]], tmp_path: Path
) -> None:
    path = put(tmp_path, "q.json", json.dumps(content))
    qrels = read_qrels(path)
    assert expected == list(zip(qrels["query_id"], qrels["doc_id"], qrels["relevance"], strict=True))
    texts = put(tmp_path, "t.csv", "query_id,text\n" + "".join(f"{q},a\n" for q in dict(content)))  # type: ignore[call-overload]
    collection, recognised = read_collection([texts, path])
    assert recognised[1].why == "a JSON object of docs under queries"
    assert expected == list(
        collection.qrels[["query_id", "doc_id", "relevance"]].itertuples(index=False, name=None)
    )


@pytest.mark.parametrize(
    "content", ['{"v1": ["a dog", "a cat"]}', '{"q": [true]}', '{"q": {"d": 0.5}}', '{"q": []}']
)
def test_other_json_objects_are_no_qrels(content: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        read_qrels(put(tmp_path, "q.json", content))


def test_qrels_may_be_a_table_with_our_own_columns_but_labels_are_none(tmp_path: Path) -> None:
    table = put(tmp_path, "qrels.csv", "query_id,doc_id,relevance\nq,a b,1\nq,c,0\n")
    assert read_qrels(table)[["doc_id", "relevance"]].values.tolist() == [["a%20b", 1], ["c", 0]]
    labels = put(tmp_path, "labels.csv", "query_id,doc_id,label,relevance\nq,a,relevant,1\n")
    with pytest.raises(FormatError):
        read_qrels(labels)


def collection_of(folder: Path, files: dict[str, str], **options: Any) -> Any:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return read_collection([folder], **options).collection


OF_ITEMS = {"v1": ["a dog", "it runs"], "v2": ["a cat"]}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("f.json", json.dumps(OF_ITEMS)),
        ("f.jsonl", "".join(json.dumps({"image": v, "text": texts}) + "\n" for v, texts in OF_ITEMS.items())),
    ],
)
def test_an_item_may_have_a_list_of_captions(name: str, text: str, tmp_path: Path) -> None:
    found = collection_of(tmp_path, {name: text})
    assert dict(zip(found.queries["query_id"], found.queries["text"], strict=True)) == {
        "v1#0": "a dog",
        "v1#1": "it runs",
        "v2#0": "a cat",
    }
    assert found.items["doc_id"].tolist() == ["v1", "v2"]


def test_lists_of_captions_in_parquet_and_of_queries(tmp_path: Path) -> None:
    pd.DataFrame({"image_id": [1, 2], "caption": [["a", "b"], ["c"]]}).to_parquet(tmp_path / "f.parquet")
    assert read_collection([tmp_path]).collection.queries["query_id"].tolist() == ["1#0", "1#1", "2#0"]
    (tmp_path / "q.jsonl").write_text('{"query_id": "q", "text": ["a"]}\n{"query_id": "r", "text": "b"}\n')
    with pytest.raises(FormatError, match=r"q\.jsonl: text holds lists, expected one text for each query"):
        read_collection([tmp_path / "q.jsonl"])
    (tmp_path / "q.jsonl").write_text('{"image": "q", "text": [1]}\n{"image": "r", "text": "b"}\n')
    with pytest.raises(FormatError, match=r"q\.jsonl: entry 0: 1, expected text"):
        read_collection([tmp_path / "q.jsonl"])


def test_a_table_with_a_column_of_splits_is_read_by_split(tmp_path: Path) -> None:
    table = {"t.csv": "video_id,caption,split\nv1,a,train\nv2,b,test\n"}
    found = collection_of(tmp_path, table)
    assert found.queries["query_id"].tolist() == ["v2#0"]
    assert found.notes[0] == "split test read; the file also has train"
    assert len(collection_of(tmp_path, table, split="all").queries) == 2
    with pytest.raises(UsageError, match="no split 'dev'; found test, train"):
        read_collection([tmp_path / "t.csv"], split="dev")


def test_lists_of_items_in_a_folder_are_read_by_split(tmp_path: Path) -> None:
    lists = {f"{split}_list.txt": f"v{n}_a\n" for n, split in enumerate(("train", "val", "test"))}
    table = {"t.csv": "video_id,caption\nv0_a,x\nv1_a,y\nv2_a,z\n"}
    found = collection_of(tmp_path, table | lists)
    assert found.items["doc_id"].tolist() == ["v2_a"]
    assert "split test read; the folder also has lists of the items of train, val" in found.notes
    assert collection_of(tmp_path, {}, split="val").items["doc_id"].tolist() == ["v1_a"]
    assert len(collection_of(tmp_path, {}, split="all").items) == 3
    with pytest.raises(UsageError, match="of test, train, val; choose one with --split"):
        collection_of(tmp_path, {}, split="dev")


def test_a_folder_with_captions_in_two_forms_is_refused(tmp_path: Path) -> None:
    entries = [{"video": "v1", "caption": "a dog"}]
    files = {"lavis.json": json.dumps(entries), "t.token": "v1.jpg#0\ta dog\n"}
    with pytest.raises(FormatError, match=r"lavis\.json \(lavis\) and .*t\.token \(flickr\): captions with"):
        collection_of(tmp_path, files)
    assert len(read_collection(sorted(tmp_path.iterdir())).collection.queries) == 2  # as they were named
