"""Files as tools and people write them, easily read wrongly: read right, or refused with a hint."""

import io
import json
import pickle
import zipfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import npy, put, refused
from command import run

import fire_toolkit as fire
from examples import cases
from fire_toolkit.errors import FileNote, FireError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.collections.registry import read_collection
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.reader import recognise

pytestmark = pytest.mark.usefixtures("here")
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
HDF5 = (
    "an HDF5 file, which is not read; save what it holds as .npy: "
    "numpy.save('sims.npy', h5py.File('sims.h5')['sims'])"
)
WORKBOOK = io.BytesIO()
with zipfile.ZipFile(WORKBOOK, "w") as archive:
    archive.writestr("xl/workbook.xml", "<workbook/>")


def collection(path: Path) -> Any:
    return read_collection([path]).collection


def rows_of(table: pd.DataFrame, *columns: str) -> list[list[Any]]:
    return table[list(columns)].to_numpy().tolist()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (POINTER, "a pointer of Git LFS, not the file itself; fetch it with git lfs pull"),
        ("<!DOCTYPE html>\n<html>404</html>", "a web page, not the file itself; download it again"),
        ("query_id,doc_id,score\n".encode("utf-16"), "text in UTF-16; save it as UTF-8"),
        (b"\x89HDF\r\n\x1a\n" + bytes(32), HDF5),
        (WORKBOOK.getvalue(), "an archive or a workbook; unpack it, or save its table as CSV"),
        (b"ARROW1\0\0\xff\xff", "an Arrow file; save it as Parquet: dataset.to_parquet('test.parquet')"),
        (
            b"MATLAB 5.0 MAT-file",
            "a file of MATLAB; numpy.save('sims.npy', scipy.io.loadmat('sims.mat')['sims'])",
        ),
    ],
    ids=["pointer", "page", "UTF-16", "HDF5", "workbook", "Arrow", "MATLAB"],
)
def test_what_is_not_the_file_is_told_by_both_commands(content: Any, said: str) -> None:
    for reading in (recognise, collection):
        assert refused(said, reading, put("f", content)) == f"f: {said}"


@cases("line", "said")
def test_a_first_line_tells_what_was_expected(line: str, said: str) -> None:
    for reading in (recognise, read_run):
        refused(said, reading, put("f", line))


@cases("header", "query", "doc")
def test_a_table_with_the_usual_names_of_a_collection_is_a_run(header: str, query: str, doc: str) -> None:
    mark = ";" if ";" in header else ","
    row = [{query: "q1", doc: "d1"}.get(name, "1") for name in header.split(mark)]
    path = put("f", f"{header}\n{mark.join(row)}\n")
    found = ingest(path, Request())
    for each in (read_run(path), found.run):
        assert rows_of(each, "query_id", "doc_id") == [["q1", "d1"]]
    is_ours = (query, doc) == ("query_id", "doc_id")
    assert (f"columns {query} as query_id, {doc} as doc_id" in found.notes) != is_ours


@cases("header", "said")
def test_a_table_with_two_columns_that_could_be_one_role_is_refused(header: str, said: str) -> None:
    for reading in (read_run, lambda each: ingest(each, Request())):
        assert said in refused("", reading, put("f", f"{header}\n")).replace("'", "")


@pytest.mark.parametrize("header", ["sentence_id,clip,rel", "qid,docno,grade", "query_id,doc_id,relevance"])
def test_qrels_have_the_usual_names_too(header: str) -> None:
    found = read_qrels(put("f", f"{header}\ns1,d1,2\n"))
    assert rows_of(found, "query_id", "doc_id", "relevance") == [["s1", "d1", 2]]
    two = put("f", "qid,clip,video,rel\ns1,c1,v1,1\n")
    refused("columns clip and video may each be the doc_id; found qid, clip", read_qrels, two)


@pytest.mark.parametrize("text", ["v1,a dog runs\nv2,a man\n", "s1\tv1\ta dog runs\ns2\tv2\ta man\n"])
def test_captions_without_a_header_are_refused(text: str) -> None:
    refused(
        "or a table whose first line names its columns, such as video_id,caption", collection, put("f", text)
    )


