"""A workspace with a small collection, and the commands run in it as a person would."""

import sys
from pathlib import Path

import pytest
from command import rows, run

sys.path.insert(0, str(Path(__file__).resolve().parent))  # answer_files, for the tests of this folder

from answer_files import Table, Votes

QUERIES = ("NA", "007", "1e5", "q4")
ITEMS = ("v1", "007", "v3")


@pytest.fixture
def workspace(here: Path) -> Path:
    run("init", ".")
    queries = "".join(f"{query}\ta dog runs\n" for query in QUERIES)
    Path("collection/queries.tsv").write_text(f"query_id\ttext\n{queries}")
    items = "".join(f"{item}\thttp://media.test/{item}.mp4\n" for item in ITEMS)
    Path("collection/items.tsv").write_text(f"doc_id\tmedia_url\n{items}")
    return here


@pytest.fixture
def table() -> Table:
    """The rows of judgments.csv or dropped.csv."""
    return lambda name: rows(Path("judgments", name))


@pytest.fixture
def votes(table: Table) -> Votes:
    """query, doc and label of each judgment, without names, sorted."""
    return lambda: sorted((row["query_id"], row["doc_id"], row["label"]) for row in table("judgments.csv"))
