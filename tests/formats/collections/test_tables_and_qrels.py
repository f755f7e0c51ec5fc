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
from fire_toolkit import errors
from fire_toolkit.errors import FormatError, JoinError, TableError, UsageError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.collections.registry import read_collection
from fire_toolkit.formats.runs.axis_ids import read_ids
from fire_toolkit.formats.runs.read import read_run

pytestmark = pytest.mark.usefixtures("here")
CAPTIONS = "caption_id,video_id,caption\nc2,v9,a dog\nc1,v7,a cat\n"


def read(files: dict[str, Any], **options: Any) -> Any:
    """Return the collection of files of these contents, named in this order."""
    return read_collection([put(name, content) for name, content in files.items()], **options).collection


Reading = dict[str, Any]  # options, and what is found with them


def check(reading: Reading, paths: list[Path]) -> None:
    options = {name: reading[name] for name in ("split", "columns") if name in reading}
    if "said" in reading:
        error = getattr(errors, reading.get("error", "FormatError"))
        refused(reading["said"], read_collection, paths, **options, by=error)
        return
    found, formats = read_collection(paths, **options)
    for table in ("queries", "items", "qrels"):
        for column, values in reading.get(table, {}).items():
            assert getattr(found, table)[column].tolist() == values, (table, column)
    notes = reading.get("notes", [])
    assert len(found.notes) >= len(notes)
    assert [words for words, note in zip(notes, found.notes, strict=False) if words not in note] == []
    assert reading.get("n_notes", len(found.notes)) == len(found.notes)
    assert reading.get("why", "") in str(formats)
    assert reading.get("encoded", found.encoded) == found.encoded
    if "doc_ids" in reading:
        assert read_ids(paths[0], "doc_id") == reading["doc_ids"]


@cases("case")
def test_files_become_tables(case: dict[str, Any]) -> None:
    paths = [put(name, content) for name, content in case["files"].items()]
    for reading in case["read"]:
        check(reading, [Path(case["folder"])] if "folder" in case else paths)


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


@cases("content")
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


@pytest.mark.parametrize("name", ["c.jsonl", "c.json", "c.parquet"])
def test_null_is_a_caption_without_a_text_and_no_id(name: str) -> None:
    rows: list[Any] = [{"query_id": f"q{n}", "doc_id": f"d{n}", "text": t} for n, t in enumerate(("a", None))]
    lines, table = "".join(json.dumps(each) + "\n" for each in rows), pd.DataFrame(rows)
    found = read({name: {"c.jsonl": lines, "c.json": rows, "c.parquet": table}[name]})
    assert found.queries["text"].tolist() == ["a", ""]
    assert "1 query without a text, which annotators need ('q1')" in found.notes
    refused("entry 0: text: 7.5, expected text", read, {"o.json": [{**rows[0], "text": 7.5}]})
    refused("entry 0: doc_id: None, expected an id", read, {"o.json": [{**rows[0], "doc_id": None}]})


@cases("names", "split", "doc")
def test_qrels_in_a_folder_have_their_split_by_any_usual_name_or_by_a_word(
    names: list[str], split: str | None, doc: str
) -> None:
    folder = put("d/q.csv", "query_id,text\nq,a dog\n").parent
    for n, name in enumerate(names):
        put(folder / "qrels" / name, f"q 0 d{n} 1\n")
    assert read_collection([folder], split=split).collection.qrels["doc_id"].tolist() == [doc]
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
    refused("_evaluation.csv:2: byte 0xf6 is not UTF-8 ... iconv -f latin1", read_collection, both)


def test_topics_of_video_search_are_read_with_the_numbers_of_their_qrels() -> None:
    qrels = {"qrels": "1501 0 shot1_1 1 1\n1502 0 shot1_2 1 -1\n", "shots.txt": "shot1_1\nshot1_2\n"}
    for text in ("501 Find shots of 2 dogs\n502  Find shots of a cat\n", "501\tsnow\n502\train\n"):
        found = read({"tv16.avs.topics.txt": text, **qrels})
        assert found.queries["query_id"].tolist() == ["1501", "1502"]
        assert "query ids are 1 and the topic's number, as in the qrels: 501 is 1501" in found.notes
        assert read({"t": text.replace("50", "150"), **qrels}).queries.equals(found.queries)
    for text in ("501 Q0 shot1_1 1 .5 tag", "501 0.5 shot1_1", "501 label"):
        refused("which is not a known collection format", read, {"t": f"{text}\n", **qrels})


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


def test_a_table_of_pairs_is_read_from_any_file_that_holds_one() -> None:
    names = ("query_id", "doc_id", "relevance")
    rows = [dict(zip(names, row, strict=True)) for row in (("q1", "a", 2), ("q2", "b", 0))]
    files = {
        "q.parquet": pd.DataFrame(rows),
        "q.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "q.json": rows,
        "q.csv": pd.DataFrame(rows).to_csv(index=False),
    }
    files["loose.parquet"] = pd.DataFrame(rows).set_axis(["topic", "name", "grade"], axis=1)
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
    odd = put("odd.parquet", pd.DataFrame(rows).drop(columns="relevance"))
    refused("odd.parquet: columns query_id, doc_id; expected columns query_id, doc_id and", read_qrels, odd)


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
