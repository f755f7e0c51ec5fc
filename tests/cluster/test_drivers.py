"""The lines of docs/scale.md that start shards elsewhere write the bytes of one process, where they can run.

`make cluster` runs them (FIRE_CLUSTER=1). GNU parallel, Ray, Spark and SLURM are looked for: what is not
installed is skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

if not os.environ.get("FIRE_CLUSTER"):
    pytest.skip("`make cluster` runs it", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
SCORE = "fire-toolkit score runs/*.parquet --qrels qrels.txt --out {}"
N_QUERIES, N_DOCS = 60, 200


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Vectors, two runs, qrels, `fire-toolkit` on the path, and the scores of one process in alone.csv."""
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "bin" / "fire-toolkit"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m fire_toolkit "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    random = np.random.default_rng(1)
    for name, n in (("queries", N_QUERIES), ("videos", N_DOCS)):
        np.save(f"{name}.npy", random.normal(size=(n, 8)))
        Path(f"{name}.txt").write_text("".join(f"{name[0]}{place}\n" for place in range(n)))
    Path("qrels.txt").write_text("".join(f"q{n} 0 v{n} 1\n" for n in range(N_QUERIES)))
    vectors = "--queries-emb queries.npy --items-emb videos.npy --query-ids queries.txt --doc-ids videos.txt"
    for similarity in ("dot", "cosine"):
        shell(f"fire-toolkit add-run {vectors} --similarity {similarity} --id {similarity} --out runs")
    shell(SCORE.format("alone.csv"))
    return tmp_path


def shell(words: str, **more: str) -> str:
    done = subprocess.run(words, shell=True, capture_output=True, text=True, env=os.environ | more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def block(language: str, word: str) -> str:
    """Return the only code of the page in this language that has this word."""
    (found,) = (code for code in re.findall(rf"```{language}\n(.*?)```", PAGE, re.S) if word in code)
    return str(found)


def assert_as_one_process(code: str | None = None) -> None:
    """Run a program, gather, and compare the scores with those of one process."""
    if code is not None:
        Path("driver.py").write_text(code)
        shell(f"{sys.executable} driver.py")
    assert len(list(Path("parts").glob("*-of-8.npz"))) == 8
    shell("fire-toolkit gather parts")
    assert Path("scores.csv").read_bytes() == Path("alone.csv").read_bytes()


def test_a_shell(folder: Path) -> None:
    shell(block("sh", "--shard 1/2"))
    gathered = [Path(f"runs/clip.parquet{end}").read_bytes() for end in ("", ".manifest.json")]
    words, _ = block("sh", "--shard 1/2").split(" --shard", 1)
    shell(words)
    assert [Path(f"runs/clip.parquet{end}").read_bytes() for end in ("", ".manifest.json")] == gathered


@pytest.mark.skipif(not shutil.which("parallel"), reason="GNU parallel is not installed")
def test_gnu_parallel(folder: Path) -> None:
    shell(block("sh", "parallel fire-toolkit").partition("fire-toolkit gather")[0])
    assert_as_one_process()


@pytest.mark.skipif(not shutil.which("sbatch"), reason="SLURM is not installed")
def test_slurm(folder: Path) -> None:
    if subprocess.run(["sinfo"], capture_output=True, timeout=60).returncode:
        pytest.skip("SLURM is installed, and no controller answers")
    Path("job.sh").write_text(block("sh", "#SBATCH"))
    shell("sbatch --wait job.sh")
    assert_as_one_process()


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_ray(folder: Path) -> None:
    assert_as_one_process(block("python", "import ray"))


@pytest.mark.skipif(find_spec("pyspark") is None or not shutil.which("java"), reason="Spark is not installed")
def test_spark(folder: Path) -> None:
    shards = block("python", "import ray").replace("import ray\n", "").partition("ray.init()")[0]
    assert_as_one_process(shards + block("python", "SparkSession"))
