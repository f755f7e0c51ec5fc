"""HDF5 is read by a process of its own: whatever a damaged file does to the C library, it is one line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays import hdf5
from fire_toolkit.formats.runs.ingest import Request, ingest

h5py: Any = pytest.importorskip("h5py")

GOLDEN = Path(__file__).parent / "golden" / "sims.h5"
SIMS = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def short_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(hdf5, "_SECONDS", 3.0)
    before = psutil.Process().children()
    yield
    assert set(psutil.Process().children()) <= set(before)  # not even one that nobody waited for is left


def stored(path: Path, **values: Any) -> Path:
    with h5py.File(path, "w") as file:
        for name, value in values.items():
            file[name] = value
    return path


def test_a_matrix_and_its_ids_are_what_was_stored(tmp_path: Path) -> None:
    path = stored(
        tmp_path / "m.h5", sims=SIMS, query_ids=["007", "ü", "NA"], doc_ids=[b"w", b"x", b"y", b"z"]
    )
    run = ingest(path, Request()).run
    rows = run.sort_values(["query_id", "doc_id"])
    assert rows["query_id"].tolist() == sorted(["007", "NA", "ü"] * 4)
    found = {(row.query_id, row.doc_id): row.score for row in run.itertuples()}
    assert found["ü", "x"] == 5.0
    assert found["NA", "z"] == 11.0


def test_ids_as_numbers_and_an_orientation(tmp_path: Path) -> None:
    path = stored(
        tmp_path / "m.h5",
        sims=SIMS.T.astype(">f8"),
        query_ids=np.array([5, 6, 7]),
        doc_ids=np.array([1, 2, 3, 4], dtype=np.int8),
        orientation="queries-columns",
    )
    run = ingest(path, Request(depth=1)).run
    assert list(zip(run["query_id"], run["doc_id"], run["score"], strict=True)) == [
        ("5", "4", 3.0),
        ("6", "4", 7.0),
        ("7", "4", 11.0),
    ]


@pytest.mark.parametrize(("name", "program"), [("sleeps", "import time; time.sleep(60)"), ("dies", "1/0")])
def test_a_reader_that_hangs_or_dies_is_ended(
    name: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "child.py").write_text(program)
    monkeypatch.setattr(hdf5, "_CHILD", tmp_path / "child.py")
    monkeypatch.setattr(hdf5, "_SECONDS", 1.0)
    began = time.monotonic()
    said = {"sleeps": r"sims\.h5: damaged HDF5 \(not read within 1 s\)", "dies": r"\(the reader ended\)"}
    with pytest.raises(FormatError, match=said[name]):
        hdf5.read_hdf5(GOLDEN)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(("place", "byte"), [(1833, 255), (1882, 0)])
def test_one_wrong_byte_that_made_the_library_hang_or_crash(place: int, byte: int, tmp_path: Path) -> None:
    """It did with HDF5 2.0; another version may refuse the file at once."""
    raw = bytearray(GOLDEN.read_bytes())
    raw[place] = byte
    (tmp_path / "m.h5").write_bytes(raw)
    began = time.monotonic()
    with pytest.raises(FormatError, match=r"m\.h5: damaged HDF5"):
        ingest(tmp_path / "m.h5", Request(depth=1))
    assert time.monotonic() - began < 30


def test_memory_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5, "_MOST_MEMORY", 1 << 30)
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.create_dataset("sims", shape=(2, 300_000_000), dtype="f8", chunks=(1, 300_000_000))
    matrix = hdf5.read_hdf5(tmp_path / "m.h5").matrices["sims"]
    with pytest.raises(FormatError, match=r"m\.h5: damaged HDF5 \((Unable to allocate|the reader|.*emory)"):
        next(matrix.blocks(1))


def test_a_name_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file[b"sims\xff"] = SIMS
    with pytest.raises(FormatError, match=r"m\.h5: damaged HDF5 \(ValueError: a dataset's name is not UTF-8"):
        hdf5.read_hdf5(tmp_path / "m.h5")


def test_ids_that_are_no_text_are_told(tmp_path: Path) -> None:
    path = stored(tmp_path / "m.h5", sims=SIMS, query_ids=np.array([b"\xff", b"b", b"c"]))
    with pytest.raises(FormatError, match=r"m\.h5: damaged HDF5 \(UnicodeDecodeError"):
        hdf5.read_hdf5(path)
