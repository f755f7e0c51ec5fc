"""Vectors in files are read as they are, or refused, and ranked as if every pair were scored alone."""

import json
import struct
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from brought import put, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from examples import cases, examples
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.arrays.matrix import Array, as_floats, chunks_of
from fire_toolkit.formats.runs import embeddings
from fire_toolkit.formats.runs.embeddings import pair_scores, products, vectors_of
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.named_arrays import Matrix, vector_names
from fire_toolkit.formats.runs.ranked import POSITIVE, Cells, Ranked, rank_rows
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.reader import read_vectors

pytestmark = pytest.mark.usefixtures("here")
VALUES = np.random.default_rng(4).normal(size=(30, 6)).astype(np.float32)


def safetensors(header: Any, content: bytes, length: int | None = None) -> Path:
    """Write a file as the format's description has it."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    raw += b" " * (-len(raw) % 8)
    size = struct.pack("<Q", len(raw) if length is None else length)
    return put("v.safetensors", size + raw + content)


def about(dtype: str, shape: list[int], first: int, last: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [first, last]}


def rows_of(path: Path) -> np.ndarray[Any, Any]:
    (matrix,) = read_vectors(path).matrices.values()
    return as_floats(matrix.values, "m")


@pytest.mark.parametrize(("dtype", "kind"), [("F32", "<f4"), ("F16", "<f2"), ("F64", "<f8"), ("BF16", "")])
def test_safetensors_are_read(dtype: str, kind: str) -> None:
    stored = VALUES.astype(kind) if kind else (VALUES.view("<u4") >> 16).astype("<u2")
    header = {"__metadata__": {"format": "pt"}, "v": about(dtype, [30, 6], 0, stored.nbytes)}
    expected = stored if kind else (stored.astype("<u4") << 16).view("<f4")
    np.testing.assert_array_equal(rows_of(safetensors(header, stored.tobytes())), expected)


@pytest.mark.parametrize("items", ["image_embeds", "audio_embeds"])
def test_one_safetensors_file_may_hold_both_sides(items: str) -> None:
    header = {"text_embeds": about("F32", [10, 6], 0, 240), items: about("F32", [20, 6], 240, 720)}
    assert vector_names(read_vectors(safetensors(header, VALUES.tobytes()))) == ("text_embeds", items)


@pytest.mark.parametrize(
    ("header", "content", "length", "said"),
    [
        ({"v": about("F32", [2, 2], 0, 16)}, b"x" * 9, None, "truncated: "),
        ({"v": about("F32", [2, 2], 0, 12)}, b"x" * 16, None, "12 bytes, expected 16 of F32"),
        ({"v": about("F32", [2, 2], 0, 16)}, b"", 1 << 39, "a header of 549,755,813,888 bytes in a file of"),
        ({"v": about("F8_E4M3", [2, 2], 0, 4)}, b"xxxx", None, "v (F8_E4M3 of shape [2, 2]); expected"),
        ({"v": {"dtype": "F32"}}, b"", None, "lacks dtype, shape or data_offsets"),
        ({"v": about("F32", [2, -2], 0, 16)}, b"x" * 16, None, "negative dimensions"),
        ({"v": about("F32", [2**59] * 100_000, 0, 16)}, b"x" * 16, None, "maximum supported dimension"),
        (b'{"v": ', b"", None, "the header is not JSON"),
        (b"{" + b'"a":{' * 90_000, b"", None, "the header is not JSON"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_damaged_safetensors_are_refused(header: Any, content: bytes, length: int | None, said: str) -> None:
    refused(said, rows_of, safetensors(header, content, length))


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 6)], ids=str
)
def test_parquet_lists_are_read(kind: pa.DataType) -> None:
    ids = [f"d{n}" for n in range(30)]
    table = pa.table({"doc_id": ids, "vector": pa.array(VALUES.tolist(), kind)})
    parquet.write_table(table, "v.parquet", row_group_size=11)
    np.testing.assert_array_equal(rows_of(Path("v.parquet")).astype("f4"), VALUES)
    assert read_vectors(Path("v.parquet")).doc_ids == ids


@cases("lists", "said")
def test_odd_parquet_lists_are_refused(lists: list[Any], said: str) -> None:
    parquet.write_table(pa.table({"vector": lists}), "v.parquet")
    refused(said, rows_of, Path("v.parquet"))
    parquet.write_table(pa.table({"vector": lists, "doc_id": ["a", "b"]}), "v.parquet")
    refused("columns of lists (vector); of ids and their scores say --scores", read_run, Path("v.parquet"))


def test_nan_and_files_without_vectors_are_refused() -> None:
    queries, docs = put("q.parquet", {"vector": [[1.0, float("nan")]]}), put("d.npy", np.ones((1, 2)))
    request = Request(query_ids=["q"], doc_ids=["d"], similarity="dot")
    refused("a vector contains NaN or infinity", ingest, queries, request, other=docs)
    refused("holds no vectors", read_vectors, put("r.trec", "q Q0 d 1 0.5 r\n"), by=UsageError)


def test_all_formats_give_the_same_run() -> None:
    request = Request(
        query_ids=[f"q{n}" for n in range(5)], doc_ids=[f"d{n}" for n in range(30)], similarity="cosine"
    )
    queries = put("q.npy", np.asfortranarray(VALUES[:5] + 0.1))
    docs = [
        put("d.npy", VALUES),
        put("d.parquet", {"vector": VALUES.tolist()}),
        safetensors({"d": about("F32", [30, 6], 0, VALUES.nbytes)}, VALUES.tobytes()),
        put("d.npz", {"d": np.asfortranarray(VALUES)}),
    ]
    runs = [ingest(queries, request, other=path).run for path in docs]
    assert all(runs[0].equals(run) for run in runs[1:])


def test_vectors_in_two_files_have_the_scores_of_numpy() -> None:
    random = np.random.default_rng(3)
    texts, videos = (random.standard_normal((n, 8)).astype(np.float32) for n in (6, 9))
    files = put("t.npy", texts), put("v.npy", videos)
    queries, docs = ([f"{side}{n}" for n in range(size)] for side, size in (("q", 6), ("d", 9)))
    request = Request(query_ids=queries, doc_ids=docs, similarity="cosine")
    run = ingest(files[0], request, other=files[1]).run
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (texts.astype(float), videos.astype(float))]
    for query, expected in zip(queries, np.round(unit[0] @ unit[1].T, 9), strict=True):
        assert np.sort(expected)[::-1].tolist() == list(run[run["query_id"] == query]["score"])
    refused("vectors of shape (9, 8) and (6, 8), but 6 query ids", ingest, files[1], request, other=files[0])


@pytest.mark.parametrize("n_docs", [3, 5])
def test_products_are_the_same_in_parts(n_docs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more docs than queries, it is the docs that are read in blocks."""
    random, ids = np.random.default_rng(3), [f"d{n}" for n in range(n_docs)]
    vectors = {"query_embeds": random.normal(size=(4, 6)), "video_embeds": random.normal(size=(n_docs, 6))}
    path, given = put("m.npz", vectors), Request(query_ids=[*"abcd"], doc_ids=ids, similarity="dot", depth=2)
    whole = ingest(path, given).run
    monkeypatch.setattr(embeddings, "TURNED_CELLS", n_docs * 3 // 2 + 1)  # three of four queries
    assert ingest(path, given).run.equals(whole)


def test_a_vector_of_another_length_is_seen_wherever_it_stands() -> None:
    """Without --similarity all vectors must be of length 1, the last of many as the first."""
    vectors = np.tile(np.eye(4, dtype=np.float32), (200, 1))
    vectors[-1] *= 2
    path = put("v.npz", {"text_embeds": np.eye(4), "video_embeds": vectors})
    ids = Request(query_ids=[*"abcd"], doc_ids=[str(n) for n in range(800)])
    refused("vectors of lengths 1 to 2: give --similarity cosine", ingest, path, ids, by=UsageError)


def hard_vectors(kind: str, n: int, width: int, dtype: str, random: np.random.Generator) -> Array:
    """Vectors that are hard to rank."""
    values = random.normal(size=(n, width))
    info = np.finfo(dtype)
    if kind == "duplicates":
        values = values[random.integers(0, 1 + n // 4, n)]
    elif kind == "all equal":
        values[:] = values[0]
    elif kind == "near ties":
        values = values[0] + 1e-9 * values
    elif kind == "huge norms":
        values *= min(float(info.max), 1e90) / 1e3
    elif kind == "mixed norms":
        values *= 10.0 ** random.integers(-4, 4, (n, 1))
    elif kind == "denormal":
        values *= float(info.smallest_normal) if dtype == "float32" else 1e-5
    elif kind == "whole numbers":
        values = random.integers(1, 3, (n, width)).astype(float)
    return values.astype(dtype)


KINDS = ["plain", "duplicates", "all equal", "near ties", "huge norms", "mixed norms", "denormal"]
KINDS += ["whole numbers"]
COLUMNS = ("query", "doc", "rank", "score")
Asked = tuple[list[str], tuple[Array, Array], int]  # the docs' ids, pairs of positives, depth


def ranked(blocks: Iterable[Array], n_queries: int, asked: Asked) -> Ranked:
    docs, (query, doc), depth = asked
    order, axes = np.lexsort((doc, query)), ([f"q{n}" for n in range(n_queries)], docs)
    cells = Cells(query[order], doc[order], np.full(len(query), POSITIVE))
    return rank_rows(blocks, where="m", n_rows=n_queries, axes=axes, depth=depth, cells=cells)


def stored(values: Array) -> Matrix:
    return Matrix(Path("s"), "", values)


def by_pairs(queries: Array, docs: Array, similarity: str, asked: Asked) -> Ranked:
    """Every pair scored by itself, then ranked as any matrix is."""
    wide = [vectors_of(side, "s", similarity) for side in (queries, docs)]
    scores = pair_scores(*wide, *np.divmod(np.arange(len(queries) * len(docs)), len(docs)), similarity)
    return ranked(chunks_of(scores.reshape(len(queries), len(docs))), len(queries), asked)


def by_blocks(queries: Array, docs: Array, similarity: str, asked: Asked) -> Ranked:
    return ranked(products(stored(queries), stored(docs), similarity), len(queries), asked)


@settings(max_examples=examples(150), deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    similarity=st.sampled_from(["dot", "cosine", "l2"]),
    dtype=st.sampled_from(["float16", "float32", "float64"]),
    sizes=st.tuples(st.integers(1, 12), st.integers(1, 150)),
    width=st.sampled_from([1, 2, 7, 16, 33]),
    depth=st.integers(1, 20),
    seed=st.integers(0, 2**16),
)
def test_blocks_change_nothing(
    kind: str, similarity: str, dtype: str, sizes: tuple[int, int], width: int, depth: int, seed: int
) -> None:
    random, (n_queries, n_docs) = np.random.default_rng(seed), sizes
    both = hard_vectors(kind, n_queries + n_docs, width, dtype, random)
    if similarity == "cosine" and not (np.abs(both.astype(float)).max(axis=1) > 1e-40).all():
        return  # a vector of zeros has no cosine
    ids = [f"d{place}" for place in random.permutation(n_docs)]
    cells = random.choice(n_queries * n_docs, min(9, n_queries * n_docs), replace=False)
    given = both[:n_queries], both[n_queries:], similarity, (ids, np.divmod(cells, n_docs), depth)
    left, right = by_blocks(*given), by_pairs(*given)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)
    assert left.anomalies == right.anomalies


@pytest.mark.parametrize("similarity", ["dot", "cosine", "l2"])
def test_any_split_of_the_queries_gives_the_same_rows(similarity: str) -> None:
    random = np.random.default_rng(3)
    queries, docs = (hard_vectors("duplicates", n, 24, "float32", random) for n in (61, 900))
    ids = [f"d{place}" for place in range(len(docs))]
    rows, columns = np.arange(61), random.integers(0, 900, 61)
    whole = by_blocks(queries, docs, similarity, (ids, (rows, columns), 10))
    for edges in ([0, 1, 2, 60, 61], [0, 30, 61]):
        parts = []
        for start, stop in pairwise(edges):
            mine = rows[start:stop] - start, columns[start:stop]
            part = by_blocks(queries[start:stop], docs, similarity, (ids, mine, 10))
            parts.append((part.query + start, part.doc, part.rank, part.score))
        for name, pieces in zip(COLUMNS, zip(*parts, strict=True), strict=True):
            np.testing.assert_array_equal(getattr(whole, name), np.concatenate(pieces), err_msg=name)


def test_numbers_too_large_to_square_are_refused() -> None:
    sides = stored(np.ones((2, 3))), stored(np.full((2, 3), 1e150))
    refused("a number beyond 1e", lambda: list(products(*sides, "dot")))


def test_ten_lines_of_numpy_agree() -> None:
    random = np.random.default_rng(8)
    queries, docs = (random.normal(size=(n, 64)).astype("f4") for n in (40, 3000))
    docs[1500:1600] = docs[:100]
    ids = [f"{place:04d}" for place in range(3000)]
    found = by_blocks(queries, docs, "dot", (ids, (np.empty(0, int), np.empty(0, int)), 20))
    scores = np.round(queries.astype("f8") @ docs.astype("f8").T, 9)
    order = np.lexsort((-np.arange(3000) + 0 * scores, -scores), axis=1)[:, :21]
    np.testing.assert_array_equal(found.doc.reshape(40, 21), order)
