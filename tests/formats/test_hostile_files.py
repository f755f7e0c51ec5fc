"""Files made to harm are refused with one line: nothing runs, nothing is written, nothing hangs."""

import builtins
import gzip
import io
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.formats.arrays import matrix
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.readers import read_mask

IDS = Request(query_ids=["a", "b"], doc_ids=["c", "d", "e"])


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


PICKLES = {
    **{
        f"os.system, protocol {protocol}": pickle.dumps({"sims": Calls(os.system, "touch ran")}, protocol)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
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
    "deep lists": b"\x80\x02" + b"]" * 50_000 + b"a" * 49_999 + b".",
    "extension": b"\x80\x02\x82\x01.",
    "self reference": b"\x80\x02]q\x00h\x00a.",
}


@pytest.fixture
def folder(here: Path) -> Iterator[Path]:
    """An empty folder to work in; afterwards it holds no more than was put there."""
    yield here
    assert not (here / "ran").exists()


def refuse(path: Path) -> str:
    with pytest.raises(FireError) as caught:
        ingest(path, IDS)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", PICKLES)
def test_hostile_pickles(folder: Path, name: str) -> None:
    (folder / "m.pkl").write_bytes(PICKLES[name])
    refuse(folder / "m.pkl")
    with pytest.raises(FireError):
        read_mask(folder / "m.pkl")


@pytest.mark.parametrize("name", PICKLES)
def test_hostile_pickles_within_torch_files_and_arrays(folder: Path, name: str) -> None:
    with zipfile.ZipFile(folder / "m.pt", "w") as archive:
        archive.writestr("archive/data.pkl", PICKLES[name])
        archive.writestr("archive/version", "3\n")
    refuse(folder / "m.pt")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|O", "fortran_order": False, "shape": (1,)})
    (folder / "m.npy").write_bytes(header.getvalue() + PICKLES[name])
    refuse(folder / "m.npy")
    with zipfile.ZipFile(folder / "m.npz", "w") as archive:
        archive.writestr("query_ids.npy", header.getvalue() + PICKLES[name])
    refuse(folder / "m.npz")


def test_the_pickles_would_run_if_they_were_unpickled(folder: Path) -> None:
    """The attacks are real: Python's own reader carries one out."""
    code = f"import pickle; pickle.loads({PICKLES['os.system, protocol 5']!r})"
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
    assert (folder / "ran").exists()
    (folder / "ran").unlink()


def torch_file(path: Path, key: str, n_values: int, shape: tuple[int, ...], data: bytes = b"") -> None:
    """A file of torch.save with one tensor: `key` names its storage."""
    stride = tuple(int(np.prod(shape[place + 1 :])) for place in range(len(shape)))

    def dumped(value: Any) -> bytes:
        return pickle.dumps(value, protocol=2)[2:-1]

    body = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((" + dumped("storage") + b"ctorch\nFloatStorage\n"
    body += dumped(key) + dumped("cpu") + dumped(n_values) + b"tQK\x00" + dumped(shape) + dumped(stride)
    body += b"\x89ccollections\nOrderedDict\n)RtR."
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", body)
        archive.writestr("archive/data/0", data)


def test_a_torch_file_of_ours_is_read(folder: Path) -> None:
    torch_file(folder / "m.pt", "0", 6, (2, 3), np.arange(6, dtype="<f4").tobytes())
    assert len(ingest(folder / "m.pt", IDS).run) == 6


@pytest.mark.parametrize(
    ("key", "n_values", "shape", "said"),
    [
        ("../../../etc/passwd", 6, (2, 3), "no data/../../../etc/passwd in the file"),
        ("/etc/passwd", 6, (2, 3), "no data//etc/passwd in the file"),
        ("0", 6, (2**40, 2**20), "beyond its 6 values"),
        ("0", 2**50, (2**30, 2**20), "truncated"),
        ("0", 2, (2, 3), "beyond its 2 values"),
    ],
)
def test_tensors_that_lie_elsewhere(
    folder: Path, key: str, n_values: int, shape: tuple[int, ...], said: str
) -> None:
    torch_file(folder / "m.pt", key, n_values, shape, np.arange(6, dtype="<f4").tobytes())
    assert said in refuse(folder / "m.pt")


def test_members_with_paths_are_not_unpacked(folder: Path) -> None:
    with zipfile.ZipFile(folder / "m.npz", "w") as archive:
        archive.writestr("../ran.npy", b"x")
        archive.writestr("/ran.npy", b"x")
    refuse(folder / "m.npz")
    assert not (folder.parent / "ran.npy").exists()
    assert [path.name for path in folder.iterdir()] == ["m.npz"]


def npy_header(shape: tuple[int, ...], descr: str = "<f4") -> bytes:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": descr, "fortran_order": False, "shape": shape})
    return header.getvalue()


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2)}",
            "damaged .npy header (shape (-1, 2))",
        ),
        (b"{'descr': '<f4', 'fortran_order': False, 'shape': (2**60,)}", "damaged .npy header"),
        (
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 2)}",
            "damaged .npy header",
        ),
        (b"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 2)}", "damaged .npy header"),
        (b"{'descr': '<q9', 'fortran_order': False, 'shape': (2, 2)}", "damaged .npy header"),
        (b"{'descr': 'f4,i4', 'fortran_order': False, 'shape': (2, 2)}", "an array of records"),
        (b"{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (2, 2)}", "expected real numbers"),
        (
            b"{'descr': '<M8[s]', 'fortran_order': False, 'shape': (2, 2)}",
            "holds datetime64[s], expected real",
        ),
        (b"{'descr': __import__('os').getcwd(), 'fortran_order': False, 'shape': (2, 2)}", "damaged"),
        (b"(" * 9000, "damaged .npy header"),
        (b"[" * 9000 + b"]" * 900, "damaged .npy header"),
        (b"-" * 9000 + b"1", "damaged .npy header"),
        (b"{'shape': " * 900, "damaged .npy header"),
        (b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}" + b" " * 20_000, "damaged .npy header"),
    ],
)
def test_headers_of_arrays(folder: Path, header: bytes, said: str) -> None:
    (folder / "m.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(16))
    assert said in refuse(folder / "m.npy")


def test_zip_bombs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "_BOMB_BYTES", 1 << 20)
    monkeypatch.setattr(matrix, "_SMALL_BYTES", 1 << 20)
    n_bytes = 3 << 20  # of zeros, which pack to a thousandth
    for name, header, said in (
        ("sims", npy_header((2, n_bytes // 8)), "zip bomb"),
        ("query_ids", npy_header((n_bytes // 4,), "<U1"), "unpacks to more than"),
    ):
        with zipfile.ZipFile(folder / "m.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{name}.npy", header + bytes(n_bytes))
        assert said in refuse(folder / "m.npz")


def test_a_member_that_says_it_is_smaller_than_it_is(folder: Path) -> None:
    np.savez(folder / "m.npz", sims=np.ones((2, 3)))
    raw = (folder / "m.npz").read_bytes()
    at = raw.rindex(b"PK\x01\x02") + 24  # the uncompressed size in the central directory
    (folder / "m.npz").write_bytes(raw[:at] + struct.pack("<I", 2**31) + raw[at + 4 :])
    refuse(folder / "m.npz")


XML = {
    "billion laughs": '<!DOCTYPE videoAdhocSearchResults [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
    "<videoAdhocSearchResults>&b;</videoAdhocSearchResults>",
    "external entity": '<!DOCTYPE videoAdhocSearchResults [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    "<videoAdhocSearchResults>&a;</videoAdhocSearchResults>",
    "parameter entity": '<!DOCTYPE videoAdhocSearchResults [<!ENTITY % a SYSTEM "file:///x"> %a;]>'
    "<videoAdhocSearchResults/>",
    "undeclared entity in an id": '<videoAdhocSearchResults><videoAdhocSearchRunResult pid="a">'
    '<videoAdhocSearchTopicResult tNum="501"><item seqNum="1" shotId="s&x;1"/>'
    "</videoAdhocSearchTopicResult></videoAdhocSearchRunResult></videoAdhocSearchResults>",
    "quadratic": '<!DOCTYPE videoAdhocSearchResults [<!ENTITY a "' + "x" * 1000 + '">]>'
    "<videoAdhocSearchResults>" + "&a;" * 1000 + "</videoAdhocSearchResults>",
}


@pytest.mark.parametrize("name", XML)
def test_xml_with_entities_of_its_own(folder: Path, name: str) -> None:
    (folder / "m.xml").write_text(XML[name])
    assert "which is not read" in refuse(folder / "m.xml")


@pytest.mark.parametrize(
    "text",
    [
        '{"q": {"d": 1' + "0" * 5000 + "}}",
        "[" * 100_000,
        '{"q":' * 3000 + "1" + "}" * 3000,
        '{"q": {"d": 1, "d": 2}}',
        '{"q": {"d": true}}',
        '{"q": [["d"]]}',
        '{"q": {"d": 1e999}}',
        '{"q": {"\\ud800": 1}}',
    ],
)
def test_json_that_is_no_run(folder: Path, text: str) -> None:
    (folder / "m.json").write_text(text)
    refuse(folder / "m.json")


def test_json_whose_scores_are_text_says_which(folder: Path) -> None:
    (folder / "m.json").write_text('{"q1": {"d1": 0.5}, "q2": {"d1": "0.25"}}')
    assert "(query q2, doc d1: score '0.25', expected a number)" in refuse(folder / "m.json")


def test_gzip_of_arrays_says_what_to_do(folder: Path) -> None:
    np.save(folder / "m.npy", np.ones((2, 3)))
    (folder / "m.npy.gz").write_bytes(gzip.compress((folder / "m.npy").read_bytes()))
    assert "unpack it with gunzip first" in refuse(folder / "m.npy.gz")


def test_an_old_torch_file_is_named_and_how_to_save_it_again(folder: Path) -> None:
    raw = (Path(__file__).parent / "golden" / "legacy.pt").read_bytes()
    assert "a file of torch before 1.6; save it again with a newer torch: torch.save(" in told(folder, raw)
    assert "a file of torch before 1.6" in told(folder, raw[:15])
    assert "a file of torch before 1.6" in told(folder, raw[:137] + PICKLES["os.system, protocol 5"])


def told(folder: Path, content: bytes) -> str:
    (folder / "m.pt").write_bytes(content)
    return refuse(folder / "m.pt")


def test_what_nobody_knows_is_named(folder: Path) -> None:
    (folder / "m").write_bytes(b"\x00\x01\x02")
    with pytest.raises(
        FormatError, match=r"which is not a known format; expected a file of torch\.save; NumPy"
    ):
        ingest(folder / "m", IDS)


def test_a_folder_in_the_place_of_a_file_is_named_with_what_it_holds(tmp_path: Path) -> None:
    """As `add-run --out NAME` makes one, in which the run lies."""
    (tmp_path / "m.run").mkdir()
    for name in ("m.parquet", "m.parquet.manifest.json"):
        (tmp_path / "m.run" / name).write_bytes(b"")
    with pytest.raises(FormatError, match=r"m\.run: a folder, expected a file; it holds m\.parquet$"):
        read_run(tmp_path / "m.run")
