"""Files made to harm are refused by every reader: nothing runs, is written, hangs or fills memory.

The readers are found by walking the package, so that a new one cannot be left out; benchmarks/fuzz.py damages
a file of each.
"""

import builtins
import contextlib
import gzip
import importlib
import importlib.util
import inspect
import io
import os
import pickle
import pkgutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import put, refused

from fire_toolkit import files, formats
from fire_toolkit.errors import FireError
from fire_toolkit.formats.arrays import containers
from fire_toolkit.formats.collections.registry import read_collection
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.reader import read_mask
from fire_toolkit.tables import check_queries

ALL = frozenset(["constant", "duplicates"])
IDS = Request(query_ids=["a", "b"], doc_ids=["c", "d", "e"])
QUERIES = check_queries(pd.DataFrame({"query_id": ["q", "r"], "text": ["a dog", "a cat"]}))
MORE: dict[str, tuple[Any, ...]] = {
    "fire_release.read_fire_release": (QUERIES,),
    "axis_ids.read_ids": ("query_id",),
    "candidates.read_candidates": ("similarity",),
    "table_files.read_machine_scores": ("j",),
}


def found_readers() -> dict[str, Callable[..., Any]]:
    """The functions `read_*` of the package whose first argument is a path."""
    modules = [
        info.name
        for info in pkgutil.walk_packages(formats.__path__, "fire_toolkit.formats.")
        if not info.ispkg
    ]
    found = {}
    for full_name in ("fire_toolkit.files", *modules):
        if full_name.startswith("fire_toolkit.formats.collections"):
            continue  # these read by way of `read_collection`, below
        module = importlib.import_module(full_name)
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("read_") and function.__module__ == module.__name__:
                found[f"{full_name.rpartition('.')[2]}.{name}"] = function
    return found


FOUND = found_readers()


