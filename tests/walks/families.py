"""Small benchmarks as people have them: files in shapes and orders of their own, and what is true in them.

Every family has items and queries on one of a few topics; an item is relevant if its topic is the query's.
A matrix is noise, plus a bonus for relevant items and another for the original one. Its rows and columns
stand in the order of the benchmark's file, which is not the order of the ids.
"""

import csv
import gzip
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]
N_TOPICS = 12
NOISE = {"clip4clip": 0.8, "frozen": 1.1, "late": 0.6}


@dataclass
class Family:
    """A benchmark on disk: its files, how its ids are given, and the truth."""

    collection: list[str]
    id_options: list[str]
    query_ids: list[str]
    doc_ids: list[str]
    originals: dict[str, set[str]]
    content: Callable[[str, str], tuple[str, str]]
    truth: Callable[[str, str], bool]
    matrices: dict[str, Matrix] = field(default_factory=dict)
    irrelevant: dict[str, set[str]] = field(default_factory=dict)
    strata: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)
    guideline: str = "caption-relevance-v1"
    repeated: frozenset[str] = frozenset()


def _matrices(
    rng: np.random.Generator,
    queries: Sequence[int],
    docs: Sequence[int],
    originals: npt.NDArray[np.bool_],
    more: Matrix | float = 0.0,
) -> dict[str, Matrix]:
    relevant = np.asarray(queries)[:, None] == np.asarray(docs)[None, :]
    base = 1.0 * relevant + 0.9 * originals + more
    return {
        name: (base + rng.normal(0, noise, relevant.shape)).astype(np.float32)
        for name, noise in NOISE.items()
    }


def _save(folder: Path, family: Family) -> Family:
    for name, matrix in family.matrices.items():
        np.save(folder / f"{name}.npy", matrix)
    return family


def _caption(number: int, topic: int) -> str:
    return f'take {number}: "topic {topic}", as filmed'


def _by_caption(topics: dict[str, int]) -> Callable[[str, str], bool]:
    """Return whether the topic that a caption names is the item's."""
    return lambda caption, media: f'"topic {topics[media]}"' in caption


def captions_csv(folder: Path) -> Family:
    """MSR-VTT's test list: a CSV of captions, quoted where they hold commas, two with the same text."""
    rng, n = np.random.default_rng(1), 120
    videos = [f"video{number}" for number in rng.permutation(np.arange(7010, 7010 + n))]
    topics = rng.integers(N_TOPICS, size=n).tolist()
    topics[7] = topics[3]
    texts = [_caption(number, topic) for number, topic in enumerate(topics)]
    texts[7] = texts[3]
    queries = [f"ret{number}" for number in range(n)]
    with (folder / "MSRVTT_JSFUSION_test.csv").open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["key", "vid_key", "video_id", "sentence"])
        rows.writerows(
            [key, f"msr{video[5:]}", video, text]
            for key, video, text in zip(queries, videos, texts, strict=True)
        )
    file = str(folder / "MSRVTT_JSFUSION_test.csv")
    text_of = dict(zip(queries, texts, strict=True))
    family = Family(
        collection=[file],
        id_options=["--query-ids", file, "--doc-ids", file],
        query_ids=queries,
        doc_ids=videos,
        originals={query: {video} for query, video in zip(queries, videos, strict=True)},
        content=lambda query, doc: (text_of[query], doc),
        truth=_by_caption(dict(zip(videos, topics, strict=True))),
        matrices=_matrices(rng, topics, topics, np.eye(n, dtype=bool)),
        repeated=frozenset([texts[3]]),
    )
    return _save(folder, family)


def paragraphs_json(folder: Path) -> Family:
    """DiDeMo: a video's paragraph has the video's id, so queries and items would sort alike."""
    rng, n = np.random.default_rng(2), 110
    videos = [f"{number}@N0{number % 7}_clip.avi" for number in rng.permutation(np.arange(300, 300 + n))]
    topics = rng.integers(N_TOPICS, size=n).tolist()
    entries = [
        {"video": video, "description": f"{_caption(number, topic)} part {part}", "times": [[0, 1]]}
        for number, (video, topic) in enumerate(zip(videos, topics, strict=True))
        for part in range(2)
    ]
    (folder / "test_data.json").write_text(json.dumps(entries))
    text_of = {
        video: f"{_caption(number, topic)} part 0 {_caption(number, topic)} part 1"
        for number, (video, topic) in enumerate(zip(videos, topics, strict=True))
    }
    family = Family(
        collection=[str(folder / "test_data.json")],
        id_options=[
            *("--query-ids", "collection/queries.tsv", "--doc-ids", "collection/items.tsv"),
            *("--orientation", "queries-rows"),
        ],
        query_ids=videos,
        doc_ids=videos,
        originals={video: {video} for video in videos},
        content=lambda query, doc: (text_of[query], doc),
        truth=_by_caption(dict(zip(videos, topics, strict=True))),
        matrices=_matrices(rng, topics, topics, np.eye(n, dtype=bool)),
    )
    return _save(folder, family)


