"""Tables of captions and items by any usual names; qrels with strata and as JSON; ids with blanks."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import put, refused
from command import run

import fire_toolkit as fire
from examples import cases
from fire_toolkit.errors import FormatError, JoinError, TableError, UsageError
from fire_toolkit.formats.collections import read_collection
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.axis_ids import read_ids
from fire_toolkit.formats.runs.read import read_run

pytestmark = pytest.mark.usefixtures("here")
CAPTIONS = "caption_id,video_id,caption\nc2,v9,a dog\nc1,v7,a cat\n"


def read(files: dict[str, Any], **options: Any) -> Any:
    """Return the collection of files of these contents, named in this order."""
    return read_collection([put(name, content) for name, content in files.items()], **options).collection


@pytest.mark.parametrize(
    "header",
    ["video_id,media_url", "image,path", "clip,url", "name,file", "file_name,uri", "doc_id,filepath"],
)
def test_an_id_and_a_place_are_a_table_of_items(header: str) -> None:
    items = put("items.csv", f"{header},frames\nv7,m/v7.mp4,3\nv9,m/v9.mp4,4\n")
    collection, recognised = read_collection([put("c.csv", CAPTIONS), items])
    assert recognised[1].why.endswith(": items")
    assert collection.items[["media_url", "frames"]].values.tolist() == [["m/v7.mp4", "3"], ["m/v9.mp4", "4"]]
    assert collection.notes == []


@pytest.mark.parametrize("header", ["video", "Image_id", '"doc_id"'])
def test_a_list_of_items_may_have_a_header(header: str) -> None:
    collection = read({"c.csv": CAPTIONS, "items.csv": f"{header}\nv7\nv9\nv8\n"})
    assert list(collection.items["doc_id"]) == ["v7", "v9", "v8"]


def test_a_table_may_be_as_a_spreadsheet_saves_it() -> None:
    table = put("c.csv", '\ufeffVideo;Caption\nv9;"a dog; asleep, at home"\nv5;a cat\n')
    collection, formats = read_collection([table])
    assert list(collection.queries["text"]) == ["a dog; asleep, at home", "a cat"]
    assert list(collection.items["doc_id"]) == ["v9", "v5"]
    assert "Caption as text, Video as doc_id; query_id is made of doc_id'" in str(formats)
    assert read_ids(table, "doc_id") == ["v9", "v5"]


def test_captions_may_stand_beside_the_place_of_their_item() -> None:
    rows = (
        "video_id,caption,url,uid\nv9,a dog,http://m/9,1\nv5,a cat,,2\nv9,a pup,,3\nv2,a cow,http://m/2,4\n"
    )
    collection, formats = read_collection([put("c.csv", rows)])
    assert list(collection.queries["query_id"]) == ["v9#0", "v5#0", "v9#1", "v2#0"]
    places = [["v9", "http://m/9"], ["v5", "v5"], ["v2", "http://m/2"]]
    assert collection.items[["doc_id", "media_url"]].values.tolist() == places
    assert "url as media_url; query_id is made of doc_id; not read: uid" in str(formats)
    assert collection.notes[0].startswith("1 item has no media_url and cannot be shown to annotators ('v5')")


def test_ids_in_the_place_of_media_are_counted_and_said() -> None:
    assert read({"c.csv": CAPTIONS}).notes[0] == (
        "2 items have no media_url and cannot be shown to annotators ('v9', 'v7'), and no file lists items: "
        "before tasks, add a table of items with doc_id and media_url"
    )
    notes = read({"c.csv": CAPTIONS, "i.csv": "video_id,url\nv9,v9\nv7,http://m/7\n"}).notes
    assert notes[0].startswith("1 item has no media_url and cannot be shown to annotators ('v9'): before")
    assert read({"d.json": [{"video": "1@N0_2.avi", "description": "a"}]}).notes == []


def test_half_a_character_in_an_address_is_replaced() -> None:
    image = {"filename": "a", "filepath": "\ud800", "sentences": [{"raw": "x", "sentid": 1}]}
    assert read({"a.json": {"images": [image]}}).items["media_url"].tolist() == ["\ufffd/a"]


def test_a_query_may_stand_once_for_each_of_its_docs() -> None:
    collection = read({"f": "query_id,text,doc_id\nq,a,d\nq,a,e\n"})
    assert collection.queries["query_id"].tolist() == ["q"]
    assert collection.qrels["doc_id"].tolist() == ["d", "e"]


def test_captions_beside_a_score_of_each_pair_are_no_positives_in_silence() -> None:
    """As in CxC's sits_*.csv, whose scores are 0 to 5."""
    header = "caption,image,agg_score,sampling_method\n"
    path = put("sits.csv", f"{header}a dog runs,v1,1.0,c2i\na cat sits,v2,4.0,c2i\n")
    said = "column agg_score ... 'text=caption,doc_id=image,relevance=agg_score'; if each row is a positive, "
    refused(said, read_collection, [path], by=UsageError)
    line = {"text": "caption", "doc_id": "image"}
    refused(said, read_collection, [path], columns={"text": "caption"}, by=UsageError)
    for named, grades in ((line | {"relevance": "agg_score"}, [1, 4]), (line, [1, 1])):
        assert read_collection([path], columns=named).collection.qrels["relevance"].tolist() == grades
    decimals = put("d.csv", f"{header}a dog runs,v1,4.6,c2i\n")
    refused("4.6", read_collection, [decimals], columns=line | {"relevance": "agg_score"}, by=TableError)
    assert read_ids(path, "doc_id") == ["v1", "v2"]
    put("f/sits", path.read_text())
    put("f/q.csv", "query_id,text,doc_id\nq,a,d\n")
    refused(said, read_collection, [path.parent / "f"], by=UsageError)
    entries = [{"image": "v1", "caption": ["a", "b"], "clip_score": 0.2}]
    refused("column clip_score", read_collection, [put("l.json", json.dumps(entries))], by=UsageError)
    known = read({"m.json": [{"image": "v1", "caption": "a", "relevance": 0}]})
    assert known.qrels["relevance"].tolist() == [0]


