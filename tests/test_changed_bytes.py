"""One byte changed in a file that carries a hash is noticed, whatever reads the file."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import put
from click.testing import CliRunner
from command import run
from small_release import make_workspace
from small_world import make_run

from fire_toolkit.cli import main
from fire_toolkit.errors import FireError, StaleError
from fire_toolkit.formats.runs.native import run_bytes
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.workspace.manifests import checked

N_CHANGES = 5_000
# What reads what others wrote; --out new: so that every command can be given twice.
COMMANDS = (
    *("audit", "pool --out new", "tasks --out new", "agree", "resolve", "augment", "next-round --out new"),
    *("score", "score --honest", "compare", "difference clip ssb", "coverage", "orders", "influence", "own"),
    *("reuse", "report html", "report table1", "report methods", "report saturation", "gallery", "status"),
    "release --version 2.0",
)
# Whose manifest names what they read; other files they only look at, to say what is next.
WRITTEN = {
    "agree": "agreement/agreement.csv.manifest.json",
    "resolve": "labels/manifest.json",
    "augment": "augmented/qrels.txt.manifest.json",
}
# Words that a release carries on, and what it only looks at to see what is out of date.
NO_TABLES = ("CHANGELOG.md", "agreement.csv")
opened: set[str] = set()


def _note_opened(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str) and not str(arguments[1] or "r").strip("rbt"):
        opened.add(arguments[0])


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace to its first release; its collection and runs carry hashes too."""
    root, own = (tmp_path_factory.mktemp(name) for name in ("w", "own"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        make_workspace(root, run)
        for file in (*root.glob("collection/*"), *root.glob("runs/*")):
            shutil.move(file, own / file.name)
        run("add-collection", own / "queries.tsv", own / "items.tsv", own / "qrels.txt")
        run("add-run", own / "clip.run", own / "ssb.run")
        for words in ("pool", "import", "agree", "resolve", "augment", "score", "release --version 1.0"):
            run(*words.split())
    return root


@pytest.fixture
def renew(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """What makes the workspace anew, as the current folder."""
    root = tmp_path / "again"

    def renewed() -> Path:
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(kept, root)
        monkeypatch.chdir(root)
        return root

    return renewed


def hashed(root: Path) -> Iterator[Path]:
    """Every file with content that a manifest of the workspace has a hash of."""
    for manifest in sorted(root.rglob("*manifest.json")):
        files = (manifest.parent / name for name in json.loads(manifest.read_text())["outputs"])
        yield from (file for file in files if file.stat().st_size)


def change(content: bytes, dice: random.Random) -> bytes:
    """One byte of the content is another."""
    at = dice.randrange(len(content))
    return content[:at] + bytes([content[at] ^ dice.randrange(1, 256)]) + content[at + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_notices_a_change_in_each_file_that_it_reads(words: str, renew: Callable[[], Path]) -> None:
    root, dice = renew(), random.Random(words)
    own = {file.resolve(): file for file in hashed(root) if file.name not in NO_TABLES}
    sys.addaudithook(_note_opened)  # no hook can be taken away; a second one notes the same
    opened.clear()
    clean = run(*words.split())
    read = {own[path] for each in opened if (path := Path(each).resolve()) in own}
    if words in WRITTEN:
        read &= {root / name for name in json.loads((root / WRITTEN[words]).read_text())["inputs"]}
    assert read
    for file in sorted(read):
        renew()
        file.write_bytes(change(file.read_bytes(), dice))
        result = CliRunner().invoke(main, words.split())
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        told = result.output.count(file.name)
        assert told > (clean.output.count(file.name) if result.exit_code == 0 else 0), (file, result.output)


@pytest.mark.slow
def test_every_change_is_noticed_where_a_file_is_checked(renew: Callable[[], Path]) -> None:
    files, dice = list(hashed(renew())), random.Random(0)
    assert len(files) > 20
    for n in range(N_CHANGES):
        file = files[n % len(files)]
        whole = file.read_bytes()
        file.write_bytes(change(whole, dice))
        with pytest.raises(StaleError, match=file.name):
            checked(file)
        file.write_bytes(whole)


def test_somebodys_own_manifest_above_says_nothing(tmp_path: Path) -> None:
    put(tmp_path / "manifest.json", {"name": "a dataset"})
    assert checked(put(tmp_path / "qrels/test.tsv", "q 0 d 1\n")).is_file()


@pytest.mark.slow
def test_a_run_without_its_manifest_is_as_it_was_or_refused(tmp_path: Path) -> None:
    """The checksums of its pages hold ids, ranks and scores; other bytes say nothing of these."""
    scores = np.random.default_rng(0).random((40, 30), dtype=np.float32).astype(float)
    made = make_run({f"q{n}": {f"d{m}": own[m] for m in range(30)} for n, own in enumerate(scores)})
    whole, dice, n_refused = run_bytes(made), random.Random(0), 0
    for _ in range(N_CHANGES):
        try:
            found = read_run(put(tmp_path / "run.parquet", change(whole, dice)), run_id="m")
        except FireError:
            n_refused += 1
        else:
            pd.testing.assert_frame_equal(made, found, check_categorical=False)
    assert n_refused > N_CHANGES / 2