def test_lines_of_numbers_and_texts_are_the_corpus_where_the_qrels_use_them_as_docs() -> None:
    """MS MARCO's collection.tsv and queries.tsv: neither has a header, and numbers of both are alike."""
    docs, texts = (
        put("collection.tsv", "1\tone\n2\ttwo\n11\televen\n"),
        put("queries.tsv", "11\twhat\n12\twho\n"),
    )
    made = read_collection([docs, texts, put("qrels.tsv", "11\t0\t1\t1\n12\t0\t2\t1\n")]).collection
    assert made.queries.to_numpy().tolist() == [["11", "what"], ["12", "who"]]
    assert rows_of(made.items, "doc_id", "text") == [["1", "one"], ["2", "two"], ["11", "eleven"]]
    assert collection(texts).queries["query_id"].tolist() == ["11", "12"]


HITS = {f"s{n}": [{"clip": f"c{n}", "key": 7, "score": 0.5}] for n in (1, 2)}
LISTS = [{"sentence_id": f"s{n}", "name": "m", "docs": [f"c{n}"]} for n in (1, 2)]


@pytest.mark.parametrize(
    "content",
    [{"test": [{"clip": f"c{n}", "sentence_id": f"s{n}", "score": n} for n in (1, 2)]}, HITS, LISTS],
    ids=["records under a name", "hits of a search", "lists beside a model's name"],
)
def test_json_has_the_usual_names_too(content: Any) -> None:
    run = read_run(put("f.json", content))
    assert rows_of(run, "query_id", "doc_id") == [["s1", "c1"], ["s2", "c2"]]


def test_a_frame_whose_docs_have_usual_names_is_a_matrix() -> None:
    sims = pd.DataFrame([[0.5, 0.25]], columns=["key", "sentid"], index=["q"])
    run = fire.run(sims, "m", query_ids=["q"], doc_ids=["key", "sentid"])
    assert run["doc_id"].tolist() == ["key", "sentid"]


def test_fashioniq_s_own_predictions_are_candidates_numbered_as_in_the_benchmark() -> None:
    entries: list[Any] = [
        {"candidate": "B1", "captions": ["is red", "more"], "ranking": ["B2", "B3"]},
        {"candidate": "B2", "captions": ["is long", "more"], "ranking": ["B1", "B3"]},
        {"candidate": "B1", "captions": ["is blue", "more"], "ranking": ["B3", "B2"]},
    ]
    ranked = ingest(put("dress.predict.json", entries), Request()).run
    docs = {str(query): list(rows) for query, rows in ranked.groupby("query_id", observed=True)["doc_id"]}
    assert docs == {"B1#0": ["B2", "B3"], "B1#1": ["B3", "B2"], "B2#0": ["B1", "B3"]}
    odd = put("dress.predict.json", [*entries, {"captions": ["x"], "ranking": ["B1"]}])
    refused("record 4: no candidate; found captions, ranking", fire.run, odd)
    # Only add-run has the collection to compare their order with.
    plain = put("dress.predict.json", entries)
    refused("they must stand; `fire-toolkit add-run FILE`", fire.run, plain)


def test_fashioniq_s_predictions_in_another_order_than_the_benchmark_are_refused() -> None:
    entries = [{"candidate": "B1", "captions": ["a", str(n)], "target": f"B{n}"} for n in (2, 3)]
    request = Request(qrels=collection(put("cap.dress.val.json", entries)).qrels)
    ranked = [{**entry, "ranking": [entry["target"], "B9"]} for entry in entries]
    assert ingest(put("a.json", ranked), request).run["rank"].tolist() == [1, 2, 1, 2]
    said = "B1#0 by its number has target 'B3', the collection has 'B2'"
    refused(said, ingest, put("b.json", ranked[::-1]), request)


