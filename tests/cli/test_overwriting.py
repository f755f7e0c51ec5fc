"""A command replaces what it wrote itself, and nothing else: no input, no file of anybody's own."""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from command import Copied, Fire, run
from exports import export

import fire_toolkit.cli
from examples import cases, some
from fire_toolkit.campaign.keys import pair_id

RUNS = ("clip.run", "ssb.run")
QRELS = ("--qrels", "qrels.txt")
OWN = b"my own work\n"
CAPTIONS = "query_id,text,doc_id\n1,a cat,a\n2,a dog,b\n3,a cow,c\n4,a hen,007\n5,a pig,NA\n"

# Words of a command, its place for results, and a file that it writes there.
CASES = {
    "add-collection": (("add-collection", "captions.csv"), "out", "queries.tsv"),
    "add-run": (("add-run", "ssb.run"), "out", "ssb.parquet"),
    "audit": (("audit", "--queries", "queries.tsv", *QRELS), "out", "findings.csv"),
    "pool": (("pool", *RUNS), "out", "pool.csv"),
    "tasks": (("tasks", "pool", "--queries", "queries.tsv"), "t.json", "t.overlap.json"),
    "import": (("import", "export.json"), "j.csv", "dropped.csv"),
    "resolve": (("resolve", "judgments.csv"), "out", "disputes.csv"),
    "augment": (("augment", *QRELS, "--labels", "labels"), "a.txt", "changes.csv"),
    "score": (("score", *RUNS, *QRELS, "-m", "C@1"), "s.csv", "s.csv"),
    "compare": (("compare", *RUNS), "c.csv", "c.csv"),
    "difference": (("difference", *RUNS, *QRELS, "-m", "C@1"), "d.csv", "d.csv"),
    "coverage": (("coverage", *RUNS, *QRELS, "--augmented", "augmented.txt"), "c.csv", "c.csv"),
    "machine import": (("machine", "import", "machine.csv"), "m.csv", "m.csv"),
    "plan": (("plan", "--draw-pilot", "2", *RUNS, *QRELS), "p.csv", "p.csv"),
}


def earlier_steps() -> None:
    run("pool", *RUNS, "--out", "pool")
    run("resolve", "judgments.csv", "--out", "labels")
    run("augment", *QRELS, "--labels", "labels", "--out", "augmented.txt")
    Path("captions.csv").write_text(CAPTIONS)
    Path("machine.csv").write_text("judge_id,query_id,doc_id,score\nj,1,a,.5\n")
    Path("t.json").write_text(json.dumps([{"data": {"pair_id": pair_id("1", "a")}}]))
    export(Path("t.json"), Path("export.json"), lambda *_: "relevant")
    Path("t.json").unlink()


@pytest.fixture
def ready(fire: Fire, folder: Path, copied: Copied) -> Fire:
    """The commands, where the earlier steps of each are done."""
    copied(earlier_steps, folder)
    return fire


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", some(CASES, 5))
def test_own_files_stay_and_a_second_run_replaces_the_first(ready: Fire, folder: Path, name: str) -> None:
    words, place, written = CASES[name]
    there = folder / place
    own = there / written if not there.suffix else folder / written
    own.parent.mkdir(exist_ok=True)
    own.write_bytes(OWN)
    before = files_of(folder)
    said = ready(*words, "--out", place, code=1).stderr
    assert f"`fire-toolkit {words[0]}" in said
    assert "did not write it; choose another --out, or move the file away" in said
    assert files_of(folder) == before
    own.unlink()
    ready(*words, "--out", place)
    after = files_of(folder)
    assert own.read_bytes() != OWN
    ready(*words, "--out", place)
    assert files_of(folder) == after


@cases("words")
def test_an_input_is_not_overwritten(ready: Fire, folder: Path, words: tuple[str, ...]) -> None:
    (folder / "link.txt").symlink_to(folder / "qrels.txt")
    before = files_of(folder)
    assert "reads this file and would overwrite it; choose another file" in ready(*words, code=1).stderr
    assert files_of(folder) == before


def test_a_command_takes_neither_folders_of_others_nor_own_files(ready: Fire, folder: Path) -> None:
    ready("add-collection", "captions.csv", "--out", "made")
    before = files_of(folder)
    said = ready("pool", *RUNS, "--out", "made", code=1).stderr
    assert "made/manifest.json: `fire-toolkit add-collection` wrote here (items.tsv" in said
    ready("score", *RUNS, *QRELS, "-m", "C@1", "--out", "labels/labels.csv", code=1)
    assert files_of(folder) == before
    ready("init")
    shutil.copy(folder / "queries.tsv", folder / "collection/queries.tsv")
    before = files_of(folder)
    said = ready("add-collection", "captions.csv", code=1).stderr
    assert "collection/queries.tsv: already exists" in said
    assert files_of(folder) == before


def test_a_collection_is_not_replaced_while_its_tasks_are_out(ready: Fire, folder: Path) -> None:
    first, other = ("add-collection", "captions.csv"), folder / "other.csv"
    other.write_text("query_id,text,doc_id\n9,a cow,z\n")
    ready(*first, "--out", "collection")
    ready("add-collection", other, "--out", "collection")  # nothing was handed out
    ready("init")
    ready(*first)
    shutil.move(folder / "clip.run", folder / "runs/clip.run")
    (folder / "fire.toml").write_text('[runs]\nfiles = ["runs/*.run"]\n')
    ready("pool")
    ready("tasks")
    ready(*first)  # the same collection is no other one
    ready("add-collection", other, "--out", "elsewhere")
    items = pd.read_csv(folder / "collection/items.tsv", sep="\t", dtype=str)["doc_id"]
    where, captions = folder / "where.csv", (folder / "captions.csv").read_text()
    where.write_text("doc_id,media_url\n" + "".join(f"{doc},https://m.test/{doc}.mp4\n" for doc in items))
    ready(*first, where)  # addresses may be put right
    assert f"{items[0]}\thttps://m.test/{items[0]}.mp4" in (folder / "collection/items.tsv").read_text()
    (folder / "text.csv").write_text(captions.replace("a ", "the ", 1))
    ready("add-collection", "text.csv", where)  # so may captions
    assert "\tthe " in (folder / "collection/queries.tsv").read_text()
    (folder / "fewer.csv").write_text(captions.rsplit("\n", 2)[0] + "\n")
    before = files_of(folder)
    for words in ((other,), ("fewer.csv", where)):
        said = ready("add-collection", *words, code=1).stderr
        assert "tasks of this collection are out, and more than captions and addresses differs" in said
        assert files_of(folder) == before


# What writes files without a manifest, and why that overwrites nothing of anybody's own.
WRITE_BY_THEMSELVES = {
    "begin.py": "refuses a fire.toml, or a guideline's folder, that is there",
    "demo.py": "in its own folder, by the mark there",
    "campaigns.py": "the campaign's own record",
    "gallery.py": "replaces its own folder alone",
    "given.py": "the one rule",
    "release.py": "refuses a folder that is there",
}


def test_commands_write_where_the_rule_is() -> None:
    modules, writes = Path(fire_toolkit.cli.__file__).parent.glob("*.py"), r"\bwrite_(files|stage|folder)\("
    writers = {path.name for path in modules if re.search(writes, path.read_text())}
    assert writers == set(WRITE_BY_THEMSELVES)
