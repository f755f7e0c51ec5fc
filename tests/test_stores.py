"""Objects of a store stand wherever a command reads a file: copied, checked, and named by their address."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fire_toolkit.cli import main
from fire_toolkit.errors import FormatError, ServerError, UsageError
from fire_toolkit.stores import fetch, name_of

fsspec = pytest.importorskip("fsspec")
Memory = pytest.importorskip("fsspec.implementations.memory").MemoryFileSystem

RUN = "".join(f"q{q} Q0 d{d} {d + 1} {1 / (d + q + 1)!r} clip\n" for q in range(3) for d in range(20))
QRELS = "".join(f"q{q} 0 d{q} 1\n" for q in range(3))
SECRET = "wJalrXUtnFEMIsecret"


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    store = fsspec.filesystem("memory")
    store.pipe({"/bench/clip.run": RUN.encode(), "/bench/qrels.txt": QRELS.encode()})
    Path("clip.run").write_text(RUN)
    Path("qrels.txt").write_text(QRELS)
    yield store
    store.store.clear()


def done(*words: str) -> Result:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 0, result.output
    return result


def refused(*words: str, code: int = 1) -> str:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.stderr.splitlines()[-1]


def inputs_of(manifest: str) -> dict[str, str]:
    inputs: dict[str, str] = json.loads(Path(manifest).read_text())["inputs"]
    return inputs


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_run_and_qrels_of_a_store_score_as_files_do(memory: Any) -> None:
    here = done("score", "clip.run", "--qrels", "qrels.txt", "--format", "csv").stdout
    words = ("score", "memory://bench/clip.run", "--qrels=memory://bench/qrels.txt", "--format", "csv")
    away = done(*words, "--out", "scores.csv")
    assert away.stdout == here
    assert inputs_of("scores.csv.manifest.json") == {
        "memory://bench/clip.run": sha256(RUN),
        "memory://bench/qrels.txt": sha256(QRELS),
    }


def test_a_run_of_a_store_is_added_to_the_same_bytes(memory: Any) -> None:
    done("add-run", "clip.run", "--out", "here")
    said = done("add-run", "memory://bench/clip.run", "--out", "away").stderr
    assert Path("away/clip.parquet").read_bytes() == Path("here/clip.parquet").read_bytes()
    assert inputs_of("away/clip.parquet.manifest.json") == {"memory://bench/clip.run": sha256(RUN)}
    assert said.startswith("memory://bench/clip.run: a TREC run")


def test_a_run_of_a_store_may_be_given_a_name(memory: Any) -> None:
    said = done("score", "mine=memory://bench/clip.run", "--qrels", "qrels.txt", "--format", "csv").stdout
    assert "\nmine," in said


def test_no_copy_is_left_behind(memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "copies"))
    done("score", "memory://bench/clip.run", "--qrels", "memory://bench/qrels.txt")
    refused("score", "memory://bench/clip.run", "--qrels", "memory://bench/none.txt")
    assert list((tmp_path / "copies").iterdir()) == []


def test_an_object_that_is_not_there_is_named(memory: Any) -> None:
    said = refused("score", "memory://bench/none.run", "--qrels", "qrels.txt")
    assert said == "error: memory://bench/none.run: no such object"


def test_a_folder_of_objects_is_no_object(memory: Any) -> None:
    said = refused("score", "memory://bench", "--qrels", "qrels.txt")
    assert said == "error: memory://bench: a folder of objects, expected one object"


def test_what_is_wrong_in_an_object_is_said_of_its_address(memory: Any) -> None:
    memory.pipe("/bench/bad.txt", b"q0 0 d0\n")
    said = refused("score", "clip.run", "--qrels", "memory://bench/bad.txt")
    assert said.startswith("error: memory://bench/bad.txt:1: 3 fields, expected 4")


@pytest.mark.parametrize(
    "address",
    [
        f"s3://AKIA:{SECRET}@bucket/clip.run",
        f"s3://bucket/clip.run?X-Amz-Signature={SECRET}",
        f"gs://bucket/clip.run?versionId=1&token={SECRET}",
    ],
)
def test_an_address_with_a_secret_is_refused_without_it(memory: Any, address: str) -> None:
    said = refused("score", address, "--qrels", "qrels.txt")
    assert "holds a user, a password or a query" in said
    assert SECRET not in said


@pytest.mark.parametrize("address", ["s3://bucket", "s3://bucket/", "s3://bucket/folder/", "s3://bucket/.."])
def test_an_address_names_one_object(address: str) -> None:
    with pytest.raises(UsageError, match="expected one object"):
        name_of(address)


def test_results_are_not_written_to_a_store(memory: Any) -> None:
    said = refused("add-run", "clip.run", "--out", "memory://bench/runs", code=2)
    assert said == "Error: --out takes a place on this machine; objects of a store are only read"


def test_nothing_is_fetched_where_the_words_are_wrong(memory: Any) -> None:
    said = refused("score", "memory://bench/none.run", "--no-such-option", code=2)
    assert "No such option" in said


def test_a_file_of_a_stage_is_checked_against_its_manifest_in_the_store(memory: Any) -> None:
    done("add-run", "clip.run", "--out", "here")
    for name in ("clip.parquet", "clip.parquet.manifest.json"):
        memory.pipe(f"/bench/{name}", Path("here", name).read_bytes())
    done("score", "memory://bench/clip.parquet", "--qrels", "qrels.txt")
    done("add-run", "memory://bench/clip.run", "--depth", "5", "--out", "short")
    memory.pipe("/bench/clip.parquet", Path("short/clip.parquet").read_bytes())
    said = refused("score", "memory://bench/clip.parquet", "--qrels", "qrels.txt")
    assert said.startswith(
        "error: memory://bench/clip.parquet: changed since `fire-toolkit add-run` wrote it"
    )


def test_an_approximate_index_is_known_in_a_store_too(memory: Any) -> None:
    done("add-run", "clip.run", "--out", "here")
    manifest = json.loads(Path("here/clip.parquet.manifest.json").read_text())
    manifest["counts"]["index"] = {"name": "IVF64", "is_exact": False, "recall": None}
    memory.pipe("/bench/clip.parquet", Path("here/clip.parquet").read_bytes())
    memory.pipe("/bench/clip.parquet.manifest.json", json.dumps(manifest).encode())
    said = refused("score", "memory://bench/clip.parquet", "--qrels", "qrels.txt")
    assert "--accept-approximate" in said


def test_status_says_that_it_does_not_look_at_a_store(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done("init", "bench")
    monkeypatch.chdir("bench")
    Path("collection/qrels.txt").write_text(QRELS)
    done("pool", "memory://bench/clip.run")
    said = done("status").stdout
    assert "memory://bench/clip.run: in a store, not checked again" in said
    assert "is gone" not in said


class Cut(Memory):  # type: ignore[misc]
    """A store that sends half of an object, or another one at the end than at the beginning."""

    protocol = "memory"
    cachable = False
    how = ""

    def get_file(self, rpath: str, lpath: str, **kwargs: Any) -> None:
        super().get_file(rpath, lpath, **kwargs)
        if self.how == "cut":
            Path(lpath).write_bytes(Path(lpath).read_bytes()[:10])
        if self.how == "written":
            self.pipe(rpath, self.cat_file(rpath)[::-1])
        if self.how == "fails":
            raise RuntimeError(f"GET https://user:{SECRET}@host/clip.run")
        if self.how == "full":
            raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("cut", "cut: 10 bytes came of"),
        ("written", "was written anew while it was read"),
        ("fails", r"cannot be read \(RuntimeError\)"),
    ],
)
def test_a_store_that_fails_ends_the_command_as_a_server_does(
    memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, words: str
) -> None:
    monkeypatch.setattr(Cut, "how", how)
    monkeypatch.setattr("fsspec.core.url_to_fs", lambda address, **_: (Cut(), "/bench/clip.run"))
    with pytest.raises(ServerError, match=words) as caught:
        fetch("memory://bench/clip.run", tmp_path)
    assert SECRET not in str(caught.value)
    assert refused("score", "memory://bench/clip.run", "--qrels", "qrels.txt", code=3).count("\n") == 0


def test_a_library_that_is_not_installed_is_named(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(address: str, **_: Any) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    said = refused("score", "s3://bucket/clip.run", "--qrels", "qrels.txt")
    assert said == "error: s3://bucket/clip.run: s3:// needs s3fs: pip install 'fire-toolkit[stores]'"
    said = refused("score", "gs://bucket/clip.run", "--qrels", "qrels.txt")
    assert said == "error: gs://bucket/clip.run: gs:// needs gcsfs: pip install fsspec gcsfs"


# Against a server that speaks S3 over HTTP: `make stores`.


@pytest.fixture
def bucket(memory: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A bucket with the run and the qrels on a server of this machine."""
    pytest.importorskip("s3fs", reason="s3fs is not installed: `make stores` runs this")
    server = pytest.importorskip("moto.server", reason="moto is not installed: `make stores` runs this")
    served = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    served.start()
    port = served.get_host_and_port()[1]
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    store = fsspec.filesystem("s3")
    store.makedirs("bench", exist_ok=True)
    store.pipe("bench/a/clip.run", RUN.encode())
    store.pipe("bench/a/qrels.txt", QRELS.encode())
    yield store
    served.stop()