@pytest.mark.parametrize("names", [("score_i2t", "score_t2i"), ("sims", "sims_reranked"), ("sims", "t2v")])
def test_two_arrays_that_could_be_meant_are_refused_with_their_names(names: tuple[str, str]) -> None:
    ids = {"query_ids": ["q1", "q2"], "doc_ids": ["a", "b", "c"]}
    scores = np.arange(6, dtype=np.float32).reshape(2, 3)
    both = {names[0]: scores.T if "i2t" in names[0] else scores, names[1]: scores}
    told = refused("", fire.run, put("both.npz", both | ids))
    assert all(name in told for name in (*names, "--key"))
    vectors = {"text_embeds": np.zeros((2, 3), np.float32), "video_embeds": np.zeros((3, 3), np.float32)}
    one = put("one.npz", {"sims": scores, **vectors, **ids})
    assert list(fire.run(one)["doc_id"][:3]) == ["c", "b", "a"]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("says", ["shape", "file"])
def test_items_by_texts_are_read_as_texts_by_items_and_said(says: str, order: Any) -> None:
    scores = np.random.default_rng(0).random((3 if says == "file" else 6, 3))  # texts × items
    ids = {"query_ids": [f"t{n}" for n in range(len(scores))], "doc_ids": ["a", "b", "c"]}
    told = {"orientation": "queries-columns"} if says == "file" else {}
    turned = put("turned.npz", {"sims": np.array(scores.T, order=order), **ids, **told})
    straight = put("straight.npz", {"sims": scores, **ids})
    with pytest.warns(FileNote, match=f"columns are queries, as the {says} "):
        found = fire.run(turned)
    with pytest.warns(FileNote, match="square, and its rows are") if says == "file" else nullcontext():
        right = fire.run(straight)
    assert found.drop(columns="run_id").equals(right.drop(columns="run_id"))
    qrels = put("qrels.txt", "".join(f"{text} 0 b 1\n" for text in ids["query_ids"]))
    tables = [
        run("score", "--direction", "both", f"m={path}", "--qrels", qrels).stdout
        for path in (turned, straight)
    ]
    assert tables[0] == tables[1]
    assert f"t2i_R@1 {100 * (np.argmax(scores, axis=1) == 1).mean():.1f}" in " ".join(tables[0].split())


HELD = {"q1": {"a": 0.5, "b": 0.75}, "q2": {"a": 2, "c": 1}}
PAIRS = {query: list(docs.items()) for query, docs in HELD.items()}


@pytest.mark.parametrize(
    "content",
    [
        PAIRS,
        {query: [{"doc_id": doc, "score": score} for doc, score in docs] for query, docs in PAIRS.items()},
        *(pickle.dumps(HELD, protocol) for protocol in (0, 2, 4)),
        pickle.dumps({q: {d: np.float32(s) for d, s in docs.items()} for q, docs in HELD.items()}),
        npy(np.array(HELD, dtype=object)),
    ],
    ids=["pairs", "records", "pickle 0", "pickle 2", "pickle 4", "scalars", "npy"],
)
def test_lists_with_scores_are_one_run_however_they_are_saved(content: Any) -> None:
    path = put("m", content)
    found = read_run(path, run_id="m")
    expected = [["q1", "b", 0.75], ["q1", "a", 0.5], ["q2", "a", 2.0], ["q2", "c", 1.0]]
    assert rows_of(found, "query_id", "doc_id", "score") == expected
    pd.testing.assert_frame_equal(found, ingest(path, Request(run_id="m")).run)


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ({1: {"a": 1.0}, "1": {"a": 2.0}}, "query '1': the query appears twice"),
        ({"q": {"1": 1.0, 1: 2.0}}, "query_id, doc_id given twice"),
        ({"q": {"a": True}}, "score 'True', expected a number"),
        ({"q": ["a", "a"]}, "given twice"),
        ({"video": [["a", "dog"]]}, "no ranked lists; expected {query: {doc: score}}"),
        ({"m": [{"query_id": "q", "docs": ["a", "b"], "ranks": [2, 1]}]}, "ranks that do not rise from doc"),
        ({"q": [{1: "a", (1, 2): "b"}]}, "found 1, (1, 2), expected doc_id and score, or query_id too"),
    ],
    ids=str,
)
def test_lists_in_a_pickle_and_in_memory_are_looked_at_as_those_in_json(held: Any, said: str) -> None:
    refused(said, ingest, put("m.pkl", held), Request(), by=FireError)
    refused(said, fire.run, held, "m", by=FireError)


