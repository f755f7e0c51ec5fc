"""Every function that reads a file: whatever was made to harm it, an error of this package; nothing else.

The readers are found by walking the package, so that a new one cannot be left out; benchmarks/fuzz.py damages
a file of each.
"""

import gzip
import importlib
import importlib.util
import inspect
import io
import os
import pickle
import pkgutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fire_toolkit import files, formats
from fire_toolkit.errors import FireError
from fire_toolkit.formats.arrays import matrix
from fire_toolkit.formats.collections import read_collection
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.native import run_bytes
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.readers import READERS
from fire_toolkit.tables import check_queries

GOLDEN = Path(__file__).parent / "golden"
RELEASE = Path(__file__).parents[1] / "golden" / "fire-release"
QUERIES = check_queries(pd.DataFrame({"query_id": ["q", "r"], "text": ["a dog", "a cat"]}))


def npy(values: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


MORE: dict[str, tuple[Any, ...]] = {
    "fire_release.read_fire_release": (QUERIES,),
    "axis_ids.read_ids": ("query_id",),
    "table_files.read_machine_scores": ("j",),
}


def found_readers() -> dict[str, Callable[..., Any]]:
    """The functions `read_*` of the package whose first argument is a path."""
    found = {}
    modules = [
        info.name
        for info in pkgutil.walk_packages(formats.__path__, "fire_toolkit.formats.")
        if not info.ispkg
    ]
    for full_name in ("fire_toolkit.files", *modules):
        if full_name.startswith("fire_toolkit.formats.collections"):
            continue  # these read by way of `read_collection`, below
        module = importlib.import_module(full_name)
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("read_") and function.__module__ == module.__name__:
                found[f"{full_name.rpartition('.')[2]}.{name}"] = function
    return found


FOUND = found_readers()
NOT_WITH_THESE_IDS = {"square.npy", "vectors.npz", "legacy.pt"}  # the last is of torch before 1.6


def attempt(name: str, path: Path) -> None:
    """Read; only an error of this package, in one line, may come out."""
    try:
        FOUND[name](path, *MORE.get(name, ()))
    except FireError as error:
        told = str(error)
    else:
        return
    if "\n" in told or not told:
        pytest.fail(f"{name}: {told!r} is no line")


class Runs:
    """Pickles as a command that leaves a mark."""

    def __reduce__(self) -> Any:
        return os.system, ("touch ran",)


def bomb() -> bytes:
    """A zip whose one array unpacks to 8 MB of zeros, beside a limit of one."""
    stream, header = io.BytesIO(), io.BytesIO()
    shape = (2, 8 << 17)
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in ("sims.npy", "query_ids.npy", "archive/data.pkl"):
            with archive.open(member, "w") as out:
                out.write(header.getvalue())
                out.write(bytes(8 << 20))
    return stream.getvalue()


def laughs() -> bytes:
    """A pickle of lists of lists: thirty levels of ten references each."""
    body = b"\x80\x04]\x94"
    for level in range(1, 30):
        body += b"](" + (b"h" + bytes([level - 1])) * 10 + b"e\x94"
    return body + b"."


def outside() -> bytes:
    """A zip whose members' names lead out of the folder."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as escaping:
        for member in ("../ran.npy", "/tmp/ran.npy", "a/../../ran/data.pkl", "query_ids.npy/../../../ran"):
            escaping.writestr(member, npy(np.ones((2, 2))))
    return stream.getvalue()


HOSTILE: dict[str, bytes] = {
    "a pickle that runs": pickle.dumps({"query_ids": [Runs()], "sims": Runs()}),
    "a nested pickle that runs": pickle.dumps([{"a": {"b": (Runs(),)}}], protocol=2),
    "a pickle of many references": laughs(),
    "a pickle that doubles": b"\x80\x02]" + b"2\x86" * 400 + b".",
    "a zip bomb": bomb(),
    "a gzip bomb": gzip.compress(b"q Q0 d 1 1 m\n" + b" " * (8 << 20)),
    "names outside": outside(),
    "entities": b'<!DOCTYPE videoAdhocSearchResults [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
    b"<videoAdhocSearchResults>&b;</videoAdhocSearchResults>",
    "deep JSON": b"[" * 50_000,
    "a deep pickle": b"\x80\x02" + b"]" * 20_000 + b"a" * 19_999 + b".",
    "a folder's entry": b"PK\x05\x06" + bytes(18),
}


@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_hostile_files_do_nothing_in_any_reader(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "_GZIP_BYTES", 1 << 20)
    monkeypatch.setattr(matrix, "_BOMB_BYTES", 1 << 20)
    (tmp_path / "f").write_bytes(HOSTILE[kind])
    for name in sorted(FOUND):
        attempt(name, tmp_path / "f")
    for reading in (
        lambda: ingest(tmp_path / "f", Request(query_ids=["a", "b"], doc_ids=["c", "d"])),
        lambda: read_run(tmp_path / "f"),
        lambda: read_collection([tmp_path / "f"]),
    ):
        with pytest.raises(FireError) as caught:
            reading()
        assert kind != "a gzip bomb" or "unpacks to more than" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_what_a_run_reader_gives_is_written_and_read_back_equal(tmp_path: Path) -> None:
    """One golden file for each format of predictions comes back as it was, ids and scores to the bit."""
    ids = Request(run_id="m", query_ids=["007", "q:1|x", "frage-ü"], doc_ids=["NA", "d10", "d9", "null"])
    read_by: dict[str, int] = {}
    for path in sorted(GOLDEN.iterdir()):
        if path.name in NOT_WITH_THESE_IDS:
            continue
        result = ingest(path, ids)
        read_by[result.report["reader"]] = read_by.get(result.report["reader"], 0) + 1
        (tmp_path / "run").write_bytes(run_bytes(result.run))
        assert read_run(tmp_path / "run").equals(result.run), path.name
    assert set(READERS) == set(read_by)