def test_s3_is_read(bucket: Any) -> None:
    here = done("score", "clip.run", "--qrels", "qrels.txt", "--format", "csv").stdout
    words = ("score", "s3://bench/a/clip.run", "--qrels", "s3://bench/a/qrels.txt", "--format", "csv")
    assert done(*words, "--out", "scores.csv").stdout == here
    assert inputs_of("scores.csv.manifest.json") == {
        "s3://bench/a/clip.run": sha256(RUN),
        "s3://bench/a/qrels.txt": sha256(QRELS),
    }
    assert SECRET not in Path("scores.csv.manifest.json").read_text()


def test_an_object_of_many_parts_is_read_whole(bucket: Any, tmp_path: Path) -> None:
    content = os.urandom(120 << 20)  # s3fs reads it in several requests at a time
    bucket.pipe("bench/a/large.npy", content)
    copy = fetch("s3://bench/a/large.npy", tmp_path)
    assert hashlib.sha256(copy.read_bytes()).digest() == hashlib.sha256(content).digest()


def test_s3_without_the_object_or_the_bucket(bucket: Any, tmp_path: Path) -> None:
    for address in ("s3://bench/a/none.run", "s3://no-such-bucket/clip.run"):
        with pytest.raises(FormatError, match="no such object"):
            fetch(address, tmp_path)


