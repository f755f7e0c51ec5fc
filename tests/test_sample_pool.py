"""pools/sample is what the commands make of it, and its README's commands run in it."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from command import run

from fire_toolkit import read_pool
from fire_toolkit.workspace.manifests import verify

SAMPLE = Path(__file__).resolve().parent.parent / "pools" / "sample"


@pytest.fixture
def sample(here: Path) -> Path:
    shutil.copytree(SAMPLE, here, dirs_exist_ok=True)
    return here


def test_pooling_the_runs_gives_the_pool_to_the_byte(sample: Path) -> None:
    runs = [f"runs/{path.name}" for path in sorted((sample / "runs").glob("*.run"))]
    run("pool", *runs, "--depth", "10", "--qrels", "qrels.txt", "--out", "again")
    for name in ("pool.csv", "pool_sources.csv"):
        assert (SAMPLE / name).read_bytes() == (sample / "again" / name).read_bytes()
        verify(SAMPLE / name)


def commands(page: Path) -> list[list[str]]:
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    lines = [shlex.split(line)[1:] for line in "\n".join(blocks).splitlines() if line.strip()]
    return [
        [word for each in line for word in (sorted(map(str, Path().glob(each))) if "*" in each else [each])]
        for line in lines
    ]  # as a shell


def test_the_commands_of_its_readme_run(sample: Path) -> None:
    printed = [run(*words).stdout for words in commands(SAMPLE / "README.md")]
    assert re.search(r"^alpha +0\.8276 +0\.7307 to 0\.8911", printed[0], re.M)
    # positives are only added under the policy union, so C@1 cannot fall
    assert re.search(r"^C@1 +\d+\.\d \(39\.0 \+ \d+\.\d\)", printed[-1], re.M)


def test_the_tutorial_runs_and_its_numbers_are_printed(sample: Path) -> None:
    page = SAMPLE.parent.parent / "docs" / "tutorial.md"
    printed = {words[0]: run(*words).stdout for words in commands(page)}
    assert len(printed) == 8
    assert re.search(r"^AP .*\(35\.9 \+", printed["score"], re.M)
    assert len(read_pool("pool")) == 2_244