def composed_queries(folder: Path) -> Family:
    """CIRR: an image and a text that changes it; the image itself scores best and is no answer."""
    rng, n, n_docs = np.random.default_rng(3), 60, 110
    images = [f"dev-{number}-{number % 4}-img{number % 2}" for number in rng.permutation(np.arange(n_docs))]
    topics = rng.integers(N_TOPICS, size=n_docs)
    references = rng.permutation(n_docs)[:n]
    targets = np.array([rng.choice(np.flatnonzero(np.arange(n_docs) != image)) for image in references])
    queries = [str(12_000 - 7 * number) for number in range(n)]
    texts = [_caption(number, int(topics[target])) for number, target in enumerate(targets)]
    entries = [
        {
            "pairid": int(query),
            "reference": images[reference],
            "target_hard": images[target],
            "target_soft": {images[target]: 1.0},
            "caption": text,
            "img_set": {
                "id": number,
                "members": [images[reference], images[target], images[(target + 1) % n_docs]],
                "reference_rank": 0,
                "target_rank": 1,
            },
        }
        for number, (query, reference, target, text) in enumerate(
            zip(queries, references, targets, texts, strict=True)
        )
    ]
    (folder / "cap.rc2.val.json").write_text(json.dumps(entries))
    (folder / "split.rc2.val.json").write_text(json.dumps({name: f"./dev/{name}.png" for name in images}))
    originals = np.zeros((n, n_docs), dtype=bool)
    originals[np.arange(n), targets] = True
    shown = np.zeros((n, n_docs), dtype=np.float32)
    shown[np.arange(n), references] = 4
    text_of = dict(zip(queries, texts, strict=True))
    media_of = {name: f"./dev/{name}.png" for name in images}
    family = Family(
        collection=[str(folder / "cap.rc2.val.json"), str(folder / "split.rc2.val.json")],
        id_options=["--query-ids", str(folder / "cap.rc2.val.json"), "--doc-ids", "collection/items.tsv"],
        query_ids=queries,
        doc_ids=images,
        originals={query: {images[target]} for query, target in zip(queries, targets, strict=True)},
        content=lambda query, doc: (text_of[query], media_of[doc]),
        truth=_by_caption({media_of[name]: int(topic) for name, topic in zip(images, topics, strict=True)}),
        matrices=_matrices(rng, topics[targets].tolist(), topics.tolist(), originals, shown),
        own={query: images[reference] for query, reference in zip(queries, references, strict=True)},
        guideline="caption-image-relevance-v1",
    )
    return _save(folder, family)


