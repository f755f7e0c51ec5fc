"""The same bytes from one process, from several, and from any number of shards; damaged shards are redone."""

import hashlib
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from fire_toolkit.cli import main
from fire_toolkit.engines.engine import packed, packed_texts, ranges_of, unpacked, unpacked_texts
from fire_toolkit.engines.local import Local, ranges_for
from fire_toolkit.errors import FireError, FormatError

N_QUERIES, N_DOCS = 37, 90
SCORE = "score {runs} --qrels qrels.txt -m AP -m nDCG@10 -m MedR --per-query --out scores.csv"
COMMANDS = {
    "add-run": "add-run --embeddings q0.npy d.npy --similarity cosine --id m9 --query-ids q.txt "
    "--doc-ids d.txt --qrels qrels.txt --depth 10 --out made",
    "pool": "pool {runs} --qrels qrels.txt --depth 5 --strategy rrf --budget 60 --out pool",
    "score": SCORE,
    "compare": "compare {runs} --depth 5 --per-query --out compared.csv",
    "difference": "difference {runs} --qrels qrels.txt -m AP --out tested.csv",
}
MADE = {"add-run": "made", "pool": "pool", "score": "scores.csv*", "compare": "compared.csv*",
        "difference": "tested.csv*"}  # fmt: skip


def run(words: str, *more: str) -> Result:
    return CliRunner().invoke(main, [*words.format(runs="a.parquet b.parquet c.npy").split(), *more])


def made_by(command: str) -> dict[str, bytes]:
    """Return the files that a command wrote, and take them away."""
    found = [path for at in Path().glob(MADE[command]) for path in (at.rglob("*") if at.is_dir() else [at])]
    contents = {str(path): path.read_bytes() for path in found if path.is_file()}
    for name in contents:
        Path(name).unlink()
    assert contents
    return contents


@pytest.fixture(autouse=True)
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of vectors with ties, a matrix, and qrels of a query that no run has."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(4)
    docs = random.normal(size=(N_DOCS, 8)).astype(np.float32)
    docs[1::9] = docs[0]
    queries = [f"q{place}" for place in range(N_QUERIES)]
    names = [f"d{place}" for place in range(N_DOCS)]
    np.save("d.npy", docs)
    for name, ids in (("q", queries), ("d", names), ("c.query_ids", queries), ("c.doc_ids", names)):
        Path(f"{name}.txt").write_text("\n".join(ids) + "\n")
    rows = [f"{query} 0 d{random.integers(N_DOCS)} {random.integers(2)}" for query in [*queries[:30], "none"]]
    Path("qrels.txt").write_text("\n".join(rows) + "\n")
    for place, name in enumerate("ab"):
        np.save(f"q{place}.npy", random.normal(size=(N_QUERIES, 8)).astype(np.float32))
        words = COMMANDS["add-run"].replace("q0.npy", f"q{place}.npy").replace("m9", name)
        assert run(words).exit_code == 0
        Path(f"made/{name}.parquet").rename(f"{name}.parquet")
        Path(f"made/{name}.parquet.manifest.json").rename(f"{name}.parquet.manifest.json")
    np.save("c.npy", random.integers(0, 9, size=(N_QUERIES, N_DOCS)).astype(np.float32))


def shard(command: str, number: int, n_shards: int) -> Result:
    return run(COMMANDS[command], "--shard", f"{number}/{n_shards}", "--shards", "shards")


@pytest.mark.parametrize("command", COMMANDS)
def test_processes_write_the_bytes_of_one(command: str) -> None:
    alone = run(COMMANDS[command])
    expected = made_by(command)
    split = run(COMMANDS[command], "--engine", "local", "--workers", "2")
    assert (split.exit_code, split.output) == (0, alone.output)
    assert made_by(command) == expected


@pytest.mark.parametrize("n_shards", [1, 3, 50])
@pytest.mark.parametrize("command", ["add-run", "pool", "score"])
def test_gather_writes_the_bytes_of_one_process(command: str, n_shards: int) -> None:
    alone = run(COMMANDS[command])
    expected = made_by(command)
    for number in range(n_shards, 0, -1):
        assert shard(command, number, n_shards).exit_code == 0
    assert not list(Path().glob(MADE[command])) or command != "score"
    gathered = run("gather shards")
    assert (gathered.exit_code, gathered.output) == (0, alone.output)
    assert made_by(command) == expected


def test_what_is_damaged_is_done_again_and_nothing_else() -> None:
    for number in range(1, 5):
        shard("score", number, 4)
    files = {number: Path(f"shards/{number}-of-4.npz") for number in range(1, 5)}
    whole = {number: path.read_bytes() for number, path in files.items()}
    files[1].write_bytes(whole[1][:-1])
    files[2].write_bytes(whole[2][:50] + bytes([whole[2][50] ^ 1]) + whole[2][51:])
    files[3].unlink()
    found = run("gather shards")
    assert "of 4 shards 1, 2, 3 are damaged; run again, such as: fire-toolkit score" in found.output
    assert found.exit_code == 1
    Path("shards/1-of-4.npz.done.json").write_text('{"shard": 1')
    before = files[4].stat().st_mtime_ns
    said = [shard("score", number, 4).output for number in range(1, 5)]
    assert ["nothing to do" in words for words in said] == [False, False, False, True]
    assert {number: path.read_bytes() for number, path in files.items()} == whole
    assert files[4].stat().st_mtime_ns == before
    assert run("gather shards").exit_code == 0


