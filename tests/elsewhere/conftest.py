"""A workspace with a small collection, and the commands run in it as a person would."""

import shutil
import sys
from pathlib import Path

import pytest
from command import run

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
def workspace(here: Path, begun: Path) -> Path:
    return Path(shutil.copytree(begun, here, dirs_exist_ok=True))