@pytest.mark.parametrize("near", [[0.1, 0.4, 0.4], [0.9, 0.2, 0.2]], ids=["distance", "similarity"])
def test_hits_with_a_distance_alone_stand_in_their_own_order(near: list[float]) -> None:
    """Milvus calls inner products distances too; hits out of order could be either."""
    hits = [{"id": doc, "distance": far, "entity": {}} for doc, far in zip("bca", near, strict=True)]
    for content in ({"q": hits}, [{"query_id": "q", "hits": hits}]):
        found = ingest(put("m.json", content), Request())
        assert found.run["doc_id"].tolist() == ["b", "c", "a"]
        assert "note: the file holds an order and no scores" in "\n".join(
            found.lines(Path("m"), is_counted=True)
        )
    refused("expected", read_run, put("m.json", [{"query_id": "q", "hits": [hits[1], hits[0], hits[2]]}]))
    nameless = put("m.json", {"ids": [["b", "a"]], "distances": [[0.1, 0.2]]})  # as Chroma answers
    refused("no ranked lists ... (of a search's lists dict(zip(query_ids, ids)))", read_run, nameless)


@pytest.mark.parametrize("kind", ["npz", "objects", "dict", "tuple"])
def test_ids_by_another_name_are_not_passed_over(kind: str) -> None:
    """Rows and columns that are moved together keep their scores: only the ids tell."""
    sims, names = np.random.default_rng(0).random((70, 70)), [f"v{n}" for n in range(70)]
    ids: dict[str, Any] = {"query_ids": [f"q{n}" for n in range(70)], "doc_ids": names}
    moved = names[::-1]
    files = [f"/data/{name}.mp4" for name in moved]
    for lists, is_told in (
        (moved, True),
        (files, True),
        (files[::-1], False),
        (names, False),
        ([*"ab"] * 35, False),
    ):
        held = np.array(lists, dtype=object if kind == "objects" else None)
        contents = {"tuple": (sims, lists), "dict": {"sims": sims, "video_list": lists}}
        path = put("m.pkl" if kind in contents else "m.npz", contents.get(kind, {"sims": sims, "vids": held}))
        request = Request(**ids, orientation="queries-rows")
        if is_told:
            refused(
                "these doc ids in another order than they were given in", ingest, path, request, by=FireError
            )
        else:
            assert len(ingest(path, request).run) == 70 * 70


def test_objects_in_a_pickle_are_told_how_to_save_them() -> None:
    frame = pd.DataFrame([[1.0, 2.0]], index=["q"], columns=["a", "b"])
    frame.to_pickle("m.pkl")
    refused(
        "refers to 'pandas.DataFrame' ... numpy.savez('run.npz', sims=frame.to_numpy()",
        read_run,
        Path("m.pkl"),
    )
    np.savez("run.npz", sims=frame.to_numpy(), query_ids=frame.index, doc_ids=frame.columns)
    assert read_run(Path("run.npz"))["doc_id"].tolist() == ["b", "a"]


def test_runs_in_one_json_are_told_apart_where_each_record_names_its_query() -> None:
    both = put("m.json", {key: [{"query_id": "q", "doc_id": "a", "score": 1}] for key in ("clip", "blip")})
    refused("2 runs in one file; choose one with `add-run --key`: blip, clip", read_run, both, by=FireError)
    own = {"query_id": "q", "docs": ["a", "b", "c"]}
    for beside, order in (({}, "abc"), ({"scores": [1, 3, 2]}, "bca"), ({"distances": [1, 2, 3]}, "abc")):
        lists = put("one.jsonl", json.dumps(own | beside) + "\n")
        assert "".join(read_run(lists)["doc_id"]) == order
    said = "record 1: distances, expected one for each doc, in the order of the docs"
    refused(said, read_run, put("two.jsonl", json.dumps(own | {"distances": [1, 3, 2]}) + "\n"))
    for odd in ({"logits": [0.5, 0.25, 0.125]}, {"at": [7, 8, 9], "is_right": [0, 1, 0], "votes": [9, 7, 8]}):
        lists = put("odd.jsonl", json.dumps(own | odd) + "\n")
        refused(f"record 1: {[*odd][-1]}: a number for each doc; name them scores", read_run, lists)
    hits = put("hits.json", {name: [{"doc_id": "a", "prob": 0.5}] for name in "qr"})
    refused("(under 'q': found doc_id, prob, expected doc_id and score", read_run, hits)


