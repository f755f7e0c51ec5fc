"""Every snippet runs on the names it finds where it is pasted; what it saves has add-collection's ids.

The stand-ins hold what the loaders of the repositories make of a benchmark's own file, under their names,
in an order of their own.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import refused

from fire_toolkit.errors import UsageError
from fire_toolkit.formats.collections.registry import read_collection
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.snippets import SNIPPETS, find_snippet

GOLDEN = Path(__file__).parents[1] / "golden" / "collections"
Names = dict[str, Any]


class Tensor:
    """What `.float()`, `.cpu()` and `.numpy()` are called on, and what is cut as an array is."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __getitem__(self, key: Any) -> Tensor:
        return Tensor(self.values[key])

    def float(self) -> Tensor:
        return Tensor(self.values.astype(np.float32))

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self.values


def source(benchmark: str) -> list[Path]:
    return sorted((GOLDEN / benchmark / "input").iterdir())


def sims_of(videos: list[str], captions: list[str]) -> Any:
    """Similarities of captions (each by its video) and videos: the caption's own video is best."""
    own = np.array([[float(video == of) for video in videos] for of in captions], dtype=np.float32)
    return own + np.linspace(0, 0.5, own.size, dtype=np.float32).reshape(own.shape)


def clip4clip(rows: SimpleNamespace, captions: list[str], *, multi: bool, batches: int = 0) -> Names:
    sims = sims_of(list(dict.fromkeys(captions)), captions)
    matrix = [sims[:batches], sims[batches:]] if batches else sims
    loader = SimpleNamespace(dataset=rows)
    return {"np": np, "test_dataloader": loader, "multi_sentence_": multi, "sim_matrix": matrix}


def msrvtt_table() -> pd.DataFrame:
    return pd.read_csv(source("msrvtt-jsfusion")[0], dtype=str).iloc[::-1].reset_index(drop=True)


def of_msrvtt() -> Names:
    table = msrvtt_table()
    return clip4clip(SimpleNamespace(data=table), table["video_id"].tolist(), multi=False, batches=1)


def msvd_captions() -> list[tuple[str, str]]:
    found = pickle.loads((GOLDEN / "msvd" / "input" / "captions.pkl").read_bytes())
    videos = (GOLDEN / "msvd" / "input" / "test_list.txt").read_text().split()
    return [(video, " ".join(words)) for video in videos for words in found[video]]


def of_msvd() -> Names:
    pairs = msvd_captions()
    rows = SimpleNamespace(sentences_dict=dict(enumerate(pairs)))
    return clip4clip(rows, [video for video, _ in pairs], multi=True)


def of_lsmdc() -> Names:
    lines = [line.split("\t") for line in source("lsmdc")[0].read_text().splitlines()]
    pairs = [(fields[0], fields[5]) for fields in lines]
    rows = SimpleNamespace(iter2video_pairs_dict=dict(enumerate(pairs)))
    return clip4clip(rows, [video for video, _ in pairs], multi=False)


def paragraphs(videos: list[str]) -> Names:
    """DiDeMo's and ActivityNet's loaders number the paragraphs of a video: there is one."""
    rows = SimpleNamespace(iter2video_pairs_dict={n: (video, 0) for n, video in enumerate(videos)})
    return clip4clip(rows, videos, multi=False)


def of_didemo() -> Names:
    entries = json.loads(source("didemo")[0].read_text())
    return paragraphs(list(dict.fromkeys(entry["video"] for entry in entries)))


def of_activitynet() -> Names:
    return paragraphs(list(json.loads(source("activitynet")[0].read_text()))[::-1])


