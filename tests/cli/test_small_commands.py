"""Commands that show or make one thing: guideline, measures, and the demo where it refuses a folder.

What the demo makes is held by made_demo.py.
"""

import sys
from pathlib import Path

import pytest
from command import Fire, run

from fire_toolkit.formats.tables.guideline_files import list_guidelines, read_guideline
from fire_toolkit.measures import list_measures


def test_a_name_alone_shows_a_guideline(fire: Fire) -> None:
    assert tuple(fire("guideline").stdout.split()) == list_guidelines()
    rules = read_guideline("graded-relevance-v1")
    assert fire("guideline", rules.name).stdout == rules.text
    assert fire("guideline", "--part", "config", rules.name).stdout == rules.label_config


def test_a_new_guideline_agrees_and_is_never_overwritten(fire: Fire, folder: Path) -> None:
    fire("guideline", "mine-v1", "--like", "graded-relevance-v1")
    told = fire("guideline", "mine-v1").stderr
    assert "mine-v1: its three files agree; mismatch 0, loose 1, close 2, exact 3, ambiguous no vote" in told
    before = {path: path.read_bytes() for path in (folder / "mine-v1").iterdir()}
    assert "already exists" in fire("guideline", "mine-v1", "--like", "graded-relevance-v1", code=1).stderr
    assert {path: path.read_bytes() for path in (folder / "mine-v1").iterdir()} == before


def test_each_mistake_is_a_line(fire: Fire, folder: Path) -> None:
    fire("guideline", "mine-v1", "--like", "caption-relevance-v1")
    labels = folder / "mine-v1/labels.toml"
    text = labels.read_text()
    labels.write_text(text.replace('hotkey = "3"', 'hotkey = "7"').replace("describe this", "show this"))
    lines = fire("guideline", "mine-v1", code=1).stderr.splitlines()
    assert [line.split(":")[0:2] for line in lines] == [["error", " mine-v1"]] * 5
    starts = ("label_config.xml has no Header", "label_config.xml: relevance has choices and hotkeys",
              "guideline.md does not ask", "guideline.md explains answers and hotkeys",
              "guideline.md names 3 in code font")  # fmt: skip
    assert all(start in line for start, line in zip(starts, lines, strict=True))
    labels.write_text(text + "[[")
    assert "labels.toml: not TOML" in fire("guideline", "mine-v1", code=1).stderr


def test_measures_are_listed_and_explained_however_they_are_named(fire: Fire) -> None:
    printed = fire("measures").stdout
    for definition in list_measures():
        assert definition.pattern in printed
        assert definition.summary in printed
    for name in ("AP/min", "AP@k/min", "AP@10/min"):
        printed = fire("measures", name).stdout
        assert "Baldrati et al. 2023" in printed
        assert "mean over queries" in printed
    assert fire("measures", "ndcg_cut_10").stdout == fire("measures", "nDCG@10").stdout


def test_live_demo_needs_pyav_and_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".fire-demo").write_text("")
    result = run("demo", "--live", "--out", tmp_path / "other", code=1)
    assert "is another demo" in result.stderr
    monkeypatch.setitem(sys.modules, "av", None)
    result = run("demo", "--live", "--out", tmp_path / "new", code=1)
    assert "pip install av" in result.stderr
    assert not (tmp_path / "new").exists()


def test_scores_of_a_machine_without_a_row_are_refused(fire: Fire, tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("query_id,doc_id,score\n")
    told = fire("machine", "import", tmp_path / "none.csv", "--out", tmp_path / "m", code=1).stderr
    assert "none.csv: no row below the header; expected a score or a label of each pair" in told