class Calls:
    """Pickles as a call of `function`."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


class Named(pickle.Pickler):
    """Writes every string as a persistent id."""

    def persistent_id(self, value: Any) -> Any:
        return value if isinstance(value, str) else None


def persistent() -> bytes:
    stream = io.BytesIO()
    Named(stream).dump({"sims": "/etc/passwd"})
    return stream.getvalue()


def hash_bomb() -> bytes:
    """A dict with a key that doubles 60 times (t = (t, t)): its hash would take 2**60 steps."""
    doubled = b"".join(b"h" + bytes([n]) + b"h" + bytes([n]) + b"\x86\x94" for n in range(60))
    return b"\x80\x04]K\x01\x85\x94" + doubled + b"]" + b"}h\x3cK\x01s."


def laughs() -> bytes:
    """A pickle of lists of lists: thirty levels of ten references each."""
    levels = (b"](" + (b"h" + bytes([level - 1])) * 10 + b"e\x94" for level in range(1, 30))
    return b"\x80\x04]\x94" + b"".join(levels) + b"."


PICKLES = {
    **{
        f"os.system, protocol {protocol}": pickle.dumps({"sims": Calls(os.system, "touch ran")}, protocol)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "among ids": pickle.dumps({"query_ids": [Calls(os.system, "touch ran")], "sims": 0}),
    "deep within": pickle.dumps([{"a": {"b": (Calls(os.system, "touch ran"),)}}], protocol=2),
    "import": pickle.dumps([Calls(__import__, "os")]),
    "numpy fromfile": pickle.dumps(Calls(np.fromfile, "m.npy"), protocol=3),
    "builtins.eval": pickle.dumps([Calls(builtins.eval, "open('ran', 'w')")]),
    "exec in an array": pickle.dumps(np.array([Calls(builtins.exec, "open('ran','w')")], dtype=object)),
    "nested reduce": pickle.dumps({"sims": [Calls(getattr, Calls(__import__, "os"), "system")]}),
    "subprocess": pickle.dumps({"sims": {"x": Calls(subprocess.Popen, ["touch", "ran"])}}, protocol=2),
    "open": pickle.dumps(Calls(open, "ran", "w"), protocol=5),
    "numpy load": pickle.dumps(Calls(np.load, "m.npy")),
    "persistent id": persistent(),
    "hash bomb": hash_bomb(),
    "memo bomb": b"\x80\x02" + b"]r\xff\xff\xff\x7f" + b".",
    "length bomb": b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"x",
    "many references": laughs(),
    "doubling": b"\x80\x02]" + b"2\x86" * 400 + b".",
    "deep lists": b"\x80\x02" + b"]" * 50_000 + b"a" * 49_999 + b".",
    "extension": b"\x80\x02\x82\x01.",
    "self reference": b"\x80\x02]q\x00h\x00a.",
}


def npy_header(shape: tuple[int, ...], descr: str = "<f4") -> bytes:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": descr, "fortran_order": False, "shape": shape})
    return header.getvalue()


def zipped(members: dict[str, bytes | str], how: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


ZEROS = npy_header((2, 8 << 17)) + bytes(8 << 20)  # beside a limit of one
OUTSIDE = ("../ran.npy", "/ran.npy", "/tmp/ran.npy", "a/../../ran/data.pkl", "query_ids.npy/../../../ran")
ROOT = "videoAdhocSearchResults"
XML = {
    "billion laughs": f'<!DOCTYPE {ROOT} [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><{ROOT}>&b;</{ROOT}>',
    "external entity": f'<!DOCTYPE {ROOT} [<!ENTITY a SYSTEM "file:///etc/passwd">]><{ROOT}>&a;</{ROOT}>',
    "parameter entity": f'<!DOCTYPE {ROOT} [<!ENTITY % a SYSTEM "file:///x"> %a;]><{ROOT}/>',
    "undeclared entity in an id": f'<{ROOT}><videoAdhocSearchRunResult pid="a">'
    '<videoAdhocSearchTopicResult tNum="501"><item seqNum="1" shotId="s&x;1"/></videoAdhocSearchTopicResult>'
    f"</videoAdhocSearchRunResult></{ROOT}>",
    "quadratic": f'<!DOCTYPE {ROOT} [<!ENTITY a "{"x" * 1000}">]><{ROOT}>{"&a;" * 1000}</{ROOT}>',
}
HOSTILE: dict[str, bytes] = {
    **PICKLES,
    **{name: text.encode() for name, text in XML.items()},
    "a zip bomb": zipped(
        dict.fromkeys(("sims.npy", "query_ids.npy", "archive/data.pkl"), ZEROS), zipfile.ZIP_DEFLATED
    ),
    "a gzip bomb": gzip.compress(b"q Q0 d 1 1 m\n" + b" " * (8 << 20)),
    "names outside": zipped(dict.fromkeys(OUTSIDE, npy_header((1,)) + bytes(4))),
    "arrays outside": zipped(dict.fromkeys(OUTSIDE[:2], b"x")),
    "deep JSON": b"[" * 100_000,
    "a folder's entry": b"PK\x05\x06" + bytes(18),
}


@pytest.fixture
def folder(here: Path) -> Iterator[Path]:
    """An empty folder to work in; afterwards it holds no more than was put there."""
    yield here
    assert not (here / "ran").exists()


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files_do_nothing_in_any_reader(
    folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_GZIP_BYTES", 1 << 20)
    monkeypatch.setattr(containers, "_BOMB_BYTES", 1 << 20)
    path = put(folder / "hostile", HOSTILE[kind])
    for name, reader in FOUND.items():
        with contextlib.suppress(FireError):
            reader(path, *MORE.get(name, ()))
    usual = "which is not read" if kind in XML else "hostile"
    said = {"a gzip bomb": "unpacks to more than"}.get(kind, usual)
    for reading in (lambda: ingest(path, IDS), lambda: read_run(path)):
        refused(said, reading, by=FireError)
    refused("unpacks" if kind == "a gzip bomb" else "", read_collection, [path], by=FireError)
    if kind in PICKLES:
        refused("", read_mask, path, by=FireError)
    assert [path.name for path in folder.iterdir()] == ["hostile"]
    assert not (folder.parent / "ran.npy").exists()


@pytest.mark.parametrize("name", PICKLES)
def test_hostile_pickles_within_torch_files_and_arrays(folder: Path, name: str) -> None:
    in_array = npy_header((1,), "|O") + PICKLES[name]
    for file, content in (
        ("m.pt", zipped({"archive/data.pkl": PICKLES[name], "archive/version": "3\n"})),
        ("m.npy", in_array),
        ("m.npz", zipped({"query_ids.npy": in_array})),
    ):
        refused(file, ingest, put(folder / file, content), IDS, by=FireError)


def test_objects_that_are_not_asked_for_are_not_read(folder: Path) -> None:
    objects = npy_header((), "|O") + PICKLES["os.system, protocol 5"]
    members = {"sims.npy": npy_header((2, 3)) + bytes(24), "settings.npy": objects}
    assert len(ingest(put(folder / "m.npz", zipped(dict(members))), replace(IDS, allow=ALL)).run) == 6


def test_the_pickles_would_run_if_they_were_unpickled(folder: Path) -> None:
    """The attacks are real: Python's own reader carries one out."""
    code = f"import pickle; pickle.loads({PICKLES['os.system, protocol 5']!r})"
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
    assert (folder / "ran").exists()
    (folder / "ran").unlink()