def stratified_qrels(folder: Path) -> Family:
    """TREC: topics, five-column qrels with strata, and lists of ids beside the matrix."""
    rng, n, n_docs = np.random.default_rng(4), 50, 130
    docs = [f"shot{1 + number % 40}_{number}" for number in rng.permutation(np.arange(100, 100 + n_docs))]
    topics = rng.integers(N_TOPICS, size=n_docs).tolist()
    of_query = rng.integers(N_TOPICS, size=n).tolist()
    queries = [str(1700 + number) for number in rng.permutation(n)]
    texts = [_caption(number, topic) for number, topic in enumerate(of_query)]
    lines, originals, irrelevant, strata = [], {}, {}, {}
    is_original = np.zeros((n, n_docs), dtype=bool)
    for row, query in enumerate(queries):
        chosen = rng.permutation(n_docs)[:30]
        found = [int(doc) for doc in chosen if topics[doc] == of_query[row]][:2] or [int(chosen[0])]
        originals[query] = {docs[doc] for doc in found}
        irrelevant[query] = {docs[doc] for place, doc in enumerate(chosen) if place % 3 and doc not in found}
        is_original[row, found] = True
        strata[query] = {
            docs[doc]: (1 + place // 10, 1 if doc in found else 0 if place % 3 else -1)
            for place, doc in enumerate(chosen.tolist())
        }
        lines += [f"{query} 0 {doc} {stratum} {grade}" for doc, (stratum, grade) in strata[query].items()]
    (folder / "topics.tsv").write_text(
        "qid\tquery\n" + "".join(f"{query}\t{text}\n" for query, text in zip(queries, texts, strict=True))
    )
    (folder / "avs.qrels").write_text("\n".join(lines) + "\n")
    (folder / "topics.txt").write_text("\n".join(queries) + "\n")
    (folder / "shots.txt").write_text("\n".join(docs) + "\n")
    text_of = dict(zip(queries, texts, strict=True))
    family = Family(
        collection=[str(folder / name) for name in ("topics.tsv", "avs.qrels", "shots.txt")],
        id_options=["--query-ids", str(folder / "topics.txt"), "--doc-ids", str(folder / "shots.txt")],
        query_ids=queries,
        doc_ids=docs,
        originals=originals,
        content=lambda query, doc: (text_of[query], doc),
        truth=_by_caption(dict(zip(docs, topics, strict=True))),
        matrices=_matrices(rng, of_query, topics, is_original),
        irrelevant=irrelevant,
        strata=strata,
    )
    return _save(folder, family)


def captions_as_items(folder: Path) -> Family:
    """Video to text: tables written by hand, queries are videos and items are captions, three a video."""
    rng, n = np.random.default_rng(5), 40
    videos = [f"clip{number}" for number in rng.permutation(np.arange(100, 100 + n))]
    of_video = rng.integers(N_TOPICS, size=n).tolist()
    captions = [f"sen{number}" for number in rng.permutation(3 * n)]
    of_caption = [of_video[number // 3] for number in range(3 * n)]
    texts = [_caption(number, topic) for number, topic in enumerate(of_caption)]
    url_of = {video: f"https://media.test/{video}.mp4" for video in videos}
    (folder / "queries.tsv").write_text(
        "query_id\ttext\tmedia_url\n" + "".join(f"{video}\t\t{url_of[video]}\n" for video in videos)
    )
    (folder / "items.tsv").write_text(
        "doc_id\tmedia_url\ttext\n"
        + "".join(f"{caption}\t\t{text}\n" for caption, text in zip(captions, texts, strict=True))
    )
    (folder / "qrels.txt").write_text(
        "".join(f"{videos[number // 3]} 0 {caption} 1\n" for number, caption in enumerate(captions))
    )
    text_of = dict(zip(captions, texts, strict=True))
    family = Family(
        collection=[],
        id_options=["--query-ids", "collection/queries.tsv", "--doc-ids", "collection/items.tsv"],
        query_ids=videos,
        doc_ids=captions,
        originals={video: set(captions[3 * place : 3 * place + 3]) for place, video in enumerate(videos)},
        content=lambda query, doc: (text_of[doc], url_of[query]),
        truth=_by_caption({url_of[video]: topic for video, topic in zip(videos, of_video, strict=True)}),
        matrices=_matrices(rng, of_video, of_caption, np.repeat(np.eye(n, dtype=bool), 3, axis=1)),
    )
    return _save(folder, family)


def _read_qrels(path: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for line in path.read_text().splitlines():
        query, _, doc, grade = line.split()
        if int(grade) > 0:
            found.setdefault(query, set()).add(doc)
    return found


def _dense(path: Path, queries: Sequence[str], docs: Sequence[str], rng: np.random.Generator) -> Matrix:
    """Return a run as a full matrix: its scores, and below them what a model gives to all others."""
    rows = {query: row for row, query in enumerate(queries)}
    columns = {doc: column for column, doc in enumerate(docs)}
    scores = rng.uniform(-2, -1, (len(queries), len(docs))).astype(np.float32)
    with gzip.open(path, "rt") as stream:
        for line in stream:
            query, _, doc, _, score, _ = line.split()
            scores[rows[query], columns[doc]] = float(score)
    return scores


def coco_captions(folder: Path, source: Path) -> Family:
    """COCO captions over 5,000 test images with real runs; ECCV Caption's positives are the truth."""
    rng = np.random.default_rng(6)
    with (source / "queries.tsv").open(newline="") as stream:
        text_of = {row["query_id"]: row["text"] for row in csv.DictReader(stream, delimiter="\t")}
    queries, docs = list(text_of), (source / "images.txt").read_text().split()
    names = {"clip4clip": "bm25", "frozen": "tfidf_word", "late": "lsa300"}
    matrices = {
        name: _dense(source / "runs" / f"{run}.run.gz", queries, docs, rng) for name, run in names.items()
    }
    truth = _read_qrels(source / "qrels.eccv.txt")
    relevant = {(text_of[query], doc) for query, found in truth.items() for doc in found}
    counts = Counter(text_of.values())
    family = Family(
        collection=[str(source / name) for name in ("queries.tsv", "qrels.orig.txt", "images.txt")],
        id_options=["--query-ids", str(source / "queries.tsv"), "--doc-ids", str(source / "images.txt")],
        query_ids=queries,
        doc_ids=docs,
        originals=_read_qrels(source / "qrels.orig.txt"),
        content=lambda query, doc: (text_of[query], doc),
        truth=lambda caption, media: (caption, media) in relevant,
        matrices=matrices,
        guideline="caption-image-relevance-v1",
        repeated=frozenset(text for text, n in counts.items() if n > 1),
    )
    return _save(folder, family)


FAMILIES = (stratified_qrels, captions_as_items, captions_csv, paragraphs_json, composed_queries)
