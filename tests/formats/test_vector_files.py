"""Vectors in safetensors and Parquet: read as they are, or refused in one line."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.arrays.matrix import as_floats
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.named_arrays import vector_names
from fire_toolkit.formats.runs.readers import read_vectors

VALUES = np.random.default_rng(4).normal(size=(30, 6)).astype(np.float32)


def safetensors(path: Path, header: Any, content: bytes, length: int | None = None) -> Path:
    """Write a file as the format's description has it."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    raw += b" " * (-len(raw) % 8)
    path.write_bytes(struct.pack("<Q", len(raw) if length is None else length) + raw + content)
    return path


def about(dtype: str, shape: list[int], first: int, last: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [first, last]}


def rows_of(path: Path) -> np.ndarray[Any, Any]:
    (matrix,) = read_vectors(path).matrices.values()
    return as_floats(matrix.matrix(), "m")


@pytest.mark.parametrize(("dtype", "kind"), [("F32", "<f4"), ("F16", "<f2"), ("F64", "<f8"), ("BF16", "")])
def test_safetensors_are_read(dtype: str, kind: str, tmp_path: Path) -> None:
    stored = VALUES.astype(kind) if kind else (VALUES.view("<u4") >> 16).astype("<u2")
    header = {"__metadata__": {"format": "pt"}, "v": about(dtype, [30, 6], 0, stored.nbytes)}
    found = rows_of(safetensors(tmp_path / "v.safetensors", header, stored.tobytes()))
    expected = stored if kind else (stored.astype("<u4") << 16).view("<f4")
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("items", ["image_embeds", "audio_embeds"])
def test_one_safetensors_file_may_hold_both_sides(items: str, tmp_path: Path) -> None:
    raw = VALUES.tobytes()
    header = {"text_embeds": about("F32", [10, 6], 0, 240), items: about("F32", [20, 6], 240, 720)}
    path = safetensors(tmp_path / "m.safetensors", header, raw)
    assert vector_names(read_vectors(path)) == ("text_embeds", items)


@pytest.mark.parametrize(
    ("header", "content", "length", "words"),
    [
        ({"v": about("F32", [2, 2], 0, 16)}, b"x" * 9, None, "ends at byte 16 of 9"),
        ({"v": about("F32", [2, 2], 0, 12)}, b"x" * 16, None, "12 bytes, expected 16 of F32"),
        ({"v": about("F32", [2, 2], 0, 16)}, b"", 1 << 39, "a header of 549,755,813,888 bytes in a file of"),
        (
            {"v": about("F8_E4M3", [2, 2], 0, 4)},
            b"xxxx",
            None,
            "v .F8_E4M3 of shape .2, 2..; expected",
        ),
        ({"v": {"dtype": "F32"}}, b"", None, "lacks dtype, shape or data_offsets"),
        ({"v": about("F32", [2, -2], 0, 16)}, b"x" * 16, None, "lacks dtype, shape or data_offsets"),
        (
            {"v": about("F32", [2**59] * 100_000, 0, 16)},
            b"x" * 16,
            None,
            "lacks dtype, shape or data_offsets",
        ),
        (b'{"v": ', b"", None, "the header is not JSON"),
        (b"{" + b'"a":{' * 90_000, b"", None, "the header is not JSON"),
    ],
)
def test_damaged_safetensors_are_refused(
    header: Any, content: bytes, length: int | None, words: str, tmp_path: Path
) -> None:
    path = safetensors(tmp_path / "v.safetensors", header, content, length)
    with pytest.raises(FormatError, match=words) as error:
        read_vectors(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["list", "large_list", "fixed"])
def test_parquet_lists_are_read(kind: str, tmp_path: Path) -> None:
    types = {
        "list": pa.list_(pa.float32()),
        "large_list": pa.large_list(pa.float64()),
        "fixed": pa.list_(pa.float32(), 6),
    }
    table = pa.table(
        {"doc_id": [f"d{n}" for n in range(30)], "vector": pa.array(VALUES.tolist(), types[kind])}
    )
    parquet.write_table(table, tmp_path / "v.parquet", row_group_size=11)
    np.testing.assert_array_equal(rows_of(tmp_path / "v.parquet").astype("f4"), VALUES)
    assert read_vectors(tmp_path / "v.parquet").doc_ids == [f"d{n}" for n in range(30)]


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        ([[1.0, 2.0], [3.0]], "row 1: a list of 1 numbers, expected 2 numbers"),
        ([[1.0, 2.0], None], "row 1: no list, expected 2 numbers"),
        ([[1.0, 2.0], [None, 4.0]], "row 1: a number is missing"),
        ([None, [1.0]], "row 0: no numbers"),
        ([["a"], ["b"]], "expected vectors, a list of numbers a row"),
    ],
)
def test_odd_parquet_lists_are_refused(lists: list[Any], words: str, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"vector": lists}), tmp_path / "v.parquet")
    with pytest.raises(FormatError, match=words):
        rows_of(tmp_path / "v.parquet")


def test_nan_and_files_without_vectors_are_refused(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"vector": [[1.0, float("nan")]]}), tmp_path / "q.parquet")
    np.save(tmp_path / "d.npy", np.ones((1, 2)))
    request = Request(query_ids=["q"], doc_ids=["d"], similarity="dot")
    with pytest.raises(FormatError, match="a vector contains NaN or infinity"):
        ingest(tmp_path / "q.parquet", request, other=tmp_path / "d.npy")
    (tmp_path / "r.trec").write_text("q Q0 d 1 0.5 r\n")
    with pytest.raises(UsageError, match="holds no vectors"):
        read_vectors(tmp_path / "r.trec")


def test_all_formats_give_the_same_run(tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", VALUES)
    parquet.write_table(pa.table({"vector": VALUES.tolist()}), tmp_path / "d.parquet")
    safetensors(tmp_path / "d.safetensors", {"d": about("F32", [30, 6], 0, VALUES.nbytes)}, VALUES.tobytes())
    np.savez(tmp_path / "d.npz", d=np.asfortranarray(VALUES))
    np.save(tmp_path / "q.npy", np.asfortranarray(VALUES[:5] + 0.1))
    request = Request(
        query_ids=[f"q{n}" for n in range(5)], doc_ids=[f"d{n}" for n in range(30)], similarity="cosine"
    )
    runs = [
        ingest(tmp_path / "q.npy", request, other=tmp_path / f"d.{end}").run
        for end in ("npy", "parquet", "safetensors", "npz")
    ]
    assert all(runs[0].equals(run) for run in runs[1:])
