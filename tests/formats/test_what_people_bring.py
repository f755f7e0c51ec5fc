"""Files of predictions as their tools write them, which one could easily read wrongly."""

import json

import numpy as np
import pytest
from command import run

import fire_toolkit as fire
from fire_toolkit.errors import FileNote, FormatError


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