@cases("columns", "line")
def test_the_line_to_type_names_the_columns_of_known_benchmarks(columns: str, line: str) -> None:
    path = put("c.csv", f"{columns}\n{','.join(f'x{n}' for n in range(len(columns.split(','))))}\n")
    try:
        said = " ".join(read_collection([path]).collection.notes)
    except FormatError as error:
        said = str(error)
    assert f"--columns {line}" in said
    named = dict(each.split("=") for each in line.strip("'").split(","))
    assert len(read_collection([path], columns=named).collection.qrels) == 1


def test_docs_that_a_corpus_lacks_are_noted() -> None:
    files = {"corpus.jsonl": '{"_id": "d1", "text": "a"}\n', "q.csv": "query_id,text\nq1,a\n"}
    collection = read(files | {"qrels": "q1 0 d1 1\nq1 0 d2 1\n"})
    assert collection.notes == ["1 doc of the qrels not in the corpus ('d2')"]
    assert collection.items["doc_id"].tolist() == ["d1"]


def test_strata_go_through_a_collection_and_give_the_score_of_the_plain_file() -> None:
    relevances = [1, 0, -1, 1, -1, 0, 1, -1]
    lines = [f"q 0 d{n} {1 + n // 4} {relevance}" for n, relevance in enumerate(relevances)]
    plain = put("plain.qrels", "\n".join(lines) + "\n")
    put("a.run", "".join(f"q Q0 d{n} {n + 1} {9 - n} a\n" for n in range(8)))

    def score(qrels: str) -> str:
        return run("score", "a.run", "--qrels", qrels, "-m", "xinfAP", "--format", "csv").stdout

    run("add-collection", put("t.tsv", "qid\tquery\nq\ta dog\n"), plain, "--out", "c")
    assert sorted(Path("c/qrels.txt").read_text().splitlines()) == sorted(lines)
    assert score("plain.qrels") == score("c/qrels.txt")
    put("four.qrels", "".join(f"q 0 d{n} {relevance}\n" for n, relevance in enumerate(relevances)))
    assert score("plain.qrels") != score("four.qrels")