def torch_file(key: str, n_values: int, shape: tuple[int, ...]) -> bytes:
    """A file of torch.save with one tensor of six values: `key` names its storage."""
    stride = tuple(int(np.prod(shape[place + 1 :])) for place in range(len(shape)))

    def dumped(value: Any) -> bytes:
        return pickle.dumps(value, protocol=2)[2:-1]

    body = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((" + dumped("storage") + b"ctorch\nFloatStorage\n"
    body += dumped(key) + dumped("cpu") + dumped(n_values) + b"tQK\x00" + dumped(shape) + dumped(stride)
    body += b"\x89ccollections\nOrderedDict\n)RtR."
    return zipped({"archive/data.pkl": body, "archive/data/0": np.arange(6, dtype="<f4").tobytes()})


@pytest.mark.parametrize(
    ("key", "n_values", "shape", "said"),
    [
        ("../../../etc/passwd", 6, (2, 3), "no data/../../../etc/passwd in the file"),
        ("/etc/passwd", 6, (2, 3), "no data//etc/passwd in the file"),
        ("0", 6, (2**40, 2**20), "24 bytes for an array of shape (1099511627776, 1048576) and type float32"),
        ("0", 2**50, (2**30, 2**20), "truncated: 24 bytes"),
        ("0", 2, (2, 3), "8 bytes for an array of shape (2, 3) and type float32"),
    ],
)
def test_tensors_that_lie_elsewhere(
    folder: Path, key: str, n_values: int, shape: tuple[int, ...], said: str
) -> None:
    assert len(ingest(put(folder / "m.pt", torch_file("0", 6, (2, 3))), IDS).run) == 6
    refused(said, ingest, put(folder / "m.pt", torch_file(key, n_values, shape)), IDS, by=FireError)


def header(descr: str = "'<f4'", shape: str = "(2, 2)", order: str = "False") -> bytes:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}".encode()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            header(shape="(-1, 2)"),
            "16 bytes for an array of shape (-1, 2) and type float32",
        ),
        (header(shape="(2**60,)"), "damaged .npy header"),
        (header(shape="(4611686018427387904, 2)"), "array is too big"),
        (header(order="0"), "damaged .npy header"),
        (header("'<q9'"), "damaged .npy header"),
        (header("'f4,i4'", "(2, 1)"), "no array of numbers ... f4"),
        (header("('<f4', (2,))", "(2, 1)"), "shape 2 × 1 × 2, but 2 query ids"),
        (header("'<M8[s]'", "(2, 1)"), "no array of numbers ... datetime64[s] of shape (2, 1)"),
        (header("'|S0'", "(9999999999999,)"), "values of no byte"),
        (header("__import__('os').getcwd()"), "damaged"),
        (b"(" * 9000, "damaged .npy header"),
        (b"[" * 9000 + b"]" * 900, "damaged .npy header"),
        (b"-" * 9000 + b"1", "damaged .npy header"),
        (b"{'shape': " * 900, "damaged .npy header"),
        (header() + b" " * 20_000, "damaged .npy header"),
    ],
)
def test_headers_of_arrays(folder: Path, text: bytes, said: str) -> None:
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(16)
    refused(said, ingest, put(folder / "m.npy", content), IDS, by=FireError)


