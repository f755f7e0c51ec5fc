"""Composed queries on our own page and in Label Studio's tasks: reference, text and candidate."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from page_site import run
from test_answer_files import answer, content_of, save

from fire_toolkit.campaign.records import Rounds
from fire_toolkit.cli.page import media_files

GUIDELINE = "composed-image-relevance-v1"


def make_composed(root: Path, images: dict[str, bytes]) -> None:
    """Make a workspace in the current folder: two queries on the first image, each with the other images."""
    run("init", ".")
    (root / "media").mkdir()
    for name, content in images.items():
        (root / "media" / f"{name}.png").write_bytes(content)
    first, *others = images
    (root / "pool").mkdir(exist_ok=True)
    pairs = "".join(f"q{n},{doc}\n" for n in range(2) for doc in others)
    (root / "pool" / "pool.csv").write_text("query_id,doc_id\n" + pairs)
    rows = "".join(f"q{n}\tchange {n}\t{first}\n" for n in range(2))
    (root / "collection" / "queries.tsv").write_text(f"query_id\ttext\treference\n{rows}")
    items = "".join(f"{name}\tmedia/{name}.png\n" for name in images)
    (root / "collection" / "items.tsv").write_text(f"doc_id\tmedia_url\n{items}")


@pytest.fixture
def root(here: Path) -> Path:
    make_composed(here, {name: name.encode() for name in ("start", "one", "two")})
    return here


def test_the_reference_goes_with_each_task_to_the_page_and_back(root: Path) -> None:
    run("tasks", "pool/pool.csv", "--guideline", GUIDELINE, "--overlap", "0")
    (first, *_) = tasks = json.loads((root / "tasks" / "tasks.json").read_text())
    assert list(first["data"]) == ["caption", "reference", "image", "pair_id"]
    (shown,) = {task["data"]["reference"] for task in tasks}
    assert "/m/" in shown  # a name that does not tell the item
    assert shown in media_files()
    run("push", "--carrier", "page", "--annotator", "A01")
    kept = Rounds(root)[0].tasks
    assert set(kept["reference_url"]) == {shown}
    run("page", "write")
    content = content_of(root)
    folder = root / "pages" / "A01"
    assert {(folder / page["reference"]).read_bytes() for page in content["pages"]} == {b"start"}
    assert {(folder / page["media"]).read_bytes() for page in content["pages"]} == {b"one", b"two"}
    (reference,) = {page["reference"] for page in content["pages"]}
    assert re.fullmatch(r"media/[0-9a-f]{24}\.png", reference)
    tasks_given = [each["captions"][0]["task"] for each in content["pages"]]
    rows = [answer(n, task) for n, task in enumerate(tasks_given, start=1)]
    run("import", save(root / "exports" / "a.jsonl", content["head"], rows))
    assert len(pd.read_csv(root / "judgments" / "judgments.csv")) == 4
    run("push")  # the same round again: nothing has changed


def test_a_hash_in_the_name_of_a_file_begins_no_part_of_it(here: Path) -> None:
    make_composed(here, {"start#2": b"start", "one#1": b"one", "two#t=3": b"two"})
    (here / "media").rename("away")  # tasks made now hold the paths as they are
    run("tasks", "pool/pool.csv", "--guideline", GUIDELINE, "--overlap", "0")
    (here / "away").rename("media")
    run("push", "--carrier", "page", "--annotator", "A01")
    run("page", "write")
    pages, folder = content_of(here)["pages"], here / "pages" / "A01"
    assert {page["part"] for page in pages} == {None}
    assert {(folder / page["media"]).read_bytes() for page in pages} == {b"one", b"two"}
    assert {(folder / page["reference"]).read_bytes() for page in pages} == {b"start"}


def test_a_query_without_its_reference_is_named(root: Path) -> None:
    queries = root / "collection" / "queries.tsv"
    queries.write_text(queries.read_text().replace("change 1\tstart", "change 1\t"))
    told = run("tasks", "pool/pool.csv", "--guideline", GUIDELINE, code=1).stderr
    assert "1 pooled queries have no reference (q1), which the guideline's page shows" in told
    queries.write_text(queries.read_text().replace("change 1\t", "change 1\tgone"))
    told = run("tasks", "pool/pool.csv", "--guideline", GUIDELINE, code=1).stderr
    assert "items: 1 of 2 pooled ids are not in it (gone)" in told