@cases("content", "expected")
def test_json_of_docs_under_queries_is_qrels(
    content: dict[str, object], expected: list[tuple[str, str, int]]
) -> None:
    path, texts = (
        put("q.json", content),
        put("t.csv", "query_id,text\n" + "".join(f"{q},a\n" for q in content)),
    )
    collection, recognised = read_collection([texts, path])
    assert recognised[1].why == "a JSON object of docs under queries"
    for qrels in (read_qrels(path), collection.qrels):
        assert expected == qrels[["query_id", "doc_id", "relevance"]].values.tolist()


@pytest.mark.parametrize(
    "content",
    [
        {"v1": ["a dog", "a cat"]},
        {"q": [True]},
        {"q": {"d": 0.5}},
        {"q": []},
        "query_id,doc_id,label,relevance\n",
    ],
    ids=str,
)
def test_other_json_objects_and_labels_are_no_qrels(content: Any) -> None:
    refused("", read_qrels, put("q", content + "q,a,relevant,1\n" if isinstance(content, str) else content))


OF_ITEMS = {"v1": ["a dog", "it runs"], "v2": ["a cat"]}
LINES = [json.dumps({"image": image, "text": texts}) for image, texts in OF_ITEMS.items()]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.json", OF_ITEMS),
        ("f.jsonl", "\n".join(LINES)),
        ("f.parquet", {"image_id": list(OF_ITEMS), "caption": list(OF_ITEMS.values())}),
    ],
)
def test_an_item_may_have_a_list_of_captions(name: str, content: Any) -> None:
    found = read({name: content})
    texts = dict(zip(found.queries["query_id"], found.queries["text"], strict=True))
    assert texts == {"v1#0": "a dog", "v1#1": "it runs", "v2#0": "a cat"}
    assert found.items["doc_id"].tolist() == ["v1", "v2"]


def test_a_table_with_a_column_of_splits_is_read_by_split() -> None:
    table = {"t.csv": "video_id,caption,split\nv1,a,train\nv2,b,test\n"}
    found = read(table)
    assert found.queries["query_id"].tolist() == ["v2#0"]
    assert found.notes[0] == "split test read; the file also has train"
    assert len(read(table, split="all").queries) == 2
    refused("no split 'dev'; found test, train", read, table, split="dev", by=UsageError)


def test_a_split_may_have_any_of_its_usual_names_and_none_is_said() -> None:
    table = {"t.csv": "video_id,caption,split\nv1,a,validate\nv2,b,Test\nv3,c,\n"}
    found = {split: read(table, split=split) for split in (None, "test", "Test", "val")}
    assert [each.queries["query_id"].tolist() for each in found.values()] == [["v2#0"]] * 3 + [["v1#0"]]
    assert found["val"].notes[0] == "split validate read; the file also has (empty), Test"
    refused("no split 'dev'; found (empty), Test, validate", read, table, split="dev", by=UsageError)
    two = {"t.csv": "video_id,caption,split\nv1,a,valid\nv2,b,validation\n"}
    refused("no split 'val'; found valid, validation", read, two, split="val", by=UsageError)


def test_lists_of_captions_in_cells_are_read_or_refused() -> None:
    texts = [["a dog", "it's one"], [], ["a cat"]]
    table = pd.DataFrame({"video_id": ["v1", "v2", "v3"], "caption": [json.dumps(each) for each in texts]})
    found = read({"t.csv": table.to_csv(index=False)})
    assert found.queries["text"].tolist() == ["a dog", "it's one", "a cat"]
    assert found.items["doc_id"].tolist() == ["v1", "v2", "v3"]
    assert "1 empty caption left out" in found.notes
    refused("lists in cells:2: ", read, {"t.csv": table.assign(caption=texts).to_csv(index=False)})


def test_captions_without_a_text_are_counted() -> None:
    texts = {"q.csv": "query_id,text,media_url\nq1,,\nq2,a dog,\nq3,,a.jpg\n"}
    found = read({**texts, "qrels": "".join(f"q{n} 0 d{n} 1\n" for n in (1, 2, 3))})
    assert "1 query without a text, which annotators need ('q1')" in found.notes


