"""`guideline`: shown by name, written anew, checked with a line for each mistake."""

from pathlib import Path

from command import Fire

from fire_toolkit.formats.tables.guideline_files import list_guidelines, read_guideline


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
