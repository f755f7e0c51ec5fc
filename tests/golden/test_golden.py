"""Golden cases: a folder each, with inputs, the commands, and what they must write, to the byte.

The last digits of long numbers differ from one processor to another, and are left out.

`commands.txt` has a command a line; `> FILE` at its end keeps what it prints. After a wanted change:
REGOLD=1 pytest tests/golden, and read the difference before it is committed.
"""

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from command import run

LONG = re.compile(rb"\d+\.\d{12,}(?:e-?\d+)?")
CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/commands.txt"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / case.name
    shutil.copytree(case, folder, ignore=shutil.ignore_patterns("expected"))
    monkeypatch.chdir(folder)
    before = {path for path in folder.rglob("*") if path.is_file()}
    for line in (case / "commands.txt").read_text(encoding="utf-8").splitlines():
        command, _, target = line.partition(" > ")
        printed = run(*shlex.split(command)[1:]).stdout
        if target:
            Path(target).write_text(printed, encoding="utf-8")
    written = sorted(path for path in folder.rglob("*") if path.is_file() and path not in before)
    kept = {path.relative_to(folder): path.read_bytes() for path in written if "manifest" not in path.name}
    if os.environ.get("REGOLD"):
        shutil.rmtree(case / "expected", ignore_errors=True)
        for name, content in kept.items():
            (case / "expected" / name).parent.mkdir(parents=True, exist_ok=True)
            (case / "expected" / name).write_bytes(content)
    files = [path for path in (case / "expected").rglob("*") if path.is_file()]
    expected = {path.relative_to(case / "expected"): path.read_bytes() for path in files}
    assert rounded(expected) == rounded(kept)


def rounded(files: dict[Path, bytes]) -> dict[Path, bytes]:
    return {
        name: LONG.sub(lambda number: b"%.12g" % float(number[0]), content) for name, content in files.items()
    }


def test_there_are_cases() -> None:
    assert len(CASES) >= 4