@pytest.mark.parametrize("name", ["c.jsonl", "c.json", "c.parquet"])
def test_null_is_a_caption_without_a_text_and_no_id(name: str) -> None:
    rows: list[Any] = [{"query_id": f"q{n}", "doc_id": f"d{n}", "text": t} for n, t in enumerate(("a", None))]
    content = "".join(json.dumps(each) + "\n" for each in rows) if name == "c.jsonl" else rows
    if name == "c.parquet":
        pd.DataFrame(rows).to_parquet(name)
    found = read_collection([name]).collection if name == "c.parquet" else read({name: content})
    assert found.queries["text"].tolist() == ["a", ""]
    assert "1 query without a text, which annotators need ('q1')" in found.notes
    refused("entry 0: text: 7.5, expected text", read, {"o.json": [{**rows[0], "text": 7.5}]})
    refused("entry 0: doc_id: None, expected an id", read, {"o.json": [{**rows[0], "doc_id": None}]})


def test_lists_of_items_in_a_folder_are_read_by_split() -> None:
    put("t.csv", "video_id,caption\nv0_a,x\nv1_a,y\nv2_a,z\n")
    for n, split in enumerate(("train", "val", "test")):
        put(f"{split}_list.txt", f"v{n}_a\n")
    found = {split: read_collection([Path()], split=split).collection for split in (None, "val", "all")}
    assert found[None].items["doc_id"].tolist() == ["v2_a"]
    assert "split test read; . also has files of train, val" in found[None].notes
    assert found["val"].items["doc_id"].tolist() == ["v1_a"]
    assert len(found["all"].items) == 3
    said = "of test, train, val; choose one with --split"
    refused(said, read_collection, [Path()], split="dev", by=UsageError)


def test_files_of_captions_in_a_folder_are_read_by_split() -> None:
    """As DiDeMo, AudioCaps and VATEX are published."""
    for split, name in (("train", "training_v1.json"), ("val", "val_v1.json"), ("test", "public_test.json")):
        put(f"d/{name}", [{"videoID": split, "enCap": ["a dog", "it runs"]}])
    for split, ids in ((None, ["test"]), ("val", ["val"]), ("training", ["train"]), ("all", None)):
        found = read_collection([Path("d")], split=split).collection
        assert found.items["doc_id"].tolist() == (ids or ["test", "train", "val"])
    put("d/private_test.json", [{"videoID": "v"}])
    notes = read_collection([Path("d")]).collection.notes
    assert "left out: d/private_test.json: entries with fields videoID, which is not a known" in notes[1]
    (Path("d") / "private_test.json").unlink()
    (Path("d") / "public_test.json").unlink()
    refused("d: files of training, val; choose one with --split", read_collection, [Path("d")], by=UsageError)
    for split, name in (("train", "train_1"), ("test", "test_1")):  # and in folders of splits
        put(f"d/f/{split}/{name}.json", [{"videoID": split, "enCap": ["a dog"]}])
    assert read_collection([Path("d/f")]).collection.items["doc_id"].tolist() == ["test"]
    assert read_collection([Path("d/f")], split="training").collection.items["doc_id"].tolist() == ["train"]
    put("e/train_val.json", [{"videoID": "v", "enCap": ["a dog"]}])
    assert len(read_collection([Path("e")]).collection.items) == 1
    put("e/test2017.json", [{"videoID": "w", "enCap": ["a dog"]}])
    assert read_collection([Path("e")], split="test").collection.items["doc_id"].tolist() == ["w"]