def by_image(loader: str, matrix: str, **more: Any) -> Callable[[], Names]:
    """The dataset of LAVIS, BLIP and UMT: texts one after another, images with the numbers of theirs."""

    def names() -> Names:
        entries = json.loads(source("lavis")[0].read_text())
        images = [entry["image"] for entry in entries]
        text = [caption for entry in entries for caption in entry["caption"]]
        numbers = iter(range(len(text)))
        img2txt = {n: [next(numbers) for _ in entry["caption"]] for n, entry in enumerate(entries)}
        captions = [entry["image"] for entry in entries for _ in entry["caption"]]
        dataset = SimpleNamespace(image=images, text=text, img2txt=img2txt)
        return {loader: SimpleNamespace(dataset=dataset), matrix: sims_of(images, captions), **more}

    return names


def padded(pairs: list[tuple[str, str]]) -> tuple[list[str], Any, Any]:
    """Videos, similarities of videos × most captions × videos, and which of the captions are real."""
    videos = list(dict.fromkeys(video for video, _ in pairs))
    counts = [sum(video == of for of, _ in pairs) for video in videos]
    sims = np.full((len(videos), max(counts), len(videos)), np.nan, dtype=np.float32)
    for n, (video, count) in enumerate(zip(videos, counts, strict=True)):
        sims[n, :count] = sims_of(videos, [video] * count)
    return videos, sims, (np.arange(max(counts)) < np.array(counts)[:, None]).astype(int)


def x_pool(pairs: list[tuple[str, str]], **dataset: Any) -> Names:
    loader = SimpleNamespace(dataset=SimpleNamespace(**dataset))
    videos = [video for video, _ in pairs]
    return {
        "np": np,
        "self": SimpleNamespace(valid_data_loader=loader),
        "all_vid_ids": videos,
        "sims": Tensor(padded(pairs)[1]),
    }


def x_pool_msrvtt() -> Names:
    table = msrvtt_table()
    return x_pool(list(zip(table["video_id"], table["sentence"], strict=True)), test_df=table)


def teachtext() -> Names:
    videos, sims, masks = padded(msvd_captions())
    meta = {"query_masks": masks, "paths": [f"x/{video}.mp4" for video in videos]}
    return {"np": np, "Path": Path, "sims": sims.reshape(-1, len(videos)), "meta": meta}


def frozen() -> Names:
    videos = msrvtt_table()["video_id"].tolist()
    paths = [{"paths": [f"{video}.mp4" for video in videos[:2]]}, {"paths": [f"{videos[2]}.mp4"]}]
    return {"np": np, "sims": sims_of(videos, videos), "meta_arr": paths}


def coco() -> Names:
    found = json.loads(source("coco")[0].read_text())
    images = sorted(image["id"] for image in found["images"])
    of = {image: [each for each in found["annotations"] if each["image_id"] == image] for image in images}
    api = SimpleNamespace(
        getAnnIds=lambda image: [each["id"] for each in of[image]],
        loadAnns=lambda ids: [each for each in found["annotations"] if each["id"] in ids],
    )
    captions = [str(image) for image in images for _ in of[image]]
    sims = Tensor(sims_of(list(map(str, images)), captions))
    return {"rows": SimpleNamespace(ids=images, coco=api), "scores": sims}


def flickr() -> Names:
    captions: dict[str, list[str]] = {}
    for line in source("flickr-csv")[0].read_text().splitlines()[1:]:
        image, caption = line.split(".jpg,")
        captions.setdefault(f"{image}.jpg", []).append(caption)
    owners = [image for image, texts in captions.items() for _ in texts]
    return {
        "rows": SimpleNamespace(data=list(captions.items())),
        "scores": Tensor(sims_of(list(captions), owners)),
    }


