"""A workspace with a small collection, and the commands run in it as a person would."""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import Result
from command import run

QUERIES = ("NA", "007", "1e5", "q4")
ITEMS = ("v1", "007", "v3")


@pytest.fixture
def fire() -> Callable[..., Result]:
    """The commands."""
    return run


@pytest.fixture
def workspace(here: Path) -> Path:
    run("init", ".")
    queries = "".join(f"{query}\ta dog runs\n" for query in QUERIES)
    Path("collection/queries.tsv").write_text(f"query_id\ttext\n{queries}")
    items = "".join(f"{item}\thttp://media.test/{item}.mp4\n" for item in ITEMS)
    Path("collection/items.tsv").write_text(f"doc_id\tmedia_url\n{items}")
    return here


def rows(name: str) -> list[Mapping[str, str]]:
    with Path("judgments", name).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def votes() -> Callable[[], list[tuple[str, ...]]]:
    """query, doc, label and how many people's of the judgments, without names, sorted."""
    return lambda: sorted((row["query_id"], row["doc_id"], row["label"]) for row in rows("judgments.csv"))


@pytest.fixture
def table() -> Callable[[str], list[Mapping[str, str]]]:
    """The rows of judgments.csv or dropped.csv."""
    return rows