def test_qrels_in_a_folder_have_their_split_by_any_usual_name_or_by_a_word() -> None:
    for names, split, doc in (
        (("Train.tsv", "Validation.tsv"), "val", "d1"),
        (("qrels.x-v1.0-train.tsv", "qrels.x-v1.0-validation.tsv.gz"), "val", "d1"),
        (("qrels.2019", "qrels.2020"), "2020", "d1"),
        (("development.txt", "evaluation.txt"), None, "d1"),
        (("eval.txt", "test.txt"), None, "d1"),
        (("eval.txt", "test.txt"), "evaluation", "d0"),
    ):
        folder = put(Path(f"{names[0]}-{split}") / "q.csv", "query_id,text\nq,a dog\n").parent
        for n, name in enumerate(names):
            put(folder / "qrels" / name, f"q 0 d{n} 1\n")
        found = read_collection([folder], split=split).collection
        assert found.qrels["doc_id"].tolist() == [doc]
        refused(f"{folder}/qrels: files of ", read_collection, [folder], split="x", by=UsageError)


def test_the_whole_folder_of_a_benchmark_of_sounds_is_read() -> None:
    for split in ("development", "validation", "evaluation"):
        put(f"d/clotho_captions_{split}.csv", f"file_name,caption_1\n{split}.wav,It rains\n")
        metadata = f"file_name,sound_id,manufacturer\n{split}.wav,7,Jörg\n"
        put(f"d/clotho_metadata_{split}.csv", metadata.encode("latin-1"))
        put(f"d/{split}/{split}.wav", b"RIFF\0WAVE")
    found = read_collection([Path("d")]).collection
    assert found.items["media_url"].tolist() == ["evaluation.wav"]
    assert found.notes[:2] == [
        "split evaluation read; d also has files of development, validation",
        "left out: d/clotho_metadata_evaluation.csv, beside d/clotho_captions_evaluation.csv",
    ]
    both = ["d/clotho_captions_evaluation.csv", "d/clotho_metadata_evaluation.csv"]
    refused("_evaluation.csv:2: byte 0xf6 is not UTF-8", read_collection, both)


def test_what_is_said_about_a_folder_s_data_is_no_data() -> None:
    put("d/results.token", "1.jpg#0\ta dog\n3.jpg#0\ta cat\n")
    put("d/readme.txt", "Some words here about it\nand more\n")
    put("d/LICENSE.txt", "free\n")
    assert read_collection([Path("d")]).collection.items["doc_id"].tolist() == ["1.jpg", "3.jpg"]
    put("d/notes.txt", "Some words here about it\nand more\n")
    assert "left out: d/notes.txt: text that" in read_collection([Path("d")]).collection.notes[0]
    put("d/results.token", "query_id,caption,video_id\nq,a dog,1.jpg\n")  # a table of anybody's
    refused("notes.txt: text that begins", read_collection, [Path("d")])


def test_a_benchmark_s_folder_is_read_beside_files_of_no_format_and_lists_of_other_ids() -> None:
    """As YouCook2's, whose test has segments without sentences, and whose lists have the recipe, too."""
    own = {"segment": [0, 7], "id": 0}
    of_subset = {
        name: {"subset": name, "annotations": [own | {"sentence": "cut"}]} for name in ("training", "v")
    }
    put("d/trainval.json", {"database": of_subset | {"v": {**of_subset["v"], "subset": "validation"}}})
    put("d/test_only.json", {"database": {"t": {"subset": "testing", "annotations": [own]}}})
    put("d/label_foodtype.csv", "101,hot dog\n113,BLT\n")
    for name in ("train", "val", "test"):
        put(f"d/splits/{name}_list.txt", "101/training\n")
    found = read_collection([Path("d")], split="val").collection
    assert found.items["doc_id"].tolist() == ["v_0"]
    assert found.notes[:4] == [
        "split val read; d also has files of test",
        "split val read; d/splits also has files of test, train",
        "left out: d/label_foodtype.csv: columns 101, hot dog, which is not a known collection format",
        "left out: d/splits/val_list.txt lists no item of d/trainval.json",
    ]
    refused("_only.json ... in the place of d, or another split with", read_collection, [Path("d")])
    put("d/trainval.json", "{")
    refused("damaged or truncated JSON", read_collection, [Path("d")], split="val")