def test_zip_bombs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "_BOMB_BYTES", 1 << 20)
    n_bytes = 3 << 20  # of zeros, which pack to a thousandth
    parts = {f"part{n}.npy": npy_header((n_bytes // 20,)) + bytes(n_bytes // 5) for n in range(5)}
    for members in (
        {"sims.npy": npy_header((2, n_bytes // 8)) + bytes(n_bytes)},
        {"query_ids.npy": npy_header((n_bytes // 4,), "<U1") + bytes(n_bytes)},
        parts,  # none of which is a bomb by itself
    ):
        bomb = zipped(dict(members), zipfile.ZIP_DEFLATED)
        refused("zip bomb", ingest, put(folder / "m.npz", bomb), IDS, by=FireError)


def test_a_member_that_says_it_is_smaller_than_it_is(folder: Path) -> None:
    raw = put(folder / "m.npz", {"sims": np.ones((2, 3))}).read_bytes()
    at = raw.rindex(b"PK\x01\x02") + 24  # the uncompressed size in the central directory
    short = raw[:at] + struct.pack("<I", 2**31) + raw[at + 4 :]
    refused("m.npz", ingest, put(folder / "m.npz", short), IDS, by=FireError)


LEGACY = (Path(__file__).parent / "golden" / "legacy.pt").read_bytes()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"q": {"d": 1' + "0" * 5000 + "}}", ""),
        ('{"q":' * 3000 + "1" + "}" * 3000, ""),
        ('{"q": {"d": 1, "d": 2}}', ""),
        ('{"q": {"d": true}}', ""),
        ('{"q": [["d"]]}', ""),
        ('{"q": {"d": 1e999}}', ""),
        ('{"q": {"\\ud800": 1}}', "an unpaired surrogate"),
        ('[{"query_id": "q", "doc_id": "d", "score": 1, "\\ud800": 2}]', "an unpaired surrogate"),
        ('{"q1": {"d1": 0.5}, "q2": {"d1": "0.25"}}', "(query q2, doc d1: score '0.25', expected a number)"),
        (gzip.compress(npy_header((2, 3)) + bytes(24), mtime=0), "unpack it with gunzip first"),
        (b"\0\1\2", "which is not a known format; expected a file of torch.save; NumPy"),
        (LEGACY, "a file of torch before 1.6; save it again with a newer torch: torch.save("),
        (LEGACY[:15], "a file of torch before 1.6"),
        (LEGACY[:137] + PICKLES["os.system, protocol 5"], "a file of torch before 1.6"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_run_is_refused_and_named(folder: Path, content: str | bytes, said: str) -> None:
    assert "m.bin" in refused(said, ingest, put(folder / "m.bin", content), IDS, by=FireError)


def test_a_folder_in_the_place_of_a_file_is_named_with_what_it_holds(folder: Path) -> None:
    """As `add-run --out NAME` makes one, in which the run lies."""
    for name in ("m.parquet", "m.parquet.manifest.json"):
        put(folder / "m.run" / name, b"")
    told = refused("m.run: a folder, expected a file; it holds m.parquet", read_run, folder / "m.run")
    assert told.endswith("m.parquet")
