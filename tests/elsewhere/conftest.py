"""A workspace with a small collection, and the commands run in it as a person would."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import run

from fire_toolkit.campaign.said import read_said
from fire_toolkit.campaign.schema import SAID_NAMES
from fire_toolkit.campaign.store import Store

sys.path.insert(0, str(Path(__file__).resolve().parent))  # answer_files, for the tests of this folder

QUERIES = ("NA", "007", "1e5", "q4")
ITEMS = ("v1", "007", "v3")


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("begun")
    run("init", folder)
    queries = "".join(f"{query}\ta dog runs\n" for query in QUERIES)
    (folder / "collection/queries.tsv").write_text(f"query_id\ttext\n{queries}")
    items = "".join(f"{item}\thttp://media.test/{item}.mp4\n" for item in ITEMS)
    (folder / "collection/items.tsv").write_text(f"doc_id\tmedia_url\n{items}")
    return folder


@pytest.fixture
def workspace(here: Path, begun: Path) -> Iterator[Path]:
    """After each test: what the record has of each answer is what it would read in it."""
    yield Path(shutil.copytree(begun, here, dirs_exist_ok=True))
    with Store(here / "campaign.sqlite") as store:
        kept = store.database.select(f"select pair_id, answer, {', '.join(SAID_NAMES)} from answers")
    for pair, answer, *said in kept:
        assert [tuple(said)] == list(read_said([pair], [answer]))