def test_a_folder_without_captions_of_the_split_says_which_splits_there_are() -> None:
    """As ActivityNet's, whose test has ids alone."""
    put("d/val_1.json", {"v": {"duration": 1, "sentences": ["a dog", "it runs"], "timestamps": [[0, 1]]}})
    put("d/test_ids.json", ["v_t"])
    said = "no queries: found d/test_ids.json; split test read; d also has files of val: choose another with"
    refused(f"{said} ... or add the file with the captions", read_collection, [Path("d")])
    assert read_collection([Path("d")], split="val").collection.queries["text"].tolist() == ["a dog it runs"]


def test_images_without_file_names_are_items() -> None:
    """As MSR-VTT's captions in the form of COCO's, and the file that pycocoevalcap is given."""
    entry = {"image_id": "video9", "id": 0, "caption": "a dog"}
    put("m.json", {"images": [{"id": "video9"}, {"id": "video7"}], "annotations": [entry]})
    found = read_collection([Path("m.json")]).collection
    assert found.items["doc_id"].tolist() == ["video9", "video7"]


def test_categories_that_make_one_gallery_are_noted() -> None:
    for name in ("dress", "shirt"):
        for split in ("train", "val"):
            images = {"candidate": f"{split}-{name}1", "target": f"{split}-{name}2"}
            entry = {**images, "captions": ["is red", "is long"]}
            put(f"d/captions/cap.{name}.{split}.json", [entry])
    notes = read_collection([Path("d")], split="val").collection.notes
    assert any(note.startswith("dress, shirt make one gallery here; FashionIQ's protocol") for note in notes)
    one = read_collection([Path("d/captions/cap.dress.train.json"), Path("d/captions/cap.dress.val.json")])
    assert not any("gallery" in note for note in one.collection.notes)


def test_topics_of_video_search_are_read_with_the_numbers_of_their_qrels() -> None:
    qrels = {"qrels": "1501 0 shot1_1 1 1\n1502 0 shot1_2 1 -1\n", "shots.txt": "shot1_1\nshot1_2\n"}
    for text in ("501 Find shots of 2 dogs\n502  Find shots of a cat\n", "501\tsnow\n502\train\n"):
        found = read({"tv16.avs.topics.txt": text, **qrels})
        assert found.queries["query_id"].tolist() == ["1501", "1502"]
        assert "query ids are 1 and the topic's number, as in the qrels: 501 is 1501" in found.notes
        assert read({"t": text.replace("50", "150"), **qrels}).queries.equals(found.queries)
    for text in ("501 Q0 shot1_1 1 .5 tag", "501 0.5 shot1_1", "501 label"):
        refused("which is not a known collection format", read, {"t": f"{text}\n", **qrels})


def test_numbered_captions_may_stand_behind_a_blank() -> None:
    for mark in "\t ":
        found = read({"c.txt": f"v1#0{mark}a dog  runs\nv1#1{mark}it\nv2#enc#0{mark}a cat\n"})
        assert found.items["doc_id"].tolist() == ["v1", "v2"]
        queries = [["v1#0", "a dog  runs"], ["v1#1", "it"], ["v2#enc#0", "a cat"]]
        assert found.queries[["query_id", "text"]].values.tolist() == queries
    pairs = read({"q.csv": "query_id,text\nv1#0,a dog\n", "p.txt": "v1#0 0 v1 1\n"}).qrels  # and no captions
    assert pairs["doc_id"].tolist() == ["v1"]


def test_queries_that_are_ids_alone_say_what_to_name_in_their_place() -> None:
    texts = [[{"_id": f"{kind}1", **more}] for kind, more in (("q", {}), ("d", {"text": "a dog"}))]
    found = read({"queries.json": texts[0], "corpus.json": texts[1], "qrels": "q1 0 d1 1\n"})
    assert found.notes[0].startswith("the queries are ids alone, without captions: ")
    assert len(found.notes) == 1


def test_captions_of_a_split_are_not_mixed_with_those_of_a_file_of_none() -> None:
    for n, name in enumerate(("annos_training", "annos_val", "challenge_publictect")):
        put(f"d/LSMDC16_{name}.csv", f"{n}_clip\t1\t2\t3\t4\tSOMEONE runs.\n")
    said = "d/LSMDC16_annos_val.csv (lsmdc) and d/LSMDC16_challenge_publictect.csv (lsmdc): captions "
    refused(f"{said} ... a file of a split and one of none", read_collection, [Path("d")], split="val")
    assert len(read_collection([Path("d")], split="all").collection.queries) == 3