def test_an_older_version_is_read(bucket: Any, tmp_path: Path) -> None:
    client = bucket.call_s3
    client("put_bucket_versioning", Bucket="bench", VersioningConfiguration={"Status": "Enabled"})
    older = client("put_object", Bucket="bench", Key="a/v.run", Body=b"old")["VersionId"]
    client("put_object", Bucket="bench", Key="a/v.run", Body=b"newer")
    (tmp_path / "old").mkdir()
    assert fetch(f"s3://bench/a/v.run?versionId={older}", tmp_path / "old").read_bytes() == b"old"
    assert fetch("s3://bench/a/v.run", tmp_path).read_bytes() == b"newer"


class Unkind(BaseHTTPRequestHandler):
    """A server that denies everything, or sends half of what it promised and closes."""

    how = "denies"

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        if self.how == "denies":
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.send_header("ETag", '"a"')
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()
        if with_body:
            self.wfile.write(b"x" * 500)
            self.close_connection = True

    def log_message(self, *args: Any) -> None:
        return


@pytest.mark.parametrize(
    ("how", "words"), [("denies", "the store denies it"), ("cuts", "cannot be read|cut:")]
)
def test_s3_that_denies_or_cuts(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, words: str
) -> None:
    monkeypatch.setattr(Unkind, "how", how)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Unkind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    with pytest.raises(ServerError, match=words) as caught:
        fetch("s3://bench/a/clip.run", tmp_path)
    assert SECRET not in str(caught.value)
    server.shutdown()
    server.server_close()


def test_s3_out_of_reach(bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://user:{SECRET}@127.0.0.1:9")
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    with pytest.raises(ServerError, match="cannot be read") as caught:
        fetch("s3://bench/a/clip.run", tmp_path)
    assert SECRET not in str(caught.value)