def test_vectors_in_the_place_of_a_run_are_told_how_to_become_one() -> None:
    vectors = {
        "text_embeds": np.eye(3),
        "video_embeds": np.eye(3),
        "query_ids": list("abc"),
        "doc_ids": list("xyz"),
    }
    refused("vectors; rank them with `add-run --similarity`", read_run, put("v.npz", vectors), by=FireError)


def test_what_a_run_costs_is_not_said_where_no_judgment_has_a_duration() -> None:
    put("qrels.txt", "q1 0 a 1\n")
    put("augmented.txt", "q1 0 a 1\nq1 0 b 0\n")
    put("r.run", "q1 Q0 c 1 2 r\nq1 Q0 a 2 1 r\n")
    put("j.csv", "query_id,doc_id,annotator_id,label\nq1,a,A,relevant\nq1,b,A,irrelevant\n")
    given = ("--qrels", "qrels.txt", "--augmented", "augmented.txt", "--judgments", "j.csv", "-m", "C@1")
    said = run("coverage", "r.run", *given).stderr
    assert "cost: no durations of judgments and 1.00 judgments a pair" in said


@pytest.mark.parametrize("score", ["x", "nan(1)", "-nan", "", "0x1"])
def test_a_score_that_is_no_number_is_named_by_its_row(score: str) -> None:
    path = put("m.csv", f"query_id,doc_id,score\nq,a,1.5\nq,b,{score}\n")
    assert refused("row 2: ", read_run, path) == f"m.csv: score: row 2: {score!r} is not a number"
    for real in ("1e-3", "+0.1", " .5", "-inf", "NaN"):
        put("m.csv", f"query_id,doc_id,score\nq,a,1.5\nq,b,{real}\n")
        scores = ingest(path, Request(allow=frozenset(["nan", "inf"]))).run["score"].tolist()
        assert scores == [1.5, *([float(real)] if np.isfinite(float(real)) else [])]


@pytest.mark.parametrize("name", ["d.csv", "d.parquet", "d.json", "d.run", "lists.json"])
def test_distances_beside_their_ranks_are_refused(name: str) -> None:
    docs = [(f"q{query}", f"d{doc}", doc, doc / 10) for query in range(3) for doc in range(1, 5)]
    table = pd.DataFrame(docs, columns=["query_id", "doc_id", "rank", "score"])

    def save(table: pd.DataFrame) -> Path:
        if name.endswith(".csv"):
            return put(name, table.to_csv(index=False))
        if name.endswith(".run"):
            return put(name, "".join(f"{q} Q0 {d} {r} {s} t\n" for q, d, r, s in table.to_numpy()))
        if name.startswith("lists"):  # whose order is the ranks; objects have none
            lists = {q: own[["doc_id", "score"]].to_numpy().tolist() for q, own in table.groupby("query_id")}
            return put(name, lists if table["rank"].any() else {q: dict(own) for q, own in lists.items()})
        return put(name, table if name.endswith(".parquet") else table.to_dict("records"))

    refused("scores rise with their ranks in 3 of 3 lists", read_run, save(table), by=FireError)
    if name in ("d.csv", "lists.json"):  # without ranks it is said
        with pytest.warns(FileNote, match="scores rise from row to row in every list"):
            read_run(save(table.drop(columns="rank") if name == "d.csv" else table.assign(rank=0)))
    for right in (table.assign(score=-table["score"]), table.assign(rank=0), table.assign(score=1.0)):
        assert len(read_run(save(right))) == len(docs)
    mixed = table.assign(score=table["score"].where(table["query_id"] == "q0", -table["score"]))
    assert len(read_run(save(mixed))) == len(docs)