def test_several_lists_of_items_say_what_they_know_of_each_once() -> None:
    """As of COCO, whose folder holds the images with captions, with objects and with persons."""
    images = [{"id": n, "file_name": f"{n}.jpg"} for n in (5, 3)]
    captions = [{"id": 10 + n, "image_id": n, "caption": "a dog"} for n in (5, 3)]
    put("a/captions_val2017.json", {"images": images, "annotations": captions})
    for name, some in (("instances", images), ("person_keypoints", images[:1])):
        put(f"a/{name}_val2017.json", {"images": some, "annotations": [{"category_id": 1}]})
    assert read_collection([Path("a")]).collection.items["doc_id"].tolist() == ["5", "3"]
    put("twice.txt", "5\n3\n5\n")
    twice = [Path("a/captions_val2017.json"), Path("twice.txt")]
    refused("doc_id given twice (1 rows; 5)", read_collection, twice, by=TableError)


def test_ids_with_blanks_are_percent_encoded_in_every_file_of_a_collection() -> None:
    collection = read({"c.csv": "file_name,caption_1\nrain 100%.wav,It rains\nsea.wav,Waves 5% up\n"})
    encoded = ["rain%20100%25.wav", "sea.wav"]
    expected = [[encoded[0], "rain 100%.wav"], ["sea.wav", "sea.wav"]]
    assert collection.items[["doc_id", "media_url"]].values.tolist() == expected
    texts = [[f"{encoded[0]}#0", "It rains"], ["sea.wav#0", "Waves 5% up"]]
    assert collection.queries[["query_id", "text"]].values.tolist() == texts
    assert collection.qrels["doc_id"].tolist() == encoded
    assert collection.encoded == "blanks and %"
    assert collection.notes == [
        "2 ids with blanks: all ids are percent-encoded, 'rain 100%.wav' is 'rain%20100%25.wav'; so are "
        "those of files that are read beside them"
    ]
    assert read_ids(Path("c.csv"), "doc_id") == encoded
    ids = {"query_ids": ["a", "b"], "doc_ids": ["rain 100%.wav", "sea.wav"]}
    matrix = put("m.npz", {"sims": np.eye(2), **ids})
    assert {*read_run(matrix)["doc_id"].astype("str")} == {*encoded}
    names = put("names.txt", "rain 100%.wav\nsea.wav\n")
    assert read_ids(names, "doc_id") == [*read_ids(put("one.txt", "rain 100%.wav"), "doc_id"), "sea.wav"]
    assert read_collection([Path("c.csv"), names]).collection.items["doc_id"].tolist() == encoded


def test_qrels_and_own_items_have_the_ids_of_the_collection() -> None:
    qrels = read_qrels(put("q.tsv", "\nquery-id\tcorpus-id\tscore\nq1\ta b\t1\nq2\t5%\t1\n"))
    assert qrels["doc_id"].tolist() == ["a%20b", "5%25"]
    own = read_qrels(put("qrels.csv", "query_id,doc_id,relevance\nq,a b,1\nq,c,0\n"))
    assert own[["doc_id", "relevance"]].values.tolist() == [["a%20b", 1], ["c", 0]]
    items = "doc_id,media_url,reference\na,m/a b.jpg,page 3\n"
    collection = read({"c.csv": "query_id,text,doc_id,reference\nq,in red,a,b c\n", "i.csv": items})
    assert collection.queries["reference"].tolist() == ["b%20c"]
    assert collection.items[["media_url", "reference"]].values.tolist() == [["m/a b.jpg", "page 3"]]


def test_ids_without_blanks_stay_to_the_letter() -> None:
    collection = read({"c.csv": "file_name,caption_1\na%20b.wav,It rains\n100%.wav,Waves\n"})
    assert collection.items["doc_id"].tolist() == ["a%20b.wav", "100%.wav"]
    assert not collection.encoded
    assert read_ids(Path("c.csv"), "doc_id") == ["a%20b.wav", "100%.wav"]


