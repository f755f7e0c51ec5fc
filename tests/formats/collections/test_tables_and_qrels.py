"""Tables of items by any usual names; qrels with strata and as JSON."""

import json
from pathlib import Path

import pytest
from command import run

from fire_toolkit.errors import FormatError
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