def test_gather_names_what_is_missing() -> None:
    shard("pool", 2, 3)
    assert (
        "of 3 shards 1, 3 are missing; run again, such as: fire-toolkit pool" in run("gather shards").output
    )
    shard("pool", 1, 2)
    assert "shards of 2 and of 3; delete those of one number" in run("gather shards").output


def test_shards_of_other_inputs_are_refused() -> None:
    for number in (1, 2):
        shard("score", number, 2)
    Path("qrels.txt").write_text(Path("qrels.txt").read_text().replace(" 1\n", " 0\n", 1))
    found = run("gather shards")
    assert (found.exit_code, Path("scores.csv").exists()) == (1, False)
    assert "qrels.txt: not the file that the shards in shards were made from" in found.output
    assert "written" in shard("score", 1, 2).output
    assert "qrels.txt: not the file that the shards" in run("gather shards").output  # the second is old


def test_shards_of_another_version_or_command_are_refused() -> None:
    for number in (1, 2):
        shard("score", number, 2)
    record = Path("shards/1-of-2.npz.done.json")
    found = json.loads(record.read_text())
    record.write_text(json.dumps(found | {"version": "0.0.1"}))
    assert "shards of fire-toolkit" in run("gather shards").output
    record.write_text(json.dumps(found | {"command": ["demo", "--out", "x"]}))
    assert "give each a folder of its own" in run("gather shards").output
    other = Path("shards/2-of-2.npz.done.json")
    other.write_text(json.dumps(json.loads(other.read_text()) | {"command": ["demo", "--out", "x"]}))
    assert "shards of `demo`, expected those of add-run, pool, score" in run("gather shards").output


def test_a_shard_of_pickles_is_refused_not_run() -> None:
    shard("pool", 1, 1)
    content = Path("shards/1-of-1.npz")
    np.savez(content, **{"0.rank": np.array([{"a": 1}], dtype=object)}, allow_pickle=True)
    record = Path("shards/1-of-1.npz.done.json")
    raw = content.read_bytes()
    about = {"size": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    record.write_text(json.dumps(json.loads(record.read_text()) | about))
    found = run("gather shards")
    assert found.exit_code == 1
    assert "a part's result cannot be read" in found.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--shard 1/2", "go together"),
        ("--shard 3/2 --shards x", "expected I/N"),
        ("--shard 0/2 --shards x", "expected I/N"),
        ("--shard 1/2 --shards qrels.txt", "is a file, expected a folder"),
        ("--shard 1/2 --shards x --engine local", "leave --engine out"),
        ("--workers 2", "goes with --engine local"),
        ("--engine dask", "go together"),
        ("--scheduler tcp://127.0.0.1:1", "go together"),
        ("--engine dask --scheduler tcp://10.0.0.1:8786", "plain tcp is taken to this machine only"),
        ("--engine dask --scheduler tcp://127.0.0.1.example.org:8786", "plain tcp is taken to this machine"),
        ("--engine dask --scheduler http://127.0.0.1:8786", "expected tls://HOST:PORT"),
        ("--engine dask --scheduler tls://host:99999", "expected tls://HOST:PORT"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: str, expected: str) -> None:
    found = run(COMMANDS["pool"], *words.split())
    assert found.exit_code in (1, 2)
    assert expected in " ".join(found.output.split())
    assert not Path("pool").exists()


def test_ranges_cover_all_places_once() -> None:
    for n in range(20):
        for n_ranges in range(1, 30):
            places = [place for first, stop in ranges_of(n, n_ranges) for place in range(first, stop)]
            assert places == list(range(n))
    assert [ranges_for(2, n) for n in (0, 1, 2, 3, 4, 300)] == [4, 4, 2, 2, 1, 1]


def test_arrays_and_texts_come_back() -> None:
    arrays = {"a": np.arange(3), "b": np.zeros((0, 2)), "ids": packed_texts(["q", "ü 1", "x"])}
    found = unpacked(packed(arrays))
    assert {name: values.tolist() for name, values in found.items()} == {
        name: values.tolist() for name, values in arrays.items()
    }
    assert unpacked_texts(found["ids"]) == ["q", "ü 1", "x"]
    assert unpacked_texts(packed_texts([])) == []
    assert packed(arrays) == packed(dict(arrays))
    with pytest.raises(FormatError, match="cannot be read"):
        unpacked(b"nothing")


class Killing:
    """A part whose worker kills itself, unless a file says that it did so before."""

    def __init__(self, mark: Path, *, is_deadly: bool) -> None:
        self.mark, self.is_deadly, self.files = mark, is_deadly, dict[str, str]()


def kill_once(part: Killing) -> bytes:
    if part.is_deadly and not part.mark.exists():
        part.mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return part.mark.name.encode()


def always_kill(part: Killing) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def refuse(part: Killing) -> bytes:
    raise FormatError("a.run:3: bad line")


def test_killed_processes_are_started_again() -> None:
    parts = [Killing(Path(f"mark{n}").absolute(), is_deadly=n == 1) for n in range(4)]
    assert Local(2).map(kill_once, parts) == [b"mark0", b"mark1", b"mark2", b"mark3"]
    with pytest.raises(FireError, match="killed in each of 3 tries"):
        Local(2).map(always_kill, parts)
    with pytest.raises(FormatError, match="bad line"):
        Local(2).map(refuse, parts)
