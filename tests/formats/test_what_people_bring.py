"""Files of predictions as their tools write them, which one could easily read wrongly."""

import io
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from command import run

import fire_toolkit as fire
from fire_toolkit.errors import FileNote, FireError, FormatError
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.read import read_run


def npy_of(values):
    stream = io.BytesIO()
    np.save(stream, values, allow_pickle=True)
    return stream.getvalue()


def test_fashioniq_s_own_predictions_are_candidates_numbered_as_in_the_benchmark(tmp_path):
    ranked = {
        ("B1", "is red"): ["B2", "B3"],
        ("B2", "is long"): ["B1", "B3"],
        ("B1", "is blue"): ["B3", "B2"],
    }
    entries = [
        {"candidate": candidate, "captions": [caption, "more"], "ranking": docs}
        for (candidate, caption), docs in ranked.items()
    ]
    path = tmp_path / "dress.predict.json"
    path.write_text(json.dumps(entries))
    run = fire.run(path)
    assert list(zip(run["query_id"], run["doc_id"], strict=True)) == [
        *(("B1#0", "B2"), ("B1#0", "B3"), ("B1#1", "B3"), ("B1#1", "B2"), ("B2#0", "B1"), ("B2#0", "B3"))
    ]
    path.write_text(json.dumps([*entries, {"captions": ["x"], "ranking": ["B1"]}]))
    with pytest.raises(FormatError, match="record 4: no candidate; found captions, ranking"):
        fire.run(path)


@pytest.mark.parametrize("names", [("score_i2t", "score_t2i"), ("sims", "sims_reranked"), ("sims", "t2v")])
def test_two_arrays_that_could_be_meant_are_refused_with_their_names(tmp_path, names):
    ids = {"query_ids": ["q1", "q2"], "doc_ids": ["a", "b", "c"]}
    scores = np.arange(6, dtype=np.float32).reshape(2, 3)
    both = {names[0]: scores.T if "i2t" in names[0] else scores, names[1]: scores}
    np.savez(tmp_path / "both.npz", **both, **ids)
    with pytest.raises(FormatError) as refused:
        fire.run(tmp_path / "both.npz")
    assert all(name in str(refused.value) for name in (*names, "--key"))
    vectors = {"text_embeds": np.zeros((2, 3), np.float32), "video_embeds": np.zeros((3, 3), np.float32)}
    np.savez(tmp_path / "one.npz", sims=scores, **vectors, **ids)
    assert list(fire.run(tmp_path / "one.npz")["doc_id"][:3]) == ["c", "b", "a"]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("says", ["shape", "file"])
def test_items_by_texts_are_read_as_texts_by_items_and_said(tmp_path, says, order):
    scores = np.random.default_rng(0).random((3 if says == "file" else 6, 3))  # texts × items
    ids = {"query_ids": [f"t{n}" for n in range(len(scores))], "doc_ids": ["a", "b", "c"]}
    told = {"orientation": "queries-columns"} if says == "file" else {}
    np.savez(tmp_path / "m.npz", sims=np.array(scores.T, order=order), **ids, **told)
    np.savez(tmp_path / "turned.npz", sims=scores, **ids)
    with pytest.warns(FileNote, match=f"columns are queries, as the {says} "):
        found = fire.run(tmp_path / "m.npz")
    assert found.drop(columns="run_id").equals(fire.run(tmp_path / "turned.npz").drop(columns="run_id"))
    (tmp_path / "qrels.txt").write_text("".join(f"{text} 0 b 1\n" for text in ids["query_ids"]))
    tables = [
        run("score", "--direction", "both", tmp_path / name, "--qrels", tmp_path / "qrels.txt").stdout
        for name in ("m.npz", "turned.npz")
    ]
    assert [line.split()[1:] for line in tables[0].splitlines()[2:]] == [
        line.split()[1:] for line in tables[1].splitlines()[2:]
    ]
    first = (np.argmax(scores, axis=1) == 1).mean()
    assert f"t2i_R@1 {100 * first:.1f}" in " ".join(tables[0].split())


HELD = {"q1": {"a": 0.5, "b": 0.75}, "q2": {"a": 2, "c": 1}}
PAIRS = {query: list(docs.items()) for query, docs in HELD.items()}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(PAIRS).encode(),
        json.dumps({q: [{"doc_id": d, "score": s} for d, s in docs] for q, docs in PAIRS.items()}).encode(),
        *(pickle.dumps(HELD, protocol) for protocol in (0, 2, 4)),
        pickle.dumps({q: {d: np.float32(s) for d, s in docs.items()} for q, docs in HELD.items()}),
        npy_of(np.array(HELD, dtype=object)),
    ],
    ids=["pairs", "records", "pickle 0", "pickle 2", "pickle 4", "scalars", "npy"],
)
def test_lists_with_scores_are_one_run_however_they_are_saved(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    found = read_run(tmp_path / "m", run_id="m")
    assert found[["query_id", "doc_id", "score"]].values.tolist() == [
        ["q1", "b", 0.75],
        ["q1", "a", 0.5],
        ["q2", "a", 2.0],
        ["q2", "c", 1.0],
    ]
    pd.testing.assert_frame_equal(found, ingest(tmp_path / "m", Request(run_id="m")).run)


def test_lists_in_a_pickle_are_looked_at_as_those_in_json(tmp_path):
    def told(held):
        (tmp_path / "m.pkl").write_bytes(pickle.dumps(held))
        with pytest.raises(FireError) as refused:
            ingest(tmp_path / "m.pkl", Request())
        return str(refused.value)

    assert "an id twice, as text and as a number" in told({1: {"a": 1.0}, "1": {"a": 2.0}})
    assert "an id twice, as text and as a number" in told({"q": {"1": 1.0, 1: 2.0}})
    assert "score 'True', expected a number" in told({"q": {"a": True}})
    assert "given twice" in told({"q": ["a", "a"]})
    assert "no array of numbers" in told({"video": [["a", "dog"]]})


def test_runs_in_one_json_are_told_apart_where_each_record_names_its_query(tmp_path):
    rows = [{"query_id": "q", "doc_id": "a", "score": 1.0}]
    (tmp_path / "m.json").write_text(json.dumps({"clip": rows, "blip": rows}))
    with pytest.raises(FireError, match="2 runs in one file; choose one with --key: 'clip', 'blip'"):
        read_run(tmp_path / "m.json")
    (tmp_path / "one.jsonl").write_text('{"query_id": "q", "docs": ["a", "b"]}\n')
    assert read_run(tmp_path / "one.jsonl")["doc_id"].tolist() == ["a", "b"]