def test_a_table_of_pairs_is_read_from_any_file_that_holds_one() -> None:
    rows = [
        {"query_id": "q1", "doc_id": "a", "relevance": 2},
        {"query_id": "q2", "doc_id": "b", "relevance": 0},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    files = {
        "q.parquet": pd.DataFrame(rows),
        "q.jsonl": lines,
        "q.json": rows,
        "q.csv": pd.DataFrame(rows).to_csv(index=False),
    }
    for name, content in {**files, "dict.json": {"q1": {"a": 2.0}, "q2": {"b": 0.0}}}.items():
        found = read_qrels(put(name, content))
        assert found[["query_id", "doc_id", "relevance"]].values.tolist() == [["q1", "a", 2], ["q2", "b", 0]]
    names = ("qid", "docno", "rel")
    other = [dict(zip(names, row.values(), strict=True)) for row in rows]
    for name, content in (("o.jsonl", other), ("o.csv", pd.DataFrame(other).to_csv(index=False))):
        found = read_qrels(put(name, content))
        assert found[["query_id", "doc_id", "relevance"]].values.tolist() == [["q1", "a", 2], ["q2", "b", 0]]
        made = read({"t.tsv": "query_id\ttext\nq1\ta dog\nq2\ta cat\n", name: content}).qrels
        assert made["relevance"].tolist() == [2, 0]


def test_an_id_that_one_file_encodes_and_another_does_not_is_refused() -> None:
    """All ids of a file are encoded where one has a blank; of another file the same id stays as it is."""
    put("c.csv", "query_id,text,doc_id\nc0,rain,old clip.wav\nc1,wind,100%.wav\nc2,sea,b.wav\n")
    whole = put("whole.json", {"c0": ["b.wav", "old clip.wav"], "c1": ["100%.wav"], "c2": ["b.wav"]})
    part = put("part.json", {"c0": ["b.wav"], "c1": ["100%.wav"], "c2": ["b.wav"]})
    qrels = put("q.json", {"c1": {"100%.wav": 1}, "c2": {"b.wav": 1}})
    said = "'100%.wav' is '100%25.wav' in"
    for files in ((whole, part), (part, whole)):
        assert f"part.json: {said} whole.json, whose ids" in run("pool", *files, "--out", "p", code=1).stderr
    assert f"q.json: {said} whole.json" in run("score", whole, "--qrels", qrels, code=1).stderr
    runs = [fire.run(whole), fire.run(part)]
    with pytest.raises(JoinError, match=f"run part: {said} run whole"):
        fire.pool(runs)
    with pytest.raises(JoinError, match=f"the qrels: {said} run whole"):
        fire.score(runs[0], fire.qrels(qrels))
    assert (
        "original,all,C@1,1.0" in run("score", part, "--qrels", qrels, "-m", "C@1", "--format", "csv").stdout
    )
    run("add-collection", "c.csv", "--out", "collection")
    encoded, out = ("--qrels", "collection/qrels.txt"), ("--out", "runs")
    assert f"part.json: {said} collection/qrels.txt" in run("add-run", part, *encoded, *out, code=1).stderr
    run("score", whole, *encoded)


def test_captions_that_a_cell_holds_as_a_list_are_captions_each() -> None:
    """Flickr30k's CSV as the Hugging Face hub has it: `raw` is a list in JSON of five captions."""
    cells = [json.dumps([f"c {image} {n}" for n in range(5)]) for image in range(3)]
    table = pd.DataFrame({"raw": cells, "sentids": "[0]", "filename": [f"10{n}.jpg" for n in range(3)]})
    files = {"flickr.csv": table.to_csv(index=False)}
    options = {"columns": {"doc_id": "filename", "text": "raw"}}
    collection = read(files, **options)
    assert collection.queries["text"].tolist() == [f"c {image} {n}" for image in range(3) for n in range(5)]
    assert collection.qrels["doc_id"].tolist() == [f"10{image}.jpg" for image in range(3) for _ in range(5)]
