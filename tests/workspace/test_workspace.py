"""fire.toml: what is not written has its default, and what is not known is refused."""

from pathlib import Path

import pytest
from brought import refused

from examples import cases
from fire_toolkit.cli.here import current_workspace
from fire_toolkit.errors import FormatError
from fire_toolkit.workspace.config import SETTINGS, config_text, read_workspace


def workspace(tmp_path: Path, text: str) -> Path:
    (tmp_path / "fire.toml").write_text(text)
    return tmp_path


def test_the_written_defaults_are_the_defaults_and_values_read_back(tmp_path: Path) -> None:
    assert read_workspace(workspace(tmp_path, config_text())).settings == SETTINGS
    hard = 'a "b" \\ é'
    text = config_text({"collection": {"qrels": hard}})
    assert read_workspace(workspace(tmp_path, text)).settings["collection"]["qrels"] == hard
    assert read_workspace(workspace(tmp_path, "[tasks]\noverlap = 1\n")).settings["tasks"]["overlap"] == 1.0


def test_a_workspace_is_found_from_below_and_its_items_where_they_are_there(tmp_path: Path) -> None:
    workspace(tmp_path, "[pool]\ndepth = 5\n")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    found = current_workspace(below)
    assert found is not None
    assert (found.root, found.settings["pool"]["depth"]) == (tmp_path, 5)
    found = read_workspace(workspace(tmp_path, ""))
    assert found.path("collection", "items") is None
    items = tmp_path / "collection" / "items.tsv"
    items.parent.mkdir()
    items.write_text("x")
    assert found.path("collection", "items") == items
    named = read_workspace(workspace(tmp_path, "[collection]\nitems = 'mine.tsv'\n"))
    assert named.path("collection", "items") == tmp_path / "mine.tsv"


def test_patterns_give_runs_and_not_what_lies_beside_them(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    beside = ("a.query_ids.json", "a.doc_ids.txt", "doc_ids.npy", "q.csv", ".hidden", "b.run.manifest.json")
    for name in ("b.run", "a.npy", *beside):
        (runs / name).write_text("x")
    named = '[runs]\nquery_ids = "runs/q.csv"\n'
    found = read_workspace(workspace(tmp_path, named)).paths("runs", "files")
    assert [path.name for path in found] == ["a.npy", "b.run"]


@cases("text", "message")
def test_what_is_not_known_is_refused_with_what_is_near(tmp_path: Path, text: str, message: str) -> None:
    refused(message, read_workspace, workspace(tmp_path, text))


@pytest.mark.parametrize("pattern", ["/etc/*", ""])
def test_what_is_no_pattern_is_told(pattern: str, tmp_path: Path) -> None:
    found = read_workspace(workspace(tmp_path, f'[runs]\nfiles = ["{pattern}"]\n'))
    with pytest.raises(
        FormatError, match=r"fire\.toml: \[runs\] files = .* expected a pattern such as runs/\*"
    ):
        found.paths("runs", "files")
