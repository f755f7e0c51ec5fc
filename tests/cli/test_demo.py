"""The demo runs every real stage on its world, and ends in the corrected table."""

import json
import re
import sys
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from fire_toolkit import read_pool
from fire_toolkit.campaign.tasks import split_pair_id
from fire_toolkit.cli import main
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.table_files import read_judgments

PAIR = ["query_id", "doc_id"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("demo") / "world"
    result = CliRunner().invoke(main, ["demo", "--out", str(folder)])
    assert result.exit_code == 0, result.output
    return folder, result


def positives(path: Path) -> set[tuple[str, str]]:
    qrels = read_qrels(path)
    kept = qrels[qrels["relevance"] >= 1]
    return set(zip(kept["query_id"], kept["doc_id"], strict=True))


def test_it_ends_in_the_corrected_table_and_the_truth(world: tuple[Path, Result]) -> None:
    printed = world[1].stdout
    assert re.search(r"^C@1 +\d+\.\d \(\d+\.\d \+ \d+\.\d\)", printed, re.M)
    assert re.search(r"[\d,]+ of [\d,]+ labels are right \(9\d\.\d%\)", printed)
    assert re.search(r"^  \S+: \S+ was behind \S+, and is ahead$", printed, re.M)
    assert "alpha" in printed
    assert "next" in world[1].stderr.lower()


def test_original_positives_stay_and_new_ones_were_judged_relevant(world: tuple[Path, Result]) -> None:
    folder = world[0]
    original, augmented = (
        positives(folder / "collection/qrels.txt"),
        positives(folder / "augmented/qrels.txt"),
    )
    labels = pd.read_csv(folder / "labels/labels.csv", dtype=str)
    relevant = labels[labels["relevance"] == "1"]
    assert augmented == original | set(zip(relevant["query_id"], relevant["doc_id"], strict=True))
    assert len(augmented) > 2 * len(original)


def test_every_pooled_pair_was_asked_once_and_the_doubled_by_two_people(world: tuple[Path, Result]) -> None:
    folder = world[0]
    pool = read_pool(folder / "pool")
    asked = [task["data"]["pair_id"] for task in json.loads((folder / "tasks/tasks.json").read_text())]
    assert set(zip(pool["query_id"], pool["doc_id"], strict=True)) == {split_pair_id(key) for key in asked}
    assert len(asked) == len(pool)
    judgments, superseded = read_judgments(folder / "judgments/judgments.csv")
    assert superseded == 0
    assert judgments.groupby(PAIR)["annotator_id"].nunique().max() >= 2


def test_the_clips_are_there_for_people_to_play(world: tuple[Path, Result]) -> None:
    folder = world[0]
    items = pd.read_csv(folder / "collection/items.tsv", sep="\t", dtype=str)
    assert all((folder / name).stat().st_size > 500 for name in items["media_url"])


def test_it_takes_no_folder_that_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    result = CliRunner().invoke(main, ["demo", "--out", str(tmp_path / "mine")])
    assert result.exit_code == 1
    assert "is no demo" in result.stderr


def test_the_live_demo_takes_no_folder_of_the_other(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".fire-demo").write_text("")
    result = CliRunner().invoke(main, ["demo", "--live", "--out", str(tmp_path / "other")])
    assert result.exit_code == 1
    assert "is another demo" in result.stderr


def test_the_live_demo_needs_pyav(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    result = CliRunner().invoke(main, ["demo", "--live", "--out", str(tmp_path / "new")])
    assert result.exit_code == 1
    assert "pip install av" in result.stderr
    assert not (tmp_path / "new").exists()
