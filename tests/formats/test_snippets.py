"""Every snippet runs on the names it finds where it is pasted, and what it saves comes in as a run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.errors import UsageError
from fire_toolkit.formats.ingest import Request, ingest
from fire_toolkit.formats.snippets import SNIPPETS, find_snippet

SIMS = np.array([[3, 1, 2], [1, 2, 3], [2, 3, 1]], dtype=np.float32)
MULTI = np.array([[3, 1], [2, 1], [1, 5]], dtype=np.float32)


class Tensor:
    """What `scores.float().numpy()` is called on."""

    def float(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return SIMS


def loader() -> SimpleNamespace:
    images = ["a.jpg", "b.jpg", "c.jpg"]
    dataset = SimpleNamespace(image=images, img2txt={0: [0], 1: [1], 2: [2]}, text=["x", "y", "z"])
    return SimpleNamespace(dataset=dataset)


def clip_names(*, multi: bool) -> dict[str, Any]:
    table = pd.DataFrame({"key": ["ret0", "ret1", "ret2"], "video_id": ["v7", "v8", "v9"]})
    captions = {0: ("v7", ["a"]), 1: ("v7", ["b"]), 2: ("v8", ["c"])}
    rows = SimpleNamespace(data=table, sentences_dict=captions)
    names = {"np": np, "test_dataloader": SimpleNamespace(dataset=rows)}
    return {**names, "multi_sentence_": multi, "sim_matrix": MULTI if multi else SIMS}


def teachtext_names() -> dict[str, Any]:
    sims = np.array([[3, 1], [2, 1], [1, 5], [9, 9]], dtype=np.float32)
    meta = {"query_masks": np.array([[1, 1], [1, 0]]), "paths": ["x/v7.mp4", "x/v8.mp4"]}
    return {"np": np, "Path": Path, "sims": sims, "meta": meta}


NAMES: dict[str, dict[str, Any]] = {
    "clip4clip": clip_names(multi=False),
    "x-clip": clip_names(multi=True),
    "languagebind": clip_names(multi=True),
    "umt": {"data_loader": loader(), "t2i_x": SIMS},
    "internvideo": {"data_loader": loader(), "t2i_match": None, "t2i_sim": SIMS},
    "teachtext": teachtext_names(),
    "frozen-in-time": {"np": np, "sims": SIMS, "meta_arr": [{"paths": ["v7", "v8"]}, {"paths": ["v9"]}]},
    "lavis": {"data_loader": loader(), "score_t2i": SIMS},
    "openclip": {"images_emb": SIMS, "texts_image_index": [0, 1, 2], "scores": Tensor()},
    "any": {"sims": SIMS, "query_ids": ["q0", "q1", "q2"], "doc_ids": ["d0", "d1", "d2"]},
}
SQUARE_TOP = {"clip4clip": ["v7", "v9", "v8"], "any": ["d0", "d2", "d1"], "openclip": ["0", "2", "1"]}
SQUARE_TOP |= {"frozen-in-time": ["v7", "v9", "v8"]}
SQUARE_TOP |= {name: ["a.jpg", "c.jpg", "b.jpg"] for name in ("umt", "internvideo", "lavis")}
MULTI_QUERIES = {"v7#0": "v7", "v7#1": "v7", "v8#0": "v8"}


def saved(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Run a snippet's lines and return the first doc of each query of what it saved."""
    monkeypatch.chdir(folder)
    exec(compile(find_snippet(name).lines, name, "exec"), dict(NAMES[name]))
    run = ingest(folder / "run.npz", Request(depth=1)).run
    return dict(zip(run["query_id"], run["doc_id"], strict=True))


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"x-clip", "languagebind", "teachtext"}))
def test_a_square_matrix_comes_in_without_being_asked(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = saved(name, tmp_path, monkeypatch)
    assert SQUARE_TOP[name] == [first[query] for query in sorted(first)]


@pytest.mark.parametrize("name", ["x-clip", "languagebind", "teachtext"])
def test_several_captions_of_a_video(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert saved(name, tmp_path, monkeypatch) == MULTI_QUERIES


def test_mteb_is_asked_for_its_own_file() -> None:
    asked: dict[str, Any] = {}
    mteb = SimpleNamespace(evaluate=lambda model, **given: asked.update(given))
    exec(find_snippet("mteb").lines, {"mteb": mteb, "model": 1, "tasks": [2]})
    assert asked == {"tasks": [2], "prediction_folder": "predictions"}


def test_every_snippet_is_run_by_a_test() -> None:
    assert {*NAMES, "mteb"} == set(SNIPPETS)


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'clip4clip'"):
        find_snippet("CLIP4Clap")