CASES: dict[tuple[str, str], Callable[[], Names]] = {
    ("clip4clip", "msrvtt-jsfusion"): of_msrvtt,
    ("clip4clip", "msvd"): of_msvd,
    ("clip4clip", "lsmdc"): of_lsmdc,
    ("clip4clip", "didemo"): of_didemo,
    ("clip4clip", "activitynet"): of_activitynet,
    ("x-clip", "msvd"): of_msvd,
    ("languagebind", "msvd"): of_msvd,
    ("umt", "lavis"): by_image("data_loader", "t2i_x"),
    ("internvideo", "lavis"): by_image("data_loader", "t2i_sim", t2i_match=None),
    ("lavis", "lavis"): by_image("data_loader", "score_t2i"),
    ("blip", "lavis"): by_image("test_loader", "score_test_t2i"),
    ("x-pool", "msrvtt-jsfusion"): x_pool_msrvtt,
    ("x-pool", "msvd"): lambda: x_pool(msvd_captions()),
    ("teachtext", "msvd"): teachtext,
    ("frozen-in-time", "msrvtt-jsfusion"): frozen,
    ("openclip", "coco"): coco,
    ("openclip", "flickr-csv"): flickr,
}
# The names of `exec` alone: what a snippet uses is there, or it imports it.
BARE = {"umt", "internvideo", "lavis", "blip", "openclip"}


@pytest.mark.parametrize(("name", "benchmark"), CASES)
def test_what_is_saved_comes_in_with_the_ids_of_the_collection(name: str, benchmark: str, here: Path) -> None:
    lines = find_snippet(name).lines
    if benchmark == "msrvtt-jsfusion":
        lines = lines.replace('test_csv = ""', f"test_csv = {str(source(benchmark)[0])!r}")
    names = CASES[name, benchmark]()
    assert ("np" in names) != (name in BARE)
    exec(compile(lines, name, "exec"), names)
    collection, _ = read_collection(source(benchmark))
    run = ingest(here / "run.npz", Request()).run
    assert set(run["query_id"]) == set(collection.queries["query_id"])
    assert set(run["doc_id"]) == set(collection.items["doc_id"])
    first = run[run["rank"] == 1]
    positives = collection.qrels[collection.qrels["relevance"] > 0]
    found = sorted(zip(first["query_id"], first["doc_id"], strict=True))
    assert found == sorted(zip(positives["query_id"], positives["doc_id"], strict=True))


def test_qb_norm_keeps_the_ids_of_the_run_it_normalizes(here: Path) -> None:
    exec(find_snippet("teachtext").lines, teachtext())
    with np.load("run.npz") as saved:
        normalized = -np.nan_to_num(saved["sims"])
    exec(find_snippet("qb-norm").lines, {"np": np, "test_test_normalized": normalized})
    before, after = (ingest(here / name, Request()).run for name in ("run.npz", "qbnorm.npz"))
    assert set(after["query_id"]) == set(before["query_id"])
    last = before.groupby("query_id", observed=True)["doc_id"].last()
    first = after.groupby("query_id", observed=True)["doc_id"].first()
    assert first.astype(str).to_dict() == last.astype(str).to_dict()


def test_ids_at_hand_are_saved_as_they_are(here: Path) -> None:
    names = {"sims": np.array([[1.0, 2.0]]), "query_ids": ["007"], "doc_ids": ["NA", "ü"]}
    exec(find_snippet("any").lines, names)
    run = ingest(here / "run.npz", Request()).run
    assert list(zip(run["query_id"], run["doc_id"], strict=True)) == [("007", "ü"), ("007", "NA")]


def test_mteb_is_asked_for_its_own_file() -> None:
    asked: dict[str, Any] = {}
    mteb = SimpleNamespace(evaluate=lambda model, **given: asked.update(given))
    exec(find_snippet("mteb").lines, {"mteb": mteb, "model": 1, "tasks": [2]})
    assert asked == {"tasks": [2], "prediction_folder": "predictions"}


def test_every_snippet_is_run_by_a_test() -> None:
    assert {name for name, _ in CASES} | {"mteb", "any", "qb-norm"} == set(SNIPPETS)


@pytest.mark.parametrize("name", sorted(SNIPPETS))
def test_what_is_printed_is_python(name: str) -> None:
    compile(find_snippet(name).text, name, "exec")


def test_an_unknown_name_is_told_the_nearest() -> None:
    refused("did you mean 'clip4clip'", find_snippet, "CLIP4Clap", by=UsageError)
