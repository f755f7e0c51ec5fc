"""Small benchmarks as people have them: files in shapes and orders of their own, and what is true in them.

Every family has items and queries on one of a few topics; an item is relevant if its topic is the query's.
A matrix is noise, plus a bonus for relevant items and another for the original one. Its rows and columns
stand in the order of the benchmark's file, which is not the order of the ids.
"""

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
    matrices: dict[str, Matrix]
    irrelevant: dict[str, set[str]] = field(default_factory=dict)


def _matrices(
    rng: np.random.Generator, queries: Sequence[int], docs: Sequence[int], originals: npt.NDArray[np.bool_]
) -> dict[str, Matrix]:
    base = 1.0 * np.equal.outer(queries, docs) + 0.9 * originals
    return {name: (base + rng.normal(0, noise, base.shape)).astype("f4") for name, noise in NOISE.items()}


def _caption(number: int, topic: int) -> str:
    return f'take {number}: "topic {topic}", as filmed'


def _by_caption(topics: dict[str, int]) -> Callable[[str, str], bool]:
    """Return whether the topic that a caption names is the item's."""
    return lambda caption, media: f'"topic {topics[media]}"' in caption


def stratified_qrels(folder: Path) -> Family:
    """TREC: topics, five-column qrels with strata, and lists of ids beside the matrix."""
    rng, n, n_docs = np.random.default_rng(4), 50, 130
    docs = [f"shot{1 + number % 40}_{number}" for number in rng.permutation(np.arange(100, 100 + n_docs))]
    topics = rng.integers(N_TOPICS, size=n_docs).tolist()
    of_query = rng.integers(N_TOPICS, size=n).tolist()
    queries = [str(1700 + number) for number in rng.permutation(n)]
    texts = [_caption(number, topic) for number, topic in enumerate(of_query)]
    lines, originals, irrelevant = [], {}, {}
    is_original = np.zeros((n, n_docs), dtype=bool)
    for row, query in enumerate(queries):
        chosen = rng.permutation(n_docs)[:30]
        found = [int(doc) for doc in chosen if topics[doc] == of_query[row]][:2] or [int(chosen[0])]
        originals[query] = {docs[doc] for doc in found}
        irrelevant[query] = {docs[doc] for place, doc in enumerate(chosen) if place % 3 and doc not in found}
        is_original[row, found] = True
        for place, doc in enumerate(chosen.tolist()):
            grade = 1 if doc in found else 0 if place % 3 else -1
            lines.append(f"{query} 0 {docs[doc]} {1 + place // 10} {grade}")
    (folder / "topics.tsv").write_text(
        "qid\tquery\n" + "".join(f"{query}\t{text}\n" for query, text in zip(queries, texts, strict=True))
    )
    (folder / "avs.qrels").write_text("\n".join(lines) + "\n")
    (folder / "topics.txt").write_text("\n".join(queries) + "\n")
    (folder / "shots.txt").write_text("\n".join(docs) + "\n")
    text_of = dict(zip(queries, texts, strict=True))
    return Family(
        collection=[str(folder / name) for name in ("topics.tsv", "avs.qrels", "shots.txt")],
        id_options=["--query-ids", str(folder / "topics.txt"), "--doc-ids", str(folder / "shots.txt")],
        query_ids=queries,
        doc_ids=docs,
        originals=originals,
        content=lambda query, doc: (text_of[query], doc),
        truth=_by_caption(dict(zip(docs, topics, strict=True))),
        matrices=_matrices(rng, of_query, topics, is_original),
        irrelevant=irrelevant,
    )


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
    return Family(
        collection=[],
        id_options=["--query-ids", "collection/queries.tsv", "--doc-ids", "collection/items.tsv"],
        query_ids=videos,
        doc_ids=captions,
        originals={video: set(captions[3 * place : 3 * place + 3]) for place, video in enumerate(videos)},
        content=lambda query, doc: (text_of[doc], url_of[query]),
        truth=_by_caption({url_of[video]: topic for video, topic in zip(videos, of_video, strict=True)}),
        matrices=_matrices(rng, of_video, of_caption, np.repeat(np.eye(n, dtype=bool), 3, axis=1)),
    )


FAMILIES = (stratified_qrels, captions_as_items)
