"""What holds for every command on scores: which runs it refuses, whom it marks, what its tables rest on."""

import json
import shutil
from pathlib import Path

import pytest
from command import Fire

from examples import some

QRELS = ("--qrels", "qrels.txt")
BOTH = (*QRELS, "--augmented", "augmented.txt")
SOURCES = ("--pool-sources", "pool_sources.csv")
COMMANDS = {
    "score": ("score", *BOTH, "-m", "C@1"),
    "honest": ("score", "--honest", *BOTH, "-m", "C@1"),
    "difference": ("difference", *BOTH, "-m", "C@1"),
    "orders": ("orders", *QRELS, "--qrels", "augmented.txt", "-m", "C@1"),
    "reuse": ("reuse", *BOTH, *SOURCES, "-m", "C@1"),
    "influence": ("influence", *QRELS, "--judgments", "judgments.csv", "-m", "C@1"),
    "coverage": ("coverage", *BOTH, "-m", "C@1"),
    "table1": ("report", "table1", *BOTH, "-m", "C@1"),
    "table4": ("report", "table4", *BOTH, *SOURCES, "-m", "C@1"),
    "length": ("report", "length", *BOTH, "--queries", "queries.tsv"),
    "saturation": ("report", "saturation", *BOTH, "-m", "C@1"),
    "similarity": ("report", "similarity", *BOTH, "--queries", "queries.tsv", "--train", "queries.tsv"),
}


@pytest.fixture(scope="module")
def pool(corrected: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corrected sample pool; `few.run` has 49 of its 100 queries, `short.run` five docs of each."""
    folder = tmp_path_factory.mktemp("uneven") / "pool"
    shutil.copytree(corrected, folder)
    lines = (folder / "runs/fused.run").read_text().splitlines(keepends=True)
    kept = set(sorted({line.split()[0] for line in lines})[:49])
    for name, chosen in {
        "few": [line for line in lines if line.split()[0] in kept],
        "short": [line for line in lines if int(line.split()[3]) <= 5],
    }.items():
        (folder / f"{name}.run").write_text("".join(chosen).replace(" fused", f" {name}"))
    return folder


@pytest.fixture
def uneven(pool: Path, sample: Fire, monkeypatch: pytest.MonkeyPatch) -> Fire:
    """The commands, in that folder, to which they write nothing."""
    monkeypatch.chdir(pool)
    return sample


def arguments(name: str, *runs: str) -> tuple[str, ...]:
    words = COMMANDS[name]
    n_words = 2 if words[0] == "report" else 1
    return (*words[:n_words], *runs, *words[n_words:])


@pytest.mark.parametrize("name", some(COMMANDS, 5))
def test_a_run_for_another_split_is_refused_in_the_same_words(uneven: Fire, name: str) -> None:
    refused = uneven(*arguments(name, "runs/fused.run", "few.run"), code=1)
    assert "error: run few: has 49 of the 100 queries of the qrels (its first: " in refused.stderr
    assert "expected half or more; is it a run for another split?" in refused.stderr
    assert refused.stdout == ""


def test_runs_for_different_splits_are_not_compared(uneven: Fire) -> None:
    refused = uneven("compare", "runs/fused.run", "few.run", code=1)
    assert "runs 'fused' and 'few' have 49 of 100 queries in common" in refused.stderr


@pytest.mark.parametrize("name", ["difference", "orders", "reuse"])
def test_runs_read_to_different_depths_are_said(uneven: Fire, name: str) -> None:
    words = arguments(name, "runs/motion-track.run", "short.run")
    told = uneven(*words, "-m", "AP").stderr
    assert told.count("note: AP reads the runs to different depths (motion-track 20, short 5)") == 1


@pytest.mark.parametrize("name", some(COMMANDS, 5))
@pytest.mark.parametrize("output_format", some(["latex", "table", "csv", "json", "markdown"], 1))
def test_every_table_says_what_it_rests_on(uneven: Fire, name: str, output_format: str) -> None:
    result = uneven(*arguments(name, "runs/fused.run", "runs/shape-contour.run"), "--format", output_format)
    lines = (result.stdout if output_format in ("latex", "markdown") else result.stderr).splitlines()
    said = next(line for line in lines if "ests on: " in line)
    assert "2 runs" in said
    assert "100 queries" in said
    assert "seed" not in said  # nothing here is drawn
    if output_format == "json":
        assert json.loads(result.stdout)
    if output_format == "latex":
        assert said.startswith("% rests on: ")
        assert "\\toprule" in result.stdout


def test_runs_that_fed_no_pool_are_marked_and_not_compared_in_silence(uneven: Fire) -> None:
    for name in ("honest", "reuse", "table4", "score"):
        words = arguments(name, "runs/fused.run", "short.run")
        assert "note: short: fed no pool" in uneven(*words).stderr, name
    result = uneven(*arguments("difference", "runs/motion-track.run", "short.run"))
    assert "motion-track fed the pool and short did not" in result.stderr


def test_a_measure_without_bounds_says_so_in_words(uneven: Fire) -> None:
    words = arguments("honest", "runs/fused.run")
    result = uneven(*words, "-m", "Judged@5", "-m", "P@5", "-m", "R@5", "-m", "AP")
    line = {line.split()[0]: line for line in result.stdout.splitlines() if line.split()}
    assert "no bound" in line["Judged@5"]
    assert "no bound" not in line["P@5"] + line["R@5"]
    assert "at most" in line["R@5"]
    assert "at most" not in line["P@5"]
    assert "Judged@5: no bounds; it measures how much is judged and is not a score" in result.stderr
    assert "R@5, AP: no lower bound; each relevant doc that nobody judged" in result.stderr
