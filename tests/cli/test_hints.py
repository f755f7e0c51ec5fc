"""What a command names as the next one works when it is pasted, with plain files and in a workspace."""

import contextlib
import re
import shlex
from pathlib import Path

import pytest
from click.testing import Result
from command import Copied, Fire, run

from examples import some


def hints(result: Result) -> list[str]:
    return [line.removeprefix("next: ") for line in result.stderr.splitlines() if line.startswith("next: ")]


def follow(fire: Fire, result: Result) -> Result:
    """Run the one command that a result names as the next, as a shell would, and expect it to work."""
    (line,) = hints(result)
    assert not re.search(r"\b[A-Z]{3,}", line), f"{line}: a name that nobody can paste"
    program, *words = shlex.split(line)
    assert program == "fire-toolkit"
    given = [
        path for word in words for path in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
    ]
    return fire(*given)


def add_runs() -> None:
    run("add-run", "clip.run", "ssb.run", "--qrels", "qrels.txt", "--out", "runs")
    run("resolve", "judgments.csv", "--out", "labels")


@pytest.fixture
def plain(fire: Fire, folder: Path, copied: Copied) -> Fire:
    copied(add_runs, folder)
    return fire


def begin() -> None:
    begun = run("init", "work")
    assert "already exists" in run("init", "work", code=1).stderr
    assert hints(begun) == ["cd work && fire-toolkit status"]
    for name in ("qrels.txt", "queries.tsv"):
        Path(name).rename(Path("work/collection", name))
    Path("work/judgments").mkdir()
    Path("judgments.csv").rename("work/judgments/judgments.csv")
    with contextlib.chdir("work"):
        run("add-run", "../clip.run", "../ssb.run")
        run("resolve")


@pytest.fixture
def workspace(fire: Fire, copied: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fire:
    monkeypatch.chdir(copied(begin, tmp_path) / "work")
    return fire


def test_plain_files_lead_from_runs_to_tasks(plain: Fire, folder: Path) -> None:
    pooled = follow(plain, plain("add-run", "clip.run", "ssb.run", "--out", "runs"))
    tasks = follow(plain, pooled)
    assert (folder / "pool/tasks.json").is_file()
    assert "(EXPORT.json: what Label Studio exported as JSON)" in tasks.stderr


def test_plain_files_lead_from_judgments_to_scores(plain: Fire, folder: Path) -> None:
    resolved = follow(plain, plain("agree", "judgments.csv"))
    scored = follow(plain, follow(plain, resolved))
    assert "augmented" in scored.stderr
    assert "clip & ssb" in follow(plain, scored).stdout


FROM_PLAIN = {
    "audit": ("audit", "--queries", "queries.tsv", "--qrels", "qrels.txt", "--out", "audit"),
    "plan": ("next-round", "--judgments", "judgments.csv", "--labels", "labels", "--random-share", 1, "--ask",
             "random", "--out", "plan"),
    "coverage": ("coverage", "runs/clip.parquet", "--qrels", "qrels.txt", "--augmented", "qrels.txt", "--out",
                 "open.csv"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FROM_PLAIN))
def test_plain_files_are_named_in_the_hint(plain: Fire, folder: Path, name: str) -> None:
    follow(plain, plain(*FROM_PLAIN[name]))


def test_what_nobody_can_know_is_said_to_be_missing(fire: Fire, folder: Path) -> None:
    (folder / "queries.tsv").rename(folder / "mine.tsv")
    pooled = fire("pool", "clip.run", "--out", "pool")
    assert hints(pooled) == ["fire-toolkit tasks pool --queries QUERIES --out pool/tasks.json"]
    assert "(QUERIES: your queries, CSV or TSV with query_id and text)" in pooled.stderr


FROM_WORKSPACE = {
    "pool": ("pool",),
    "another folder": ("resolve", "--out", "by-majority", "--rule", "majority"),
    "plan": ("next-round", "--ask", "dispute"),
    "coverage": ("coverage", "--augmented", "collection/qrels.txt", "--out", "open.csv"),
    "labels": ("resolve",),
    "agreement": ("agree",),
    "audit": ("audit", "--out", "audit"),
    "score": ("score",),
}


@pytest.mark.parametrize("name", some(FROM_WORKSPACE, 4))
def test_a_workspace_needs_nothing_to_be_filled_in(workspace: Fire, folder: Path, name: str) -> None:
    follow(workspace, workspace(*FROM_WORKSPACE[name]))
